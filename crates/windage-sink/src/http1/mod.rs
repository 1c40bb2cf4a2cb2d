//! HTTP/1.1, read straight from a buffer that all connections share.
//!
//! Between two requests a connection holds nothing but itself, and within one no more than the
//! request needs: ten thousand of them fit into a few megabytes. [`reader`] is the protocol
//! without a socket, [`connection`] moves the bytes.

pub(crate) mod connection;
mod framing;
mod reader;

use std::sync::Arc;

use crate::account::Account;
use crate::datadog::DatadogOptions;
use crate::receipt::Detail;
use crate::receiver::Receiver;
use crate::room::Budget;
use crate::{Counts, Protocol};
use reader::{Close, Reader, Ready};

/// Counts what a connection brings that sends these bytes, in pieces of `piece_bytes` each, and
/// reads no answer. Requests behind one after which the connection would be closed don't count.
#[must_use]
pub fn count_http(protocol: Protocol, wire: &[u8], piece_bytes: usize) -> Counts {
    const MAX_BODY_BYTES: usize = 1 << 20;
    let account = Arc::new(Account::new(Detail::Full, Budget::new(MAX_BODY_BYTES)));
    let mut reader = Reader::new(Arc::new(Receiver {
        account: Arc::clone(&account),
        protocol,
        max_body_bytes: MAX_BODY_BYTES,
        datadog: DatadogOptions::default(),
        keep: None,
    }));
    for mut piece in wire.chunks(piece_bytes.max(1)) {
        while !piece.is_empty() {
            let (used, ready) = reader.feed(piece);
            piece = &piece[used..];
            let is_over = match ready {
                Ready::Reset => true,
                Ready::Say { close, .. } => close == Close::Yes,
                Ready::More | Ready::Continue => false,
            };
            if is_over {
                return account.counts();
            }
        }
    }
    drop(reader);
    account.counts()
}
#[cfg(test)]
mod tests;
