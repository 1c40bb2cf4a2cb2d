//! When to send: as soon as an answer arrives, or by a schedule.

use std::collections::VecDeque;
use std::time::Duration;

/// The pace of a run.
pub enum Pace<'a> {
    /// Each connection sends, waits for the answer and sends again.
    Closed {
        /// No request is sent after this time; outstanding answers are awaited and count.
        lasts: Duration,
    },
    /// Starts follow a schedule, whatever the answers do.
    Open {
        /// Intended starts as offsets from the run's start, in nanoseconds, never decreasing;
        /// usually a [`Schedule`](crate::Schedule). Starts at or after `lasts` are not made.
        schedule: &'a mut dyn Iterator<Item = u64>,
        /// The length of the schedule.
        lasts: Duration,
    },
}

/// A request that may go out now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// Intended for the moment it is sent.
    Now,
    /// Intended for a time on the monotonic clock.
    At(u64),
}

/// Decides what goes out next. Times are nanoseconds of the monotonic clock.
pub(crate) trait Pacer {
    /// Whether answers trigger the next requests, rather than the clock.
    const IS_CLOSED: bool;

    /// The next start, for a connection that is free now.
    fn take(&mut self, now_ns: u64) -> Option<Start>;

    /// Queues due starts that have no connection, and reports each.
    fn queue_due(&mut self, now_ns: u64, queued: impl FnMut(u64));

    /// How many due starts have no connection.
    fn waiting(&self) -> usize;

    /// The time of the next start that is not due yet.
    fn next_ns(&self) -> Option<u64>;

    /// Whether no more starts will come.
    fn is_over(&self, now_ns: u64) -> bool;

    /// Gives up all queued and future starts.
    fn give_up(&mut self);
}

/// The closed loop: a free connection always sends, until the end.
#[derive(Debug)]
pub(crate) struct ClosedPacer {
    pub(crate) ends_ns: u64,
}

impl Pacer for ClosedPacer {
    const IS_CLOSED: bool = true;

    #[inline]
    fn take(&mut self, now_ns: u64) -> Option<Start> {
        (now_ns < self.ends_ns).then_some(Start::Now)
    }

    #[inline]
    fn queue_due(&mut self, _now_ns: u64, _queued: impl FnMut(u64)) {}

    #[inline]
    fn waiting(&self) -> usize {
        0
    }

    #[inline]
    fn next_ns(&self) -> Option<u64> {
        None
    }

    #[inline]
    fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.ends_ns
    }

    fn give_up(&mut self) {
        self.ends_ns = 0;
    }
}

/// Starts that may wait for a connection; more are dropped.
pub(crate) const BACKLOG_BOUND: usize = 65_536;

/// The open loop: starts come from a schedule and wait, in order, for a free connection.
pub(crate) struct OpenPacer<'a> {
    schedule: &'a mut dyn Iterator<Item = u64>,
    began_ns: u64,
    lasts_ns: u64,
    next_ns: Option<u64>,
    /// Due starts without a connection, all earlier than what the schedule still has. Lent by the
    /// engine, so that a run allocates nothing.
    backlog: &'a mut VecDeque<u64>,
    /// Starts that became due so far.
    pub(crate) intended: u64,
    /// Starts that never went out.
    pub(crate) dropped: u64,
    /// Starts that waited for a connection before they went out.
    pub(crate) waited: u64,
}

impl<'a> OpenPacer<'a> {
    pub(crate) fn new(
        schedule: &'a mut dyn Iterator<Item = u64>,
        backlog: &'a mut VecDeque<u64>,
        began_ns: u64,
        lasts_ns: u64,
    ) -> OpenPacer<'a> {
        backlog.clear();
        let mut pacer = OpenPacer {
            schedule,
            began_ns,
            lasts_ns,
            next_ns: None,
            backlog,
            intended: 0,
            dropped: 0,
            waited: 0,
        };
        pacer.advance();
        pacer
    }

    fn advance(&mut self) {
        let offset_ns = self
            .schedule
            .next()
            .filter(|&offset_ns| offset_ns < self.lasts_ns);
        self.next_ns = offset_ns.map(|offset_ns| self.began_ns + offset_ns);
    }

    #[inline]
    fn next_due(&mut self, now_ns: u64) -> Option<u64> {
        let due_ns = self.next_ns.filter(|&next_ns| next_ns <= now_ns)?;
        self.intended += 1;
        self.advance();
        Some(due_ns)
    }
}

impl Pacer for OpenPacer<'_> {
    const IS_CLOSED: bool = false;

    #[inline]
    fn take(&mut self, now_ns: u64) -> Option<Start> {
        let Some(waiting_ns) = self.backlog.pop_front() else {
            return self.next_due(now_ns).map(Start::At);
        };
        self.waited += 1;
        Some(Start::At(waiting_ns))
    }

    #[inline]
    fn waiting(&self) -> usize {
        self.backlog.len()
    }

    #[inline]
    fn queue_due(&mut self, now_ns: u64, mut queued: impl FnMut(u64)) {
        while let Some(due_ns) = self.next_due(now_ns) {
            queued(due_ns);
            if self.backlog.len() < BACKLOG_BOUND {
                self.backlog.push_back(due_ns);
            } else {
                self.dropped += 1;
            }
        }
    }

    #[inline]
    fn next_ns(&self) -> Option<u64> {
        self.next_ns
    }

    #[inline]
    fn is_over(&self, now_ns: u64) -> bool {
        self.next_ns.is_none() && self.backlog.is_empty() && now_ns >= self.began_ns + self.lasts_ns
    }

    fn give_up(&mut self) {
        self.dropped += self.backlog.len() as u64;
        self.backlog.clear();
        self.next_ns = None;
        self.lasts_ns = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_go_out_in_order_and_not_before_their_time() {
        let (mut backlog, mut schedule) = (VecDeque::new(), [0, 10, 20, 30, 100].into_iter());
        let mut pacer = OpenPacer::new(&mut schedule, &mut backlog, 1_000, 100);
        assert_eq!(pacer.take(999), None);
        pacer.queue_due(1_010, |_| {});
        assert_eq!(
            pacer.take(1_025),
            Some(Start::At(1_000)),
            "the longest wait goes first"
        );
        assert_eq!(pacer.take(1_025), Some(Start::At(1_010)));
        assert_eq!(pacer.take(1_025), Some(Start::At(1_020)));
        assert_eq!((pacer.take(1_025), pacer.next_ns()), (None, Some(1_030)));
        assert_eq!(pacer.take(2_000), Some(Start::At(1_030)));
        assert_eq!(
            pacer.take(2_000),
            None,
            "a start at the end is not part of the schedule"
        );
        assert!(
            pacer.is_over(2_000) && !pacer.is_over(1_099),
            "an open run lasts as long as its schedule"
        );
        assert_eq!((pacer.intended, pacer.dropped), (4, 0));
    }

    #[test]
    fn the_backlog_is_bounded_and_counts_what_it_dropped() {
        let mut backlog = VecDeque::with_capacity(BACKLOG_BOUND);
        let capacity = backlog.capacity();
        let mut schedule = 0..;
        let mut pacer = OpenPacer::new(&mut schedule, &mut backlog, 0, BACKLOG_BOUND as u64 + 10);
        pacer.queue_due(u64::MAX, |_| {});
        assert_eq!(
            (pacer.intended, pacer.dropped),
            (BACKLOG_BOUND as u64 + 10, 10)
        );
        pacer.give_up();
        assert_eq!(pacer.dropped, pacer.intended);
        assert_eq!((pacer.take(u64::MAX), backlog.capacity()), (None, capacity));
    }

    #[test]
    fn a_closed_loop_sends_until_its_end() {
        let mut pacer = ClosedPacer { ends_ns: 50 };
        assert_eq!((pacer.take(49), pacer.take(50)), (Some(Start::Now), None));
        assert!(pacer.is_over(50));
    }
}
