//! Where the time goes: what profilers sampled, as values.
//!
//! [`collapsed_by_py_spy`] and [`collapsed_by_perf`] make collapsed stacks of what the profilers
//! write, [`Stacks`] reads and counts them, and an [`ArmProfile`] weighs them by the CPU that an
//! iteration took. [`added`] says what an arm spends in each function beyond the baseline, with the
//! error of sampling; [`differential_flame_graph`] draws it.
//!
//! Nothing here starts a process, opens a file or reads a clock.

mod collapsing;
mod cost;
mod graph;
mod stacks;

pub use collapsing::{PERF_EVENT, PERF_FIELDS, collapsed_by_perf, collapsed_by_py_spy};
pub use cost::{Added, ArmProfile, CONFIDENCE, FunctionCost, added};
pub use graph::{Interaction, differential_flame_graph};
pub use stacks::{Limits, Stacks};
