//! The seam to epoll: registers sockets and waits for them.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::{EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

/// Events taken from the kernel at a time. With more, the last would wait too long.
const BATCH: usize = 64;
/// The timer's own token; socket tokens carry an index below 2³² − 1.
const TIMER: u64 = u64::MAX;
/// The timer may stay set up to this much later than wished.
const TOLERANCE_NS: u64 = 1_000;

/// What a socket is ready for, and which socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Readiness {
    /// The token given to [`Epoll::add`].
    pub token: u64,
    /// There is something to read, including an error or the end of the stream.
    pub readable: bool,
    /// There is room to write, or the connection attempt has ended.
    pub writable: bool,
    /// The other side has closed: nothing will arrive beyond what can be read now.
    pub hung_up: bool,
}

/// An epoll instance with room for one batch of events, and the timer that ends its waits.
///
/// Sockets are registered edge-triggered for all events once. After that only the wait itself needs
/// a system call, and the kernel does not check again sockets that it has already reported.
///
/// Waits have no timeout of their own. Setting a timer on a virtual machine costs an exit to the
/// hypervisor (8 µs of a wait's 27 µs on the development machine), and a timeout is set and
/// cancelled by every wait. A `timerfd` stays set across all wake-ups before its time.
#[derive(Debug)]
pub(crate) struct Epoll {
    epoll: nix::sys::epoll::Epoll,
    events: Box<[EpollEvent; BATCH]>,
    ready: usize,
    timer: TimerFd,
    /// When the timer fires, on the monotonic clock, unless it has.
    set_ns: Option<u64>,
    /// The time it had been set to, if it fired in the last wait.
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

    /// Asks for a new event on a socket that was not read to its end.
    pub(crate) fn report_again(&self, socket: BorrowedFd<'_>, token: u64) -> Result<(), Errno> {
        let mut event = EpollEvent::new(watched(), token);
        self.epoll.modify(socket, &mut event)
    }

    /// Takes the ready events without waiting.
    #[inline]
    pub(crate) fn poll(&mut self) -> Result<(), Errno> {
        self.take(EpollTimeout::ZERO)
    }

    /// Waits until something is ready, at most until `until_ns` on the monotonic clock, which now
    /// stands at `now_ns`. May return early by up to half of that time, and late by the kernel's
    /// own lateness.
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
        // A time of zero would cancel the timer.
        let at = TimeSpec::from_duration(Duration::from_nanos(at_ns.max(1)));
        self.timer.set(
            Expiration::OneShot(at),
            TimerSetTimeFlags::TFD_TIMER_ABSTIME,
        )?;
        self.set_ns = Some(at_ns);
        Ok(())
    }

    /// The time the timer had been set to, if it fired in the last wait.
    #[inline]
    pub(crate) fn went_off_ns(&self) -> Option<u64> {
        self.went_off_ns
    }

    /// How many sockets the last wait reported.
    #[inline]
    pub(crate) fn ready(&self) -> usize {
        self.ready
    }

    /// Event `index` of the last wait, below [`ready`](Self::ready).
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

    /// Removes the timer's own event.
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

/// A signal ends a wait early, which every caller expects.
fn unless_interrupted(result: Result<usize, Errno>) -> Result<usize, Errno> {
    match result {
        Err(Errno::EINTR) => Ok(0),
        other => other,
    }
}

fn watched() -> EpollFlags {
    EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET
}
