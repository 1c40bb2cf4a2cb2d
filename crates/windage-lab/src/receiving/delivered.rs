//! Converts what the sink received to what each arm delivered.

use windage_model::ArmIndex;
use windage_record::{
    Delivered, DeliveredByProtocol, DeliveredInWindow, DeliveredSource, ExportDelay, TraceSample,
};
use windage_sink::{Counts, Delivery, Protocol};

use crate::stretch::Stretch;

/// What the arms of one set delivered. Figures that the sink has only for the set go to an arm only
/// if it has the set to itself.
pub(super) fn of_set(
    arms: &[ArmIndex],
    arrived: &[Counts],
    delivery: &Delivery,
    is_full: bool,
) -> Vec<Delivered> {
    let ended = ended_by_arm(arms, delivery);
    let arrived_spans: Vec<Spans> = arrived.iter().map(Spans::of).collect();
    let spans = spans_by_arm(&ended, &arrived_spans);
    let mut delivered: Vec<Delivered> = arms
        .iter()
        .zip(arrived)
        .zip(spans)
        .map(|((&arm, counts), spans)| of_arm(arm, counts, spans, in_windows(arm, delivery)))
        .collect();
    if let [alone] = delivered.as_mut_slice() {
        alone.by_protocol = delivery.by_protocol.iter().map(by_protocol).collect();
        alone.sources = delivery.sources.iter().map(source).collect();
        alone.delay = delivery.delay.map(delay);
        // An arm that sent no span has no figures on traces.
        let was_looked_at = is_full && alone.spans > 0;
        alone.traces = was_looked_at.then_some(traces(&delivery.traces));
    }
    delivered
}

fn of_arm(
    arm: ArmIndex,
    counts: &Counts,
    spans: Spans,
    in_windows: Vec<DeliveredInWindow>,
) -> Delivered {
    Delivered {
        arm,
        export_requests: counts.requests,
        spans: spans.spans,
        root_spans: spans.root_spans,
        span_events: counts.span_events,
        links: counts.links,
        attributes: counts.attributes,
        metric_points: counts.metric_points,
        log_records: counts.log_records,
        wire_bytes: counts.wire_bytes,
        body_bytes: counts.body_bytes,
        rejected: counts.rejected,
        malformed: counts.malformed,
        profiles: counts.profiles,
        side_requests: counts.side_requests,
        refused: counts.refused,
        refused_spans: counts.refused_spans,
        refused_others: counts.refused_others,
        retried_requests: counts.retried_requests,
        repeated_spans: counts.repeated_spans,
        in_windows,
        ..Delivered::default()
    }
}

/// Spans, and the root spans among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Spans {
    spans: u64,
    root_spans: u64,
}

impl Spans {
    fn of(counts: &Counts) -> Spans {
        Spans {
            spans: counts.spans,
            root_spans: counts.root_spans,
        }
    }
}

/// Spans by the arm in whose stretches they ended.
fn ended_by_arm(arms: &[ArmIndex], delivery: &Delivery) -> Vec<Spans> {
    let mut ended = vec![Spans::default(); arms.len()];
    for stretch in &delivery.stretches {
        let of = Stretch::of_label(stretch.label).arm;
        if let Some(at) = arms.iter().position(|arm| *arm == of) {
            ended[at].spans += stretch.spans;
            ended[at].root_spans += stretch.root_spans;
        }
    }
    ended
}

/// A span counts for the arm in whose stretch it ended. A span without an end time counts for the
/// arm that had load when it arrived.
fn spans_by_arm(ended: &[Spans], arrived: &[Spans]) -> Vec<Spans> {
    let column = |of: fn(&Spans) -> u64| {
        let ended: Vec<u64> = ended.iter().map(of).collect();
        let arrived: Vec<u64> = arrived.iter().map(of).collect();
        with_the_rest(ended, &arrived)
    };
    let spans = column(|s| s.spans);
    let root_spans = column(|s| s.root_spans);
    spans
        .into_iter()
        .zip(root_spans)
        .map(|(spans, root_spans)| Spans { spans, root_spans })
        .collect()
}

/// Where more arrived than ended, adds the difference to `ended`, so that the sum equals that of
/// `arrived`.
fn with_the_rest(mut ended: Vec<u64>, arrived: &[u64]) -> Vec<u64> {
    let all: u64 = arrived.iter().sum();
    let mut rest = all.saturating_sub(ended.iter().sum());
    for (ended, arrived) in ended.iter_mut().zip(arrived) {
        let more = arrived.saturating_sub(*ended).min(rest);
        *ended += more;
        rest -= more;
    }
    ended
}

fn in_windows(arm: ArmIndex, delivery: &Delivery) -> Vec<DeliveredInWindow> {
    let of_window = |stretch: &windage_sink::Stretch| {
        let of = Stretch::of_label(stretch.label);
        let (block, position) = of.window.filter(|_| of.arm == arm)?;
        Some(DeliveredInWindow {
            block,
            position,
            spans: stretch.spans,
            root_spans: stretch.root_spans,
        })
    };
    let mut windows: Vec<_> = delivery.stretches.iter().filter_map(of_window).collect();
    windows.sort_by_key(|window| (window.block, window.position));
    windows
}

fn by_protocol((protocol, counts): &(Protocol, Counts)) -> DeliveredByProtocol {
    DeliveredByProtocol {
        protocol: protocol.to_string(),
        export_requests: counts.requests,
        spans: counts.spans,
        metric_points: counts.metric_points,
        log_records: counts.log_records,
        wire_bytes: counts.wire_bytes,
        body_bytes: counts.body_bytes,
    }
}

fn source(source: &windage_sink::Source) -> DeliveredSource {
    DeliveredSource {
        service: source.service.clone(),
        scope: source.scope.clone(),
        spans: source.items.spans,
        span_events: source.items.span_events,
        metric_points: source.items.metric_points,
        log_records: source.items.log_records,
    }
}

fn delay(delay: windage_sink::Delay) -> ExportDelay {
    ExportDelay {
        spans: delay.spans,
        p50_ns: delay.p50_ns,
        p90_ns: delay.p90_ns,
        p99_ns: delay.p99_ns,
        max_ns: delay.max_ns,
    }
}

fn traces(sample: &windage_sink::TraceSample) -> TraceSample {
    TraceSample {
        one_in: sample.one_in,
        traces: sample.traces,
        complete: sample.complete,
        spans: sample.spans,
        duplicates: sample.duplicates,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windage_model::Place;

    const ONE: ArmIndex = ArmIndex(3);
    const OTHER: ArmIndex = ArmIndex(5);

    fn stretch(of: Stretch, spans: u64) -> windage_sink::Stretch {
        windage_sink::Stretch {
            label: of.label(),
            spans,
            root_spans: spans / 2,
        }
    }

    fn window(arm: ArmIndex, block: u32, position: u32) -> Stretch {
        Stretch::measured(Place {
            launch: 0,
            round: 0,
            block,
            position,
            arm,
        })
    }

    fn counts(spans: u64) -> Counts {
        Counts {
            requests: 7,
            spans,
            root_spans: spans / 2,
            wire_bytes: 1000,
            ..Counts::default()
        }
    }

    #[test]
    fn spans_without_an_end_time_count_where_they_arrived() {
        type Row<'a> = (&'a [u64], &'a [u64], &'a [u64], &'a str);
        let table: [Row; 6] = [
            (&[60, 40], &[90, 10], &[60, 40], "all have an end time"),
            (&[0, 0], &[90, 10], &[90, 10], "none has an end time"),
            (
                &[60, 30],
                &[95, 5],
                &[70, 30],
                "ten have none and arrived under load on the first",
            ),
            (
                &[10, 80],
                &[50, 50],
                &[20, 80],
                "where more arrived than ended",
            ),
            (&[0, 0], &[0, 0], &[0, 0], "nothing arrived"),
            (&[100], &[120], &[120], "an arm with a set of its own"),
        ];
        for (ended, arrived, expected, why) in table {
            assert_eq!(with_the_rest(ended.to_vec(), arrived), expected, "{why}");
        }
    }

    #[test]
    fn spans_of_a_shared_set_count_for_the_arm_in_whose_stretch_they_ended() {
        let delivery = Delivery {
            by_protocol: vec![(Protocol::OtlpHttp, counts(100))],
            stretches: vec![
                stretch(Stretch::unmeasured(ONE), 10),
                stretch(window(OTHER, 1, 0), 20),
                stretch(window(ONE, 0, 3), 40),
                stretch(window(ONE, 0, 1), 30),
            ],
            ..Delivery::default()
        };
        // The batch of the first arm's last window arrived when the other had load.
        let delivered = of_set(&[ONE, OTHER], &[counts(30), counts(70)], &delivery, true);
        let [one, other] = delivered.as_slice() else {
            panic!("two arms: {delivered:?}")
        };
        assert_eq!((one.arm, one.spans, one.root_spans), (ONE, 80, 40));
        assert_eq!((other.arm, other.spans, other.root_spans), (OTHER, 20, 10));
        assert_eq!(
            (one.export_requests, one.wire_bytes),
            (7, 1000),
            "by arrival"
        );
        let in_one: Vec<_> = one
            .in_windows
            .iter()
            .map(|w| (w.block, w.position, w.spans, w.root_spans))
            .collect();
        assert_eq!(
            in_one,
            [(0, 1, 30, 15), (0, 3, 40, 20)],
            "in order, measured alone"
        );
        assert_eq!(other.in_windows.len(), 1);
        assert!(
            one.by_protocol.is_empty() && one.traces.is_none(),
            "of both together"
        );
    }

    #[test]
    fn an_arm_with_a_set_of_its_own_gets_every_figure() {
        let delivery = Delivery {
            by_protocol: vec![
                (Protocol::OtlpGrpc, counts(60)),
                (Protocol::Zipkin, counts(40)),
            ],
            sources: vec![windage_sink::Source {
                service: "shop".to_owned(),
                scope: "http".to_owned(),
                items: windage_sink::SourceItems {
                    spans: 100,
                    ..windage_sink::SourceItems::default()
                },
            }],
            stretches: vec![stretch(window(ONE, 2, 1), 90)],
            delay: Some(windage_sink::Delay {
                spans: 100,
                p50_ns: 1,
                p90_ns: 2,
                p99_ns: 3,
                max_ns: 4,
            }),
            traces: windage_sink::TraceSample {
                one_in: 2,
                traces: 25,
                complete: 24,
                spans: 50,
                duplicates: 1,
            },
            ..Delivery::default()
        };
        let all = delivery.total();
        assert_eq!(all, counts(60).plus(&counts(40)));
        let delivered = of_set(&[ONE], &[all], &delivery, true);
        let [one] = delivered.as_slice() else {
            panic!("one arm: {delivered:?}")
        };
        assert_eq!((one.spans, one.export_requests), (100, 14));
        let protocols: Vec<_> = one
            .by_protocol
            .iter()
            .map(|p| (p.protocol.as_str(), p.spans))
            .collect();
        assert_eq!(protocols, [("otlp-grpc", 60), ("zipkin", 40)]);
        assert_eq!(
            (one.sources[0].service.as_str(), one.sources[0].spans),
            ("shop", 100)
        );
        assert_eq!(one.delay.map(|d| (d.p50_ns, d.max_ns)), Some((1, 4)));
        assert_eq!(one.traces.map(|t| (t.one_in, t.complete)), Some((2, 24)));
        assert_eq!(one.in_windows[0].spans, 90);
        let counts_alone = of_set(&[ONE], &[all], &delivery, false);
        assert_eq!(counts_alone[0].traces, None, "traces were not sampled");
    }
}
