//! When to send: as soon as an answer arrives, or by a schedule.

use std::time::Duration;

use crate::turns::Course;

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

/// Decides what goes out next, and to which target. Times are nanoseconds of the monotonic clock.
pub(crate) trait Pacer {
    /// Whether answers trigger the next requests, rather than the clock.
    const IS_CLOSED: bool;

    /// The target of the next start, if that may go out now.
    fn due(&self, now_ns: u64) -> Option<usize>;

    /// Takes this start.
    fn take(&mut self, now_ns: u64) -> Start;

    /// The time of the next start, if the clock decides.
    fn next_ns(&self) -> Option<u64>;

    /// Whether no more starts will come.
    fn is_over(&self, now_ns: u64) -> bool;

    /// Whether targets take turns, so that each request is a start of its own. Otherwise a start
    /// begins a flow.
    fn has_turns(&self) -> bool;

    /// When the current turn began, if a target without free lanes holds it up.
    fn turn_began_ns(&self) -> Option<u64>;

    /// Ends the current turn. Returns how many of its starts were left.
    fn skip_turn(&mut self, now_ns: u64) -> u64;

    /// Gives up all future starts.
    fn give_up(&mut self);
}

/// The closed loop: a free lane of the current target always sends, until the end.
#[derive(Debug)]
pub(crate) struct ClosedPacer<'a> {
    course: Course<'a>,
    ends_ns: u64,
    turn_began_ns: u64,
}

impl<'a> ClosedPacer<'a> {
    pub(crate) fn new(course: Course<'a>, began_ns: u64, ends_ns: u64) -> ClosedPacer<'a> {
        ClosedPacer {
            course,
            ends_ns,
            turn_began_ns: began_ns,
        }
    }
}

impl Pacer for ClosedPacer<'_> {
    const IS_CLOSED: bool = true;

    #[inline]
    fn due(&self, now_ns: u64) -> Option<usize> {
        self.course.target().filter(|_| now_ns < self.ends_ns)
    }

    #[inline]
    fn take(&mut self, now_ns: u64) -> Start {
        if self.course.advance() {
            self.turn_began_ns = now_ns;
        }
        Start::Now
    }

    #[inline]
    fn next_ns(&self) -> Option<u64> {
        None
    }

    #[inline]
    fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.ends_ns || self.course.target().is_none()
    }

    fn has_turns(&self) -> bool {
        self.course.has_turns()
    }

    fn turn_began_ns(&self) -> Option<u64> {
        self.has_turns().then_some(self.turn_began_ns)
    }

    fn skip_turn(&mut self, now_ns: u64) -> u64 {
        self.turn_began_ns = now_ns;
        self.course.skip_turn()
    }

    fn give_up(&mut self) {
        self.ends_ns = 0;
    }
}

/// Starts that may wait for a connection, over all targets of a run; more are dropped.
pub(crate) const BACKLOG_BOUND: usize = 65_536;

/// The open loop: starts come from a schedule, whether or not a lane is free.
pub(crate) struct OpenPacer<'a> {
    schedule: &'a mut dyn Iterator<Item = u64>,
    course: Course<'a>,
    began_ns: u64,
    /// The length of the schedule; without one it ends with its last start.
    lasts_ns: Option<u64>,
    next_ns: Option<u64>,
}

impl<'a> OpenPacer<'a> {
    pub(crate) fn new(
        schedule: &'a mut dyn Iterator<Item = u64>,
        course: Course<'a>,
        began_ns: u64,
        lasts_ns: Option<u64>,
    ) -> OpenPacer<'a> {
        let mut pacer = OpenPacer {
            schedule,
            course,
            began_ns,
            lasts_ns,
            next_ns: None,
        };
        pacer.look_ahead();
        pacer
    }

    fn look_ahead(&mut self) {
        let lasts_ns = self.lasts_ns.unwrap_or(u64::MAX);
        let offset_ns = match self.course.target() {
            Some(_) => self.schedule.next().filter(|&at_ns| at_ns < lasts_ns),
            None => None,
        };
        self.next_ns = offset_ns.map(|offset_ns| self.began_ns.saturating_add(offset_ns));
    }
}

impl Pacer for OpenPacer<'_> {
    const IS_CLOSED: bool = false;

    #[inline]
    fn due(&self, now_ns: u64) -> Option<usize> {
        self.next_ns.filter(|&next_ns| next_ns <= now_ns)?;
        self.course.target()
    }

    #[inline]
    fn take(&mut self, now_ns: u64) -> Start {
        let due_ns = self.next_ns.unwrap_or(now_ns);
        self.course.advance();
        self.look_ahead();
        Start::At(due_ns)
    }

    #[inline]
    fn next_ns(&self) -> Option<u64> {
        self.next_ns
    }

    #[inline]
    fn is_over(&self, now_ns: u64) -> bool {
        let ended = |lasts_ns| now_ns >= self.began_ns.saturating_add(lasts_ns);
        self.next_ns.is_none() && self.lasts_ns.is_none_or(ended)
    }

    fn has_turns(&self) -> bool {
        self.course.has_turns()
    }

    fn turn_began_ns(&self) -> Option<u64> {
        None
    }

    fn skip_turn(&mut self, _now_ns: u64) -> u64 {
        0
    }

    fn give_up(&mut self) {
        self.next_ns = None;
        self.lasts_ns = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::TargetId;
    use crate::turns::Turns;

    #[test]
    fn starts_come_in_order_and_not_before_their_time() {
        let (targets, mut schedule) = ([TargetId(7)], [0, 10, 20, 100].into_iter());
        let course = Course::endless(&targets);
        let mut pacer = OpenPacer::new(&mut schedule, course, 1_000, Some(100));
        assert_eq!((pacer.due(999), pacer.due(1_000)), (None, Some(7)));
        assert_eq!(pacer.take(1_010), Start::At(1_000));
        assert_eq!(pacer.take(1_010), Start::At(1_010));
        assert_eq!((pacer.due(1_019), pacer.next_ns()), (None, Some(1_020)));
        assert_eq!(pacer.take(2_000), Start::At(1_020));
        assert_eq!(
            pacer.due(2_000),
            None,
            "a start at the end is not part of the schedule"
        );
        assert!(
            pacer.is_over(1_100) && !pacer.is_over(1_099),
            "an open run lasts as long as its schedule"
        );
    }

    #[test]
    fn a_closed_loop_sends_until_its_end() {
        let targets = [TargetId(3)];
        let mut pacer = ClosedPacer::new(Course::endless(&targets), 0, 50);
        assert_eq!((pacer.due(49), pacer.due(50)), (Some(3), None));
        assert_eq!(pacer.take(49), Start::Now);
        assert!(pacer.is_over(50) && !pacer.is_over(49));
        assert_eq!(pacer.turn_began_ns(), None, "nothing ends its only turn");
        pacer.give_up();
        assert_eq!(pacer.due(1), None);
    }

    #[test]
    fn open_turns_end_with_their_last_start_or_with_the_schedule() {
        // Starts in the schedule, targets in the order of their starts, why.
        let table: [(usize, &[usize], &str); 3] = [
            (9, &[5, 5, 9, 9, 5, 5], "the order ends first"),
            (3, &[5, 5, 9], "the schedule ends first"),
            (0, &[], "no starts"),
        ];
        let turns = Turns {
            targets: [TargetId(5), TargetId(9)].into(),
            order: [0, 1, 0].into(),
            requests: 2,
        };
        for (starts, expected, why) in table {
            let mut schedule = (0..starts as u64).map(|n| n * 10);
            let course = Course::of(&turns, 0, 1);
            let mut pacer = OpenPacer::new(&mut schedule, course, 0, None);
            let mut targets = Vec::new();
            while let Some(target) = pacer.due(u64::MAX) {
                assert!(!pacer.is_over(u64::MAX));
                pacer.take(u64::MAX);
                targets.push(target);
            }
            assert_eq!(targets, expected, "{why}");
            assert!(pacer.is_over(0), "{why}");
        }
    }

    #[test]
    fn closed_turns_can_be_skipped() {
        let turns = Turns {
            targets: [TargetId(5), TargetId(9)].into(),
            order: [0, 1].into(),
            requests: 3,
        };
        let mut pacer = ClosedPacer::new(Course::of(&turns, 0, 1), 100, u64::MAX);
        assert_eq!((pacer.due(0), pacer.turn_began_ns()), (Some(5), Some(100)));
        pacer.take(200);
        assert_eq!(
            (pacer.skip_turn(300), pacer.turn_began_ns()),
            (2, Some(300))
        );
        assert_eq!((pacer.due(0), pacer.skip_turn(400)), (Some(9), 3));
        assert!(pacer.is_over(0) && pacer.due(0).is_none());
    }
}
