//! Phases of a batch program, and what a whole process used.

use crate::{ArmIndex, Place};

/// A part of a batch program's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// From its start until it can iterate: interpreter, imports, providers.
    Setup,
    /// The iterations themselves.
    Iterations,
    /// Sending what is still buffered after the last iteration.
    Flush,
}

impl Phase {
    /// All phases, in order of time.
    pub const ALL: [Phase; 3] = [Phase::Setup, Phase::Iterations, Phase::Flush];

    /// The word used in the protocol, files and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Setup => "setup",
            Phase::Iterations => "iterations",
            Phase::Flush => "flush",
        }
    }

    /// The phase of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Phase> {
        Phase::ALL.into_iter().find(|phase| phase.as_str() == name)
    }
}

/// What one phase of an arm's program used in one launch. A plan that starts a process per window
/// has one of these per window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseSpent {
    /// The launch, counted from 0 over the whole run.
    pub launch: u32,
    /// The program's arm.
    pub arm: ArmIndex,
    /// Which phase.
    pub phase: Phase,
    /// Elapsed time, in nanoseconds.
    pub wall_ns: u64,
    /// CPU, in nanoseconds; `None` when unreadable.
    pub cpu_ns: Option<u64>,
}

/// What a whole process, started for one window, used from its start to its exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessTimes {
    /// Its window.
    pub place: Place,
    /// Elapsed time, in nanoseconds.
    pub wall_ns: u64,
    /// CPU in user space, in nanoseconds; the split from `system_ns` is sampled at scheduler ticks.
    pub user_ns: u64,
    /// CPU in the kernel, in nanoseconds.
    pub system_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for phase in Phase::ALL {
            assert_eq!(Phase::from_name(phase.as_str()), Some(phase));
        }
        assert_eq!(Phase::from_name("warm-up"), None);
    }
}
