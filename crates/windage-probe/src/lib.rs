//! Samplers of CPU, memory and pressure: pure parsers over one seam to the system.
//!
//! - [`ArmProbe`] reads what one arm's processes use, [`MachineProbe`] what the whole machine
//!   does, [`KernelThreadsProbe`] what the kernel's own threads use, [`SelfProbe`] what Windage
//!   itself costs.
//! - [`host`] gathers the facts that a report states about the machine.
//! - [`cgroup`] gives each arm a control group, the best of the sources of CPU time.
//! - [`bpf`] lists the BPF programs that the kernel holds, [`facility`] finds out what the kernel
//!   offers to those who load them.
//! - [`parse`] holds the parsers: functions from bytes to values, which open nothing.
//!
//! Everything that touches the system goes through [`System`]; [`FakeSystem`] stands in for it
//! in tests.
//!
//! # What a CPU counter says, and when
//!
//! The kernel brings the counters of a task up to date when the task leaves its core and at the
//! scheduler's tick (4 ms at 250 Hz). A reading taken while the task runs is therefore up to a
//! tick old. Readings are exact once the tasks sleep: drain first, then read.
//!
//! # Processes that leave
//!
//! A process may end between any two calls. That is no error: what it had used when it was last
//! read stays in the sums, so they never go down, and it no longer counts as memory. Files in
//! `/proc` stay bound to the process they were opened for, so a process id that is used again is
//! not mistaken for the old process.

pub mod bpf;
pub mod cgroup;
pub mod facility;
pub mod host;
pub mod parse;

mod arm;
mod error;
mod fake;
mod kernel_threads;
mod linux;
mod machine;
mod open_files;
mod own;
mod system;
mod task;

pub use arm::{Accounting, ArmProbe, Memory};
pub use error::ProbeError;
pub use fake::FakeSystem;
pub use kernel_threads::KernelThreadsProbe;
pub use linux::Linux;
pub use machine::{BusySource, MachineProbe, MachineSnapshot};
pub use own::{SelfProbe, ThreadClock};
pub use system::{Clock, Entry, OpenFile, System};
