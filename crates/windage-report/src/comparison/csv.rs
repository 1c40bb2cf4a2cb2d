//! CSV of a comparison, for spreadsheets and data frames: one row per arm and metric.

use windage_analysis::{Change, Compared, ComparedArm, ComparedLoad, ComparedMetric, Comparison};
use windage_model::Metric;

use crate::ReportError;
use crate::csv::Column::{self, Ends, Figure, Text};
use crate::csv::{table, text, word};

struct Line<'a> {
    runs: &'a Comparison,
    load: &'a ComparedLoad,
    arm: &'a ComparedArm,
    name: Metric,
    metric: &'a ComparedMetric,
}

impl<'a> Line<'a> {
    fn change(&self) -> Option<&'a Change> {
        self.metric.change.as_ref().ok()
    }
}

fn columns<'a>() -> Vec<Column<Line<'a>>> {
    vec![
        Text("a_run", |of| text(&of.runs.a.run)),
        Text("b_run", |of| text(&of.runs.b.run)),
        Text("plan", |of| text(&of.runs.b.plan)),
        Text("regime", |of| text(of.load.regime.as_deref()?)),
        Text("arm", |of| text(of.arm.id.as_str())),
        Text("name", |of| text(&of.arm.name)),
        Text("role", |of| word(of.arm.role.as_str())),
        Text("metric", |of| word(of.name.as_str())),
        Text("unit", |of| word(of.name.unit().as_str())),
        Text("direction", |of| word(of.name.direction().as_str())),
        Figure("a_baseline", |of| of.metric.a.baseline),
        Figure("a_value", |of| of.metric.a.arm),
        Ends("a_relative", |of| of.metric.a.relative),
        Figure("b_baseline", |of| of.metric.b.baseline),
        Figure("b_value", |of| of.metric.b.arm),
        Ends("b_relative", |of| of.metric.b.relative),
        Ends("change", |of| of.change()?.relative),
        Ends("change_absolute", |of| Some(of.change()?.absolute)),
        Figure("confidence", |of| {
            let of = of.change()?;
            Some(of.relative.as_ref().unwrap_or(&of.absolute).confidence)
        }),
        Figure("margin", |of| Some(of.load.margin)),
        Text("verdict", |of| word(of.metric.verdict?.as_str())),
        Text("holds_in_family", |of| word(of.metric.holds_in_family()?)),
        Text("comparable", |of| word(of.load.comparable.as_str())),
        Text("missing", |of| {
            word(of.metric.change.as_ref().err()?.code().as_str())
        }),
    ]
}

/// The comparison as one CSV table with a heading row: a row for each load, arm and metric.
///
/// `a_relative`, `b_relative` and `change` with their ends are shares (0.01 is 1 %, of a change one
/// percentage point); absolute figures are in the metric's unit. Figures are not rounded, missing
/// ones are empty. `plan` is B's.
///
/// # Errors
/// [`ReportError`] when the CSV writer refuses a row; writing to memory should never fail.
pub fn comparison_csv(compared: &Compared) -> Result<String, ReportError> {
    let runs = &compared.comparison;
    let arms = runs
        .loads
        .iter()
        .flat_map(|load| load.arms.iter().map(move |arm| (load, arm)));
    let lines = arms.flat_map(|(load, arm)| {
        arm.metrics.iter().map(move |(&name, metric)| Line {
            runs,
            load,
            arm,
            name,
            metric,
        })
    });
    table(&columns(), lines)
}
