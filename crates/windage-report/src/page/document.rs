//! The page document: what the page shows of a run, worded and rounded here so that the page can't
//! disagree with the terminal. `web/src/document.ts` reads it.

use serde::Serialize;
use windage_analysis::{Analysis, Detail, Detailed, RunState, wire};
use windage_model::{LoadModel, Soundness};

use super::bill::{BillWire, bill};
use super::curves::CurveWords;
use super::flames::{FlameGraphWire, flame_graphs_of};
use super::forest::{ForestWire, at_a_glance, forests};
use super::latency::LatencyWire;
use super::scatter::{VarianceComponentsWire, scatter};
use super::series::SeriesWire;
use super::services::services;
use super::telemetry::{ByRateWire, DeliveryWire, by_rate, deliveries};
use super::validity::ValidityWire;
use crate::fact::{Fact, one_line};
use crate::facts;
use crate::pieces::Piece;
use crate::rows::{self, NOTHING_MEASURED, Table, unique_names};
use crate::sentences;
use crate::summary;

/// The version of the document; raised when an older page would misread it.
const PAGE: u32 = 1;

/// The input of a page.
#[derive(Clone, Copy, Debug)]
pub struct PageSource<'a> {
    /// The run's analysis, with the data of pictures.
    pub detailed: &'a Detailed,
    /// The name of the run directory, without its path.
    pub directory: &'a str,
}

/// One run.
#[derive(Serialize)]
pub(super) struct PageDocument {
    page: u32,
    directory: String,
    state: &'static str,
    /// A notice about a run that is in progress or was interrupted.
    state_text: Option<&'static str>,
    plan: String,
    about: Option<String>,
    analysis: serde_json::Value,
    header: Vec<Fact>,
    loads: Vec<LoadWire>,
    by_rate: Option<Table>,
    rates: ByRateWire,
    own_cost: Vec<Fact>,
    commands: Vec<Fact>,
    provenance: Vec<Fact>,
    host: Vec<Fact>,
}

/// The results under one load.
#[derive(Serialize)]
struct LoadWire {
    /// Its name and description; `None` if there is only one.
    name: Option<String>,
    load: Option<String>,
    answer: Vec<Vec<Piece>>,
    facts: Vec<Fact>,
    tables: Vec<Table>,
    legend: Option<String>,
    validity: ValidityWire,
    /// The pictures that are missing.
    absent: Option<String>,
    arms: Vec<ArmWire>,
    forests: Vec<ForestWire>,
    /// Metrics whose forest plots come first.
    glance: Vec<&'static str>,
    curves: Vec<CurveWords>,
    bill: Option<BillWire>,
    services: Option<BillWire>,
    deliveries: Vec<DeliveryWire>,
    series: Option<SeriesWire>,
    latency: Vec<LatencyWire>,
    scatter: Option<VarianceComponentsWire>,
    flame_graphs: Vec<FlameGraphWire>,
}

/// An arm as named in pictures.
#[derive(Serialize)]
struct ArmWire {
    id: String,
    name: String,
    role: &'static str,
}

impl PageDocument {
    pub(super) fn of(source: PageSource<'_>) -> PageDocument {
        let analysis = &source.detailed.analysis;
        let state = source.detailed.state;
        let details = source.detailed.loads.iter();
        let loads = analysis.regimes().zip(details);
        PageDocument {
            page: PAGE,
            directory: one_line(source.directory),
            state: state.as_str(),
            state_text: match state {
                RunState::Ended => None,
                RunState::GoingOn => {
                    Some("This run is still going on: the figures are preliminary.")
                }
                RunState::BrokenOff => Some(
                    "This run was interrupted before its end: the page shows what it measured \
                     until then.",
                ),
            },
            plan: one_line(&analysis.plan),
            about: analysis.about.as_deref().map(one_line),
            analysis: wire::to_json(analysis, &sentences::Words),
            header: facts::header(analysis),
            loads: loads
                .map(|(load, detail)| LoadWire::of(analysis, state, load, detail))
                .collect(),
            by_rate: rows::by_rate_table(analysis),
            rates: by_rate(analysis),
            own_cost: vec![facts::own_cost(analysis)],
            commands: facts::commands(analysis).into(),
            provenance: facts::provenance(analysis),
            host: facts::host(analysis),
        }
    }
}

impl LoadWire {
    /// The results under one load.
    fn of(run: &Analysis, state: RunState, load: &Analysis, detail: &Detail) -> LoadWire {
        let is_one_of_several = !run.other_loads.is_empty();
        let tables = rows::tables(load);
        let legend = rows::legend(load, &tables.iter().collect::<Vec<_>>());
        let nothing = tables.is_empty().then(|| NOTHING_MEASURED.to_owned());
        let forests = forests(load);
        let names = unique_names(load.arms.iter().map(|arm| (&arm.id, arm.name.as_str())));
        let arms = load.arms.iter().zip(names).map(|(arm, name)| ArmWire {
            id: arm.id.to_string(),
            name,
            role: arm.role.as_str(),
        });
        let latency = detail.latency.iter();
        let series = detail.series.as_ref();
        LoadWire {
            name: is_one_of_several.then(|| facts::regime_name(load)),
            load: is_one_of_several.then(|| facts::load(load)),
            answer: summary::sentences(load),
            // With one load, the header has them.
            facts: if is_one_of_several {
                facts::of_regime(load)
            } else {
                Vec::new()
            },
            tables,
            legend: legend.or(nothing),
            validity: ValidityWire::of(load),
            absent: absent(state, load, detail, !forests.is_empty()),
            arms: arms.collect(),
            glance: at_a_glance(load, &forests),
            forests,
            curves: load
                .curves
                .iter()
                .map(|curve| CurveWords::of(load, curve))
                .collect(),
            bill: bill(load),
            services: services(load),
            deliveries: deliveries(load),
            series: series.map(|series| SeriesWire::of(load, series)),
            latency: latency.map(|of| LatencyWire::of(load, of)).collect(),
            scatter: scatter(load),
            flame_graphs: flame_graphs_of(load),
        }
    }
}

/// The pictures that a complete run under this load would have, and that are missing because the
/// run was interrupted or is void.
fn absent(state: RunState, load: &Analysis, detail: &Detail, has_forests: bool) -> Option<String> {
    if state == RunState::Ended && load.validity.soundness() != Soundness::Void {
        return None;
    }
    let is_batch = load.design.load == LoadModel::Batch;
    let all = [
        ("overhead by arm", has_forests),
        (
            "latency by percentile",
            is_batch || !detail.latency.is_empty(),
        ),
        (
            "the bill",
            is_batch || load.arms.iter().any(|arm| arm.bill.is_some()),
        ),
        ("the run over time", detail.series.is_some()),
    ];
    let absent = all.into_iter().filter(|(_, is_there)| !is_there);
    let absent: Vec<&str> = absent.map(|(name, _)| name).collect();
    let absent = absent.join(", ");
    (!absent.is_empty())
        .then(|| format!("Not on this page because there is no or too little data: {absent}."))
}
