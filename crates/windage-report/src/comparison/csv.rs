//! One row for each arm and metric of two runs, for spreadsheets and data frames.

use windage_analysis::{ChangeVerdict, Compared, ComparedArm, ComparedLoad, ComparedMetric, Side};
use windage_model::Metric;

use crate::ReportError;
use crate::csv::{ends, figure, finished, guarded};

const COLUMNS: &[&str] = &[
    "a_run",
    "b_run",
    "plan",
    "regime",
    "arm",
    "name",
    "role",
    "metric",
    "unit",
    "direction",
    "a_baseline",
    "a_value",
    "a_relative",
    "a_relative_low",
    "a_relative_high",
    "b_baseline",
    "b_value",
    "b_relative",
    "b_relative_low",
    "b_relative_high",
    "change",
    "change_low",
    "change_high",
    "change_absolute",
    "change_absolute_low",
    "change_absolute_high",
    "confidence",
    "interest",
    "verdict",
    "holds_in_family",
    "comparable",
    "missing",
];

/// The comparison as one CSV table with a heading row: a row for each load, arm and metric.
///
/// `a_relative`, `b_relative` and `change` with their ends are shares (0.01 is 1 %, of a change one
/// percentage point); absolute figures are in the metric's unit. Figures are written in full, absent
/// ones are empty. `plan` is B's.
///
/// # Errors
/// [`ReportError`] when the CSV writer refuses a row; writing to memory, it has no reason to.
pub fn comparison_csv(compared: &Compared) -> Result<String, ReportError> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    for load in &compared.comparison.loads {
        for arm in &load.arms {
            for (&metric, of) in &arm.metrics {
                writer.write_record(record(compared, load, arm, (metric, of)))?;
            }
        }
    }
    finished(writer)
}

fn record(
    compared: &Compared,
    load: &ComparedLoad,
    arm: &ComparedArm,
    (metric, of): (Metric, &ComparedMetric),
) -> Vec<String> {
    let runs = &compared.comparison;
    let change = of.change.as_ref().ok();
    let relative = change.and_then(|change| change.relative.as_ref());
    let absolute = change.map(|change| &change.absolute);
    let mut fields = vec![
        guarded(&runs.a.run),
        guarded(&runs.b.run),
        guarded(&runs.b.plan),
        load.regime.as_deref().map_or(String::new(), guarded),
        guarded(arm.id.as_str()),
        guarded(&arm.name),
        arm.role.as_str().to_owned(),
        metric.as_str().to_owned(),
        metric.unit().as_str().to_owned(),
        metric.direction().as_str().to_owned(),
    ];
    fields.extend(side(&of.a));
    fields.extend(side(&of.b));
    fields.extend(ends(relative));
    fields.extend(ends(absolute));
    let missing = of.change.as_ref().err();
    let holds = of.holds_in_family();
    fields.extend([
        figure(relative.or(absolute).map(|interval| interval.confidence)),
        figure(Some(load.interest)),
        of.verdict.map_or("", ChangeVerdict::as_str).to_owned(),
        holds.map_or(String::new(), |holds| holds.to_string()),
        load.comparable.as_str().to_owned(),
        missing
            .map_or("", |missing| missing.code.as_str())
            .to_owned(),
    ]);
    fields
}

fn side(of: &Side) -> [String; 5] {
    let [relative, low, high] = ends(of.relative.as_ref());
    [figure(of.baseline), figure(of.arm), relative, low, high]
}
