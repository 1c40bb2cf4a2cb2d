//! Interleaved load: how arms took turns, and where isolated windows give another figure.

use windage_analysis::{Analysis, ArmAnalysis, TurnFacts};
use windage_model::{Interval, LoadModel, Unit};

use crate::fact::{Fact, one_line};
use crate::number;

/// The label of the line about arms that both ways of measuring judge differently.
const DISAGREEMENT: &str = "isolated − interleaved";
/// With more arms than this, the line counts the rest.
const NAMED: usize = 2;

/// "56 s interleaved in turns of 20 requests"; `None` when all load was isolated.
pub(crate) fn in_brief(analysis: &Analysis) -> Option<String> {
    let turns = analysis.design.turns?;
    let measured = number::seconds(turns.measured_s);
    let turn = turn(analysis.design.load, turns);
    Some(format!("{measured} interleaved in turns of {turn}"))
}

/// How arms took turns, what that changed in the baseline, and by how much more in other arms.
pub(crate) fn facts(analysis: &Analysis) -> Vec<Fact> {
    [fact(analysis), carry_over(analysis)]
        .into_iter()
        .flatten()
        .collect()
}

fn fact(analysis: &Analysis) -> Option<Fact> {
    let turns = analysis.design.turns?;
    let planned = turns
        .turn_s
        .filter(|_| !is_in_time(analysis.design.load, turns));
    let planned = planned.map_or(String::new(), |s| format!(" ({})", number::seconds(s)));
    let text = format!(
        "{} of {}, turns of {}{planned}, {} interleaved; {}; {}",
        number::counted(turns.blocks.into(), "block"),
        number::seconds(turns.block_s),
        turn(analysis.design.load, turns),
        number::seconds(turns.measured_s),
        by_heaviest(turns.change_by_heaviest.as_ref()),
        by_changeovers(turns),
    );
    Some(Fact::new("turns", text))
}

/// Turns of a batch load that are as long as a time have different numbers of iterations.
fn is_in_time(load: LoadModel, turns: TurnFacts) -> bool {
    load == LoadModel::Batch && turns.turn_s.is_some()
}

/// The length of a turn: "20 requests", "10 ms".
fn turn(load: LoadModel, turns: TurnFacts) -> String {
    match (load, turns.turn_s) {
        (LoadModel::Batch, Some(s)) => number::seconds(s),
        (LoadModel::Batch, None) => number::counted(turns.turn, "iteration"),
        (LoadModel::Open | LoadModel::Closed, _) => number::counted(turns.turn, "request"),
    }
}

fn by_heaviest(change: Option<&Interval>) -> String {
    match change.and_then(number::percent) {
        Some(change) => format!("the heaviest arm changes the baseline by {change}"),
        None => "what the heaviest arm changes in the baseline is unknown (too few blocks without \
                 it)"
        .to_owned(),
    }
}

fn by_changeovers(turns: TurnFacts) -> String {
    match turns.changeover_share.as_ref().and_then(number::percent) {
        Some(share) => {
            let each = turns.changeover_us.map_or(String::new(), |us| {
                format!(" ({} each)", number::short(Unit::Microseconds, us))
            });
            format!("changeovers between arms are {share} of the baseline's CPU{each}")
        }
        None => "what changeovers between arms cost is unknown (too few blocks of short turns)"
            .to_owned(),
    }
}

/// By how much larger the share of changeovers is in each arm than in the baseline.
fn carry_over(analysis: &Analysis) -> Option<Fact> {
    let more = |arm: &'_ ArmAnalysis| {
        let more = number::percent(&arm.carry_over?)?;
        Some(format!("{} {more}", one_line(&arm.name)))
    };
    let arms: Vec<String> = analysis.arms.iter().filter_map(more).collect();
    let text = format!(
        "share of changeovers in CPU per request, less the baseline's: {}",
        arms.join("; ")
    );
    (!arms.is_empty()).then(|| Fact::new("carry-over", text))
}

/// The arms whose effect on CPU per request is another in isolated windows; `None` where the
/// interval of every difference includes zero.
pub(crate) fn disagreement(analysis: &Analysis) -> Option<Fact> {
    let found = |arm: &'_ ArmAnalysis| {
        let difference = arm.isolated_less_interleaved?;
        let text = format!("{} {}", one_line(&arm.name), number::percent(&difference)?);
        difference
            .excludes_zero()
            .then(|| (difference.estimate.abs(), text))
    };
    let mut found: Vec<(f64, String)> = analysis.arms.iter().filter_map(found).collect();
    // The largest first, so that the arms left out matter least.
    found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let named = found.iter().take(NAMED).map(|(_, text)| text.clone());
    let mut all: Vec<String> = named.collect();
    if let more @ 1.. = found.len().saturating_sub(NAMED) {
        all.push(format!("{more} more"));
    }
    (!all.is_empty()).then(|| Fact::new(DISAGREEMENT, all.join("; ")))
}
