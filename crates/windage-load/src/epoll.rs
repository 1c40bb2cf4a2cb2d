//! The seam to epoll: registering sockets and waiting for them.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::{EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

/// Events taken from the kernel at a time. More would make the last of them wait for long.
const BATCH: usize = 64;
/// The timer's own token; those of sockets carry an index below 2³² − 1.
const TIMER: u64 = u64::MAX;
/// So much later than wished the timer may be set without being set anew.
const TOLERANCE_NS: u64 = 1_000;

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

/// An epoll instance with room for one batch of events, and the timer that ends its waits.
///
/// Sockets are registered edge-triggered for everything, once: no call but the wait itself is
/// needed afterwards, and the kernel doesn't look again at sockets that were already reported.
///
/// Waits have no timeout of their own. To set a timer on a virtual machine takes an exit to the
/// hypervisor (some 8 µs of a wait's 27, where this was written), and a timeout is set and taken
/// back by each wait; a `timerfd` stays set through as many wake-ups as there are before its time.
#[derive(Debug)]
pub(crate) struct Epoll {
    epoll: nix::sys::epoll::Epoll,
    events: Box<[EpollEvent; BATCH]>,
    ready: usize,
    timer: TimerFd,
    /// When the timer goes off, on the monotonic clock, unless it has.
    set_ns: Option<u64>,
    /// The time for which it had been set, if the last wait reported that it went off.
    went_off_ns: Option<u64>,
}

impl Epoll {
    pub(crate) fn new() -> Result<Epoll, Errno> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        let epoll = nix::sys::epoll::Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        // Edge-triggered, so that it need not be read.
        let event = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, TIMER);
        epoll.add(timer.as_fd(), event)?;
        Ok(Epoll {
            epoll,
            events: Box::new([EpollEvent::empty(); BATCH]),
            ready: 0,
            timer,
            set_ns: None,
            went_off_ns: None,
        })
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
        self.take(EpollTimeout::ZERO)
    }

    /// Waits until something is ready, at most until `until_ns` on the monotonic clock, which is
    /// `now_ns` at present. May return up to half of that time earlier, and later by no more than
    /// the kernel's own lateness.
    #[inline]
    pub(crate) fn wait_until(&mut self, now_ns: u64, until_ns: u64) -> Result<(), Errno> {
        let early_ns = now_ns + until_ns.saturating_sub(now_ns) / 2;
        let is_good = |set_ns| set_ns >= early_ns && set_ns <= until_ns + TOLERANCE_NS;
        if !self.set_ns.is_some_and(is_good) {
            self.set_timer(until_ns)?;
        }
        self.take(EpollTimeout::NONE)
    }

    fn set_timer(&mut self, at_ns: u64) -> Result<(), Errno> {
        // A time of zero would take the timer back.
        let at = TimeSpec::from_duration(Duration::from_nanos(at_ns.max(1)));
        self.timer.set(
            Expiration::OneShot(at),
            TimerSetTimeFlags::TFD_TIMER_ABSTIME,
        )?;
        self.set_ns = Some(at_ns);
        Ok(())
    }

    /// The time for which the timer had been set that went off in the last wait.
    #[inline]
    pub(crate) fn went_off_ns(&self) -> Option<u64> {
        self.went_off_ns
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

    fn take(&mut self, timeout: EpollTimeout) -> Result<(), Errno> {
        self.ready = unless_interrupted(self.epoll.wait(&mut self.events[..], timeout))?;
        self.went_off_ns = None;
        if self.set_ns.is_some() {
            self.set_the_timer_aside();
        }
        Ok(())
    }

    /// Takes the timer's own report out of those of the sockets.
    #[inline]
    fn set_the_timer_aside(&mut self) {
        let reported = &mut self.events[..self.ready];
        if let Some(at) = reported.iter().position(|event| event.data() == TIMER) {
            reported.swap(at, self.ready - 1);
            self.ready -= 1;
            self.went_off_ns = self.set_ns.take();
        }
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
