//! Reading a run directory so that the next reading is faster.
//!
//! Unpacking the histograms of a long run takes longer than all the rest. These functions leave what
//! was gathered of them in the run directory (`quantiles.bin`) where the run has 10 000 windows or
//! more and nobody is writing it; a run that gathers while it goes on leaves the same. What is concluded
//! is the same to the last bit with it and without it, and whoever may not write concludes all the same.

mod in_run;

pub use in_run::gathering;

use windage_record::{RecordError, RunDir, RunState};

use crate::reading::Leave;
use crate::{Analysis, Detailed, analyse, detail};

/// Shorter runs are read in no time, and their directories stay tidy.
const FROM_WINDOWS: usize = 10_000;
const LEAVE: Leave = Leave::GatheredFrom(FROM_WINDOWS);

/// As [`crate::of_run_directory`].
///
/// # Errors
/// As for [`crate::of_run_directory`].
pub fn of_run_directory(run: &RunDir) -> Result<Analysis, RecordError> {
    Ok(concluded(run)?.1)
}

/// As [`of_run_directory`], and of the same reading how far the run is.
///
/// # Errors
/// As for [`crate::of_run_directory`].
pub fn concluded(run: &RunDir) -> Result<(RunState, Analysis), RecordError> {
    analyse::concluded(run, LEAVE)
}

/// As [`crate::detailed`].
///
/// # Errors
/// As for [`crate::detailed`].
pub fn detailed(run: &RunDir) -> Result<Detailed, RecordError> {
    detail::detailed_of(run, LEAVE)
}
