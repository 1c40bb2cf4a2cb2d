//! A session with a few exchanges, over a connection that yields the input, ends whatever the
//! bytes: it never hangs, and each exchange has exactly one outcome. `feed_http2` asserts both, and
//! documents the first byte of an input.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    windage_load::feed_http2(input);
});
