//! Estimators: values in, values out; no clock, no file, no socket.
//!
//! The effect on a total, such as CPU per request, is estimated from one value by launch
//! ([`totals`]); several runs of it show the variance between runs ([`mod@between_runs`]). Any other
//! comparison takes logarithms of ratios within blocks ([`launches`]), computes a robust location
//! for each launch ([`mod@location`]) with an error from their long-run variance ([`long_run`]), and
//! combines the launches into one interval that includes both levels of variation
//! ([`mod@two_level`]). Comparisons over a swept factor form a curve ([`mod@fit`]). Sources are in
//! `docs/METHODOLOGY.md`.
//!
//! ```
//! use windage_stats::{Confidence, PairedTotals, totals};
//!
//! // CPU per request of both arms in µs, by launch; the last launch is slow in both.
//! let launches = [[180.0, 197.9], [182.1, 200.5], [181.2, 199.2], [240.0, 264.3]]
//!     .map(|[baseline, arm]| PairedTotals { baseline, arm });
//! let share = totals::relative(&launches)?;
//! let (low, high) = share.ends(Confidence::P95);
//! assert!((0.095..0.105).contains(&share.estimate) && low < 0.1 && high - low < 0.01);
//! // Four launches are too few for a verdict, whatever the interval.
//! assert!(!share.has_enough_launches());
//! # Ok::<(), totals::TotalsError>(())
//! ```

#![forbid(unsafe_code)]

pub mod between_runs;
pub mod change_points;
pub mod components;
pub mod confidence;
pub mod difference;
pub mod fit;
pub mod launches;
pub mod location;
pub mod long_run;
pub mod modes;
pub mod onset;
mod outliers;
pub mod outlook;
pub mod proportion;
pub mod ratio;
pub mod sequence;
pub mod totals;
pub mod trend;
pub mod two_level;

pub use between_runs::{BetweenRuns, PooledBias, RunEstimate, between_runs, pooled_bias};
pub use change_points::{ChangePoint, change_points};
pub use components::{Advice, Components, Costs, advice, components};
pub use confidence::Confidence;
pub use difference::difference;
pub use fit::{Fit, fit, side_by_side};
pub use launches::Launches;
pub use location::{Estimator, Location, locate, location, robust_sd};
pub use long_run::{MeanError, mean_error};
pub use modes::{Modes, bimodal};
pub use onset::{Onset, onset};
pub use outlook::{Outlook, VerdictRule, outlook, sequence_settles, settles};
pub use proportion::{proportion, proportion_difference};
pub use ratio::ratio;
pub use sequence::{radius, units_needed};
pub use totals::{Effect, PairedTotals, TotalsError};
pub use trend::{Over, Trend, trend_over};
pub use two_level::{TwoLevel, TwoLevelError, UnitKind, Units, two_level, unpaired};
