//! What the fuzz targets check: one module for each format that Windage parses and other programs
//! write. A check panics on a finding.
//!
//! `fuzz/` runs the checks under libFuzzer, which needs a nightly toolchain. The tests run them on the
//! seeds in `fuzz/seeds`.

#![forbid(unsafe_code)]

pub mod datadog;
pub mod exposition;
mod folder;
pub mod frames;
pub mod grpc;
pub mod histograms;
pub mod http2;
pub mod http_response;
pub mod index;
pub mod journal;
pub mod manifest;
pub mod otlp;
pub mod otlp_json;
pub mod plan;
pub mod procfs;
pub mod remote_write;
pub mod stacks;
pub mod table;
pub mod zipkin;

pub use folder::Folder;

/// Whether an input is worth a place in a corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corpus {
    /// It was checked.
    Keep,
    /// It lacks the form that the check expects of its inputs.
    Reject,
}
