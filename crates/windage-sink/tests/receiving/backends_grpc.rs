//! Faulty backends over gRPC.

use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use windage_model::Backend;
use windage_sink::{Protocol, Sink, SinkOptions};

use crate::sender::bodies::batch;
use crate::sender::grpc::{Caller, TRACES, framed, request};
use crate::sender::{FIRST, PATIENCE, address, in_the_end};

const HERE: Protocol = Protocol::OtlpGrpc;

async fn faulty(words: &str) -> (Sink, Caller) {
    let sink = Sink::start(1, &[HERE], SinkOptions::default()).unwrap();
    sink.set_backend(FIRST, words.parse().unwrap());
    let caller = connected(&sink).await;
    (sink, caller)
}

/// A connection, as soon as the sink accepts one.
async fn connected(sink: &Sink) -> Caller {
    let began = Instant::now();
    loop {
        match Caller::connect(address(sink, FIRST, HERE)).await {
            Ok(caller) => return caller,
            Err(error) => assert!(began.elapsed() < PATIENCE, "never connected: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The counts of spans, repeated spans and refused spans.
fn spans(sink: &Sink) -> (u64, u64, u64) {
    let counts = sink.counts(FIRST);
    (counts.spans, counts.repeated_spans, counts.refused_spans)
}

async fn counted(sink: &Sink, expected: u64) {
    in_the_end("it is counted", || spans(sink).0 == expected).await;
}

#[tokio::test]
async fn slow_and_stalled_answers_arrive_eventually() {
    for (words, at_least_ms) in [("slow 100ms", 100), ("stall 100ms", 0)] {
        let (sink, mut caller) = faulty(words).await;
        let began = Instant::now();
        let ended = caller.export(TRACES, &batch(1, 5)).await.unwrap();
        assert_eq!(ended.code, Some(0), "{words}");
        assert!(
            began.elapsed() >= Duration::from_millis(at_least_ms),
            "{words}"
        );
        assert_eq!(spans(&sink), (5, 0, 0), "{words}");
    }
    let (sink, mut caller) = faulty("stall").await;
    let mut call = caller.open(request(TRACES, &[])).await.unwrap();
    call.stream
        .send_data(framed(&batch(1, 5), false), true)
        .unwrap();
    let mut ending = tokio::spawn(call.end());
    counted(&sink, 5).await;
    let early = tokio::time::timeout(Duration::from_millis(100), &mut ending).await;
    assert!(early.is_err(), "no answer leaves");
    sink.set_backend(FIRST, Backend::Ok);
    assert_eq!(ending.await.unwrap().unwrap().code, Some(0));
}

#[tokio::test]
async fn a_sender_that_does_not_wait_is_not_counted_twice() {
    let (sink, mut caller) = faulty("stall").await;
    for number in 1..=20 {
        sink.set_backend(FIRST, "stall".parse().unwrap());
        let message = batch(number, 5);
        let mut call = caller.open(request(TRACES, &[])).await.unwrap();
        call.stream
            .send_data(framed(&message, false), true)
            .unwrap();
        counted(&sink, 5 * number).await;
        // At its deadline a client cancels the call or closes its connection.
        if number % 2 == 0 {
            call.stream.send_reset(h2::Reason::CANCEL);
        } else {
            caller.connection.abort();
            caller = connected(&sink).await;
        }
        drop(call);
        let mut again = caller.open(request(TRACES, &[])).await.unwrap();
        again
            .stream
            .send_data(framed(&message, false), true)
            .unwrap();
        let ending = tokio::spawn(again.end());
        in_the_end("it is retried", || {
            sink.counts(FIRST).requests == 2 * number
        })
        .await;
        sink.set_backend(FIRST, Backend::Ok);
        assert_eq!(ending.await.unwrap().unwrap().code, Some(0));
        assert_eq!(spans(&sink), (5 * number, 5 * number, 0), "{number}");
    }
}

#[tokio::test]
async fn refusals_have_their_code_time_and_share() {
    let table = [
        ("reject", 14, None, 40),
        ("reject 429", 8, None, 40),
        ("reject 429 retry 1500ms", 8, Some(1500), 40),
        ("reject 503 25% retry 2s", 14, Some(2000), 10),
        ("reject 500", 13, None, 40),
    ];
    for (words, code, retry_after_ms, refused) in table {
        let (sink, mut caller) = faulty(words).await;
        let mut found = 0;
        for number in 0..40 {
            let ended = caller.export(TRACES, &batch(number, 5)).await.unwrap();
            assert_eq!(ended.http_status, 200, "{words}");
            if ended.code != Some(0) {
                assert_eq!(ended.code, Some(code), "{words}");
                let expected = retry_after_ms.map(Duration::from_millis);
                assert_eq!(ended.retry_after, expected, "{words}");
                found += 1;
            }
        }
        assert_eq!(found, refused, "{words}");
        assert_eq!(
            spans(&sink),
            (5 * (40 - refused), 0, 5 * refused),
            "{words}"
        );
    }
}

#[tokio::test]
async fn a_partial_success_reports_refused_items() {
    let (sink, mut caller) = faulty("partial 25%").await;
    let ended = caller.export(TRACES, &batch(1, 8)).await.unwrap();
    assert_eq!(ended.code, Some(0));
    let said = ExportTraceServiceResponse::decode(&ended.body[5..]).unwrap();
    assert_eq!(said.partial_success.unwrap().rejected_spans, 2);
    assert_eq!(spans(&sink), (6, 0, 2));
}

#[tokio::test]
async fn a_reset_ends_the_connection_and_the_retry_counts_once() {
    let (sink, mut caller) = faulty("reset").await;
    let message = batch(1, 5);
    let error = caller.export(TRACES, &message).await.unwrap_err();
    assert!(error.is_io(), "{error}");
    let reset = error.get_io().map(std::io::Error::kind);
    assert_eq!(reset, Some(std::io::ErrorKind::ConnectionReset));
    assert_eq!(spans(&sink), (0, 0, 5));
    sink.set_backend(FIRST, Backend::Ok);
    let mut caller = connected(&sink).await;
    assert_eq!(caller.export(TRACES, &message).await.unwrap().code, Some(0));
    assert_eq!(spans(&sink), (5, 0, 5));
}

#[tokio::test]
async fn a_retry_after_going_down_is_recognised() {
    let (sink, mut caller) = faulty("stall").await;
    let message = batch(1, 5);
    let mut call = caller.open(request(TRACES, &[])).await.unwrap();
    call.stream
        .send_data(framed(&message, false), true)
        .unwrap();
    counted(&sink, 5).await;
    sink.set_backend(FIRST, "down".parse().unwrap());
    assert!(call.end().await.is_err(), "its connection is closed");
    let refused = Caller::connect(address(&sink, FIRST, HERE)).await;
    assert!(refused.is_err(), "nothing listens");
    sink.set_backend(FIRST, Backend::Ok);
    let mut caller = connected(&sink).await;
    assert_eq!(caller.export(TRACES, &message).await.unwrap().code, Some(0));
    assert_eq!(spans(&sink), (5, 5, 0));
}

#[tokio::test]
async fn a_retry_after_an_answer_without_window_is_recognised() {
    let sink = Sink::start(1, &[HERE], SinkOptions::default()).unwrap();
    let message = batch(1, 5);
    let stream = tokio::net::TcpStream::connect(address(&sink, FIRST, HERE))
        .await
        .unwrap();
    let (calls, connection) = h2::client::Builder::new()
        .initial_window_size(0)
        .handshake(stream)
        .await
        .unwrap();
    let driving = tokio::spawn(connection);
    let mut calls = calls.ready().await.unwrap();
    let (_response, mut body) = calls.send_request(request(TRACES, &[]), false).unwrap();
    body.send_data(framed(&message, false), true).unwrap();
    counted(&sink, 5).await;
    driving.abort();
    let mut caller = connected(&sink).await;
    assert_eq!(caller.export(TRACES, &message).await.unwrap().code, Some(0));
    assert_eq!(spans(&sink), (5, 5, 0));
}
