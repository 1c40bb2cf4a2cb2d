//! What an open connection holds.

use std::net::TcpStream;

use windage_sink::{Protocol, Sink, SinkOptions};

use crate::sender::bodies::{batch, gzip};
use crate::sender::http::{connect, exchange, post_gzip, post_traces};
use crate::sender::{FIRST, address};
use crate::witness::{alone, resident_bytes};

const CONNECTIONS: u64 = 2000;
/// 64 MB for 10,000 connections.
const MAX_BYTES_EACH: u64 = 6_400;

#[test]
fn ten_thousand_connections_fit_into_64_megabytes() {
    let _alone = alone();
    let options = SinkOptions {
        max_connections: 10_000,
        ..SinkOptions::default()
    };
    let sink = Sink::start(1, &[Protocol::OtlpHttp], options).unwrap();
    let address = address(&sink, FIRST, Protocol::OtlpHttp);
    let body = batch(1, 100);
    let requests = match std::env::var("WAY").as_deref() {
        Ok("plain") => vec![post_traces(&body)],
        Ok("gzip") => vec![post_gzip(&gzip(&body))],
        _ => vec![],
    };
    let open = |count: u64| -> Vec<TcpStream> {
        (0..count)
            .map(|_| {
                let mut stream = connect(address);
                for request in &requests {
                    assert_eq!(exchange(&mut stream, request).unwrap().status, 200);
                }
                stream
            })
            .collect()
    };
    let warm = open(10);
    let before = resident_bytes();
    let held = open(CONNECTIONS);
    let each = resident_bytes().saturating_sub(before) / CONNECTIONS;
    eprintln!("{each} bytes a connection");
    assert!(each <= MAX_BYTES_EACH, "{each} bytes a connection");
    assert_eq!(
        sink.counts(FIRST).requests,
        2 * (held.len() + warm.len()) as u64
    );
}
