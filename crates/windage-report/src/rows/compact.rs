//! The tables of one cell for each metric: the baseline's value, the others' difference.

use windage_analysis::{Analysis, ArmAnalysis, MetricAnalysis, MissingCode};
use windage_model::{Difference, LoadModel, Metric, Verdict};

use super::script::whole_process;
use super::{
    Cell, INCONCLUSIVE, NEGLIGIBLE, NOT_FINITE, NOT_FOR_ARM, Notes, Row, Table, Tone, basis,
    column, family, has_figures, name, plain, results, value, value_scale,
};
use crate::facts::one_line;
use crate::number::{self, NOT_AVAILABLE, Scale};

/// How a column states differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// In percent of the baseline, where there is a ratio.
    Relative,
    /// In the metric's unit: parts of a sum, or metrics whose baseline is nil by nature.
    Absolute,
}

pub(crate) struct Group {
    pub(crate) title: &'static str,
    pub(crate) metrics: &'static [(Metric, Shown)],
    pub(crate) detail: bool,
}

const fn group(title: &'static str, metrics: &'static [(Metric, Shown)]) -> Group {
    Group {
        title,
        metrics,
        detail: false,
    }
}

const fn detail(title: &'static str, metrics: &'static [(Metric, Shown)]) -> Group {
    Group {
        title,
        metrics,
        detail: true,
    }
}

/// Every metric has its place here, or in the tables about agents; a test holds it to that.
pub(crate) const GROUPS: &[Group] = {
    use Metric::*;
    use Shown::{Absolute, Relative};
    &[
        group(
            "CPU",
            &[(CpuPerRequest, Relative), (CpuPerIteration, Relative)],
        ),
        group(
            "CPU, of which",
            &[(CpuInWindow, Absolute), (CpuDeferred, Absolute)],
        ),
        group("Elapsed time", &[(WallPerIteration, Relative)]),
        group(
            "Requests",
            &[(Throughput, Relative), (ErrorsPerRequest, Absolute)],
        ),
        group(
            "Response time",
            &[(ResponseTimeP50, Relative), (ResponseTimeP99, Relative)],
        ),
        group(
            "Service time",
            &[(ServiceTimeP50, Relative), (ServiceTimeP99, Relative)],
        ),
        group("Memory", &[(RssSteady, Relative), (RssPeak, Relative)]),
        group(
            "Start and end",
            &[
                (StartupTime, Absolute),
                (StartupCpu, Absolute),
                (FlushTime, Absolute),
                (FlushCpu, Absolute),
            ],
        ),
        group("Whole machine", &[(MachineCpuPerRequest, Relative)]),
        group("Long idle", &[(CpuIdle, Absolute)]),
        group(
            "Telemetry",
            &[
                (WireBytesPerRequest, Absolute),
                (CpuPerSpan, Absolute),
                (CpuPerEvent, Absolute),
            ],
        ),
        detail(
            "Response time, more",
            &[
                (ResponseTimeP10, Relative),
                (ResponseTimeP90, Relative),
                (ResponseTimeP999, Relative),
            ],
        ),
        detail(
            "Service time, more",
            &[
                (ServiceTimeP10, Relative),
                (ServiceTimeP90, Relative),
                (ServiceTimeP999, Relative),
            ],
        ),
        detail("Memory, more", &[(Pss, Relative)]),
        detail("Generator", &[(GeneratorCpuPerRequest, Relative)]),
        detail(
            "Agents, by launch",
            &[
                (AgentRssPeak, Absolute),
                (AgentAttachTime, Absolute),
                (AgentAttachCpu, Absolute),
            ],
        ),
        detail("Kernel", &[(KernelThreadsCpuPerRequest, Absolute)]),
    ]
};

/// One cell for each metric: the baseline's value, the others' difference with its interval.
pub(super) fn compact_table(analysis: &Analysis, group: &Group, primary: Metric) -> Option<Table> {
    let metrics: Vec<_> = group
        .metrics
        .iter()
        .copied()
        .filter(|(metric, _)| *metric != primary && has_figures(analysis, *metric))
        .collect();
    if metrics.is_empty() {
        return None;
    }
    let mut notes = Notes::default();
    let mut rows: Vec<Row> = analysis
        .arms
        .iter()
        .map(|arm| Row {
            arm: one_line(&arm.name),
            cells: Vec::new(),
        })
        .collect();
    let mut columns = Vec::new();
    for (metric, shown) in metrics {
        columns.push(column(name(metric), metric.about()));
        for (row, cell) in rows
            .iter_mut()
            .zip(compact_cells(analysis, metric, shown, &mut notes))
        {
            row.cells.push(cell);
        }
    }
    let mut compared = group.metrics.iter().map(|(metric, _)| *metric);
    // In a closed loop the intended start is the actual one: service time says nothing more.
    let repeats = group.title == "Service time" && analysis.design.load == LoadModel::Closed;
    Some(Table {
        title: group.title.to_owned(),
        columns,
        rows,
        notes: notes.0,
        facts: compared
            .find_map(|metric| whole_process(analysis, metric))
            .into_iter()
            .collect(),
        separable: true,
        detail: group.detail || repeats,
    })
}

fn compact_cells(
    analysis: &Analysis,
    metric: Metric,
    shown: Shown,
    notes: &mut Notes,
) -> Vec<Cell> {
    let results = results(analysis, metric);
    let value_scale = value_scale(metric, results.iter().filter_map(|(_, result)| *result));
    let cell = |(arm, result): &(&ArmAnalysis, Option<&MetricAnalysis>)| {
        let Some(result) = result else {
            return notes.absent(1, NOT_FOR_ARM).remove(0);
        };
        let value = value(arm, result).map(|v| value_scale.with_unit(v));
        match &result.difference {
            Ok(difference) => compact_difference(metric, result, difference, shown, notes),
            // What all others are differences from has no place among them.
            Err(missing) if missing.code == MissingCode::Baseline => {
                plain(value.unwrap_or_else(|| NOT_AVAILABLE.to_owned()))
            }
            Err(missing) => {
                let mark = notes.mark(&missing.text);
                let text = match value {
                    Some(value) => format!("{value}, Δ {NOT_AVAILABLE}{mark}"),
                    None => format!("{NOT_AVAILABLE}{mark}"),
                };
                Cell::faint(text)
            }
        }
    };
    results.iter().map(cell).collect()
}

fn compact_difference(
    metric: Metric,
    result: &MetricAnalysis,
    difference: &Difference,
    shown: Shown,
    notes: &mut Notes,
) -> Cell {
    let basis = Some(basis(metric, result, difference));
    let on_its_own = family::mark(result);
    let relative = match shown {
        Shown::Relative => difference.relative.as_ref(),
        Shown::Absolute => None,
    };
    let percent = relative.and_then(|of| Some((of.estimate, number::percent(of)?)));
    if let Some((estimate, p)) = percent {
        let mark = match result.verdict {
            Some(Verdict::Negligible) => NEGLIGIBLE,
            Some(Verdict::Inconclusive) => INCONCLUSIVE,
            // The sign and the metric say it.
            Some(Verdict::Costs | Verdict::Saves) | None => "",
        };
        let figure = format!("{} % ({})", p.estimate, p.range());
        let text = marked(&format!("{mark}{on_its_own}"), &figure);
        return Cell {
            tone: result.verdict.map_or(Tone::Plain, Tone::Judged),
            basis,
            ..Cell::figure(text, estimate)
        };
    }
    let interval = &difference.absolute;
    let scale = Scale::fitting(
        metric.unit(),
        [interval.estimate, interval.low, interval.high],
    );
    let Some(s) = scale.signed(interval) else {
        return notes.absent(1, NOT_FINITE).remove(0);
    };
    let figure = format!("{} ({})", scale.attach(&s.estimate), s.range());
    Cell {
        basis,
        ..Cell::figure(marked(&on_its_own, &figure), interval.estimate)
    }
}

/// A figure behind its marks, if it has any.
pub(crate) fn marked(marks: &str, figure: &str) -> String {
    format!("{marks} {figure}").trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Metrics that tables about agents tell, with their intervals over the same launches.
    const TOLD_OF_AGENTS: [Metric; 5] = [
        Metric::AgentCpu,
        Metric::AgentCpuPerRequest,
        Metric::AgentRssSteady,
        Metric::BpfNsPerRequest,
        Metric::BpfRunsPerRequest,
    ];

    #[test]
    fn every_metric_has_its_place_once() {
        for &metric in Metric::ALL {
            let places = GROUPS
                .iter()
                .flat_map(|group| group.metrics)
                .filter(|(placed, _)| *placed == metric)
                .count();
            let expected = usize::from(!TOLD_OF_AGENTS.contains(&metric));
            assert_eq!(places, expected, "{}", metric.as_str());
        }
    }
}
