//! CSV of BPF programs: one row per program that came with an arm's agents, and their sums.

use windage_analysis::{AgentUse, Analysis, ArmAnalysis, OverCycles, ProgramUse};
use windage_model::Interval;

use super::Column::{self, Ends, Text};
use super::{regime, table, text, word};
use crate::ReportError;
use crate::rows::agents::with_agents;

/// One row: figures with their ends, any of which may be unknown.
#[derive(Default)]
struct Line {
    kind: &'static str,
    program: String,
    of_type: String,
    count: String,
    runs_per_request: Option<Interval>,
    ns_per_run: Option<Interval>,
    ns_per_request: Option<Interval>,
}

type Row<'a> = (&'a Analysis, &'a ArmAnalysis, &'a AgentUse, Line);

fn columns<'a>() -> Vec<Column<Row<'a>>> {
    vec![
        Text("run", |(run, ..)| text(&run.run)),
        Text("plan", |(run, ..)| text(&run.plan)),
        Text("regime", |(run, ..)| regime(run)),
        Text("arm", |(_, arm, ..)| text(arm.id.as_str())),
        Text("line", |(.., line)| word(line.kind)),
        Text("program", |(.., line)| text(&line.program)),
        Text("type", |(.., line)| text(&line.of_type)),
        Text("count", |(.., line)| word(&line.count)),
        Ends("runs_per_request", |(.., line)| line.runs_per_request),
        Ends("ns_per_run", |(.., line)| line.ns_per_run),
        Ends("ns_per_request", |(.., line)| line.ns_per_request),
        Text("attachments", |(_, _, of, _)| {
            word(of.cycles.len().saturating_sub(of.failed().count()))
        }),
    ]
}

/// BPF programs that came with the analyses' agents, as one CSV table with a heading row.
///
/// `line` is `program` (one name and type; `count` of them at once), `all` (their sum), `service`
/// (the service's CPU − the baseline's), `outside_bpf` (that − the time in programs: a bound) or
/// `statistics` (what the kernel's statistics themselves cost the service). Times are in
/// nanoseconds, per run of a program or per request. Without statistics there are only `program`
/// rows, with empty figures.
///
/// # Errors
///
/// [`ReportError`] when the CSV writer refuses a row; writing to memory should never fail.
pub fn bpf_csv(analyses: &[Analysis]) -> Result<String, ReportError> {
    let loads = analyses.iter().flat_map(Analysis::regimes);
    let arms = loads.flat_map(|analysis| with_agents(analysis).map(move |of| (analysis, of)));
    let rows = arms.flat_map(|(analysis, (arm, of))| {
        let lines = lines(of).into_iter();
        lines.map(move |line| (analysis, arm, of, line))
    });
    table(&columns(), rows)
}

fn lines(of: &AgentUse) -> Vec<Line> {
    let Some(bpf) = &of.bpf else {
        return Vec::new();
    };
    let mut lines: Vec<Line> = bpf.programs.iter().map(program).collect();
    if bpf.ns_per_request.is_some() {
        let programs = bpf.programs.iter().map(|program| program.count);
        lines.push(Line {
            kind: "all",
            count: programs.sum::<usize>().to_string(),
            runs_per_request: bpf.events_per_request.as_ref().map(over_cycles),
            ns_per_run: bpf.ns_per_event.as_ref().map(over_cycles),
            ns_per_request: bpf.ns_per_request.as_ref().map(over_cycles),
            ..Line::default()
        });
    }
    if let Some(probes) = &of.probes {
        let in_ns = |us: &Interval| Some(us.map(|us| us * 1e3));
        lines.push(Line {
            kind: "service",
            ns_per_run: probes.service_ns_per_event.as_ref().ok().cloned(),
            ns_per_request: in_ns(&probes.service_us_per_request),
            ..Line::default()
        });
        lines.push(Line {
            kind: "outside_bpf",
            ns_per_request: in_ns(&probes.outside_bpf_us_per_request),
            ..Line::default()
        });
    }
    let cost = bpf.statistics_cost_us_per_request.as_ref();
    lines.extend(cost.map(|cost| Line {
        kind: "statistics",
        ns_per_request: Some(over_cycles(cost).map(|us| us * 1e3)),
        ..Line::default()
    }));
    lines
}

fn program(of: &ProgramUse) -> Line {
    Line {
        kind: "program",
        program: of.name.clone(),
        of_type: of.kind.clone(),
        count: of.count.to_string(),
        runs_per_request: of.runs_per_request.map(alone),
        ns_per_run: of.ns_per_run.map(alone),
        ns_per_request: of.ns_per_request.map(alone),
    }
}

/// A figure with unknown ends.
fn alone(estimate: f64) -> Interval {
    Interval {
        estimate,
        low: f64::NAN,
        high: f64::NAN,
        confidence: f64::NAN,
        method: windage_model::Method::Counted,
    }
}

fn over_cycles(of: &OverCycles) -> Interval {
    let interval = of.interval;
    Interval {
        estimate: of.estimate,
        ..interval.unwrap_or_else(|| alone(of.estimate))
    }
}
