//! The one seam between this crate and the system it runs on.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What the samplers need of the system; [`Linux`](crate::Linux) is the real one,
/// [`FakeSystem`](crate::FakeSystem) is for tests.
///
/// Errors are plain [`io::Error`]s, because only the caller knows what a missing file means.
pub trait System: fmt::Debug + Send + Sync {
    /// Opens a file for repeated reading.
    fn open(&self, path: &Path) -> io::Result<Box<dyn OpenFile>>;

    /// The entries of a directory, in no particular order, without `.` and `..`.
    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>>;

    /// The target of a symbolic link.
    fn read_link(&self, path: &Path) -> io::Result<PathBuf>;

    /// Reads a clock, in nanoseconds.
    fn clock_ns(&self, clock: Clock) -> io::Result<u64>;

    /// Creates a directory; its parent must exist.
    fn create_dir(&self, dir: &Path) -> io::Result<()>;

    /// Removes a directory that the kernel considers empty.
    fn remove_dir(&self, dir: &Path) -> io::Result<()>;

    /// Runs a program to its end, without output; returns whether it succeeded.
    fn run(&self, program: &str, args: &[String]) -> io::Result<bool>;

    /// Waits.
    fn pause(&self, lasts: Duration);

    /// The size of a page of memory, in bytes: the unit of `statm`.
    fn page_bytes(&self) -> u64;

    /// Ticks per second in `/proc/stat` (`USER_HZ`), not the scheduler's tick.
    fn user_ticks_per_s(&self) -> u64;

    /// The id of this process.
    fn process_id(&self) -> u32;

    /// Another handle of the same system.
    fn share(&self) -> Arc<dyn System>;
}

/// A file kept open, read again and again without allocation.
pub trait OpenFile: fmt::Debug + Send + Sync {
    /// Reads from `offset` into `buffer` and returns the number of bytes; 0 at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name, without the directory's.
    pub name: OsString,
    /// Whether it is a directory itself.
    pub is_dir: bool,
}

impl Entry {
    /// The name as a process or thread id, if it is one.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.name.to_str()?.parse().ok()
    }
}

/// A clock that the kernel keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Clock {
    /// Time since some point in the past; never set back.
    Monotonic,
    /// The same, and the time in which the machine was suspended.
    Boot,
    /// The time of day, which can be set.
    Wall,
    /// CPU used by all threads of this process, including ended ones.
    ThisProcess,
    /// CPU used by all threads of another process, including ended ones.
    Process(u32),
}
