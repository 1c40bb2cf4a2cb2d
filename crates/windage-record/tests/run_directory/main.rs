//! The run directory as other crates use it: through files and the public interface only.

#![expect(
    clippy::unwrap_used,
    reason = "a sample that cannot be created fails the test"
)]

mod arbitrary;
mod cuts;
mod damage;
mod histograms;
mod manifest;
mod obstacles;
mod profiles;
mod resume;
mod round_trip;
mod samples;
mod trust;
