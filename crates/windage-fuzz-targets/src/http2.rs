//! A session with a few exchanges, over a connection that yields the input, ends whatever the
//! bytes: it never hangs, and each exchange has exactly one outcome. `feed_http2` asserts both, and
//! documents the first byte of an input.

use crate::Corpus;

/// Checks what the module says of an input.
pub fn check(input: &[u8]) -> Corpus {
    windage_load::feed_http2(input);
    Corpus::Keep
}
