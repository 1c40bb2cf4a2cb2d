//! Senders of telemetry: bodies, HTTP/1.1 by hand, gRPC over bare HTTP/2.

#![allow(dead_code, reason = "each test target uses a part of it")]

pub(crate) mod bodies;
pub(crate) mod grpc;
pub(crate) mod http;
pub(crate) mod http2;
pub(crate) mod process;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use windage_model::ArmIndex;
use windage_sink::{Protocol, Sink};

pub(crate) const FIRST: ArmIndex = ArmIndex(0);
pub(crate) const SECOND: ArmIndex = ArmIndex(1);
/// Long enough for a loaded machine; normally nothing waits that long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn address(sink: &Sink, arm: ArmIndex, protocol: Protocol) -> SocketAddr {
    sink.address(arm, protocol).unwrap()
}

/// The same while other tasks run.
pub(crate) async fn in_the_end(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
