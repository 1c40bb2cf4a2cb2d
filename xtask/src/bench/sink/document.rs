//! The study as JSON: every run, and what was computed from them.

use serde_json::{Value, json};

use super::connections::{Crowd, MEMORY_BELOW_BYTES};
use super::exactness::Exactness;
use super::goals::{GOALS, Goal, Run, figure};
use super::record::{Outcome, Record};
use super::trial::{Quantity, Reading, Trial};
use crate::bench::median::Median;
use crate::bench::memory::Memory;

impl Record {
    /// `"schema": 1`; seconds and bytes as the names say; null where nothing was told.
    pub(super) fn json(&self) -> Value {
        let machine = &self.machine;
        let mut versions = json!({ "rustc": machine.rustc });
        for (name, version) in &self.versions {
            versions[*name] = json!(version);
        }
        let mut body_bytes = json!({});
        for (scenario, bytes) in &self.body_bytes {
            body_bytes[*scenario] = json!(bytes);
        }
        json!({
            "schema": 1,
            "study": "sink",
            "date": self.date,
            "command": self.command,
            "machine": {
                "kernel": machine.kernel, "processor": machine.processor, "cores": machine.cores,
                "virtual": machine.is_virtual, "memory_kib": machine.memory_kib,
            },
            "versions": versions,
            "commands": self.commands,
            "body_bytes": body_bytes,
            "rounds_asked": self.rounds,
            "runs": self.trials.iter().map(trial_json).collect::<Vec<_>>(),
            "goals": GOALS.iter().map(|goal| goal_json(goal, &self.trials)).collect::<Vec<_>>(),
            "medians": self.medians_json(),
            "exactness": outcomes_json(&self.exactness, exactness_json),
            "connections_open": self.connections,
            "memory_below_bytes": MEMORY_BELOW_BYTES,
            "connections": outcomes_json(&self.crowds, crowd_json),
        })
    }

    fn medians_json(&self) -> Value {
        let mut medians = json!({});
        for scenario in &self.scenarios {
            for receiver in scenario.receivers() {
                let run = Run {
                    receiver,
                    scenario: scenario.name,
                };
                for quantity in Quantity::ALL {
                    let figure = figure(&self.trials, run, quantity, None);
                    medians[scenario.name][receiver.as_str()][quantity.as_str()] =
                        median_json(figure);
                }
            }
        }
        medians
    }
}

fn trial_json(trial: &Trial) -> Value {
    let mut value = json!({
        "scenario": trial.scenario,
        "round": trial.round,
        "place": trial.place,
        "receiver": trial.receiver.as_str(),
        "reading": null,
        "failure": null,
    });
    match &trial.outcome {
        Ok(reading) => value["reading"] = reading_json(reading),
        Err(why) => value["failure"] = json!(why),
    }
    value
}

fn reading_json(reading: &Reading) -> Value {
    let Reading {
        requests,
        spans,
        body_bytes,
        seconds,
        cpu_s,
        rss_peak_bytes,
        is_confirmed,
        steal_s,
    } = reading;
    json!({
        "requests": requests, "spans": spans, "body_bytes": body_bytes, "seconds": seconds,
        "cpu_s": cpu_s, "rss_peak_bytes": rss_peak_bytes, "is_confirmed": is_confirmed,
        "steal_s": steal_s,
    })
}

fn goal_json(goal: &Goal, trials: &[Trial]) -> Value {
    let run_json =
        |run: Run| json!({ "receiver": run.receiver.as_str(), "scenario": run.scenario });
    let judged = goal.judge(trials);
    json!({
        "what": goal.what,
        "of": run_json(goal.of),
        "quantity": goal.quantity.as_str(),
        "against": goal.against.map(run_json),
        "at_least": goal.at_least,
        "measured": median_json(judged.figure),
        "reached": judged.is_reached,
        "doubts": judged.doubts,
    })
}

/// Each as what it gave, or with its name and why it failed.
fn outcomes_json<T>(outcomes: &[Outcome<T>], json: impl Fn(&T) -> Value) -> Vec<Value> {
    outcomes
        .iter()
        .map(|outcome| match &outcome.result {
            Ok(value) => json(value),
            Err(why) => json!({ "name": outcome.name, "failure": why }),
        })
        .collect()
}

fn exactness_json(exactness: &Exactness) -> Value {
    let attempts = exactness.attempts;
    json!({
        "name": exactness.mode,
        "backend": exactness.backend,
        "acknowledged_requests": attempts.acknowledged,
        "acknowledged_spans": exactness.acknowledged_spans(),
        "refused": attempts.refused,
        "broken": attempts.broken,
        "cut": attempts.cut,
        "seconds": exactness.seconds,
        "exact": exactness.is_exact(),
        "account": exactness.account,
    })
}

fn crowd_json(crowd: &Crowd) -> Value {
    let Crowd {
        scenario,
        turn,
        requests,
        refused,
        idle,
        memory,
    } = crowd;
    json!({
        "name": scenario,
        "turn": turn.as_str(),
        "requests": requests,
        "refused": refused,
        "idle": memory_json(idle),
        "all_open": memory_json(memory),
        "reached": crowd.is_small(),
    })
}

fn memory_json(memory: &Memory) -> Value {
    json!({ "rss_bytes": memory.rss_bytes, "rss_peak_bytes": memory.rss_peak_bytes })
}

fn median_json(figure: Option<Median>) -> Value {
    figure.map_or(Value::Null, |figure| figure.json())
}
