//! Where the time goes: profilers' samples, as values.
//!
//! [`collapsed_by_py_spy`] and [`collapsed_by_perf`] convert the output of profilers into collapsed
//! stacks, [`Stacks`] reads and counts them, and an [`ArmProfile`] scales them by the CPU per
//! iteration. [`added`] computes what an arm spends in each function beyond the baseline, with the
//! sampling error; [`differential_flame_graph`] draws it.
//!
//! Nothing here starts a process, opens a file or reads a clock.

#![forbid(unsafe_code)]

mod collapsing;
mod cost;
mod graph;
mod stacks;

pub use collapsing::{PERF_EVENT, PERF_FIELDS, collapsed_by_perf, collapsed_by_py_spy};
pub use cost::{Added, ArmProfile, CONFIDENCE, FunctionCost, added};
pub use graph::{Interaction, differential_flame_graph};
pub use stacks::{Limits, Stacks};
