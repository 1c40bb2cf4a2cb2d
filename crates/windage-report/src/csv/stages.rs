//! One row for each stage, for the sum of a chain, and for what it is held against.

use windage_analysis::{Analysis, Missing, StageCost, Stages};
use windage_model::ArmId;

use super::{ends, figure, finished, guarded, regime};
use crate::ReportError;

const COLUMNS: &[&str] = &[
    "run",
    "plan",
    "regime",
    "metric",
    "unit",
    "from",
    "kind",
    "arm",
    "against",
    "difference",
    "difference_low",
    "difference_high",
    "relative",
    "relative_low",
    "relative_high",
    "exceeds_nil",
    "share",
    "per_span",
    "per_span_low",
    "per_span_high",
    "per_event",
    "per_event_low",
    "per_event_high",
    "rounds",
    "missing",
];

/// The analyses' chains of stages as one CSV table with a heading row.
///
/// `kind` is `stage` (an arm against the one it adds to), `sum` (the chain's last arm against its
/// first), `whole` (an arm that is the last one once more, against the first) or `gap` (the same
/// against the arm that it is once more: nil within its interval means that the sum holds).
/// Differences are in `unit`; `relative` is a share of what `against` costs, `share` one of the
/// sum of stages. Each interval holds on its own.
///
/// # Errors
///
/// [`ReportError`] when the CSV writer refuses a row; writing to memory, it has no reason to.
pub fn stages_csv(analyses: &[Analysis]) -> Result<String, ReportError> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    for analysis in analyses.iter().flat_map(Analysis::regimes) {
        for stages in &analysis.stages {
            for line in lines(stages) {
                writer.write_record(record(analysis, stages, &line))?;
            }
        }
    }
    finished(writer)
}

/// What stands in one row.
struct Line<'a> {
    kind: &'static str,
    arm: &'a ArmId,
    against: &'a ArmId,
    cost: &'a Result<StageCost, Missing>,
}

fn lines(of: &Stages) -> Vec<Line<'_>> {
    let mut lines: Vec<Line<'_>> = of
        .stages
        .iter()
        .map(|stage| Line {
            kind: "stage",
            arm: &stage.arm,
            against: &stage.adds_to,
            cost: &stage.cost,
        })
        .collect();
    lines.extend(of.stages.last().map(|last| Line {
        kind: "sum",
        arm: &last.arm,
        against: &of.from,
        cost: &of.sum,
    }));
    for whole in &of.wholes {
        let kinds = [
            ("whole", &of.from, &whole.cost),
            ("gap", &whole.same_as, &whole.gap),
        ];
        lines.extend(kinds.map(|(kind, against, cost)| Line {
            kind,
            arm: &whole.arm,
            against,
            cost,
        }));
    }
    lines
}

fn record(analysis: &Analysis, of: &Stages, line: &Line<'_>) -> Vec<String> {
    let cost = line.cost.as_ref().ok();
    let mut fields = vec![
        guarded(&analysis.run),
        guarded(&analysis.plan),
        regime(analysis),
        of.metric.as_str().to_owned(),
        of.metric.unit().as_str().to_owned(),
        guarded(of.from.as_str()),
        line.kind.to_owned(),
        guarded(line.arm.as_str()),
        guarded(line.against.as_str()),
    ];
    fields.extend(ends(cost.map(|cost| &cost.absolute)));
    fields.extend(ends(cost.map(|cost| &cost.relative)));
    fields.push(cost.map_or(String::new(), |cost| {
        cost.relative.excludes_nil().to_string()
    }));
    fields.push(figure(of.share_of_sum(line.cost)));
    fields.extend(ends(cost.and_then(|cost| cost.per_span.as_ref())));
    fields.extend(ends(cost.and_then(|cost| cost.per_event.as_ref())));
    fields.push(of.rounds.to_string());
    let missing = line.cost.as_ref().err();
    fields.push(
        missing
            .map_or("", |missing| missing.code.as_str())
            .to_owned(),
    );
    fields
}
