//! CSV of bills: one row per line of each arm's bill.

use windage_analysis::{Analysis, ArmAnalysis, Bill, BillLine};

use super::Column::{self, Figure, Text};
use super::{each_arm, regime, table, text, word};
use crate::ReportError;
use crate::rows::agents::bill::Entry;

struct Line<'a> {
    analysis: &'a Analysis,
    arm: &'a ArmAnalysis,
    bill: &'a Bill,
    entry: Entry,
    line: &'a BillLine,
}

fn columns<'a>() -> Vec<Column<Line<'a>>> {
    vec![
        Text("run", |of| text(&of.analysis.run)),
        Text("plan", |of| text(&of.analysis.plan)),
        Text("regime", |of| regime(of.analysis)),
        Text("arm", |of| text(of.arm.id.as_str())),
        Text("role", |of| word(of.arm.role.as_str())),
        Text("line", |of| word(of.entry.word())),
        Figure("baseline_us_per_request", |of| of.line.baseline_us),
        Figure("arm_us_per_request", |of| of.line.arm_us),
        Figure("difference_us_per_request", |of| of.line.difference_us),
        Figure("difference_us_per_request_low", |of| {
            Some(of.line.interval.as_ref()?.low)
        }),
        Figure("difference_us_per_request_high", |of| {
            Some(of.line.interval.as_ref()?.high)
        }),
        Figure("confidence", |of| {
            Some(of.line.interval.as_ref()?.confidence)
        }),
        Text("rounds", |of| word(of.bill.rounds)),
    ]
}

/// The analyses' bills as one CSV table with a heading row: a row for each run, load, arm and line.
///
/// All figures are microseconds of CPU per request. `line` is a part of what the machine used
/// during windows (`service`, `agent`, `generator`, `windage`, `kernel_threads`, `remainder`: they
/// add up to `machine`), or what was used outside windows (`agent_outside_windows`,
/// `service_outside_windows`), or their sum (`with_deferred`). The baseline's figure is from the
/// same blocks; its differences are empty.
///
/// # Errors
///
/// [`ReportError`] when the CSV writer refuses a row; writing to memory should never fail.
pub fn bill_csv(analyses: &[Analysis]) -> Result<String, ReportError> {
    let bills = each_arm(analyses).filter_map(|(run, arm)| Some((run, arm, arm.bill.as_ref()?)));
    let lines = bills.flat_map(|(analysis, arm, bill)| {
        Entry::of(bill).map(move |(entry, line)| Line {
            analysis,
            arm,
            bill,
            entry,
            line,
        })
    });
    table(&columns(), lines)
}
