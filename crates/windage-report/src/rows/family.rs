//! What is said of a comparison on its own, and holds no longer when all of its family have to
//! hold together.

use windage_analysis::{Analysis, Family, InFamily, MetricAnalysis};
use windage_model::{Interval, Metric, Verdict};

use super::spoken;
use crate::number::{self, Scale};

/// Marks what is said on its own and does not hold in its family.
pub(super) const ON_ITS_OWN: char = '‡';

/// The family of more than one comparison in which a verdict, or that the figure excludes nil,
/// does not hold.
pub(crate) fn overstated(result: &MetricAnalysis) -> Option<&InFamily> {
    let of = result.inference.in_family.as_ref()?;
    let verdict_falls = match result.verdict {
        Some(Verdict::Costs | Verdict::Saves | Verdict::Negligible) => of.verdict != result.verdict,
        Some(Verdict::Inconclusive) | None => false,
    };
    let excess_falls = result.exceeds_nil() == Some(true) && !of.interval.excludes_nil();
    (of.comparisons > 1 && (verdict_falls || excess_falls)).then_some(of)
}

/// The mark that a comparison needs; empty for most.
pub(super) fn mark(result: &MetricAnalysis) -> String {
    overstated(result).map_or(String::new(), |_| ON_ITS_OWN.to_string())
}

/// How the error of the families is controlled, and what the mark means where there `is_marked`
/// something; `None` when no family has more than one comparison.
pub(super) fn legend(analysis: &Analysis, is_marked: bool) -> Option<String> {
    let of = |family| {
        let mut all = analysis.arms.iter().flat_map(|arm| arm.metrics.values());
        let member = |result: &'_ MetricAnalysis| {
            let of = result.inference.in_family.clone()?;
            (of.family == family).then_some(of)
        };
        all.find_map(member)
    };
    let (primary, secondary) = (of(Family::Primary), of(Family::Secondary));
    let largest = primary
        .iter()
        .chain(&secondary)
        .max_by_key(|of| of.comparisons)
        .filter(|of| of.comparisons > 1)?;
    let confidence = number::percent_short(confidence(largest));
    let of_primary = |of: &InFamily| format!("{} of {}", of.comparisons, spoken(analysis.primary));
    let of_others = |of: &InFamily| format!("{} of the other metrics", of.comparisons);
    let families = primary.iter().map(of_primary);
    let families: Vec<_> = families.chain(secondary.iter().map(of_others)).collect();
    let families = families.join(", ");
    let says = if is_marked {
        format!("{ON_ITS_OWN} holds on its own, but not when all comparisons of its family have to")
    } else {
        "what is found holds also when all comparisons of its family have to".to_owned()
    };
    Some(format!("{says}: {families} (Bonferroni, {confidence})"))
}

/// At which all of the family hold together.
fn confidence(of: &InFamily) -> f64 {
    1.0 - (1.0 - of.interval.confidence) * of.comparisons as f64
}

/// The interval in its family, for tooltips and details; `None` for a family of one.
pub(super) fn interval(metric: Metric, result: &MetricAnalysis) -> Option<String> {
    let of = result.inference.in_family.as_ref()?;
    let is_ratio = result.difference.as_ref().ok()?.relative.is_some();
    (of.comparisons > 1)
        .then(|| written(metric, &of.interval, is_ratio))
        .flatten()
}

fn written(metric: Metric, interval: &Interval, is_ratio: bool) -> Option<String> {
    if is_ratio {
        return Some(format!("{} %", number::percent(interval)?.range()));
    }
    let ends = [interval.estimate, interval.low, interval.high];
    let scale = Scale::fitting(metric.unit(), ends);
    Some(scale.attach(&scale.signed(interval)?.range()))
}
