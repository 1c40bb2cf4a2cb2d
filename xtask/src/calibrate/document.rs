//! The study as JSON, for programs and for `cargo xtask record picture`.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::experiment::{Experiment, Found, METRICS, Outcome};
use super::page;
use super::summary::{Summary, summarise};
use crate::record::machine::Machine;
use crate::record::summary::Ranged;

/// How the runs were made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Study {
    /// The command that repeats it.
    pub(crate) command: String,
    /// The day, `YYYY-MM-DD`.
    pub(crate) measured: String,
    /// The commit of windage that measured; another one may have evaluated.
    pub(crate) measured_by: String,
    /// How many runs were asked for, of both orders together.
    pub(crate) asked: usize,
}

impl Study {
    pub(crate) fn json(&self) -> Value {
        json!({
            "command": self.command, "measured": self.measured,
            "measured_by": self.measured_by, "asked": self.asked,
        })
    }

    pub(crate) fn read(text: &str) -> Result<Study> {
        let value: Value = serde_json::from_str(text)?;
        let text = |key: &str| {
            let text = value[key].as_str().map(str::to_owned);
            text.with_context(|| format!("no `{key}`"))
        };
        let asked = value["asked"].as_u64().context("no `asked`")?;
        Ok(Study {
            command: text("command")?,
            measured: text("measured")?,
            measured_by: text("measured_by")?,
            asked: usize::try_from(asked)?,
        })
    }
}

/// Everything that the files are made of.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) study: Study,
    /// The machine and the versions that evaluate.
    pub(crate) machine: Machine,
    pub(crate) experiments: Vec<Experiment>,
}

impl Record {
    pub(crate) fn of(study: Study, machine: Machine) -> Record {
        Record {
            study,
            machine,
            experiments: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, experiment: Experiment) {
        self.experiments.push(experiment);
    }

    /// The record as a page.
    pub(crate) fn markdown(&self) -> String {
        page::page(self)
    }

    /// The record as JSON, `"schema": 1`; shares, not percent; null where nothing was measured.
    pub(crate) fn json(&self) -> Value {
        let machine = &self.machine;
        json!({
            "schema": 1,
            "name": "calibration",
            "study": self.study.json(),
            "machine": {
                "kernel": machine.kernel, "processor": machine.processor, "cores": machine.cores,
                "virtual": machine.is_virtual, "memory_kib": machine.memory_kib,
            },
            "versions": { "windage": machine.commit, "rustc": machine.rustc },
            "runs": self.experiments.iter().map(experiment_json).collect::<Vec<_>>(),
            "summary": summary_json(&summarise(&self.experiments)),
        })
    }
}

fn experiment_json(experiment: &Experiment) -> Value {
    let mut value = json!({
        "number": experiment.number, "order": experiment.order.as_str(),
        "validity": null, "truth": null, "control": null, "treatment": null, "failure": null,
    });
    match &experiment.outcome {
        Err(why) => value["failure"] = json!(why),
        Ok(Outcome {
            validity,
            control,
            treatment,
            truth,
        }) => {
            value["validity"] = json!(validity);
            value["truth"] = json!({ "counted": truth.counted, "clocked": truth.clocked });
            value["treatment"][METRICS[0]] = found_json(treatment);
            for (metric, found) in METRICS.into_iter().zip(control) {
                value["control"][metric] = json!(found.as_ref().map(found_json));
            }
        }
    }
    value
}

fn found_json(found: &Found) -> Value {
    let reading = &found.reading;
    json!({
        "estimate": reading.estimate, "low": reading.low, "high": reading.high,
        "exceeds_nil": reading.exceeds_nil,
        "within_launch_half_width": reading.within_launch_half_width,
        "half_width_without_covariate": found.half_width_without_covariate,
    })
}

fn summary_json(summary: &Summary) -> Value {
    let ranged = |value: Option<Ranged>| {
        value.map(|r| json!({ "estimate": r.estimate, "low": r.low, "high": r.high }))
    };
    let controls: Vec<Value> = summary
        .controls
        .iter()
        .map(|line| {
            json!({
                "metric": line.metric, "order": line.order.as_str(), "runs": line.runs,
                "false_positives": line.false_positives,
                "median_half_width": line.median_half_width,
                "median_half_width_within_launches": line.median_half_width_within_launches,
                "with_covariate": line.with_covariate,
                "median_half_width_without_covariate": line.median_half_width_without_covariate,
                "rmse": line.rmse,
            })
        })
        .collect();
    let treatments: Vec<Value> = summary
        .treatments
        .iter()
        .map(|line| {
            json!({
                "metric": METRICS[0], "order": line.order.as_str(), "runs": line.runs,
                "hold_truth": line.hold_truth, "coverage": ranged(line.coverage),
                "found": line.found, "found_within_launches": line.found_within_launches,
                "median_half_width": line.median_half_width,
                "median_estimate": line.median_estimate,
                "median_truth": {
                    "counted": line.median_truth_counted, "clocked": line.median_truth_clocked,
                },
                "bias": line.bias, "rmse": line.rmse,
            })
        })
        .collect();
    let comparisons: Vec<Value> = summary
        .comparisons
        .iter()
        .map(|c| {
            json!({
                "arm": c.arm, "metric": c.metric,
                "rmse_sequential_over_mirrored": ranged(c.ratio),
            })
        })
        .collect();
    json!({
        "failed": summary.failed, "control": controls, "treatment": treatments,
        "orders": comparisons,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::summary::tests::experiments;
    use super::*;

    pub(crate) fn record() -> Record {
        Record {
            study: Study {
                command: "cargo xtask calibrate --experiments 3 --for 60s --sequential".into(),
                measured: "2026-01-02".into(),
                measured_by: "abc".into(),
                asked: 6,
            },
            machine: Machine {
                cores: 2,
                memory_kib: 8 << 20,
                commit: "def".into(),
                ..Machine::default()
            },
            experiments: experiments(),
        }
    }

    #[test]
    fn the_document_has_every_run_and_the_summary() {
        let json = record().json();
        let run = &json["runs"][0];
        assert_eq!(run["treatment"]["cpu_per_request"]["estimate"], 0.011);
        let truth = run["truth"]["counted"].as_f64().unwrap();
        assert!((truth - 0.01).abs() < 1e-12);
        assert_eq!(json["runs"][4]["control"], Value::Null);
        assert_eq!(json["runs"][4]["failure"], "it | ended");
        assert_eq!(json["summary"]["treatment"][0]["hold_truth"], 2);
        assert_eq!(json["summary"]["control"][0]["false_positives"], 0);
    }

    #[test]
    fn what_a_folder_of_runs_says_of_itself_is_read_again() {
        let study = record().study;
        assert_eq!(Study::read(&study.json().to_string()).unwrap(), study);
        assert!(Study::read("{}").is_err());
    }
}
