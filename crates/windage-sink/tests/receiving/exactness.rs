//! Nothing is lost and nothing is counted twice, whatever the backend does, if clients retry until
//! they succeed.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use windage_model::Backend;
use windage_sink::{Counts, Protocol, Sink, SinkOptions, TraceSample};

use crate::sender::bodies::batch;
use crate::sender::grpc::{Caller, TRACES};
use crate::sender::http::{exchange, post_traces};
use crate::sender::{FIRST, PATIENCE, address};

const SENDERS: u64 = 4;
const BATCHES: u64 = 500;
const SPANS: u64 = 3;
/// How long each behaviour lasts; all are shorter than the clients' patience.
const EACH_LASTS: Duration = Duration::from_millis(15);

/// Sends until the connection breaks or an answer arrives. Returns whether it was a success.
fn try_http(address: SocketAddr, stream: &mut Option<std::net::TcpStream>, request: &[u8]) -> bool {
    if stream.is_none() {
        *stream = std::net::TcpStream::connect(address).ok();
    }
    let Some(open) = stream else {
        return false;
    };
    open.set_read_timeout(Some(PATIENCE)).unwrap();
    match exchange(open, request) {
        Ok(answer) => answer.status == 200,
        Err(_) => {
            *stream = None;
            false
        }
    }
}

fn send_over_http(address: SocketAddr, numbers: impl Iterator<Item = u64>) {
    let mut stream = None;
    for number in numbers {
        let request = post_traces(&batch(number, SPANS));
        let began = Instant::now();
        while !try_http(address, &mut stream, &request) {
            assert!(
                began.elapsed() < PATIENCE,
                "batch {number} never got through"
            );
            thread::sleep(Duration::from_millis(1));
        }
    }
}

async fn try_grpc(address: SocketAddr, caller: &mut Option<Caller>, message: &[u8]) -> bool {
    if caller.is_none() {
        *caller = Caller::connect(address).await.ok();
    }
    let Some(open) = caller else {
        return false;
    };
    match open.export(TRACES, message).await {
        Ok(ended) => ended.code == Some(0),
        Err(_) => {
            *caller = None;
            false
        }
    }
}

fn send_over_grpc(address: SocketAddr, numbers: impl Iterator<Item = u64>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut caller = None;
        for number in numbers {
            let message = batch(number, SPANS);
            let began = Instant::now();
            while !try_grpc(address, &mut caller, &message).await {
                assert!(
                    began.elapsed() < PATIENCE,
                    "batch {number} never got through"
                );
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    });
}

/// Several clients send batches while the backend cycles through these behaviours.
fn deliver(protocol: Protocol, backends: &[&str]) -> Counts {
    let backends: Vec<Backend> = backends
        .iter()
        .map(|words| words.parse().unwrap())
        .collect();
    let sink = Sink::start(1, &[protocol], SinkOptions::default()).unwrap();
    let address = address(&sink, FIRST, protocol);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let switching = scope.spawn(|| {
            for backend in backends.iter().cycle() {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                sink.set_backend(FIRST, *backend);
                thread::sleep(EACH_LASTS);
            }
        });
        let senders: Vec<_> = (0..SENDERS)
            .map(|sender| {
                let numbers = sender * BATCHES..(sender + 1) * BATCHES;
                scope.spawn(move || match protocol {
                    Protocol::OtlpGrpc => send_over_grpc(address, numbers),
                    _ => send_over_http(address, numbers),
                })
            })
            .collect();
        let ended: Vec<_> = senders.into_iter().map(|sender| sender.join()).collect();
        is_over.store(true, Ordering::Relaxed);
        switching.join().unwrap();
        assert!(ended.iter().all(Result::is_ok));
    });
    let counts = sink.counts(FIRST);
    assert_eq!(counts.spans, SENDERS * BATCHES * SPANS, "{counts:?}");
    assert_eq!(counts.root_spans, SENDERS * BATCHES, "{counts:?}");
    assert_eq!((counts.rejected, counts.malformed), (0, 0), "{counts:?}");
    assert_eq!(
        sink.take(FIRST).traces,
        TraceSample {
            one_in: 1,
            traces: SENDERS * BATCHES,
            complete: SENDERS * BATCHES,
            spans: SENDERS * BATCHES * SPANS,
            duplicates: 0,
        }
    );
    counts
}

#[test]
fn refusals_and_resets_over_http() {
    let counts = deliver(Protocol::OtlpHttp, &["reject 503 20%", "ok", "reset"]);
    assert!(
        counts.refused > 0 && counts.retried_requests > 0,
        "{counts:?}"
    );
}

#[test]
fn refusals_and_resets_over_grpc() {
    let counts = deliver(Protocol::OtlpGrpc, &["reject 503 20%", "ok", "reset"]);
    assert!(
        counts.refused > 0 && counts.retried_requests > 0,
        "{counts:?}"
    );
}

#[test]
fn answers_that_are_lost_over_http() {
    let counts = deliver(
        Protocol::OtlpHttp,
        &["slow 5ms..30ms", "down", "ok", "down 5ms"],
    );
    assert!(counts.repeated_spans > 0, "{counts:?}");
}

#[test]
fn answers_that_are_lost_over_grpc() {
    let counts = deliver(
        Protocol::OtlpGrpc,
        &["slow 5ms..30ms", "down", "ok", "down 5ms"],
    );
    assert!(counts.repeated_spans > 0, "{counts:?}");
}
