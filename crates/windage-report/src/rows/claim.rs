//! The tables of claims: what was published beside what was measured.

use windage_analysis::{Analysis, ArmAnalysis, ClaimAnalysis};
use windage_model::{ClaimVerdict, Metric, Publication, Says};

use super::{Align, Cell, Column, NOT_FINITE, Notes, Row, Table, Tone, column, plain};
use crate::fact::one_line;
use crate::{limit, sentences};

/// A table for each metric that claims are about, with a row for each claim and arm.
pub(super) fn claim_tables(analysis: &Analysis) -> Vec<Table> {
    let arms = analysis.arms.iter();
    let claims: Vec<(&ArmAnalysis, &ClaimAnalysis)> = arms
        .flat_map(|arm| arm.claims.iter().map(move |of| (arm, of)))
        .collect();
    let mut metrics: Vec<Metric> = Vec::new();
    for (_, of) in &claims {
        if !metrics.contains(&of.claim.metric) {
            metrics.push(of.claim.metric);
        }
    }
    let table = |metric| {
        let mut notes = Notes::default();
        let about = claims.iter().filter(|(_, of)| of.claim.metric == metric);
        let rows = about.map(|(arm, of)| row(arm, of, &mut notes)).collect();
        Table {
            title: "Claims".to_owned(),
            columns: columns(metric),
            rows,
            notes: notes.0,
            ..Table::default()
        }
    };
    metrics.into_iter().map(table).collect()
}

fn columns(metric: Metric) -> Vec<Column> {
    vec![
        column(
            "published",
            "What the claim says that the arm costs over the baseline",
        ),
        column(
            metric.label(),
            "What the arm costs over the baseline; it costs at least the first of the bounds and at \
             most the second, each with the claim's confidence",
        ),
        Column {
            align: Align::Left,
            ..column(
                "verdict",
                "Holds: both bounds are where the claim says; refuted: nothing between them is",
            )
        },
    ]
}

fn row(arm: &ArmAnalysis, of: &ClaimAnalysis, notes: &mut Notes) -> Row {
    let claim = &of.claim;
    let published = says(claim.metric, claim.says);
    let source = notes.mark(&source(&claim.publication));
    let mut cells = vec![plain(format!("{published}{source}"))];
    let shown = of.cost.as_ref().map(|cost| {
        let shown = limit::cost(claim.metric, claim.says.figure(), cost);
        shown.map(|shown| (shown, cost.estimate))
    });
    cells.extend(match shown {
        Ok(Some((shown, estimate))) => vec![Cell::figure(shown.to_string(), estimate)],
        Ok(None) => notes.absent(1, NOT_FINITE),
        Err(why) => notes.absent(1, &sentences::missing(why)),
    });
    cells.push(verdict(of, notes));
    Row {
        arm: one_line(&arm.name),
        cells,
    }
}

/// "≤ 5 %", "21.6 % ± 3 %".
fn says(metric: Metric, says: Says) -> String {
    let figure = limit::limit(metric, says.figure());
    match says {
        Says::AtMost(_) => format!("≤ {figure}"),
        Says::AtLeast(_) => format!("≥ {figure}"),
        Says::About { tolerance, .. } => {
            format!("{figure} ± {}", limit::limit(metric, tolerance))
        }
    }
}

/// “It costs next to nothing.” (https://example.org/, 2025, version 1.2) Here: another machine.
fn source(of: &Publication) -> String {
    let version = of.version.as_ref().map(|of| format!("version {of}"));
    let mut parts = vec![of.source.clone()];
    parts.extend(of.date.clone());
    parts.extend(version);
    let differs = of.differs.as_ref();
    let differs = differs.map_or(String::new(), |differs| format!(" Here: {differs}"));
    format!("“{}” ({}){differs}", of.text, parts.join(", "))
}

fn verdict(of: &ClaimAnalysis, notes: &mut Notes) -> Cell {
    let word = match of.verdict {
        ClaimVerdict::NotComparable => "not comparable",
        verdict => verdict.as_str(),
    };
    let why = match (of.verdict, of.launches_needed) {
        (ClaimVerdict::NotComparable, _) => {
            Some("Times and rates are those of another machine.".to_owned())
        }
        (ClaimVerdict::Undecided, Some(launches)) => {
            Some(format!("A verdict needs {launches} launches."))
        }
        _ => None,
    };
    let mark = why.map_or(String::new(), |why| notes.mark(&why));
    Cell {
        tone: match of.verdict {
            ClaimVerdict::Holds => Tone::Plain,
            ClaimVerdict::Undecided | ClaimVerdict::NotComparable => Tone::Faint,
            ClaimVerdict::Refuted => Tone::Alarm,
        },
        ..plain(format!("{word}{mark}"))
    }
}
