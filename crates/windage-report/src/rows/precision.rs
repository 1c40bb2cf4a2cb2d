//! The table of the primary metric's precision, by treatment.

use windage_analysis::{Advice, Analysis, MetricAnalysis, VarianceComponents};
use windage_model::{Metric, Verdict};

use super::{Align, Cell, Column, Row, Table, Tone, column, family, nothing, plain};
use crate::fact::one_line;
use crate::precision;
use crate::{duration, number};

/// One column: what it says of a treatment; `None` where there is nothing to say.
struct Aspect {
    heading: &'static str,
    about: &'static str,
    align: Align,
    cell: fn(Metric, &MetricAnalysis) -> Option<Cell>,
}

const ASPECTS: &[Aspect] = &[
    Aspect {
        heading: "adjusted interval",
        about: "Bonferroni-adjusted for all treatments",
        align: Align::Right,
        cell: in_its_family,
    },
    Aspect {
        heading: "adjusted verdict",
        about: "Verdict by the adjusted interval",
        align: Align::Left,
        cell: |_, result| verdict(result),
    },
    Aspect {
        heading: "detectable",
        about: "Minimum detectable effect of a run like this, with 80 % power",
        align: Align::Right,
        cell: |_, result| visible(result),
    },
    Aspect {
        heading: "needed",
        about: "What a verdict needs: as many launches as keep the interval's coverage, or a longer \
                run if estimate and scatter stay the same",
        align: Align::Right,
        cell: |_, result| to_settle(result),
    },
    Aspect {
        heading: "launches",
        about: "Standard deviation between launches, beyond what blocks explain",
        align: Align::Right,
        cell: |_, result| share(scatter(result)?.launch_sd?),
    },
    Aspect {
        heading: "blocks",
        about: "Standard deviation between blocks, beyond what windows explain where that is known",
        align: Align::Right,
        cell: |_, result| share(scatter(result)?.block_sd),
    },
    Aspect {
        heading: "windows",
        about: "Standard deviation of a block's value that comes from its windows",
        align: Align::Right,
        cell: |_, result| share(scatter(result)?.window_sd?),
    },
    Aspect {
        heading: "longer run",
        about: "What would narrow the interval most per measuring time",
        align: Align::Left,
        cell: |_, result| Some(plain(advice(scatter(result)?.advice?))),
    },
];

/// The precision of the primary metric; `None` if hardly anything is known.
pub(super) fn firm_table(analysis: &Analysis) -> Option<Table> {
    let treatments: Vec<_> = precision::treatments(analysis).collect();
    let mut columns = Vec::new();
    let mut rows: Vec<Row> = treatments
        .iter()
        .map(|(arm, _)| Row {
            arm: one_line(&arm.name),
            cells: Vec::new(),
        })
        .collect();
    for aspect in ASPECTS {
        let cells: Vec<_> = treatments
            .iter()
            .map(|(_, result)| (aspect.cell)(analysis.primary, result))
            .collect();
        if cells.iter().all(Option::is_none) {
            continue;
        }
        columns.push(Column {
            align: aspect.align,
            ..column(aspect.heading, aspect.about)
        });
        for (row, cell) in rows.iter_mut().zip(cells) {
            row.cells.push(cell.unwrap_or_else(nothing));
        }
    }
    // A single column adds nothing to the line below the primary table.
    (columns.len() > 1).then(|| Table {
        title: format!("Precision: {}", analysis.primary.label()),
        columns,
        rows,
        separable: true,
        detail: true,
        ..Table::default()
    })
}

fn scatter(result: &MetricAnalysis) -> Option<&VarianceComponents> {
    result.inference.variance_components.as_ref()
}

fn share(share: f64) -> Option<Cell> {
    let written = || Cell::figure(number::percent_two(share), share);
    share.is_finite().then(written)
}

fn in_its_family(metric: Metric, result: &MetricAnalysis) -> Option<Cell> {
    let written = family::interval(metric, result)?;
    let of = result.inference.in_family.as_ref()?;
    Some(Cell::figure(written, of.interval.estimate))
}

/// Only in a family of several comparisons; otherwise it is the verdict itself.
fn verdict(result: &MetricAnalysis) -> Option<Cell> {
    let of = result.inference.in_family.as_ref()?;
    let verdict = of.verdict.filter(|_| of.comparisons > 1)?;
    Some(Cell {
        tone: Tone::Judged(verdict),
        ..plain(verdict.as_str())
    })
}

fn to_settle(result: &MetricAnalysis) -> Option<Cell> {
    if let Some(needed) = result.inference.launches_needed {
        return Some(Cell::figure(format!("{needed} launches"), needed as f64));
    }
    match result.inference.time_needed_s {
        Some(time_needed_s) => Some(Cell::figure(duration::more(time_needed_s), time_needed_s)),
        None if result.verdict == Some(Verdict::Inconclusive) => Some(plain("no reasonable time")),
        None => None,
    }
}

fn visible(result: &MetricAnalysis) -> Option<Cell> {
    let smallest = result.difference.as_ref().ok()?.minimum_detectable_effect?;
    let written = || Cell::figure(number::percent_bound(smallest), smallest);
    smallest.is_finite().then(written)
}

/// Short, for a column; the line below the primary table has the sentence.
fn advice(advice: Advice) -> String {
    match advice {
        Advice::MoreRounds { blocks_per_round } => {
            format!("more rounds, about {blocks_per_round} blocks each")
        }
        Advice::MoreBlocks { blocks_per_round } => match blocks_per_round {
            Some(blocks) => format!("more blocks, about {blocks} per round"),
            None => "more blocks".to_owned(),
        },
        Advice::Balanced => "more rounds like these".to_owned(),
        Advice::LaunchesUnknown => "a second round".to_owned(),
    }
}
