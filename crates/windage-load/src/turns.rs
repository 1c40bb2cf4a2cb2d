//! Turns: the order in which several targets are loaded in one run.

use std::sync::Arc;

use windage_model::Exchanges;

use crate::run::RunReport;
use crate::schedule::Schedule;
use crate::target::TargetId;
use crate::work::Share;

/// The order in which targets take turns in one run.
///
/// A turn is a number of requests, not a length of time. Nothing is drained between turns. Clones
/// share the lists.
#[derive(Clone, Debug)]
pub struct Turns {
    /// The members, each once. One without a turn gets no requests.
    pub targets: Arc<[TargetId]>,
    /// For each turn: the index of its member in `targets`.
    pub order: Arc<[u16]>,
    /// Requests per turn, at least 1.
    pub requests: u32,
}

/// What triggers the requests of turns.
#[derive(Clone, Debug)]
pub enum TurnRhythm {
    /// Answers: during its turn, each free lane of a target sends. The next turn begins as soon as
    /// the last request of this one is sent.
    Closed,
    /// The clock: start `i` of the schedule belongs to the member of turn `i / requests`.
    Open {
        /// The intended starts. The run ends with the last turn, or with the schedule if that is
        /// shorter.
        schedule: Schedule,
    },
}

/// The results of a run of turns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnsReport {
    /// The counts of each member, in the order of [`Turns::targets`]. `intended` is `sent` plus
    /// `dropped`. Send lag, stalls and what the kernel did to the generator's thread belong to no
    /// single member: they are 0 or `None` here.
    pub members: Vec<Exchanges>,
    /// The whole run: the sum of its members, and what concerns the generator.
    pub report: RunReport,
}

impl TurnsReport {
    /// Merges another thread's report of the same run.
    pub(crate) fn add(&mut self, other: TurnsReport) {
        for (mine, theirs) in self.members.iter_mut().zip(&other.members) {
            mine.merge(theirs);
        }
        self.report.add(other.report);
    }
}

/// What is wrong with [`Turns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TurnsError {
    /// Turns have no requests.
    #[error("a turn has 0 requests; it needs at least 1")]
    NoRequests,
    /// A turn's index names no member.
    #[error("a turn belongs to member {index}, but there are only {members}")]
    UnknownMember {
        /// The index, from 0.
        index: u16,
        /// Number of members.
        members: usize,
    },
    /// A target is listed twice.
    #[error("target {0} is listed twice; list each target once and give it several turns")]
    Repeated(usize),
    /// A target's users think, so it could not send as many requests as its turn has.
    #[error("target {0} has think time, which turns don't support; load it by itself")]
    ThinkTime(usize),
}

impl Turns {
    /// Checks what needs no knowledge of the targets.
    pub(crate) fn check(&self) -> Result<(), TurnsError> {
        if self.requests == 0 {
            return Err(TurnsError::NoRequests);
        }
        let members = self.targets.len();
        if let Some(&index) = self.order.iter().find(|&&at| usize::from(at) >= members) {
            return Err(TurnsError::UnknownMember { index, members });
        }
        for (number, target) in self.targets.iter().enumerate() {
            if self.targets[..number].contains(target) {
                return Err(TurnsError::Repeated(target.0));
            }
        }
        Ok(())
    }

    /// One thread's share of a closed loop: of the requests of each turn, but at least one.
    pub(crate) fn part(&self, share: Share) -> Turns {
        let of = share.of.max(1);
        let requests = self.requests / of + u32::from(share.index < self.requests % of);
        Turns {
            requests: requests.max(1),
            ..self.clone()
        }
    }
}

/// Whose turn it is: assigns starts, in sequence, to targets.
#[derive(Debug)]
pub(crate) struct Course<'a> {
    targets: &'a [TargetId],
    order: &'a [u16],
    /// Starts per turn; `None` if the only turn never ends.
    requests: Option<u64>,
    /// The number of the next start, among those of all threads.
    start: u64,
    /// The number of threads that share the starts.
    step: u64,
    turn: u64,
    /// The target of the next start; `None` after the last turn.
    target: Option<usize>,
}

impl<'a> Course<'a> {
    /// The first target's only turn, which never ends.
    pub(crate) fn endless(targets: &'a [TargetId]) -> Course<'a> {
        Course::new(targets, &[0], None, 0, 1)
    }

    /// Turns, of whose starts this thread takes every `step`-th, beginning with number `first`.
    pub(crate) fn of(turns: &'a Turns, first: u64, step: u64) -> Course<'a> {
        let requests = Some(u64::from(turns.requests));
        Course::new(&turns.targets, &turns.order, requests, first, step)
    }

    fn new(
        targets: &'a [TargetId],
        order: &'a [u16],
        requests: Option<u64>,
        start: u64,
        step: u64,
    ) -> Course<'a> {
        let mut course = Course {
            targets,
            order,
            requests,
            start,
            step,
            turn: 0,
            target: None,
        };
        course.look_up();
        course
    }

    /// The target of the next start; `None` after the last turn.
    #[inline]
    pub(crate) fn target(&self) -> Option<usize> {
        self.target
    }

    pub(crate) fn has_turns(&self) -> bool {
        self.requests.is_some()
    }

    /// Goes on to the next start. Returns whether another turn begins with it.
    #[inline]
    pub(crate) fn advance(&mut self) -> bool {
        let turn = self.turn;
        if self.has_turns() {
            self.start += self.step;
            self.look_up();
        }
        self.turn != turn
    }

    /// Goes on to the next turn. Returns how many starts were left of this one.
    pub(crate) fn skip_turn(&mut self) -> u64 {
        let Some(requests) = self.requests else {
            return 0;
        };
        let next = (self.turn + 1) * requests;
        let left = (next - self.start).div_ceil(self.step);
        self.start += left * self.step;
        self.look_up();
        left
    }

    #[inline]
    fn look_up(&mut self) {
        self.turn = self.requests.map_or(0, |requests| self.start / requests);
        let member = usize::try_from(self.turn)
            .ok()
            .and_then(|turn| self.order.get(turn));
        self.target = member
            .and_then(|&member| self.targets.get(usize::from(member)))
            .map(|target| target.0);
    }
}

#[cfg(test)]
#[path = "turns_tests.rs"]
mod tests;
