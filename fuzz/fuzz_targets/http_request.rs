//! The receivers' reader of HTTP/1.1 never panics, and counts the same however the bytes are cut.
//!
//! The input's first byte is the protocol (`o`, `d`, `z` or `r`), the rest what a connection sends.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use windage_sink::{Protocol, count_http};

fuzz_target!(|input: &[u8]| -> Corpus {
    let protocol = match input.first() {
        Some(b'o') => Protocol::OtlpHttp,
        Some(b'd') => Protocol::Datadog,
        Some(b'z') => Protocol::Zipkin,
        Some(b'r') => Protocol::RemoteWrite,
        _ => return Corpus::Reject,
    };
    let wire = &input[1..];
    let whole = count_http(protocol, wire, usize::MAX);
    // Each request ends in one way.
    assert!(whole.rejected + whole.malformed + whole.refused <= whole.requests);
    for piece_bytes in [1, 5, 100] {
        assert_eq!(count_http(protocol, wire, piece_bytes), whole);
    }
    Corpus::Keep
});
