//! Writes the seeds that can't be typed: `cargo run --locked -p windage-fuzz-targets --example seeds`.
//! Existing seeds are overwritten with the same bytes, unless a format has changed.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{
    Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics,
    Sum,
};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, span};
use prost::Message;
use windage_fuzz_targets::{Folder, frames};
use windage_model::{
    ArmCpu, ArmIndex, CpuSource, Exchanges, Place, TurnBlock, TurnOrder, Warning, Window,
    WindowCpu, fixtures,
};
use windage_record::{
    Delivered, Ending, Entry, JournalWriter, Launch, LaunchArmEnd, LaunchEnd, LaunchedArm, Timing,
};

fn main() {
    for (name, signal, body) in [
        ("traces", b't', traces().encode_to_vec()),
        ("metrics", b'm', metrics().encode_to_vec()),
        ("logs", b'l', logs().encode_to_vec()),
        // A gauge of one point, then a sum of two, in the same metric: the sum replaces it.
        (
            "two_kinds",
            b'm',
            b"\x0a\x0e\x12\x0c\x12\x0a\x2a\x02\x0a\x00\x3a\x04\x0a\x00\x0a\x00".to_vec(),
        ),
        // A group in a span; OTLP has no groups.
        ("group", b't', vec![0x0a, 6, 0x12, 4, 0x12, 2, 0x7b, 0x7c]),
    ] {
        write("otlp", name, &[&[signal], body.as_slice()].concat());
    }
    let whole = journal();
    let torn = &whole[..whole.len() - 30];
    write("journal", "whole", &[b"=", whole.as_slice()].concat());
    write("journal", "torn", &[b"=", torn].concat());
    write(
        "journal",
        "records",
        &[b"+", frames::compact(&whole).as_slice()].concat(),
    );
    let log = histogram_log();
    let payload = plain_histogram();
    write("histograms", "log", &[b"=", log.as_slice()].concat());
    write(
        "histograms",
        "payload",
        &[b"+", payload.as_slice()].concat(),
    );
    // A record of an unknown kind.
    write("journal", "unknown", b"+\x63\x02ab");
    let manifest = manifest();
    let half = &manifest[..manifest.len() / 2];
    write("manifest", "whole", &manifest);
    write("manifest", "cut", half);
    for (name, frames) in grpc() {
        write("grpc", name, &[b"+", frames.as_slice()].concat());
    }
}

fn write(target: &str, name: &str, bytes: &[u8]) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/seeds")
        .join(target)
        .join(name);
    if let Err(error) = fs::write(&path, bytes) {
        panic!("{}: {error}", path.display());
    }
}

fn attribute(key: &str, value: &str) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue {
            value: Some(Value::StringValue(value.to_owned())),
        }),
        ..KeyValue::default()
    }
}

fn traces() -> ExportTraceServiceRequest {
    let root = Span {
        trace_id: vec![7; 16],
        span_id: vec![1; 8],
        name: "GET /".to_owned(),
        start_time_unix_nano: 1_763_632_800_000_000_000,
        end_time_unix_nano: 1_763_632_800_005_000_000,
        attributes: vec![attribute("http.route", "/")],
        events: vec![span::Event::default()],
        ..Span::default()
    };
    let child = Span {
        span_id: vec![2; 8],
        parent_span_id: vec![1; 8],
        links: vec![span::Link::default()],
        ..root.clone()
    };
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            scope_spans: vec![ScopeSpans {
                spans: vec![root, child],
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        }],
    }
}

fn metrics() -> ExportMetricsServiceRequest {
    let metric = |name: &str, data| Metric {
        name: name.to_owned(),
        data: Some(data),
        ..Metric::default()
    };
    let numbers = vec![NumberDataPoint::default(); 2];
    let (data_points, one) = (numbers, vec![HistogramDataPoint::default()]);
    let all = vec![
        metric(
            "up",
            Data::Gauge(Gauge {
                data_points: data_points.clone(),
            }),
        ),
        metric(
            "requests",
            Data::Sum(Sum {
                data_points,
                ..Sum::default()
            }),
        ),
        metric(
            "duration",
            Data::Histogram(Histogram {
                data_points: one,
                ..Histogram::default()
            }),
        ),
    ];
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            scope_metrics: vec![ScopeMetrics {
                metrics: all,
                ..ScopeMetrics::default()
            }],
            ..ResourceMetrics::default()
        }],
    }
}

fn logs() -> ExportLogsServiceRequest {
    let record = LogRecord {
        severity_text: "INFO".to_owned(),
        attributes: vec![attribute("code.line", "12")],
        ..LogRecord::default()
    };
    ExportLogsServiceRequest {
        resource_logs: vec![ResourceLogs {
            scope_logs: vec![ScopeLogs {
                log_records: vec![record; 2],
                ..ScopeLogs::default()
            }],
            ..ResourceLogs::default()
        }],
    }
}

/// A journal with an entry of every kind.
fn journal() -> Vec<u8> {
    let folder = Folder::new();
    let mut writer = JournalWriter::create(&folder.run).expect("a new journal");
    for entry in entries() {
        writer.push(&entry).expect("space for an entry");
    }
    writer.commit().expect("a written journal");
    fs::read(folder.run.path().join("journal.bin")).expect("a readable journal")
}

/// A histogram log of two windows.
fn histogram_log() -> Vec<u8> {
    let folder = Folder::new();
    let mut writer = JournalWriter::create(&folder.run).expect("a new log");
    for arm in [ArmIndex(0), ArmIndex(2)] {
        writer
            .window(&window(arm, vec![]), &times(), &times())
            .expect("space for a window");
    }
    writer.commit_block(0).expect("a written log");
    let log = Timing::ResponseTime.file_name();
    fs::read(folder.run.path().join(log)).expect("a readable log")
}

/// An uncompressed histogram, without the eight bytes of its cookie and length.
fn plain_histogram() -> Vec<u8> {
    let mut plain = Vec::new();
    V2Serializer::new()
        .serialize(&times(), &mut plain)
        .expect("space for a histogram");
    plain.split_off(8)
}

fn times() -> hdrhistogram::Histogram<u32> {
    let mut times = hdrhistogram::Histogram::new_with_bounds(1_000, 60_000_000_000, 3)
        .expect("bounds in order");
    for ns in [80_000, 80_700, 91_000, 2_000_000] {
        times += ns;
    }
    times
}

fn entries() -> Vec<Entry> {
    let (off, otel) = (ArmIndex(0), ArmIndex(2));
    let launched = LaunchedArm {
        arm: off,
        startup_ns: Some(12_000_000),
        cpu_source: CpuSource::CgroupV2,
        cpu_resolution_ns: 1_000,
        startup_cpu_ns: None,
        warmup_completed: 900,
        warmup_outside_ns: 40_000,
        warmup_outside_time_ns: 2_000_000_000,
        instance: 0,
    };
    vec![
        Entry::LaunchStarted(Launch {
            arms: vec![launched],
            ..Launch::default()
        }),
        Entry::Window(window(off, vec![])),
        Entry::Window(window(otel, vec![warning()])),
        Entry::BlockDone { block: 0 },
        Entry::Turns(turns()),
        Entry::BlockDone { block: 1 },
        Entry::LaunchEnded(LaunchEnd {
            launch: 0,
            arms: vec![LaunchArmEnd {
                arm: otel,
                idle_cpu_ns: Some(70_000),
                idle_ns: 500_000_000,
                after_turns_ns: Some(90_000),
                turns_drain_ns: 1_000_000_000,
                ..LaunchArmEnd::default()
            }],
            own_rss_bytes: Some(28_000_000),
        }),
        Entry::Delivered(Delivered {
            arm: otel,
            spans: 1_000,
            wire_bytes: 41_000,
            ..Delivered::default()
        }),
        Entry::Warning(warning()),
        Entry::RunEnded(Ending::StoppedEarly {
            reason: "precise enough".to_owned(),
        }),
    ]
}

/// A block of turns in which one of two arms was still awake.
fn turns() -> TurnBlock {
    let mut turns = fixtures::turn_block(0, 1, &[0, 2]);
    turns.order = TurnOrder::WithoutHeaviest;
    turns.arms[1].is_awake = true;
    turns.warnings = vec![warning()];
    turns
}

fn warning() -> Warning {
    Warning::Errors {
        failed: 3,
        sent: 1000,
        connect_errors: None,
        timeouts: Some(3),
        closed: None,
        protocol_errors: None,
        answers_4xx: None,
        answers_5xx: None,
    }
}

fn window(arm: ArmIndex, warnings: Vec<Warning>) -> Window {
    Window {
        started_ns: 3_000_000_000,
        duration_ns: 100_213_456,
        stretch_ns: 112_345_678,
        exchanges: Exchanges {
            completed: 200,
            ..Exchanges::default()
        },
        cpu: WindowCpu {
            in_window_ns: Some(13_456_789),
            others_before: vec![ArmCpu {
                arm: ArmIndex(1),
                cpu_ns: 12_345,
            }],
            ..WindowCpu::default()
        },
        rss_bytes: Some(23_456_789),
        warnings,
        ..fixtures::window(Place {
            position: u32::from(arm.0),
            ..fixtures::place(0, 0, arm.0)
        })
    }
}

fn manifest() -> Vec<u8> {
    let folder = Folder::new();
    fs::read(folder.run.path().join("manifest.json")).expect("a readable manifest")
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// The frames that a client sends after its settings.
fn grpc() -> Vec<(&'static str, Vec<u8>)> {
    let call = head(&[]);
    let message = framed(0, &traces().encode_to_vec());
    let packed = framed(1, &gzip(&traces().encode_to_vec()));
    let export = [
        frame(HEADERS, END_HEADERS, 1, &call),
        frame(DATA, END_STREAM, 1, &message),
    ];
    let (first, rest) = call.split_at(20);
    vec![
        ("export", export.concat()),
        (
            "gzip",
            [
                frame(HEADERS, END_HEADERS, 1, &head(&[("grpc-encoding", "gzip")])),
                frame(DATA, END_STREAM, 1, &packed),
            ]
            .concat(),
        ),
        (
            "in_pieces",
            [
                frame(HEADERS, 0, 1, first),
                frame(CONTINUATION, END_HEADERS, 1, rest),
                frame(DATA, 0, 1, &message[..3]),
                frame(DATA, 0, 1, &message[3..]),
                frame(DATA, END_STREAM, 1, &[]),
            ]
            .concat(),
        ),
        (
            "trailers",
            [
                frame(HEADERS, END_HEADERS, 1, &call),
                frame(DATA, 0, 1, &message),
                frame(HEADERS, END_HEADERS | END_STREAM, 1, &field("a", "b")),
            ]
            .concat(),
        ),
        (
            "cancelled",
            [
                frame(HEADERS, END_HEADERS, 1, &call),
                frame(PING, 0, 0, &[0; 8]),
                frame(RST_STREAM, 0, 1, &8_u32.to_be_bytes()),
                frame(HEADERS, END_HEADERS, 3, &call),
                frame(DATA, END_STREAM, 3, &message),
            ]
            .concat(),
        ),
        ("cut", export.concat()[..call.len() + 30].to_vec()),
    ]
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short payload");
    let mut frame = length.to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A field of a head, as a literal that is not added to the table.
fn field(name: &str, value: &str) -> Vec<u8> {
    let mut field = vec![0];
    for text in [name, value] {
        field.push(u8::try_from(text.len()).expect("a short text"));
        field.extend(text.bytes());
    }
    field
}

fn head(more: &[(&str, &str)]) -> Vec<u8> {
    const TRACES: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", TRACES),
        ("content-type", "application/grpc"),
    ];
    let all = fields.iter().chain(more);
    all.flat_map(|(name, value)| field(name, value)).collect()
}

fn framed(flag: u8, message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).expect("a short message");
    [&[flag], &length.to_be_bytes()[..], message].concat()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder
        .write_all(bytes)
        .and_then(|()| encoder.finish())
        .expect("writing to memory")
}
