//! The simulation study: do intervals have their nominal coverage in each kind of noise found on
//! shared machines?
//!
//! `cargo test --locked -p windage-stats --test simulation -- --nocapture --test-threads 1` prints its
//! tables.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "shared test code")]

mod between_runs;
mod cells;
mod changeover;
mod experiment;
mod fixed_length;
mod gates;
mod launch_totals;
mod noise;
mod one_after_the_other;
mod sequences;
mod totals;
mod two_runs;
