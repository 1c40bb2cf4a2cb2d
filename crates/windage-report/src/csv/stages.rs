//! CSV of stages: one row per stage, for the sum of a chain, and for its end-to-end arm.

use windage_analysis::{Analysis, Missing, StageCost, Stages};
use windage_model::ArmId;

use super::Column::{self, Ends, Figure, Text};
use super::{regime, table, text, word};
use crate::ReportError;

struct Line<'a> {
    analysis: &'a Analysis,
    stages: &'a Stages,
    kind: &'static str,
    arm: &'a ArmId,
    against: &'a ArmId,
    cost: &'a Result<StageCost, Missing>,
}

impl<'a> Line<'a> {
    fn cost(&self) -> Option<&'a StageCost> {
        self.cost.as_ref().ok()
    }
}

fn columns<'a>() -> Vec<Column<Line<'a>>> {
    vec![
        Text("run", |of| text(&of.analysis.run)),
        Text("plan", |of| text(&of.analysis.plan)),
        Text("regime", |of| regime(of.analysis)),
        Text("metric", |of| word(of.stages.metric.as_str())),
        Text("unit", |of| word(of.stages.metric.unit().as_str())),
        Text("from", |of| text(of.stages.from.as_str())),
        Text("kind", |of| word(of.kind)),
        Text("arm", |of| text(of.arm.as_str())),
        Text("against", |of| text(of.against.as_str())),
        Ends("difference", |of| Some(of.cost()?.absolute)),
        Ends("relative", |of| Some(of.cost()?.relative)),
        Text("exceeds_zero", |of| {
            word(of.cost()?.relative.excludes_zero())
        }),
        Figure("share", |of| of.stages.share_of_sum(of.cost)),
        Ends("per_span", |of| of.cost()?.per_span),
        Ends("per_event", |of| of.cost()?.per_event),
        Text("rounds", |of| word(of.stages.rounds)),
        Text("missing", |of| {
            word(of.cost.as_ref().err()?.code().as_str())
        }),
    ]
}

/// The analyses' chains of stages as one CSV table with a heading row.
///
/// `kind` is `stage` (an arm − the one it adds to), `sum` (the chain's last arm − its first),
/// `end_to_end` (the end-to-end arm − the first) or `gap` (end-to-end − sum: zero within its
/// interval means that they agree). Differences are in `unit`; `relative` is a share of what
/// `against` costs, `share` a share of the sum of stages. Intervals are unadjusted.
///
/// # Errors
///
/// [`ReportError`] when the CSV writer refuses a row; writing to memory should never fail.
pub fn stages_csv(analyses: &[Analysis]) -> Result<String, ReportError> {
    let loads = analyses.iter().flat_map(Analysis::regimes);
    let chains = loads.flat_map(|analysis| analysis.stages.iter().map(move |of| (analysis, of)));
    table(
        &columns(),
        chains.flat_map(|(analysis, of)| lines(analysis, of)),
    )
}

fn lines<'a>(analysis: &'a Analysis, of: &'a Stages) -> Vec<Line<'a>> {
    let line = |kind, arm, against, cost| Line {
        analysis,
        stages: of,
        kind,
        arm,
        against,
        cost,
    };
    let stages = of.stages.iter();
    let stages = stages.map(|stage| line("stage", &stage.arm, &stage.adds_to, &stage.cost));
    let last = of.stages.last();
    let sum = last.map(|last| line("sum", &last.arm, &of.from, &of.sum));
    let end_to_end = of.end_to_end.iter().flat_map(|whole| {
        [
            line("end_to_end", &whole.arm, &of.from, &whole.cost),
            line("gap", &whole.arm, &whole.same_as, &whole.gap),
        ]
    });
    stages.chain(sum).chain(end_to_end).collect()
}
