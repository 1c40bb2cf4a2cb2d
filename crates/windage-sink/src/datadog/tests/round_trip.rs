//! Any list of traces is counted exactly, in either version.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use rmp::encode::{
    write_array_len, write_bin, write_bool, write_f32, write_f64, write_map_len, write_nil,
    write_sint, write_str, write_uint,
};

use super::{DatadogVersion, count, count_both};
use crate::Counts;

/// A span as a tracer has it.
#[derive(Clone, Debug)]
struct Written {
    service: Option<String>,
    ids: [u64; 2],
    parent_id: Option<u64>,
    start_ns: i64,
    duration_ns: i64,
    meta: Vec<(String, String)>,
    metrics: Vec<(String, f64)>,
    links: usize,
    /// The fields below exist in version 0.4 only.
    events: usize,
    meta_struct: Vec<(String, Vec<u8>)>,
    unknown: bool,
}

fn key() -> impl Strategy<Value = String> {
    const CHOSEN: [&str; 7] = [
        "_dd.p.dm",
        "_dd.top_level",
        "_dd.",
        "_d",
        "http.route",
        "",
        "events",
    ];
    prop_oneof![select(&CHOSEN[..]).prop_map(str::to_owned), "[a-z.]{0,40}"]
}

fn span() -> impl Strategy<Value = Written> {
    let ids = (
        any::<[u64; 2]>(),
        option::of(prop_oneof![Just(0), any::<u64>()]),
    );
    let times = (any::<i64>(), any::<i64>());
    let tags = (
        vec((key(), "\\PC{0,40}"), 0..20),
        vec((key(), any::<f64>()), 0..5),
        vec((key(), vec(any::<u8>(), 0..300)), 0..3),
    );
    let held = (0..20_usize, 0..3_usize, any::<bool>());
    let service = option::of("[a-z]{0,9}");
    (service, ids, times, tags, held).prop_map(|(service, ids, times, tags, held)| Written {
        service,
        ids: ids.0,
        parent_id: ids.1,
        start_ns: times.0,
        duration_ns: times.1,
        meta: tags.0,
        metrics: tags.1,
        meta_struct: tags.2,
        events: held.0,
        links: held.1,
        unknown: held.2,
    })
}

fn traces() -> impl Strategy<Value = Vec<Vec<Written>>> {
    vec(vec(span(), 0..5), 0..20)
}

fn few_traces() -> impl Strategy<Value = Vec<Vec<Written>>> {
    vec(vec(span(), 0..3), 0..3)
}

fn len<T>(of: &[T]) -> u32 {
    u32::try_from(of.len()).unwrap()
}

fn tags<T>(entries: &[(String, T)]) -> u64 {
    let own = |(key, _): &&(String, T)| !key.starts_with("_dd.");
    entries.iter().filter(own).count() as u64
}

fn expected(traces: &[Vec<Written>], version: DatadogVersion) -> Counts {
    let mut counts = Counts::default();
    for span in traces.iter().flatten() {
        counts.spans += 1;
        counts.root_spans += u64::from(span.parent_id.unwrap_or(0) == 0);
        counts.links += span.links as u64;
        counts.attributes += tags(&span.meta) + tags(&span.metrics);
        if version == DatadogVersion::V04 {
            counts.span_events += span.events as u64;
            counts.attributes += tags(&span.meta_struct);
        }
    }
    counts
}

fn write_v04(traces: &[Vec<Written>]) -> Vec<u8> {
    let mut body = Vec::new();
    write_array_len(&mut body, len(traces)).unwrap();
    for trace in traces {
        write_array_len(&mut body, len(trace)).unwrap();
        for span in trace {
            write_span(&mut body, span);
        }
    }
    body
}

fn write_span(body: &mut Vec<u8>, span: &Written) {
    let fields = 10 + u32::from(span.parent_id.is_some()) + 2 * u32::from(span.unknown);
    write_map_len(body, fields).unwrap();
    write_str(body, "meta").unwrap();
    write_map_len(body, len(&span.meta)).unwrap();
    for (key, value) in &span.meta {
        write_str(body, key).unwrap();
        // Tracers write both.
        match value.len() % 2 {
            0 => write_str(body, value).unwrap(),
            _ => write_bin(body, value.as_bytes()).unwrap(),
        }
    }
    write_str(body, "metrics").unwrap();
    write_map_len(body, len(&span.metrics)).unwrap();
    for (key, value) in &span.metrics {
        write_str(body, key).unwrap();
        write_number(body, *value);
    }
    write_str(body, "service").unwrap();
    match &span.service {
        Some(service) => write_str(body, service).unwrap(),
        None => write_nil(body).unwrap(),
    }
    for (key, id) in [("trace_id", span.ids[0]), ("span_id", span.ids[1])] {
        write_str(body, key).unwrap();
        write_uint(body, id).unwrap();
    }
    for (key, ns) in [("start", span.start_ns), ("duration", span.duration_ns)] {
        write_str(body, key).unwrap();
        write_sint(body, ns).unwrap();
    }
    if let Some(parent_id) = span.parent_id {
        write_str(body, "parent_id").unwrap();
        write_uint(body, parent_id).unwrap();
    }
    if span.unknown {
        write_str(body, "sampled").unwrap();
        write_bool(body, true).unwrap();
        write_str(body, "next_year").unwrap();
        body.extend([0x93, 0x81, 0xc0, 0x92, 0xd4, 1, 2, 0xc2, 0xa1, b'x', 0x80]);
    }
    write_held(body, span);
}

/// Writes the lists and maps that only version 0.4 has.
fn write_held(body: &mut Vec<u8>, span: &Written) {
    for (key, count) in [("span_events", span.events), ("span_links", span.links)] {
        write_str(body, key).unwrap();
        write_array_len(body, u32::try_from(count).unwrap()).unwrap();
        for _ in 0..count {
            write_map_len(body, 2).unwrap();
            write_str(body, "trace_id").unwrap();
            write_uint(body, span.ids[0]).unwrap();
            write_str(body, "attributes").unwrap();
            write_map_len(body, 1).unwrap();
            write_str(body, "k").unwrap();
            write_f32(body, 0.5).unwrap();
        }
    }
    write_str(body, "meta_struct").unwrap();
    write_map_len(body, len(&span.meta_struct)).unwrap();
    for (key, value) in &span.meta_struct {
        write_str(body, key).unwrap();
        write_bin(body, value).unwrap();
    }
}

/// As an integer if it is one, as tracers do to save bytes.
fn write_number(body: &mut Vec<u8>, value: f64) {
    if value.trunc() == value && value.abs() < 1e15 {
        write_sint(body, value as i64).unwrap();
    } else {
        write_f64(body, value).unwrap();
    }
}

/// The strings of a body, each once.
#[derive(Default)]
struct Table(Vec<String>);

impl Table {
    fn write(&mut self, body: &mut Vec<u8>, string: &str) {
        let known = self.0.iter().position(|known| known == string);
        let place = known.unwrap_or_else(|| {
            self.0.push(string.to_owned());
            self.0.len() - 1
        });
        write_uint(body, place as u64).unwrap();
    }
}

fn write_v05(traces: &[Vec<Written>]) -> Vec<u8> {
    let mut table = Table::default();
    let mut rest = Vec::new();
    write_array_len(&mut rest, len(traces)).unwrap();
    for trace in traces {
        write_array_len(&mut rest, len(trace)).unwrap();
        for span in trace {
            write_span_v05(&mut rest, span, &mut table);
        }
    }
    let mut body = vec![0x92];
    write_array_len(&mut body, len(&table.0)).unwrap();
    for string in &table.0 {
        write_str(&mut body, string).unwrap();
    }
    [body, rest].concat()
}

fn write_span_v05(body: &mut Vec<u8>, span: &Written, table: &mut Table) {
    write_array_len(body, 12).unwrap();
    for string in [
        span.service.as_deref().unwrap_or_default(),
        "name",
        "a resource",
    ] {
        table.write(body, string);
    }
    for id in [span.ids[0], span.ids[1], span.parent_id.unwrap_or(0)] {
        write_uint(body, id).unwrap();
    }
    for ns in [span.start_ns, span.duration_ns] {
        write_sint(body, ns).unwrap();
    }
    write_sint(body, -1).unwrap();
    let links = vec![r#"{"trace_id":"0a","span_id":"0b"}"#; span.links].join(",");
    write_map_len(body, len(&span.meta) + 1).unwrap();
    for (key, value) in &span.meta {
        table.write(body, key);
        table.write(body, value);
    }
    table.write(body, "_dd.span_links");
    table.write(body, &format!("[{links}]"));
    write_map_len(body, len(&span.metrics)).unwrap();
    for (key, value) in &span.metrics {
        table.write(body, key);
        write_number(body, *value);
    }
    table.write(body, "web");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn what_is_written_is_counted(traces in traces()) {
        let counted = count_both(&write_v04(&traces), &write_v05(&traces));
        let written = [DatadogVersion::V04, DatadogVersion::V05].map(|v| Ok(expected(&traces, v)));
        prop_assert_eq!(counted, written);
    }

    #[test]
    fn a_body_that_is_cut_or_goes_on_is_refused(traces in few_traces()) {
        for (version, body) in [
            (DatadogVersion::V04, write_v04(&traces)),
            (DatadogVersion::V05, write_v05(&traces)),
        ] {
            for end in 0..body.len() {
                let counted = count(version, &body[..end]);
                prop_assert!(counted.is_err(), "{version:?}, cut at {end} of {}", body.len());
            }
            let more = [&body[..], &[0xc0]].concat();
            prop_assert!(count(version, &more).is_err());
        }
    }

    #[test]
    fn a_damaged_body_is_harmless(
        traces in few_traces(),
        damage in vec((any::<Index>(), any::<u8>()), 1..4),
    ) {
        for (version, mut body) in [
            (DatadogVersion::V04, write_v04(&traces)),
            (DatadogVersion::V05, write_v05(&traces)),
        ] {
            for (at, byte) in &damage {
                let at = at.index(body.len());
                body[at] = *byte;
            }
            // A span takes at least a byte, whatever the damage.
            if let Ok(counts) = count(version, &body) {
                prop_assert!(counts.spans <= body.len() as u64);
            }
        }
    }

    #[test]
    fn any_bytes_are_harmless(body in vec(any::<u8>(), 0..200)) {
        for counts in count_both(&body, &body).into_iter().flatten() {
            prop_assert!(counts.spans <= body.len() as u64);
        }
    }
}
