//! The course of a run: rounds, blocks, windows. It decides what comes next and what happens
//! when something fails; how a window is measured is the rig's business.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hdrhistogram::Histogram;
use windage_model::{ArmId, ArmIndex, Doubt, DoubtCode, Event, Place, Soundness, Window};
use windage_plan::OnDeath;
use windage_record::{Delivered, Ending, Entry, Launch, LaunchEnd, RecordError};

use crate::LabError;
use crate::order::RunOrder;

/// A window with its histograms.
pub(crate) struct Measured {
    pub(crate) window: Window,
    pub(crate) response_time: Histogram<u32>,
    pub(crate) service_time: Histogram<u32>,
}

/// What a run needs of the world: processes, load, counters. Faked in tests.
pub(crate) trait Rig {
    /// Launches every service afresh and warms every arm up.
    fn launch(&mut self, launch: u32, round: u32) -> Result<Launch, LabError>;
    /// Measures one window. A failure of the subject is a doubt of the window, not an error.
    fn measure(&mut self, place: Place) -> Result<Measured, LabError>;
    /// How an arm's service ended although it should be up, with its last words; `None` while it
    /// lives.
    fn death(&self, arm: ArmIndex) -> Option<String>;
    /// Waits for what is deferred, then reads what belongs to the launch as a whole.
    fn finish(&mut self, launch: u32) -> Result<LaunchEnd, LabError>;
    /// Ends every service of the launch and says what was delivered until the last flush.
    fn take_down(&mut self, launch: u32) -> Result<Vec<Delivered>, LabError>;
}

/// Where records go. Faked in tests.
pub(crate) trait Journal {
    fn window(&mut self, measured: &Measured) -> Result<(), RecordError>;
    fn push(&mut self, entry: Entry) -> Result<(), RecordError>;
    fn commit_block(&mut self, block: u32) -> Result<(), RecordError>;
    fn commit(&mut self) -> Result<(), RecordError>;
}

/// Where a run starts: at its beginning, or after what an interrupted one has measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Start {
    /// The first block to measure, counted over the whole run.
    pub(crate) block: u32,
    /// The first number for a launch.
    pub(crate) launch: u32,
}

/// What the course of a run depends on besides its order.
pub(crate) struct Terms<'a> {
    pub(crate) order: &'a RunOrder,
    pub(crate) start: Start,
    pub(crate) on_death: OnDeath,
    pub(crate) arms: &'a [ArmId],
    pub(crate) interrupted: &'a AtomicBool,
    pub(crate) window_and_settle: Duration,
    /// What each round takes before its windows, launches apart.
    pub(crate) warm_up: Duration,
    /// What each round takes after its windows.
    pub(crate) drain: Duration,
}

impl Terms<'_> {
    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    fn blocks(&self) -> u32 {
        self.order
            .rounds()
            .saturating_mul(self.order.blocks_per_round())
    }

    /// The time that the run takes from its start, launches apart.
    fn whole_time(&self) -> Duration {
        let blocks = self.blocks().saturating_sub(self.start.block);
        let rounds = blocks.div_ceil(self.order.blocks_per_round());
        self.in_windows(self.start.block) + (self.warm_up + self.drain).saturating_mul(rounds)
    }

    fn in_windows(&self, done: u32) -> Duration {
        let windows = u32::try_from(self.order.block(done).len()).unwrap_or(u32::MAX);
        (self.window_and_settle * windows).saturating_mul(self.blocks().saturating_sub(done))
    }

    /// The time left after so many blocks: windows, and what rounds add for warm-up and drain.
    fn time_left(&self, done: u32) -> Duration {
        let blocks = self.blocks().saturating_sub(done);
        let rounds = blocks / self.order.blocks_per_round();
        self.in_windows(done) + (self.warm_up + self.drain).saturating_mul(rounds) + self.drain
    }
}

/// How a round came to its end.
enum RoundEnd {
    Done,
    Early(Ending),
}

/// Measures everything that is left of a run and records how it ended.
///
/// # Errors
/// When something fails that no window can carry: a service that does not come up, a full disk.
/// What was committed before stays readable.
pub(crate) fn conduct(
    rig: &mut dyn Rig,
    journal: &mut dyn Journal,
    terms: &Terms<'_>,
    emit: &dyn Fn(Event),
) -> Result<Ending, LabError> {
    let per_round = terms.order.blocks_per_round();
    let first_round = terms.start.block / per_round;
    let mut ending = Ending::Complete;
    if first_round < terms.order.rounds() {
        emit(Event::Planned {
            lasts: terms.whole_time(),
        });
    }
    for round in first_round..terms.order.rounds() {
        emit(Event::RoundStarted {
            round,
            rounds: terms.order.rounds(),
        });
        let launch = terms.start.launch + (round - first_round);
        let first = terms.start.block.max(round * per_round);
        match one_round(
            rig,
            journal,
            terms,
            Round {
                round,
                launch,
                first,
                end: (round + 1) * per_round,
            },
            emit,
        ) {
            Ok(RoundEnd::Done) => {}
            Ok(RoundEnd::Early(early)) => {
                ending = early;
                break;
            }
            Err(error) => {
                let how = if terms.is_interrupted() {
                    Ending::Interrupted
                } else {
                    Ending::Died {
                        text: error.to_string(),
                    }
                };
                // Where the disk is full this fails as well; the first error is the one to tell.
                let _ = journal
                    .push(Entry::RunEnded(how))
                    .and_then(|()| journal.commit());
                return Err(error);
            }
        }
    }
    journal.push(Entry::RunEnded(ending.clone()))?;
    journal.commit()?;
    Ok(ending)
}

#[derive(Clone, Copy)]
struct Round {
    round: u32,
    launch: u32,
    first: u32,
    end: u32,
}

fn one_round(
    rig: &mut dyn Rig,
    journal: &mut dyn Journal,
    terms: &Terms<'_>,
    round: Round,
    emit: &dyn Fn(Event),
) -> Result<RoundEnd, LabError> {
    let launch = rig.launch(round.launch, round.round)?;
    journal.push(Entry::LaunchStarted(launch))?;
    let mut end = RoundEnd::Done;
    let mut dead = BTreeSet::new();
    for block in round.first..round.end {
        let early = one_block(rig, journal, terms, round, block, &mut dead, emit)?;
        if early == Some(Ending::Interrupted) {
            // Not committed: a resumed run measures this block anew.
            end = RoundEnd::Early(Ending::Interrupted);
            break;
        }
        journal.commit_block(block)?;
        emit(Event::BlockDone {
            done: block + 1,
            blocks: terms.blocks(),
            left: terms.time_left(block + 1),
        });
        if let Some(ending) = early {
            end = RoundEnd::Early(ending);
            break;
        }
    }
    // An interrupted run is reported, too: its deferred cost is not waited for.
    if !matches!(end, RoundEnd::Early(Ending::Interrupted)) {
        let finished = rig.finish(round.launch)?;
        if terms.is_interrupted() {
            // The drain was cut short: its readings say nothing of what was deferred.
            end = RoundEnd::Early(Ending::Interrupted);
        } else {
            journal.push(Entry::LaunchEnded(finished))?;
        }
    }
    emit(Event::TakingDown);
    for delivered in rig.take_down(round.launch)? {
        journal.push(Entry::Delivered(delivered))?;
    }
    journal.commit()?;
    Ok(end)
}

/// Measures a block; an ending when the run can't or shan't go on after it.
fn one_block(
    rig: &mut dyn Rig,
    journal: &mut dyn Journal,
    terms: &Terms<'_>,
    round: Round,
    block: u32,
    dead: &mut BTreeSet<ArmIndex>,
    emit: &dyn Fn(Event),
) -> Result<Option<Ending>, LabError> {
    for (position, arm) in (0u32..).zip(terms.order.block(block)) {
        if terms.is_interrupted() {
            break;
        }
        if dead.contains(&arm) {
            continue;
        }
        let place = Place {
            launch: round.launch,
            round: round.round,
            block,
            position,
            arm,
        };
        let measured = rig.measure(place)?;
        let doubts = &measured.window.doubts;
        for doubt in doubts
            .iter()
            .filter(|d| d.code.soundness() == Soundness::Void)
        {
            emit(Event::Doubted {
                arm: terms.arms[arm.get()].clone(),
                doubt: doubt.clone(),
            });
        }
        journal.window(&measured)?;
        if let Some(ending) = note_deaths(rig, journal, terms, dead, emit)? {
            return Ok(Some(ending));
        }
    }
    Ok(terms.is_interrupted().then_some(Ending::Interrupted))
}

/// Looks for arms that have died since the last window, whoever had the load: each is a doubt
/// about the run, and the run's end if the plan says so or nothing is left to compare.
fn note_deaths(
    rig: &dyn Rig,
    journal: &mut dyn Journal,
    terms: &Terms<'_>,
    dead: &mut BTreeSet<ArmIndex>,
    emit: &dyn Fn(Event),
) -> Result<Option<Ending>, LabError> {
    let mut last_words = None;
    for (arm, id) in (0u16..).map(ArmIndex).zip(terms.arms) {
        let Some(death) = rig.death(arm).filter(|_| !dead.contains(&arm)) else {
            continue;
        };
        dead.insert(arm);
        let doubt = Doubt::new(DoubtCode::ArmDied, death.clone()).with("arm", id.as_str());
        emit(Event::Note {
            text: format!("{id} is no longer measured in this round: {death}"),
        });
        journal.push(Entry::Doubt(doubt))?;
        last_words = Some(death);
    }
    let others = u16::try_from(terms.arms.len()).unwrap_or(u16::MAX);
    let nothing_to_compare =
        dead.contains(&ArmIndex::BASELINE) || (1..others).all(|arm| dead.contains(&ArmIndex(arm)));
    let ends = terms.on_death == OnDeath::End || nothing_to_compare;
    Ok(last_words
        .filter(|_| ends)
        .map(|text| Ending::Died { text }))
}

#[cfg(test)]
mod tests;
