//! The table of delivered and expected telemetry.

use windage_analysis::{
    Analysis, ArmAnalysis, DeliveredByProtocol, Fidelity, FidelityUnit, KindCounts, Loss,
};

use windage_model::Unit;

use super::aspect::nothing;
use super::{AS_EXPECTED, BEYOND_SAMPLING, Cell, Row, Table, Tone, capitalised, column, plain};
use crate::fact::{Fact, one_line};
use crate::number;

/// What arrived: spans or traces against what is expected, and points of metrics.
pub(super) fn fidelity_tables(analysis: &Analysis) -> Vec<Table> {
    let metrics = metrics_table(analysis);
    let mut of_all = analysis.arms.iter().filter_map(|arm| arm.fidelity.as_ref());
    let has_spans = of_all.any(|of| of.expected.is_some() || of.counts.spans > 0);
    match metrics {
        Some(metrics) if !has_spans => vec![Table {
            facts: facts(analysis),
            ..metrics
        }],
        metrics => fidelity_table(analysis)
            .into_iter()
            .chain(metrics)
            .collect(),
    }
}

/// Points of metrics; `None` if none arrived or were expected.
fn metrics_table(analysis: &Analysis) -> Option<Table> {
    let counts = |arm: &ArmAnalysis| {
        let of = arm.fidelity.as_ref()?;
        (of.counts.metric_points > 0 || of.points.is_some()).then(|| carried(of))
    };
    analysis.arms.iter().find_map(counts)?;
    let cells = |arm: &ArmAnalysis| {
        let Some(of) = counts(arm) else {
            return vec![nothing(); 3];
        };
        let many = |count: u64| Cell {
            value: Some(count as f64),
            ..plain(number::count(count))
        };
        let wire = of.wire_bytes as f64;
        vec![
            many(of.metric_points),
            many(of.export_requests),
            Cell {
                value: Some(wire),
                ..plain(number::short(Unit::Bytes, wire))
            },
        ]
    };
    let rows = analysis.arms.iter().map(|arm| Row {
        arm: one_line(&arm.name),
        cells: cells(arm),
    });
    Some(Table {
        title: "Metrics".to_owned(),
        columns: vec![
            column(
                "points",
                "Samples, from launch to the end of the last flush",
            ),
            column(
                "requests",
                "Exports that arrived, and scrapes that were answered",
            ),
            column(
                "on wire",
                "As sent, which may be compressed; other telemetry included",
            ),
        ],
        rows: rows.collect(),
        ..Table::default()
    })
}

/// What came by the protocols that carried points. Where arms share processes, only scrapes are known by
/// protocol.
fn carried(fidelity: &Fidelity) -> DeliveredByProtocol {
    let counts = &fidelity.counts;
    let all = DeliveredByProtocol {
        metric_points: counts.metric_points,
        export_requests: counts.export_requests,
        wire_bytes: counts.wire_bytes,
        ..DeliveredByProtocol::default()
    };
    let protocols = fidelity.by_protocol.iter();
    let carried = protocols.filter(|of| of.metric_points > 0);
    let sum = carried.fold(DeliveredByProtocol::default(), |sum, of| {
        DeliveredByProtocol {
            metric_points: sum.metric_points.saturating_add(of.metric_points),
            export_requests: sum.export_requests.saturating_add(of.export_requests),
            wire_bytes: sum.wire_bytes.saturating_add(of.wire_bytes),
            ..sum
        }
    });
    if sum.metric_points == all.metric_points {
        sum
    } else {
        all
    }
}

/// Delivered and expected telemetry; `None` if no arm has any.
fn fidelity_table(analysis: &Analysis) -> Option<Table> {
    let unit = analysis
        .arms
        .iter()
        .find_map(|arm| arm.fidelity.as_ref())?
        .of;
    let columns = vec![
        column(
            "expected",
            "What the plan expects for the completed requests",
        ),
        column(
            "delivered",
            "Telemetry that arrived, from launch to the end of the last flush",
        ),
        column(
            "lost",
            "Expected − delivered, and its share of the expected",
        ),
        column("bytes per span", "Uncompressed"),
        column("on wire", "Compressed bytes per span on the wire"),
    ];
    let rows = analysis
        .arms
        .iter()
        .map(|arm| Row {
            arm: one_line(&arm.name),
            cells: match &arm.fidelity {
                Some(fidelity) => fidelity_cells(fidelity, unit),
                None => vec![nothing(); 5],
            },
        })
        .collect();
    let title = capitalised(unit.as_str());
    Some(Table {
        title,
        columns,
        rows,
        facts: facts(analysis),
        ..Table::default()
    })
}

/// Faulty backends of arms whose names do not say so, the reasons of losses, events on spans, and log
/// records and points that are expected: a line for each arm that has any.
fn facts(analysis: &Analysis) -> Vec<Fact> {
    let of_arms = |label: &str, say: fn(&ArmAnalysis, &Fidelity) -> Option<String>| {
        let of_arm = |arm: &ArmAnalysis| {
            let description = say(arm, arm.fidelity.as_ref()?)?;
            let text = format!("{}: {description}", one_line(&arm.name));
            Some(Fact::new(label, text))
        };
        analysis.arms.iter().filter_map(of_arm).collect::<Vec<_>>()
    };
    [
        of_arms("backend", backend),
        of_arms("lost", |_, f| losses(f)),
        of_arms("events", |_, f| Some(arrived(f.events?, " on spans"))),
        of_arms("log records", |_, f| {
            f.records
                .filter(|of| of.expected.is_some())
                .map(|of| arrived(of, ""))
        }),
        of_arms("points", |_, f| Some(points(f.points?))),
    ]
    .concat()
}

fn backend(arm: &ArmAnalysis, fidelity: &Fidelity) -> Option<String> {
    let backend = fidelity.backend.to_string();
    (fidelity.is_backend_faulty() && !arm.name.contains(&backend)).then_some(backend)
}

fn arrived(of: KindCounts, place: &str) -> String {
    let delivered = number::count(of.delivered);
    match (of.expected, of.lost) {
        (Some(expected), Some(lost)) => format!(
            "{delivered} of {} expected{place}, {} lost",
            number::count_f64(expected),
            number::count_f64(lost)
        ),
        _ => format!("{delivered}{place}"),
    }
}

/// The least is what whole intervals bring.
fn points(of: KindCounts) -> String {
    let delivered = number::count(of.delivered);
    let least = of.expected.unwrap_or(0.0);
    if least <= 0.0 {
        return format!("{delivered}; no launch lasted for a whole interval");
    }
    let least = number::count_f64(least);
    match of.lost.filter(|lost| *lost > 0.0) {
        Some(lost) => format!(
            "{delivered} of at least {least} expected, {} lost",
            number::count_f64(lost)
        ),
        None => format!("{delivered}, at least {least} expected"),
    }
}

/// The reasons of losses, as far as known.
pub(crate) fn losses(fidelity: &Fidelity) -> Option<String> {
    let mut parts: Vec<String> = fidelity.by_reason.iter().map(loss).collect();
    let beyond = fidelity.reported_beyond_lost;
    parts.extend(beyond.map(|n| format!("{} more reported than lost", number::count_f64(n))));
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn loss(loss: &Loss) -> String {
    format!(
        "{} {} ({})",
        number::count_f64(loss.lost),
        loss.of.as_str(),
        one_line(&loss.reason.to_string())
    )
}

/// What was lost: "37,900 (37.9 %)", or "37.9 ± 0.19 %" where it is left to chance what a request
/// sends.
fn lost_text(fidelity: &Fidelity, lost: f64) -> String {
    if fidelity.is_within_chance() {
        return AS_EXPECTED.to_owned();
    }
    let expected = fidelity.expected.filter(|expected| *expected > 0.0);
    let text = match (expected.filter(|_| lost.abs() >= 0.5), fidelity.chance()) {
        (Some(expected), Some(chance)) => {
            let share = number::percent_short(lost / expected);
            let chance = number::percent_two(chance / expected);
            format!("{} ± {chance}", share.trim_end_matches(" %"))
        }
        (Some(expected), None) => {
            let share = number::percent_short(lost / expected);
            format!("{} ({share})", number::count_f64(lost))
        }
        (None, _) => number::count_f64(lost),
    };
    match fidelity.beyond_sampling {
        Some(true) => format!("{BEYOND_SAMPLING} {text}"),
        Some(false) | None => text,
    }
}

fn fidelity_cells(fidelity: &Fidelity, unit: FidelityUnit) -> Vec<Cell> {
    let absent = || "–".to_owned();
    let mut delivered = number::count(fidelity.delivered);
    if fidelity.of != unit {
        delivered = format!("{delivered} {}", fidelity.of.as_str());
    }
    let lost_text = fidelity
        .lost
        .map_or_else(absent, |lost| lost_text(fidelity, lost));
    let basis = fidelity.chance().map(|chance| {
        let lost = fidelity.lost.map_or(String::new(), |lost| {
            format!("expected − delivered is {}; ", number::count_f64(lost))
        });
        let chance = number::count_f64(chance);
        format!("{lost}sampling alone moves what arrives by up to ±{chance} (95 %)")
    });
    let tone = match fidelity.beyond_sampling {
        Some(true) => Tone::Alarm,
        Some(false) | None => Tone::Plain,
    };
    let known = |figure: Option<f64>, write: fn(f64) -> String| Cell {
        value: figure,
        ..plain(figure.map_or_else(absent, write))
    };
    // A figure counted in another unit is not comparable with the rest of the column.
    let of_unit = |figure: Option<f64>| figure.filter(|_| fidelity.of == unit);
    vec![
        Cell {
            value: of_unit(fidelity.expected),
            ..known(fidelity.expected, number::count_f64)
        },
        Cell {
            value: of_unit(Some(fidelity.delivered as f64)),
            ..plain(delivered)
        },
        Cell {
            text: lost_text,
            tone,
            basis,
            value: of_unit(fidelity.lost.filter(|_| !fidelity.is_within_chance())),
        },
        known(fidelity.bytes_per_span, number::plain),
        known(fidelity.wire_bytes_per_span, number::plain),
    ]
}
