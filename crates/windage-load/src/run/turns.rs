//! Runs in which several targets take turns.

use super::Run;
use crate::clock::monotonic_ns;
use crate::engine::{Engine, EngineError};
use crate::pace::{ClosedPacer, OpenPacer};
use crate::recording::Recording;
use crate::target::TargetId;
use crate::turns::{Course, TurnRhythm, Turns, TurnsError, TurnsReport};
use crate::wakeup::ExactTimers;
use crate::work::Share;

impl Engine {
    /// Loads several targets in turns, then waits until no exchange is outstanding, at most the
    /// timeout. Nothing is drained between turns: the requests of the next turn go out while
    /// answers to earlier ones are outstanding.
    ///
    /// In turns, each request is a start of its own. A user whose flow has several steps takes the
    /// next one when its target's turn has a start for it, also in an open loop, and also across
    /// runs of turns. The connections of a target are used in rotation throughout the run.
    ///
    /// In an open loop, a start that finds no free lane of its target waits for one, and may open
    /// a connection, as in [`Engine::run`]; the other targets keep their schedule. Each target has
    /// an equal part of the room for starts that wait.
    ///
    /// In a closed loop, a turn waits for free lanes. One whose target has no free lane and gives
    /// no answer for the timeout is given up, and its remaining requests count as dropped. Until
    /// that target answers, its later turns send on the lanes that are free but wait for no more.
    ///
    /// # Errors
    /// When the turns can't be carried out as given (see [`TurnsError`]), a target is unknown, or
    /// waiting for events fails. Failed exchanges are in the report instead.
    pub fn run_turns(
        &mut self,
        turns: &Turns,
        rhythm: TurnRhythm,
        recording: &mut Recording,
    ) -> Result<TurnsReport, EngineError> {
        let alone = Share { index: 0, of: 1 };
        self.run_turns_from(turns, monotonic_ns(), rhythm, alone, recording)
    }

    /// One thread's share of a run of turns that began at a given time. Open loop: every `of`-th
    /// start. Closed loop: its share of the requests of each turn, but at least one.
    pub(crate) fn run_turns_from(
        &mut self,
        turns: &Turns,
        began_ns: u64,
        rhythm: TurnRhythm,
        share: Share,
        recording: &mut Recording,
    ) -> Result<TurnsReport, EngineError> {
        self.check_turns(turns)?;
        // The end is known only when the last start has been taken.
        let ends_ns = u64::MAX;
        let members = &turns.targets;
        let report = match rhythm {
            TurnRhythm::Closed => {
                let turns = turns.part(share);
                let mut pacer = ClosedPacer::new(Course::of(&turns, 0, 1), began_ns, ends_ns);
                Run::new(self, members, &mut pacer, recording, began_ns, ends_ns).execute()
            }
            TurnRhythm::Open { schedule } => {
                let _exact = ExactTimers::for_this_thread();
                let (first, step) = (share.index, share.of.max(1));
                let mut starts = schedule.skip(first as usize).step_by(step as usize);
                let course = Course::of(turns, first.into(), step.into());
                let mut pacer = OpenPacer::new(&mut starts, course, began_ns, None);
                Run::new(self, members, &mut pacer, recording, began_ns, ends_ns).execute()
            }
        }?;
        let exchanges = |target: &TargetId| self.targets[target.0].member.exchanges;
        Ok(TurnsReport {
            members: members.iter().map(exchanges).collect(),
            report,
        })
    }

    fn check_turns(&self, turns: &Turns) -> Result<(), EngineError> {
        turns.check().map_err(EngineError::Turns)?;
        for &target in &*turns.targets {
            if self.slot(target)?.target.work.has_think_time() {
                return Err(EngineError::Turns(TurnsError::ThinkTime(target.0)));
            }
        }
        Ok(())
    }
}
