//! What a run is: written once, when it starts.

mod stored;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use windage_model::{ArmId, ArmIndex, Backend, LevelValue, LoadModel, Metric, Order, Role};

use crate::RecordError;
use crate::run_dir::FORMAT;
use stored::{Front, StoredManifest};

/// What a run is.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The version of Windage that writes the run.
    pub windage: String,
    /// The run's id.
    pub run: String,
    /// The plan's name.
    pub plan: String,
    /// The plan's sentence about itself.
    pub about: Option<String>,
    /// The plan's folder, from which a resumed run goes on.
    pub plan_folder: PathBuf,
    /// The command line that started the run, secrets already removed.
    pub command: String,
    /// When the run began, in nanoseconds since 1970 (UTC).
    pub started_unix_ns: u64,
    /// The seed of the run order.
    pub seed: u64,
    /// Every arm of the resolved plan, by index.
    pub arms: Vec<ManifestArm>,
    /// The load, which is the scope of every result; of several, the first.
    pub load: LoadScope,
    /// Further loads: rounds have them in turn, the first load first.
    pub other_loads: Vec<LoadScope>,
    /// How it is measured.
    pub design: DesignScope,
}

/// An arm, as reports name it.
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestArm {
    /// Its place in the resolved plan.
    pub index: ArmIndex,
    /// Its name in files.
    pub id: ArmId,
    /// Its name for people.
    pub name: String,
    /// The plan's sentence about it.
    pub about: Option<String>,
    /// What it is there for.
    pub role: Role,
    /// The settings of the plan's factors.
    pub levels: BTreeMap<String, LevelValue>,
    /// Telemetry that should arrive; `None` when the plan doesn't say.
    pub expected: Option<Expected>,
    /// How the receiver of its telemetry behaves.
    pub backend: Backend,
    /// The arm to which it adds a stage, if any.
    pub adds_to: Option<ArmIndex>,
    /// The arm that it is once more, with processes and windows of its own, if any.
    pub same_as: Option<ArmIndex>,
    /// The agents that are attached for it, by their names in the plan; none for most arms.
    pub agents: Vec<String>,
    /// The arm whose agents are attached while this one gets load, without watching it, if any.
    pub bystander_of: Option<ArmIndex>,
}

/// Telemetry that should arrive for each request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expected {
    /// Whole traces per request.
    pub traces_per_request: Option<f64>,
    /// Spans a request.
    pub spans_per_request: Option<f64>,
    /// Events on spans per request.
    pub events_per_request: Option<f64>,
}

/// The load that a result holds for.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadScope {
    /// What tells it from the run's other loads; `None` when there is no other.
    pub regime: Option<String>,
    /// How load is put on.
    pub model: LoadModel,
    /// Intended starts per second (open loop).
    pub rate_per_s: Option<f64>,
    /// Connections of each arm; 0 for a batch load.
    pub connections: u32,
    /// The request, such as `GET http://{app}/`; `None` for a batch load.
    pub request: Option<String>,
    /// Iterations in a window (batch load); `None` when they are chosen for each arm so that a
    /// window has its length.
    pub iterations: Option<u64>,
}

/// How a run measures.
#[derive(Clone, Debug, PartialEq)]
pub struct DesignScope {
    /// The length of a window, in nanoseconds.
    pub window_ns: u64,
    /// Load before each window that is not measured, in nanoseconds.
    pub settle_ns: u64,
    /// Launches that are planned, under all loads together.
    pub rounds: u32,
    /// Blocks that are planned in each round.
    pub blocks_per_round: u32,
    /// Load on each arm before a round's first window, in nanoseconds.
    pub warmup_ns: u64,
    /// The wait for deferred work after a round's last window, in nanoseconds.
    pub drain_ns: u64,
    /// The idle stretch after the drain, in nanoseconds.
    pub idle_ns: u64,
    /// The order of arms.
    pub order: Order,
    /// The relative difference below which nobody cares, such as 0.005.
    pub margin: f64,
    /// Cores that an arm may keep busy at once.
    pub subject_cores: u32,
    /// Which cores the plan gives each part.
    pub placement: Vec<Placed>,
    /// When the run may end before its time; `None` when it may not.
    pub stop: Option<StopScope>,
}

/// A part of a run, and the cores that the plan gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// What runs there.
    pub part: RunPart,
    /// The cores, by number; `None` where the plan leaves it to the scheduler.
    pub cpus: Option<Vec<u32>>,
}

/// What uses cores of its own in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunPart {
    /// A service of that name, in every arm.
    Service(String),
    /// An agent of that name.
    Agent(String),
    /// The load generator's thread, and the receiver's.
    Generator,
    /// The receiver of telemetry where nothing generates load, since the subject is a batch.
    Receiver,
}

impl RunPart {
    /// What kind of part it is, as files have it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            RunPart::Service(_) => "service",
            RunPart::Agent(_) => "agent",
            RunPart::Generator => "generator",
            RunPart::Receiver => "receiver",
        }
    }

    /// The name among those of its kind.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            RunPart::Service(name) | RunPart::Agent(name) => Some(name),
            RunPart::Generator | RunPart::Receiver => None,
        }
    }
}

/// A run ends as soon as a metric is known so well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StopScope {
    /// What has to be known.
    pub metric: Metric,
    /// Half the width of its interval, as a share of the baseline.
    pub half_width: f64,
    /// Measuring time at most, in nanoseconds.
    pub within_ns: u64,
}

impl Manifest {
    /// How many loads the rounds have in turn.
    #[must_use]
    pub fn loads(&self) -> usize {
        1 + self.other_loads.len()
    }

    /// What the run is under one of its loads: as if there were no other. The first is 0.
    #[must_use]
    pub fn under_load(&self, index: usize) -> Manifest {
        let mut own = self.clone();
        let rounds = self.design.rounds / u32::try_from(self.loads()).unwrap_or(u32::MAX);
        own.design.rounds = rounds;
        own.other_loads.clear();
        if let Some(load) = index.checked_sub(1).and_then(|i| self.other_loads.get(i)) {
            own.load = load.clone();
        }
        own
    }

    /// The text of `manifest.json`.
    pub(crate) fn to_json(&self) -> Result<Vec<u8>, RecordError> {
        self.check_finite()?;
        let mut json = serde_json::to_vec_pretty(&StoredManifest::from(self)).map_err(|cause| {
            RecordError::Unstorable {
                why: cause.to_string(),
            }
        })?;
        json.push(b'\n');
        Ok(json)
    }

    /// Reads `manifest.json`; `path` is for the errors.
    pub(crate) fn from_json(json: &[u8], path: &Path) -> Result<Manifest, RecordError> {
        let damaged = |why: String| RecordError::Damaged {
            path: path.to_owned(),
            why,
        };
        let front: Front = serde_json::from_slice(json).map_err(|e| damaged(e.to_string()))?;
        if front.format != FORMAT {
            return Err(RecordError::OtherFormat {
                path: path.to_owned(),
                found: front.format,
                known: FORMAT,
                windage: front.windage,
            });
        }
        let stored: StoredManifest =
            serde_json::from_slice(json).map_err(|e| damaged(e.to_string()))?;
        stored.try_into().map_err(damaged)
    }

    /// The moment at which the run began, RFC 3339, UTC, to the second.
    #[must_use]
    pub fn started_rfc3339(&self) -> String {
        humantime::format_rfc3339_seconds(self.started()).to_string()
    }

    /// The moment at which the run began.
    pub(crate) fn started(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(self.started_unix_ns)
    }

    fn check_finite(&self) -> Result<(), RecordError> {
        let mut figures = vec![("the equivalence margin".to_owned(), self.design.margin)];
        let stop = self.design.stop.map(|stop| stop.half_width);
        figures.extend(stop.map(|half_width| ("the stop's half-width".to_owned(), half_width)));
        let loads = std::iter::once(&self.load).chain(&self.other_loads);
        let rates = loads.filter_map(|load| load.rate_per_s);
        figures.extend(rates.map(|rate| ("the rate".to_owned(), rate)));
        for arm in &self.arms {
            for (factor, level) in &arm.levels {
                if let LevelValue::Number(n) = level {
                    figures.push((format!("the level of {factor} in arm {}", arm.id), *n));
                }
            }
            let expected = arm.expected.unwrap_or_default();
            let all = [
                expected.traces_per_request,
                expected.spans_per_request,
                expected.events_per_request,
            ];
            for figure in all.into_iter().flatten() {
                figures.push((format!("what arm {} expects", arm.id), figure));
            }
        }
        match figures.into_iter().find(|(_, figure)| !figure.is_finite()) {
            Some((key, _)) => Err(RecordError::NotFinite { key }),
            None => Ok(()),
        }
    }
}
