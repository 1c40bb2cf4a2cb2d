//! How telemetry arrived: delay, completeness, protocol and source.

use std::collections::BTreeMap;

use windage_model::{Interval, Method};
use windage_record::{Delivered, DeliveredByProtocol, DeliveredSource, ExportDelay, TraceSample};
use windage_stats::{Confidence, proportion};

use super::TraceShare;

/// At most so many services and scopes are listed separately.
const MAX_SOURCES: usize = 20;

/// Launches record quantiles, which can't be merged: the median over launches is taken of each.
pub(super) fn export_delay<'a>(
    launches: impl Iterator<Item = &'a Delivered>,
) -> Option<ExportDelay> {
    let delays: Vec<ExportDelay> = launches.filter_map(|launch| launch.delay).collect();
    let max_ns = delays.iter().map(|delay| delay.max_ns).max()?;
    let median = |quantile: fn(&ExportDelay) -> u64| {
        let mut sorted: Vec<u64> = delays.iter().map(quantile).collect();
        sorted.sort_unstable();
        // The two middle values of an even number, otherwise the middle value twice.
        let (below, above) = ((sorted.len() - 1) / 2, sorted.len() / 2);
        u64::midpoint(sorted[below], sorted[above])
    };
    Some(ExportDelay {
        spans: delays
            .iter()
            .fold(0, |spans, delay| spans.saturating_add(delay.spans)),
        p50_ns: median(|delay| delay.p50_ns),
        p90_ns: median(|delay| delay.p90_ns),
        p99_ns: median(|delay| delay.p99_ns),
        max_ns,
    })
}

/// The trace samples of all launches combined.
pub(super) fn traces<'a>(launches: impl Iterator<Item = &'a Delivered>) -> Option<TraceShare> {
    let all = launches
        .filter_map(|launch| launch.traces)
        .reduce(|all, more| TraceSample {
            one_in: all.one_in.max(more.one_in),
            traces: all.traces.saturating_add(more.traces),
            complete: all.complete.saturating_add(more.complete),
            spans: all.spans.saturating_add(more.spans),
            duplicates: all.duplicates.saturating_add(more.duplicates),
        })?;
    Some(TraceShare {
        one_in: all.one_in,
        sampled: all.traces,
        complete: complete(&all),
        spans: all.spans,
        duplicates: all.duplicates,
    })
}

/// The share of complete traces; `None` without traces.
fn complete(sample: &TraceSample) -> Option<Interval> {
    let confidence = Confidence::P95;
    let (low, high) = proportion(sample.complete, sample.traces, confidence)?;
    let estimate = sample.complete as f64 / sample.traces as f64;
    let of_a_sample = Interval {
        estimate,
        low,
        high,
        confidence: confidence.get(),
        method: Method::Wilson,
    };
    // If no trace was left out, there is no sampling error.
    Some(match sample.one_in {
        0 | 1 => Interval {
            low: estimate,
            high: estimate,
            method: Method::Counted,
            ..of_a_sample
        },
        _ => of_a_sample,
    })
}

/// What arrived by each protocol, over all launches.
pub(super) fn by_protocol<'a>(
    launches: impl Iterator<Item = &'a Delivered>,
) -> Vec<DeliveredByProtocol> {
    let mut sums: BTreeMap<&str, DeliveredByProtocol> = BTreeMap::new();
    for of in launches.flat_map(|launch| &launch.by_protocol) {
        let first = || DeliveredByProtocol {
            protocol: of.protocol.clone(),
            ..DeliveredByProtocol::default()
        };
        sums.entry(&of.protocol).or_insert_with(first).add(of);
    }
    sums.into_values().collect()
}

/// What arrived from each service and scope over all launches, largest senders first, and how many
/// more sources there were.
pub(super) fn by_source<'a>(
    launches: impl Iterator<Item = &'a Delivered>,
) -> (Vec<DeliveredSource>, usize) {
    let mut sums: BTreeMap<(&str, &str), DeliveredSource> = BTreeMap::new();
    for of in launches.flat_map(|launch| &launch.sources) {
        let sum = sums.entry((&of.service, &of.scope)).or_default();
        *sum = DeliveredSource {
            service: of.service.clone(),
            scope: of.scope.clone(),
            spans: sum.spans.saturating_add(of.spans),
            span_events: sum.span_events.saturating_add(of.span_events),
            metric_points: sum.metric_points.saturating_add(of.metric_points),
            log_records: sum.log_records.saturating_add(of.log_records),
        };
    }
    let mut all: Vec<DeliveredSource> = sums.into_values().collect();
    // Ties stay in order of name.
    all.sort_by_key(|source| std::cmp::Reverse(items(source)));
    let left_out = all.len().saturating_sub(MAX_SOURCES);
    all.truncate(MAX_SOURCES);
    (all, left_out)
}

fn items(source: &DeliveredSource) -> u64 {
    let others = source.metric_points.saturating_add(source.log_records);
    source.spans.saturating_add(others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_medians_over_launches_and_the_overall_maximum() {
        let launch = |p50_ns, max_ns| Delivered {
            delay: Some(ExportDelay {
                spans: 10,
                p50_ns,
                p90_ns: 2 * p50_ns,
                p99_ns: 3 * p50_ns,
                max_ns,
            }),
            ..Delivered::default()
        };
        // per launch the median and the longest delay; expected p50, max, spans
        let table = [
            (vec![(5, 50)], Some((5, 50, 10))),
            (vec![(5, 50), (9, 20)], Some((7, 50, 20))),
            (vec![(90, 95), (5, 50), (9, 20)], Some((9, 95, 30))),
            (vec![], None),
        ];
        for (launches, expected) in table {
            let mut launches: Vec<_> = launches
                .into_iter()
                .map(|(p, max)| launch(p, max))
                .collect();
            launches.push(Delivered::default());
            let found = export_delay(launches.iter());
            assert_eq!(found.map(|d| (d.p50_ns, d.max_ns, d.spans)), expected);
            assert!(found.is_none_or(|d| (d.p90_ns, d.p99_ns) == (2 * d.p50_ns, 3 * d.p50_ns)));
        }
    }

    #[test]
    fn traces_of_all_launches_are_one_sample() {
        let launch = |one_in, traces, complete| Delivered {
            traces: Some(TraceSample {
                one_in,
                traces,
                complete,
                spans: 2 * traces,
                duplicates: 1,
            }),
            ..Delivered::default()
        };
        let of = |launches: &[Delivered]| traces(launches.iter());
        let found = of(&[launch(1, 100, 90), launch(4, 163, 0)]).unwrap();
        assert_eq!(
            (found.one_in, found.sampled, found.spans, found.duplicates),
            (4, 263, 526, 2)
        );
        let share = found.complete.unwrap();
        assert!((share.estimate - 90.0 / 263.0).abs() < 1e-12);
        assert!(share.low < share.estimate && share.estimate < share.high);
        let every = of(&[launch(1, 100, 90)]).unwrap().complete.unwrap();
        assert_eq!((every.low, every.estimate, every.high), (0.9, 0.9, 0.9));
        let none = of(&[launch(1, 0, 0)]).unwrap();
        assert_eq!((none.sampled, none.complete), (0, None));
        assert_eq!(of(&[Delivered::default()]), None);
        // An impossible count gives no share.
        assert_eq!(of(&[launch(2, 3, 4)]).unwrap().complete, None);
    }

    #[test]
    fn the_largest_sources_are_listed() {
        let source = |service: &str, spans, log_records| DeliveredSource {
            service: service.to_owned(),
            spans,
            log_records,
            ..DeliveredSource::default()
        };
        let launch = |sources| Delivered {
            sources,
            ..Delivered::default()
        };
        let few = [
            launch(vec![source("b", 5, 0), source("a", 1, 3)]),
            launch(vec![source("a", 0, 2), source("c", 5, 0)]),
        ];
        let (found, left_out) = by_source(few.iter());
        let named: Vec<_> = found
            .iter()
            .map(|s| (s.service.as_str(), items(s)))
            .collect();
        assert_eq!(named, [("a", 6), ("b", 5), ("c", 5)]);
        assert_eq!(left_out, 0);
        let many = [launch(
            (0..25).map(|i| source(&format!("{i}"), i, 0)).collect(),
        )];
        let (found, left_out) = by_source(many.iter());
        assert_eq!((found.len(), left_out, found[0].spans), (20, 5, 24));
    }

    #[test]
    fn protocols_are_summed_without_overflow() {
        let launch = |protocol: &str, spans| Delivered {
            by_protocol: vec![DeliveredByProtocol {
                protocol: protocol.to_owned(),
                spans,
                ..DeliveredByProtocol::default()
            }],
            ..Delivered::default()
        };
        let launches = [
            launch("otlp-http", u64::MAX),
            launch("datadog", 3),
            launch("otlp-http", 4),
        ];
        let found: Vec<_> = by_protocol(launches.iter())
            .into_iter()
            .map(|of| (of.protocol, of.spans))
            .collect();
        assert_eq!(
            found,
            [
                ("datadog".to_owned(), 3),
                ("otlp-http".to_owned(), u64::MAX)
            ]
        );
    }
}
