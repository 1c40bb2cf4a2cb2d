//! Faulty backends over HTTP/1.1.

use std::io;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceResponse;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use windage_model::Backend;
use windage_sink::{Protocol, Sink, SinkOptions};

use crate::sender::bodies::{batch, logs, trace};
use crate::sender::http::{
    JSON, PROTOBUF, connect, exchange, is_closed, post, post_traces, read_answer,
};
use crate::sender::{FIRST, PATIENCE, SECOND, address, eventually};
use std::io::Write as _;

const HERE: Protocol = Protocol::OtlpHttp;

fn backend(words: &str) -> Backend {
    words.parse().unwrap()
}

/// A sink whose first arm has this behaviour, and a connection to it.
fn faulty(words: &str) -> (Sink, TcpStream) {
    let sink = Sink::start(2, &[HERE], SinkOptions::default()).unwrap();
    sink.set_backend(FIRST, backend(words));
    let stream = connect(address(&sink, FIRST, HERE));
    (sink, stream)
}

/// The counts of spans, repeated spans and refused spans.
fn spans(sink: &Sink) -> (u64, u64, u64) {
    let counts = sink.counts(FIRST);
    (counts.spans, counts.repeated_spans, counts.refused_spans)
}

#[test]
fn slow_answers_take_their_time() {
    let (sink, mut stream) = faulty("slow 100ms..150ms");
    for number in 0..3 {
        let began = Instant::now();
        let answer = exchange(&mut stream, &post_traces(&batch(number, 5))).unwrap();
        assert_eq!(answer.status, 200);
        assert!(began.elapsed() >= Duration::from_millis(100));
    }
    assert_eq!(spans(&sink), (15, 0, 0));
}

#[test]
fn only_the_selected_arm_is_faulty() {
    let (sink, _) = faulty("stall");
    let mut stream = connect(address(&sink, SECOND, HERE));
    let answer = exchange(&mut stream, &post_traces(&batch(1, 5))).unwrap();
    assert_eq!(answer.status, 200);
}

#[test]
fn a_sender_that_does_not_wait_is_not_counted_twice() {
    for words in ["slow 60s", "stall"] {
        let (sink, _) = faulty(words);
        for number in 1..=20 {
            sink.set_backend(FIRST, backend(words));
            let request = post_traces(&batch(number, 5));
            let mut stream = connect(address(&sink, FIRST, HERE));
            stream.write_all(&request).unwrap();
            eventually("it is counted", || spans(&sink).0 == 5 * number);
            drop(stream);
            sink.set_backend(FIRST, Backend::Ok);
            let mut stream = connect(address(&sink, FIRST, HERE));
            assert_eq!(exchange(&mut stream, &request).unwrap().status, 200);
            let counts = sink.counts(FIRST);
            assert_eq!(spans(&sink), (5 * number, 5 * number, 0), "{words}");
            assert_eq!(
                (counts.requests, counts.retried_requests),
                (2 * number, number)
            );
        }
    }
}

#[test]
fn a_stall_ends_by_itself_or_by_command() {
    let (sink, mut stream) = faulty("stall 200ms");
    let began = Instant::now();
    let answer = exchange(&mut stream, &post_traces(&batch(1, 5))).unwrap();
    assert_eq!(answer.status, 200);
    assert!(began.elapsed() < PATIENCE);

    sink.set_backend(FIRST, backend("stall"));
    stream.write_all(&post_traces(&batch(2, 5))).unwrap();
    eventually("it is counted", || spans(&sink).0 == 10);
    stream
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    let error = read_answer(&mut stream).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock, "no answer leaves");
    sink.set_backend(FIRST, Backend::Ok);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(read_answer(&mut stream).unwrap().status, 200);
    assert_eq!(spans(&sink), (10, 0, 0));
}

#[test]
fn refusals_have_their_status_time_and_share() {
    let table = [
        ("reject", 503, None, 40),
        ("reject 429 retry 1500ms", 429, Some("2"), 40),
        ("reject 500 25%", 500, None, 10),
        ("reject 503 5% retry 3s", 503, Some("3"), 2),
    ];
    for (words, status, retry_after, refused) in table {
        let (sink, mut stream) = faulty(words);
        let mut found = 0;
        for number in 0..40 {
            let answer = exchange(&mut stream, &post_traces(&batch(number, 5))).unwrap();
            if answer.status != 200 {
                assert_eq!(answer.status, status, "{words}");
                assert_eq!(answer.header("retry-after"), retry_after, "{words}");
                found += 1;
            }
        }
        assert_eq!(found, refused, "{words}");
        assert_eq!(
            spans(&sink),
            (5 * (40 - refused), 0, 5 * refused),
            "{words}"
        );
        assert_eq!(sink.counts(FIRST).refused, refused, "{words}");
    }
}

#[test]
fn a_partial_success_reports_refused_items() {
    let (sink, mut stream) = faulty("partial 25%");
    let answer = exchange(&mut stream, &post_traces(&batch(1, 8))).unwrap();
    assert_eq!(answer.status, 200);
    let said = ExportTraceServiceResponse::decode(answer.body.as_slice()).unwrap();
    assert_eq!(said.partial_success.unwrap().rejected_spans, 2);

    let json = serde_json::to_vec(&trace(2, 8)).unwrap();
    let answer = exchange(&mut stream, &post("/v1/traces", JSON, &json)).unwrap();
    let said: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(said["partialSuccess"]["rejectedSpans"], "2");
    assert_eq!(spans(&sink), (12, 0, 4));

    let records = logs(8).encode_to_vec();
    let answer = exchange(&mut stream, &post("/v1/logs", PROTOBUF, &records)).unwrap();
    let said = ExportLogsServiceResponse::decode(answer.body.as_slice()).unwrap();
    assert_eq!(said.partial_success.unwrap().rejected_log_records, 2);
    let counts = sink.counts(FIRST);
    assert_eq!((counts.log_records, counts.refused_others), (6, 2));
}

#[test]
fn a_reset_closes_the_connection_and_the_retry_counts_once() {
    let (sink, mut stream) = faulty("reset");
    let request = post_traces(&batch(1, 5));
    let error = exchange(&mut stream, &request).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(spans(&sink), (0, 0, 5));
    sink.set_backend(FIRST, Backend::Ok);
    let mut stream = connect(address(&sink, FIRST, HERE));
    assert_eq!(exchange(&mut stream, &request).unwrap().status, 200);
    assert_eq!(spans(&sink), (5, 0, 5));
    assert_eq!(sink.counts(FIRST).retried_requests, 1);
}

#[test]
fn nothing_listens_while_it_is_down() {
    let (sink, mut stream) = faulty("ok");
    let request = post_traces(&batch(1, 5));
    assert_eq!(exchange(&mut stream, &request).unwrap().status, 200);
    let address = address(&sink, FIRST, HERE);
    for words in ["down", "down 500ms"] {
        sink.set_backend(FIRST, backend(words));
        assert!(
            is_closed(&mut stream),
            "{words}: open connections are closed"
        );
        let error = TcpStream::connect(address).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused, "{words}");
        if words == "down" {
            sink.set_backend(FIRST, Backend::Ok);
        }
        eventually("it is up again", || match TcpStream::connect(address) {
            Ok(again) => {
                stream = again;
                true
            }
            Err(_) => false,
        });
        assert_eq!(
            exchange(&mut stream, &request).unwrap().status,
            200,
            "{words}"
        );
    }
    assert_eq!(
        spans(&sink),
        (15, 0, 0),
        "answered requests are not retries"
    );
}

#[test]
fn a_retry_after_going_down_is_recognised() {
    let (sink, mut stream) = faulty("slow 60s");
    let request = post_traces(&batch(1, 5));
    stream.write_all(&request).unwrap();
    eventually("it is counted", || spans(&sink).0 == 5);
    sink.set_backend(FIRST, backend("down"));
    assert!(is_closed(&mut stream));
    sink.set_backend(FIRST, Backend::Ok);
    let address = address(&sink, FIRST, HERE);
    eventually("it is up again", || TcpStream::connect(address).is_ok());
    assert_eq!(
        exchange(&mut connect(address), &request).unwrap().status,
        200
    );
    assert_eq!(spans(&sink), (5, 5, 0));
}
