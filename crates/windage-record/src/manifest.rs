//! What a run is: written once, when it starts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use windage_model::{ArmId, ArmIndex, LevelValue, LoadModel, Order, Role};

use crate::RecordError;

/// The newest format of `manifest.json` that is read, and the one that is written.
const FORMAT: u32 = 1;

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
    /// The load, which is the scope of every result.
    pub load: LoadScope,
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
}

/// Telemetry that should arrive for each request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expected {
    /// Whole traces a request.
    pub traces_per_request: Option<f64>,
    /// Spans a request.
    pub spans_per_request: Option<f64>,
}

/// The load that a result holds for.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadScope {
    /// How load is put on.
    pub model: LoadModel,
    /// Intended starts a second (open loop).
    pub rate_per_s: Option<f64>,
    /// Connections of each arm; 0 for a batch load.
    pub connections: u32,
    /// The request, such as `GET http://{app}/`; `None` for a batch load.
    pub request: Option<String>,
    /// Iterations in a window (batch load).
    pub iterations: Option<u64>,
}

/// How a run measures.
#[derive(Clone, Debug, PartialEq)]
pub struct DesignScope {
    /// The length of a window, in nanoseconds.
    pub window_ns: u64,
    /// Load before each window that is not measured, in nanoseconds.
    pub settle_ns: u64,
    /// Launches that are planned.
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
    pub interest: f64,
    /// Cores that an arm may keep busy at once.
    pub subject_cores: u32,
}

impl Manifest {
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
        if front.format > FORMAT {
            return Err(RecordError::Newer {
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
        let mut figures = vec![("the interest".to_owned(), self.design.interest)];
        figures.extend(
            self.load
                .rate_per_s
                .map(|rate| ("the rate".to_owned(), rate)),
        );
        for arm in &self.arms {
            for (factor, level) in &arm.levels {
                if let LevelValue::Number(n) = level {
                    figures.push((format!("the level of {factor} in arm {}", arm.id), *n));
                }
            }
            let expected = arm.expected.unwrap_or_default();
            let both = [expected.traces_per_request, expected.spans_per_request];
            for figure in both.into_iter().flatten() {
                figures.push((format!("what arm {} expects", arm.id), figure));
            }
        }
        match figures.into_iter().find(|(_, figure)| !figure.is_finite()) {
            Some((key, _)) => Err(RecordError::NotFinite { key }),
            None => Ok(()),
        }
    }
}

/// What every format has.
#[derive(Deserialize)]
struct Front {
    format: u32,
    windage: String,
}

/// The stored form. Within a format fields are only added: unknown ones are passed over, and
/// those that come later will have a default.
#[derive(Serialize, Deserialize)]
struct StoredManifest {
    format: u32,
    windage: String,
    run: String,
    plan: String,
    about: Option<String>,
    plan_folder: PathBuf,
    command: String,
    started: String,
    seed: u64,
    arms: Vec<StoredArm>,
    load: StoredLoad,
    design: StoredDesign,
}

#[derive(Serialize, Deserialize)]
struct StoredArm {
    index: u16,
    id: String,
    name: String,
    about: Option<String>,
    role: StoredRole,
    levels: BTreeMap<String, StoredLevel>,
    expected: Option<StoredExpected>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredRole {
    Baseline,
    Control,
    Treatment,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredLevel {
    Number(f64),
    Text(String),
}

#[derive(Serialize, Deserialize)]
struct StoredExpected {
    traces_per_request: Option<f64>,
    spans_per_request: Option<f64>,
}

#[derive(Serialize, Deserialize)]
struct StoredLoad {
    model: StoredModel,
    rate_per_s: Option<f64>,
    connections: u32,
    request: Option<String>,
    iterations: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredModel {
    Open,
    Closed,
    Batch,
}

#[derive(Serialize, Deserialize)]
struct StoredDesign {
    window_ns: u64,
    settle_ns: u64,
    rounds: u32,
    blocks_per_round: u32,
    warmup_ns: u64,
    drain_ns: u64,
    idle_ns: u64,
    order: StoredOrder,
    interest: f64,
    subject_cores: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredOrder {
    Mirrored,
    Sequential,
}

impl From<&Manifest> for StoredManifest {
    fn from(manifest: &Manifest) -> Self {
        StoredManifest {
            format: FORMAT,
            windage: manifest.windage.clone(),
            run: manifest.run.clone(),
            plan: manifest.plan.clone(),
            about: manifest.about.clone(),
            plan_folder: manifest.plan_folder.clone(),
            command: manifest.command.clone(),
            started: humantime::format_rfc3339_nanos(manifest.started()).to_string(),
            seed: manifest.seed,
            arms: manifest.arms.iter().map(Into::into).collect(),
            load: (&manifest.load).into(),
            design: (&manifest.design).into(),
        }
    }
}

impl TryFrom<StoredManifest> for Manifest {
    type Error = String;

    fn try_from(stored: StoredManifest) -> Result<Self, String> {
        let started = humantime::parse_rfc3339(&stored.started)
            .ok()
            .and_then(|t| t.duration_since(UNIX_EPOCH).ok())
            .and_then(|since| u64::try_from(since.as_nanos()).ok());
        Ok(Manifest {
            windage: stored.windage,
            run: stored.run,
            plan: stored.plan,
            about: stored.about,
            plan_folder: stored.plan_folder,
            command: stored.command,
            started_unix_ns: started
                .ok_or_else(|| format!("`started` is no time: `{}`", stored.started))?,
            seed: stored.seed,
            arms: stored
                .arms
                .into_iter()
                .map(TryInto::try_into)
                .collect::<Result<_, _>>()?,
            load: stored.load.into(),
            design: stored.design.into(),
        })
    }
}

impl From<&ManifestArm> for StoredArm {
    fn from(arm: &ManifestArm) -> Self {
        let level = |(factor, value): (&String, &LevelValue)| {
            let value = match value {
                LevelValue::Number(n) => StoredLevel::Number(*n),
                LevelValue::Text(t) => StoredLevel::Text(t.clone()),
            };
            (factor.clone(), value)
        };
        StoredArm {
            index: arm.index.0,
            id: arm.id.to_string(),
            name: arm.name.clone(),
            about: arm.about.clone(),
            role: match arm.role {
                Role::Baseline => StoredRole::Baseline,
                Role::Control => StoredRole::Control,
                Role::Treatment => StoredRole::Treatment,
            },
            levels: arm.levels.iter().map(level).collect(),
            expected: arm.expected.map(
                |Expected {
                     traces_per_request,
                     spans_per_request,
                 }| {
                    StoredExpected {
                        traces_per_request,
                        spans_per_request,
                    }
                },
            ),
        }
    }
}

impl TryFrom<StoredArm> for ManifestArm {
    type Error = String;

    fn try_from(stored: StoredArm) -> Result<Self, String> {
        let id = ArmId::from_text(&stored.id)
            .filter(|id| id.as_str() == stored.id)
            .ok_or_else(|| format!("`{}` is no arm id", stored.id))?;
        let level = |(factor, value)| match value {
            StoredLevel::Number(n) => (factor, LevelValue::Number(n)),
            StoredLevel::Text(t) => (factor, LevelValue::Text(t)),
        };
        Ok(ManifestArm {
            index: ArmIndex(stored.index),
            id,
            name: stored.name,
            about: stored.about,
            role: match stored.role {
                StoredRole::Baseline => Role::Baseline,
                StoredRole::Control => Role::Control,
                StoredRole::Treatment => Role::Treatment,
            },
            levels: stored.levels.into_iter().map(level).collect(),
            expected: stored.expected.map(|e| Expected {
                traces_per_request: e.traces_per_request,
                spans_per_request: e.spans_per_request,
            }),
        })
    }
}

impl From<&LoadScope> for StoredLoad {
    fn from(load: &LoadScope) -> Self {
        StoredLoad {
            model: match load.model {
                LoadModel::Open => StoredModel::Open,
                LoadModel::Closed => StoredModel::Closed,
                LoadModel::Batch => StoredModel::Batch,
            },
            rate_per_s: load.rate_per_s,
            connections: load.connections,
            request: load.request.clone(),
            iterations: load.iterations,
        }
    }
}

impl From<StoredLoad> for LoadScope {
    fn from(stored: StoredLoad) -> Self {
        LoadScope {
            model: match stored.model {
                StoredModel::Open => LoadModel::Open,
                StoredModel::Closed => LoadModel::Closed,
                StoredModel::Batch => LoadModel::Batch,
            },
            rate_per_s: stored.rate_per_s,
            connections: stored.connections,
            request: stored.request,
            iterations: stored.iterations,
        }
    }
}

impl From<&DesignScope> for StoredDesign {
    fn from(design: &DesignScope) -> Self {
        let DesignScope {
            window_ns,
            settle_ns,
            rounds,
            blocks_per_round,
            warmup_ns,
            drain_ns,
            idle_ns,
            order,
            interest,
            subject_cores,
        } = *design;
        let order = match order {
            Order::Mirrored => StoredOrder::Mirrored,
            Order::Sequential => StoredOrder::Sequential,
        };
        StoredDesign {
            window_ns,
            settle_ns,
            rounds,
            blocks_per_round,
            warmup_ns,
            drain_ns,
            idle_ns,
            order,
            interest,
            subject_cores,
        }
    }
}

impl From<StoredDesign> for DesignScope {
    fn from(stored: StoredDesign) -> Self {
        DesignScope {
            window_ns: stored.window_ns,
            settle_ns: stored.settle_ns,
            rounds: stored.rounds,
            blocks_per_round: stored.blocks_per_round,
            warmup_ns: stored.warmup_ns,
            drain_ns: stored.drain_ns,
            idle_ns: stored.idle_ns,
            order: match stored.order {
                StoredOrder::Mirrored => Order::Mirrored,
                StoredOrder::Sequential => Order::Sequential,
            },
            interest: stored.interest,
            subject_cores: stored.subject_cores,
        }
    }
}
