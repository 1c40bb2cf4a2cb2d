//! The answer in words, made by rules from the data: what it costs, whether the measurement may
//! be believed, and what was lost.

use windage_analysis::{Analysis, ArmAnalysis, MetricAnalysis};
use windage_model::{Difference, Direction, DoubtCode, Interval, Metric, Role, Soundness, Verdict};

use crate::duration;
use crate::facts::one_line;
use crate::number::{self, Scale};
use crate::rows::{overstated, spoken};

/// A piece of a sentence. Names are apart because each renderer sets them off in its own way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    Arm(String),
}

/// The answer in plain words, at most four sentences: what each treatment costs and how sure
/// that is, how the control and the validity stand, what telemetry was lost.
///
/// Names of arms stand between backticks.
#[must_use]
pub fn summary(analysis: &Analysis) -> String {
    sentences(analysis)
        .iter()
        .map(|sentence| plain(sentence))
        .collect::<Vec<_>>()
        .join(" ")
}

/// The same, for renderers that set names off in their own way.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<Vec<Piece>> {
    if analysis.validity.soundness() == Soundness::Void {
        let reasons = reasons(analysis, Soundness::Void, &[]);
        let sentence = format!("This run is void and its figures are not to be used: {reasons}");
        return vec![ended(vec![text(sentence)])];
    }
    let metric = analysis.primary;
    let mut sentences = vec![ended(costs(analysis, metric))];
    sentences.push(ended(trust(analysis, metric)));
    sentences.extend(losses(analysis).into_iter().map(ended));
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

fn plain(sentence: &[Piece]) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Arm(name) => format!("`{name}`"),
    };
    sentence.iter().map(piece).collect()
}

fn text(text: impl Into<String>) -> Piece {
    Piece::Text(text.into())
}

fn arm(arm: &ArmAnalysis) -> Piece {
    Piece::Arm(one_line(&arm.name))
}

/// The sentence with its full stop; nothing stays nothing.
fn ended(mut sentence: Vec<Piece>) -> Vec<Piece> {
    match sentence.last() {
        None => {}
        Some(Piece::Text(last)) if last.ends_with(['.', '!', '?']) => {}
        Some(_) => sentence.push(text(".")),
    }
    sentence
}

fn joined(clauses: Vec<Vec<Piece>>, between: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for clause in clauses {
        if !pieces.is_empty() {
            pieces.push(text(between));
        }
        pieces.extend(clause);
    }
    pieces
}

/// What only the first clause that has cause to says in full.
#[derive(Clone, Copy)]
struct First {
    /// Names the metric.
    names: bool,
    /// Explains what it is for a claim to hold on its own only.
    explains: bool,
}

/// How many treatments are spelled out before the rest is counted.
const SPELLED: usize = 4;

fn costs(analysis: &Analysis, metric: Metric) -> Vec<Piece> {
    let treatments: Vec<_> = analysis
        .arms
        .iter()
        .filter(|arm| arm.role == Role::Treatment)
        .collect();
    if treatments.is_empty() {
        return vec![text(
            "The plan has no treatment: there is nothing to compare",
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
        // The dearest first: what is left out matters less than what is told.
        ranked.sort_by(|a, b| cost_estimate(b, metric).total_cmp(&cost_estimate(a, metric)));
    }
    let interest = analysis.design.interest;
    let (told, counted) = ranked.split_at(spelled);
    // Only the first figure names its metric.
    let naming = told
        .iter()
        .position(|arm| difference(arm, metric).is_some());
    let explaining = told
        .iter()
        .position(|arm| is_claimed_on_its_own(arm, metric));
    let mut clauses: Vec<_> = told
        .iter()
        .enumerate()
        .map(|(i, arm)| {
            let first = First {
                names: naming == Some(i),
                explains: explaining == Some(i),
            };
            clause(arm, metric, scale, interest, first)
        })
        .collect();
    clauses.extend(counted_clause(counted, metric));
    joined(clauses, "; ")
}

/// What one arm costs, as a clause: "`otel` costs 22.7 % of CPU a request (22.2 to 23.2 %), 13.9 µs".
pub(crate) fn told(analysis: &Analysis, arm: &ArmAnalysis) -> String {
    let metric = analysis.primary;
    let estimate = difference(arm, metric).map(|difference| difference.absolute.estimate);
    let scale = Scale::fitting(metric.unit(), estimate);
    let first = First {
        names: true,
        explains: true,
    };
    plain(&clause(arm, metric, scale, analysis.design.interest, first))
}

fn difference(arm: &ArmAnalysis, metric: Metric) -> Option<&Difference> {
    arm.metrics.get(&metric)?.difference.as_ref().ok()
}

/// The relative cost, positive where it is one; what has none comes last.
fn cost_estimate(arm: &ArmAnalysis, metric: Metric) -> f64 {
    let relative = difference(arm, metric).and_then(|difference| difference.relative.as_ref());
    relative.map_or(f64::NEG_INFINITY, |r| as_cost(r, metric).estimate)
}

fn clause(
    arm_analysis: &ArmAnalysis,
    metric: Metric,
    scale: Scale,
    interest: f64,
    first: First,
) -> Vec<Piece> {
    let name = arm(arm_analysis);
    let Some(result) = arm_analysis.metrics.get(&metric) else {
        return vec![name, text(" was not measured")];
    };
    match &result.difference {
        Err(missing) => {
            vec![
                name,
                text(format!(" has no figure ({})", without_stop(&missing.text))),
            ]
        }
        Ok(difference) => {
            let mut said = judged(result, difference, metric, scale, interest, first.names);
            if is_claimed_on_its_own(arm_analysis, metric) {
                said.push_str(&on_its_own(result, first.explains));
            }
            said.push_str(&to_settle(result, difference, interest));
            vec![name, text(said)]
        }
    }
}

/// What is said of a treatment with a difference.
fn judged(
    result: &MetricAnalysis,
    difference: &Difference,
    metric: Metric,
    scale: Scale,
    interest: f64,
    naming: bool,
) -> String {
    let of = if naming {
        format!(" of {}", spoken(metric))
    } else {
        String::new()
    };
    let Some(relative) = &difference.relative else {
        let shown = scale.signed(&difference.absolute);
        return shown.map_or(" has no finite figure".to_owned(), |s| {
            let unit = scale.attach("").trim().to_owned();
            format!(" differs by {} {unit}{of} ({})", s.estimate, s.range())
        });
    };
    let cost = as_cost(relative, metric);
    let Some(signed) = number::percent(&cost) else {
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
                _ => format!(" costs nothing{of} ({} %)", signed.range()),
            }
        }
        Some(Verdict::Inconclusive) if cost.low > 0.0 => format!(
            " costs something, {} %{of}, but whether more than the {} that matter can't be told yet",
            signed.range(),
            number::percent_short(interest)
        ),
        Some(Verdict::Inconclusive) | None => {
            let smallest = difference.smallest_visible.filter(|s| s.is_finite());
            let smallest = smallest.map_or(String::new(), |s| {
                format!(
                    ", the smallest visible here is {}",
                    number::percent_bound(s)
                )
            });
            // As the tables have it: what may be nil has no direction to be a cost in.
            let ends = number::percent(relative).map_or_else(|| and(&signed), |shown| and(&shown));
            format!(": can't tell yet, between {ends} %{of}{smallest}")
        }
    }
}

/// Whether more is said of a treatment than holds in its family.
fn is_claimed_on_its_own(arm: &ArmAnalysis, metric: Metric) -> bool {
    let Some(result) = arm.metrics.get(&metric) else {
        return false;
    };
    let relative = difference(arm, metric).and_then(|difference| difference.relative.as_ref());
    let is_something = relative.is_some_and(|relative| as_cost(relative, metric).low > 0.0);
    let is_claim = result.verdict != Some(Verdict::Inconclusive) || is_something;
    is_claim && overstated(result).is_some()
}

fn on_its_own(result: &MetricAnalysis, explains: bool) -> String {
    match overstated(result).filter(|_| explains) {
        Some(of) => format!(
            " (on its own, but not when all {} comparisons have to hold together)",
            of.comparisons
        ),
        None => " (likewise on its own only)".to_owned(),
    }
}

/// What would settle an inconclusive verdict; empty for others.
fn to_settle(result: &MetricAnalysis, difference: &Difference, interest: f64) -> String {
    let is_open = result.verdict == Some(Verdict::Inconclusive) && difference.relative.is_some();
    match result.inference.needs_s {
        _ if !is_open => String::new(),
        Some(needs_s) => format!(
            ": about {} of such a run would settle it",
            duration::more(needs_s)
        ),
        None => format!(
            ": no reasonable time would settle it, as the estimate lies at the limit of ±{}",
            number::percent_short(interest)
        ),
    }
}

fn and(shown: &number::Shown) -> String {
    format!("{} and {}", shown.low, shown.high)
}

/// "22.7 % of CPU a request (22.0 to 23.0 %), 13.9 µs"
fn magnitude(cost: &Interval, difference: &Difference, scale: Scale, of: &str) -> String {
    let share = number::percent_unsigned(cost).map_or(String::new(), |p| {
        format!("{} %{of} ({} %)", p.estimate, p.range())
    });
    match difference.absolute.estimate {
        v if v.is_finite() => format!("{share}, {}", scale.with_unit(v.abs())),
        _ => share,
    }
}

fn counted_clause(counted: &[&ArmAnalysis], metric: Metric) -> Option<Vec<Piece>> {
    let estimates: Vec<f64> = counted
        .iter()
        .map(|arm| cost_estimate(arm, metric))
        .filter(|estimate| estimate.is_finite())
        .collect();
    let (Some(dearest), Some(cheapest)) = (estimates.first(), estimates.last()) else {
        return (!counted.is_empty())
            .then(|| vec![text(format!("{} more have no figure", counted.len()))]);
    };
    let span = Interval {
        estimate: *dearest,
        low: *cheapest,
        high: *dearest,
        confidence: 1.0,
        method: String::new(),
    };
    let shown = number::percent(&span)?;
    let what = format!("{} more lie between {} %", counted.len(), and(&shown));
    Some(vec![text(what)])
}

/// Whether the figures may be believed: the control first, then what speaks against the run.
fn trust(analysis: &Analysis, metric: Metric) -> Vec<Piece> {
    let control = control(analysis, metric);
    // The warning about the control is not given twice.
    let told: &[DoubtCode] = if control.starts_with(WARNING) {
        &[DoubtCode::ControlNotNil]
    } else {
        &[]
    };
    let reasons = reasons(analysis, Soundness::Suspect, told);
    let mut sentence = vec![text(control)];
    if !reasons.is_empty() {
        sentence.push(text(format!(". The run is suspect: {reasons}")));
    }
    sentence
}

const WARNING: &str = "Warning";

/// Whether the control vouches for a metric.
pub(crate) fn control(analysis: &Analysis, metric: Metric) -> String {
    let result = analysis
        .control()
        .and_then(|control| control.metrics.get(&metric));
    let Some(result) = result else {
        return "There is no control to vouch for it".to_owned();
    };
    let difference = match &result.difference {
        Ok(difference) => difference,
        Err(missing) => {
            return format!(
                "The control has no figure ({})",
                without_stop(&missing.text)
            );
        }
    };
    let shown = match &difference.relative {
        Some(relative) => number::percent(relative)
            .map(|p| (format!("{} %", p.estimate), format!("{} %", p.range()))),
        None => {
            let scale = Scale::fitting(metric.unit(), [difference.absolute.estimate]);
            let written = scale.signed(&difference.absolute);
            written.map(|s| (scale.attach(&s.estimate), scale.attach(&s.range())))
        }
    };
    let Some((estimate, range)) = shown else {
        return "The control has no finite figure".to_owned();
    };
    match (result.exceeds_nil(), result.verdict) {
        (Some(false), _) => {
            format!("The control, a second baseline, holds: its difference is nil within {range}")
        }
        (_, Some(Verdict::Negligible)) => format!(
            "The control, a second baseline, differs by {estimate} ({range}), \
             which is below the interest of {}",
            number::percent_short(analysis.design.interest)
        ),
        _ => format!(
            "{WARNING}: the control, a second baseline, differs by {estimate} ({range}) \
             though nothing was changed, so something besides telemetry differs"
        ),
    }
}

/// The first reasons of that gravity, each a sentence, and how many more there are.
fn reasons(analysis: &Analysis, gravity: Soundness, told: &[DoubtCode]) -> String {
    const SPELLED: usize = 2;
    let grave: Vec<_> = analysis
        .validity
        .reasons
        .iter()
        .filter(|reason| reason.code.soundness() == gravity && !told.contains(&reason.code))
        .collect();
    let spelled = grave
        .iter()
        .take(SPELLED)
        .map(|reason| without_stop(&reason.text));
    let mut words = spelled.collect::<Vec<_>>().join(". ");
    match grave.len().saturating_sub(SPELLED) {
        0 => {}
        1 => words.push_str(". One more reason is listed below"),
        more => words.push_str(&format!(". {more} more reasons are listed below")),
    }
    words
}

fn losses(analysis: &Analysis) -> Vec<Vec<Piece>> {
    let lossy = |one: &&ArmAnalysis, is_measured: bool| {
        let of = one.fidelity.as_ref();
        of.is_some_and(|of| {
            of.beyond_sampling == Some(true) && of.measured_loss().is_some() == is_measured
        })
    };
    let sentence = |is_measured, end: &str| {
        let arms = analysis.arms.iter().filter(|one| lossy(one, is_measured));
        let clauses: Vec<_> = arms.filter_map(loss).collect();
        (!clauses.is_empty()).then(|| {
            let mut sentence = joined(clauses, ", ");
            sentence.push(text(end));
            sentence
        })
    };
    let measured = sentence(
        true,
        ", more than sampling explains; the cost is that of what was delivered",
    );
    let elsewhere = sentence(
        false,
        ", more than sampling explains, but nothing in measured windows: the cost is that of \
         telemetry that arrived",
    );
    measured.into_iter().chain(elsewhere).collect()
}

fn loss(one: &ArmAnalysis) -> Option<Vec<Piece>> {
    let fidelity = one.fidelity.as_ref()?;
    let (lost, expected) = (fidelity.lost?, fidelity.expected?);
    (lost > 0.0 && expected > 0.0).then(|| {
        let share = number::percent_short(lost / expected);
        let what = fidelity.of.as_str();
        vec![arm(one), text(format!(" lost {share} of its {what}"))]
    })
}

/// A difference as a cost: positive where the arm is worse.
pub(crate) fn as_cost(difference: &Interval, metric: Metric) -> Interval {
    match metric.direction() {
        Direction::Lower => difference.clone(),
        Direction::Higher => reversed(difference),
    }
}

fn reversed(interval: &Interval) -> Interval {
    Interval {
        estimate: -interval.estimate,
        low: -interval.high,
        high: -interval.low,
        ..interval.clone()
    }
}

fn without_stop(text: &str) -> String {
    one_line(text).trim_end_matches('.').to_owned()
}
