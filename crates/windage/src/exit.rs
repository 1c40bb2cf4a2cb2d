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
    /// Of a code with which Windage ended; of any other, that it could not measure.
    pub(crate) fn of(code: u8) -> Exit {
        let all = [
            Exit::Success,
            Exit::Exceeded,
            Exit::Usage,
            Exit::Inconclusive,
            Exit::Void,
            Exit::CouldNotMeasure,
            Exit::Interrupted,
        ];
        let found = all.into_iter().find(|exit| *exit as u8 == code);
        found.unwrap_or(Exit::CouldNotMeasure)
    }

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

    #[test]
    fn a_code_is_read_as_it_was_meant() {
        for exit in [Exit::Success, Exit::Void, Exit::Interrupted] {
            assert_eq!(Exit::of(exit as u8), exit);
        }
        assert_eq!(Exit::of(137), Exit::CouldNotMeasure);
    }
}
