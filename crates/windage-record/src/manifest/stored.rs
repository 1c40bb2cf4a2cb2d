//! Stored form of `manifest.json`.

mod limits;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use limits::{StoredBudget, StoredClaim, metric};
use serde::{Deserialize, Serialize};
use windage_model::{
    ArmId, ArmIndex, BackendError, Expected, LevelValue, Limit, LoadModel, Order,
    PointsPerInterval, Revision, Revisions, Role, Says, Until,
};

use super::{
    DesignScope, FORMAT, LoadScope, Manifest, ManifestArm, Placed, READABLE, RunPart, StopScope,
    TurnScope, is_readable,
};
use crate::RecordError;

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

    /// Reads `manifest.json`; errors name `path`.
    pub(crate) fn from_json(json: &[u8], path: &Path) -> Result<Manifest, RecordError> {
        let damaged = |why: String| RecordError::Damaged {
            path: path.to_owned(),
            why,
        };
        let front: Front = serde_json::from_slice(json).map_err(|e| damaged(e.to_string()))?;
        if !is_readable(front.format) {
            return Err(RecordError::OtherFormat {
                path: path.to_owned(),
                found: front.format,
                known: READABLE,
                windage: front.windage,
            });
        }
        let stored: StoredManifest =
            serde_json::from_slice(json).map_err(|e| damaged(e.to_string()))?;
        stored.try_into().map_err(damaged)
    }

    fn check_finite(&self) -> Result<(), RecordError> {
        let mut figures = vec![("the equivalence margin".to_owned(), self.design.margin)];
        if let Some(Until::Known { half_width, .. }) = self.design.stop.map(|stop| stop.until) {
            figures.push(("the stop's half-width".to_owned(), half_width));
        }
        for budget in &self.budgets {
            figures.push(("the limit of a budget".to_owned(), budget.at_most.value()));
            figures.push((
                "the limit of an override".to_owned(),
                budget.limit().value(),
            ));
            let warn_above = budget.warn_above.map_or(0.0, Limit::value);
            figures.push(("the warning of a budget".to_owned(), warn_above));
            figures.push(("the confidence of a budget".to_owned(), budget.confidence));
        }
        for claim in &self.claims {
            let figure = claim.says.figure().value();
            figures.push(("the figure of a claim".to_owned(), figure));
            if let Says::About { tolerance, .. } = claim.says {
                figures.push(("the tolerance of a claim".to_owned(), tolerance.value()));
            }
            figures.push(("the confidence of a claim".to_owned(), claim.confidence));
        }
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
            for (_, figure) in expected.given() {
                figures.push((format!("what arm {} expects", arm.id), figure));
            }
        }
        match figures.into_iter().find(|(_, figure)| !figure.is_finite()) {
            Some((key, _)) => Err(RecordError::NotFinite { key }),
            None => Ok(()),
        }
    }
}

/// Fields that every format has.
#[derive(Deserialize)]
struct Front {
    format: u32,
    windage: String,
}

/// The stored form.
#[derive(Serialize, Deserialize)]
struct StoredManifest {
    format: u32,
    windage: String,
    run: String,
    plan: String,
    about: Option<String>,
    plan_folder: PathBuf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resolved_sha256: Option<String>,
    command: String,
    started: String,
    seed: u64,
    arms: Vec<StoredArm>,
    load: StoredLoad,
    other_loads: Vec<StoredLoad>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    budgets: Vec<StoredBudget>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    claims: Vec<StoredClaim>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revisions: Option<StoredRevisions>,
    design: StoredDesign,
}

#[derive(Serialize, Deserialize)]
struct StoredRevisions {
    base: StoredRevision,
    head: StoredRevision,
}

#[derive(Serialize, Deserialize)]
struct StoredRevision {
    name: String,
    commit: String,
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
    /// For people.
    backend: String,
    adds_to: Option<u16>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    agents: Vec<String>,
    /// With `agents`; older runs don't say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agents_have_needs: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bystander_of: Option<u16>,
    same_as: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_base: Option<u16>,
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
    events_per_request: Option<f64>,
    records_per_request: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    points: Option<StoredPoints>,
}

#[derive(Serialize, Deserialize)]
struct StoredPoints {
    per_interval: f64,
    interval_ns: u64,
}

impl From<Expected> for StoredExpected {
    fn from(expected: Expected) -> Self {
        StoredExpected {
            traces_per_request: expected.traces_per_request,
            spans_per_request: expected.spans_per_request,
            events_per_request: expected.events_per_request,
            records_per_request: expected.records_per_request,
            points: expected.points.map(|of| StoredPoints {
                per_interval: of.points,
                interval_ns: u64::try_from(of.interval.as_nanos()).unwrap_or(u64::MAX),
            }),
        }
    }
}

impl From<StoredExpected> for Expected {
    fn from(stored: StoredExpected) -> Self {
        Expected {
            traces_per_request: stored.traces_per_request,
            spans_per_request: stored.spans_per_request,
            events_per_request: stored.events_per_request,
            records_per_request: stored.records_per_request,
            points: stored.points.map(|of| PointsPerInterval {
                points: of.per_interval,
                interval: Duration::from_nanos(of.interval_ns),
            }),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct StoredLoad {
    regime: Option<String>,
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
    turns: Option<StoredTurns>,
    warmup_ns: u64,
    drain_ns: u64,
    idle_ns: u64,
    order: StoredOrder,
    margin: f64,
    subject_cores: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    placement: Vec<StoredPlaced>,
    stop: Option<StoredStop>,
}

#[derive(Serialize, Deserialize)]
struct StoredTurns {
    blocks_per_round: u32,
    block_ns: u64,
    turn_ns: Option<u64>,
    turn_requests: Option<u32>,
}

#[derive(Serialize, Deserialize)]
struct StoredPlaced {
    #[serde(flatten)]
    part: StoredPart,
    cpus: Option<Vec<u32>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "part", content = "name")]
enum StoredPart {
    Service(String),
    Agent(String),
    Generator,
    Receiver,
}

#[derive(Serialize, Deserialize)]
struct StoredStop {
    /// With `half_width`; without both, the run stops when its budgets are decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metric: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    half_width: Option<f64>,
    within_ns: u64,
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
            resolved_sha256: manifest.resolved_sha256.clone(),
            command: manifest.command.clone(),
            started: humantime::format_rfc3339_nanos(manifest.started()).to_string(),
            seed: manifest.seed,
            arms: manifest.arms.iter().map(Into::into).collect(),
            load: (&manifest.load).into(),
            other_loads: manifest.other_loads.iter().map(Into::into).collect(),
            budgets: manifest.budgets.iter().map(Into::into).collect(),
            claims: manifest.claims.iter().map(Into::into).collect(),
            revisions: manifest.revisions.as_ref().map(Into::into),
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
            resolved_sha256: stored.resolved_sha256,
            command: stored.command,
            started_unix_ns: started
                .ok_or_else(|| format!("`started` is not a time: `{}`", stored.started))?,
            seed: stored.seed,
            arms: stored
                .arms
                .into_iter()
                .map(TryInto::try_into)
                .collect::<Result<_, _>>()?,
            load: stored.load.into(),
            other_loads: stored.other_loads.into_iter().map(Into::into).collect(),
            budgets: stored
                .budgets
                .into_iter()
                .map(TryInto::try_into)
                .collect::<Result<_, _>>()?,
            claims: stored
                .claims
                .into_iter()
                .map(TryInto::try_into)
                .collect::<Result<_, _>>()?,
            revisions: stored.revisions.map(Into::into),
            design: stored.design.try_into()?,
        })
    }
}

impl From<&Revisions> for StoredRevisions {
    fn from(of: &Revisions) -> Self {
        let stored = |of: &Revision| StoredRevision {
            name: of.name.clone(),
            commit: of.commit.clone(),
        };
        StoredRevisions {
            base: stored(&of.base),
            head: stored(&of.head),
        }
    }
}

impl From<StoredRevisions> for Revisions {
    fn from(stored: StoredRevisions) -> Self {
        let of = |stored: StoredRevision| Revision {
            name: stored.name,
            commit: stored.commit,
        };
        Revisions {
            base: of(stored.base),
            head: of(stored.head),
        }
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
            expected: arm.expected.map(StoredExpected::from),
            backend: arm.backend.to_string(),
            adds_to: arm.adds_to.map(|arm| arm.0),
            agents: arm.agents.clone(),
            agents_have_needs: (!arm.agents.is_empty()).then_some(arm.agents_have_needs),
            bystander_of: arm.bystander_of.map(|arm| arm.0),
            same_as: arm.same_as.map(|arm| arm.0),
            at_base: arm.at_base.map(|arm| arm.0),
        }
    }
}

impl TryFrom<StoredArm> for ManifestArm {
    type Error = String;

    fn try_from(stored: StoredArm) -> Result<Self, String> {
        let id = ArmId::from_text(&stored.id)
            .filter(|id| id.as_str() == stored.id)
            .ok_or_else(|| format!("`{}` is not an arm id", stored.id))?;
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
            expected: stored.expected.map(Expected::from),
            backend: stored
                .backend
                .parse()
                .map_err(|e: BackendError| e.to_string())?,
            adds_to: stored.adds_to.map(ArmIndex),
            agents_have_needs: stored
                .agents_have_needs
                .unwrap_or(!stored.agents.is_empty()),
            agents: stored.agents,
            bystander_of: stored.bystander_of.map(ArmIndex),
            same_as: stored.same_as.map(ArmIndex),
            at_base: stored.at_base.map(ArmIndex),
        })
    }
}

impl From<&LoadScope> for StoredLoad {
    fn from(load: &LoadScope) -> Self {
        StoredLoad {
            regime: load.regime.clone(),
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
            regime: stored.regime,
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
        StoredDesign {
            window_ns: design.window_ns,
            settle_ns: design.settle_ns,
            rounds: design.rounds,
            blocks_per_round: design.blocks_per_round,
            turns: design.turns.map(Into::into),
            warmup_ns: design.warmup_ns,
            drain_ns: design.drain_ns,
            idle_ns: design.idle_ns,
            order: match design.order {
                Order::Mirrored => StoredOrder::Mirrored,
                Order::Sequential => StoredOrder::Sequential,
            },
            margin: design.margin,
            subject_cores: design.subject_cores,
            placement: design.placement.iter().map(Into::into).collect(),
            stop: design.stop.map(Into::into),
        }
    }
}

impl TryFrom<StoredDesign> for DesignScope {
    type Error = String;

    fn try_from(stored: StoredDesign) -> Result<Self, String> {
        Ok(DesignScope {
            window_ns: stored.window_ns,
            settle_ns: stored.settle_ns,
            rounds: stored.rounds,
            blocks_per_round: stored.blocks_per_round,
            turns: stored.turns.map(Into::into),
            warmup_ns: stored.warmup_ns,
            drain_ns: stored.drain_ns,
            idle_ns: stored.idle_ns,
            order: match stored.order {
                StoredOrder::Mirrored => Order::Mirrored,
                StoredOrder::Sequential => Order::Sequential,
            },
            margin: stored.margin,
            subject_cores: stored.subject_cores,
            placement: stored.placement.into_iter().map(Into::into).collect(),
            stop: stored.stop.map(TryInto::try_into).transpose()?,
        })
    }
}

impl From<TurnScope> for StoredTurns {
    fn from(turns: TurnScope) -> Self {
        StoredTurns {
            blocks_per_round: turns.blocks_per_round,
            block_ns: turns.block_ns,
            turn_ns: turns.turn_ns,
            turn_requests: turns.turn_requests,
        }
    }
}

impl From<StoredTurns> for TurnScope {
    fn from(stored: StoredTurns) -> Self {
        TurnScope {
            blocks_per_round: stored.blocks_per_round,
            block_ns: stored.block_ns,
            turn_ns: stored.turn_ns,
            turn_requests: stored.turn_requests,
        }
    }
}

impl From<&Placed> for StoredPlaced {
    fn from(placed: &Placed) -> Self {
        StoredPlaced {
            part: match &placed.part {
                RunPart::Service(name) => StoredPart::Service(name.clone()),
                RunPart::Agent(name) => StoredPart::Agent(name.clone()),
                RunPart::Generator => StoredPart::Generator,
                RunPart::Receiver => StoredPart::Receiver,
            },
            cpus: placed.cpus.clone(),
        }
    }
}

impl From<StoredPlaced> for Placed {
    fn from(stored: StoredPlaced) -> Self {
        Placed {
            part: match stored.part {
                StoredPart::Service(name) => RunPart::Service(name),
                StoredPart::Agent(name) => RunPart::Agent(name),
                StoredPart::Generator => RunPart::Generator,
                StoredPart::Receiver => RunPart::Receiver,
            },
            cpus: stored.cpus,
        }
    }
}

impl From<StopScope> for StoredStop {
    fn from(stop: StopScope) -> Self {
        let (metric, half_width) = match stop.until {
            Until::Known { metric, half_width } => {
                (Some(metric.as_str().to_owned()), Some(half_width))
            }
            Until::Budgets => (None, None),
        };
        StoredStop {
            metric,
            half_width,
            within_ns: stop.within_ns,
        }
    }
}

impl TryFrom<StoredStop> for StopScope {
    type Error = String;

    fn try_from(stored: StoredStop) -> Result<Self, String> {
        Ok(StopScope {
            until: match (&stored.metric, stored.half_width) {
                (Some(name), Some(half_width)) => Until::Known {
                    metric: metric(name)?,
                    half_width,
                },
                (None, None) => Until::Budgets,
                _ => return Err("`stop` has one of `metric` and `half_width`".to_owned()),
            },
            within_ns: stored.within_ns,
        })
    }
}
