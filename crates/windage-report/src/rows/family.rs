//! Findings that hold for a comparison by itself, but not when adjusted for its family.

use windage_analysis::{Analysis, Family, MetricAnalysis, Seat};
use windage_model::{Interval, Metric};

use crate::number::{self, Scale};

/// Marks findings that do not hold when adjusted for their family.
pub(crate) const ON_ITS_OWN: char = '‡';

/// The mark's meaning.
pub(crate) const ON_ITS_OWN_MEANS: &str =
    "‡ no longer holds when adjusted for all comparisons of its family";

/// The family of several comparisons in which the verdict, or the exclusion of zero, no longer
/// holds.
pub(crate) fn overstated(result: &MetricAnalysis) -> Option<Seat> {
    let seat = result.inference.seat()?;
    (seat.comparisons > 1 && result.holds_in_family() == Some(false)).then_some(seat)
}

/// The mark of a comparison; empty for most.
pub(super) fn mark(result: &MetricAnalysis) -> String {
    overstated(result).map_or(String::new(), |_| ON_ITS_OWN.to_string())
}

/// How families are adjusted, and what the mark means if something `is_marked`; `None` if no family
/// has more than one comparison.
pub(super) fn legend(analysis: &Analysis, is_marked: bool) -> Option<String> {
    let results = || analysis.arms.iter().flat_map(|arm| arm.metrics.values());
    let of = |family| {
        let mut seats = results().filter_map(|result| result.inference.seat());
        seats.find(|seat| seat.family == family)
    };
    let (primary, secondary) = (of(Family::Primary), of(Family::Secondary));
    let mut families = primary.iter().chain(&secondary);
    families.find(|seat| seat.comparisons > 1)?;
    // A family together has the confidence that each interval has by itself.
    let mut differences = results().filter_map(|result| result.difference.as_ref().ok());
    let confidence = number::percent_short(differences.next()?.absolute.confidence);
    let of_primary = |of: &Seat| format!("{} of {}", of.comparisons, analysis.primary.label());
    let of_others = |of: &Seat| format!("{} of the other metrics", of.comparisons);
    let families = primary.iter().map(of_primary);
    let families: Vec<_> = families.chain(secondary.iter().map(of_others)).collect();
    let families = families.join(", ");
    let says = if is_marked {
        ON_ITS_OWN_MEANS.to_owned()
    } else {
        "findings also hold when adjusted for all comparisons of their family".to_owned()
    };
    Some(format!("{says}: {families} (Bonferroni, {confidence})"))
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
    let shown = if is_ratio {
        number::percent(interval)
    } else {
        Scale::of(metric.unit(), interval).signed(interval)
    };
    Some(shown?.range_with_unit())
}
