//! The time left in a run: first from the plan, then from its measured blocks and rounds.

use std::ops::Add;
use std::time::Duration;

/// The kinds of blocks, which differ in length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    /// Isolated windows.
    Windows,
    /// The first turns of a launch: the drain of the windows and the idle stretch come before them.
    FirstTurns,
    /// Turns that follow others.
    Turns,
}

/// Numbers of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Blocks {
    pub(crate) windows: u32,
    pub(crate) first_turns: u32,
    pub(crate) turns: u32,
}

impl Blocks {
    pub(crate) fn of_windows(windows: u32) -> Blocks {
        Blocks {
            windows,
            ..Blocks::default()
        }
    }

    pub(crate) fn times(self, rounds: u32) -> Blocks {
        Blocks {
            windows: self.windows.saturating_mul(rounds),
            first_turns: self.first_turns.saturating_mul(rounds),
            turns: self.turns.saturating_mul(rounds),
        }
    }
}

impl Add for Blocks {
    type Output = Blocks;

    fn add(self, other: Blocks) -> Blocks {
        Blocks {
            windows: self.windows.saturating_add(other.windows),
            first_turns: self.first_turns.saturating_add(other.first_turns),
            turns: self.turns.saturating_add(other.turns),
        }
    }
}

/// The parts of a round, as planned.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Planned {
    /// From a round's start to its first block, without launches.
    pub(crate) before: Duration,
    pub(crate) windows: Duration,
    pub(crate) first_turns: Duration,
    pub(crate) turns: Duration,
    /// From a round's last block to its end, without shutdown.
    pub(crate) after: Duration,
}

/// Times the parts of a run.
pub(crate) struct Eta<'a> {
    /// Time since some fixed moment.
    clock: &'a dyn Fn() -> Duration,
    /// When the current part began.
    since: Duration,
    /// From a round's start to its first block: launch and warm-up.
    before: Part,
    windows: Part,
    first_turns: Part,
    turns: Part,
    /// From a round's last block to its end: drain, idle and shutdown.
    after: Part,
}

/// The expected duration of a part.
struct Part {
    planned: Duration,
    took: Duration,
    times: u32,
}

impl Part {
    fn planned(planned: Duration) -> Part {
        Part {
            planned,
            took: Duration::ZERO,
            times: 0,
        }
    }

    fn add(&mut self, took: Duration) {
        self.took += took;
        self.times += 1;
    }

    fn mean(&self) -> Duration {
        self.took.checked_div(self.times).unwrap_or(self.planned)
    }

    fn all(&self, times: u32) -> Duration {
        self.mean().saturating_mul(times)
    }
}

impl<'a> Eta<'a> {
    pub(crate) fn planned(clock: &'a dyn Fn() -> Duration, planned: Planned) -> Eta<'a> {
        Eta {
            clock,
            since: clock(),
            before: Part::planned(planned.before),
            windows: Part::planned(planned.windows),
            first_turns: Part::planned(planned.first_turns),
            turns: Part::planned(planned.turns),
            after: Part::planned(planned.after),
        }
    }

    pub(crate) fn round_starts(&mut self) {
        self.since = (self.clock)();
    }

    pub(crate) fn warm(&mut self) {
        let took = self.lap();
        self.before.add(took);
    }

    pub(crate) fn block_done(&mut self, kind: BlockKind) {
        let took = self.lap();
        let part = match kind {
            BlockKind::Windows => &mut self.windows,
            BlockKind::FirstTurns => &mut self.first_turns,
            BlockKind::Turns => &mut self.turns,
        };
        part.add(took);
    }

    pub(crate) fn round_done(&mut self) {
        let took = self.lap();
        self.after.add(took);
    }

    /// The duration of these blocks in this many rounds, from the start.
    pub(crate) fn of(&self, blocks: Blocks, rounds: u32) -> Duration {
        let in_windows = self.windows.all(blocks.windows);
        let in_turns = self.first_turns.all(blocks.first_turns) + self.turns.all(blocks.turns);
        in_windows + in_turns + self.before.all(rounds) + self.after.all(rounds)
    }

    /// The rest of a round with `blocks` left, and `rounds` rounds of `per_round` after it.
    pub(crate) fn left(&self, blocks: Blocks, rounds: u32, per_round: Blocks) -> Duration {
        self.of(blocks + per_round.times(rounds), rounds) + self.after.mean()
    }

    fn lap(&mut self) -> Duration {
        let now = (self.clock)();
        let took = now.saturating_sub(self.since);
        self.since = now;
        took
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const SECOND: Duration = Duration::from_secs(1);
    const PLANNED: Planned = Planned {
        before: SECOND,
        windows: Duration::from_secs(2),
        first_turns: Duration::from_secs(30),
        turns: Duration::from_secs(10),
        after: Duration::from_secs(3),
    };

    #[test]
    fn measured_durations_replace_planned_ones() {
        let now = Cell::new(Duration::ZERO);
        let clock = || now.get();
        let mut eta = Eta::planned(&clock, PLANNED);
        assert_eq!(eta.of(Blocks::of_windows(10), 2), 28 * SECOND);
        let passes = |time: Duration| now.set(now.get() + time);
        passes(5 * SECOND);
        eta.warm();
        passes(3 * SECOND);
        eta.block_done(BlockKind::Windows);
        passes(5 * SECOND);
        eta.block_done(BlockKind::Windows);
        // Blocks take four seconds; a round takes five more, plus the planned three. Left: one
        // block and the round's end, then two rounds of three blocks.
        let (one, three) = (Blocks::of_windows(1), Blocks::of_windows(3));
        assert_eq!(eta.left(one, 0, three), 7 * SECOND);
        assert_eq!(eta.left(one, 2, three), 47 * SECOND);
    }

    #[test]
    fn blocks_of_each_kind_have_a_length_of_their_own() {
        let now = Cell::new(Duration::ZERO);
        let clock = || now.get();
        let mut eta = Eta::planned(&clock, PLANNED);
        let round = Blocks {
            windows: 2,
            first_turns: 1,
            turns: 3,
        };
        assert_eq!(eta.of(round, 1), (1 + 2 * 2 + 30 + 3 * 10 + 3) * SECOND);
        let mut takes = |kind, seconds: u32| {
            now.set(now.get() + seconds * SECOND);
            eta.block_done(kind);
        };
        takes(BlockKind::Windows, 1);
        takes(BlockKind::Windows, 1);
        takes(BlockKind::FirstTurns, 20);
        takes(BlockKind::Turns, 5);
        // Left: two blocks of turns and the planned end, then a round as this one was.
        let left = Blocks {
            turns: 2,
            ..Blocks::default()
        };
        assert_eq!(eta.left(left, 0, round), (2 * 5 + 3) * SECOND);
        let another = (1 + 2 + 20 + 3 * 5 + 3) * SECOND;
        assert_eq!(eta.left(left, 1, round), 13 * SECOND + another);
    }
}
