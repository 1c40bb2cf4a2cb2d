//! The study as files: JSON for programs, Markdown for people.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::machine::Machine;
use super::summary::{Line, Ranged, Summary, summarise};
use super::trial::{METRICS, Order, Reading, Trial};

/// Everything that the files are made of.
pub(crate) struct Record {
    pub(crate) date: String,
    /// The command that repeats it.
    pub(crate) command: String,
    pub(crate) machine: Machine,
    /// How many runs were asked for, of both orders together.
    pub(crate) asked: usize,
    pub(crate) trials: Vec<Trial>,
}

impl Record {
    /// The record as JSON, `"schema": 1`; shares, not percent; null where nothing was measured.
    pub(crate) fn json(&self) -> Value {
        let machine = &self.machine;
        json!({
            "schema": 1,
            "study": "aa-nginx",
            "date": self.date,
            "command": self.command,
            "machine": {
                "kernel": machine.kernel, "processor": machine.processor, "cores": machine.cores,
                "virtual": machine.is_virtual, "memory_kib": machine.memory_kib,
            },
            "versions": {
                "windage": machine.commit, "rustc": machine.rustc, "nginx": machine.nginx,
            },
            "asked": self.asked,
            "runs": self.trials.iter().map(trial_json).collect::<Vec<_>>(),
            "summary": summary_json(&summarise(&self.trials)),
        })
    }

    /// The record as a page.
    pub(crate) fn markdown(&self) -> String {
        let machine = &self.machine;
        let mut page = format!("# A/A: nginx against itself, {}\n\n", self.date);
        let facts = [
            format!("- Command: `{}`", self.command),
            format!("- Machine: {}", machine.in_words()),
            format!(
                "- Versions: windage {}, {}, {}",
                machine.commit, machine.rustc, machine.nginx
            ),
            format!("- Runs: {} of {}", self.trials.len(), self.asked),
        ];
        page += &facts.join("\n");
        page += "\n\n";
        page += &summary_markdown(&summarise(&self.trials));
        page += "\n## Every run\n\n";
        page += &trials_markdown(&self.trials);
        page
    }
}

/// The summary's tables, as on the page and on the terminal.
pub(crate) fn summary_markdown(summary: &Summary) -> String {
    let mut text = String::from(
        "The truth is nil, so every estimate is an error. Intervals are of 95 %.\n\n\
         | metric | order | runs | hold nil | share that holds nil | median half-width \
         | within launches | RMSE |\n|---|---|---:|---:|---|---:|---:|---:|\n",
    );
    for line in &summary.lines {
        text += &line_markdown(line);
    }
    text += "\n| metric | RMSE sequential / mirrored |\n|---|---|\n";
    for comparison in &summary.comparisons {
        let ratio = ranged(comparison.ratio, |x| format!("{x:.1}"));
        let _ = writeln!(text, "| `{}` | {ratio} |", comparison.metric);
    }
    if summary.failed > 0 {
        let _ = writeln!(
            text,
            "\n{} runs gave no control; see below why.",
            summary.failed
        );
    }
    text
}

fn line_markdown(line: &Line) -> String {
    format!(
        "| `{}` | {} | {} | {} | {} | {} | {} | {} |\n",
        line.metric,
        line.order.as_str(),
        line.runs,
        line.hold_nil,
        ranged(line.coverage, |x| format!("{:.0} %", x * 100.0)),
        line.median_half_width.map_or_else(none, percent),
        line.median_within_launch_half_width
            .map_or_else(none, percent),
        line.rmse.map_or_else(none, percent),
    )
}

fn trials_markdown(trials: &[Trial]) -> String {
    let mut text = String::from("| run | order | validity |");
    for metric in METRICS {
        let _ = write!(text, " `{metric}` |");
    }
    text += "\n|---:|---|---|---|---|\n";
    for trial in trials {
        let (validity, cells) = match &trial.outcome {
            Ok(control) => (
                control.validity.as_str(),
                control.metrics.map(|r| reading(&r)),
            ),
            Err(why) => ("none", [why.replace(['|', '\n'], " "), String::new()]),
        };
        let order = trial.order.as_str();
        let _ = writeln!(
            text,
            "| {} | {order} | {validity} | {} |",
            trial.number,
            cells.join(" | ")
        );
    }
    text
}

fn reading(reading: &Reading) -> String {
    let mark = if reading.exceeds_nil {
        " **not nil**"
    } else {
        ""
    };
    let [estimate, low, high] =
        [reading.estimate, reading.low, reading.high].map(|x| format!("{:+.2}", x * 100.0));
    format!("{estimate} % [{low}, {high}]{mark}")
}

pub(crate) fn ranged(value: Option<Ranged>, format: impl Fn(f64) -> String) -> String {
    value.map_or_else(none, |r| {
        format!(
            "{} [{}, {}]",
            format(r.estimate),
            format(r.low),
            format(r.high)
        )
    })
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

pub(crate) fn none() -> String {
    "–".to_owned()
}

fn trial_json(trial: &Trial) -> Value {
    let mut value = json!({
        "number": trial.number,
        "order": trial.order.as_str(),
        "duration_s": trial.duration_s,
        "control": null,
        "failure": null,
    });
    match &trial.outcome {
        Err(why) => value["failure"] = json!(why),
        Ok(control) => {
            value["control"] = json!({ "validity": control.validity });
            for (metric, reading) in METRICS.into_iter().zip(&control.metrics) {
                value["control"][metric] = json!({
                    "estimate": reading.estimate, "low": reading.low, "high": reading.high,
                    "within_launch_half_width": reading.within_launch_half_width,
                    "exceeds_nil": reading.exceeds_nil,
                });
            }
        }
    }
    value
}

fn summary_json(summary: &Summary) -> Value {
    let ranged = |value: Option<Ranged>| {
        value.map(|r| json!({ "estimate": r.estimate, "low": r.low, "high": r.high }))
    };
    let mut metrics = json!({});
    for line in &summary.lines {
        metrics[line.metric][line.order.as_str()] = json!({
            "runs": line.runs, "hold_nil": line.hold_nil, "coverage": ranged(line.coverage),
            "median_half_width": line.median_half_width,
            "median_within_launch_half_width": line.median_within_launch_half_width,
            "rmse": line.rmse,
        });
    }
    for comparison in &summary.comparisons {
        let name = format!(
            "rmse_{}_over_{}",
            Order::Sequential.as_str(),
            Order::Mirrored.as_str()
        );
        metrics[comparison.metric][name] = json!(ranged(comparison.ratio));
    }
    json!({ "failed": summary.failed, "metrics": metrics })
}

#[cfg(test)]
mod tests {
    use super::super::trial::Control;
    use super::*;

    fn record() -> Record {
        let reading = Reading {
            estimate: -0.0123,
            low: -0.02,
            high: -0.001,
            within_launch_half_width: None,
            exceeds_nil: true,
        };
        let control = Control {
            validity: "valid".into(),
            metrics: [reading; METRICS.len()],
        };
        let trial = |order, outcome| Trial {
            order,
            number: 1,
            duration_s: 90.5,
            outcome,
        };
        Record {
            date: "2026-01-02".into(),
            command: "cargo xtask record aa --runs 1".into(),
            machine: Machine {
                cores: 2,
                memory_kib: 8 << 20,
                ..Machine::default()
            },
            asked: 2,
            trials: vec![
                trial(Order::Mirrored, Ok(control)),
                trial(Order::Sequential, Err("ended with 5:\na | b".into())),
            ],
        }
    }

    #[test]
    fn the_page_shows_every_run() {
        let page = record().markdown();
        for part in [
            "2 cores, 8.0 GiB",
            "Runs: 2 of 2",
            "| 1 | mirrored | valid | -1.23 % [-2.00, -0.10] **not nil** | -1.23 %",
            "| 1 | sequential | none | ended with 5: a   b |  |",
            "| `cpu_per_request` | mirrored | 1 | 0 | 0 % [0 %, 79 %] | 0.95 % | – | 1.23 % |",
            "| `throughput` | – |",
            "1 runs gave no control",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
    }

    #[test]
    fn the_document_has_the_same_figures() {
        let json = record().json();
        assert_eq!(
            json["runs"][0]["control"]["throughput"]["estimate"],
            -0.0123
        );
        assert_eq!(json["runs"][0]["failure"], Value::Null);
        assert_eq!(json["runs"][1]["control"], Value::Null);
        let cpu = &json["summary"]["metrics"]["cpu_per_request"];
        assert_eq!(cpu["mirrored"]["rmse"], 0.0123);
        assert_eq!(cpu["sequential"]["rmse"], Value::Null);
        assert_eq!(cpu["rmse_sequential_over_mirrored"], Value::Null);
    }
}
