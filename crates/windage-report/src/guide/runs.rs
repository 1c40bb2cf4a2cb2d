//! Several runs side by side: overhead by level, and the cost per request and per span in each.

use anstyle::Style;
use windage_analysis::{Analysis, ArmAnalysis, Fidelity};
use windage_model::{LoadModel, Metric};

use super::table::{own_value, relative};
use super::{Sweep, beside, sweeps};
use crate::fact::{Fact, one_line};
use crate::markdown;
use crate::number::{self, NOT_AVAILABLE, Scale};
use crate::rows::curve::level;
use crate::rows::{Cell, Row, Table, Tone, column, cpu_metric, nothing, plain};
use crate::terminal::{Page, TerminalOptions};

/// Runs side by side, as text that ends with a line break: overhead by level for sweeps, and a row
/// for each run and treatment (the highest level of a sweep) with the cost per request and per
/// span.
#[must_use]
pub fn summary_of_runs(analyses: &[Analysis], options: TerminalOptions) -> String {
    let mut page = Page::new(options);
    page.heading("Summary");
    page.blank();
    let tables = tables(analyses);
    for table in &tables.by_level {
        page.table(table);
    }
    match &tables.costs {
        Some(costs) => page.table_in_two(costs, COSTS_FIRST),
        None => page.wrapped("", NOTHING, Style::new()),
    }
    let mut text = page.into_text();
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// The summary of runs as Markdown.
#[must_use]
pub fn summary_of_runs_markdown(analyses: &[Analysis]) -> String {
    let tables = tables(analyses);
    let mut text = "## Summary\n\n".to_owned();
    for table in tables.by_level.iter().chain(&tables.costs) {
        markdown::push_table(&mut text, table);
    }
    if tables.costs.is_none() {
        text.push_str(NOTHING);
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

const NOTHING: &str = "No run has a treatment, so there is nothing to compare.";
/// How many columns come first where a page is too narrow for all.
const COSTS_FIRST: usize = 3;

struct Summary {
    by_level: Vec<Table>,
    costs: Option<Table>,
}

fn tables(analyses: &[Analysis]) -> Summary {
    let named = named(analyses);
    Summary {
        by_level: [Asked::Felt, Asked::Cpu]
            .into_iter()
            .filter_map(|asked| by_level(&named, asked))
            .collect(),
        costs: costs(&named),
    }
}

/// What was measured under one load, with a unique name.
struct Named<'a> {
    name: String,
    analysis: &'a Analysis,
}

fn named(analyses: &[Analysis]) -> Vec<Named<'_>> {
    let plans = |plan: &str| analyses.iter().filter(|a| a.plan == plan).count();
    let of_run = |analysis: &Analysis| match plans(&analysis.plan) {
        1 => one_line(&analysis.plan),
        _ => format!("{} ({})", one_line(&analysis.plan), one_line(&analysis.run)),
    };
    let regimes = |run| {
        let name = of_run(run);
        run.regimes().map(move |analysis| {
            let several = !run.other_loads.is_empty();
            let regime = analysis.regime.as_deref().filter(|_| several).map(one_line);
            let regime = regime.map_or(String::new(), |regime| format!(", {regime}"));
            Named {
                name: format!("{name}{regime}"),
                analysis,
            }
        })
    };
    analyses.iter().flat_map(regimes).collect()
}

/// Which overhead a table is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// Throughput lost, as in published guides; an open loop's rate is fixed.
    Felt,
    Cpu,
}

impl Asked {
    fn metric(self, analysis: &Analysis) -> Option<Metric> {
        match (self, analysis.design.load) {
            (Asked::Felt, LoadModel::Closed) => Some(Metric::Throughput),
            (Asked::Felt, LoadModel::Open) => None,
            (Asked::Felt, LoadModel::Batch) => Some(Metric::WallPerIteration),
            (Asked::Cpu, _) => Some(cpu_metric(analysis)),
        }
    }

    fn title(self) -> &'static str {
        match self {
            Asked::Felt => "Overhead %",
            Asked::Cpu => "Δ CPU %",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Asked::Felt => "throughput lost compared with the baseline, with its 95 % interval",
            Asked::Cpu => "CPU per request compared with the baseline, with its 95 % interval",
        }
    }
}

/// A column per sweep, and a row per level of any sweep, highest first; `None` without a sweep.
fn by_level(named: &[Named], asked: Asked) -> Option<Table> {
    let sweeps: Vec<(String, Metric, Sweep)> = named
        .iter()
        .filter_map(|of| Some((of, asked.metric(of.analysis)?)))
        .flat_map(|(of, metric)| {
            let sweeps = sweeps(of.analysis);
            let is_told = sweeps.len() > 1;
            sweeps.into_iter().map(move |sweep| {
                let which = format!(": {} over {}", one_line(sweep.of), one_line(sweep.factor));
                let which = if is_told { which } else { String::new() };
                (format!("{}{which}", of.name), metric, sweep)
            })
        })
        .collect();
    let mut rows: Vec<Row> = levels(&sweeps)
        .into_iter()
        .map(|at| row(level(at), &sweeps, &|sweep| sweep.at(at)))
        .collect();
    for name in names_beside(&sweeps) {
        rows.push(row(one_line(name), &sweeps, &|sweep| {
            beside(sweep.analysis).find(|arm| arm.name == name)
        }));
    }
    let columns = sweeps
        .iter()
        .map(|(name, ..)| column(name.clone(), asked.meaning()));
    (!sweeps.is_empty()).then(|| Table {
        title: asked.title().to_owned(),
        columns: columns.collect(),
        rows,
        separable: true,
        ..Table::default()
    })
}

fn row<'a>(
    label: String,
    sweeps: &[(String, Metric, Sweep<'a>)],
    arm: &dyn Fn(&Sweep<'a>) -> Option<&'a ArmAnalysis>,
) -> Row {
    let cell = |(_, metric, sweep): &(String, Metric, Sweep<'a>)| {
        arm(sweep).map_or_else(nothing, |arm| relative(arm, *metric))
    };
    Row {
        arm: label,
        cells: sweeps.iter().map(cell).collect(),
    }
}

fn levels(sweeps: &[(String, Metric, Sweep)]) -> Vec<f64> {
    let of_family = |(.., sweep): &(String, Metric, Sweep)| {
        let levels = sweep.levels.iter().map(|(level, _)| *level);
        levels.collect::<Vec<_>>()
    };
    let mut levels: Vec<f64> = sweeps.iter().flat_map(of_family).collect();
    levels.sort_by(|a, b| b.total_cmp(a));
    levels.dedup();
    levels
}

fn names_beside<'a>(sweeps: &[(String, Metric, Sweep<'a>)]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for (.., sweep) in sweeps {
        for arm in beside(sweep.analysis) {
            if !names.contains(&arm.name.as_str()) {
                names.push(&arm.name);
            }
        }
    }
    names
}

/// A row for each run and treatment; of a sweep only the highest level; `None` without treatments.
fn costs(named: &[Named]) -> Option<Table> {
    let rows: Vec<Row> = named.iter().flat_map(of_run).collect();
    let versions = named.iter().filter_map(versions);
    let facts = versions.fold(Vec::new(), |mut facts, fact| {
        // Versions are the same under all loads of a run.
        if !facts.contains(&fact) {
            facts.push(fact);
        }
        facts
    });
    (!rows.is_empty()).then(|| Table {
        title: "Cost".to_owned(),
        columns: vec![
            column(
                "Δ µs per request",
                "Overhead: CPU per request − the baseline's",
            ),
            column("µs per span", Metric::CpuPerSpan.about()),
            column("baseline", "CPU per request of the baseline, in µs"),
            column("spans", "Spans delivered for each request"),
            column("lost", "Share of the expected telemetry"),
            column("B per span", "Compressed bytes per span on the wire"),
        ],
        rows,
        facts,
        ..Table::default()
    })
}

fn of_run(named: &Named) -> Vec<Row> {
    let row = |what: String, arm: &ArmAnalysis| Row {
        arm: format!("{}: {what}", named.name),
        cells: cost_cells(named.analysis, arm),
    };
    let sweeps = sweeps(named.analysis);
    let highest = sweeps
        .iter()
        .filter_map(|sweep| Some((sweep, sweep.levels.first()?)));
    let rows: Vec<Row> = match sweeps.len() {
        1 => highest
            .map(|(sweep, (at, arm))| {
                let factor = one_line(sweep.factor);
                row(format!("{factor} {}", level(*at)), arm)
            })
            .collect(),
        _ => highest
            .map(|(_, (_, arm))| row(one_line(&arm.name), arm))
            .collect(),
    };
    if rows.is_empty() {
        let arms = beside(named.analysis);
        return arms.map(|arm| row(one_line(&arm.name), arm)).collect();
    }
    rows
}

fn versions(named: &Named) -> Option<Fact> {
    let versions = &named.analysis.versions;
    let of = |(name, version): (&String, &String)| {
        let (name, version) = (one_line(name), one_line(version));
        format!("{name} {version}")
    };
    let text: Vec<_> = versions.iter().map(of).collect();
    let plan = one_line(&named.analysis.plan);
    (!text.is_empty()).then(|| Fact::new(plan, text.join(", ")))
}

fn cost_cells(analysis: &Analysis, arm: &ArmAnalysis) -> Vec<Cell> {
    let cpu = cpu_metric(analysis);
    let difference = |metric: Metric| {
        let difference = arm.metrics.get(&metric)?.difference.as_ref().ok()?;
        Some(&difference.absolute)
    };
    let absolute = |metric: Metric| {
        difference(metric).map_or_else(nothing, |interval| plain(Scale::ONE.interval(interval)))
    };
    let baseline = analysis.baseline().and_then(|arm| own_value(arm, cpu));
    let fidelity = arm.fidelity.as_ref();
    let bytes = fidelity.and_then(|of| of.wire_bytes_per_span);
    vec![
        absolute(cpu),
        absolute(Metric::CpuPerSpan),
        plain(baseline.map_or(NOT_AVAILABLE.to_owned(), |us| Scale::ONE.bare(us))),
        fidelity.and_then(spans).map_or_else(nothing, plain),
        fidelity.map_or_else(nothing, lost),
        bytes.map_or_else(nothing, |bytes| plain(number::plain(bytes))),
    ]
}

/// The loss in measured windows where there was any: what a warm-up loses does not affect their
/// cost.
fn spans(of: &Fidelity) -> Option<String> {
    let whole = (of.counts.spans, of.counts.completed_requests);
    let in_windows = of
        .in_windows
        .filter(|_| of.beyond_sampling == Some(true))
        .map(|w| (w.spans, w.completed_requests));
    let (spans, requests) = in_windows.unwrap_or(whole);
    let spans = spans as f64 / requests as f64;
    (requests > 0).then(|| number::a_request(spans, spans))
}

fn lost(of: &Fidelity) -> Cell {
    let share = of
        .lost
        .zip(of.expected.filter(|expected| *expected > 0.0))
        .map(|(lost, expected)| lost / expected);
    match (share, of.beyond_sampling) {
        (None, _) => nothing(),
        (Some(share), Some(true)) => Cell {
            tone: Tone::Alarm,
            ..plain(format!("!{}", number::percent_short(share)))
        },
        // What sampling explains is not a loss.
        (Some(_), _) => plain("0"),
    }
}
