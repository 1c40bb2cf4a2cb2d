//! The life of a run: start processes, measure windows in the run order, end everything.
//!
//! [`run`] makes a run from a plan, and [`resume`] continues one. The course of a run (`conduct`)
//! is separate from the world it needs (`rig`), so that fakes can test it. Only the keeper starts
//! processes. Nothing here computes figures from the records.

mod addresses;
mod attached;
mod awake;
mod clock;
mod command_line;
mod conduct;
mod control_request;
mod drive;
mod environment;
mod error;
mod eta;
mod free_disk;
mod host;
mod instance;
mod leftovers;
mod lengths;
mod log_limit;
mod log_tail;
mod losses;
mod manifest;
mod names;
mod needs;
mod order;
mod outside_load;
mod pace;
mod pin;
mod pods;
mod preparation;
mod pressure;
mod preview;
mod process;
mod process_set;
mod quick;
mod readiness;
mod readings;
mod ready;
mod receiving;
mod rendered;
mod resident;
mod restore;
mod rig;
mod run;
mod scraping;
mod settling;
#[cfg(test)]
#[path = "../../windage/tests/quick/skip.rs"]
mod skip;
mod sleep;
mod starts;
mod stop;
mod stretch;
mod switch_step;
mod target;
mod turn_length;
mod user;
mod variables;
mod warnings;

pub use attached::check_attached;
pub use error::{CheckTrouble, LabError, ServiceTrouble};
pub use host::host_json;
pub use lengths::expected_duration;
pub use manifest::of as manifest_of;
pub use order::RunOrder;
pub use pods::{DELETE_VERB, Node, STAND_IN_VERB, labelled};
pub use preview::{Program, lacks, programs};
pub use quick::quick;
pub use restore::{RESTORE_VERB, restore_from_environment};
pub use run::{Finished, RunOptions, resume, run, run_order};
pub use stop::Stopping;
pub use user::invoking_user;
