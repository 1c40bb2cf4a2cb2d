//! The receivers' reader of HTTP/1.1 never panics, and counts the same however the bytes are cut.
//!
//! The input's first byte is the protocol (`o`, `d`, `z` or `r`), the rest what a connection sends.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use windage_sink::{Counts, Protocol, count_http};

fuzz_target!(|input: &[u8]| -> Corpus {
    let protocol = match input.first() {
        Some(b'o') => Protocol::OtlpHttp,
        Some(b'd') => Protocol::Datadog,
        Some(b'z') => Protocol::Zipkin,
        Some(b'r') => Protocol::RemoteWrite,
        _ => return Corpus::Reject,
    };
    let wire = &input[1..];
    let count = |piece_bytes| one_kind(count_http(protocol, wire, piece_bytes));
    let whole = count(usize::MAX);
    // Each request ends in one way.
    assert!(whole.rejected + whole.refused <= whole.requests);
    for piece_bytes in [1, 5, 100] {
        assert_eq!(count(piece_bytes), whole);
    }
    Corpus::Keep
});

/// A body that is both cut off and damaged is malformed or rejected, whichever shows first.
fn one_kind(counts: Counts) -> Counts {
    Counts {
        rejected: counts.rejected + counts.malformed,
        malformed: 0,
        ..counts
    }
}
