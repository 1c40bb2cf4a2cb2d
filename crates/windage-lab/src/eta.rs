//! The time left in a run: first from the plan, then from its measured blocks and rounds.

use std::time::Duration;

/// Times the parts of a run.
pub(crate) struct Eta<'a> {
    /// Time since some fixed moment.
    clock: &'a dyn Fn() -> Duration,
    /// When the current part began.
    since: Duration,
    /// From a round's start to its first window: launch and warm-up.
    before: Part,
    block: Part,
    /// From a round's last window to its end: drain, idle and shutdown.
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
}

impl<'a> Eta<'a> {
    pub(crate) fn planned(
        clock: &'a dyn Fn() -> Duration,
        before: Duration,
        block: Duration,
        after: Duration,
    ) -> Eta<'a> {
        Eta {
            clock,
            since: clock(),
            before: Part::planned(before),
            block: Part::planned(block),
            after: Part::planned(after),
        }
    }

    pub(crate) fn round_starts(&mut self) {
        self.since = (self.clock)();
    }

    pub(crate) fn warm(&mut self) {
        let took = self.lap();
        self.before.add(took);
    }

    pub(crate) fn block_done(&mut self) {
        let took = self.lap();
        self.block.add(took);
    }

    pub(crate) fn round_done(&mut self) {
        let took = self.lap();
        self.after.add(took);
    }

    /// The duration of this many blocks in this many rounds, from the start.
    pub(crate) fn of(&self, blocks: u32, rounds: u32) -> Duration {
        let round = self.before.mean() + self.after.mean();
        self.block.mean().saturating_mul(blocks) + round.saturating_mul(rounds)
    }

    /// The rest of a round with `blocks` left, and `rounds` complete rounds after it.
    pub(crate) fn left(&self, blocks: u32, rounds: u32, blocks_per_round: u32) -> Duration {
        let later = blocks_per_round.saturating_mul(rounds);
        self.of(blocks.saturating_add(later), rounds) + self.after.mean()
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

    #[test]
    fn measured_durations_replace_planned_ones() {
        let now = Cell::new(Duration::ZERO);
        let clock = || now.get();
        let mut eta = Eta::planned(&clock, SECOND, 2 * SECOND, 3 * SECOND);
        assert_eq!(eta.of(10, 2), 28 * SECOND);
        let passes = |time: Duration| now.set(now.get() + time);
        passes(5 * SECOND);
        eta.warm();
        passes(3 * SECOND);
        eta.block_done();
        passes(5 * SECOND);
        eta.block_done();
        // Blocks take four seconds; a round takes five more, plus the planned three. Left: one
        // block and the round's end, then two rounds of three blocks.
        assert_eq!(eta.left(1, 0, 3), 7 * SECOND);
        assert_eq!(eta.left(1, 2, 3), 47 * SECOND);
    }
}
