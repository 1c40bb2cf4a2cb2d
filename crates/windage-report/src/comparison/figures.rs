//! What the tables of a comparison share: the arms, and the figures behind a change.

use windage_analysis::{ComparedArm, ComparedLoad, ComparedMetric, Side};
use windage_model::{Interval, Metric, Role};

use crate::fact::Fact;
use crate::number::{self, Scale};
use crate::rows::ON_ITS_OWN;

pub(super) const NOT_COMPARED: &str = "neither run has it for this arm";

/// All arms except the baseline.
pub(super) fn arms(load: &ComparedLoad) -> impl Iterator<Item = &ComparedArm> + Clone {
    let is_compared = |arm: &&ComparedArm| arm.role != Role::Baseline;
    load.arms.iter().filter(is_compared)
}

pub(super) fn in_unit(metric: Metric, interval: &Interval) -> Option<number::Shown> {
    Scale::of(metric.unit(), interval).signed(interval)
}

/// Marks findings that do not hold when adjusted for their family.
pub(super) fn mark(of: &ComparedMetric) -> String {
    match of.holds_in_family() {
        Some(false) => ON_ITS_OWN.to_string(),
        Some(true) | None => String::new(),
    }
}

/// Both overheads, for the tooltip.
pub(super) fn basis(metric: Metric, of: &ComparedMetric) -> String {
    let side = |name: &str, side: &Side| {
        let shown = match &side.relative {
            Some(relative) => number::percent(relative)?,
            None => in_unit(metric, side.difference.as_ref()?)?,
        };
        Some(format!("{name}: {shown}"))
    };
    let sides = [side("A", &of.a), side("B", &of.b)];
    let method = of.change.as_ref().ok();
    let method = method.map(|change| change.absolute.method.about().to_owned());
    let parts: Vec<String> = sides.into_iter().flatten().chain(method).collect();
    parts.join("; ")
}

/// The baseline's own figures, which show how the service and the machine changed.
pub(super) fn baseline(load: &ComparedLoad) -> Option<Fact> {
    let (a, b) = baseline_figures(load)?;
    let scale = Scale::fitting(load.primary.unit(), [a, b]);
    let share = Scale::PERCENT.signed_point_to(b / a - 1.0, 1);
    let text = format!(
        "{} in A, {} in B ({share} %)",
        scale.with_unit(a),
        scale.with_unit(b)
    );
    Some(Fact::new("baseline", text))
}

/// The baseline's figure of the primary metric in A and B, if both are above zero.
pub(super) fn baseline_figures(load: &ComparedLoad) -> Option<(f64, f64)> {
    let of = load.arm_of(Role::Baseline)?.metrics.get(&load.primary)?;
    let own = |side: &Side| {
        side.arm
            .or(side.baseline)
            .filter(|v| v.is_finite() && *v > 0.0)
    };
    own(&of.a).zip(own(&of.b))
}
