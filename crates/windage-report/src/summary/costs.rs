//! What each treatment costs, in words.

use windage_analysis::{Analysis, ArmAnalysis, MetricAnalysis};
use windage_model::{Difference, Interval, Metric, Role, Soundness, Verdict};

use crate::duration;
use crate::fact::one_line;
use crate::number::{self, Scale};
use crate::pieces::{Piece, arm, as_cost, joined, plain, reversed, text, without_stop};
use crate::rows::{headline, overstated};
use crate::sentences;

/// With more treatments than this, only the first are described and the rest are counted.
const SPELLED: usize = 4;

pub(super) fn costs(analysis: &Analysis, metric: Metric) -> Vec<Piece> {
    // A bystander's cost is not an arm's cost; it has its own sentence.
    let treatments: Vec<_> = analysis
        .arms
        .iter()
        .filter(|arm| arm.role == Role::Treatment && arm.bystander_of.is_none())
        .collect();
    if treatments.is_empty() {
        return vec![text(
            "The plan has no treatment, so there is nothing to compare",
        )];
    }
    let estimates = treatments
        .iter()
        .filter_map(|arm| Some(difference(arm, metric)?.absolute.estimate));
    let scale = Scale::fitting(metric.unit(), estimates);
    let spelled = if treatments.len() > SPELLED {
        SPELLED - 1
    } else {
        treatments.len()
    };
    let mut ranked = treatments;
    if ranked.len() > spelled {
        // Highest cost first, so that the arms left out matter least.
        ranked.sort_by(|a, b| cost_estimate(b, metric).total_cmp(&cost_estimate(a, metric)));
    }
    let margin = analysis.design.margin;
    let (told, counted) = ranked.split_at(spelled);
    // Only the first figure names the metric.
    let naming = told
        .iter()
        .position(|arm| difference(arm, metric).is_some());
    let explaining = told
        .iter()
        .position(|arm| arm.metrics.get(&metric).is_some_and(is_claimed(metric)));
    let mut clauses: Vec<_> = told
        .iter()
        .enumerate()
        .map(|(i, arm)| {
            let first = First {
                names: naming == Some(i),
                explains: explaining == Some(i),
                counts_launches: false,
            };
            let result = arm.metrics.get(&metric);
            clause((arm, result), metric, scale, margin, first)
        })
        .collect();
    clauses.extend(counted_clause(counted, metric));
    let mut said = joined(clauses, "; ");
    // Once for all treatments: they share their launches.
    let results = ranked.iter().filter_map(|arm| arm.metrics.get(&metric));
    if let Some(launches) = launches_lacking(results) {
        said.push(text(format!(". A verdict needs {launches}")));
    }
    said
}

/// What only the first clause that needs it spells out.
#[derive(Clone, Copy)]
struct First {
    /// Names the metric.
    names: bool,
    /// Says that the finding does not hold after adjustment.
    explains: bool,
    /// Says how many launches a verdict needs.
    counts_launches: bool,
}

/// What one arm costs, as a clause: "`otel` costs 22.7 % of CPU per request (22.2 to 23.2 %), 13.9
/// µs".
pub(crate) fn told(analysis: &Analysis, arm: &ArmAnalysis) -> String {
    let metric = analysis.primary;
    plain(&alone(analysis, arm, metric, arm.metrics.get(&metric)))
}

/// What one arm costs compared with an arm other than the baseline, in the same words.
pub(crate) fn alone(
    analysis: &Analysis,
    arm: &ArmAnalysis,
    metric: Metric,
    result: Option<&MetricAnalysis>,
) -> Vec<Piece> {
    let difference = result.and_then(|result| result.difference.as_ref().ok());
    let estimate = difference.map(|difference| difference.absolute.estimate);
    let scale = Scale::fitting(metric.unit(), estimate);
    let first = First {
        names: true,
        explains: true,
        counts_launches: true,
    };
    clause((arm, result), metric, scale, analysis.design.margin, first)
}

fn difference(arm: &ArmAnalysis, metric: Metric) -> Option<&Difference> {
    arm.metrics.get(&metric)?.difference.as_ref().ok()
}

/// The relative cost for sorting, positive if the arm costs more; arms without one come last.
fn cost_estimate(arm: &ArmAnalysis, metric: Metric) -> f64 {
    let relative = difference(arm, metric).and_then(|difference| difference.relative.as_ref());
    relative.map_or(f64::NEG_INFINITY, |r| as_cost(r, metric).estimate)
}

/// The treatment that costs most, in a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostsMost {
    /// Its name.
    pub arm: String,
    /// "+22.7 % (+22.0 to +23.0)"
    pub figure: String,
    /// The metric, as a heading: "CPU per request".
    pub metric: String,
}

/// The treatment that costs most in the primary metric; `None` if no relative difference is known
/// or the figures are void.
#[must_use]
pub fn costs_most(analysis: &Analysis) -> Option<CostsMost> {
    let metric = analysis.primary;
    let treatments = analysis.arms.iter();
    let treatments = treatments.filter(|arm| arm.role == Role::Treatment);
    let known = treatments.filter_map(|arm| {
        let relative = difference(arm, metric)?.relative.as_ref()?;
        Some((arm, number::percent(relative)?))
    });
    let most_expensive = known
        .max_by(|(a, _), (b, _)| cost_estimate(a, metric).total_cmp(&cost_estimate(b, metric)));
    let (arm, shown) =
        most_expensive.filter(|_| analysis.validity.soundness() != Soundness::Void)?;
    Some(CostsMost {
        arm: one_line(&arm.name),
        figure: shown.to_string(),
        metric: headline(metric),
    })
}

fn clause(
    (arm_analysis, result): (&ArmAnalysis, Option<&MetricAnalysis>),
    metric: Metric,
    scale: Scale,
    margin: f64,
    first: First,
) -> Vec<Piece> {
    let name = arm(arm_analysis);
    let Some(result) = result else {
        return vec![name, text(" was not measured")];
    };
    match &result.difference {
        Err(missing) => {
            vec![
                name,
                text(format!(
                    " has no figure ({})",
                    without_stop(&sentences::missing(missing))
                )),
            ]
        }
        Ok(difference) => {
            let mut said = judged(result, difference, metric, scale, margin, first.names);
            if is_claimed(metric)(result) {
                said.push_str(&on_its_own(result, first.explains));
            }
            said.push_str(&match launches_lacking([result]) {
                Some(launches) if first.counts_launches => format!(": a verdict needs {launches}"),
                Some(_) => String::new(),
                None => to_settle(result, difference, margin),
            });
            vec![name, text(said)]
        }
    }
}

/// The clause about a treatment with a difference.
fn judged(
    result: &MetricAnalysis,
    difference: &Difference,
    metric: Metric,
    scale: Scale,
    margin: f64,
    naming: bool,
) -> String {
    let of = if naming {
        format!(" of {}", metric.label())
    } else {
        String::new()
    };
    let Some(relative) = &difference.relative else {
        let shown = scale.signed(&difference.absolute);
        return shown.map_or(" has no finite figure".to_owned(), |s| {
            format!(" differs by {}{of} ({})", s.point(), s.range())
        });
    };
    let cost = as_cost(relative, metric);
    // As in the tables: signed, because a difference that may be zero is neither cost nor saving.
    let Some(shown) = number::percent(relative) else {
        return " has no finite figure".to_owned();
    };
    match result.verdict {
        Some(Verdict::Costs) => format!(" costs {}", magnitude(&cost, difference, scale, &of)),
        Some(Verdict::Saves) => {
            format!(
                " saves {}",
                magnitude(&reversed(&cost), difference, scale, &of)
            )
        }
        Some(Verdict::Negligible) => {
            let judged_on = difference.relative_90.as_ref().unwrap_or(relative);
            match as_cost(judged_on, metric).high {
                bound if bound > 0.0 => {
                    format!(" costs no more than {}{of}", number::percent_bound(bound))
                }
                _ => format!(" costs nothing{of} ({})", shown.range_with_unit()),
            }
        }
        // The interval may be far beyond the margin: only the launches are too few.
        Some(Verdict::Inconclusive) if result.inference.launches_needed.is_some() => format!(
            ": inconclusive, {}{of} ({})",
            shown.point(),
            shown.range_with_unit()
        ),
        Some(Verdict::Inconclusive) if cost.low > 0.0 => format!(
            " costs something, {}{of}, but it is inconclusive whether this exceeds the margin of \
             {}",
            number::percent(&cost).map_or_else(String::new, |cost| cost.range_with_unit()),
            number::percent_short(margin)
        ),
        Some(Verdict::Inconclusive) | None => {
            let smallest = difference
                .minimum_detectable_effect
                .filter(|s| s.is_finite());
            let smallest = smallest.map_or(String::new(), |s| {
                format!(", minimum detectable effect {}", number::percent_bound(s))
            });
            let ends = and(&shown);
            format!(": inconclusive, between {ends} %{of}{smallest}")
        }
    }
}

/// Whether the clause claims more than the adjusted interval supports.
fn is_claimed(metric: Metric) -> impl Fn(&MetricAnalysis) -> bool {
    move |result| {
        let difference = result.difference.as_ref().ok();
        let relative = difference.and_then(|difference| difference.relative.as_ref());
        let is_something = relative.is_some_and(|relative| as_cost(relative, metric).low > 0.0);
        let is_claim = result.verdict != Some(Verdict::Inconclusive) || is_something;
        is_claim && overstated(result).is_some()
    }
}

fn on_its_own(result: &MetricAnalysis, explains: bool) -> String {
    match overstated(result).filter(|_| explains) {
        Some(of) => format!(
            " (but not when adjusted for all {} comparisons)",
            of.comparisons
        ),
        None => " (likewise not when adjusted)".to_owned(),
    }
}

/// "13 launches (`rounds`), this run has 6", if a verdict is inconclusive because of that.
fn launches_lacking<'a>(results: impl IntoIterator<Item = &'a MetricAnalysis>) -> Option<String> {
    let lacking = |result: &&MetricAnalysis| result.verdict == Some(Verdict::Inconclusive);
    let launches =
        |result: &MetricAnalysis| Some((result.inference.launches_needed?, result.rounds));
    let found = results.into_iter().filter(lacking).filter_map(launches);
    // What is enough for all.
    let (needed, has) = found.reduce(|(needed, has), (also_needed, also_has)| {
        (needed.max(also_needed), has.min(also_has))
    })?;
    Some(format!("{needed} launches (`rounds`), this run has {has}"))
}

/// The time that an inconclusive verdict needs; empty for other verdicts.
fn to_settle(result: &MetricAnalysis, difference: &Difference, margin: f64) -> String {
    let is_open = result.verdict == Some(Verdict::Inconclusive) && difference.relative.is_some();
    match result.inference.time_needed_s {
        _ if !is_open => String::new(),
        Some(time_needed_s) => format!(": about {} would settle it", duration::more(time_needed_s)),
        None => format!(
            ": no reasonable time would settle it, because the estimate lies near the margin of \
             ±{}",
            number::percent_short(margin)
        ),
    }
}

fn and(shown: &number::Shown) -> String {
    format!("{} and {}", shown.low, shown.high)
}

/// "22.7 % of CPU per request (22.0 to 23.0 %), 13.9 µs"
fn magnitude(cost: &Interval, difference: &Difference, scale: Scale, of: &str) -> String {
    let share = number::percent_unsigned(cost).map_or(String::new(), |p| {
        format!("{}{of} ({})", p.point(), p.range_with_unit())
    });
    match difference.absolute.estimate {
        v if v.is_finite() => format!("{share}, {}", scale.with_unit(v.abs())),
        _ => share,
    }
}

fn counted_clause(counted: &[&ArmAnalysis], metric: Metric) -> Option<Vec<Piece>> {
    let relative = |arm: &&ArmAnalysis| difference(arm, metric)?.relative;
    let estimates = counted.iter().filter_map(relative).map(|r| r.estimate);
    // Signed, as in the tables: they may lie on both sides of zero.
    let estimates: Vec<f64> = estimates.filter(|estimate| estimate.is_finite()).collect();
    let without = match counted.len() - estimates.len() {
        0 => None,
        1 => Some("1 more has no figure".to_owned()),
        several => Some(format!("{several} more have no figure")),
    };
    let said: Vec<String> = between(&estimates).into_iter().chain(without).collect();
    (!said.is_empty()).then(|| vec![text(said.join(", "))])
}

/// "3 more lie between +0.1 and +3.4 %"
fn between(estimates: &[f64]) -> Option<String> {
    let low = estimates.iter().copied().reduce(f64::min)?;
    let high = estimates.iter().copied().reduce(f64::max)?;
    let span = Interval {
        estimate: high,
        low,
        high,
        confidence: 1.0,
        method: windage_model::Method::MeanByLaunch,
    };
    let shown = number::percent(&span)?;
    let lie = match estimates {
        [_] => "1 more lies".to_owned(),
        several => format!("{} more lie", several.len()),
    };
    Some(if shown.low == shown.high {
        format!("{lie} at {} %", Scale::PERCENT.signed_point_to(high, 1))
    } else {
        format!("{lie} between {} %", and(&shown))
    })
}
