//! Estimators: values in, values out; no clock, no file, no socket.
//!
//! The flow of a comparison: logarithms of ratios within blocks  are brought to a
//! robust location for each launch ([`location`]), and the launches to one interval that holds
//! both levels of variation ([`two_level`]). Sources are in `docs/METHODOLOGY.md`.

pub mod correlation;
pub mod location;
pub mod two_level;

pub use location::{Location, trimmed_mean};
pub use two_level::{Confidence, Launches, TwoLevel, TwoLevelError, two_level, unpaired};
