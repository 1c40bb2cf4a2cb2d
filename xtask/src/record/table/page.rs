//! The page as a whole.

use std::fmt::Write as _;

use super::analysis::Host;
use super::markdown::{escaped, table};
use super::others::{self, Other};
use super::recorded::{Measured, Recorded};
use super::{costs, events, planning, published, stages};
use crate::record::machine::Machine;

const TITLE: &str = "# What telemetry costs in process: one table across SDKs\n\n";

const MADE_BY: &str = "\
<!-- Made by `cargo xtask record table` from record/; edit that, not this. -->\n\n";

const INTRODUCTION: &str = "\
What a request, an iteration and a span cost the program that records them, measured with Windage on \
real frameworks with the SDKs and agents that people use. A cost is the difference to the same program \
without telemetry, in CPU of its processes, what they do later included \
([method](../docs/METHODOLOGY.md)); a span counts when it was delivered. Figures hold for the machine, \
the versions and the day that stand beside them; \
[what such a table can't say](../docs/BIAS.md#what-the-table-across-sdks-cant-say) is written down as \
well.\n";

const NOTHING: &str = "\
No SDK is recorded yet: `windage run experiments/NAME --json` measures one, and the table is made from \
what is kept of that under `record/`.\n";

/// The page: of the newest record, if there is one, and of the other experiments.
pub(super) fn page(recorded: Option<&Recorded>, others: &[Other]) -> String {
    let mut page = format!("{TITLE}{MADE_BY}{INTRODUCTION}\n");
    match recorded {
        Some(recorded) => page += &sections(recorded),
        None => page += NOTHING,
    }
    if !others.is_empty() {
        let _ = write!(
            page,
            "\n## Other experiments with results\n\n{}",
            others::markdown(others)
        );
    }
    page
}

fn sections(recorded: &Recorded) -> String {
    let mut text = measured_where(recorded);
    let _ = write!(
        text,
        "\n## Every request traced\n\n{}\n## Sampled less, or only loaded\n\n{}\n## Versions\n\n{}",
        costs::sampled(recorded),
        costs::less_sampled(recorded),
        costs::versions(recorded),
    );
    let more = [
        stages::section(recorded),
        events::section(recorded),
        planning::section(recorded),
        published::section(recorded),
    ];
    for section in more.into_iter().flatten() {
        let _ = write!(text, "\n{section}");
    }
    text + "\n" + &measured_how(recorded)
}

/// The machines, in the order of their first run.
fn machines(recorded: &Recorded) -> Vec<String> {
    let mut machines = Vec::new();
    for run in &recorded.runs {
        let machine = in_words(&run.run.host);
        if !machines.contains(&machine) {
            machines.push(machine);
        }
    }
    machines
}

fn in_words(host: &Host) -> String {
    let unknown = || "unknown".to_owned();
    let kernel = host.kernel.clone().unwrap_or_else(unknown);
    let release = host.os_release.as_ref();
    let machine = Machine {
        kernel: match release {
            Some(release) => format!("Linux {kernel}, {release}"),
            None => format!("Linux {kernel}"),
        },
        processor: host.cpu_model.clone().unwrap_or_else(unknown),
        cores: host.cpus_online.unwrap_or_default(),
        is_virtual: host.virtualised == Some(true),
        memory_kib: host.memory_total_bytes.unwrap_or_default() / 1024,
        ..Machine::default()
    };
    machine.in_words()
}

fn day(run: &Measured) -> &str {
    let started = &run.run.started;
    started.split_once('T').map_or(started, |(day, _)| day)
}

fn measured_where(recorded: &Recorded) -> String {
    let mut days: Vec<&str> = recorded.runs.iter().map(day).collect();
    days.sort_unstable();
    days.dedup();
    let mut text = format!(
        "- Measured: {}; each run is [below](#how-it-was-measured)\n",
        days.join(", ")
    );
    let machines = machines(recorded);
    for (index, machine) in machines.iter().enumerate() {
        let number = if machines.len() > 1 {
            format!(" {}", index + 1)
        } else {
            String::new()
        };
        let _ = writeln!(text, "- Machine{number}: {}", escaped(machine));
    }
    let folder = &recorded.folder;
    let _ = writeln!(text, "- Recorded: [{folder}](../{folder})");
    text
}

/// Every run with its command, and what speaks against it.
fn measured_how(recorded: &Recorded) -> String {
    let machines = machines(recorded);
    let rows: Vec<Vec<String>> = recorded
        .runs
        .iter()
        .map(|run| {
            let machine = in_words(&run.run.host);
            let machine = machines.iter().position(|known| *known == machine);
            let machine = machine.map_or(0, |index| index + 1);
            how(recorded, run, (machines.len() > 1).then_some(machine))
        })
        .collect();
    let headings = [
        "run",
        "experiment",
        "began",
        "command",
        "load",
        "measured",
        "as a whole",
    ];
    format!("## How it was measured\n\n{}", table(&headings, 7, &rows))
}

fn how(recorded: &Recorded, measured: &Measured, machine: Option<usize>) -> Vec<String> {
    let (run, under) = (&measured.run, &measured.under);
    let name = escaped(&measured.key.name);
    let name = match &measured.key.page {
        Some(page) => format!("[{name}](../{}/{page})", recorded.folder),
        None => name,
    };
    let name = match machine {
        Some(machine) => format!("{name} (machine {machine})"),
        None => name,
    };
    let rounds = match under.design.rounds {
        1 => "1 launch".to_owned(),
        rounds => format!("{rounds} launches"),
    };
    let lasts = under.design.measured_s;
    let lasts = lasts.map_or(String::new(), |s| format!("{s:.0} s, "));
    let mut codes: Vec<&str> = Vec::new();
    for reason in &under.validity.reasons {
        if !codes.contains(&reason.code.as_str()) {
            codes.push(&reason.code);
        }
    }
    let verdict = &under.validity.verdict;
    let verdict = match under.validity.is_valid() {
        true => verdict.clone(),
        false => format!("{verdict}: `{}`", codes.join("`, `")),
    };
    vec![
        name,
        measured.experiment(),
        format!("{}, Windage {}", run.started, run.windage),
        format!("`{}`", run.command.replace('|', "\\|")),
        measured.load(),
        format!("{lasts}{rounds}"),
        verdict,
    ]
}
