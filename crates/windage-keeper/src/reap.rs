//! The only use of `wait4`, the one call that gives the resources a child used.

use nix::errno::Errno;

use crate::ExitStatusKind;

/// The result of reaping.
#[derive(Debug)]
pub(crate) enum Reaped {
    /// This child, possibly an adopted orphan.
    One {
        pid: i32,
        status: ExitStatusKind,
        user_ns: u64,
        system_ns: u64,
        max_rss_bytes: u64,
    },
    /// Children live, and none has ended.
    NoneYet,
    /// There is no child: with a subreaper or pid 1, no descendant either.
    NoChildren,
}

/// Reaps a child that has ended, without waiting for one.
pub(crate) fn reap_one() -> Reaped {
    let mut status = 0;
    // SAFETY: rusage is plain numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to live locals of the right type.
        let pid = unsafe {
            libc::wait4(
                -1,
                &raw mut status,
                libc::WNOHANG | libc::__WALL,
                &raw mut usage,
            )
        };
        match pid {
            0 => return Reaped::NoneYet,
            1.. => {
                let status = if libc::WIFSIGNALED(status) {
                    ExitStatusKind::Signal(libc::WTERMSIG(status))
                } else {
                    ExitStatusKind::Code(libc::WEXITSTATUS(status))
                };
                // Linux counts in KiB.
                let max_rss_bytes = u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024;
                return Reaped::One {
                    pid,
                    status,
                    user_ns: nanoseconds(usage.ru_utime),
                    system_ns: nanoseconds(usage.ru_stime),
                    max_rss_bytes,
                };
            }
            _ if Errno::last() == Errno::EINTR => {}
            _ => return Reaped::NoChildren,
        }
    }
}

fn nanoseconds(time: libc::timeval) -> u64 {
    let part = |n: i64| u64::try_from(n).unwrap_or(0);
    part(time.tv_sec) * 1_000_000_000 + part(time.tv_usec) * 1_000
}
