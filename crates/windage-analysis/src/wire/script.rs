//! Whole processes and what is known of a batch load in `analysis.json`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{IntervalWire, finite};
use crate::{Averaged, BatchFacts, Script, ScriptPhase};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BatchWire {
    pub whole_processes: bool,
    pub iterations_chosen: bool,
    pub iterations_fewest: u64,
    pub iterations_most: u64,
}

impl From<&BatchFacts> for BatchWire {
    fn from(batch: &BatchFacts) -> Self {
        BatchWire {
            whole_processes: batch.whole_processes,
            iterations_chosen: batch.iterations_chosen,
            iterations_fewest: batch.iterations_fewest,
            iterations_most: batch.iterations_most,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ScriptWire {
    pub iterations: Option<u64>,
    pub runs: usize,
    pub real_s: IntervalWire,
    pub user_s: IntervalWire,
    pub sys_s: IntervalWire,
    pub phases: BTreeMap<String, PhaseWire>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PhaseWire {
    pub runs: usize,
    pub wall_s: IntervalWire,
    pub cpu_s: Option<IntervalWire>,
}

impl From<&Script> for ScriptWire {
    fn from(script: &Script) -> Self {
        let phases = script.phases.iter();
        ScriptWire {
            iterations: script.iterations,
            runs: script.runs,
            real_s: (&script.real_s).into(),
            user_s: (&script.user_s).into(),
            sys_s: (&script.system_s).into(),
            phases: phases
                .map(|p| (p.phase.as_str().to_owned(), p.into()))
                .collect(),
        }
    }
}

impl From<&ScriptPhase> for PhaseWire {
    fn from(phase: &ScriptPhase) -> Self {
        PhaseWire {
            runs: phase.runs,
            wall_s: (&phase.wall_s).into(),
            cpu_s: phase.cpu_s.as_ref().map(Into::into),
        }
    }
}

impl From<&Averaged> for IntervalWire {
    fn from(averaged: &Averaged) -> Self {
        match &averaged.interval {
            Some(interval) => interval.into(),
            None => IntervalWire {
                estimate: finite(averaged.mean),
                low: None,
                high: None,
                confidence: 0.95,
                method: windage_model::Method::Counted.as_str().to_owned(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{analyse, fixture};
    use serde_json::{Value, json};
    use windage_model::{ArmIndex, LoadModel, Phase, PhaseSpent, ProcessTimes};
    use windage_record::{Entry, SelfReport};

    fn written(run: &fixture::Recorded) -> Value {
        let nothing = std::iter::empty;
        fixture::to_json(&analyse(&run.gathered(), nothing(), nothing()))
    }

    /// Of the baseline one process, of the treatment all; the control reported nothing.
    fn batch() -> fixture::Recorded {
        let mut run = fixture::records(1);
        run.manifest.load.model = LoadModel::Batch;
        run.manifest.load.iterations = Some(1000);
        let treated = run.windows.iter().filter(|w| w.place.arm == ArmIndex(2));
        let bare = run.windows.iter().find(|w| w.place.arm == ArmIndex(0));
        let process = |window: &windage_model::Window| {
            Entry::Process(ProcessTimes {
                place: window.place,
                wall_ns: 1_500_000_000,
                user_ns: 1_250_000_000,
                system_ns: 125_000_000,
            })
        };
        run.reported = bare.into_iter().chain(treated).map(process).collect();
        run.reported.push(Entry::Phase(PhaseSpent {
            launch: 0,
            arm: ArmIndex(2),
            phase: Phase::Setup,
            wall_ns: 250_000_000,
            cpu_ns: None,
        }));
        run.reported.push(Entry::SelfReport(SelfReport {
            launch: 0,
            arm: ArmIndex(2),
            name: "gc".to_owned(),
            text: "enabled".to_owned(),
        }));
        run
    }

    #[test]
    fn whole_processes_have_their_reported_phases() {
        let written = written(&batch());
        let expected = json!({
            "whole_processes": true,
            "iterations_chosen": false,
            "iterations_fewest": 1000,
            "iterations_most": 1000,
        });
        assert_eq!(written["design"]["batch"], expected);
        let arm = |index: usize| &written["arms"][index];
        let even = |estimate: f64| {
            json!({
                "estimate": estimate, "low": estimate, "high": estimate, "confidence": 0.95,
                "method": "mean_by_process",
            })
        };
        let one = |estimate: f64| {
            json!({
                "estimate": estimate, "low": null, "high": null, "confidence": 0.95,
                "method": "counted",
            })
        };
        let expected = json!({
            "iterations": 1000, "runs": 20,
            "real_s": even(1.5), "user_s": even(1.25), "sys_s": even(0.125),
            "phases": {"setup": {"runs": 1, "wall_s": one(0.25), "cpu_s": null}},
        });
        assert_eq!(arm(2)["script"], expected);
        assert_eq!(arm(0)["script"]["real_s"], one(1.5));
        assert_eq!(arm(1)["script"], Value::Null);
        assert_eq!(
            (&arm(2)["self_reported"], &arm(0)["self_reported"]),
            (&json!({"gc": "enabled"}), &json!({}))
        );
    }

    #[test]
    fn iterations_that_were_chosen_have_a_range() {
        let mut run = fixture::records(1);
        run.manifest.load.model = LoadModel::Batch;
        run.manifest.load.iterations = None;
        for window in &mut run.windows {
            window.exchanges.completed = 400 + u64::from(window.place.arm.0);
        }
        let expected = json!({
            "whole_processes": false,
            "iterations_chosen": true,
            "iterations_fewest": 400,
            "iterations_most": 402,
        });
        assert_eq!(written(&run)["design"]["batch"], expected);
        let closed = written(&fixture::records(1));
        assert_eq!(closed["design"]["batch"], Value::Null);
        assert_eq!(closed["arms"][0]["script"], Value::Null);
    }
}
