//! A target's part in a run.

use std::collections::VecDeque;

use windage_model::Exchanges;

use crate::pace::BACKLOG_BOUND;

/// State of a target in the current run, or in its last one. All memory is allocated before.
#[derive(Debug)]
pub(crate) struct Member {
    /// The current run loads this target.
    pub is_loaded: bool,
    /// Every exchange sends the same bytes.
    pub is_constant: bool,
    /// Free lanes, the longest free first.
    pub idle: VecDeque<usize>,
    /// Due starts that wait for a lane, the earliest first. While there are any, no lane is free.
    pub backlog: VecDeque<u64>,
    /// The last pass over due starts that took a lane, identified by its time, and since when the
    /// first lane that it took had been free.
    pub last_pass: Pass,
    /// The connection opened last because starts were waiting.
    pub grown: Option<usize>,
    /// When its last whole answer arrived in this run.
    pub answered_ns: u64,
    /// It let a turn pass, and has not answered since.
    pub is_lost: bool,
    pub exchanges: Exchanges,
}

/// A pass over the starts that are due.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pass {
    pub now_ns: u64,
    pub free_since_ns: u64,
}

impl Member {
    /// With room for this many lanes.
    pub(crate) fn new(lanes: usize) -> Member {
        Member {
            is_loaded: false,
            is_constant: false,
            idle: VecDeque::with_capacity(lanes),
            // The kernel maps its pages when they are first used.
            backlog: VecDeque::with_capacity(BACKLOG_BOUND),
            last_pass: Pass::default(),
            grown: None,
            answered_ns: 0,
            is_lost: false,
            exchanges: Exchanges::default(),
        }
    }

    /// Begins a run, with no lane yet.
    pub(crate) fn begin(&mut self, is_constant: bool) {
        self.is_loaded = true;
        self.is_constant = is_constant;
        self.idle.clear();
        self.backlog.clear();
        self.last_pass = Pass::default();
        self.grown = None;
        self.answered_ns = 0;
        self.is_lost = false;
        self.exchanges = Exchanges::default();
    }

    /// Records that a pass takes a lane that has been free for some time.
    #[inline]
    pub(crate) fn note_pass(&mut self, now_ns: u64, free_since_ns: u64) {
        if self.last_pass.now_ns != now_ns {
            self.last_pass = Pass {
                now_ns,
                free_since_ns,
            };
        }
    }

    /// Whether a lane was free when a start became due that this pass found no lane for.
    #[inline]
    pub(crate) fn was_free_at(&self, due_ns: u64, now_ns: u64) -> bool {
        self.last_pass.now_ns == now_ns && self.last_pass.free_since_ns <= due_ns
    }

    /// Queues a due start, or counts it as dropped if `bound` starts wait already. Returns whether
    /// it waits.
    #[inline]
    pub(crate) fn queue(&mut self, due_ns: u64, bound: usize) -> bool {
        let has_room = self.backlog.len() < bound;
        if has_room {
            self.backlog.push_back(due_ns);
        } else {
            self.exchanges.dropped += 1;
        }
        has_room
    }

    /// Gives up the starts that wait.
    pub(crate) fn drop_backlog(&mut self) {
        self.exchanges.dropped += self.backlog.len() as u64;
        self.backlog.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backlog_is_bounded_and_counts_what_it_dropped() {
        let mut member = Member::new(0);
        let capacity = member.backlog.capacity();
        for due_ns in 0..BACKLOG_BOUND as u64 + 10 {
            member.queue(due_ns, BACKLOG_BOUND);
        }
        assert_eq!(
            (member.backlog.len(), member.exchanges.dropped),
            (BACKLOG_BOUND, 10)
        );
        assert_eq!(
            member.backlog.pop_front(),
            Some(0),
            "the longest wait goes first"
        );
        member.drop_backlog();
        assert_eq!(member.exchanges.dropped, BACKLOG_BOUND as u64 + 9);
        assert_eq!(member.backlog.capacity(), capacity);
    }

    #[test]
    fn a_start_is_late_only_if_a_lane_was_free_for_it() {
        let mut member = Member::new(0);
        assert!(!member.was_free_at(50, 100), "no lane was taken");
        member.note_pass(100, 40);
        member.note_pass(100, 60);
        // Due, the time of the pass, whether it counts as late, why.
        let table = [
            (50, 100, true, "the first lane was free"),
            (30, 100, false, "no lane was free yet"),
            (50, 101, false, "another pass"),
        ];
        for (due_ns, now_ns, expected, why) in table {
            assert_eq!(member.was_free_at(due_ns, now_ns), expected, "{why}");
        }
    }
}
