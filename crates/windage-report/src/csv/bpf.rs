//! One row for each BPF program that came with an arm's agents, and what they come to.

use windage_analysis::{
    AgentUse, Analysis, ArmAnalysis, BpfUse, OverCycles, ProbeAccount, ProgramUse,
};
use windage_model::Interval;

use super::{ends, figure, finished, guarded, regime};
use crate::ReportError;
use crate::rows::agents::with_agents;

const COLUMNS: &[&str] = &[
    "run",
    "plan",
    "regime",
    "arm",
    "line",
    "program",
    "type",
    "count",
    "runs_per_request",
    "runs_per_request_low",
    "runs_per_request_high",
    "ns_per_run",
    "ns_per_run_low",
    "ns_per_run_high",
    "ns_per_request",
    "ns_per_request_low",
    "ns_per_request_high",
    "attachments",
];

/// BPF programs that came with the analyses' agents, as one CSV table with a heading row.
///
/// `line` is `program` (of one name and type; `count` of them at once), `all` (of them together),
/// `service` (the service's CPU beyond the baseline's), `outside_bpf` (that less the time in
/// programs: a bound) or `statistics` (what the kernel's statistics themselves cost the service).
/// Time is in nanoseconds, for a run of a program or for a request. Without statistics only
/// `program` rows are there, and their figures are empty.
///
/// # Errors
///
/// [`ReportError`] when the CSV writer refuses a row; writing to memory, it has no reason to.
pub fn bpf_csv(analyses: &[Analysis]) -> Result<String, ReportError> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    for analysis in analyses.iter().flat_map(Analysis::regimes) {
        for (arm, of) in with_agents(analysis) {
            for line in lines(of) {
                writer.write_record(record(analysis, arm, of, line))?;
            }
        }
    }
    finished(writer)
}

/// What stands in one row: figures with their ends, of which any may be empty.
#[derive(Default)]
struct Line {
    kind: &'static str,
    program: String,
    of_type: String,
    count: String,
    runs_per_request: [String; 3],
    ns_per_run: [String; 3],
    ns_per_request: [String; 3],
}

fn lines(of: &AgentUse) -> Vec<Line> {
    let Some(bpf) = &of.bpf else {
        return Vec::new();
    };
    let mut lines: Vec<Line> = bpf.programs.iter().map(program).collect();
    lines.extend(bpf.ns_per_request.is_some().then(|| all(bpf)));
    if let Some(probes) = &of.probes {
        lines.extend(account(probes));
    }
    let cost = bpf.statistics_cost_us_per_request.as_ref();
    lines.extend(cost.map(|cost| Line {
        kind: "statistics",
        ns_per_request: over_cycles(Some(cost), 1e3),
        ..Line::default()
    }));
    lines
}

fn program(of: &ProgramUse) -> Line {
    Line {
        kind: "program",
        program: guarded(&of.name),
        of_type: guarded(&of.kind),
        count: of.count.to_string(),
        runs_per_request: alone(of.runs_per_request),
        ns_per_run: alone(of.ns_per_run),
        ns_per_request: alone(of.ns_per_request),
    }
}

fn all(of: &BpfUse) -> Line {
    Line {
        kind: "all",
        count: of
            .programs
            .iter()
            .map(|program| program.count)
            .sum::<usize>()
            .to_string(),
        runs_per_request: over_cycles(of.events_per_request.as_ref(), 1.0),
        ns_per_run: over_cycles(of.ns_per_event.as_ref(), 1.0),
        ns_per_request: over_cycles(of.ns_per_request.as_ref(), 1.0),
        ..Line::default()
    }
}

fn account(of: &ProbeAccount) -> [Line; 2] {
    let in_ns = |interval: &Interval| ends(Some(&interval.map(|us| us * 1e3)));
    let service = Line {
        kind: "service",
        ns_per_run: ends(of.service_ns_per_event.as_ref().ok()),
        ns_per_request: in_ns(&of.service_us_per_request),
        ..Line::default()
    };
    let outside = Line {
        kind: "outside_bpf",
        ns_per_request: in_ns(&of.outside_bpf_us_per_request),
        ..Line::default()
    };
    [service, outside]
}

/// A figure whose ends are not known.
fn alone(of: Option<f64>) -> [String; 3] {
    [figure(of), String::new(), String::new()]
}

fn over_cycles(of: Option<&OverCycles>, factor: f64) -> [String; 3] {
    let Some(of) = of else {
        return Default::default();
    };
    let interval = of
        .interval
        .as_ref()
        .map(|interval| interval.map(|v| v * factor));
    let [_, low, high] = ends(interval.as_ref());
    [figure(Some(of.estimate * factor)), low, high]
}

fn record(analysis: &Analysis, arm: &ArmAnalysis, of: &AgentUse, line: Line) -> Vec<String> {
    let mut fields = vec![
        guarded(&analysis.run),
        guarded(&analysis.plan),
        regime(analysis),
        guarded(arm.id.as_str()),
        line.kind.to_owned(),
        line.program,
        line.of_type,
        line.count,
    ];
    let figures = [line.runs_per_request, line.ns_per_run, line.ns_per_request];
    fields.extend(figures.into_iter().flatten());
    let sound = of.cycles.len().saturating_sub(of.failed().count());
    fields.push(sound.to_string());
    fields
}
