//! The sink from the outside: raw sockets in, counts out.

#![expect(
    clippy::unwrap_used,
    reason = "what the tests share is test code as well"
)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use windage_model::ArmIndex;
use windage_sink::{Counts, Sink, SinkOptions};

const FIRST: ArmIndex = ArmIndex(0);
const SECOND: ArmIndex = ArmIndex(1);
/// Long enough for a loaded machine; nothing waits that long when all is well.
const PATIENCE: Duration = Duration::from_secs(20);

fn spans(count: usize) -> Vec<u8> {
    let span = |i: usize| Span {
        span_id: vec![1; 8],
        parent_span_id: if i == 0 { vec![] } else { vec![1; 8] },
        name: "work".into(),
        ..Span::default()
    };
    let scope = ScopeSpans {
        spans: (0..count).map(span).collect(),
        ..ScopeSpans::default()
    };
    let resource = ResourceSpans {
        scope_spans: vec![scope],
        ..ResourceSpans::default()
    };
    ExportTraceServiceRequest {
        resource_spans: vec![resource],
    }
    .encode_to_vec()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn head(method: &str, path: &str, headers: &[(&str, &str)], length: usize) -> Vec<u8> {
    let mut head =
        format!("{method} {path} HTTP/1.1\r\nhost: sink\r\ncontent-length: {length}\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head.into_bytes()
}

fn post(path: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let mut request = head("POST", path, &[("content-type", kind)], body.len());
    request.extend_from_slice(body);
    request
}

const PROTOBUF: &str = "application/x-protobuf";

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn read_answer(stream: &mut TcpStream) -> Answer {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    Answer { status, head, body }
}

fn exchange(stream: &mut TcpStream, request: &[u8]) -> Answer {
    stream.write_all(request).unwrap();
    read_answer(stream)
}

fn start(arms: usize) -> Sink {
    Sink::start(arms, SinkOptions::default()).unwrap()
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn spans_are_counted_by_arm_with_their_bytes() {
    let sink = start(2);
    let mut first = connect(sink.otlp_http(FIRST));
    let mut second = connect(sink.otlp_http(SECOND));
    let body = spans(5);
    let request = post("/v1/traces", PROTOBUF, &body);
    for _ in 0..3 {
        let answer = exchange(&mut first, &request);
        assert_eq!((answer.status, answer.body.len()), (200, 0));
        assert!(
            answer.head.contains("content-type: application/x-protobuf"),
            "{}",
            answer.head
        );
    }
    let before = sink.counts(SECOND);
    assert_eq!(exchange(&mut second, &request).status, 200);

    let once = Counts {
        requests: 1,
        spans: 5,
        root_spans: 1,
        wire_bytes: request.len() as u64,
        body_bytes: body.len() as u64,
        ..Counts::default()
    };
    assert_eq!(sink.counts(SECOND).since(&before), once);
    let thrice = Counts {
        requests: 3,
        spans: 15,
        root_spans: 3,
        wire_bytes: 3 * once.wire_bytes,
        body_bytes: 3 * once.body_bytes,
        ..Counts::default()
    };
    assert_eq!(sink.counts(FIRST), thrice);
    sink.shut_down();
}

#[test]
fn gzip_and_chunks_count_like_plain_bodies() {
    let sink = start(1);
    let mut stream = connect(sink.otlp_http(FIRST));
    let body = spans(400);
    let packed = gzip(&body);
    let headers = [("content-type", PROTOBUF), ("content-encoding", "gzip")];
    let mut request = head("POST", "/v1/traces", &headers, packed.len());
    request.extend_from_slice(&packed);
    assert_eq!(exchange(&mut stream, &request).status, 200);
    let counts = sink.counts(FIRST);
    assert_eq!((counts.spans, counts.body_bytes), (400, body.len() as u64));
    assert_eq!(counts.wire_bytes, request.len() as u64);

    let mut chunked = format!(
        "POST /v1/traces HTTP/1.1\r\ncontent-type: {PROTOBUF}\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    .into_bytes();
    for chunk in body.chunks(1000) {
        chunked.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        chunked.extend_from_slice(chunk);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    assert_eq!(exchange(&mut stream, &chunked).status, 200);
    let chunks = sink.counts(FIRST).since(&counts);
    assert_eq!((chunks.spans, chunks.body_bytes), (400, body.len() as u64));
    assert_eq!(chunks.wire_bytes, chunked.len() as u64);
}

#[test]
fn what_is_not_otlp_is_told_so_and_counted() {
    let truncated = &spans(3)[..20];
    let table: [(&str, Vec<u8>, u16, &str); 8] = [
        (
            "no telemetry is fine",
            post("/v1/traces", PROTOBUF, b""),
            200,
            "",
        ),
        ("path", post("/v2/traces", PROTOBUF, b"x"), 404, "rejected"),
        ("root", head("GET", "/", &[], 0), 404, "rejected"),
        ("method", head("GET", "/v1/logs", &[], 0), 405, "rejected"),
        (
            "json",
            post("/v1/traces", "application/json", b"{}"),
            415,
            "json",
        ),
        (
            "type",
            post("/v1/metrics", "text/plain", b"hello"),
            415,
            "rejected",
        ),
        (
            "cut message",
            post("/v1/traces", PROTOBUF, truncated),
            400,
            "malformed",
        ),
        (
            "noise",
            post("/v1/logs", PROTOBUF, &[0xff; 64]),
            400,
            "malformed",
        ),
    ];
    let sink = start(1);
    let mut stream = connect(sink.otlp_http(FIRST));
    for (name, request, status, counted) in table {
        let before = sink.counts(FIRST);
        let answer = exchange(&mut stream, &request);
        assert_eq!(answer.status, status, "{name}");
        assert!(
            answer.head.contains("content-type: application/x-protobuf"),
            "{name}"
        );
        // Field 2 of google.rpc.Status: its message.
        assert_eq!(
            answer.body.first(),
            (status != 200).then_some(&0x12),
            "{name}"
        );
        let counts = sink.counts(FIRST).since(&before);
        let expected = Counts {
            requests: 1,
            wire_bytes: request.len() as u64,
            rejected: u64::from(matches!(counted, "rejected" | "json")),
            rejected_json: u64::from(counted == "json"),
            malformed: u64::from(counted == "malformed"),
            ..Counts::default()
        };
        assert_eq!(counts, expected, "{name}");
    }
}

#[test]
fn bodies_have_a_bound() {
    let options = SinkOptions {
        max_body_bytes: 100_000,
        ..SinkOptions::default()
    };
    let sink = Sink::start(1, options).unwrap();
    let bomb = {
        let packed = gzip(&vec![0; 10 << 20]);
        let headers = [("content-type", PROTOBUF), ("content-encoding", "gzip")];
        let mut request = head("POST", "/v1/traces", &headers, packed.len());
        request.extend_from_slice(&packed);
        request
    };
    for request in [post("/v1/traces", PROTOBUF, &[0; 100_001]), bomb] {
        let mut stream = connect(sink.otlp_http(FIRST));
        let before = sink.counts(FIRST);
        assert_eq!(exchange(&mut stream, &request).status, 413);
        let counts = sink.counts(FIRST).since(&before);
        assert_eq!(
            (counts.requests, counts.rejected, counts.body_bytes),
            (1, 1, 0)
        );
        // The connection has survived: the rest of the body was read and dropped.
        assert_eq!(
            exchange(&mut stream, &post("/v1/traces", PROTOBUF, &spans(1))).status,
            200
        );
    }
    assert_eq!(sink.counts(FIRST).spans, 2);
}

#[test]
fn a_sender_that_goes_away_is_counted_as_rejected() {
    let sink = start(1);
    let mut stream = connect(sink.otlp_http(FIRST));
    stream
        .write_all(&head(
            "POST",
            "/v1/traces",
            &[("content-type", PROTOBUF)],
            1000,
        ))
        .unwrap();
    stream.write_all(&[0; 10]).unwrap();
    drop(stream);
    eventually("the cut request is counted", || {
        sink.counts(FIRST).requests == 1
    });
    let counts = sink.counts(FIRST);
    assert_eq!((counts.rejected, counts.spans), (1, 0));
}

#[test]
fn connections_have_a_bound_and_places_come_back() {
    let options = SinkOptions {
        max_connections: 2,
        ..SinkOptions::default()
    };
    let sink = Sink::start(1, options).unwrap();
    let address = sink.otlp_http(FIRST);
    let request = post("/v1/traces", PROTOBUF, &spans(1));
    let mut held: Vec<TcpStream> = (0..2).map(|_| connect(address)).collect();
    for stream in &mut held {
        assert_eq!(exchange(stream, &request).status, 200);
    }
    let mut third = connect(address);
    assert!(
        matches!(third.read(&mut [0]), Ok(0) | Err(_)),
        "closed without a word"
    );
    assert_eq!(sink.counts(FIRST).refused_connections, 1);

    drop(held);
    eventually("a place is free again", || {
        let mut stream = connect(address);
        let sent = stream.write_all(&request);
        let mut status = [0; 12];
        sent.is_ok() && stream.read_exact(&mut status).is_ok() && status.ends_with(b"200")
    });
}

#[test]
fn the_thread_has_a_name_and_a_clock_and_ends() {
    let sink = start(1);
    let mut stream = connect(sink.otlp_http(FIRST));
    let threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let names = tasks
            .filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok());
        names.filter(|name| name.trim() == "sink").count()
    };
    assert!(threads() >= 1);
    let request = post("/v1/traces", PROTOBUF, &spans(2000));
    let before = sink.cpu_ns();
    for _ in 0..20 {
        assert_eq!(exchange(&mut stream, &request).status, 200);
    }
    assert!(sink.cpu_ns() > before);

    let address = sink.otlp_http(FIRST);
    sink.shut_down();
    assert!(
        TcpStream::connect(address).is_err(),
        "the listener is closed"
    );
    assert!(
        matches!(stream.read(&mut [0]), Ok(0) | Err(_)),
        "and so are its connections"
    );
}

#[test]
fn cores_are_taken_or_refused_with_a_reason() {
    let pinned = |cpu| {
        Sink::start(
            1,
            SinkOptions {
                cpus: Some(vec![cpu]),
                ..SinkOptions::default()
            },
        )
    };
    let allowed = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)).unwrap();
    let cpu = (0..1024)
        .find(|&cpu| allowed.is_set(cpu).unwrap_or(false))
        .unwrap();
    assert!(pinned(u32::try_from(cpu).unwrap()).is_ok());
    for absent in [1000, 1_000_000] {
        let error = pinned(absent).unwrap_err().to_string();
        assert!(error.contains(&format!("[{absent}]")), "{error}");
    }
}
