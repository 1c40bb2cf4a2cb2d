//! Serves one connection over memory, on bytes from a fuzzer.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncWriteExt as _, copy, duplex, sink, split};
use tokio::runtime::Builder;
use tokio::task::LocalSet;
use tokio::time::timeout;

use crate::grpc::connection::serve;
use crate::receiver::Receiver;
use crate::{Counts, Protocol};

const MAX_BODY_BYTES: usize = 64 << 10;
const BUDGET_BYTES: usize = 1 << 20;
/// Bytes between the two ends; short, so that both have to wait.
const PIPE_BYTES: usize = 1 << 10;
/// Nothing waits for time here: a connection that lasts longer hangs.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// Serves a connection whose client sends `wire`, reads every answer and leaves. Returns what was
/// counted.
///
/// Public only because a fuzz target is a crate of its own.
///
/// # Panics
/// When the connection does not end with its client, or memory was not returned.
#[doc(hidden)]
#[must_use]
pub fn feed_grpc(wire: &[u8]) -> Counts {
    let receiver = Receiver::alone(Protocol::OtlpGrpc, MAX_BODY_BYTES, BUDGET_BYTES);
    let runtime = Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("an event loop");
    let local = LocalSet::new();
    local.block_on(&runtime, async {
        let ended = timeout(ENDS_WITHIN, converse(wire, &receiver)).await;
        assert!(ended.is_ok(), "the connection does not end");
    });
    // Calls that waited for more are cut.
    drop(local);
    assert!(receiver.account.budget.is_whole(), "memory is missing");
    receiver.account.counts()
}

async fn converse(wire: &[u8], receiver: &Arc<Receiver>) {
    let (client, served) = duplex(PIPE_BYTES);
    let (mut reading, mut writing) = split(client);
    let send = async {
        // The connection may end before everything is sent.
        let _ = writing.write_all(wire).await;
        let _ = writing.shutdown().await;
    };
    let mut nothing = sink();
    let read = copy(&mut reading, &mut nothing);
    let _ = tokio::join!(send, read, serve(served, receiver));
}
