//! `arms[].fidelity` of `analysis.json`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{IntervalWire, finite};
use crate::{
    DeliveredByProtocol, DeliveredSource, ExportDelay, Fidelity, InWindows, KindCounts, Loss,
    TraceShare,
};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FidelityWire {
    pub of: String,
    pub expected: Option<f64>,
    pub sampling_sd: Option<f64>,
    pub delivered: u64,
    pub lost: Option<f64>,
    pub beyond_sampling: Option<bool>,
    pub events: Option<KindWire>,
    pub records: Option<KindWire>,
    pub points: Option<KindWire>,
    pub bytes_per_span: Option<f64>,
    pub wire_bytes_per_span: Option<f64>,
    pub backend: String,
    pub in_windows: Option<InWindowsWire>,
    pub by_reason: Vec<LossWire>,
    pub reported_beyond_lost: Option<f64>,
    /// Each count under its own name; when reading, also any unknown keys.
    #[serde(flatten)]
    pub counts: BTreeMap<String, serde_json::Value>,
    pub traces: Option<TracesWire>,
    pub export_delay: Option<DelayWire>,
    pub by_protocol: Vec<ProtocolWire>,
    pub by_source: Vec<SourceWire>,
    pub sources_left_out: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KindWire {
    pub expected: Option<f64>,
    pub delivered: u64,
    pub lost: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InWindowsWire {
    pub expected: Option<f64>,
    pub delivered: u64,
    pub lost: Option<f64>,
    pub completed_requests: u64,
    pub spans: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LossWire {
    pub code: String,
    pub reason: String,
    pub lost: Option<f64>,
    pub of: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TracesWire {
    pub one_in: u64,
    pub sampled: u64,
    pub complete: Option<IntervalWire>,
    pub spans: u64,
    pub duplicates: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DelayWire {
    pub p50_us: f64,
    pub p90_us: f64,
    pub p99_us: f64,
    pub max_us: f64,
    pub spans: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProtocolWire {
    pub protocol: String,
    pub export_requests: u64,
    pub spans: u64,
    pub metric_points: u64,
    pub log_records: u64,
    pub wire_bytes: u64,
    pub body_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SourceWire {
    pub service: String,
    pub scope: String,
    pub spans: u64,
    pub span_events: u64,
    pub metric_points: u64,
    pub log_records: u64,
}

impl From<&Fidelity> for FidelityWire {
    fn from(f: &Fidelity) -> Self {
        let counts = f.counts.named().into_iter();
        FidelityWire {
            of: f.of.as_str().to_owned(),
            expected: f.expected.and_then(finite),
            sampling_sd: f.sampling_sd.and_then(finite),
            delivered: f.delivered,
            lost: f.lost.and_then(finite),
            beyond_sampling: f.beyond_sampling,
            events: f.events.map(Into::into),
            points: f.points.map(Into::into),
            records: f.records.map(Into::into),
            bytes_per_span: f.bytes_per_span.and_then(finite),
            wire_bytes_per_span: f.wire_bytes_per_span.and_then(finite),
            backend: f.backend.to_string().to_string(),
            in_windows: f.in_windows.map(Into::into),
            by_reason: f.by_reason.iter().map(Into::into).collect(),
            reported_beyond_lost: f.reported_beyond_lost.and_then(finite),
            counts: counts
                .map(|(name, n)| (name.to_owned(), n.into()))
                .collect(),
            traces: f.traces.as_ref().map(Into::into),
            export_delay: f.export_delay.map(Into::into),
            by_protocol: f.by_protocol.iter().map(Into::into).collect(),
            by_source: f.by_source.iter().map(Into::into).collect(),
            sources_left_out: f.sources_left_out,
        }
    }
}

impl From<KindCounts> for KindWire {
    fn from(of: KindCounts) -> Self {
        KindWire {
            expected: of.expected.and_then(finite),
            delivered: of.delivered,
            lost: of.lost.and_then(finite),
        }
    }
}

impl From<InWindows> for InWindowsWire {
    fn from(of: InWindows) -> Self {
        InWindowsWire {
            expected: of.expected.and_then(finite),
            delivered: of.delivered,
            lost: of.lost.and_then(finite),
            completed_requests: of.completed_requests,
            spans: of.spans,
        }
    }
}

impl From<&Loss> for LossWire {
    fn from(loss: &Loss) -> Self {
        LossWire {
            code: loss.reason.code().to_owned(),
            reason: loss.reason.to_string().to_string(),
            lost: finite(loss.lost),
            of: loss.of.as_str().to_owned(),
        }
    }
}

impl From<&TraceShare> for TracesWire {
    fn from(traces: &TraceShare) -> Self {
        TracesWire {
            one_in: traces.one_in,
            sampled: traces.sampled,
            complete: traces.complete.as_ref().map(Into::into),
            spans: traces.spans,
            duplicates: traces.duplicates,
        }
    }
}

impl From<ExportDelay> for DelayWire {
    fn from(delay: ExportDelay) -> Self {
        let us = |ns: u64| ns as f64 / 1e3;
        DelayWire {
            p50_us: us(delay.p50_ns),
            p90_us: us(delay.p90_ns),
            p99_us: us(delay.p99_ns),
            max_us: us(delay.max_ns),
            spans: delay.spans,
        }
    }
}

impl From<&DeliveredByProtocol> for ProtocolWire {
    fn from(of: &DeliveredByProtocol) -> Self {
        ProtocolWire {
            protocol: of.protocol.clone(),
            export_requests: of.export_requests,
            spans: of.spans,
            metric_points: of.metric_points,
            log_records: of.log_records,
            wire_bytes: of.wire_bytes,
            body_bytes: of.body_bytes,
        }
    }
}

impl From<&DeliveredSource> for SourceWire {
    fn from(source: &DeliveredSource) -> Self {
        SourceWire {
            service: source.service.clone(),
            scope: source.scope.clone(),
            spans: source.spans,
            span_events: source.span_events,
            metric_points: source.metric_points,
            log_records: source.log_records,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use windage_record::{Drops, TraceSample};

    use crate::{analyse, fixture};

    #[test]
    fn old_keys_are_kept_beside_new_ones() {
        let mut run = fixture::records(1);
        let delivered = &mut run.delivered[0];
        delivered.spans -= 100;
        delivered.root_spans -= 100;
        delivered.refused_spans = 900;
        delivered.drops = vec![Drops {
            reason: "queue full".to_owned(),
            lost: 60,
        }];
        delivered.traces = Some(TraceSample {
            one_in: 1,
            traces: 200,
            complete: 199,
            spans: 400,
            duplicates: 3,
        });
        let analysis = analyse(&run.gathered(), std::iter::empty(), std::iter::empty());
        let arms = &fixture::to_json(&analysis)["arms"];
        assert_eq!(arms[0]["fidelity"], Value::Null);
        let fidelity = &arms[2]["fidelity"];
        let reported =
            json!({"code": "reported", "reason": "queue full", "lost": 60.0, "of": "items"});
        let refused = json!({
            "code": "refused", "reason": "refused by the backend", "lost": 40.0, "of": "spans"
        });
        let table = [
            ("of", json!("traces")),
            ("expected", json!(22_000.0)),
            ("delivered", json!(21_900)),
            ("lost", json!(100.0)),
            ("beyond_sampling", json!(true)),
            ("backend", json!("ok")),
            ("by_reason", json!([reported, refused])),
            ("reported_beyond_lost", Value::Null),
            ("refused_spans", json!(900)),
            ("retried_requests", json!(0)),
            ("completed_requests", json!(22_000)),
            ("in_windows", Value::Null),
            ("export_delay", Value::Null),
            ("by_protocol", json!([])),
        ];
        for (key, expected) in table {
            assert_eq!(fidelity[key], expected, "{key}");
        }
        assert_eq!(fidelity["traces"]["complete"]["estimate"], json!(0.995));
        assert_eq!(fidelity["traces"]["duplicates"], json!(3));
        let of_span = &arms[1]["metrics"]["cpu_per_span"];
        assert_eq!(of_span["missing"]["code"], json!("nothing_delivered"));
        let of_span = &arms[2]["metrics"]["cpu_per_span"];
        assert_eq!(
            (&of_span["baseline"], &of_span["missing"]["code"]),
            (&Value::Null, &json!("baseline_zero"))
        );
    }
}
