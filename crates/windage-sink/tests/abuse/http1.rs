//! Abuse over HTTP/1.1.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use windage_sink::{Protocol, Sink};

use crate::sender::bodies::gzip;
use crate::sender::http::{
    Answer, JSON, PROTOBUF, connect, exchange, head, is_closed, open_head, post_gzip, post_traces,
    read_answer,
};
use crate::sender::{FIRST, SECOND, address, eventually};
use crate::witness::{MAX_CONNECTIONS, Most, alone, unmoved};

const HERE: Protocol = Protocol::OtlpHttp;

/// What an arm's requests may hold together by default: see `SinkOptions`.
const HELD_MIB: u64 = 24;
/// Buffers that connections read into; they double as they grow.
const BUFFERS_MIB: u64 = (2 * MAX_CONNECTIONS as u64 * (24 << 10)) >> 20;
/// In addition: buffers of the tests, the runtime's tasks, what the allocator keeps.
const OTHERS_MIB: u64 = 16;

fn opened(sink: &Sink) -> TcpStream {
    connect(address(sink, FIRST, HERE))
}

/// Writes until the peer stops reading, at most `times` times. Returns how often it wrote.
fn insist(stream: &mut TcpStream, piece: &[u8], times: usize) -> usize {
    (0..times)
        .position(|_| stream.write_all(piece).is_err())
        .unwrap_or(times)
}

/// The answer to a sender that wrote more than was read.
fn last_answer(stream: &mut TcpStream) -> Option<Answer> {
    let answer = read_answer(stream).ok();
    assert!(is_closed(stream));
    answer
}

#[test]
fn heads_without_an_end() {
    let Some(alone) = alone() else { return };
    let mut head = open_head("POST", "/v1/traces", &[]);
    head.extend_from_slice(b"x-more: ");
    head.resize(20 << 10, b'y');
    let more = vec![b'y'; 8 << 10];
    let counts = unmoved(&alone, Most::for_many(BUFFERS_MIB + OTHERS_MIB), |sink| {
        let mut held: Vec<TcpStream> = (0..MAX_CONNECTIONS).map(|_| opened(sink)).collect();
        for piece in [&head, &more] {
            for stream in &mut held {
                stream.write_all(piece).unwrap();
            }
        }
        for stream in &mut held {
            assert_eq!(last_answer(stream).unwrap().status, 431);
        }
    });
    assert_eq!((counts.requests, counts.rejected), (1000, 1000));
}

#[test]
fn bodies_without_an_end() {
    let Some(alone) = alone() else { return };
    let request = head("POST", "/v1/traces", &[("content-type", JSON)], 1 << 20);
    let piece = vec![b' '; 32 << 10];
    let counts = unmoved(
        &alone,
        Most::for_many(HELD_MIB + BUFFERS_MIB + OTHERS_MIB),
        |sink| {
            let mut held: Vec<TcpStream> = (0..1000).map(|_| opened(sink)).collect();
            for stream in &mut held {
                stream.write_all(&request).unwrap();
                stream.write_all(&piece).unwrap();
            }
            eventually("some are refused", || sink.counts(FIRST).rejected > 0);
            drop(held);
            eventually("all are settled", || sink.counts(FIRST).requests == 1000);
        },
    );
    assert_eq!(counts.rejected, 1000);
}

#[test]
fn compressed_bodies_without_an_end() {
    let Some(alone) = alone() else { return };
    let packed = gzip(&vec![b' '; 1 << 20]);
    let headers = [("content-type", PROTOBUF), ("content-encoding", "gzip")];
    let mut request = head("POST", "/v1/traces", &headers, packed.len());
    request.extend_from_slice(&packed[..100]);
    let counts = unmoved(
        &alone,
        Most::for_many(HELD_MIB + BUFFERS_MIB + OTHERS_MIB),
        |sink| {
            let mut held: Vec<TcpStream> = (0..1000).map(|_| opened(sink)).collect();
            for stream in &mut held {
                stream.write_all(&request).unwrap();
            }
            eventually("some are refused", || sink.counts(FIRST).rejected > 0);
            drop(held);
            eventually("all are settled", || sink.counts(FIRST).requests == 1000);
        },
    );
    assert_eq!(counts.rejected + counts.malformed, 1000);
}

#[test]
fn pipelined_requests_without_end() {
    let Some(alone) = alone() else { return };
    let ahead = post_traces(b"").repeat(2000);
    let counts = unmoved(
        &alone,
        Most::for_many(HELD_MIB + BUFFERS_MIB + OTHERS_MIB),
        |sink| {
            sink.set_backend(FIRST, "stall".parse().unwrap());
            let mut held: Vec<TcpStream> = (0..500).map(|_| opened(sink)).collect();
            for stream in &mut held {
                stream.set_nonblocking(true).unwrap();
                // As much as the kernel accepts.
                let _ = stream.write(&ahead);
            }
            eventually("each has one request in progress", || {
                sink.counts(FIRST).requests >= 500
            });
        },
    );
    assert_eq!(counts.spans, 0);
}

#[test]
fn a_hundred_megabytes() {
    let Some(alone) = alone() else { return };
    let piece = vec![0; 1 << 20];
    let counts = unmoved(&alone, Most::for_few(OTHERS_MIB), |sink| {
        let mut stream = opened(sink);
        let head = head(
            "POST",
            "/v1/traces",
            &[("content-type", PROTOBUF)],
            100 << 20,
        );
        stream.write_all(&head).unwrap();
        insist(&mut stream, &piece, 100);
        assert_eq!(last_answer(&mut stream).unwrap().status, 413);
    });
    assert_eq!((counts.requests, counts.rejected), (1, 1));
}

#[test]
fn chunks_without_an_end() {
    let Some(alone) = alone() else { return };
    let headers = [("content-type", PROTOBUF), ("transfer-encoding", "chunked")];
    let mut chunk = b"100000\r\n".to_vec();
    chunk.resize(chunk.len() + (1 << 20), 0);
    chunk.extend_from_slice(b"\r\n");
    // Field 2 of a request, which is skipped, over and over.
    let skipped = [0x12, 0].repeat(1 << 19);
    chunk[8..8 + (1 << 20)].copy_from_slice(&skipped);
    let counts = unmoved(&alone, Most::for_few(OTHERS_MIB), |sink| {
        let mut stream = opened(sink);
        let mut head = open_head("POST", "/v1/traces", &headers);
        head.extend_from_slice(b"\r\n");
        stream.write_all(&head).unwrap();
        let written = insist(&mut stream, &chunk, 10_000);
        assert!(written < 10_000, "it ends at some time");
    });
    assert_eq!((counts.requests, counts.rejected), (1, 1));
}

#[test]
fn bombs() {
    let Some(alone) = alone() else { return };
    let zeros = gzip(&vec![0; 64 << 20]);
    // A resource of 2^40 bytes, with a scope of 2^39 in it and a span of 2^38 in that.
    let mut nested = Vec::new();
    for (key, size) in [(0x0a, 0x20), (0x12, 0x10), (0x12, 0x08)] {
        nested.extend_from_slice(&[key, 0x80, 0x80, 0x80, 0x80, 0x80, size]);
    }
    nested.resize(15 << 20, 0);
    let table = [
        ("zeros", post_gzip(&zeros)),
        ("sizes", post_traces(&nested)),
        ("both", post_gzip(&gzip(&nested))),
    ];
    // The request holds a copy, and what this process holds counts.
    drop(nested);
    for (name, request) in table {
        let counts = unmoved(&alone, Most::for_few(HELD_MIB + OTHERS_MIB), |sink| {
            for _ in 0..10 {
                let answer = exchange(&mut opened(sink), &request).unwrap();
                assert!(
                    matches!(answer.status, 400 | 413 | 503),
                    "{name}: {}",
                    answer.status
                );
            }
        });
        assert_eq!(counts.rejected + counts.malformed, 10, "{name}");
    }
}

#[test]
fn thousands_of_connections() {
    let Some(alone) = alone() else { return };
    unmoved(&alone, Most::for_many(OTHERS_MIB), |sink| {
        let held: Vec<TcpStream> = (0..4000).map(|_| opened(sink)).collect();
        eventually("those above the limit are closed", || {
            sink.counts(FIRST).refused_connections == 4000 - MAX_CONNECTIONS as u64
        });
        // The other arm has its own limit: this connection stays open.
        let mut newcomer = connect(address(sink, SECOND, HERE));
        let a_while = Duration::from_millis(200);
        newcomer.set_read_timeout(Some(a_while)).unwrap();
        let error = newcomer.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        drop(held);
        eventually("connections are accepted again", || {
            let mut stream = opened(sink);
            stream.write_all(&post_traces(b"")).is_ok() && read_answer(&mut stream).is_ok()
        });
    });
}

#[test]
fn noise() {
    let Some(alone) = alone() else { return };
    let mut state = 2026_u64;
    let mut noise = vec![0; 4 << 10];
    let counts = unmoved(&alone, Most::for_few(OTHERS_MIB), |sink| {
        for protocol in [Protocol::OtlpHttp, Protocol::OtlpGrpc] {
            for _ in 0..300 {
                for byte in &mut noise {
                    // Knuth's generator; any would do.
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    *byte = (state >> 56) as u8;
                }
                let mut stream = connect(address(sink, FIRST, protocol));
                insist(&mut stream, &noise, 1);
                let mut said = Vec::new();
                let ended = stream.read_to_end(&mut said);
                let timed_out = ended.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
                assert!(!timed_out, "{protocol}: the connection is closed");
            }
        }
    });
    assert_eq!((counts.requests, counts.rejected), (300, 300));
}
