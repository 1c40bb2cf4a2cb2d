//! The simulation study: do intervals hold what they say, in each kind of noise that machines of
//! this kind have?
//!
//! `cargo test -p windage-stats --test simulation -- --nocapture --test-threads 1` prints its
//! tables.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "what the tests share is test code as well"
)]

mod cells;
mod experiment;
mod fixed_length;
mod noise;
mod one_after_the_other;
mod sequences;
mod two_runs;
