//! Exit codes: part of the contract with scripts.

use std::process::ExitCode;

/// How a command ended, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Measured, or done.
    Success = 0,
    /// Measured, and above a budget of the plan (`windage check`).
    Exceeded = 1,
    /// The command line or the plan is wrong.
    Usage = 2,
    /// Measured, but not as well as the plan's `stop` asks for; a budget is undecided; or the runs
    /// can't be compared.
    Inconclusive = 3,
    /// The run is void: its figures must not be used.
    Void = 4,
    /// Could not measure: a service died, the disk is full, a permission is missing.
    CouldNotMeasure = 5,
    /// Ctrl-C.
    Interrupted = 130,
}

impl Exit {
    /// For the operating system.
    pub(crate) fn code(self) -> ExitCode {
        ExitCode::from(self as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_several_runs_wins() {
        let worst = [Exit::Success, Exit::CouldNotMeasure, Exit::Void]
            .into_iter()
            .max();
        assert_eq!(worst, Some(Exit::CouldNotMeasure));
        assert!(Exit::Interrupted > Exit::CouldNotMeasure);
        assert!(Exit::Success < Exit::Inconclusive && Exit::Inconclusive < Exit::Void);
    }
}
