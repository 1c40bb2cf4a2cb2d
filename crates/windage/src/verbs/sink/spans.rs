//! The first spans as text, read from kept bodies.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use windage_model::Unit::Microseconds;
use windage_report::number::short;
use windage_report::one_line;

/// Shows spans until the requested number has been shown.
pub(super) struct FirstSpans {
    dir: Option<PathBuf>,
    left: usize,
    /// The bodies found at the last look.
    bodies: BTreeMap<PathBuf, Body>,
}

/// A body file as it was found.
struct Body {
    stamp: Stamp,
    is_read: bool,
}

/// Modification time and length in bytes: they change if the file is replaced or still being
/// written.
type Stamp = (SystemTime, u64);

impl FirstSpans {
    /// Shows `count` spans from bodies that come into `dir` from now on.
    pub(super) fn new(dir: Option<PathBuf>, count: usize) -> FirstSpans {
        let there = dir.as_deref().map(trace_files).unwrap_or_default();
        let read = |stamp| Body {
            stamp,
            is_read: true,
        };
        FirstSpans {
            dir,
            left: count,
            bodies: there
                .into_iter()
                .filter_map(|file| Some((stamp(&file)?, file)))
                .map(|(stamp, file)| (file, read(stamp)))
                .collect(),
        }
    }

    /// Shows what has arrived since the last call. On standard error, because standard output is
    /// for the result.
    pub(super) fn show(&mut self) {
        anstream::eprint!("{}", self.texts(false));
    }

    /// The same, once nothing writes any more.
    pub(super) fn show_rest(&mut self) {
        anstream::eprint!("{}", self.texts(true));
    }

    /// Each complete body once: when it has not changed since the last look, or when nothing writes
    /// any more.
    fn texts(&mut self, is_over: bool) -> String {
        let mut text = String::new();
        let Some(dir) = self.dir.as_deref().filter(|_| self.left > 0) else {
            return text;
        };
        let mut bodies = BTreeMap::new();
        for file in trace_files(dir) {
            // The file was deleted in the meantime.
            let Some(stamp) = stamp(&file) else {
                continue;
            };
            let before = self.bodies.get(&file).filter(|body| body.stamp == stamp);
            let was_read = before.is_some_and(|body| body.is_read);
            let is_read = before.is_some() || is_over;
            if is_read && !was_read {
                text.push_str(&self.text_of(&file));
            }
            bodies.insert(file, Body { stamp, is_read });
        }
        self.bodies = bodies;
        text
    }

    fn text_of(&mut self, file: &Path) -> String {
        let body = std::fs::read(file).unwrap_or_default();
        let request = ExportTraceServiceRequest::decode(body.as_slice()).unwrap_or_default();
        let mut shown = String::new();
        for resource in &request.resource_spans {
            let attributes = resource.resource.as_ref().map(|r| r.attributes.as_slice());
            let service = service_name(attributes.unwrap_or_default());
            for scope in &resource.scope_spans {
                let scope_name = scope.scope.as_ref().map_or("", |scope| &scope.name);
                for span in scope.spans.iter().take(self.left) {
                    shown.push_str(&text(service, scope_name, span));
                }
                self.left = self.left.saturating_sub(scope.spans.len());
            }
        }
        shown
    }
}

/// `None` if the file is missing or still empty.
fn stamp(file: &Path) -> Option<Stamp> {
    let found = file.metadata().ok().filter(|found| found.len() > 0)?;
    Some((found.modified().ok()?, found.len()))
}

/// Bodies with spans, oldest first.
fn trace_files(dir: &Path) -> Vec<PathBuf> {
    let entries = |dir: &Path| {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let is_trace = |path: &PathBuf| path.to_string_lossy().ends_with("-traces.pb");
    let mut files: Vec<_> = entries(dir)
        .iter()
        .flat_map(|receiver| entries(receiver))
        .filter(is_trace)
        .collect();
    files.sort();
    files
}

fn service_name(attributes: &[KeyValue]) -> &str {
    let named = attributes.iter().find(|pair| pair.key == "service.name");
    match named.and_then(|pair| pair.value.as_ref()?.value.as_ref()) {
        Some(Value::StringValue(name)) => name,
        _ => "",
    }
}

/// One line for the span and one for each thing on it, without control characters.
fn text(service: &str, scope: &str, span: &Span) -> String {
    let lasted_ns = span
        .end_time_unix_nano
        .saturating_sub(span.start_time_unix_nano);
    let [name, service, scope] = [span.name.as_str(), service, scope].map(one_line);
    let mut text = format!(
        "{name} · {} · {service} · {scope}\n  trace {} span {} parent {}\n",
        short(Microseconds, lasted_ns as f64 / 1e3),
        hex(&span.trace_id),
        hex(&span.span_id),
        hex(&span.parent_span_id),
    );
    // Writing to a string can't fail.
    for pair in &span.attributes {
        let key = one_line(&pair.key);
        let _ = writeln!(text, "  {key} = {}", shown(pair.value.as_ref()));
    }
    for event in &span.events {
        let _ = writeln!(text, "  event {}", one_line(&event.name));
    }
    for link in &span.links {
        let _ = writeln!(text, "  link to {}", hex(&link.trace_id));
    }
    text
}

fn hex(id: &[u8]) -> String {
    if id.iter().all(|&byte| byte == 0) {
        return "none".to_owned();
    }
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn shown(value: Option<&AnyValue>) -> String {
    match value.and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => format!("{text:?}"),
        Some(Value::BoolValue(truth)) => truth.to_string(),
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::DoubleValue(number)) => number.to_string(),
        Some(Value::BytesValue(bytes)) => format!("{} bytes", bytes.len()),
        Some(Value::ArrayValue(list)) => format!("a list of {}", list.values.len()),
        Some(Value::KvlistValue(map)) => format!("a map of {}", map.values.len()),
        _ => "nothing".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans};

    use super::*;

    #[test]
    fn a_span_is_shown_with_its_contents_and_no_control_characters() {
        let attribute = |key: &str, value| KeyValue {
            key: key.into(),
            value: Some(AnyValue { value: Some(value) }),
            ..KeyValue::default()
        };
        let span = Span {
            name: "GET /\u{1b}[2J\nforged".into(),
            trace_id: vec![0xab; 16],
            span_id: vec![1; 8],
            start_time_unix_nano: 1_000,
            end_time_unix_nano: 1_501_000,
            attributes: vec![
                attribute("http.status", Value::IntValue(200)),
                attribute("a\nb", Value::StringValue("\u{1b}[2J\u{202e}\n".into())),
            ],
            ..Span::default()
        };
        assert_eq!(
            text("shop\n", "ht\u{202e}tp", &span),
            "GET / [2J forged · 1.50 ms · shop · ht tp\n  trace \
             abababababababababababababababab span 0101010101010101 parent none\n  http.status = \
             200\n  a b = \"\\u{1b}[2J\\u{202e}\\n\"\n"
        );
    }

    /// A body of spans with these names.
    fn body(names: &[&str]) -> Vec<u8> {
        let span = |name: &&str| Span {
            name: (*name).to_owned(),
            ..Span::default()
        };
        let request = ExportTraceServiceRequest {
            resource_spans: vec![ResourceSpans {
                scope_spans: vec![ScopeSpans {
                    spans: names.iter().map(span).collect(),
                    ..ScopeSpans::default()
                }],
                ..ResourceSpans::default()
            }],
        };
        request.encode_to_vec()
    }

    #[test]
    fn each_body_is_shown_once_and_only_when_complete() {
        let kept = tempfile::tempdir().unwrap();
        let receiver = kept.path().join("0-otlp-http");
        std::fs::create_dir(&receiver).unwrap();
        let put = |number: u32, bytes: &[u8]| {
            std::fs::write(receiver.join(format!("{number:08}-traces.pb")), bytes).unwrap();
        };
        let names = |text: &str| -> Vec<String> {
            let heads = text.lines().filter(|line| !line.starts_with(' '));
            heads
                .map(|head| head.split(' ').next().unwrap().to_owned())
                .collect()
        };
        let nothing: [&str; 0] = [];
        put(1, &body(&["of-another-run"]));
        let mut first = FirstSpans::new(Some(kept.path().to_owned()), 4);
        assert_eq!(names(&first.texts(false)), nothing, "nothing arrived");

        let whole = body(&["a", "b"]);
        put(2, &whole[..whole.len() - 1]);
        assert_eq!(names(&first.texts(false)), nothing, "it may still grow");
        put(2, &whole);
        assert_eq!(names(&first.texts(false)), nothing, "it has just grown");
        assert_eq!(names(&first.texts(false)), ["a", "b"]);
        assert_eq!(names(&first.texts(false)), nothing, "only once");

        // Replaces a file of the same name that another run has left.
        put(1, &body(&["of-this-run"]));
        put(3, b"\xff, no spans");
        assert_eq!(names(&first.texts(false)), nothing);
        assert_eq!(names(&first.texts(false)), ["of-this-run"]);
        put(4, &body(&["d", "e"]));
        assert_eq!(names(&first.texts(true)), ["d"], "only four were requested");
        assert_eq!(names(&first.texts(true)), nothing);
    }
}
