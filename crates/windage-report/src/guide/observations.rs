//! What a sweep shows, worded by rules from its figures alone.

use windage_analysis::{
    Against, ArmAnalysis, BEYOND_A_LINE, Curve, CurveFit, CurveTerm, Fidelity, LackOfFit, TermKind,
};
use windage_model::Metric;

use super::{Sweep, beside, budget, ceiling};
use crate::facts::{Fact, one_line};
use crate::number;
use crate::rows::curve::{self, is_rejected, level, statistic};
use crate::summary;

/// What begins every observation that the figures don't decide.
pub(super) const OPEN: &str = "can't tell yet";

/// The observations, each with what it is about.
pub(super) fn observations(sweep: &Sweep, budget: f64) -> Vec<Fact> {
    let analysis = sweep.analysis;
    let mut facts = vec![
        Fact::new("shape", shape(sweep)),
        Fact::new("attached", attached(sweep)),
    ];
    facts.extend(beside(analysis).map(|arm| Fact::new("besides", summary::told(analysis, arm))));
    facts.extend([
        Fact::new("budget", budget::within(sweep, budget)),
        Fact::new("ceiling", ceiling::ceiling(sweep)),
        Fact::new("loss", loss(sweep)),
        Fact::new("control", summary::control(analysis, analysis.primary)),
    ]);
    facts
}

/// Why a line that does not fit has no bend.
fn no_bend(lack: &LackOfFit) -> &'static str {
    if lack.points_df < BEYOND_A_LINE as f64 {
        "levels are too few for a bend"
    } else {
        "no bend explains it better: levels scatter by more than their own error"
    }
}

/// Whether the cost is linear in the factor.
fn shape(sweep: &Sweep) -> String {
    let Some(of) = sweep.curve() else {
        return format!("{OPEN}: there is no curve");
    };
    let metric = of.metric.label();
    let factor = one_line(&of.factor);
    let Some(fit) = curve::fit(of, Against::Attempted) else {
        let why = curve::why_not_fitted(sweep.analysis, of);
        return format!("{OPEN} whether {metric} is linear in {factor}: {why}");
    };
    let Some(lack) = fit.lack_of_fit else {
        return format!(
            "{OPEN} whether {metric} is linear in {factor}: no level is left to test the curve with"
        );
    };
    let is_straight = !fit.terms.iter().any(is_bend);
    let statistic = statistic(&lack);
    match (is_straight, is_rejected(&lack)) {
        (true, false) => straight(of, fit, &statistic),
        (true, true) => format!(
            "{metric} is not linear in {factor}: a straight line leaves more than the points' own \
             error ({statistic}), and {}",
            no_bend(&lack)
        ),
        (false, false) => format!("{metric} is not linear in {factor}: {}", bent(fit, &lack)),
        (false, true) => format!(
            "{metric} is not linear in {factor}, and a bend does not explain it either \
             ({statistic}): read the levels, not the curve"
        ),
    }
}

fn is_bend(term: &CurveTerm) -> bool {
    matches!(term.kind, TermKind::Concave | TermKind::Saturating { .. })
}

fn straight(of: &Curve, fit: &CurveFit, statistic: &str) -> String {
    let metric = of.metric.label();
    let factor = one_line(&of.factor);
    let mut terms = fit.terms.iter();
    let slope = terms.find(|term| term.kind == TermKind::Proportional);
    match slope.map(|term| &term.coefficient) {
        Some(slope) if slope.excludes_zero() => {
            let way = if slope.estimate > 0.0 {
                "rises"
            } else {
                "falls"
            };
            format!(
                "{metric} {way} linearly with {factor}: no more is left than the points' own \
                 error ({statistic})"
            )
        }
        Some(_) | None => format!(
            "{OPEN} whether {metric} changes with {factor}: the slope's interval holds zero, and \
             no more is left than the points' own error ({statistic})"
        ),
    }
}

fn bent(fit: &CurveFit, lack: &LackOfFit) -> String {
    let mut terms = fit.terms.iter().map(|term| term.kind);
    let bend = terms.find_map(|kind| match kind {
        TermKind::Saturating { half_at } => Some(format!(
            "a part of it comes to an end, half of it at {}",
            number::plain(half_at)
        )),
        TermKind::Concave => Some("a part of it goes with the root".to_owned()),
        TermKind::Fixed | TermKind::Proportional => None,
    });
    format!(
        "{}; with that, no more is left than the points' own error ({})",
        bend.unwrap_or_default(),
        statistic(lack)
    )
}

/// What it costs to be attached and record nothing.
fn attached(sweep: &Sweep) -> String {
    let none = sweep.at(0.0);
    match none {
        Some(arm) => summary::told(sweep.analysis, arm),
        None => format!(
            "{OPEN} what it costs before anything is recorded: {} 0.0 was not measured",
            one_line(sweep.factor)
        ),
    }
}

/// From which level on telemetry was lost, and how much.
fn loss(sweep: &Sweep) -> String {
    let judged: Vec<(f64, &Fidelity)> = sweep
        .levels
        .iter()
        .rev()
        .filter_map(|(level, arm)| Some((*level, arm.fidelity.as_ref()?)))
        .filter(|(_, of)| of.beyond_sampling.is_some())
        .collect();
    if judged.is_empty() {
        return format!(
            "{OPEN} whether telemetry was lost: the plan's arms have no `expect`, or nothing was \
             received"
        );
    }
    let lost: Vec<String> = judged
        .iter()
        .filter(|(_, of)| of.beyond_sampling == Some(true))
        .filter_map(|(at, of)| {
            let share = of.lost? / of.expected.filter(|expected| *expected > 0.0)?;
            Some(format!(
                "{} at {}",
                number::percent_short(share),
                level(*at)
            ))
        })
        .collect();
    if lost.is_empty() {
        return format!(
            "none of {} levels lost more than sampling explains",
            judged.len()
        );
    }
    let of = sweep.curve();
    let drop_limit = of.and_then(|of| {
        let unit = curve::counted_in(sweep.analysis, of);
        Some(curve::drop_limit_in_words(
            &of.drop_limit?,
            &of.factor,
            unit,
        ))
    });
    let drop_limit = drop_limit.map_or(String::new(), |drop_limit| format!("; {drop_limit}"));
    let measured = judged.iter().any(|(_, of)| of.measured_loss().is_some());
    let elsewhere = if measured {
        ""
    } else {
        ", nothing of it in measured windows"
    };
    format!(
        "{} of what was expected{elsewhere}{drop_limit}",
        lost.join(", ")
    )
}

/// Whether the subject used up its cores while this metric was measured.
pub(super) fn is_saturated(arm: &ArmAnalysis, metric: Metric) -> Option<bool> {
    arm.metrics.get(&metric).map(|result| result.saturated)
}
