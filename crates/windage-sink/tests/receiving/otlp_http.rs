//! OTLP over HTTP/1.1: requests are counted, and invalid ones refused.

use prost::Message;
use windage_sink::{Counts, Protocol, Sink, SinkOptions};

use crate::sender::bodies::{batch, gzip, logs, metrics, trace};
use crate::sender::http::{
    JSON, PROTOBUF, connect, exchange, head, is_closed, post, post_chunks, post_gzip, post_traces,
    read_answer,
};
use crate::sender::{FIRST, SECOND, address};
use std::io::Write as _;

const HERE: Protocol = Protocol::OtlpHttp;

fn start(arms: usize) -> Sink {
    Sink::start(arms, &[HERE], SinkOptions::default()).unwrap()
}

#[test]
fn spans_are_counted_by_arm_with_their_bytes() {
    let sink = start(2);
    let mut first = connect(address(&sink, FIRST, HERE));
    let mut second = connect(address(&sink, SECOND, HERE));
    let body = batch(1, 5);
    let request = post_traces(&body);
    for _ in 0..3 {
        let answer = exchange(&mut first, &request).unwrap();
        assert_eq!((answer.status, answer.body.len()), (200, 0));
        assert_eq!(answer.header("content-type"), Some(PROTOBUF));
    }
    assert_eq!(exchange(&mut second, &request).unwrap().status, 200);

    let once = Counts {
        requests: 1,
        spans: 5,
        root_spans: 1,
        wire_bytes: request.len() as u64,
        body_bytes: body.len() as u64,
        ..Counts::default()
    };
    assert_eq!(sink.counts(SECOND), once);
    assert_eq!(sink.counts(FIRST), once.plus(&once).plus(&once));
    let by_protocol = sink.shut_down().remove(1).by_protocol;
    assert_eq!(by_protocol, [(HERE, once)]);
}

#[test]
fn every_signal_form_and_framing_counts_the_same() {
    let sink = start(1);
    let mut stream = connect(address(&sink, FIRST, HERE));
    let traces = Counts {
        spans: 400,
        root_spans: 1,
        ..Counts::default()
    };
    let points = Counts {
        metric_points: 17,
        ..Counts::default()
    };
    let records = Counts {
        log_records: 23,
        ..Counts::default()
    };
    let body = batch(1, 400);
    let json = |value: serde_json::Result<Vec<u8>>| value.unwrap();
    let table: [(&str, Vec<u8>, Counts); 9] = [
        ("plain", post_traces(&body), traces),
        ("gzip", post_gzip(&gzip(&body)), traces),
        ("chunks", post_chunks(&body, 1000), traces),
        ("small chunks", post_chunks(&body, 7), traces),
        (
            "JSON",
            post(
                "/v1/traces",
                JSON,
                &json(serde_json::to_vec(&trace(1, 400))),
            ),
            traces,
        ),
        (
            "metrics",
            post("/v1/metrics", PROTOBUF, &metrics(17).encode_to_vec()),
            points,
        ),
        (
            "metrics in JSON",
            post("/v1/metrics", JSON, &json(serde_json::to_vec(&metrics(17)))),
            points,
        ),
        (
            "logs",
            post("/v1/logs", PROTOBUF, &logs(23).encode_to_vec()),
            records,
        ),
        (
            "logs in JSON",
            post("/v1/logs", JSON, &json(serde_json::to_vec(&logs(23)))),
            records,
        ),
    ];
    for (name, request, expected) in table {
        let before = sink.counts(FIRST);
        assert_eq!(
            exchange(&mut stream, &request).unwrap().status,
            200,
            "{name}"
        );
        let counts = sink.counts(FIRST).since(&before);
        assert_eq!(counts.wire_bytes, request.len() as u64, "{name}");
        let expected = Counts {
            requests: 1,
            wire_bytes: counts.wire_bytes,
            body_bytes: counts.body_bytes,
            ..expected
        };
        assert_eq!(counts, expected, "{name}");
    }
}

#[test]
fn other_requests_are_refused_and_counted() {
    let body = batch(1, 3);
    let table: [(&str, Vec<u8>, u16, &str); 10] = [
        ("no telemetry is fine", post_traces(b""), 200, ""),
        ("path", post("/v2/traces", PROTOBUF, b"x"), 404, "rejected"),
        ("root", head("GET", "/", &[], 0), 404, "rejected"),
        ("method", head("GET", "/v1/logs", &[], 0), 405, "rejected"),
        (
            "type",
            post("/v1/metrics", "text/plain", b"hello"),
            415,
            "rejected",
        ),
        (
            "encoding",
            head(
                "POST",
                "/v1/traces",
                &[("content-type", PROTOBUF), ("content-encoding", "zstd")],
                0,
            ),
            415,
            "rejected",
        ),
        ("cut message", post_traces(&body[..20]), 400, "malformed"),
        (
            "noise",
            post("/v1/logs", PROTOBUF, &[0xff; 64]),
            400,
            "malformed",
        ),
        ("not gzip", post_gzip(&body), 400, "malformed"),
        ("cut gzip", post_gzip(&gzip(&body)[..20]), 400, "malformed"),
    ];
    let sink = start(1);
    let mut stream = connect(address(&sink, FIRST, HERE));
    for (name, request, status, counted) in table {
        let before = sink.counts(FIRST);
        let answer = exchange(&mut stream, &request).unwrap();
        assert_eq!(answer.status, status, "{name}");
        assert_eq!(answer.header("content-type"), Some(PROTOBUF), "{name}");
        // Field 2 of google.rpc.Status: its message.
        assert_eq!(
            answer.body.first(),
            (status != 200).then_some(&0x12),
            "{name}"
        );
        let expected = Counts {
            requests: 1,
            wire_bytes: request.len() as u64,
            rejected: u64::from(counted == "rejected"),
            malformed: u64::from(counted == "malformed"),
            ..Counts::default()
        };
        assert_eq!(sink.counts(FIRST).since(&before), expected, "{name}");
    }
}

#[test]
fn json_errors_are_reported_in_json() {
    let sink = start(1);
    let mut stream = connect(address(&sink, FIRST, HERE));
    let deep = "[".repeat(100_000);
    let table: [(&str, &str, u16); 5] = [
        ("an empty request", "{}", 200),
        ("no JSON", "{\"resourceSpans\":", 400),
        ("another shape", "{\"resourceSpans\": 7}", 400),
        ("a list", "[]", 400),
        ("no end of nesting", &deep, 400),
    ];
    for (name, body, status) in table {
        let before = sink.counts(FIRST);
        let request = post("/v1/traces", JSON, body.as_bytes());
        let answer = exchange(&mut stream, &request).unwrap();
        assert_eq!(answer.status, status, "{name}");
        assert_eq!(answer.header("content-type"), Some(JSON), "{name}");
        let said: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(said.get("message").is_some(), status == 400, "{name}");
        let malformed = sink.counts(FIRST).since(&before).malformed;
        assert_eq!(malformed, u64::from(status == 400), "{name}");
    }
}

#[test]
fn bodies_are_bounded() {
    let options = SinkOptions {
        max_body_bytes: 100_000,
        ..SinkOptions::default()
    };
    let sink = Sink::start(1, &[HERE], options).unwrap();
    let large = [0x12, 0].repeat(50_001);
    let table = [
        ("announced", post_traces(&large)),
        ("in chunks", post_chunks(&large, 1000)),
        ("a bomb", post_gzip(&gzip(&vec![0; 10 << 20]))),
        ("JSON", post("/v1/traces", JSON, &[b' '; 100_001])),
    ];
    for (number, (name, request)) in (0..).zip(table) {
        let mut stream = connect(address(&sink, FIRST, HERE));
        let before = sink.counts(FIRST);
        assert_eq!(
            exchange(&mut stream, &request).unwrap().status,
            413,
            "{name}"
        );
        let counts = sink.counts(FIRST).since(&before);
        assert_eq!(
            (counts.requests, counts.rejected, counts.body_bytes),
            (1, 1, 0),
            "{name}"
        );
        // The connection has survived: the rest of the body was discarded.
        let next = exchange(&mut stream, &post_traces(&batch(number, 1))).unwrap();
        assert_eq!(next.status, 200, "{name}");
    }
    assert_eq!(sink.counts(FIRST).spans, 4);
}

#[test]
fn a_far_too_large_body_gets_an_answer_and_ends_the_connection() {
    let options = SinkOptions {
        max_body_bytes: 100_000,
        ..SinkOptions::default()
    };
    let sink = Sink::start(1, &[HERE], options).unwrap();
    let mut stream = connect(address(&sink, FIRST, HERE));
    // All of it is sent before the answer is read.
    let answer = exchange(&mut stream, &post_traces(&vec![0; 4 << 20])).unwrap();
    assert_eq!(answer.status, 413);
    assert_eq!(answer.header("connection"), Some("close"));
    assert!(is_closed(&mut stream));
}

#[test]
fn a_body_is_requested_when_its_sender_expects_it() {
    let sink = start(1);
    let mut stream = connect(address(&sink, FIRST, HERE));
    let body = batch(1, 5);
    let headers = [("content-type", PROTOBUF), ("expect", "100-continue")];
    stream
        .write_all(&head("POST", "/v1/traces", &headers, body.len()))
        .unwrap();
    assert_eq!(read_answer(&mut stream).unwrap().status, 100);
    assert_eq!(exchange(&mut stream, &body).unwrap().status, 200);
    assert_eq!(sink.counts(FIRST).spans, 5);
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let sink = start(1);
    let mut stream = connect(address(&sink, FIRST, HERE));
    let missing = post("/nowhere", PROTOBUF, b"");
    let mut requests = Vec::new();
    for number in 0..1000 {
        requests.extend_from_slice(&post_traces(&batch(number, 2)));
        requests.extend_from_slice(&missing);
    }
    let mut writing = stream.try_clone().unwrap();
    let writer = std::thread::spawn(move || writing.write_all(&requests).unwrap());
    for _ in 0..1000 {
        assert_eq!(read_answer(&mut stream).unwrap().status, 200);
        assert_eq!(read_answer(&mut stream).unwrap().status, 404);
    }
    writer.join().unwrap();
    let counts = sink.counts(FIRST);
    assert_eq!(
        (counts.requests, counts.spans, counts.rejected),
        (2000, 2000, 1000)
    );
}
