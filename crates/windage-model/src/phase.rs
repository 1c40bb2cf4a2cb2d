//! Phases of a batch program, and what a whole process used.

use crate::{ArmIndex, Place};

/// A part of a batch program's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// From its start until it can iterate: the interpreter, imports, providers.
    Setup,
    /// The iterations themselves.
    Iterations,
    /// Bringing out what is still held when there is no more to be done.
    Flush,
}

impl Phase {
    /// All of them, in the order of time.
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

/// What one phase of an arm's program took in one launch; a plan that starts a process for each
/// window has one of these for each window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseSpent {
    /// The launch, counted from 0 over the whole run.
    pub launch: u32,
    /// Whose program it is.
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
    /// CPU in user space, in nanoseconds; how it is split from the next is sampled by the
    /// scheduler's tick.
    pub user_ns: u64,
    /// CPU in the kernel, in nanoseconds.
    pub system_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_phase() {
        for phase in Phase::ALL {
            assert_eq!(Phase::from_name(phase.as_str()), Some(phase));
        }
        assert_eq!(Phase::from_name("warm-up"), None);
    }
}
