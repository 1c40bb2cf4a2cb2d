//! A metric over a swept factor: a row per level, and the fitted curves in words below.

use windage_analysis::{
    Against, Analysis, Curve, CurveFit, CurvePoint, CurveScale, CurveTerm, DropLimit, FidelityUnit,
    LackOfFit, TermKind,
};
use windage_model::{ArmId, Interval, LevelValue};

use super::{Cell, Row, RowsOf, Table, column, plain};
use crate::fact::{Fact, one_line};
use crate::number::{self, NOT_AVAILABLE, Scale};

/// A curve whose lack-of-fit test has a lower probability than this does not fit.
const REJECTED: f64 = 0.05;

/// One table per curve.
pub(super) fn curve_tables(analysis: &Analysis) -> Vec<Table> {
    let curves = analysis.curves.iter();
    curves.map(|curve| curve_table(analysis, curve)).collect()
}

/// The title of a curve's table and picture: "CPU per request by rate".
pub(crate) fn title(curve: &Curve) -> String {
    let metric = super::headline(curve.metric);
    format!("{metric} by {}", one_line(&curve.factor))
}

/// A level as written in the plan.
pub(crate) fn level(level: f64) -> String {
    LevelValue::Number(level).to_string()
}

/// What the arms of a curve have in common; only where the run has several such groups.
pub(crate) fn of_which(analysis: &Analysis, curve: &Curve) -> Option<String> {
    let mut curves = analysis.curves.iter();
    let is_needed = curves.any(|other| (&other.factor, &other.of) != (&curve.factor, &curve.of));
    is_needed.then(|| one_line(&curve.of))
}

/// The unit in which telemetry of a curve's arms is counted.
pub(crate) fn counted_in(analysis: &Analysis, curve: &Curve) -> FidelityUnit {
    let is_point = |id: &ArmId| curve.points.iter().any(|point| point.arm == *id);
    let mut arms = analysis.arms.iter().filter(|arm| is_point(&arm.id));
    arms.find_map(|arm| arm.fidelity.as_ref())
        .map_or(FidelityUnit::default(), |fidelity| fidelity.of)
}

/// The fit against attempted or delivered telemetry.
pub(crate) fn fit(curve: &Curve, against: Against) -> Option<&CurveFit> {
    curve.fits.iter().find(|fit| fit.against == against)
}

/// The unit in which all of a curve's overheads are written.
pub(crate) fn scale(curve: &Curve) -> Scale {
    let estimates = curve.points.iter().map(|point| point.overhead.estimate);
    match curve.scale {
        CurveScale::Unit => Scale::fitting(curve.metric.unit(), estimates),
        CurveScale::Share => Scale::PERCENT,
    }
}

fn curve_table(analysis: &Analysis, curve: &Curve) -> Table {
    let unit = counted_in(analysis, curve);
    let is_counted = |p: &CurvePoint| p.attempted.is_some() || p.delivered.is_some();
    let has_counts = curve.points.iter().any(is_counted);
    let fitted = fit(curve, Against::Attempted);
    let mut columns = Vec::new();
    if has_counts {
        columns.push(column(
            format!("{} per request", unit.as_str()),
            "Attempted → delivered",
        ));
    }
    columns.push(column("overhead", "Arm − baseline, with its 95 % interval"));
    columns.extend(fitted.map(|_| column("curve", "The height of the fitted curve at this level")));
    let scale = scale(curve);
    let row = |point: &CurvePoint| {
        let mut cells = Vec::new();
        if has_counts {
            cells.push(Cell {
                value: point.delivered.or(point.attempted),
                ..plain(counts(point))
            });
        }
        cells.push(Cell::figure(
            scale.interval(&point.overhead),
            point.overhead.estimate,
        ));
        cells.extend(fitted.map(|fit| height_cell(point, fit, scale)));
        Row {
            arm: level(point.level),
            cells,
        }
    };
    Table {
        title: title(curve),
        columns,
        rows: curve.points.iter().rev().map(row).collect(),
        facts: facts(analysis, curve, unit),
        of: RowsOf::Level,
        ..Table::default()
    }
}

fn counts(point: &CurvePoint) -> String {
    let asked = point.attempted.or(point.delivered).unwrap_or_default();
    let part = |n: Option<f64>| n.map_or("–".to_owned(), |n| number::a_request(n, asked));
    format!("{} → {}", part(point.attempted), part(point.delivered))
}

/// Each point by rising level, as alternative text: "0.1: +9.31 µs (+8.90 to +9.72)".
pub(crate) fn points_in_words(curve: &Curve) -> Vec<String> {
    let scale = scale(curve);
    let point = |of: &CurvePoint| {
        let note = if of.is_beyond_drop_limit {
            ", beyond the drop limit, not fitted"
        } else {
            ""
        };
        format!(
            "{}: {}{note}.",
            level(of.level),
            scale.interval(&of.overhead)
        )
    };
    let points = curve.points.iter().filter(|of| of.overhead.is_finite());
    points.map(point).collect()
}

fn height_cell(point: &CurvePoint, fit: &CurveFit, scale: Scale) -> Cell {
    if point.is_beyond_drop_limit {
        return Cell {
            basis: Some("More was lost than sampling explains; shown, not fitted".to_owned()),
            ..Cell::faint("beyond drop limit")
        };
    }
    // As wide as the point's own interval, so that both get the same decimals.
    let half_width = point.overhead.half_width();
    let height = fit.height(point.level);
    let interval = Interval {
        estimate: height,
        low: height - half_width,
        high: height + half_width,
        ..point.overhead
    };
    let written = scale.signed(&interval);
    let text = written.map_or(NOT_AVAILABLE.to_owned(), |shown| shown.point());
    Cell::figure(text, height)
}

/// From this many points on, a short report has the fit.
const WORTH_A_FIT: usize = 5;

/// What was fitted to the primary metric's curves, for a report without their points.
pub(super) fn fitted(analysis: &Analysis) -> impl Iterator<Item = Fact> {
    let curves = analysis.curves.iter();
    curves
        .filter(|curve| curve.metric == analysis.primary && curve.points.len() >= WORTH_A_FIT)
        .flat_map(|curve| facts(analysis, curve, counted_in(analysis, curve)))
}

fn facts(analysis: &Analysis, curve: &Curve, unit: FidelityUnit) -> Vec<Fact> {
    let of = of_which(analysis, curve);
    let mut facts: Vec<Fact> = of.into_iter().map(|of| Fact::new("of", of)).collect();
    if curve.fits.is_empty() {
        facts.push(Fact::new("curve", why_not_fitted(analysis, curve)));
    }
    for fit in &curve.fits {
        let label = match fit.against {
            Against::Attempted => "attempted",
            Against::Delivered => "delivered",
        };
        facts.push(Fact::new(label, clauses(curve, fit, unit).join("; ")));
    }
    facts.extend(curve.drop_limit.map(|drop_limit| {
        Fact::new(
            "drop limit",
            drop_limit_in_words(&drop_limit, &curve.factor, unit),
        )
    }));
    facts
}

/// Why a curve has points and no fit.
pub(crate) fn why_not_fitted(analysis: &Analysis, curve: &Curve) -> String {
    let points = curve
        .points
        .iter()
        .filter(|point| !point.is_beyond_drop_limit);
    match analysis.design.stop {
        Some(_) => "no curve was fitted, because the run could stop early".to_owned(),
        None => format!("no curve was fitted: {} points are too few", points.count()),
    }
}

/// The formula, how well it fits, and what it predicted.
pub(crate) fn clauses(curve: &Curve, fit: &CurveFit, unit: FidelityUnit) -> Vec<String> {
    let mut clauses = vec![formula(curve, fit, unit), fitness(fit)];
    clauses.extend(held_out(curve, fit));
    clauses
}

/// "fixed +1.20 µs (+0.90 to +1.50), +0.0710 µs (+0.0680 to +0.0740) per unit of rate"
pub(crate) fn formula(curve: &Curve, fit: &CurveFit, unit: FidelityUnit) -> String {
    let x = match (fit.against, unit) {
        (Against::Attempted, _) => one_line(&curve.factor),
        (Against::Delivered, of) => format!("{} delivered per request", of.as_str()),
    };
    let one = match (fit.against, unit) {
        (Against::Attempted, _) => format!("per unit of {x}"),
        (Against::Delivered, FidelityUnit::Traces) => "per trace delivered".to_owned(),
        (Against::Delivered, FidelityUnit::Spans) => "per span delivered".to_owned(),
        (Against::Delivered, FidelityUnit::Items) => "per item delivered".to_owned(),
    };
    let term = |term: &CurveTerm| {
        let written = scale_of(curve, &term.coefficient).interval(&term.coefficient);
        match term.kind {
            TermKind::Fixed => format!("fixed {written}"),
            TermKind::Proportional => format!("{written} {one}"),
            TermKind::Concave => format!("{written} times the square root of {x}"),
            TermKind::Saturating { half_at } => {
                let half = number::plain(half_at);
                format!("up to {written}, half of it at {half} {x}")
            }
        }
    };
    fit.terms.iter().map(term).collect::<Vec<_>>().join(", ")
}

/// A coefficient may be much smaller than the products it gives, so it has a unit of its own.
fn scale_of(curve: &Curve, coefficient: &Interval) -> Scale {
    match curve.scale {
        CurveScale::Unit => Scale::of(curve.metric.unit(), coefficient),
        CurveScale::Share => Scale::PERCENT,
    }
}

fn fitness(fit: &CurveFit) -> String {
    match &fit.lack_of_fit {
        None => "lack of fit can't be tested: there are no more points than terms".to_owned(),
        Some(lack) if is_rejected(lack) => format!(
            "does not fit: significant lack of fit ({})",
            statistic(lack)
        ),
        Some(lack) => format!("fits: no significant lack of fit ({})", statistic(lack)),
    }
}

/// Whether the lack of fit is significant.
pub(crate) fn is_rejected(lack: &LackOfFit) -> bool {
    lack.p < REJECTED
}

/// "F = 0.82, p = 0.54"
pub(crate) fn statistic(lack: &LackOfFit) -> String {
    let p = match lack.p {
        p if !p.is_finite() => format!("p = {NOT_AVAILABLE}"),
        p if p < 0.001 => "p < 0.001".to_owned(),
        p if p < 0.1 => format!("p = {p:.3}"),
        p => format!("p = {p:.2}"),
    };
    let f = match lack.f {
        f if f.is_finite() => number::hundredths(f),
        _ => NOT_AVAILABLE.to_owned(),
    };
    format!("F = {f}, {p}")
}

fn held_out(curve: &Curve, fit: &CurveFit) -> Option<String> {
    let all = fit.held_out.len();
    let missed = fit.held_out.iter().filter(|held| !held.is_inside());
    let missed: Vec<String> = missed
        .filter_map(|held| curve.points.iter().find(|p| p.arm == held.arm))
        .map(|point| level(point.level))
        .collect();
    let inside = fit.held_out.iter().filter(|held| held.is_inside()).count();
    let not = if missed.is_empty() {
        String::new()
    } else {
        format!(", but not {}", missed.join(", "))
    };
    (all > 0)
        .then(|| format!("{inside} of {all} held-out points lie within their predictions{not}"))
}

/// "telemetry is dropped above a rate of 50.0 to 75.0: at most 6,980 traces/s arrive"
pub(crate) fn drop_limit_in_words(
    drop_limit: &DropLimit,
    factor: &str,
    unit: FidelityUnit,
) -> String {
    let at_most = drop_limit.delivered_per_s.map_or(String::new(), |n| {
        let (n, unit) = (number::count_f64(n), unit.as_str());
        format!(": at most {n} {unit}/s arrive")
    });
    format!(
        "telemetry is dropped above a {} of {} to {}{at_most}",
        one_line(factor),
        level(drop_limit.above),
        level(drop_limit.below)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(kind: TermKind, estimate: f64) -> CurveTerm {
        let coefficient = Interval {
            estimate,
            low: estimate - 0.1,
            high: estimate + 0.1,
            confidence: 0.95,
            method: windage_model::Method::MeanByLaunch,
        };
        CurveTerm { kind, coefficient }
    }

    #[test]
    fn a_curve_is_the_sum_of_its_terms() {
        let half_at = 25.0;
        let table = [
            (vec![], 0.0),
            (vec![term(TermKind::Fixed, 1.5)], 1.5),
            (vec![term(TermKind::Proportional, 0.1)], 10.0),
            (vec![term(TermKind::Concave, 0.5)], 5.0),
            (vec![term(TermKind::Saturating { half_at }, 5.0)], 4.0),
            (
                vec![
                    term(TermKind::Fixed, 1.5),
                    term(TermKind::Proportional, 0.1),
                ],
                11.5,
            ),
        ];
        for (terms, expected) in table {
            let fit = CurveFit {
                against: Against::Attempted,
                terms,
                lack_of_fit: None,
                confidence_band: Vec::new(),
                held_out: Vec::new(),
            };
            let found = fit.height(100.0);
            assert!((found - expected).abs() < 1e-12, "{fit:?}: {found}");
        }
    }

    #[test]
    fn small_probabilities_are_bounds() {
        let table = [
            (0.82, 0.541, "F = 0.82, p = 0.54"),
            (9.13, 0.0021, "F = 9.13, p = 0.002"),
            (91.3, 0.000_02, "F = 91.30, p < 0.001"),
            (f64::NAN, f64::NAN, "F = n/a, p = n/a"),
        ];
        for (f, p, expected) in table {
            let lack = LackOfFit {
                f,
                points_df: 5.0,
                error_df: 30.0,
                p,
            };
            assert_eq!(statistic(&lack), expected);
        }
    }
}
