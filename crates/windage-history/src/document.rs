//! `analysis.json`, as far as history needs it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::Row;

#[derive(Deserialize)]
struct Document {
    windage: String,
    run: String,
    plan: String,
    started: String,
    host: Value,
    #[serde(flatten)]
    first: UnderLoad,
    #[serde(default)]
    other_loads: Vec<UnderLoad>,
    revisions: Option<Value>,
}

#[derive(Deserialize)]
struct UnderLoad {
    regime: Option<String>,
    primary: String,
    validity: Validity,
    arms: Vec<Arm>,
}

#[derive(Deserialize)]
struct Validity {
    verdict: String,
}

#[derive(Deserialize)]
struct Arm {
    id: String,
    role: String,
    #[serde(default)]
    versions: BTreeMap<String, String>,
    metrics: BTreeMap<String, Metric>,
}

#[derive(Deserialize)]
struct Metric {
    unit: String,
    relative: Option<Interval>,
    difference: Option<Interval>,
    rounds: u32,
    validity: Validity,
}

#[derive(Deserialize)]
struct Interval {
    estimate: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

/// What history keeps of a run.
pub(crate) struct OfRun {
    /// What its rows have in common.
    pub(crate) plan: String,
    pub(crate) run: String,
    pub(crate) started: String,
    pub(crate) rows: Vec<Row>,
}

/// Reads the text of an `analysis.json`. Void results are left out, and all of a run that compares two
/// revisions: its arms are compared with the base's, and a base that moves makes no course.
///
/// # Errors
/// When the text is no such document.
pub(crate) fn read(text: &str) -> Result<OfRun, serde_json::Error> {
    let document: Document = serde_json::from_str(text)?;
    let loads = std::iter::once(&document.first).chain(&document.other_loads);
    let kept = loads.filter(|load| load.validity.verdict != "void" && document.revisions.is_none());
    let rows = kept.flat_map(|load| document.under(load)).collect();
    Ok(OfRun {
        plan: document.plan,
        run: document.run,
        started: document.started,
        rows,
    })
}

impl Document {
    fn under<'a>(&'a self, load: &'a UnderLoad) -> impl Iterator<Item = Row> + 'a {
        // A control differs by chance alone, which makes no course.
        let treatments = load.arms.iter().filter(|arm| arm.role == "treatment");
        treatments.flat_map(move |arm| {
            let metrics = arm.metrics.iter();
            metrics.filter_map(move |(name, metric)| self.row(load, arm, name, metric))
        })
    }

    fn row(&self, load: &UnderLoad, arm: &Arm, name: &str, metric: &Metric) -> Option<Row> {
        let relative = metric.relative.as_ref().map(|of| ("share", of));
        let difference = metric.difference.as_ref();
        let (unit, found) = relative.or(difference.map(|of| (metric.unit.as_str(), of)))?;
        let row = Row {
            plan: self.plan.clone(),
            regime: load.regime.clone().unwrap_or_default(),
            arm: arm.id.clone(),
            metric: name.to_owned(),
            started: self.started.clone(),
            run: self.run.clone(),
            commit: arm.versions.get("commit").cloned().unwrap_or_default(),
            machine: self.machine(),
            windage: self.windage.clone(),
            unit: unit.to_owned(),
            estimate: found.estimate?,
            low: found.low.filter(|_| found.high.is_some()),
            high: found.high.filter(|_| found.low.is_some()),
            launches: metric.rounds,
            validity: match load.validity.verdict.as_str() {
                "valid" => metric.validity.verdict.clone(),
                of_run => of_run.to_owned(),
            },
            is_primary: name == load.primary,
        };
        (row.validity != "void" && row.is_sound()).then_some(row)
    }

    fn machine(&self) -> String {
        let model = self.host["cpu_model"].as_str().unwrap_or("unknown");
        match self.host["cpus_online"].as_u64() {
            Some(cores) => format!("{model}, {cores} cores"),
            None => model.to_owned(),
        }
    }
}
