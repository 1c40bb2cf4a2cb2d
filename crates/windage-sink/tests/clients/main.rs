//! Exporters as services have them, of five languages and three vendors: each sends a known
//! number of spans, points or records, and the sink counts exactly that many.
//!
//! The programs lie in `subjects/exporters`; `cargo xtask test` makes them and names them in
//! `WINDAGE_TEST_EXPORTER_*`.

// clippy.toml allows it in functions marked `#[test]`; those that they share need it said.
#![allow(clippy::unwrap_used)]

mod case;
mod delivery;
mod exporters;
mod program;
mod prometheus;
mod rust;
#[path = "../../../windage/tests/quick/skip.rs"]
mod skip;
mod telemetrygen;
