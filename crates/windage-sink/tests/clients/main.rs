//! Real exporters of five languages and three vendors. Each sends a known number of spans, points
//! or records, and the sink counts exactly that many.
//!
//! The programs are in `subjects/exporters`; `cargo xtask test` builds them and names them in
//! `WINDAGE_TEST_EXPORTER_*`.

// clippy.toml allows it in `#[test]` functions; shared helpers need the attribute.
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
