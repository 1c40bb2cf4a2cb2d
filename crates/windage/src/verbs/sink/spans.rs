//! The first spans as text, read from the bodies that were kept.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

use crate::figures::time;

/// Shows spans until it has shown as many as were asked for.
pub(super) struct FirstSpans {
    dir: Option<PathBuf>,
    left: usize,
    shown: Vec<PathBuf>,
}

impl FirstSpans {
    /// Shows `count` spans of bodies that come into `dir` from now on.
    pub(super) fn new(dir: Option<PathBuf>, count: usize) -> FirstSpans {
        FirstSpans {
            left: count,
            shown: dir.as_deref().map(trace_files).unwrap_or_default(),
            dir,
        }
    }

    /// Shows what has come since the last time. To standard error: standard output is for what
    /// came of it all.
    pub(super) fn show(&mut self) {
        let Some(dir) = self.dir.clone().filter(|_| self.left > 0) else {
            return;
        };
        for file in trace_files(&dir) {
            if self.shown.contains(&file) {
                continue;
            }
            // A file that gave way in the meantime, or is being written, is none to show.
            let body = std::fs::read(&file).unwrap_or_default();
            if body.is_empty() {
                continue;
            }
            if let Ok(request) = ExportTraceServiceRequest::decode(body.as_slice()) {
                self.show_request(&request);
                self.shown.push(file);
            }
            if self.left == 0 {
                return;
            }
        }
    }

    fn show_request(&mut self, request: &ExportTraceServiceRequest) {
        for resource in &request.resource_spans {
            let attributes = resource.resource.as_ref().map(|r| r.attributes.as_slice());
            let service = service_name(attributes.unwrap_or_default());
            for scope in &resource.scope_spans {
                let scope_name = scope.scope.as_ref().map_or("", |scope| &scope.name);
                for span in scope.spans.iter().take(self.left) {
                    anstream::eprint!("{}", text(service, scope_name, span));
                }
                self.left = self.left.saturating_sub(scope.spans.len());
            }
        }
    }
}

/// Bodies with spans, the oldest first.
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

fn text(service: &str, scope: &str, span: &Span) -> String {
    let lasted_ns = span
        .end_time_unix_nano
        .saturating_sub(span.start_time_unix_nano);
    let mut text = format!(
        "{} · {} · {service} · {scope}\n  trace {} span {} parent {}\n",
        span.name,
        time(lasted_ns as f64 / 1e3),
        hex(&span.trace_id),
        hex(&span.span_id),
        hex(&span.parent_span_id),
    );
    // Writing to a string can't fail.
    for pair in &span.attributes {
        let _ = writeln!(text, "  {} = {}", pair.key, shown(pair.value.as_ref()));
    }
    for event in &span.events {
        let _ = writeln!(text, "  event {}", event.name);
    }
    for link in &span.links {
        let _ = writeln!(text, "  link to {}", hex(&link.trace_id));
    }
    text.chars().map(visible).collect()
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

/// What others wrote must not steer the terminal.
fn visible(letter: char) -> char {
    if letter.is_control() && letter != '\n' {
        '\u{fffd}'
    } else {
        letter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_shown_with_what_is_on_it_and_nothing_that_steers() {
        let span = Span {
            name: "GET /\u{1b}[2J".into(),
            trace_id: vec![0xab; 16],
            span_id: vec![1; 8],
            start_time_unix_nano: 1_000,
            end_time_unix_nano: 1_501_000,
            attributes: vec![KeyValue {
                key: "http.status".into(),
                value: Some(AnyValue {
                    value: Some(Value::IntValue(200)),
                }),
                ..KeyValue::default()
            }],
            ..Span::default()
        };
        assert_eq!(
            text("shop", "http", &span),
            "GET /\u{fffd}[2J · 1.50 ms · shop · http\n  trace \
             abababababababababababababababab span 0101010101010101 parent none\n  http.status = \
             200\n"
        );
    }
}
