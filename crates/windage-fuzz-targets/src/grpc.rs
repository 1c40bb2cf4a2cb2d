//! A connection of the gRPC receiver ends with its client, whatever that has sent: nothing hangs, all
//! memory is returned, and only what was accepted is counted. `feed_grpc` asserts the first two.
//!
//! An input that begins with `=` is all that the client sends; one with `+` is what follows the
//! preface and empty settings.

use windage_sink::{Counts, feed_grpc};

use crate::Corpus;

const BEGINS: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// Checks what the module says of an input.
pub fn check(input: &[u8]) -> Corpus {
    let wire = match input.split_first() {
        Some((b'=', wire)) => wire.to_vec(),
        Some((b'+', frames)) => [BEGINS, frames].concat(),
        _ => return Corpus::Reject,
    };
    let counts = feed_grpc(&wire);
    assert!(counts.wire_bytes <= wire.len() as u64, "{counts:?}");
    let refused = counts.rejected + counts.malformed;
    assert!(counts.requests >= refused, "{counts:?}");
    if counts.requests == refused {
        let nothing = Counts {
            requests: counts.requests,
            rejected: counts.rejected,
            malformed: counts.malformed,
            wire_bytes: counts.wire_bytes,
            ..Counts::default()
        };
        assert_eq!(counts, nothing);
    }
    Corpus::Keep
}
