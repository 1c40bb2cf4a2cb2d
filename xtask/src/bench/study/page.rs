//! A study as a Markdown page.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Quantity, Scenario, Study, Trial, figure};
use crate::bench::median::Median;

/// The contender whose figures are divided by those of the others.
const OWN: &str = "windage";

const FIGURES: &str = "\
Each figure is the median over rounds; a ratio is the median of the ratios within rounds. In brackets: the interval of \
at least 95 % by order statistics, if there are at least six rounds. In each round the scenarios, and in each of them \
the contenders, come in a random order, drawn from a fixed seed.";

impl Study {
    /// The page of the trials so far.
    pub(super) fn page(&self) -> String {
        let plan = &self.plan;
        let done = self.trials.iter().map(|trial| trial.round).max();
        let mut page = format!("# {}\n\n", plan.title);
        for fact in &self.facts {
            let _ = writeln!(page, "- {fact}");
        }
        let _ = write!(
            page,
            "- Rounds: {} of {}\n- Steal while contenders ran: {:.1} s, summed over all cores\n\n\
             {FIGURES}\n\n{}\n\n## Figures to reach\n\n| figure | to reach | measured | |\n|---|---|---|---|\n",
            done.unwrap_or(0),
            plan.rounds,
            self.stolen_s,
            plan.method,
        );
        page.extend(plan.goals.iter().map(|goal| goal.row(&self.trials)));
        for scenario in &plan.scenarios {
            let (name, meaning) = (scenario.name, &scenario.meaning);
            let _ = write!(page, "\n## {name}\n\n{meaning}.\n\n");
            page += &self.values(scenario);
            page += &self.ratios(scenario);
        }
        let warnings = self.warnings();
        if !warnings.is_empty() {
            let _ = write!(page, "\n## Warnings\n\n- {}\n", warnings.join("\n- "));
        }
        page += "\n## Commands\n\n```console\n";
        page.extend(self.commands.iter().map(|line| format!("$ {line}\n")));
        page + "```\n"
    }

    fn values(&self, scenario: &Scenario) -> String {
        let readings = self.trials.iter().filter(|t| t.scenario == scenario.name);
        let readings = readings.filter_map(|trial| trial.outcome.as_ref().ok());
        let mut quantities: Vec<Quantity> = Vec::new();
        for (quantity, _) in readings.flat_map(|reading| &reading.values) {
            if !quantities.contains(quantity) {
                quantities.push(*quantity);
            }
        }
        let titles = quantities.iter().map(|quantity| match quantity.unit {
            "" => quantity.title.to_owned(),
            unit => format!("{}, {unit}", quantity.title),
        });
        let rows = scenario.contenders.iter().map(|&contender| {
            let cells = quantities.iter().map(|&quantity| {
                let figure = figure(&self.trials, (scenario.name, contender), quantity, None);
                or_dash(figure, |value| quantity.number(value))
            });
            (contender, cells.collect())
        });
        table("contender", titles.collect(), rows)
    }

    fn ratios(&self, scenario: &Scenario) -> String {
        let mut others = scenario.contenders.clone();
        others.retain(|&other| other != OWN);
        if others.is_empty() || others.len() == scenario.contenders.len() {
            return String::new();
        }
        let compared = self.plan.compared;
        let titles = compared.iter().map(|quantity| quantity.title.to_owned());
        let rows = others.into_iter().map(|other| {
            let cells = compared.iter().map(|&quantity| {
                let other = Some((scenario.name, other));
                let figure = figure(&self.trials, (scenario.name, OWN), quantity, other);
                or_dash(figure, |value| format!("{value:.3}"))
            });
            (other, cells.collect())
        });
        format!("\n{}", table("windage /", titles.collect(), rows))
    }

    /// Warnings about runs, with their number, and why others failed.
    fn warnings(&self) -> Vec<String> {
        let mut counts = BTreeMap::new();
        let mut runs = BTreeMap::new();
        for trial in &self.trials {
            let run = (trial.scenario, trial.contender);
            *runs.entry(run).or_insert(0) += 1;
            let against = match &trial.outcome {
                Ok(reading) => reading.warnings.iter().map(|&w| w.to_owned()).collect(),
                Err(why) => vec![format!("failed: {why}")],
            };
            for warning in against {
                *counts.entry((run, warning)).or_insert(0) += 1;
            }
        }
        let counts = counts.into_iter();
        counts
            .map(|((run, warning), count)| {
                let (scenario, contender) = run;
                let all = runs[&run];
                format!("{scenario}, {contender}: {count} of {all} runs {warning}")
            })
            .collect()
    }
}

fn table(
    first: &str,
    titles: Vec<String>,
    rows: impl Iterator<Item = (&'static str, Vec<String>)>,
) -> String {
    let columns = titles.len();
    let mut text = format!("| {first} | {} |\n", titles.join(" | "));
    let _ = writeln!(text, "|---|{}", "---:|".repeat(columns));
    for (name, cells) in rows {
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    }
    text
}

fn or_dash(figure: Option<Median>, show: impl Fn(f64) -> String) -> String {
    figure.map_or("–".to_owned(), |figure| figure.show(show))
}

/// One line about a finished run, for the terminal.
pub(super) fn progress(trial: &Trial) -> String {
    let said = match &trial.outcome {
        Err(why) => why.clone(),
        Ok(reading) => {
            let values = reading.values.iter().map(|(quantity, value)| {
                let Quantity { title, unit, .. } = quantity;
                format!("{title} {} {unit}", quantity.number(*value))
            });
            values.collect::<Vec<_>>().join(", ")
        }
    };
    format!("    {:<20} {said}", trial.contender)
}
