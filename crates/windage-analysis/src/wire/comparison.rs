//! Two runs of one plan as `windage compare --json` prints them: a contract, like `analysis.json`.

use std::collections::BTreeMap;

use serde::Serialize;
use windage_model::{Interval, Metric, Verdict};

use super::{
    IntervalWire, MissingWire, SCHEMA, Sentences, ValidityWire, finite, missing, to_value, validity,
};
use crate::comparison::{
    Compared, ComparedArm, ComparedLoad, ComparedMetric, ComparedRun, ComparisonWarning, Differing,
    LoneArm, PlanLine, Side,
};

/// The version of this document; it changes only when a reader of the old one would be misled.
const COMPARISON: u32 = 1;

/// A comparison as JSON.
#[must_use]
pub fn comparison_to_json(compared: &Compared, words: &dyn Sentences) -> serde_json::Value {
    to_value(&ComparisonWire::new(compared, words))
}

#[derive(Serialize)]
struct ComparisonWire<'a> {
    schema: u32,
    comparison: u32,
    a: RunWire<'a>,
    b: RunWire<'a>,
    comparable: &'static str,
    warnings: Vec<ComparisonWarningWire<'a>>,
    loads: Vec<LoadWire<'a>>,
    only_in_a: &'a [String],
    only_in_b: &'a [String],
    differs: DiffersWire<'a>,
    between_runs: Option<BetweenRunsWire>,
    plan_diff: Option<Vec<LineWire<'a>>>,
}

/// The scatter of `cpu_per_request` between runs, as a share.
#[derive(Serialize)]
struct BetweenRunsWire {
    standard_deviation: f64,
    low: f64,
    high: f64,
    runs: usize,
}

#[derive(Serialize)]
struct RunWire<'a> {
    run: &'a str,
    plan: &'a str,
    started: &'a str,
    windage: &'a str,
    validity: &'static str,
}

#[derive(Serialize)]
struct ComparisonWarningWire<'a> {
    code: &'static str,
    grave: bool,
    regime: Option<&'a str>,
    text: String,
}

#[derive(Serialize)]
struct LoadWire<'a> {
    regime: Option<&'a str>,
    comparable: &'static str,
    primary: &'static str,
    margin: Option<f64>,
    arms: Vec<ArmWire<'a>>,
    only_in_a: Vec<LoneArmWire<'a>>,
    only_in_b: Vec<LoneArmWire<'a>>,
}

#[derive(Serialize)]
struct LoneArmWire<'a> {
    id: &'a str,
    name: &'a str,
}

#[derive(Serialize)]
struct ArmWire<'a> {
    id: &'a str,
    name: &'a str,
    role: &'static str,
    metrics: BTreeMap<&'static str, MetricWire>,
}

#[derive(Serialize)]
struct MetricWire {
    unit: &'static str,
    direction: &'static str,
    a: SideWire,
    b: SideWire,
    change: Option<ChangeWire>,
    margin: Option<f64>,
    verdict: Option<&'static str>,
    holds_in_family: Option<bool>,
    in_family: Option<FamilyWire>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<MissingWire>,
}

#[derive(Serialize)]
struct SideWire {
    baseline: Option<f64>,
    arm: Option<f64>,
    difference: Option<IntervalWire>,
    relative: Option<IntervalWire>,
    verdict: Option<&'static str>,
    validity: ValidityWire,
}

#[derive(Serialize)]
struct ChangeWire {
    relative: Option<IntervalWire>,
    absolute: IntervalWire,
}

#[derive(Serialize)]
struct FamilyWire {
    name: &'static str,
    comparisons: usize,
    interval: IntervalWire,
    verdict: &'static str,
}

#[derive(Serialize)]
struct DiffersWire<'a> {
    host: Vec<DifferingWire<'a>>,
    versions: Vec<DifferingWire<'a>>,
    design: Vec<DifferingWire<'a>>,
}

#[derive(Serialize)]
struct DifferingWire<'a> {
    key: &'a str,
    a: Option<&'a str>,
    b: Option<&'a str>,
}

#[derive(Serialize)]
struct LineWire<'a> {
    tag: &'static str,
    text: &'a str,
}

fn wires<'a, T, W: From<&'a T>>(of: &'a [T]) -> Vec<W> {
    of.iter().map(W::from).collect()
}

impl<'a> ComparisonWire<'a> {
    fn new(compared: &'a Compared, words: &dyn Sentences) -> Self {
        let of = &compared.comparison;
        ComparisonWire {
            schema: SCHEMA,
            comparison: COMPARISON,
            a: (&of.a).into(),
            b: (&of.b).into(),
            comparable: of.comparable().as_str(),
            warnings: of.warnings.iter().map(|of| warning(of, words)).collect(),
            loads: of.loads.iter().map(|of| load_wire(of, words)).collect(),
            only_in_a: &of.only_in_a,
            only_in_b: &of.only_in_b,
            between_runs: of.between_runs.map(|of| BetweenRunsWire {
                standard_deviation: of.standard_deviation,
                low: of.low,
                high: of.high,
                runs: of.runs,
            }),
            differs: DiffersWire {
                host: wires(&of.differs.host),
                versions: wires(&of.differs.versions),
                design: wires(&of.differs.design),
            },
            plan_diff: compared.plan_diff.as_deref().map(wires),
        }
    }
}

impl<'a> From<&'a ComparedRun> for RunWire<'a> {
    fn from(run: &'a ComparedRun) -> Self {
        RunWire {
            run: &run.run,
            plan: &run.plan,
            started: &run.started,
            windage: &run.windage,
            validity: run.validity.as_str(),
        }
    }
}

fn warning<'a>(of: &'a ComparisonWarning, words: &dyn Sentences) -> ComparisonWarningWire<'a> {
    ComparisonWarningWire {
        code: of.code.as_str(),
        grave: of.code.is_grave(),
        regime: of.regime.as_deref(),
        text: words.comparison(of),
    }
}

fn load_wire<'a>(load: &'a ComparedLoad, words: &dyn Sentences) -> LoadWire<'a> {
    let arms = load.arms.iter();
    LoadWire {
        regime: load.regime.as_deref(),
        comparable: load.comparable.as_str(),
        primary: load.primary.as_str(),
        margin: finite(load.margin),
        arms: arms.map(|arm| arm_wire(arm, load, words)).collect(),
        only_in_a: wires(&load.only_in_a),
        only_in_b: wires(&load.only_in_b),
    }
}

impl<'a> From<&'a LoneArm> for LoneArmWire<'a> {
    fn from(arm: &'a LoneArm) -> Self {
        LoneArmWire {
            id: arm.id.as_str(),
            name: &arm.name,
        }
    }
}

fn arm_wire<'a>(arm: &'a ComparedArm, load: &ComparedLoad, words: &dyn Sentences) -> ArmWire<'a> {
    let metric = |(&metric, of): (&Metric, &'a ComparedMetric)| {
        (metric.as_str(), metric_wire(metric, of, load.margin, words))
    };
    ArmWire {
        id: arm.id.as_str(),
        name: &arm.name,
        role: arm.role.as_str(),
        metrics: arm.metrics.iter().map(metric).collect(),
    }
}

fn metric_wire(
    metric: Metric,
    of: &ComparedMetric,
    margin: f64,
    words: &dyn Sentences,
) -> MetricWire {
    MetricWire {
        unit: metric.unit().as_str(),
        direction: metric.direction().as_str(),
        a: side_wire(&of.a, words),
        b: side_wire(&of.b, words),
        change: of.change.as_ref().ok().map(|change| ChangeWire {
            relative: change.relative.as_ref().map(Into::into),
            absolute: (&change.absolute).into(),
        }),
        margin: finite(margin),
        verdict: of.verdict.map(|verdict| verdict.as_str()),
        holds_in_family: of.holds_in_family(),
        in_family: of.in_family.as_ref().map(|family| FamilyWire {
            name: family.family.as_str(),
            comparisons: family.comparisons,
            interval: (&family.interval).into(),
            verdict: family.verdict.as_str(),
        }),
        missing: of.change.as_ref().err().map(|why| missing(why, words)),
    }
}

fn side_wire(side: &Side, words: &dyn Sentences) -> SideWire {
    let interval = |of: &Option<Interval>| of.as_ref().map(Into::into);
    SideWire {
        baseline: side.baseline.and_then(finite),
        arm: side.arm.and_then(finite),
        difference: interval(&side.difference),
        relative: interval(&side.relative),
        verdict: side.verdict.map(Verdict::as_str),
        validity: validity(&side.validity, words),
    }
}

impl<'a> From<&'a Differing> for DifferingWire<'a> {
    fn from(of: &'a Differing) -> Self {
        DifferingWire {
            key: &of.key,
            a: of.a.as_deref(),
            b: of.b.as_deref(),
        }
    }
}

impl<'a> From<&'a PlanLine> for LineWire<'a> {
    fn from(line: &'a PlanLine) -> Self {
        LineWire {
            tag: line.tag.as_str(),
            text: &line.text,
        }
    }
}
