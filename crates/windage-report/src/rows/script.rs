//! The tables of whole processes: what a shell's `time` would print, and phases.

use windage_analysis::{Analysis, ArmAnalysis, Averaged, Script, ScriptPhase};
use windage_model::{Metric, Phase};

use super::{Cell, Row, Table, column, nothing};
use crate::fact::{Fact, one_line};
use crate::number::{self, NOT_AVAILABLE};

/// The two tables; none unless windows were whole processes.
pub(super) fn script_tables(analysis: &Analysis) -> Vec<Table> {
    if analysis.arms.iter().all(|arm| arm.script.is_none()) {
        return Vec::new();
    }
    std::iter::once(times_table(analysis))
        .chain(phases_table(analysis))
        .collect()
}

/// What a figure per iteration includes if each window was a whole process.
pub(super) fn whole_process(analysis: &Analysis, metric: Metric) -> Option<Fact> {
    let is_of_iteration = matches!(metric, Metric::CpuPerIteration | Metric::WallPerIteration);
    let batch = analysis.design.batch.filter(|of| of.whole_processes)?;
    let iterations = batch.iterations_most;
    let share = match iterations {
        1 => String::new(),
        n => format!(", over {} iterations", number::count(n)),
    };
    let text = format!("the whole process, start to exit{share}, including set-up and flush");
    is_of_iteration.then(|| Fact::new("includes", text))
}

fn times_table(analysis: &Analysis) -> Table {
    let columns = vec![
        column("runs", "Processes, one for each window"),
        column(
            "real s",
            "Elapsed time from start to exit, the mean over runs with its 95 % interval",
        ),
        column("user s", "CPU in user space"),
        column("sys s", "CPU in the kernel"),
    ];
    let of_script = |script: &Script| {
        vec![
            Cell::figure(number::count(script.runs as u64), script.runs as f64),
            with_interval(&script.real_s),
            mean(&script.user_s),
            mean(&script.system_s),
        ]
    };
    table(analysis, "Whole process", columns, of_script)
}

fn phases_table(analysis: &Analysis) -> Option<Table> {
    let scripts = || analysis.arms.iter().filter_map(|arm| arm.script.as_ref());
    let is_told =
        |phase: &Phase| scripts().any(|script| script.phases.iter().any(|of| of.phase == *phase));
    let told: Vec<Phase> = Phase::ALL.into_iter().filter(is_told).collect();
    if told.is_empty() {
        return None;
    }
    let columns = told
        .iter()
        .map(|phase| column(heading(*phase), about(*phase)));
    let of_script = |script: &Script| {
        let of_phase = |phase: &Phase| {
            let mut all = script.phases.iter();
            let found = all.find(|of| of.phase == *phase);
            found.map_or_else(nothing, phase_cell)
        };
        told.iter().map(of_phase).collect()
    };
    let title = "Phases, elapsed";
    let mut phases = table(analysis, title, columns.collect(), of_script);
    phases.separable = true;
    Some(phases)
}

fn table(
    analysis: &Analysis,
    title: &str,
    columns: Vec<super::Column>,
    cells: impl Fn(&Script) -> Vec<Cell>,
) -> Table {
    let absent = || columns.iter().map(|_| nothing()).collect();
    let row = |arm: &ArmAnalysis| Row {
        arm: one_line(&arm.name),
        cells: arm.script.as_ref().map_or_else(absent, &cells),
    };
    Table {
        title: title.to_owned(),
        rows: analysis.arms.iter().map(row).collect(),
        columns,
        ..Table::default()
    }
}

fn heading(phase: Phase) -> &'static str {
    match phase {
        Phase::Setup => "set-up s",
        Phase::Iterations => "iterations s",
        Phase::Flush => "flush s",
    }
}

fn about(phase: Phase) -> &'static str {
    match phase {
        Phase::Setup => "From its start until it could iterate, by the program's own clock",
        Phase::Iterations => "The iterations themselves, by the program's own clock",
        Phase::Flush => "Exporting what was still buffered, by the program's own clock",
    }
}

fn phase_cell(of: &ScriptPhase) -> Cell {
    let wall = seconds(of.wall_s.mean);
    let text = match &of.cpu_s {
        Some(cpu) => format!("{wall} (CPU {})", seconds(cpu.mean)),
        None => wall,
    };
    let runs = number::count(of.runs as u64);
    let interval = range(&of.wall_s).map_or(String::new(), |range| format!("; {range} s"));
    Cell {
        basis: Some(format!("{runs} runs{interval}")),
        ..Cell::figure(text, of.wall_s.mean)
    }
}

fn with_interval(averaged: &Averaged) -> Cell {
    let mean = seconds(averaged.mean);
    let text = range(averaged).map_or(mean.clone(), |range| format!("{mean} ({range})"));
    Cell::figure(text, averaged.mean)
}

fn mean(averaged: &Averaged) -> Cell {
    Cell {
        basis: range(averaged).map(|range| format!("{range} s")),
        ..Cell::figure(seconds(averaged.mean), averaged.mean)
    }
}

/// Both ends of the interval, in seconds.
pub(crate) fn range(averaged: &Averaged) -> Option<String> {
    let interval = averaged.interval.as_ref()?;
    Some(format!(
        "{} to {}",
        seconds(interval.low),
        seconds(interval.high)
    ))
}

/// To the millisecond, like a shell's `time`.
fn seconds(s: f64) -> String {
    if s.is_finite() {
        format!("{s:.3}").replace('-', "−")
    } else {
        NOT_AVAILABLE.to_owned()
    }
}
