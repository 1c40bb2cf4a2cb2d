//! The table of a sweep: its levels, other treatments, the baseline.

use windage_analysis::{Analysis, ArmAnalysis, Fidelity, FidelityUnit, MetricAnalysis};
use windage_model::{Interval, LoadModel, Metric, Role, Unit};

use super::{Sweep, beside, sweeps};
use crate::fact::{Fact, one_line};
use crate::number::{self, NOT_AVAILABLE, Scale};
use crate::pieces::as_cost;
use crate::rows::{self, Cell, Column, Row, Table, Tone, column, cpu_metric, nothing, plain};

/// How many columns are those of published guides; they stay together on a narrow page.
pub(super) const FIRST_PART: usize = 3;

/// The metric that the subject's users notice.
fn felt_metric(analysis: &Analysis) -> Metric {
    match analysis.design.load {
        LoadModel::Batch => Metric::WallPerIteration,
        LoadModel::Closed => Metric::Throughput,
        // In an open loop, throughput is the rate.
        LoadModel::Open => Metric::ResponseTimeP50,
    }
}

/// One row per level, highest first, then the other treatments and the baseline.
pub(super) fn table(sweep: &Sweep) -> Table {
    let analysis = sweep.analysis;
    let unit = sweep.curve().map_or(FidelityUnit::default(), |curve| {
        rows::curve::counted_in(analysis, curve)
    });
    let levels = sweep
        .levels
        .iter()
        .map(|(level, arm)| (rows::curve::level(*level), *arm));
    let others = beside(analysis).chain(analysis.baseline());
    let others = others.map(|arm| (one_line(&arm.name), arm));
    let arms: Vec<(String, &ArmAnalysis)> = levels.chain(others).collect();
    let cpu = cpu_metric(analysis);
    let figures = arms.iter().filter_map(|(_, arm)| own_value(arm, cpu));
    let cpu_scale = Scale::fitting(cpu.unit(), figures);
    let row = |(label, arm): (String, &ArmAnalysis)| Row {
        arm: label,
        cells: cells(analysis, arm, cpu_scale),
    };
    Table {
        title: title(sweep),
        columns: columns(analysis, cpu_scale, unit),
        rows: arms.into_iter().map(row).collect(),
        facts: vec![Fact::new("columns", meaning(analysis, unit))],
        ..Table::default()
    }
}

fn title(sweep: &Sweep) -> String {
    let factor = one_line(sweep.factor);
    if sweeps(sweep.analysis).len() > 1 {
        format!("{factor}, {}", one_line(sweep.of))
    } else {
        factor
    }
}

fn columns(analysis: &Analysis, cpu_scale: Scale, unit: FidelityUnit) -> Vec<Column> {
    let (felt, cpu) = (felt_metric(analysis), cpu_metric(analysis));
    vec![
        column("req/s", Metric::Throughput.about()),
        column("latency", "Response time on average"),
        column("overhead %", felt.about()),
        column(format!("CPU {}", cpu_scale.unit()), cpu.about()),
        column("Δ CPU %", cpu.about()),
        column(unit.as_str(), "Delivered / expected, per request"),
        column("µs/span", Metric::CpuPerSpan.about()),
    ]
}

fn meaning(analysis: &Analysis, unit: FidelityUnit) -> String {
    let (latency, overhead, per) = match analysis.design.load {
        LoadModel::Batch => ("time per iteration", "time", "per iteration"),
        LoadModel::Closed => ("response time on average", "throughput lost", "per request"),
        LoadModel::Open => (
            "response time on average",
            "added to the median response time",
            "per request",
        ),
    };
    format!(
        "latency: {latency}; overhead: {overhead} compared with the baseline, with its 95 % \
         interval; CPU: {per}, Δ: difference from the baseline with its 95 % interval; {of}: \
         delivered/expected {per}, ! where more was lost than sampling explains; µs/span: CPU per \
         delivered span",
        of = unit.as_str(),
    )
}

fn cells(analysis: &Analysis, arm: &ArmAnalysis, cpu_scale: Scale) -> Vec<Cell> {
    let (felt, cpu) = (felt_metric(analysis), cpu_metric(analysis));
    let own_cpu = own_value(arm, cpu).map(|v| cpu_scale.bare(v));
    vec![
        per_second(arm),
        latency(arm, felt),
        relative(arm, felt),
        plain(own_cpu.unwrap_or_else(|| NOT_AVAILABLE.to_owned())),
        relative(arm, cpu),
        telemetry(arm),
        per_span(arm),
    ]
}

fn faint(text: &str) -> Cell {
    Cell {
        tone: Tone::Faint,
        ..plain(text)
    }
}

/// The arm's own figure.
pub(super) fn own_value(arm: &ArmAnalysis, metric: Metric) -> Option<f64> {
    rows::value(arm, arm.metrics.get(&metric)?)
}

fn per_second(arm: &ArmAnalysis) -> Cell {
    let measured = own_value(arm, Metric::Throughput);
    let per_s = measured.or_else(|| arm.load.as_ref()?.achieved_per_s);
    plain(per_s.map_or(NOT_AVAILABLE.to_owned(), number::count_f64))
}

fn latency(arm: &ArmAnalysis, felt: Metric) -> Cell {
    let of_load = |arm: &ArmAnalysis| arm.load.as_ref()?.mean_response_time_us;
    let us = match felt {
        Metric::WallPerIteration => own_value(arm, felt),
        _ => of_load(arm),
    };
    plain(us.map_or(NOT_AVAILABLE.to_owned(), |us| {
        number::short(Unit::Microseconds, us)
    }))
}

/// A metric's relative difference as a cost: "21.6 (21.2 to 22.0)".
pub(super) fn relative(arm: &ArmAnalysis, metric: Metric) -> Cell {
    match arm.metrics.get(&metric) {
        _ if arm.role == Role::Baseline => faint("baseline"),
        None => faint(NOT_AVAILABLE),
        Some(result) => Cell {
            tone: result.verdict.map_or(Tone::Plain, Tone::Judged),
            ..plain(share_of(result, metric).map_or(NOT_AVAILABLE.to_owned(), |s| share(&s)))
        },
    }
}

/// The relative difference as a cost: positive if the arm is worse.
pub(super) fn share_of(result: &MetricAnalysis, metric: Metric) -> Option<Interval> {
    let difference = result.difference.as_ref().ok()?;
    Some(as_cost(difference.relative.as_ref()?, metric))
}

fn share(of: &Interval) -> String {
    let shown = number::percent_unsigned(of);
    shown.map_or(NOT_AVAILABLE.to_owned(), |shown| shown.bare())
}

fn telemetry(arm: &ArmAnalysis) -> Cell {
    let Some((text, of)) = arm
        .fidelity
        .as_ref()
        .and_then(|of| Some((a_request(of)?, of)))
    else {
        return nothing();
    };
    match of.beyond_sampling {
        Some(true) => Cell {
            tone: Tone::Alarm,
            ..plain(format!("!{text}"))
        },
        Some(false) | None => plain(text),
    }
}

/// "0.62/1.00"; `None` if no request completed.
fn a_request(of: &Fidelity) -> Option<String> {
    let requests = of.counts.completed_requests;
    if requests == 0 {
        return None;
    }
    let delivered = of.delivered as f64 / requests as f64;
    let expected = of.expected.map(|expected| expected / requests as f64);
    let asked = expected.unwrap_or(delivered);
    let expected = expected.map_or("–".to_owned(), |e| number::a_request(e, asked));
    let delivered = number::a_request(delivered, asked);
    Some(format!("{delivered}/{expected}"))
}

fn per_span(arm: &ArmAnalysis) -> Cell {
    let result = arm.metrics.get(&Metric::CpuPerSpan);
    let difference = result.and_then(|result| result.difference.as_ref().ok());
    match difference {
        Some(difference) => plain(Scale::ONE.bare(difference.absolute.estimate)),
        None => nothing(),
    }
}
