//! Which levels stay within a budget.

use windage_analysis::{Against, BandPoint, Curve, CurveScale};
use windage_model::{Direction, Interval};

use super::Sweep;
use super::table::{own_value, share_of};
use crate::fact::one_line;
use crate::number;
use crate::rows::curve::{self, level};

/// The highest level whose whole interval lies within the budget, as for all lower levels, and
/// where the curve meets the budget.
pub(super) fn within(sweep: &Sweep, budget: f64) -> String {
    let metric = sweep.analysis.primary;
    let costs: Vec<(f64, Interval)> = sweep
        .levels
        .iter()
        .rev()
        .filter_map(|(level, arm)| Some((*level, share_of(arm.metrics.get(&metric)?, metric)?)))
        .collect();
    let of = format!("{} of {}", number::percent_short(budget), metric.label());
    let Some((lowest, of_lowest)) = costs.first() else {
        return format!("unknown what lies within {of}: no level has an interval in percent");
    };
    let affordable = costs.iter().take_while(|(_, cost)| cost.high < budget);
    let measured = match affordable.last() {
        Some((highest, cost)) => format!(
            "up to {} {} the cost lies within {of}: {}",
            one_line(sweep.factor),
            level(*highest),
            share(cost)
        ),
        None if of_lowest.low > budget => format!(
            "no level lies within {of}: already {} costs {}",
            level(*lowest),
            share(of_lowest)
        ),
        None => format!(
            "unknown whether any level lies within {of}: {} costs {}",
            level(*lowest),
            share(of_lowest)
        ),
    };
    let curve = sweep.curve().filter(|curve| curve.metric == metric);
    let predicted = curve.and_then(|of| meets(sweep, of, budget));
    [Some(measured), predicted]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ")
}

fn share(cost: &Interval) -> String {
    let shown = number::percent_unsigned(cost);
    shown.map_or(number::NOT_AVAILABLE.to_owned(), |shown| shown.to_string())
}

/// Where the curve reaches the budget; `None` without a curve.
fn meets(sweep: &Sweep, of: &Curve, budget: f64) -> Option<String> {
    let fit = curve::fit(of, Against::Attempted)?;
    let limit = match of.scale {
        CurveScale::Share => budget,
        CurveScale::Unit => budget * own_value(sweep.analysis.baseline()?, of.metric)?,
    };
    let sign = match of.metric.direction() {
        Direction::Lower => 1.0,
        Direction::Higher => -1.0,
    };
    let (first, last) = (
        fit.confidence_band.first()?.x,
        fit.confidence_band.last()?.x,
    );
    let at = |cost: &dyn Fn(&BandPoint) -> f64| crossing(&fit.confidence_band, cost, limit);
    // The ends of the confidence band as costs, whatever the metric's direction.
    let dear = at(&|p| (sign * p.low).max(sign * p.high)).unwrap_or(last);
    let cheap = at(&|p| (sign * p.low).min(sign * p.high));
    let until = cheap.map_or(format!("beyond {}", number::plain(last)), number::plain);
    Some(match at(&|p| sign * p.y) {
        Some(at) if at == first => format!(
            "the curve lies above it from {} on, its interval from {until} on",
            number::plain(first)
        ),
        Some(at) => format!(
            "the curve reaches it at {} ({} to {until})",
            number::plain(at),
            number::plain(dear)
        ),
        None => format!(
            "the curve stays below it up to {}, as far as it was fitted",
            number::plain(last)
        ),
    })
}

/// The lowest x at which the cost exceeds the limit.
fn crossing(
    confidence_band: &[BandPoint],
    cost: &dyn Fn(&BandPoint) -> f64,
    limit: f64,
) -> Option<f64> {
    let first = confidence_band.first()?;
    if cost(first) > limit {
        return Some(first.x);
    }
    let pairs = confidence_band.windows(2);
    let crossed = pairs.filter_map(|pair| match pair {
        [before, after] => Some((before, after)),
        _ => None,
    });
    let mut beyond = crossed.filter(|(_, after)| cost(after) > limit);
    let (before, after) = beyond.next()?;
    let (low, high) = (cost(before), cost(after));
    Some(before.x + (after.x - before.x) * (limit - low) / (high - low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_met_where_the_curve_crosses_it() {
        let confidence_band: Vec<BandPoint> = [(0.0, 1.0), (10.0, 2.0), (20.0, 4.0)]
            .map(|(x, y)| BandPoint {
                x,
                y,
                low: y - 0.5,
                high: y + 0.5,
            })
            .to_vec();
        let table = [
            (0.5, Some(0.0), "beyond it from the start"),
            (1.5, Some(5.0), "on the first stretch"),
            (3.0, Some(15.0), "on the second"),
            (4.0, None, "reached, and not exceeded"),
            (9.0, None, "never"),
        ];
        for (limit, expected, why) in table {
            assert_eq!(
                crossing(&confidence_band, &|p| p.y, limit),
                expected,
                "{why}"
            );
        }
        assert_eq!(crossing(&[], &|p| p.y, 1.0), None);
    }
}
