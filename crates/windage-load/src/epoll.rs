//! The seam to epoll: registering sockets and waiting for them.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::{EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

/// Events taken from the kernel at a time. More would make the last of them wait for long.
const BATCH: usize = 64;

/// What a socket is ready for, and which it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Readiness {
    /// As given to [`Epoll::add`].
    pub token: u64,
    /// There is something to read, the end of the stream and errors included.
    pub readable: bool,
    /// There is room to write, or the connection attempt has ended.
    pub writable: bool,
    /// The other side has closed: after what is still to be read nothing will come.
    pub hung_up: bool,
}

/// An epoll instance with room for one batch of events.
///
/// Sockets are registered edge-triggered for everything, once: no call but the wait itself is
/// needed afterwards, and the kernel doesn't look again at sockets that were already reported.
#[derive(Debug)]
pub(crate) struct Epoll {
    epoll: nix::sys::epoll::Epoll,
    events: Box<[EpollEvent; BATCH]>,
    ready: usize,
    has_precise_wait: bool,
}

impl Epoll {
    pub(crate) fn new() -> Result<Epoll, Errno> {
        let mut epoll = Epoll {
            epoll: nix::sys::epoll::Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            events: Box::new([EpollEvent::empty(); BATCH]),
            ready: 0,
            has_precise_wait: true,
        };
        // Linux before 5.11 and some seccomp filters refuse it; one harmless call tells.
        epoll.has_precise_wait = epoll.wait_precisely(Duration::ZERO).is_ok();
        Ok(epoll)
    }

    /// Watches a socket until it is closed.
    pub(crate) fn add(&self, socket: BorrowedFd<'_>, token: u64) -> Result<(), Errno> {
        let event = EpollEvent::new(watched(), token);
        self.epoll.add(socket, event)
    }

    /// Asks for a fresh report on a socket that was not read to its end.
    pub(crate) fn report_again(&self, socket: BorrowedFd<'_>, token: u64) -> Result<(), Errno> {
        let mut event = EpollEvent::new(watched(), token);
        self.epoll.modify(socket, &mut event)
    }

    /// Takes what is ready without waiting.
    #[inline]
    pub(crate) fn poll(&mut self) -> Result<(), Errno> {
        self.wait_coarsely(EpollTimeout::ZERO)
    }

    /// Waits until something is ready, at most for `timeout`. May return earlier, never with
    /// more than the kernel's own lateness after it.
    pub(crate) fn wait(&mut self, timeout: Duration) -> Result<(), Errno> {
        if self.has_precise_wait {
            return self.wait_precisely(timeout);
        }
        // Rounded down: the caller fills the last millisecond by polling.
        let whole_ms = u16::try_from(timeout.as_millis()).unwrap_or(u16::MAX);
        self.wait_coarsely(EpollTimeout::from(whole_ms))
    }

    /// How many sockets the last wait reported.
    #[inline]
    pub(crate) fn ready(&self) -> usize {
        self.ready
    }

    /// The report of the last wait at `index`, below [`ready`](Self::ready).
    #[inline]
    pub(crate) fn readiness(&self, index: usize) -> Readiness {
        let event = &self.events[index];
        let flags = event.events();
        let broken = EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP;
        Readiness {
            token: event.data(),
            readable: flags.intersects(EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP | broken),
            writable: flags.intersects(EpollFlags::EPOLLOUT | broken),
            hung_up: flags.intersects(EpollFlags::EPOLLRDHUP | broken),
        }
    }

    fn wait_coarsely(&mut self, timeout: EpollTimeout) -> Result<(), Errno> {
        self.ready = unless_interrupted(self.epoll.wait(&mut self.events[..], timeout))?;
        Ok(())
    }

    fn wait_precisely(&mut self, timeout: Duration) -> Result<(), Errno> {
        let timeout = libc::timespec {
            tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: libc::c_long::from(timeout.subsec_nanos()),
        };
        // SAFETY: the events are an initialised array of `BATCH` elements, and `EpollEvent` is a
        // transparent wrapper of the kernel's structure; the timeout outlives the call; a null
        // signal mask is allowed and its size then ignored.
        let reported = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.0.as_fd().as_raw_fd(),
                self.events.as_mut_ptr(),
                BATCH,
                &raw const timeout,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        let reported = Errno::result(reported).map(|n| usize::try_from(n).unwrap_or(0));
        self.ready = unless_interrupted(reported)?;
        Ok(())
    }
}

/// A signal ends a wait early, which every caller expects anyway.
fn unless_interrupted(result: Result<usize, Errno>) -> Result<usize, Errno> {
    match result {
        Err(Errno::EINTR) => Ok(0),
        other => other,
    }
}

fn watched() -> EpollFlags {
    EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET
}
