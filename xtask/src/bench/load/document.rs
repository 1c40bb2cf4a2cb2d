//! The study as JSON: every run, and what was computed from them.

use serde_json::{Value, json};

use super::goals::{Against, Bound, GOALS, Goal};
use super::parse::Percentiles;
use super::study::Study;
use super::trial::{Quantity, Reading, Trial};
use crate::bench::median::Median;

impl Study {
    /// `"schema": 1`; seconds, µs and bytes as the names say; null where nothing was told.
    pub(super) fn json(&self) -> Value {
        let machine = &self.machine;
        let mut versions = json!({ "nginx": machine.nginx, "rustc": machine.rustc });
        for (name, version) in &self.versions {
            versions[*name] = json!(version);
        }
        json!({
            "schema": 1,
            "study": "load",
            "date": self.date,
            "command": self.command,
            "machine": {
                "kernel": machine.kernel, "processor": machine.processor, "cores": machine.cores,
                "virtual": machine.is_virtual, "memory_kib": machine.memory_kib,
            },
            "versions": versions,
            "commands": self.commands.iter().map(|(scenario, contender, line)| json!({
                "scenario": scenario, "contender": contender, "line": line,
            })).collect::<Vec<_>>(),
            "rounds_asked": self.rounds,
            "runs": self.trials.iter().map(trial_json).collect::<Vec<_>>(),
            "goals": GOALS.iter().map(|goal| goal_json(goal, &self.trials)).collect::<Vec<_>>(),
            "medians": self.medians_json(),
        })
    }

    fn medians_json(&self) -> Value {
        let mut medians = json!({});
        for scenario in &self.scenarios {
            for &contender in scenario.contenders {
                for quantity in Quantity::ALL {
                    let figure = super::goals::ratio(
                        &self.trials,
                        scenario.name,
                        contender,
                        quantity,
                        Against::Nothing,
                    );
                    medians[scenario.name][contender.as_str()][quantity.as_str()] =
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
        "contender": trial.contender.as_str(),
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
        answer,
        usage,
        truth,
        steal_s,
    } = reading;
    json!({
        "requests": answer.requests,
        "errors": answer.errors,
        "throughput_per_s": answer.throughput_per_s,
        "latency_us": percentiles_json(&answer.latency_us),
        "send_lag_us": percentiles_json(&answer.send_lag_us),
        "own_cpu_us_per_request": answer.own_cpu_us_per_request,
        "validity": answer.validity,
        "wall_s": usage.wall_s,
        "user_s": usage.user_s,
        "system_s": usage.system_s,
        "rss_peak_bytes": usage.rss_peak_bytes,
        "preemptions": usage.preemptions,
        "steal_s": steal_s,
        "truth": truth.map(|truth| json!({
            "p50_us": truth.p50_us, "p99_us": truth.p99_us,
            "p99_us_uncertain_by": truth.p99_us_uncertain_by,
        })),
    })
}

fn percentiles_json(percentiles: &Percentiles) -> Value {
    let Percentiles {
        p50,
        p99,
        p999,
        max,
    } = percentiles;
    json!({ "p50": p50, "p99": p99, "p999": p999, "max": max })
}

fn goal_json(goal: &Goal, trials: &[Trial]) -> Value {
    let judged = goal.judge(trials);
    let (bound, value) = match goal.bound {
        Bound::LowEndAtLeast(least) => ("low_end_at_least", least),
        Bound::AtMost(most) => ("at_most", most),
        Bound::Within(most) => ("within", most),
    };
    let against = match goal.against {
        Against::Contender(other) => Some(other.as_str()),
        Against::Truth => Some("truth"),
        Against::Nothing => None,
    };
    json!({
        "what": goal.what,
        "scenario": goal.scenario,
        "quantity": goal.quantity.as_str(),
        "against": against,
        "bound": { (bound): value },
        "measured": median_json(judged.figure),
        "reached": judged.is_reached,
        "doubts": judged.doubts,
    })
}

fn median_json(figure: Option<Median>) -> Value {
    figure.map_or(Value::Null, |figure| figure.json())
}
