//! One row for each line of each arm's bill.

use windage_analysis::{Analysis, ArmAnalysis, Bill, BillLine};

use super::{ends, figure, finished, guarded, regime};
use crate::ReportError;
use crate::rows::agents::bill::Entry;

const COLUMNS: &[&str] = &[
    "run",
    "plan",
    "regime",
    "arm",
    "role",
    "line",
    "baseline_us_per_request",
    "arm_us_per_request",
    "difference_us_per_request",
    "difference_us_per_request_low",
    "difference_us_per_request_high",
    "confidence",
    "rounds",
];

/// The analyses' bills as one CSV table with a heading row: a row for each run, load, arm and line.
///
/// All figures are microseconds of CPU for a request. `line` is a part of what the machine used
/// while windows lasted (`service`, `agent`, `generator`, `windage`, `kernel_threads`, `remainder`:
/// they add up to `machine`), or what was used outside windows (`agent_outside_windows`,
/// `service_outside_windows`), or all of it (`with_deferred`). The baseline's own figure is that of
/// the same blocks; its differences are empty.
///
/// # Errors
///
/// [`ReportError`] when the CSV writer refuses a row; writing to memory, it has no reason to.
pub fn bill_csv(analyses: &[Analysis]) -> Result<String, ReportError> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    for analysis in analyses.iter().flat_map(Analysis::regimes) {
        for arm in &analysis.arms {
            let Some(bill) = &arm.bill else { continue };
            for (entry, line) in Entry::of(bill) {
                writer.write_record(record(analysis, arm, bill, (entry, line)))?;
            }
        }
    }
    finished(writer)
}

fn record(
    analysis: &Analysis,
    arm: &ArmAnalysis,
    bill: &Bill,
    (entry, line): (Entry, &BillLine),
) -> Vec<String> {
    let mut fields = vec![
        guarded(&analysis.run),
        guarded(&analysis.plan),
        regime(analysis),
        guarded(arm.id.as_str()),
        arm.role.as_str().to_owned(),
        entry.word().to_owned(),
        figure(line.baseline_us),
        figure(line.arm_us),
        figure(line.difference_us),
    ];
    let [_, low, high] = ends(line.interval.as_ref());
    fields.extend([low, high]);
    fields.push(figure(
        line.interval.as_ref().map(|interval| interval.confidence),
    ));
    fields.push(bill.rounds.to_string());
    fields
}
