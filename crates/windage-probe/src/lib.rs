//! Samplers of CPU, memory and pressure: pure parsers over one seam to the system.
//!
//! - [`ArmProbe`] reads what one arm's processes use, [`MachineProbe`] what the entire machine
//!   uses, [`KernelThreadsProbe`] what the kernel's threads use, [`SelfProbe`] what Windage uses.
//!   [`ProgramsProbe`] finds out which other programs use CPU, [`Clocks`] whether the machine was
//!   suspended or the wall clock set.
//! - [`ProcessTrees`] reads the CPU of trees of processes and nothing else.
//! - [`listening`] says which processes get the connections to an address.
//! - [`host`] gathers facts about the machine for reports.
//! - [`cgroup`] gives each arm a cgroup, the best source of CPU time.
//! - [`bpf`] lists the BPF programs in the kernel; [`facility`] finds out what the kernel offers to
//!   programs that load them.
//! - [`parse`] holds the parsers: functions from bytes to values, which open nothing.
//!
//! Every access to the system goes through [`System`]; tests use [`FakeSystem`].
//!
//! # How old a CPU counter is
//!
//! The kernel updates a task's counters when the task leaves its core and at the scheduler's tick
//! (4 ms at 250 Hz). A reading of a running task is therefore up to a tick old. Readings are exact
//! once the tasks sleep: drain first, then read.
//!
//! # Processes that end
//!
//! A process may end between any two calls. That is not an error: its last reading stays in the
//! sums, so they never go down, and its memory no longer counts. Open files in `/proc` stay bound
//! to their process, so a process with a reused id is not mistaken for the old one.

pub mod bpf;
pub mod cgroup;
pub mod facility;
pub mod host;
pub mod parse;

mod arm;
mod clocks;
mod error;
mod fake;
mod kernel_threads;
mod limits;
mod linux;
mod listeners;
mod machine;
mod open_files;
mod own;
mod pod;
mod programs;
#[cfg(test)]
#[path = "../../windage/tests/quick/skip.rs"]
mod skip;
mod system;
mod task;
mod trees;

pub use arm::{Accounting, ArmProbe, Memory, ProcessChanges};
pub use clocks::Clocks;
pub use error::ProbeError;
pub use fake::FakeSystem;
pub use kernel_threads::KernelThreadsProbe;
pub use linux::Linux;
pub use listeners::{Listening, NamedProcess, listening};
pub use machine::{MachineProbe, MachineSnapshot};
pub use own::SelfProbe;
pub use pod::pod_accounting;
pub use programs::{ProgramUse, Programs, ProgramsProbe};
pub use system::{Clock, Entry, OpenFile, System};
pub use task::process_group;
pub use trees::ProcessTrees;
