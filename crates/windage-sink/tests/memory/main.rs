//! What an open connection holds.

#![expect(clippy::unwrap_used, reason = "shared test code is test code as well")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use windage_sink::{Protocol, Sink, SinkOptions};

use crate::sender::bodies::{batch, gzip};
use crate::sender::grpc::framed;
use crate::sender::http::{connect, exchange, post_gzip, post_traces};
use crate::sender::http2::{DATA, END_HEADERS, END_STREAM, HEADERS, frame, head, speak};
use crate::sender::process::{allow_many_connections, resident_bytes};
use crate::sender::{FIRST, address};

#[path = "../sender/mod.rs"]
mod sender;

const CONNECTIONS: u64 = 1000;
const SPANS: u64 = 100;
/// Buffers that hyper keeps as long as a connection lasts: 24 KiB to read, which may have doubled,
/// and 8 KiB to write. 64 MB for 1,000 connections.
const MAX_HTTP_BYTES: u64 = 64_000;
/// Buffers that the `h2` crate keeps as long as a connection lasts: 16 KiB to write, a frame of 16
/// KiB to read, and header tables of both directions.
const MAX_GRPC_BYTES: u64 = 40 << 10;

/// A connection on which plain and compressed requests were answered.
fn over_http(address: SocketAddr) -> TcpStream {
    let body = batch(1, SPANS);
    let mut stream = connect(address);
    for request in [post_traces(&body), post_gzip(&gzip(&body))] {
        assert_eq!(exchange(&mut stream, &request).unwrap().status, 200);
    }
    stream
}

/// The same over gRPC.
fn over_grpc(address: SocketAddr) -> TcpStream {
    let mut stream = speak(address, &[]);
    let message = framed(&batch(1, SPANS), false);
    for id in [1, 3] {
        let sent = [
            frame(HEADERS, END_HEADERS, id, &head()),
            frame(DATA, END_STREAM, id, &message),
        ];
        stream.write_all(&sent.concat()).unwrap();
        let mut answer = [0; 9];
        // The frame that ends the stream holds the trailers.
        while (answer[3], answer[4] & END_STREAM) != (HEADERS, END_STREAM) {
            stream.read_exact(&mut answer).unwrap();
            stream.read_exact(&mut vec![0; answer[2].into()]).unwrap();
        }
    }
    stream
}

#[test]
fn open_connections_hold_little() {
    allow_many_connections();
    let protocols = [Protocol::OtlpHttp, Protocol::OtlpGrpc];
    let options = SinkOptions {
        max_connections: 3 * CONNECTIONS as usize,
        ..SinkOptions::default()
    };
    let sink = Sink::start(1, &protocols, options).unwrap();
    let http = address(&sink, FIRST, Protocol::OtlpHttp);
    let grpc = address(&sink, FIRST, Protocol::OtlpGrpc);
    // What is allocated once for all connections.
    let warm = [over_http(http), over_grpc(grpc)];

    let before = resident_bytes();
    let over_http: Vec<TcpStream> = (0..CONNECTIONS).map(|_| over_http(http)).collect();
    let between = resident_bytes();
    let over_grpc: Vec<TcpStream> = (0..CONNECTIONS).map(|_| over_grpc(grpc)).collect();
    let after = resident_bytes();

    let each_http = (between - before) / CONNECTIONS;
    let each_grpc = (after - between) / CONNECTIONS;
    assert!((1..=MAX_HTTP_BYTES).contains(&each_http), "{each_http}");
    assert!((1..=MAX_GRPC_BYTES).contains(&each_grpc), "{each_grpc}");
    let requests = 2 * (warm.len() + over_http.len() + over_grpc.len()) as u64;
    let counts = sink.counts(FIRST);
    assert_eq!(
        (counts.requests, counts.spans),
        (requests, requests * SPANS)
    );
}
