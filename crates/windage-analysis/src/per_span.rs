//! What an arm costs per delivered span, span event, and log record.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Difference, Interval, Method, Metric};
use windage_record::Delivered;
use windage_stats::{Confidence, Launches, TwoLevelError, ratio, two_level};

use crate::conclude::interval;
use crate::run::Run;
use crate::{Fidelity, Inference, Item, MetricAnalysis, Missing};

impl Item {
    pub(crate) const ALL: [Item; 3] = [Item::Span, Item::Event, Item::Record];

    pub(crate) fn metric(self) -> Metric {
        match self {
            Item::Span => Metric::CpuPerSpan,
            Item::Event => Metric::CpuPerEvent,
            Item::Record => Metric::CpuPerRecord,
        }
    }

    fn of(self, launch: &Delivered) -> u64 {
        match self {
            Item::Span => launch.spans,
            Item::Event => launch.span_events,
            Item::Record => launch.log_records,
        }
    }
}

/// The arm's difference in CPU per request (or iteration), divided by the spans delivered per
/// request: for every arm of a run with a sink. The same by events, in a run that delivered any, and
/// by log records, for an arm of which any are expected.
pub(crate) fn cpu_per_item(
    run: &Run<'_>,
    arm: ArmIndex,
    fidelity: Option<&Fidelity>,
    metrics: &mut BTreeMap<Metric, MetricAnalysis>,
) {
    for item in Item::ALL
        .into_iter()
        .filter(|item| is_counted(run, arm, *item))
    {
        let whole = [Metric::CpuPerRequest, Metric::CpuPerIteration];
        let Some(of_request) = whole.iter().find_map(|metric| metrics.get(metric)) else {
            return;
        };
        let difference = match &of_request.difference {
            Ok(difference) => {
                let items = items_per_request(run, arm, item, fidelity);
                divided(&difference.absolute, item, items).map(|absolute| Difference {
                    absolute,
                    relative: None,
                    relative_90: None,
                    within_launch_half_width: None,
                    minimum_detectable_effect: None,
                })
            }
            Err(missing) => Err(missing.clone()),
        };
        let of_item = MetricAnalysis {
            baseline: None,
            arm: difference.as_ref().ok().map(|d| d.absolute.estimate),
            difference,
            verdict: None,
            inference: Inference::default(),
            ..of_request.clone()
        };
        metrics.insert(item.metric(), of_item);
    }
}

/// A run without a sink counts nothing, and most runs have no events. Some agents export the few lines
/// that a program logs at its start, by which no cost can be divided.
fn is_counted(run: &Run<'_>, arm: ArmIndex, item: Item) -> bool {
    let mut delivered = run.records.delivered.iter();
    let expected = run.records.manifest.arms[arm.get()].expected;
    match item {
        Item::Span => delivered.next().is_some(),
        Item::Event => delivered.any(|launch| launch.span_events > 0),
        Item::Record => expected.is_some_and(|of| of.records_per_request > Some(0.0)),
    }
}

/// What a launch delivered is an exact count; it differs between launches. Where telemetry was
/// lost, the count of measured windows is used, because a loss in the warm-up is not part of
/// their cost. Cost in turns is of other requests than those of windows, and keeps the whole count.
pub(crate) fn items_per_request(
    run: &Run<'_>,
    arm: ArmIndex,
    item: Item,
    fidelity: Option<&Fidelity>,
) -> PerRequest {
    let is_lossy = fidelity.is_some_and(|fidelity| fidelity.beyond_sampling == Some(true));
    let by_windows = is_lossy && run.records.turns.is_empty();
    let mut launches = Launches::default();
    let delivered = run.records.delivered.iter();
    let mut items = 0.0;
    for launch in delivered.filter(|d| d.arm == arm && d.completed_requests > 0) {
        items = in_windows(run, launch, item)
            .filter(|_| by_windows)
            .unwrap_or(item.of(launch) as f64 / launch.completed_requests as f64);
        launches.push(vec![items], 0.0);
    }
    let found = match two_level(&launches) {
        Ok(location) => match interval(&location, Confidence::P95, run.rules) {
            Some(found) => PerRequest::Known(found.estimate, found.half_width()),
            None => PerRequest::Unbounded,
        },
        // With a single launch the interval holds for that launch alone, and what it sent is an
        // exact count.
        Err(TwoLevelError::OneValue) => PerRequest::Known(items, 0.0),
        Err(TwoLevelError::NoValues) => PerRequest::None,
    };
    match found {
        PerRequest::Known(items, _) if items <= 0.0 => PerRequest::None,
        found => found,
    }
}

/// What was delivered per request of measured windows in a launch; `None` when unknown. Windows count
/// spans only. Events per span are assumed to be the same everywhere; log records have nothing to do
/// with spans.
fn in_windows(run: &Run<'_>, launch: &Delivered, item: Item) -> Option<f64> {
    let in_windows = &run.records.in_windows;
    let spans = in_windows.spans_per_request(launch.arm, launch.launch)?;
    match item {
        Item::Span => Some(spans),
        Item::Event => Some(spans * launch.span_events as f64 / launch.spans.max(1) as f64),
        Item::Record => None,
    }
}

/// Items delivered per request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PerRequest {
    /// The mean over launches, with the half-width of its interval.
    Known(f64, f64),
    /// Its interval is unbounded.
    Unbounded,
    /// None arrived.
    None,
}

/// A difference in CPU per request, divided by the items delivered per request.
pub(crate) fn divided(
    difference: &Interval,
    item: Item,
    items: PerRequest,
) -> Result<Interval, Missing> {
    let (items, half_width) = match items {
        PerRequest::Known(items, half_width) => (items, half_width),
        PerRequest::Unbounded => return Err(Missing::UnboundedPer(item)),
        PerRequest::None => return Err(Missing::NothingDelivered(item)),
    };
    let numerator = (difference.estimate, difference.low, difference.high);
    let (low, high) = ratio(numerator, (items, half_width)).ok_or(Missing::UnboundedPer(item))?;
    Ok(Interval {
        estimate: difference.estimate / items,
        low,
        high,
        confidence: difference.confidence,
        method: Method::Fieller,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Analysis, ArmAnalysis, MissingCode, analyse, fixture};
    use windage_model::{Expected, LoadModel};
    use windage_record::DeliveredInWindow;

    fn analysed(run: &fixture::Recorded) -> Analysis {
        analyse(&run.gathered(), std::iter::empty(), std::iter::empty())
    }

    fn half_width(of: &MetricAnalysis) -> f64 {
        of.difference.as_ref().unwrap().absolute.half_width()
    }

    #[test]
    fn cost_is_divided_by_delivered_spans_under_every_load() {
        for (model, whole) in [
            (LoadModel::Closed, Metric::CpuPerRequest),
            (LoadModel::Open, Metric::CpuPerRequest),
            (LoadModel::Batch, Metric::CpuPerIteration),
        ] {
            let mut run = fixture::records(3);
            run.manifest.load.model = model;
            // Two spans per request in every launch, so that they add no uncertainty.
            for delivered in &mut run.delivered {
                delivered.spans *= 2;
            }
            let analysis = analysed(&run);
            let of = |metric| &analysis.arms[2].metrics[&metric];
            let (span, request) = (of(Metric::CpuPerSpan), of(whole));
            let of_request = &request.difference.as_ref().unwrap().absolute;
            let expected = of_request.estimate / 2.0;
            assert!((span.arm.unwrap() - expected).abs() < 1e-9, "{model:?}");
            assert!((half_width(span) - half_width(request) / 2.0).abs() < 1e-9);
            assert_eq!((span.baseline, span.verdict), (None, None));
        }
    }

    #[test]
    fn events_on_spans_share_the_cost_as_spans_do() {
        let mut run = fixture::records(3);
        let without = analysed(&run);
        let arms = &without.arms;
        assert!(
            arms.iter()
                .all(|arm| !arm.metrics.contains_key(&Metric::CpuPerEvent)),
            "a run without events has no cost per event"
        );
        for delivered in &mut run.delivered {
            delivered.span_events = 22 * delivered.spans;
        }
        let analysis = analysed(&run);
        let of = |arm: usize, metric| &analysis.arms[arm].metrics[&metric];
        let (event, span) = (of(2, Metric::CpuPerEvent), of(2, Metric::CpuPerSpan));
        assert!((event.arm.unwrap() - span.arm.unwrap() / 22.0).abs() < 1e-9);
        assert!((half_width(event) - half_width(span) / 22.0).abs() < 1e-9);
        let of_control = of(1, Metric::CpuPerEvent).difference.as_ref().unwrap_err();
        assert_eq!(of_control, &Missing::NothingDelivered(Item::Event));
    }

    #[test]
    fn log_records_divide_the_cost_of_an_arm_that_expects_them() {
        let mut run = fixture::records(3);
        for delivered in &mut run.delivered {
            delivered.log_records = 22 * delivered.completed_requests;
        }
        let has_cost = |of: &ArmAnalysis| of.metrics.contains_key(&Metric::CpuPerRecord);
        let unasked = analysed(&run).arms.iter().any(has_cost);
        assert!(!unasked, "they may be a few lines of a start");
        run.manifest.arms[2].expected = Some(Expected {
            records_per_request: Some(22.0),
            ..Expected::default()
        });
        let analysis = analysed(&run);
        assert!(!has_cost(&analysis.arms[1]), "nothing is expected of it");
        let metrics = &analysis.arms[2].metrics;
        let (record, request) = (
            &metrics[&Metric::CpuPerRecord],
            &metrics[&Metric::CpuPerRequest],
        );
        let estimate = |of: &MetricAnalysis| of.difference.as_ref().unwrap().absolute.estimate;
        assert!((estimate(record) - estimate(request) / 22.0).abs() < 1e-9);
    }

    /// A thousand requests of each window send one span of four events; those of the warm-up are
    /// lost.
    #[test]
    fn events_lost_in_the_warm_up_do_not_affect_the_cost() {
        let mut run = fixture::records(2);
        for delivered in &mut run.delivered {
            delivered.completed_requests = 80_000;
            delivered.spans = 20_000;
            delivered.root_spans = 20_000;
            delivered.span_events = 80_000;
            let first = delivered.launch * 10;
            delivered.in_windows = (first..first + 10)
                .flat_map(|block| [(block, 2), (block, 3)])
                .map(|(block, position)| DeliveredInWindow {
                    block,
                    position,
                    spans: 1000,
                    root_spans: 1000,
                })
                .collect();
        }
        let analysis = analysed(&run);
        let metrics = &analysis.arms[2].metrics;
        let cost = |metric| {
            metrics[&metric]
                .difference
                .as_ref()
                .unwrap()
                .absolute
                .estimate
        };
        let request = cost(Metric::CpuPerRequest);
        assert!((cost(Metric::CpuPerSpan) - request).abs() < 1e-9);
        assert!((cost(Metric::CpuPerEvent) - request / 4.0).abs() < 1e-9);
    }

    #[test]
    fn different_deliveries_widen_the_interval() {
        let mut run = fixture::records(14);
        let even = analysed(&run);
        for (i, delivered) in run.delivered.iter_mut().enumerate() {
            delivered.spans = [12_000, 32_000][i % 2];
        }
        let uneven = analysed(&run);
        let of = |analysis: &Analysis| half_width(&analysis.arms[2].metrics[&Metric::CpuPerSpan]);
        assert!(
            of(&uneven) > 1.5 * of(&even),
            "{} {}",
            of(&uneven),
            of(&even)
        );
    }

    #[test]
    fn missing_spans_or_bounds_are_reported() {
        type Spoil = fn(&mut fixture::Recorded);
        let table: [(&str, Spoil, u16, MissingCode); 5] = [
            ("the baseline", |_| {}, 0, MissingCode::Baseline),
            (
                "an arm that sends none",
                |_| {},
                1,
                MissingCode::NothingDelivered,
            ),
            (
                "an arm that lost all",
                |run| run.delivered.iter_mut().for_each(|d| d.spans = 0),
                2,
                MissingCode::NothingDelivered,
            ),
            (
                "launches that differ extremely",
                |run| run.delivered[0].spans = 1,
                2,
                MissingCode::TooFew,
            ),
            (
                "no requests",
                |run| {
                    run.delivered
                        .iter_mut()
                        .for_each(|d| d.completed_requests = 0)
                },
                2,
                MissingCode::NothingDelivered,
            ),
        ];
        for (what, spoil, arm, code) in table {
            let mut run = fixture::records(3);
            spoil(&mut run);
            let analysis = analysed(&run);
            let of_span = &analysis.arms[usize::from(arm)].metrics[&Metric::CpuPerSpan];
            let missing = of_span.difference.as_ref().unwrap_err();
            assert_eq!((missing.code(), of_span.arm), (code, None), "{what}");
        }
        let mut run = fixture::records(3);
        run.delivered.clear();
        let analysis = analysed(&run);
        let mut arms = analysis.arms.iter();
        assert!(arms.all(|arm| !arm.metrics.contains_key(&Metric::CpuPerSpan)));
    }
}
