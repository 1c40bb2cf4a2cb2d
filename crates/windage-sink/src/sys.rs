//! What the sink needs of the kernel in addition to sockets: a thread's CPU clock and its cores.

use std::os::unix::thread::RawPthread;

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

/// The CPU clock of one thread of this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadClock(ClockId);

impl ThreadClock {
    /// The clock of `thread`, which must not have been joined.
    pub(crate) fn of(thread: RawPthread) -> Result<ThreadClock, Errno> {
        let mut id: libc::clockid_t = 0;
        // With musl it is a pointer.
        let thread = thread as libc::pthread_t;
        // SAFETY: `thread` is a handle that was not joined, so its descriptor is valid, and `id` is
        // a valid place for the result.
        let code = unsafe { libc::pthread_getcpuclockid(thread, &raw mut id) };
        // The pthread calls return their error and leave errno alone.
        if code == 0 {
            Ok(ThreadClock(ClockId::from_raw(id)))
        } else {
            Err(Errno::from_raw(code))
        }
    }

    /// CPU time the thread has used, in nanoseconds; `None` once it has ended.
    pub(crate) fn read_ns(self) -> Option<u64> {
        let time = clock_gettime(self.0).ok()?;
        let seconds = u64::try_from(time.tv_sec()).ok()?;
        let nanoseconds = u64::try_from(time.tv_nsec()).ok()?;
        Some(seconds * 1_000_000_000 + nanoseconds)
    }
}

/// Pins the calling thread to `cpus`.
pub(crate) fn pin_this_thread(cpus: &[u32]) -> Result<(), Errno> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(usize::try_from(cpu).map_err(|_| Errno::EINVAL)?)?;
    }
    // Pid 0 is the caller, which for the scheduler is the thread, not the process.
    sched_setaffinity(Pid::from_raw(0), &set)
}
