//! OTLP over gRPC: requests are counted, and calls end with a status.

use bytes::Bytes;
use hyper::Request;
use prost::Message;
use windage_sink::{Counts, Protocol, Sink, SinkOptions};

use crate::sender::bodies::{batch, gzip, logs, metrics};
use crate::sender::grpc::{Caller, LOGS, METRICS, PROFILES, TRACES, framed, request};
use crate::sender::{FIRST, address, in_the_end};

const HERE: Protocol = Protocol::OtlpGrpc;
const GZIP: [(&str, &str); 1] = [("grpc-encoding", "gzip")];

fn start(max_body_bytes: usize) -> Sink {
    let options = SinkOptions {
        max_body_bytes,
        ..SinkOptions::default()
    };
    Sink::start(1, &[HERE], options).unwrap()
}

#[tokio::test]
async fn every_signal_counts_plain_and_compressed() {
    let sink = start(16 << 20);
    let mut caller = Caller::connect(address(&sink, FIRST, HERE)).await.unwrap();
    let spans = Counts {
        spans: 9000,
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
    let table: [(&str, Vec<u8>, Counts); 4] = [
        (TRACES, batch(1, 9000), spans),
        (METRICS, metrics(17).encode_to_vec(), points),
        (LOGS, logs(23).encode_to_vec(), records),
        (PROFILES, Vec::new(), Counts::default()),
    ];
    for (path, message, expected) in table {
        let packed = gzip(&message);
        let ways = [
            ("plain", request(path, &[]), framed(&message, false)),
            ("gzip", request(path, &GZIP), framed(&packed, true)),
            (
                "uncompressed despite gzip",
                request(path, &GZIP),
                framed(&message, false),
            ),
        ];
        for (way, request, frame) in ways {
            let before = sink.counts(FIRST);
            let sent = frame.len() as u64;
            let ended = caller.call(request, frame).await.unwrap();
            assert_eq!(
                (ended.http_status, ended.code),
                (200, Some(0)),
                "{path}, {way}"
            );
            assert_eq!(ended.body, [0; 5], "{path}, {way}: an empty message");
            let counts = sink.counts(FIRST).since(&before);
            assert!(
                counts.wire_bytes > sent,
                "{path}, {way}: with frames and head"
            );
            let expected = Counts {
                requests: 1,
                wire_bytes: counts.wire_bytes,
                body_bytes: message.len() as u64,
                ..expected
            };
            assert_eq!(counts, expected, "{path}, {way}");
        }
    }
}

#[tokio::test]
async fn invalid_calls_end_with_a_status() {
    let sink = start(10_000);
    let mut caller = Caller::connect(address(&sink, FIRST, HERE)).await.unwrap();
    let message = batch(1, 3);
    let plain = framed(&message, false);
    let two = Bytes::from([&plain[..], &plain].concat());
    let method = Request::get(format!("http://sink{TRACES}"))
        .header("content-type", "application/grpc")
        .body(())
        .unwrap();
    let traces = |headers: &[(&'static str, &'static str)]| request(TRACES, headers);
    let deflate = [("grpc-encoding", "deflate")];
    let table: [(&str, Request<()>, Bytes, u16, &str); 14] = [
        (
            "another method",
            request("/grpc.health.v1.Health/Check", &[]),
            plain.clone(),
            12,
            "rejected",
        ),
        ("not a call", method, plain.clone(), 12, "rejected"),
        (
            "another compression",
            traces(&deflate),
            plain.clone(),
            12,
            "rejected",
        ),
        ("no message", traces(&[]), Bytes::new(), 1, "rejected"),
        ("a cut prefix", traces(&[]), plain.slice(..3), 1, "rejected"),
        (
            "a cut message",
            traces(&[]),
            plain.slice(..20),
            1,
            "rejected",
        ),
        ("two messages", traces(&[]), two, 13, "malformed"),
        (
            "an invalid flag",
            traces(&[]),
            Bytes::from_static(&[7, 0, 0, 0, 0]),
            13,
            "malformed",
        ),
        (
            "noise",
            traces(&[]),
            framed(&[0xff; 64], false),
            3,
            "malformed",
        ),
        (
            "too large",
            traces(&[]),
            framed(&[0; 10_001], false),
            8,
            "rejected",
        ),
        (
            "announced as too large",
            traces(&[]),
            Bytes::from_static(&[0, 0xff, 0xff, 0xff, 0xff]),
            8,
            "rejected",
        ),
        (
            "a bomb",
            traces(&GZIP),
            framed(&gzip(&vec![0; 1 << 20]), true),
            8,
            "rejected",
        ),
        (
            "not gzip",
            traces(&GZIP),
            framed(&message, true),
            3,
            "malformed",
        ),
        (
            "compressed without an encoding",
            traces(&[]),
            framed(&message, true),
            13,
            "malformed",
        ),
    ];
    for (name, request, body, code, counter) in table {
        let before = sink.counts(FIRST);
        let ended = caller.call(request, body).await.unwrap();
        assert_eq!(
            (ended.http_status, ended.code),
            (200, Some(code)),
            "{name}: {}",
            ended.message
        );
        assert!(!ended.message.is_empty(), "{name}");
        assert_eq!(ended.retry_after, None, "{name}");
        let counts = sink.counts(FIRST).since(&before);
        let expected = Counts {
            requests: 1,
            wire_bytes: counts.wire_bytes,
            rejected: u64::from(counter == "rejected"),
            malformed: u64::from(counter == "malformed"),
            ..Counts::default()
        };
        assert_eq!(counts, expected, "{name}");
    }
    let ended = caller.export(TRACES, &message).await.unwrap();
    assert_eq!(ended.code, Some(0), "the connection survives");
    assert_eq!(sink.counts(FIRST).spans, 3);
}

#[tokio::test]
async fn other_requests_get_an_http_status() {
    let sink = start(10_000);
    let mut caller = Caller::connect(address(&sink, FIRST, HERE)).await.unwrap();
    let request = Request::post(format!("http://sink{TRACES}"))
        .header("content-type", "application/x-protobuf")
        .body(())
        .unwrap();
    let ended = caller.call(request, batch(1, 3).into()).await.unwrap();
    assert_eq!((ended.http_status, ended.code), (415, None));
    assert_eq!(sink.counts(FIRST).rejected, 1);
}

#[tokio::test]
async fn a_refusal_reaches_a_caller_that_is_still_sending() {
    let sink = start(10_000);
    let mut caller = Caller::connect(address(&sink, FIRST, HERE)).await.unwrap();
    let mut call = caller.open(request("/no.Such/Call", &[])).await.unwrap();
    call.stream
        .send_data(framed(&[0; 5000], false), false)
        .unwrap();
    assert_eq!(call.end().await.unwrap().code, Some(12));
    assert_eq!(
        caller.export(TRACES, &batch(1, 3)).await.unwrap().code,
        Some(0)
    );
}

#[tokio::test]
async fn a_message_is_found_in_any_pieces() {
    let sink = start(10_000);
    let mut caller = Caller::connect(address(&sink, FIRST, HERE)).await.unwrap();
    let message = framed(&batch(1, 3), false);
    for cuts in [[1, 4], [3, 5], [5, 6], [4, 7], [20, 50]] {
        let mut call = caller.open(request(TRACES, &[])).await.unwrap();
        let pieces = [0..cuts[0], cuts[0]..cuts[1], cuts[1]..message.len()];
        for piece in pieces {
            let is_last = piece.end == message.len();
            call.stream
                .send_data(message.slice(piece), is_last)
                .unwrap();
        }
        assert_eq!(call.end().await.unwrap().code, Some(0), "{cuts:?}");
    }
    assert_eq!(sink.counts(FIRST).spans, 15);
}

#[tokio::test]
async fn a_cancelled_call_is_counted_as_rejected() {
    let sink = start(10_000);
    let mut caller = Caller::connect(address(&sink, FIRST, HERE)).await.unwrap();
    let message = framed(&batch(1, 100), false);
    for number in 1..=2 {
        let before = sink.counts(FIRST).wire_bytes;
        let mut call = caller.open(request(TRACES, &[])).await.unwrap();
        call.stream.send_data(message.slice(..1000), false).unwrap();
        in_the_end("it arrives", || {
            sink.counts(FIRST).wire_bytes > before + 1000
        })
        .await;
        if number == 1 {
            call.stream.send_reset(h2::Reason::CANCEL);
        } else {
            caller.connection.abort();
        }
        in_the_end("the cut call is counted", || {
            sink.counts(FIRST).requests == number
        })
        .await;
    }
    let counts = sink.counts(FIRST);
    assert_eq!((counts.rejected, counts.spans), (2, 0));
}

#[tokio::test]
async fn many_calls_at_a_time_count_each_once() {
    let sink = start(1 << 20);
    let mut caller = Caller::connect(address(&sink, FIRST, HERE)).await.unwrap();
    // The first answer brings the limit on concurrent calls.
    let first = caller.export(TRACES, &batch(0, 10)).await.unwrap();
    assert_eq!(first.code, Some(0));
    let mut calls = Vec::new();
    for number in 1..500 {
        let mut call = caller.open(request(TRACES, &[])).await.unwrap();
        call.stream
            .send_data(framed(&batch(number, 10), false), true)
            .unwrap();
        calls.push(tokio::spawn(call.end()));
    }
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap().code, Some(0));
    }
    let counts = sink.counts(FIRST);
    assert_eq!((counts.requests, counts.spans), (500, 5000));
}
