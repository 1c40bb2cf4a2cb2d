//! Tables with one cell per metric: the baseline's value, and the differences of other arms.

use windage_analysis::{Analysis, ArmAnalysis, MetricAnalysis, Missing};
use windage_model::{Difference, LoadModel, Metric, Role, Unit, Verdict};

use super::script::whole_process;
use super::{
    Cell, Column, INCONCLUSIVE, NEGLIGIBLE, NOT_FINITE, NOT_FOR_ARM, Notes, Row, Table, Tone,
    basis, column, family, has_figures, nothing, plain, results, value, value_scale,
};
use crate::fact::one_line;
use crate::number::{self, NOT_AVAILABLE, Scale};
use crate::sentences;

/// The form of a column's differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// As percent of the baseline, where there is a ratio.
    Relative,
    /// In the metric's unit: parts of a sum, or metrics whose baseline is zero by nature.
    Absolute,
}

/// Metrics that share a table.
pub(crate) struct Group {
    pub(crate) title: &'static str,
    pub(crate) metrics: &'static [Placed],
    pub(crate) detail: bool,
    /// Whether reports of one run have separate tables for it.
    pub(crate) is_of_agents: bool,
}

/// A metric in its table.
#[derive(Clone, Copy)]
pub(crate) struct Placed {
    pub(crate) metric: Metric,
    pub(crate) shown: Shown,
    heading: Option<&'static str>,
}

impl Placed {
    /// A heading that replaces its label.
    const fn headed(self, heading: &'static str) -> Placed {
        Placed {
            heading: Some(heading),
            ..self
        }
    }

    /// The heading of its column.
    pub(crate) fn heading(self) -> &'static str {
        self.heading.unwrap_or(self.metric.label())
    }
}

const fn relative(metric: Metric) -> Placed {
    Placed {
        metric,
        shown: Shown::Relative,
        heading: None,
    }
}

const fn absolute(metric: Metric) -> Placed {
    Placed {
        shown: Shown::Absolute,
        ..relative(metric)
    }
}

const fn group(title: &'static str, metrics: &'static [Placed]) -> Group {
    Group {
        title,
        metrics,
        detail: false,
        is_of_agents: false,
    }
}

const fn detail(title: &'static str, metrics: &'static [Placed]) -> Group {
    Group {
        detail: true,
        ..group(title, metrics)
    }
}

/// The parts of CPU per request.
const OF_WHICH: &str = "CPU, of which";
/// CPU from windows with load on one arm alone.
const ISOLATED: &str = "CPU, isolated";
/// Its parts.
const ISOLATED_OF_WHICH: &str = "CPU, isolated, of which";

/// Every metric has a place; a test checks it.
pub(crate) const GROUPS: &[Group] = {
    use Metric::*;
    &[
        group("CPU", &[relative(CpuPerRequest), relative(CpuPerIteration)]),
        group(OF_WHICH, &[absolute(CpuOfRequests).headed("of requests")]),
        group(
            ISOLATED,
            &[
                relative(CpuPerRequestIsolated).headed("per request"),
                relative(CpuPerIterationIsolated).headed("per iteration"),
                relative(TypicalCpuPerRequest).headed("typical request"),
            ],
        ),
        group(
            ISOLATED_OF_WHICH,
            &[
                absolute(CpuInWindow).headed("in the window"),
                absolute(CpuDeferred).headed("deferred"),
            ],
        ),
        group("Elapsed time", &[relative(WallPerIteration)]),
        group(
            "Requests",
            &[relative(Throughput), absolute(ErrorsPerRequest)],
        ),
        group(
            "Response time",
            &[
                relative(ResponseTimeP50).headed("p50"),
                relative(ResponseTimeP99).headed("p99"),
            ],
        ),
        group(
            "Service time",
            &[
                relative(ServiceTimeP50).headed("p50"),
                relative(ServiceTimeP99).headed("p99"),
            ],
        ),
        group(
            "Memory",
            &[relative(RssSteady), relative(RssPeak), absolute(RssGrowth)],
        ),
        group(
            "Start and end",
            &[
                absolute(StartupTime),
                absolute(StartupCpu),
                absolute(FlushTime),
                absolute(FlushCpu),
            ],
        ),
        group(
            "Whole machine",
            &[relative(MachineCpuPerRequest).headed("busy CPU per request")],
        ),
        group("Long idle", &[absolute(CpuIdle)]),
        group(
            "Telemetry",
            &[
                absolute(WireBytesPerRequest),
                absolute(TelemetryLost),
                absolute(CpuPerSpan),
                absolute(CpuPerEvent),
                absolute(CpuPerRecord),
            ],
        ),
        detail(
            "Response time, more",
            &[
                relative(ResponseTimeP10).headed("p10"),
                relative(ResponseTimeP90).headed("p90"),
                relative(ResponseTimeP999).headed("p99.9"),
            ],
        ),
        detail(
            "Service time, more",
            &[
                relative(ServiceTimeP10).headed("p10"),
                relative(ServiceTimeP90).headed("p90"),
                relative(ServiceTimeP999).headed("p99.9"),
            ],
        ),
        detail("Memory, more", &[relative(Pss)]),
        group(
            "Threads and descriptors",
            &[absolute(ThreadsGrowth), absolute(DescriptorsGrowth)],
        ),
        detail(
            "Context switches and page faults",
            &[
                absolute(ContextSwitchesPerRequest),
                absolute(PageFaultsPerRequest),
            ],
        ),
        detail(
            "Generator",
            &[relative(GeneratorCpuPerRequest).headed("generator CPU per request")],
        ),
        detail(
            "Agents, by launch",
            &[
                absolute(AgentRssPeak),
                absolute(AgentAttachTime),
                absolute(AgentAttachCpu),
            ],
        ),
        detail("Kernel", &[absolute(KernelThreadsCpuPerRequest)]),
        Group {
            is_of_agents: true,
            ..group(
                "Agents",
                &[
                    absolute(AgentCpu),
                    absolute(AgentCpuPerRequest),
                    absolute(AgentRssSteady),
                    absolute(AgentRssGrowth),
                    absolute(AgentThreadsGrowth),
                    absolute(AgentDescriptorsGrowth),
                    absolute(BpfNsPerRequest),
                    absolute(BpfRunsPerRequest),
                ],
            )
        },
    ]
};

/// One cell per metric: the baseline's value, and the differences of other arms.
pub(super) fn compact_table(analysis: &Analysis, group: &Group, primary: Metric) -> Option<Table> {
    let metrics: Vec<_> = group
        .metrics
        .iter()
        .copied()
        .filter(|of| of.metric != primary && has_figures(analysis, of.metric))
        .collect();
    if metrics.is_empty() {
        return None;
    }
    let mut compared = group.metrics.iter().map(|of| of.metric);
    // In a closed loop, requests are sent at their intended start, so response time equals service
    // time.
    let repeats = group.title == "Service time" && analysis.design.load == LoadModel::Closed;
    let mut table = table_of(analysis, title(analysis, group), &metrics);
    match group.title {
        OF_WHICH => insert_second(&mut table, idle(analysis)),
        ISOLATED => insert_second(&mut table, less_interleaved(analysis)),
        _ => {}
    }
    Some(Table {
        facts: compared
            .find_map(|metric| whole_process(analysis, metric))
            .into_iter()
            .collect(),
        detail: group.detail || repeats,
        ..table
    })
}

/// Without turns all CPU is isolated, which needs no word.
fn title(analysis: &Analysis, group: &Group) -> &'static str {
    match group.title {
        ISOLATED_OF_WHICH if analysis.design.turns.is_none() => OF_WHICH,
        title => title,
    }
}

/// Adds a column that is not a metric behind the first, if any cell has a figure.
fn insert_second(table: &mut Table, (column, cells): (Column, Vec<Option<Cell>>)) {
    if cells.iter().all(Option::is_none) {
        return;
    }
    table.columns.insert(1, column);
    for (row, cell) in table.rows.iter_mut().zip(cells) {
        row.cells.insert(1, cell.unwrap_or_else(nothing));
    }
}

/// The part of CPU per request that an arm uses anyway, at the plan's rate: the whole less the part
/// of requests. Its error is in the interval of the whole.
fn idle(analysis: &Analysis) -> (Column, Vec<Option<Cell>>) {
    let cell = |arm: &ArmAnalysis| {
        let whole = arm.metrics.get(&Metric::CpuPerRequest)?;
        let part = arm.metrics.get(&Metric::CpuOfRequests)?;
        if arm.role == Role::Baseline {
            let us = value(arm, whole)? - value(arm, part)?;
            return Some(plain(number::short(Unit::Microseconds, us)));
        }
        let of = |result: &MetricAnalysis| Some(result.difference.as_ref().ok()?.absolute.estimate);
        let us = of(whole)? - of(part)?;
        let scale = Scale::fitting(Unit::Microseconds, [us]);
        let shown = || scale.attach(&scale.signed_point_to(us, 2));
        us.is_finite().then(|| Cell::figure(shown(), us))
    };
    let heading = match analysis.design.rate_per_s {
        Some(rate) => format!("idle, at {}/s", number::plain(rate)),
        None => "idle".to_owned(),
    };
    let column = column(
        heading,
        "CPU that an arm uses anyway, per request at its rate",
    );
    (column, analysis.arms.iter().map(cell).collect())
}

/// The effect in isolated windows less that in turns.
fn less_interleaved(analysis: &Analysis) -> (Column, Vec<Option<Cell>>) {
    let cell = |arm: &ArmAnalysis| {
        let difference = arm.isolated_less_interleaved.as_ref()?;
        let shown = number::percent(difference)?;
        Some(Cell::figure(shown.to_string(), difference.estimate))
    };
    let column = column(
        "less interleaved",
        "The difference in isolated windows less that in turns, as a share of the baseline",
    );
    (column, analysis.arms.iter().map(cell).collect())
}

/// A column of figures: one of each arm.
pub(super) struct Figures<'a> {
    pub(super) column: Column,
    pub(super) metric: Metric,
    pub(super) shown: Shown,
    pub(super) results: Vec<(&'a ArmAnalysis, Option<&'a MetricAnalysis>)>,
}

/// A table with one column per metric.
fn table_of(analysis: &Analysis, title: &str, metrics: &[Placed]) -> Table {
    let figures = metrics.iter().map(|of| Figures {
        column: column(of.heading(), of.metric.about()),
        metric: of.metric,
        shown: of.shown,
        results: results(analysis, of.metric),
    });
    table_of_figures(analysis, title, figures)
}

/// A table with these columns.
pub(super) fn table_of_figures<'a>(
    analysis: &Analysis,
    title: &str,
    figures: impl Iterator<Item = Figures<'a>>,
) -> Table {
    let mut notes = Notes::default();
    let arms = analysis.arms.iter();
    let mut rows: Vec<Row> = arms
        .map(|arm| Row {
            arm: one_line(&arm.name),
            cells: Vec::new(),
        })
        .collect();
    let mut columns = Vec::new();
    for of in figures {
        let cells = compact_cells(analysis, (of.metric, of.shown), &of.results, &mut notes);
        columns.push(of.column);
        for (row, cell) in rows.iter_mut().zip(cells) {
            row.cells.push(cell);
        }
    }
    Table {
        title: title.to_owned(),
        columns,
        rows,
        notes: notes.0,
        separable: true,
        ..Table::default()
    }
}

/// Metrics that a short report shows if a treatment changed them, in this order. Parts of the
/// primary metric and other quantiles are only in the full report.
const HEADLINES: &[Metric] = {
    use Metric::*;
    &[
        Throughput,
        ErrorsPerRequest,
        WallPerIteration,
        ResponseTimeP99,
        RssSteady,
        RssGrowth,
        ThreadsGrowth,
        DescriptorsGrowth,
        AgentRssGrowth,
        AgentThreadsGrowth,
        AgentDescriptorsGrowth,
        MachineCpuPerRequest,
        ResponseTimeP50,
        StartupTime,
        CpuIdle,
        RssPeak,
        StartupCpu,
        FlushTime,
        FlushCpu,
    ]
};

/// The metrics other than the primary one that any treatment changed; `None` without any.
pub(crate) fn changed_table(analysis: &Analysis) -> Option<Table> {
    let is_changed = |role: Role, metric: Metric| {
        let arms = analysis.arms.iter();
        let mut results = arms
            .filter(|arm| arm.role == role)
            .filter_map(|arm| arm.metrics.get(&metric));
        results.any(|result| match result.verdict {
            Some(Verdict::Costs | Verdict::Saves) => true,
            // Marked as inconclusive: the launches are too few for a verdict.
            Some(Verdict::Inconclusive) if result.inference.launches_needed.is_some() => {
                result.exceeds_zero() == Some(true)
            }
            Some(Verdict::Negligible | Verdict::Inconclusive) => false,
            None => result.exceeds_zero() == Some(true),
        })
    };
    let is_shown =
        |metric: Metric| metric != analysis.primary && is_changed(Role::Treatment, metric);
    let mut changed: Vec<Placed> = HEADLINES
        .iter()
        .filter(|&&metric| is_shown(metric))
        .filter_map(|&metric| placed(metric))
        .map(|of| Placed {
            heading: None,
            ..of
        })
        .collect();
    // Where the control changed too, the change says little.
    changed.sort_by_key(|of| is_changed(Role::Control, of.metric));
    (!changed.is_empty()).then(|| table_of(analysis, "Also changed", &changed))
}

fn placed(metric: Metric) -> Option<Placed> {
    let mut all = GROUPS.iter().flat_map(|group| group.metrics);
    all.find(|of| of.metric == metric).copied()
}

/// A column's cells, from each arm's result.
fn compact_cells(
    analysis: &Analysis,
    (metric, shown): (Metric, Shown),
    results: &[(&ArmAnalysis, Option<&MetricAnalysis>)],
    notes: &mut Notes,
) -> Vec<Cell> {
    let value_scale = value_scale(metric, results.iter().filter_map(|(_, result)| *result));
    let cell = |(arm, result): &(&ArmAnalysis, Option<&MetricAnalysis>)| {
        let Some(result) = result else {
            return notes.absent(1, NOT_FOR_ARM).remove(0);
        };
        let value = value(arm, result).map(|v| value_scale.with_unit(v));
        match &result.difference {
            Ok(difference) => {
                let basis = basis(analysis, metric, result, difference);
                compact_difference(metric, (result, difference), basis, shown, notes)
            }
            // Other arms are shown as differences from the baseline; it has a value only.
            Err(Missing::Baseline) => plain(value.unwrap_or_else(|| NOT_AVAILABLE.to_owned())),
            Err(missing) => {
                let mark = notes.mark(&sentences::missing(missing));
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
    (result, difference): (&MetricAnalysis, &Difference),
    basis: String,
    shown: Shown,
    notes: &mut Notes,
) -> Cell {
    let basis = Some(basis);
    let on_its_own = family::mark(result);
    let relative = match shown {
        Shown::Relative => difference.relative.as_ref(),
        Shown::Absolute => None,
    };
    let percent = relative.and_then(|of| Some((of.estimate, number::percent(of)?)));
    if let Some((estimate, shown)) = percent {
        let mark = match result.verdict {
            Some(Verdict::Negligible) => NEGLIGIBLE,
            Some(Verdict::Inconclusive) => INCONCLUSIVE,
            // The sign shows it.
            Some(Verdict::Costs | Verdict::Saves) | None => "",
        };
        let text = marked(&format!("{mark}{on_its_own}"), &shown.to_string());
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
    let Some(shown) = scale.signed(interval) else {
        return notes.absent(1, NOT_FINITE).remove(0);
    };
    Cell {
        basis,
        ..Cell::figure(marked(&on_its_own, &shown.to_string()), interval.estimate)
    }
}

/// A figure, preceded by its marks.
pub(crate) fn marked(marks: &str, figure: &str) -> String {
    format!("{marks} {figure}").trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_one_place() {
        for &metric in Metric::ALL {
            let placed = GROUPS.iter().flat_map(|group| group.metrics);
            let places = placed.filter(|placed| placed.metric == metric);
            assert_eq!(places.count(), 1, "{}", metric.as_str());
        }
    }
}
