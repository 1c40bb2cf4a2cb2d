//! What limited a closed loop's throughput.

use windage_analysis::ArmAnalysis;
use windage_model::{LoadModel, Metric, Unit, WarningCode};

use super::Sweep;
use crate::fact::one_line;
use crate::number;

/// Where the bottleneck was. Throughput lost is the full cost only if it was the subject.
pub(super) fn bottleneck(sweep: &Sweep) -> String {
    let analysis = sweep.analysis;
    let metric = analysis.primary;
    let levels = sweep.levels.iter().map(|(_, arm)| *arm);
    let arms: Vec<&ArmAnalysis> = levels.chain(analysis.baseline()).collect();
    let judged: Vec<(&ArmAnalysis, bool)> = arms
        .into_iter()
        .filter_map(|arm| Some((arm, is_saturated(arm, metric)?)))
        .collect();
    let free: Vec<String> = judged
        .iter()
        .filter(|(_, saturated)| !saturated)
        .map(|(arm, _)| format!("`{}`", one_line(&arm.name)))
        .collect();
    match (analysis.design.load, judged.len(), free.len()) {
        (LoadModel::Batch, ..) => "not applicable: a program runs as fast as it can".to_owned(),
        (_, 0, _) => "unknown: nothing was measured".to_owned(),
        (LoadModel::Open, all, free) => below(sweep, all - free),
        (LoadModel::Closed, _, 0) => {
            "the subject: it kept its cores busy at every level".to_owned()
        }
        (LoadModel::Closed, all, free) if all == free => {
            format!("not the subject, at any level: {}", elsewhere(sweep))
        }
        (LoadModel::Closed, ..) => format!(
            "the subject, but not of {}: {}",
            free.join(", "),
            elsewhere(sweep)
        ),
    }
}

fn below(sweep: &Sweep, saturated: usize) -> String {
    let rate = sweep.analysis.design.rate_per_s;
    let rate = rate.map_or("the plan's rate".to_owned(), |rate| {
        format!("{}/s", number::plain(rate))
    });
    match saturated {
        0 => format!("none: at {rate} the subject stays below saturation at every level"),
        some => {
            format!("the subject: at {rate} it is saturated at {some} levels")
        }
    }
}

/// The other possible bottlenecks, with which throughput lost understates the cost; CPU does not.
fn elsewhere(sweep: &Sweep) -> String {
    let analysis = sweep.analysis;
    let cores = number::short(Unit::Cores, analysis.own_cost.generator_cores);
    let is_generator = analysis.validity.has(WarningCode::GeneratorSaturated);
    let it = if is_generator {
        format!("the generator used most of its core ({cores})")
    } else {
        format!(
            "the generator ({cores}), what is behind the subject, or too few connections (unknown \
             which)"
        )
    };
    format!("{it}. Throughput lost understates the cost there; CPU does not")
}

/// Whether the subject was saturated while this metric was measured.
fn is_saturated(arm: &ArmAnalysis, metric: Metric) -> Option<bool> {
    arm.metrics.get(&metric).map(|result| result.saturated)
}
