//! `analysis.json`: a contract with other programs, only changed by additions.
//!
//! One set of types for writing and reading; unknown keys are ignored.
//!
//! Missing figures are `null` with a `missing` object beside them; there is no NaN and no infinity.

#![expect(missing_docs, reason = "docs/FORMAT.md says what each key means")]

mod agents;
mod bill;
mod budget;
mod claim;
mod comparison;
mod curve;
mod fidelity;
mod inference;
mod load;
mod planning;
mod profiles;
#[cfg(test)]
mod schema;
mod script;
mod stages;

use std::collections::BTreeMap;

use serde::Serialize;
use windage_model::{
    Evidence, Interval, LevelValue, LoadModel, Metric, Reason, Revision, Validity,
};
use windage_record::Placed;

use crate::{
    Analysis, ArmAnalysis, ComparisonWarning, DesignFacts, MetricAnalysis, Missing, OwnCost,
};
pub use comparison::comparison_to_json;

pub use agents::AgentWire;
use bill::{BillWire, BystanderWire, FidelityPointWire};
pub use budget::BudgetWire;
pub use claim::ClaimWire;
use curve::CurveWire;
pub use fidelity::FidelityWire;
use inference::{FamilyWire, SeatWire, StopWire, VarianceComponentsWire};
use load::{LoadWire, SlowExchangeWire};
use planning::PlanningWire;
pub use profiles::{FunctionWire, ProfileWire};
use script::{BatchWire, ScriptWire};
use stages::StagesWire;

/// The JSON Schema of analysis.json.
pub const JSON_SCHEMA: &str = include_str!("../analysis.schema.json");

/// The schema's version; it changes only when a reader of the old one would be misled.
pub const SCHEMA: u32 = 1;

/// Words the sentences that documents have beside codes. The wording belongs to the report.
pub trait Sentences {
    /// Of a reason to distrust a result.
    fn reason(&self, reason: &Reason) -> String;
    /// Of why a figure is missing.
    fn missing(&self, missing: &Missing) -> String;
    /// Of a warning about a comparison.
    fn comparison(&self, warning: &ComparisonWarning) -> String;
}

/// One analysis as JSON.
#[must_use]
pub fn to_json(analysis: &Analysis, words: &dyn Sentences) -> serde_json::Value {
    to_value(&AnalysisWire::new(analysis, words))
}

/// Several analyses as one document, as `--json` prints for several plans.
#[must_use]
pub fn several_to_json(analyses: &[Analysis], words: &dyn Sentences) -> serde_json::Value {
    serde_json::json!({
        "schema": SCHEMA,
        "runs": analyses.iter().map(|of| to_json(of, words)).collect::<Vec<_>>(),
    })
}

/// Reads the output of [`to_json`] or [`several_to_json`].
///
/// # Errors
/// When the text is not such a document.
#[cfg(any(test, feature = "read"))]
pub fn read(text: &str) -> Result<Vec<AnalysisWire>, serde_json::Error> {
    let mut document: serde_json::Value = serde_json::from_str(text)?;
    match document.get_mut("runs") {
        Some(runs) => serde_json::from_value(runs.take()),
        None => Ok(vec![serde_json::from_value(document)?]),
    }
}

fn to_value(wire: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(wire).expect("plain structs with text keys always convert")
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AnalysisWire {
    pub schema: u32,
    pub windage: String,
    pub run: String,
    pub plan: String,
    pub about: Option<String>,
    pub command: String,
    pub started: String,
    pub host: serde_json::Value,
    pub baseline: String,
    #[serde(flatten)]
    pub under_first_load: UnderLoadWire,
    pub other_loads: Vec<UnderLoadWire>,
    pub fidelity_curve: Vec<FidelityPointWire>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revisions: Option<RevisionsWire>,
    pub restored: Option<RestoredWire>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RevisionsWire {
    pub base: RevisionWire,
    pub head: RevisionWire,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RevisionWire {
    pub name: String,
    pub commit: String,
}

impl From<&Revision> for RevisionWire {
    fn from(of: &Revision) -> Self {
        RevisionWire {
            name: of.name.clone(),
            commit: of.commit.clone(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RestoredWire {
    pub service: String,
    pub failed: Option<String>,
}

impl AnalysisWire {
    /// The arm with this id, under the first load.
    #[must_use]
    pub fn arm(&self, id: &str) -> Option<&ArmWire> {
        self.under_first_load.arms.iter().find(|arm| arm.id == id)
    }
}

/// What holds under one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UnderLoadWire {
    pub regime: Option<String>,
    pub primary: String,
    pub design: DesignWire,
    pub validity: ValidityWire,
    pub own_cost: OwnCostWire,
    pub arms: Vec<ArmWire>,
    pub budgets: Vec<BudgetWire>,
    pub claims: Vec<ClaimWire>,
    pub outliers: Vec<SlowExchangeWire>,
    pub curves: Vec<CurveWire>,
    pub stages: Vec<StagesWire>,
    pub profiles: Vec<ProfileWire>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DesignWire {
    pub order: String,
    pub load: String,
    pub rate: Option<f64>,
    pub connections: u32,
    pub request: Option<String>,
    pub window_s: Option<f64>,
    pub settle_s: Option<f64>,
    pub drain_s: Option<f64>,
    pub idle_s: Option<f64>,
    pub rounds_planned: u32,
    pub rounds: u32,
    pub blocks: u32,
    pub measured_s: Option<f64>,
    pub seed: u64,
    pub margin: Option<f64>,
    pub cpu_source: String,
    pub placement: Vec<PlacedWire>,
    pub stop: Option<StopWire>,
    pub turns: Option<TurnsWire>,
    pub batch: Option<BatchWire>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TurnsWire {
    pub blocks: u32,
    pub block_s: Option<f64>,
    pub turn_s: Option<f64>,
    pub turn: u64,
    pub measured_s: Option<f64>,
    pub change_by_heaviest: Option<IntervalWire>,
    pub changeover_share: Option<IntervalWire>,
    pub changeover_us: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlacedWire {
    pub part: String,
    pub name: Option<String>,
    pub cpus: Option<Vec<u32>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OwnCostWire {
    pub generator_cores: Option<f64>,
    pub sink_cores: Option<f64>,
    pub rest_cores: Option<f64>,
    pub rss_bytes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ValidityWire {
    pub verdict: String,
    pub reasons: Vec<ReasonWire>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReasonWire {
    pub code: String,
    pub verdict: String,
    pub text: String,
    pub evidence: BTreeMap<String, EvidenceWire>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum EvidenceWire {
    Number(Option<f64>),
    Text(String),
    List(Vec<String>),
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ArmWire {
    pub id: String,
    pub name: String,
    pub levels: serde_json::Map<String, serde_json::Value>,
    pub role: String,
    pub versions: BTreeMap<String, String>,
    pub metrics: BTreeMap<String, MetricWire>,
    pub fidelity: Option<FidelityWire>,
    pub load: Option<LoadWire>,
    pub planning: Option<PlanningWire>,
    pub script: Option<ScriptWire>,
    pub agent: Option<AgentWire>,
    pub isolated_less_interleaved: Option<IntervalWire>,
    pub carry_over: Option<IntervalWire>,
    pub bill: Option<BillWire>,
    pub bystander: Option<BystanderWire>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceWire>,
    pub self_reported: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MetricWire {
    pub unit: String,
    pub direction: String,
    pub scope: ScopeWire,
    pub baseline: Option<f64>,
    pub arm: Option<f64>,
    pub difference: Option<IntervalWire>,
    pub relative: Option<IntervalWire>,
    pub exceeds_zero: Option<bool>,
    pub margin: Option<f64>,
    pub verdict: Option<String>,
    pub minimum_detectable_effect: Option<f64>,
    pub within_launch_half_width: Option<f64>,
    pub measured: Option<String>,
    pub launches_needed: Option<usize>,
    pub family: String,
    pub in_family: Option<FamilyWire>,
    pub holds_in_family: Option<bool>,
    pub endless_in_family: Option<SeatWire>,
    pub time_needed_s: Option<f64>,
    pub variance_components: Option<VarianceComponentsWire>,
    pub windows: usize,
    pub rounds: usize,
    pub validity: ValidityWire,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingWire>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ServiceWire {
    pub service: String,
    pub cpu: MetricWire,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ScopeWire {
    pub load: String,
    pub rate: Option<f64>,
    pub saturated: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct IntervalWire {
    pub estimate: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub confidence: f64,
    pub method: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MissingWire {
    pub code: String,
    pub text: String,
}

/// NaN and infinity don't exist in JSON: they become missing figures.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

impl AnalysisWire {
    fn new(a: &Analysis, words: &dyn Sentences) -> Self {
        AnalysisWire {
            schema: SCHEMA,
            windage: a.windage.clone(),
            run: a.run.clone(),
            plan: a.plan.clone(),
            about: a.about.clone(),
            command: a.command.clone(),
            started: a.started.clone(),
            host: a.host.clone(),
            baseline: a.baseline().map_or("", |b| b.id.as_str()).to_owned(),
            under_first_load: UnderLoadWire::new(a, words),
            other_loads: a
                .other_loads
                .iter()
                .map(|of| UnderLoadWire::new(of, words))
                .collect(),
            fidelity_curve: a.fidelity_curve.iter().map(Into::into).collect(),
            revisions: a.revisions.as_ref().map(|of| RevisionsWire {
                base: (&of.base).into(),
                head: (&of.head).into(),
            }),
            restored: a.restored.as_ref().map(|of| RestoredWire {
                service: of.service.clone(),
                failed: of.failed.clone(),
            }),
        }
    }
}

impl UnderLoadWire {
    fn new(a: &Analysis, words: &dyn Sentences) -> Self {
        UnderLoadWire {
            regime: a.regime.clone(),
            primary: a.primary.as_str().to_owned(),
            design: (&a.design).into(),
            validity: validity(&a.validity, words),
            own_cost: (&a.own_cost).into(),
            arms: a.arms.iter().map(|arm| arm_wire(arm, a, words)).collect(),
            budgets: a
                .arms
                .iter()
                .flat_map(|arm| {
                    let budgets = arm.budgets.iter();
                    budgets.map(move |of| BudgetWire::new(arm, of, words))
                })
                .collect(),
            claims: a
                .arms
                .iter()
                .flat_map(|arm| {
                    let claims = arm.claims.iter();
                    claims.map(move |of| ClaimWire::new(arm, of, words))
                })
                .collect(),
            outliers: a
                .outliers
                .iter()
                .map(|slow| SlowExchangeWire::new(slow, a))
                .collect(),
            curves: a.curves.iter().map(CurveWire::from).collect(),
            stages: a
                .stages
                .iter()
                .map(|of| StagesWire::new(of, words))
                .collect(),
            profiles: a.profiles.iter().map(ProfileWire::from).collect(),
        }
    }
}

impl From<&DesignFacts> for DesignWire {
    fn from(design: &DesignFacts) -> Self {
        DesignWire {
            order: design.order.as_str().to_owned(),
            load: design.load.as_str().to_owned(),
            rate: design.rate_per_s.and_then(finite),
            connections: design.connections,
            request: design.request.clone(),
            window_s: finite(design.window_s),
            settle_s: finite(design.settle_s),
            drain_s: finite(design.drain_s),
            idle_s: finite(design.idle_s),
            rounds_planned: design.rounds_planned,
            rounds: design.rounds,
            blocks: design.blocks,
            measured_s: finite(design.measured_s),
            seed: design.seed,
            margin: finite(design.margin),
            cpu_source: design.cpu_source.as_str().to_owned(),
            placement: design.placement.iter().map(Into::into).collect(),
            stop: design.stop.map(Into::into),
            turns: design.turns.as_ref().map(|turns| TurnsWire {
                blocks: turns.blocks,
                block_s: finite(turns.block_s),
                turn_s: turns.turn_s.and_then(finite),
                turn: turns.turn,
                measured_s: finite(turns.measured_s),
                change_by_heaviest: turns.change_by_heaviest.as_ref().map(Into::into),
                changeover_share: turns.changeover_share.as_ref().map(Into::into),
                changeover_us: turns.changeover_us.and_then(finite),
            }),
            batch: design.batch.as_ref().map(Into::into),
        }
    }
}

impl From<&Placed> for PlacedWire {
    fn from(placed: &Placed) -> Self {
        PlacedWire {
            part: placed.part.kind().to_owned(),
            name: placed.part.name().map(str::to_owned),
            cpus: placed.cpus.clone(),
        }
    }
}

impl From<&OwnCost> for OwnCostWire {
    fn from(own: &OwnCost) -> Self {
        OwnCostWire {
            generator_cores: finite(own.generator_cores),
            sink_cores: finite(own.sink_cores),
            rest_cores: finite(own.rest_cores),
            rss_bytes: own.rss_bytes,
        }
    }
}

fn arm_wire(arm: &ArmAnalysis, analysis: &Analysis, words: &dyn Sentences) -> ArmWire {
    ArmWire {
        id: arm.id.as_str().to_owned(),
        name: arm.name.clone(),
        levels: arm
            .levels
            .iter()
            .map(|(name, value)| (name.clone(), level_json(value)))
            .collect(),
        role: arm.role.as_str().to_owned(),
        versions: analysis.versions.clone(),
        metrics: arm
            .metrics
            .iter()
            .map(|(&metric, result)| {
                (
                    metric.as_str().to_owned(),
                    metric_wire(metric, result, analysis, words),
                )
            })
            .collect(),
        fidelity: arm.fidelity.as_ref().map(FidelityWire::from),
        load: arm.load.as_ref().map(LoadWire::from),
        planning: arm.planning.as_ref().map(PlanningWire::from),
        script: arm.script.as_ref().map(ScriptWire::from),
        agent: arm.agent.as_ref().map(|of| AgentWire::new(of, words)),
        isolated_less_interleaved: arm.isolated_less_interleaved.as_ref().map(Into::into),
        carry_over: arm.carry_over.as_ref().map(Into::into),
        bill: arm.bill.as_ref().map(BillWire::from),
        bystander: arm
            .bystander
            .as_ref()
            .map(|of| BystanderWire::new(of, words)),
        services: arm
            .services
            .iter()
            .map(|of| ServiceWire {
                service: of.service.clone(),
                cpu: metric_wire(per_request(analysis), &of.cpu, analysis, words),
            })
            .collect(),
        self_reported: arm.self_reported.clone(),
    }
}

/// The CPU metric of the load.
fn per_request(analysis: &Analysis) -> Metric {
    match analysis.design.load {
        LoadModel::Batch => Metric::CpuPerIteration,
        LoadModel::Open | LoadModel::Closed => Metric::CpuPerRequest,
    }
}

fn level_json(value: &LevelValue) -> serde_json::Value {
    match value {
        LevelValue::Number(n) => serde_json::json!(n),
        LevelValue::Text(t) => serde_json::json!(t),
    }
}

fn metric_wire(
    metric: Metric,
    result: &MetricAnalysis,
    analysis: &Analysis,
    words: &dyn Sentences,
) -> MetricWire {
    let difference = result.difference.as_ref().ok();
    MetricWire {
        unit: metric.unit().as_str().to_owned(),
        direction: metric.direction().as_str().to_owned(),
        scope: ScopeWire {
            load: analysis.design.load.as_str().to_owned(),
            rate: analysis.design.rate_per_s.and_then(finite),
            saturated: result.saturated,
        },
        baseline: result.baseline.and_then(finite),
        arm: result.arm.and_then(finite),
        difference: difference.map(|d| (&d.absolute).into()),
        relative: difference.and_then(|d| d.relative.as_ref()).map(Into::into),
        exceeds_zero: result.exceeds_zero(),
        margin: finite(analysis.design.margin),
        verdict: result.verdict.map(|verdict| verdict.as_str().to_owned()),
        minimum_detectable_effect: difference
            .and_then(|d| d.minimum_detectable_effect)
            .and_then(finite),
        within_launch_half_width: difference
            .and_then(|d| d.within_launch_half_width)
            .and_then(finite),
        measured: analysis.measured(metric).map(|of| of.as_str().to_owned()),
        launches_needed: result.inference.launches_needed,
        family: inference::family(result),
        in_family: result.inference.in_family.as_ref().map(Into::into),
        holds_in_family: result.holds_in_family(),
        endless_in_family: result.inference.endless_in.map(Into::into),
        time_needed_s: result.inference.time_needed_s.and_then(finite),
        variance_components: result
            .inference
            .variance_components
            .as_ref()
            .map(Into::into),
        windows: result.windows,
        rounds: result.rounds,
        validity: validity(&result.validity, words),
        missing: result.missing(metric).map(|why| missing(&why, words)),
    }
}

fn missing(why: &Missing, words: &dyn Sentences) -> MissingWire {
    MissingWire {
        code: why.code().as_str().to_owned(),
        text: words.missing(why),
    }
}

impl From<&Interval> for IntervalWire {
    fn from(i: &Interval) -> Self {
        IntervalWire {
            estimate: finite(i.estimate),
            low: finite(i.low),
            high: finite(i.high),
            confidence: i.confidence,
            method: i.method.as_str().to_owned(),
        }
    }
}

/// How far a result can be trusted, as JSON.
#[must_use]
pub fn validity_to_json(of: &Validity, words: &dyn Sentences) -> serde_json::Value {
    to_value(&validity(of, words))
}

fn validity(of: &Validity, words: &dyn Sentences) -> ValidityWire {
    let reason = |reason: &Reason| {
        let evidence = reason.evidence();
        let evidence = evidence.iter().map(|(name, of)| (name.clone(), of.into()));
        ReasonWire {
            code: reason.code().as_str().to_owned(),
            verdict: reason.soundness().as_str().to_owned(),
            text: words.reason(reason),
            evidence: evidence.collect(),
        }
    };
    ValidityWire {
        verdict: of.soundness().as_str().to_owned(),
        reasons: of.reasons.iter().map(reason).collect(),
    }
}

impl From<&Evidence> for EvidenceWire {
    fn from(e: &Evidence) -> Self {
        match e {
            Evidence::Number(n) => EvidenceWire::Number(finite(*n)),
            Evidence::Text(t) => EvidenceWire::Text(t.clone()),
            Evidence::List(list) => EvidenceWire::List(list.clone()),
        }
    }
}
