//! The study as a page.

use std::fmt::Write as _;

use super::connections::{Crowd, MEMORY_BELOW_BYTES, Turn};
use super::exactness::{BATCH_SPANS, Exactness};
use super::goals::{GOALS, Goal, Run, figure};
use super::receiver::Receiver;
use super::record::{Outcome, Record};
use super::scenario::Scenario;
use super::study;
use super::trial::{Quantity, Trial};
use crate::bench::judged::verdict;
use crate::bench::markdown::{self, Failed, dash, or_dash};

/// What is shown as a ratio to another receiver's.
const COMPARED: Quantity = Quantity::SpansPerCpuSecond;

impl Record {
    /// The page, as of what was measured so far.
    pub(super) fn markdown(&self) -> String {
        let mut page = format!("# The sink beside other receivers, {}\n\n", self.date);
        page += &self.facts();
        let _ = write!(
            page,
            "\n{}\n## Figures to reach\n\n{}",
            self.method(),
            self.goals()
        );
        for scenario in &self.scenarios {
            page += &self.scenario_markdown(scenario);
        }
        page += &exactness_markdown(self);
        page += &crowds_markdown(self);
        page += &markdown::commands(self.commands.iter().map(String::as_str));
        page += &markdown::failures(self.trials.iter().filter_map(failed));
        page
    }

    fn facts(&self) -> String {
        let versions: Vec<String> = self
            .versions
            .iter()
            .map(|(name, version)| format!("{name}: {version}"))
            .collect();
        let readings = self.trials.iter().filter_map(|t| t.outcome.as_ref().ok());
        let steal_s = readings.fold(0.0, |sum, reading| sum + reading.steal_s);
        format!(
            "- Command: `{}`\n- Machine: {}; {}\n- Versions: {}\n- Rounds: {} of {}\n\
             - Stolen by the hypervisor while receivers ran: {steal_s:.1} s of all cores together\n",
            self.command,
            self.machine.in_words(),
            self.machine.rustc,
            versions.join("; "),
            self.rounds_done(),
            self.rounds,
        )
    }

    fn method(&self) -> String {
        format!(
            "\
Each figure is the median over rounds; a ratio is the median of the ratios within rounds. In brackets: \
the interval of at least 95 % by order statistics, where there are six rounds or more. In each round \
the scenarios, and in each of them the receivers, come in an order that is drawn from a fixed seed. \
Each receiver is launched afresh on one core (`collector-all-cores` on all) and gets load from `windage load` \
on another: a closed loop on {} connections, {} ms to warm up and {} s that are measured.

CPU is that of the receiver's process, all its threads, by its process clock from before the load to \
after it. Spans are the requests that the generator had answered well, times the spans in each; the \
receivers that count must have counted the same, or the run has failed. Every request of a scenario is \
the same bytes: spans with ten attributes each, in traces of four. The Collector has an OTLP \
receiver and an exporter that does nothing, no processor, and no metrics of its own; it does not say \
what it counted, and over gRPC with gzip nobody looks at its status. `discard` reads requests over \
HTTP and looks at nothing but their length; for gRPC there is no such floor.
",
            study::CONNECTIONS,
            study::WARMUP.as_millis(),
            self.lasts_s,
        )
    }

    /// The table of figures to reach, with what became of each.
    fn goals(&self) -> String {
        let mut table = String::from("| figure | to reach | measured | |\n|---|---|---|---|\n");
        let mut doubts = String::new();
        for goal in GOALS {
            let judged = goal.judge(&self.trials);
            let measured = or_dash(judged.figure, |value| shown(goal, value));
            let _ = writeln!(
                table,
                "| {} | ≥ {} | {measured} | {} |",
                goal.what,
                shown(goal, goal.at_least),
                judged.word(),
            );
            for doubt in judged.doubts {
                let _ = writeln!(doubts, "- {}: {doubt}", goal.what);
            }
        }
        table += &self.memory_goals();
        table += &self.exactness_goal();
        if !doubts.is_empty() {
            let _ = write!(table, "\nDoubts:\n\n{doubts}");
        }
        table
    }

    /// Of those that send in turn and of those that send at once: the worst.
    fn memory_goals(&self) -> String {
        let mut rows = String::new();
        for turn in Turn::ALL {
            let of_turn = self.crowds.iter().filter(|crowd| match &crowd.result {
                Ok(crowd) => crowd.turn == turn,
                Err(_) => true,
            });
            let peaks: Option<Vec<u64>> = of_turn
                .map(|crowd| Some(crowd.result.as_ref().ok()?.memory.rss_peak_bytes))
                .collect();
            let most = peaks.and_then(|peaks| peaks.into_iter().max());
            let _ = writeln!(
                rows,
                "| peak memory at {} connections that send {}, the worst of all sizes | < {} MB | {} | {} |",
                self.connections,
                turn.as_str(),
                MEMORY_BELOW_BYTES / 1_000_000,
                most.map_or_else(dash, |bytes| format!("{} MB", megabytes(bytes))),
                verdict(most.map(|bytes| bytes < MEMORY_BELOW_BYTES)),
            );
        }
        rows
    }

    fn exactness_goal(&self) -> String {
        let of = self.exactness.len();
        let exact = self.exactness.iter().filter(|one| is_exact(&one.result));
        let exact = exact.count();
        format!(
            "| exact counts: modes in which as many spans were counted as acknowledged | {of} of {of} \
             | {exact} | {} |\n",
            verdict((of > 0).then_some(exact == of)),
        )
    }

    fn scenario_markdown(&self, scenario: &Scenario) -> String {
        let bytes = self
            .body_bytes
            .iter()
            .find(|(name, _)| *name == scenario.name);
        let bytes = bytes.map_or(0, |(_, bytes)| *bytes);
        let mut text = format!(
            "\n## {}\n\n{}; a body of {bytes} bytes.\n\n",
            scenario.name,
            scenario.meaning()
        );
        let titles: Vec<&str> = Quantity::ALL.iter().map(|q| q.title()).collect();
        let _ = write!(
            text,
            "| receiver | {} | windage / it |\n|---|{}---:|\n",
            titles.join(" | "),
            "---:|".repeat(titles.len())
        );
        let run = |receiver| Run {
            receiver,
            scenario: scenario.name,
        };
        for receiver in scenario.receivers() {
            let _ = write!(text, "| {} |", receiver.as_str());
            for quantity in Quantity::ALL {
                let value = figure(&self.trials, run(receiver), quantity, None);
                let _ = write!(text, " {} |", or_dash(value, |v| quantity.number(v)));
            }
            let own = run(Receiver::Windage);
            let ratio = figure(&self.trials, own, COMPARED, Some(run(receiver)));
            let ratio = ratio.filter(|_| receiver != Receiver::Windage);
            let _ = writeln!(text, " {} |", or_dash(ratio, |v| format!("{v:.2}")));
        }
        text += "\nThe last column: spans a CPU second of `windage`, divided by that receiver's.\n";
        text
    }
}

fn exactness_markdown(record: &Record) -> String {
    if record.exactness.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\n## Exactness\n\nBatches of {BATCH_SPANS} small spans over HTTP, each with bytes of its own, sent \
         again as they are until the sink says that it has accepted them. What it counted has to be what it \
         acknowledged.\n\n\
         | in the way | backend | acknowledged batches | spans | counted | refused | broken | cut | s | |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|---|\n"
    );
    for Outcome { name, result } in &record.exactness {
        match result {
            Err(why) => {
                let _ = writeln!(text, "| {name} | | | | | | | | | **failed**: {why} |");
            }
            Ok(one) => {
                let counted = one
                    .counted_spans()
                    .map_or_else(dash, |spans| spans.to_string());
                let word = if one.is_exact() {
                    "exact"
                } else {
                    "**not exact**"
                };
                let attempts = one.attempts;
                let _ = writeln!(
                    text,
                    "| {name} | `{}` | {} | {} | {counted} | {} | {} | {} | {:.1} | {word} |",
                    one.backend,
                    attempts.acknowledged,
                    one.acknowledged_spans(),
                    attempts.refused,
                    attempts.broken,
                    attempts.cut,
                    one.seconds,
                );
            }
        }
    }
    text
}

fn crowds_markdown(record: &Record) -> String {
    if record.crowds.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\n## Connections\n\n`windage sink` with all counters and {} connections. *In turn*: an open loop, so that \
         each connection sends and few requests are under way. *At once*: each has a request under way, all the \
         time; what takes more than half a minute to arrive is refused by then. Resident memory is the most \
         that was seen with all connections open.\n\n\
         | scenario | send | accepted | refused | idle, MB | with all open, MB | peak, MB | |\n\
         |---|---|---:|---:|---:|---:|---:|---|\n",
        record.connections
    );
    for Outcome { name, result } in &record.crowds {
        match result {
            Err(why) => {
                let _ = writeln!(text, "| {name} | | | | | | | **failed**: {why} |");
            }
            Ok(crowd) => text += &crowd_row(crowd),
        }
    }
    text
}

fn crowd_row(crowd: &Crowd) -> String {
    let Crowd {
        scenario,
        turn,
        requests,
        refused,
        idle,
        memory,
    } = crowd;
    format!(
        "| {scenario} | {} | {requests} | {refused} | {} | {} | {} | {} |\n",
        turn.as_str(),
        megabytes(idle.rss_bytes),
        megabytes(memory.rss_bytes),
        megabytes(memory.rss_peak_bytes),
        verdict(Some(crowd.is_small())),
    )
}

fn is_exact(result: &Result<Exactness, String>) -> bool {
    result.as_ref().is_ok_and(Exactness::is_exact)
}

/// A goal's figure: a ratio, or a value in its unit.
fn shown(goal: &Goal, value: f64) -> String {
    match goal.against {
        Some(_) => format!("{value:.2}"),
        None => format!("{:.2} million", value / 1e6),
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}

fn failed(trial: &Trial) -> Option<Failed<'_>> {
    Some(Failed {
        scenario: trial.scenario,
        round: trial.round,
        name: trial.receiver.as_str(),
        why: trial.outcome.as_ref().err()?,
    })
}

/// One line about a run that has ended, for the terminal.
pub(super) fn progress(trial: &Trial) -> String {
    let name = trial.receiver.as_str();
    let reading = match &trial.outcome {
        Err(why) => return format!("    {name:<20} {why}"),
        Ok(reading) => reading,
    };
    let show = |quantity: Quantity| {
        let value = reading.value(quantity);
        value.map_or_else(dash, |value| quantity.number(value))
    };
    let agreed = if reading.is_confirmed {
        "  counts agree"
    } else {
        ""
    };
    format!(
        "    {name:<20} {:>7} thousand spans a CPU second  {:>8} µs a request  {:>6} MB{agreed}",
        show(Quantity::SpansPerCpuSecond),
        show(Quantity::CpuPerRequest),
        show(Quantity::Memory),
    )
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
