//! `analysis.json`: a contract with other programs, changed by addition only.
//!
//! Absent figures are `null` with a `missing` object beside them; there is no NaN and no infinity.

mod agents;
mod bill;
mod comparison;
mod curve;
mod fidelity;
mod inference;
mod load;
mod planning;
mod profiles;
mod script;
mod stages;

use std::collections::BTreeMap;

use serde::Serialize;
use windage_model::{Doubt, Evidence, Interval, LevelValue, Metric, Validity};
use windage_record::Placed;

use crate::{Analysis, ArmAnalysis, DesignFacts, MetricAnalysis, Missing, MissingCode, OwnCost};
pub use comparison::comparison_to_json;

use agents::AgentWire;
use bill::{BillWire, BystanderWire, FidelityPointWire};
use curve::CurveWire;
use fidelity::FidelityWire;
use inference::{FamilyWire, ScatterWire, SeatWire, StopWire};
use load::{LoadWire, SlowExchangeWire};
use planning::PlanningWire;
use profiles::ProfileWire;
use script::{BatchWire, ScriptWire};
use stages::StagesWire;

/// The schema's number; it changes only when a reader of the old one would be misled.
pub const SCHEMA: u32 = 1;

/// One analysis as JSON.
#[must_use]
pub fn to_json(analysis: &Analysis) -> serde_json::Value {
    to_value(&AnalysisWire::from(analysis))
}

/// Several analyses as the one document that `--json` prints for several plans.
#[must_use]
pub fn several_to_json(analyses: &[Analysis]) -> serde_json::Value {
    serde_json::json!({
        "schema": SCHEMA,
        "runs": analyses.iter().map(to_json).collect::<Vec<_>>(),
    })
}

fn to_value(wire: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(wire).expect("plain structs with text keys always convert")
}

#[derive(Serialize)]
struct AnalysisWire<'a> {
    schema: u32,
    windage: &'a str,
    run: &'a str,
    plan: &'a str,
    about: Option<&'a str>,
    command: &'a str,
    started: &'a str,
    host: &'a serde_json::Value,
    baseline: &'a str,
    #[serde(flatten)]
    under_first_load: UnderLoadWire<'a>,
    further: Vec<UnderLoadWire<'a>>,
    fidelity_curve: Vec<FidelityPointWire<'a>>,
}

/// What holds under one load.
#[derive(Serialize)]
struct UnderLoadWire<'a> {
    regime: Option<&'a str>,
    primary: &'static str,
    design: DesignWire<'a>,
    validity: ValidityWire<'a>,
    own_cost: OwnCostWire,
    arms: Vec<ArmWire<'a>>,
    outliers: Vec<SlowExchangeWire<'a>>,
    curves: Vec<CurveWire<'a>>,
    stages: Vec<StagesWire<'a>>,
    profiles: Vec<ProfileWire<'a>>,
}

#[derive(Serialize)]
struct DesignWire<'a> {
    order: &'static str,
    load: &'static str,
    rate: Option<f64>,
    connections: u32,
    request: Option<&'a str>,
    window_s: Option<f64>,
    settle_s: Option<f64>,
    drain_s: Option<f64>,
    idle_s: Option<f64>,
    rounds_planned: u32,
    rounds: u32,
    blocks: u32,
    measured_s: Option<f64>,
    seed: u64,
    interest: Option<f64>,
    cpu_source: &'static str,
    placement: Vec<PlacedWire<'a>>,
    stop: Option<StopWire>,
    batch: Option<BatchWire>,
}

#[derive(Serialize)]
struct PlacedWire<'a> {
    part: &'static str,
    name: Option<&'a str>,
    cpus: Option<&'a [u32]>,
}

#[derive(Serialize)]
struct OwnCostWire {
    generator_cores: Option<f64>,
    sink_cores: Option<f64>,
    rest_cores: Option<f64>,
    rss_bytes: Option<u64>,
}

#[derive(Serialize)]
struct ValidityWire<'a> {
    verdict: &'static str,
    reasons: Vec<ReasonWire<'a>>,
}

#[derive(Serialize)]
struct ReasonWire<'a> {
    code: &'static str,
    text: &'a str,
    evidence: BTreeMap<&'a str, EvidenceWire<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum EvidenceWire<'a> {
    Number(Option<f64>),
    Text(&'a str),
}

#[derive(Serialize)]
struct ArmWire<'a> {
    id: &'a str,
    name: &'a str,
    levels: serde_json::Map<String, serde_json::Value>,
    role: &'static str,
    versions: &'a BTreeMap<String, String>,
    metrics: BTreeMap<&'static str, MetricWire<'a>>,
    fidelity: Option<FidelityWire<'a>>,
    load: Option<LoadWire>,
    planning: Option<PlanningWire>,
    script: Option<ScriptWire>,
    agent: Option<AgentWire<'a>>,
    bill: Option<BillWire>,
    bystander: Option<BystanderWire<'a>>,
    said: &'a BTreeMap<String, String>,
}

#[derive(Serialize)]
struct MetricWire<'a> {
    unit: &'static str,
    direction: &'static str,
    scope: ScopeWire,
    baseline: Option<f64>,
    arm: Option<f64>,
    difference: Option<IntervalWire>,
    relative: Option<IntervalWire>,
    exceeds_nil: Option<bool>,
    interest: Option<f64>,
    verdict: Option<&'static str>,
    smallest_visible: Option<f64>,
    within_launch_half_width: Option<f64>,
    family: String,
    in_family: Option<FamilyWire>,
    holds_in_family: Option<bool>,
    endless_in_family: Option<SeatWire>,
    needs_s: Option<f64>,
    scatter: Option<ScatterWire>,
    windows: usize,
    rounds: usize,
    validity: ValidityWire<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<MissingWire<'a>>,
}

#[derive(Serialize)]
struct ScopeWire {
    load: &'static str,
    rate: Option<f64>,
    saturated: bool,
}

#[derive(Serialize)]
struct IntervalWire {
    estimate: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    confidence: f64,
    method: String,
}

#[derive(Serialize)]
struct MissingWire<'a> {
    code: &'static str,
    text: &'a str,
}

/// NaN and infinity have no place in JSON: they are absent figures.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

impl<'a> From<&'a Analysis> for AnalysisWire<'a> {
    fn from(a: &'a Analysis) -> Self {
        AnalysisWire {
            schema: SCHEMA,
            windage: &a.windage,
            run: &a.run,
            plan: &a.plan,
            about: a.about.as_deref(),
            command: &a.command,
            started: &a.started,
            host: &a.host,
            baseline: a.baseline().map_or("", |b| b.id.as_str()),
            under_first_load: a.into(),
            further: a.further.iter().map(Into::into).collect(),
            fidelity_curve: a.fidelity_curve.iter().map(Into::into).collect(),
        }
    }
}

impl<'a> From<&'a Analysis> for UnderLoadWire<'a> {
    fn from(a: &'a Analysis) -> Self {
        UnderLoadWire {
            regime: a.regime.as_deref(),
            primary: a.primary.as_str(),
            design: (&a.design).into(),
            validity: (&a.validity).into(),
            own_cost: (&a.own_cost).into(),
            arms: a.arms.iter().map(|arm| arm_wire(arm, a)).collect(),
            outliers: a
                .outliers
                .iter()
                .map(|slow| SlowExchangeWire::new(slow, a))
                .collect(),
            curves: a.curves.iter().map(CurveWire::from).collect(),
            stages: a.stages.iter().map(StagesWire::from).collect(),
            profiles: a.profiles.iter().map(ProfileWire::from).collect(),
        }
    }
}

impl<'a> From<&'a DesignFacts> for DesignWire<'a> {
    fn from(design: &'a DesignFacts) -> Self {
        DesignWire {
            order: design.order.as_str(),
            load: design.load.as_str(),
            rate: design.rate_per_s.and_then(finite),
            connections: design.connections,
            request: design.request.as_deref(),
            window_s: finite(design.window_s),
            settle_s: finite(design.settle_s),
            drain_s: finite(design.drain_s),
            idle_s: finite(design.idle_s),
            rounds_planned: design.rounds_planned,
            rounds: design.rounds,
            blocks: design.blocks,
            measured_s: finite(design.measured_s),
            seed: design.seed,
            interest: finite(design.interest),
            cpu_source: design.cpu_source.as_str(),
            placement: design.placement.iter().map(Into::into).collect(),
            stop: design.stop.map(Into::into),
            batch: design.batch.as_ref().map(Into::into),
        }
    }
}

impl<'a> From<&'a Placed> for PlacedWire<'a> {
    fn from(placed: &'a Placed) -> Self {
        PlacedWire {
            part: placed.part.kind(),
            name: placed.part.name(),
            cpus: placed.cpus.as_deref(),
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

fn arm_wire<'a>(arm: &'a ArmAnalysis, analysis: &'a Analysis) -> ArmWire<'a> {
    ArmWire {
        id: arm.id.as_str(),
        name: &arm.name,
        levels: arm
            .levels
            .iter()
            .map(|(name, value)| (name.clone(), level_json(value)))
            .collect(),
        role: arm.role.as_str(),
        versions: &analysis.versions,
        metrics: arm
            .metrics
            .iter()
            .map(|(&metric, result)| (metric.as_str(), metric_wire(metric, result, analysis)))
            .collect(),
        fidelity: arm.fidelity.as_ref().map(FidelityWire::from),
        load: arm.load.as_ref().map(LoadWire::from),
        planning: arm.planning.as_ref().map(PlanningWire::from),
        script: arm.script.as_ref().map(ScriptWire::from),
        agent: arm.agent.as_ref().map(AgentWire::from),
        bill: arm.bill.as_ref().map(BillWire::from),
        bystander: arm.bystander.as_ref().map(BystanderWire::from),
        said: &arm.said,
    }
}

fn level_json(value: &LevelValue) -> serde_json::Value {
    match value {
        LevelValue::Number(n) => serde_json::json!(n),
        LevelValue::Text(t) => serde_json::json!(t),
    }
}

fn metric_wire<'a>(
    metric: Metric,
    result: &'a MetricAnalysis,
    analysis: &Analysis,
) -> MetricWire<'a> {
    let difference = result.difference.as_ref().ok();
    MetricWire {
        unit: metric.unit().as_str(),
        direction: metric.direction().as_str(),
        scope: ScopeWire {
            load: analysis.design.load.as_str(),
            rate: analysis.design.rate_per_s.and_then(finite),
            saturated: result.saturated,
        },
        baseline: result.baseline.and_then(finite),
        arm: result.arm.and_then(finite),
        difference: difference.map(|d| (&d.absolute).into()),
        relative: difference.and_then(|d| d.relative.as_ref()).map(Into::into),
        exceeds_nil: result.exceeds_nil(),
        interest: finite(analysis.design.interest),
        verdict: result.verdict.map(windage_model::Verdict::as_str),
        smallest_visible: difference.and_then(|d| d.smallest_visible).and_then(finite),
        within_launch_half_width: difference
            .and_then(|d| d.within_launch_half_width)
            .and_then(finite),
        family: inference::family(result),
        in_family: result.inference.in_family.as_ref().map(Into::into),
        holds_in_family: result.holds_in_family(),
        endless_in_family: result.inference.endless_in.map(Into::into),
        needs_s: result.inference.needs_s.and_then(finite),
        scatter: result.inference.scatter.as_ref().map(Into::into),
        windows: result.windows,
        rounds: result.rounds,
        validity: (&result.validity).into(),
        missing: missing(metric, result),
    }
}

fn missing(metric: Metric, result: &MetricAnalysis) -> Option<MissingWire<'_>> {
    match &result.difference {
        Err(missing) => Some(missing.into()),
        Ok(difference) if difference.relative.is_none() => Some(MissingWire {
            code: MissingCode::BaselineNil.as_str(),
            text: match metric {
                Metric::CpuPerSpan => {
                    "The cost of a span is that of an arm beyond the baseline, which has none."
                }
                Metric::CpuPerEvent => {
                    "The cost of an event is that of an arm beyond the baseline, which has none."
                }
                _ => "The baseline is or may be nil, so that there is a difference and no ratio.",
            },
        }),
        Ok(_) => None,
    }
}

impl<'a> From<&'a Missing> for MissingWire<'a> {
    fn from(missing: &'a Missing) -> Self {
        MissingWire {
            code: missing.code.as_str(),
            text: &missing.text,
        }
    }
}

impl From<&Interval> for IntervalWire {
    fn from(i: &Interval) -> Self {
        IntervalWire {
            estimate: finite(i.estimate),
            low: finite(i.low),
            high: finite(i.high),
            confidence: i.confidence,
            method: i.method.clone(),
        }
    }
}

impl<'a> From<&'a Validity> for ValidityWire<'a> {
    fn from(v: &'a Validity) -> Self {
        ValidityWire {
            verdict: v.soundness().as_str(),
            reasons: v.reasons.iter().map(ReasonWire::from).collect(),
        }
    }
}

impl<'a> From<&'a Doubt> for ReasonWire<'a> {
    fn from(d: &'a Doubt) -> Self {
        ReasonWire {
            code: d.code.as_str(),
            text: &d.text,
            evidence: d
                .evidence
                .iter()
                .map(|(name, value)| (name.as_str(), value.into()))
                .collect(),
        }
    }
}

impl<'a> From<&'a Evidence> for EvidenceWire<'a> {
    fn from(e: &'a Evidence) -> Self {
        match e {
            Evidence::Number(n) => EvidenceWire::Number(finite(*n)),
            Evidence::Text(t) => EvidenceWire::Text(t),
        }
    }
}
