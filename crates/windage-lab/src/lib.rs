//! The life of a run: processes up, windows measured in the run order, everything down again.
//!
//! [`run`] makes a run from a plan and [`resume`] goes on with one. The course of a run
//! (`conduct`) is apart from the world it needs (`rig`), so that it is tested with fakes.
//! Processes are started by the keeper alone; nothing is computed from what is recorded here.

mod addresses;
mod asleep;
mod awaiting;
mod clock;
mod command_line;
mod conduct;
mod doubts;
mod drive;
mod ending;
mod environment;
mod error;
mod eta;
mod host;
mod instance;
mod log_tail;
mod losses;
mod manifest;
mod names;
mod needs;
mod order;
mod pace;
mod pin;
mod preparing;
mod pressure;
mod readings;
mod ready;
mod receiving;
mod rendered;
mod resident;
mod rig;
mod run;
mod running;
mod speaking;
mod starts;
mod stopping;
mod stretch;
mod target;

pub use error::{CheckTrouble, LabError, ServiceTrouble};
pub use host::host_json;
pub use manifest::of as manifest_of;
pub use order::RunOrder;
pub use run::{Finished, RunOptions, resume, run, run_order};
pub use stopping::Stopping;
