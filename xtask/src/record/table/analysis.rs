//! What the page needs of an `analysis.json`; keys that it does not know are passed over, as the
//! format asks of its readers.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;

use crate::record::summary::Ranged;

/// The schema that is understood.
const SCHEMA: u64 = 1;

/// One run.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Run {
    pub(super) windage: String,
    pub(super) plan: String,
    pub(super) command: String,
    pub(super) started: String,
    pub(super) host: Host,
    #[serde(flatten)]
    pub(super) first: UnderLoad,
    #[serde(default)]
    pub(super) further: Vec<UnderLoad>,
}

/// Facts about the machine; what could not be read is null.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(super) struct Host {
    pub(super) kernel: Option<String>,
    pub(super) os_release: Option<String>,
    pub(super) cpu_model: Option<String>,
    pub(super) cpus_online: Option<usize>,
    pub(super) memory_total_bytes: Option<u64>,
    pub(super) virtualised: Option<bool>,
}

/// What holds under one load.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct UnderLoad {
    pub(super) regime: Option<String>,
    pub(super) design: Design,
    pub(super) validity: Validity,
    pub(super) arms: Vec<Arm>,
    #[serde(default)]
    pub(super) stages: Vec<Chain>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Design {
    pub(super) load: String,
    pub(super) rate: Option<f64>,
    pub(super) connections: u32,
    pub(super) rounds: u32,
    pub(super) measured_s: Option<f64>,
    pub(super) batch: Option<Batch>,
}

/// What is known of a batch load.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Batch {
    /// Whether a window is a process from start to exit.
    pub(super) whole_processes: bool,
}

/// A chain of arms, each of which adds a stage.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Chain {
    pub(super) from: String,
    pub(super) from_value: Option<f64>,
    pub(super) stages: Vec<Stage>,
    pub(super) sum: Cost,
    pub(super) wholes: Vec<Whole>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Stage {
    pub(super) arm: String,
    pub(super) share: Option<f64>,
    #[serde(flatten)]
    pub(super) cost: Cost,
}

/// What one arm costs over another, in µs.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Cost {
    pub(super) difference: Option<Interval>,
    pub(super) exceeds_nil: Option<bool>,
    pub(super) per_span: Option<Interval>,
    pub(super) per_event: Option<Interval>,
    pub(super) missing: Option<Missing>,
}

/// An arm that is one of the chain once more, with windows of its own.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Whole {
    pub(super) arm: String,
    #[serde(flatten)]
    pub(super) cost: Cost,
    pub(super) gap: Cost,
    pub(super) holds: Option<bool>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Validity {
    pub(super) verdict: String,
    pub(super) reasons: Vec<Reason>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Reason {
    pub(super) code: String,
    pub(super) text: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Arm {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) role: String,
    #[serde(default)]
    pub(super) versions: BTreeMap<String, String>,
    pub(super) metrics: BTreeMap<String, Metric>,
    pub(super) fidelity: Option<Fidelity>,
    pub(super) planning: Option<Planning>,
    pub(super) script: Option<Script>,
}

/// A whole process, start to exit.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Script {
    pub(super) iterations: Option<u64>,
    pub(super) real_s: Interval,
}

/// What an arm's telemetry leaves room for.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Planning {
    pub(super) within_s: f64,
    pub(super) spans: Option<Room>,
    pub(super) events: Option<Room>,
}

/// How many there is room for, in a second of one core and in the time that was asked for.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Room {
    pub(super) per_core_second: Interval,
    pub(super) within: Interval,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Metric {
    pub(super) difference: Option<Interval>,
    pub(super) exceeds_nil: Option<bool>,
    pub(super) verdict: Option<String>,
    pub(super) validity: Validity,
    pub(super) missing: Option<Missing>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Missing {
    pub(super) code: String,
    pub(super) text: String,
}

/// An interval as it is stored: an end that is not finite is null.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Interval {
    pub(super) estimate: Option<f64>,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
}

impl Interval {
    /// The interval, if it has both ends.
    pub(super) fn ranged(self) -> Option<Ranged> {
        Some(Ranged {
            estimate: self.estimate?,
            low: self.low?,
            high: self.high?,
        })
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Fidelity {
    pub(super) expected: Option<f64>,
    pub(super) sampling_sd: Option<f64>,
    pub(super) lost: Option<f64>,
    pub(super) beyond_sampling: Option<bool>,
    pub(super) wire_bytes_per_span: Option<f64>,
    pub(super) in_windows: Option<InWindows>,
    /// Told since the sink counts within windows; records of before have none.
    pub(super) completed_requests: Option<u64>,
    pub(super) spans: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct InWindows {
    pub(super) expected: Option<f64>,
    pub(super) lost: Option<f64>,
}

/// The runs of one document: a run itself, or `{"runs": […]}`.
pub(super) fn read(text: &str) -> Result<Vec<Run>> {
    let mut document: Value = serde_json::from_str(text).context("it is not JSON")?;
    let schema = document["schema"].as_u64();
    if schema != Some(SCHEMA) {
        let schema = schema.map_or("none".to_owned(), |schema| schema.to_string());
        bail!("its `schema` is {schema}; it has to be {SCHEMA}, as `windage run --json` prints it");
    }
    let runs = match document.get_mut("runs").map(Value::take) {
        Some(Value::Array(runs)) => runs,
        Some(_) => bail!("`runs` is not a list"),
        None => vec![document],
    };
    runs.into_iter()
        .map(|run| {
            serde_json::from_value(run).context("it is not what `windage run --json` prints")
        })
        .collect()
}

impl Run {
    /// What was found under the load of this name, or under the only one.
    pub(super) fn under(&self, regime: Option<&str>) -> Result<&UnderLoad> {
        let mut all = std::iter::once(&self.first).chain(&self.further);
        let known = || -> String {
            let all = std::iter::once(&self.first).chain(&self.further);
            let names = all.map(|under| under.regime.as_deref().unwrap_or("(no name)"));
            names.collect::<Vec<_>>().join(", ")
        };
        match regime {
            None if self.further.is_empty() => Ok(&self.first),
            None => bail!(
                "plan `{}` has several loads ({}); name one by `regime`",
                self.plan,
                known()
            ),
            Some(name) => all
                .find(|under| under.regime.as_deref() == Some(name))
                .with_context(|| {
                    format!(
                        "plan `{}` has no load `{name}`, only {}",
                        self.plan,
                        known()
                    )
                }),
        }
    }
}

impl UnderLoad {
    /// The cost of what the load asks for: CPU a request or an iteration.
    pub(super) fn cost_metric(&self) -> &'static str {
        if self.design.load == "batch" {
            "cpu_per_iteration"
        } else {
            "cpu_per_request"
        }
    }

    /// The name of an arm for people.
    pub(super) fn name<'a>(&'a self, id: &'a str) -> &'a str {
        let arm = self.arms.iter().find(|arm| arm.id == id);
        arm.map_or(id, |arm| &arm.name)
    }

    pub(super) fn arm(&self, id: &str) -> Result<usize> {
        self.arms
            .iter()
            .position(|arm| arm.id == id)
            .with_context(|| {
                let ids: Vec<&str> = self.arms.iter().map(|arm| arm.id.as_str()).collect();
                format!("there is no arm `{id}`, only {}", ids.join(", "))
            })
    }
}

impl Validity {
    pub(super) fn is_valid(&self) -> bool {
        self.verdict == "valid"
    }
}

impl Arm {
    /// The 95 % interval of a metric's difference to the baseline.
    pub(super) fn difference(&self, metric: &str) -> Option<Ranged> {
        self.metrics.get(metric)?.difference?.ranged()
    }
}

impl Fidelity {
    pub(super) fn spans_per_request(&self) -> Option<f64> {
        let requests = self.completed_requests.filter(|requests| *requests > 0)?;
        Some(self.spans as f64 / requests as f64)
    }

    /// Whether more was lost than sampling explains.
    pub(super) fn is_lossy(&self) -> bool {
        self.beyond_sampling == Some(true)
    }
}
