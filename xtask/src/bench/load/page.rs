//! The study as a page.

use std::fmt::Write as _;

use super::contender::Contender;
use super::goals::{Against, Bound, GOALS, Goal, ratio};
use super::scenario::Scenario;
use super::study::Study;
use super::trial::{Quantity, Trial};
use crate::bench::judged::Judged;
use crate::bench::markdown::{self, Failed, dash, or_dash};
use crate::bench::median::{Median, median};

/// What is shown as a ratio to another contender's.
const COMPARED: [Quantity; 2] = [Quantity::Throughput, Quantity::CpuPerRequest];

/// What is shown as a ratio to the truth.
const HAS_TRUTH: [Quantity; 2] = [Quantity::LatencyP50, Quantity::LatencyP99];

const METHOD: &str = "\
Each figure is the median over rounds; a ratio is the median of the ratios within rounds. In brackets: \
the interval of at least 95 % by order statistics, where there are six rounds or more. In each round \
the origin of a scenario is launched afresh, on one core, and the contenders take turns on another, \
each one's place moving on by one from round to round.

CPU is that of the whole process, its start included, as `wait4` tells it, divided by the requests \
that the contender says were completed: the same for all, and dearer than in the long run for whoever \
takes long to start. The kernel splits it into its own and the program's by where its timer found the \
process. Requests/s are by the contender's own clock, and beside that by the clock outside, which \
holds start and end of the process. Latency is what each contender calls so: Windage and \
`oha-corrected` count from when a request should have started, the others from when it was sent.
";

impl Study {
    /// The page, as of the trials so far.
    pub(super) fn markdown(&self) -> String {
        let mut page = format!("# The generator beside others, {}\n\n", self.date);
        page += &self.facts();
        let _ = write!(page, "\n{METHOD}\n## Figures to reach\n\n{}", self.goals());
        for scenario in &self.scenarios {
            page += &scenario_markdown(scenario, &self.trials, self.lasts_s);
        }
        page += &markdown::commands(self.commands.iter().map(|(_, _, line)| line.as_str()));
        page += &markdown::failures(self.trials.iter().filter_map(failed));
        page
    }

    fn facts(&self) -> String {
        let machine = &self.machine;
        let versions: Vec<String> = self
            .versions
            .iter()
            .map(|(name, version)| format!("{name}: {version}"))
            .collect();
        let steal_s: f64 = self
            .trials
            .iter()
            .filter_map(|trial| Some(trial.outcome.as_ref().ok()?.steal_s))
            .sum();
        format!(
            "- Command: `{}`\n- Machine: {}\n\
             - Versions: {}, {}; {}\n- Rounds: {} of {}\n\
             - Stolen by the hypervisor while contenders ran: {steal_s:.1} s of all cores together\n",
            self.command,
            machine.in_words(),
            machine.nginx,
            machine.rustc,
            versions.join("; "),
            self.rounds_done(),
            self.rounds,
        )
    }

    /// The table of figures to reach, with what became of each.
    pub(super) fn goals(&self) -> String {
        let mut table = String::from("| figure | to reach | measured | |\n|---|---|---|---|\n");
        let mut doubts = String::new();
        for goal in GOALS {
            let judged = goal.judge(&self.trials);
            let _ = writeln!(
                table,
                "| {} | {} | {} | {} |",
                goal.what,
                bound(goal),
                measured(goal, &judged),
                judged.word(),
            );
            for doubt in judged.doubts {
                let _ = writeln!(doubts, "- {}: {doubt}", goal.what);
            }
        }
        if !doubts.is_empty() {
            let _ = write!(table, "\nDoubts:\n\n{doubts}");
        }
        table
    }
}

fn bound(goal: &Goal) -> String {
    let show = |value: f64| match goal.against {
        Against::Nothing => goal.quantity.with_unit(&goal.quantity.number(value)),
        _ => format!("{value:.2}"),
    };
    match goal.bound {
        Bound::LowEndAtLeast(least) => format!("interval's low end ≥ {}", show(least)),
        Bound::AtMost(most) => format!("≤ {}", show(most)),
        Bound::Within(most) => format!("within {:.0} %", most * 100.0),
    }
}

fn measured(goal: &Goal, judged: &Judged) -> String {
    let quantity = goal.quantity;
    match (goal.against, judged.figure) {
        (Against::Nothing, Some(_)) => {
            let numbers = or_dash(judged.figure, |value| quantity.number(value));
            quantity.with_unit(&numbers)
        }
        _ => or_dash(judged.figure, plain_ratio),
    }
}

fn plain_ratio(value: f64) -> String {
    format!("{value:.3}")
}

fn scenario_markdown(scenario: &Scenario, trials: &[Trial], wanted_s: u32) -> String {
    let mut text = format!(
        "\n## {}\n\n{}; {} s each.\n\n",
        scenario.name,
        scenario.meaning,
        scenario.lasts_s(wanted_s)
    );
    let shown: Vec<Quantity> = Quantity::ALL
        .into_iter()
        .filter(|&quantity| {
            let is_told = |&contender| value(trials, scenario, contender, quantity).is_some();
            scenario.contenders.iter().any(is_told)
        })
        .collect();
    text += &header("contender", &shown, true);
    for &contender in scenario.contenders {
        let _ = write!(text, "| {} |", contender.as_str());
        for &quantity in &shown {
            let value = value(trials, scenario, contender, quantity);
            let _ = write!(text, " {} |", or_dash(value, |v| quantity.number(v)));
        }
        text.push('\n');
    }
    text += &against_others(scenario, trials);
    text += &against_truth(scenario, trials);
    text
}

fn value(
    trials: &[Trial],
    scenario: &Scenario,
    contender: Contender,
    quantity: Quantity,
) -> Option<Median> {
    ratio(trials, scenario.name, contender, quantity, Against::Nothing)
}

fn against_others(scenario: &Scenario, trials: &[Trial]) -> String {
    let others: Vec<Contender> = scenario
        .contenders
        .iter()
        .copied()
        .filter(|&contender| contender != Contender::Windage)
        .collect();
    if others.is_empty() {
        return String::new();
    }
    let mut text = header("windage /", &COMPARED, false);
    text.insert(0, '\n');
    for other in others {
        let _ = write!(text, "| {} |", other.as_str());
        for quantity in COMPARED {
            let against = Against::Contender(other);
            let figure = ratio(trials, scenario.name, Contender::Windage, quantity, against);
            let _ = write!(text, " {} |", or_dash(figure, plain_ratio));
        }
        text.push('\n');
    }
    text
}

fn against_truth(scenario: &Scenario, trials: &[Trial]) -> String {
    let truths: Vec<_> = trials
        .iter()
        .filter(|trial| trial.scenario == scenario.name)
        .filter_map(|trial| trial.outcome.as_ref().ok()?.truth)
        .collect();
    let (Some(p50), Some(p99)) = (
        median(truths.iter().map(|truth| truth.p50_us)),
        median(truths.iter().map(|truth| truth.p99_us)),
    ) else {
        return String::new();
    };
    let uncertain_by = truths
        .iter()
        .map(|truth| truth.p99_us_uncertain_by)
        .fold(0.0, f64::max);
    let mut text = format!(
        "\nTruth: p50 {:.1} µs, p99 {:.1} µs; the moment of the first start moves the latter by at \
         most {uncertain_by:.1} µs.\n\n",
        p50.estimate, p99.estimate,
    );
    text += &header("against truth", &HAS_TRUTH, false);
    for &contender in scenario.contenders {
        let _ = write!(text, "| {} |", contender.as_str());
        for quantity in HAS_TRUTH {
            let figure = ratio(trials, scenario.name, contender, quantity, Against::Truth);
            let _ = write!(text, " {} |", or_dash(figure, plain_ratio));
        }
        text.push('\n');
    }
    text
}

fn header(first: &str, columns: &[Quantity], with_units: bool) -> String {
    let titles: Vec<String> = columns
        .iter()
        .map(|column| match column.unit() {
            Some(unit) if with_units => format!("{}, {unit}", column.title()),
            _ => column.title().to_owned(),
        })
        .collect();
    format!(
        "| {first} | {} |\n|---|{}\n",
        titles.join(" | "),
        "---:|".repeat(columns.len())
    )
}

fn failed(trial: &Trial) -> Option<Failed<'_>> {
    Some(Failed {
        scenario: trial.scenario,
        round: trial.round,
        name: trial.contender.as_str(),
        why: trial.outcome.as_ref().err()?,
    })
}

/// One line about a run that has ended, for the terminal.
pub(super) fn progress(trial: &Trial) -> String {
    let name = trial.contender.as_str();
    match &trial.outcome {
        Err(why) => format!("    {name:<14} {why}"),
        Ok(reading) => {
            let show = |quantity: Quantity| {
                let value = reading.value(quantity);
                value.map_or_else(dash, |value| quantity.with_unit(&quantity.number(value)))
            };
            let figures = [
                Quantity::Throughput,
                Quantity::CpuPerRequest,
                Quantity::LatencyP50,
                Quantity::LatencyP99,
                Quantity::Memory,
            ];
            let [throughput, cpu, p50, p99, memory] = figures.map(show);
            format!(
                "    {name:<14} {throughput:>7}/s  {cpu:>9} a request  p50 {p50:>9}  p99 {p99:>9}  {memory:>8}"
            )
        }
    }
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
