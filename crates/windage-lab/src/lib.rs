//! The life of a run: processes up, windows measured in the run order, everything down again.
//!
//! [`run`] makes a run from a plan and [`resume`] goes on with one. The course of a run
//! (`conduct`) is apart from the world it needs (`rig`), so that it is tested with fakes.
//! Processes are started by the keeper alone; nothing is computed from what is recorded here.

mod clock;
mod command_line;
mod conduct;
mod doubts;
mod drive;
mod error;
mod host;
mod instance;
mod log_tail;
mod names;
mod order;
mod pin;
mod readings;
mod ready;
mod resident;
mod rig;
mod run;
mod starts;
mod target;

pub use error::{LabError, ServiceTrouble};
pub use host::host_json;
pub use order::RunOrder;
pub use run::{Finished, RunOptions, resume, run, run_order};
