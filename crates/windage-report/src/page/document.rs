//! The document: what the page shows of a run, worded and rounded here so that the page can't
//! disagree with the terminal. `web/src/document.ts` is its other end.

use serde::Serialize;
use windage_analysis::{Analysis, Detail, wire};

use super::PageSource;
use super::drawn::{LatencyWire, SeriesWire};
use super::flames::{FlameGraphWire, flame_graphs_of};
use super::view::{FactWire, PieceWire, TableWire, ValidityWire, each};
use super::words::WordsWire;
use crate::facts::{self, one_line};
use crate::{rows, summary};

/// The version of the document; it changes when an older page would misunderstand it.
const PAGE: u32 = 1;

/// One run.
#[derive(Serialize)]
pub(super) struct PageDocument {
    page: u32,
    directory: String,
    state: &'static str,
    analysis: serde_json::Value,
    header: Vec<FactWire>,
    loads: Vec<LoadWire>,
    by_rate: Option<TableWire>,
    own_cost: Vec<FactWire>,
    provenance: Vec<FactWire>,
}

/// What was found under one load.
#[derive(Serialize)]
struct LoadWire {
    heading: Option<String>,
    answer: Vec<Vec<PieceWire>>,
    facts: Vec<FactWire>,
    tables: Vec<TableWire>,
    legend: Option<String>,
    validity: ValidityWire,
    series: Option<SeriesWire>,
    latency: Vec<LatencyWire>,
    flame_graphs: Vec<FlameGraphWire>,
    words: WordsWire,
}

impl PageDocument {
    pub(super) fn of(source: PageSource<'_>) -> PageDocument {
        let analysis = &source.detailed.analysis;
        let details = source.detailed.loads.iter();
        let loads = analysis.regimes().zip(details);
        PageDocument {
            page: PAGE,
            directory: one_line(source.directory),
            state: source.detailed.state.as_str(),
            analysis: wire::to_json(analysis),
            header: each(facts::header(analysis)),
            loads: loads
                .map(|(load, detail)| LoadWire::of(analysis, load, detail))
                .collect(),
            by_rate: rows::by_rate_table(analysis).map(TableWire::from),
            own_cost: vec![facts::own_cost(analysis).into()],
            provenance: each(facts::provenance(analysis)),
        }
    }
}

impl LoadWire {
    /// Of one load of a run.
    fn of(run: &Analysis, load: &Analysis, detail: &Detail) -> LoadWire {
        let is_one_of_several = !run.further.is_empty();
        let tables = rows::tables(load);
        let legend = rows::legend(load, &tables.iter().collect::<Vec<_>>());
        LoadWire {
            heading: is_one_of_several.then(|| facts::regime(load)),
            answer: summary::sentences(load).into_iter().map(each).collect(),
            // A run under one load has them in its header.
            facts: if is_one_of_several {
                each(facts::of_regime(load))
            } else {
                Vec::new()
            },
            tables: each(tables),
            legend,
            validity: ValidityWire::of(load),
            series: detail
                .series
                .as_ref()
                .map(|series| SeriesWire::of(load, series)),
            latency: detail
                .latency
                .iter()
                .map(|of| LatencyWire::of(load, of))
                .collect(),
            flame_graphs: flame_graphs_of(load),
            words: WordsWire::of(load),
        }
    }
}
