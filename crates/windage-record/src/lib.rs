//! The run directory: plan, host facts, journal of windows, histograms, logs.
//!
//! A run writes it block by block; all results are computed from it. The journal is only appended
//! to, never rewritten: wherever it is cut, everything up to the last complete block is kept.
//! `docs/FORMAT.md` describes the files.
//!
//! Nothing here starts a process, reads a clock or computes a result.

#![forbid(unsafe_code)]

mod delivered;
mod disk;
mod entry;
mod error;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;
mod frame;
mod histograms;
mod journal;
mod manifest;
mod profiles;
mod restored;
mod run_dir;
mod space;
mod state;
mod times;
mod trust;
mod whole_file;
mod wire;
mod writer;

pub use delivered::{
    Delivered, DeliveredByProtocol, DeliveredInWindow, DeliveredSource, Drops, ExportDelay,
    TraceSample,
};
pub use entry::{
    CpuUsed, Ending, Entry, HeldAt, Launch, LaunchArmEnd, LaunchEnd, LaunchedArm, SelfReport,
    ServiceUsed, ServicesUsed,
};
pub use error::RecordError;
pub use histograms::{
    Histograms, LostLines, TagParts, Timing, read_committed_histograms, read_histograms,
};
pub use journal::{Cut, CutCause, Journal, Loss, Recorded};
pub use manifest::{
    DesignScope, LoadScope, Manifest, ManifestArm, Placed, RunPart, StopScope, TurnScope,
};
pub use profiles::{ProfileFailure, Profiled, RecordedProfile};
pub use restored::Restored;
pub use run_dir::{RUNS, RunDir};
pub use state::RunState;
pub use times::{TimeCount, Times};
pub use writer::{JournalWriter, Resumed};
