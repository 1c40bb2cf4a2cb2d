//! The course of a run: rounds, blocks, windows. It decides what comes next and what happens when
//! something fails; the rig measures the windows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hdrhistogram::Histogram;
use windage_model::{
    ArmId, ArmIndex, Event, Exchanges, Place, Soundness, StatusClasses, TurnBlock, Warning,
    WarningCode, Window,
};
use windage_plan::OnDeath;
use windage_record::{Delivered, Ending, Entry, Launch, LaunchEnd, RecordError};

use crate::error::ServiceTrouble;
use crate::eta::{BlockKind, Blocks, Eta};
use crate::free_disk::FreeDisk;
use crate::lengths::Lengths;
use crate::order::{RunOrder, TurnDraw};
use crate::pressure::Pressure;
use crate::{LabError, Stopping};

/// A window with its histograms.
pub(crate) struct Measured {
    pub(crate) window: Window,
    pub(crate) response_time: Histogram<u32>,
    pub(crate) service_time: Histogram<u32>,
}

/// The place of a block of turns in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TurnPlace {
    pub(crate) launch: u32,
    pub(crate) round: u32,
    pub(crate) block: u32,
}

/// What a run needs of the world: processes, load, counters. Faked in tests.
pub(crate) trait Rig {
    /// A launch in progress. If it is dropped, its services run until the rig ends.
    type Launched<'r>: Launched
    where
        Self: 'r;
    /// Launches every service anew and warms every arm up.
    fn launch(&mut self, number: u32, round: u32)
    -> Result<(Launch, Self::Launched<'_>), LabError>;
    /// Journal entries found since the last call, here or in a launch.
    fn findings(&mut self) -> Vec<Entry>;
}

/// A launch in progress: its windows, and its end.
pub(crate) trait Launched {
    /// Measures one window. A failure of the subject is a warning of the window, not an error.
    fn measure(&mut self, place: Place) -> Result<Measured, LabError>;
    /// Lets the arms take turns for a block. A failure of a subject is a warning of the block, not an
    /// error.
    fn take_turns(&mut self, place: TurnPlace, draw: TurnDraw) -> Result<TurnBlock, LabError>;
    /// How an arm's service ended while it should be running; `None` while it lives.
    fn death(&self, arm: ArmIndex) -> Option<Box<ServiceTrouble>>;
    /// What an arm answers to one more request, if that is an error, and its services' last lines.
    fn explain_errors(&mut self, arm: ArmIndex) -> Result<(Option<String>, String), LabError>;
    /// Waits for deferred work, then reads the counters of the whole launch.
    fn finish(&mut self) -> Result<LaunchEnd, LabError>;
    /// Journal entries found since the last call.
    fn findings(&mut self) -> Vec<Entry>;
    /// Ends every service and returns what was delivered, including the last flush.
    fn take_down(self) -> Result<Vec<Delivered>, LabError>;
}

/// Where records go. Faked in tests.
pub(crate) trait Journal {
    fn window(&mut self, measured: &Measured) -> Result<(), RecordError>;
    fn push(&mut self, entry: Entry) -> Result<(), RecordError>;
    fn commit_block(&mut self, block: u32) -> Result<(), RecordError>;
    fn commit(&mut self) -> Result<(), RecordError>;
}

/// Where a run starts: at its beginning, or after what an interrupted run has measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Start {
    /// The first block to measure, counted over the whole run.
    pub(crate) block: u32,
    /// The first number for a launch.
    pub(crate) launch: u32,
}

/// What the course of a run depends on, apart from its order.
pub(crate) struct Terms<'a> {
    pub(crate) order: &'a RunOrder,
    pub(crate) start: Start,
    pub(crate) on_death: OnDeath,
    pub(crate) arms: &'a [ArmId],
    pub(crate) interrupted: &'a AtomicBool,
    pub(crate) lengths: Lengths,
    /// Time since some fixed moment.
    pub(crate) clock: &'a dyn Fn() -> Duration,
    /// The run directory.
    pub(crate) directory: &'a Path,
    /// What is free on its disk; `None` if that is unknown.
    pub(crate) free_bytes: &'a dyn Fn() -> Option<u64>,
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

    /// As planned, without launches.
    fn eta(&self) -> Eta<'_> {
        let planned = self.lengths.of_round(self.order, self.start.block);
        Eta::planned(self.clock, planned)
    }
}

/// How a round ended.
enum RoundEnd {
    Done,
    Early(Ending),
}

/// Measures the rest of a run, or as much as `stopping` asks for, and records how it ended.
///
/// # Errors
/// When something fails that no window can record: a service that does not start, a full disk. What
/// was committed before stays readable.
pub(crate) fn conduct(
    rig: &mut impl Rig,
    journal: &mut dyn Journal,
    terms: &Terms<'_>,
    stopping: Option<&mut dyn Stopping>,
    emit: &dyn Fn(Event),
) -> Result<Ending, LabError> {
    let course = Course {
        journal,
        terms,
        stopping: stopping.map(|stopping| stopping as &mut dyn Stopping),
        eta: terms.eta(),
        pressure: Pressure::default(),
        disk: FreeDisk::default(),
        answers: Answers::default(),
        emit,
    };
    course.run(rig)
}

#[derive(Clone, Copy)]
struct Round {
    round: u32,
    launch: u32,
    first: u32,
    end: u32,
}

/// A run in progress.
struct Course<'a> {
    journal: &'a mut dyn Journal,
    terms: &'a Terms<'a>,
    stopping: Option<&'a mut dyn Stopping>,
    eta: Eta<'a>,
    pressure: Pressure,
    disk: FreeDisk,
    /// The answers of all arms so far.
    answers: Answers,
    emit: &'a dyn Fn(Event),
}

impl Course<'_> {
    fn run(mut self, rig: &mut impl Rig) -> Result<Ending, LabError> {
        let ending = match self.enough_at_the_start() {
            Some(ending) => ending,
            None => match self.rounds(rig) {
                Ok(ending) => ending,
                Err(error) => {
                    self.record_failure(rig.findings(), &error);
                    return Err(error);
                }
            },
        };
        self.journal.push(Entry::RunEnded(ending.clone()))?;
        self.journal.commit()?;
        Ok(ending)
    }

    fn rounds(&mut self, rig: &mut impl Rig) -> Result<Ending, LabError> {
        let terms = self.terms;
        let per_round = terms.order.blocks_per_round();
        let first_round = terms.start.block / per_round;
        self.announce(first_round);
        for round in first_round..terms.order.rounds() {
            if let Some(ending) = self.no_room() {
                return Ok(ending);
            }
            (self.emit)(Event::RoundStarted {
                round,
                rounds: terms.order.rounds(),
            });
            let round = Round {
                round,
                launch: terms.start.launch + (round - first_round),
                first: terms.start.block.max(round * per_round),
                end: (round + 1) * per_round,
            };
            let end = self.one_round(rig, round)?;
            if let RoundEnd::Early(early) = end {
                return Ok(early);
            }
            if !self.stops_within_a_round()
                && let Some(enough) = self.enough()
            {
                return Ok(enough);
            }
        }
        Ok(Ending::Complete)
    }

    /// The ending of a run whose disk has no room for another round.
    fn no_room(&mut self) -> Option<Ending> {
        let free_bytes = (self.terms.free_bytes)()?;
        let needed_bytes = self.disk.lacking(free_bytes)?;
        let directory = self.terms.directory.display();
        // Rounded for people.
        let text = format!(
            "the disk has no room for another round: {} MB are free in {directory}, and a round needs \
             {} MB; free some space, then continue with `windage run --resume {directory}`",
            free_bytes / 1_000_000,
            needed_bytes.div_ceil(1_000_000),
        );
        Some(Ending::Died { text })
    }

    fn announce(&self, first_round: u32) {
        let rounds = self.terms.order.rounds().saturating_sub(first_round);
        if rounds > 0 {
            let (order, start) = (self.terms.order, self.terms.start.block);
            let whole = self.rounds_after(start);
            let blocks = order.left_in_round(start) + order.in_a_round().times(whole);
            (self.emit)(Event::Planned {
                lasts: self.eta.of(blocks, rounds),
                at_most: self.stopping.is_some(),
            });
        }
    }

    fn record_failure(&mut self, findings: Vec<Entry>, error: &LabError) {
        let how = if self.terms.is_interrupted() {
            Ending::Interrupted
        } else {
            Ending::Died {
                text: error.to_string(),
            }
        };
        // If the disk is full, this fails as well; the first error is the one to report.
        let _ = self
            .record(findings)
            .and_then(|()| self.journal.push(Entry::RunEnded(how)))
            .and_then(|()| self.journal.commit());
    }

    fn one_round(&mut self, rig: &mut impl Rig, round: Round) -> Result<RoundEnd, LabError> {
        self.eta.round_starts();
        let (launch, mut launched) = rig.launch(round.launch, round.round)?;
        if let Some(stopping) = &mut self.stopping {
            stopping.launched(&launch);
        }
        self.journal.push(Entry::LaunchStarted(launch))?;
        self.record(launched.findings())?;
        self.eta.warm();
        (self.emit)(Event::Measuring);
        let mut end = self.blocks(&mut launched, round)?;
        if matches!(end, RoundEnd::Done)
            && let Some(ending) = self.only_errors(&mut launched)?
        {
            end = RoundEnd::Early(ending);
        }
        // An interrupted run is reported too, without waiting for deferred cost.
        if !matches!(end, RoundEnd::Early(Ending::Interrupted)) {
            let finished = launched.finish()?;
            if self.terms.is_interrupted() {
                // The drain was cut short: its readings do not show deferred cost.
                end = RoundEnd::Early(Ending::Interrupted);
            } else {
                if let Some(stopping) = &mut self.stopping {
                    stopping.launch_ended(&finished);
                }
                self.journal.push(Entry::LaunchEnded(finished))?;
            }
        }
        (self.emit)(Event::TakingDown);
        let delivered = launched.take_down()?;
        self.record(rig.findings())?;
        for delivered in delivered {
            self.journal.push(Entry::Delivered(delivered))?;
        }
        self.journal.commit()?;
        self.eta.round_done();
        Ok(end)
    }

    fn blocks(&mut self, launched: &mut impl Launched, round: Round) -> Result<RoundEnd, LabError> {
        let mut dead = BTreeSet::new();
        // An arm that died during launch or warm-up is not measured.
        if let Some(ending) = self.note_deaths(launched, &mut dead)? {
            return Ok(RoundEnd::Early(ending));
        }
        for block in round.first..round.end {
            let (measured, early) = match self.terms.order.turns(block) {
                Some(draw) => self.one_block_of_turns(launched, round, block, draw, &mut dead)?,
                None => self.one_block(launched, round, block, &mut dead)?,
            };
            if early == Some(Ending::Interrupted) {
                // Not committed: a resumed run measures this block again.
                return Ok(RoundEnd::Early(Ending::Interrupted));
            }
            self.journal.commit_block(block)?;
            if let Some(stopping) = &mut self.stopping {
                stopping.block_done(&measured);
            }
            measured.iter().for_each(|entry| self.answers.take(entry));
            self.eta.block_done(self.kind(block, round));
            if let Some(ending) = early {
                return Ok(RoundEnd::Early(ending));
            }
            if self.stops_within_a_round()
                && let Some(enough) = self.enough()
            {
                return Ok(RoundEnd::Early(enough));
            }
            self.tell_how_far(block + 1);
        }
        Ok(RoundEnd::Done)
    }

    /// Measures a block; returns an ending when the run can't or must not go on after it.
    fn one_block(
        &mut self,
        launched: &mut impl Launched,
        round: Round,
        block: u32,
        dead: &mut BTreeSet<ArmIndex>,
    ) -> Result<(Vec<Entry>, Option<Ending>), LabError> {
        let mut windows = Vec::new();
        for (position, arm) in (0u32..).zip(self.terms.order.block(block)) {
            if self.terms.is_interrupted() {
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
            let measured = launched.measure(place)?;
            let arm = measured.window.place.arm;
            self.tell_warnings(Some(arm), &measured.window.warnings);
            self.tell_pressure(&measured.window);
            self.journal.window(&measured)?;
            self.record(launched.findings())?;
            windows.push(Entry::Window(measured.window));
            if let Some(ending) = self.note_deaths(launched, dead)? {
                return Ok((windows, Some(ending)));
            }
        }
        let interrupted = self.terms.is_interrupted();
        Ok((windows, interrupted.then_some(Ending::Interrupted)))
    }

    /// Measures a block of turns; returns as [`Course::one_block`] does.
    fn one_block_of_turns(
        &mut self,
        launched: &mut impl Launched,
        round: Round,
        block: u32,
        draw: TurnDraw,
        dead: &mut BTreeSet<ArmIndex>,
    ) -> Result<(Vec<Entry>, Option<Ending>), LabError> {
        if self.terms.is_interrupted() {
            return Ok((Vec::new(), Some(Ending::Interrupted)));
        }
        let place = TurnPlace {
            launch: round.launch,
            round: round.round,
            block,
        };
        let turns = launched.take_turns(place, draw)?;
        self.tell_warnings(None, &turns.warnings);
        let turns = Entry::Turns(turns);
        self.journal.push(turns.clone())?;
        self.record(launched.findings())?;
        let ending = self.note_deaths(launched, dead)?;
        let interrupted = self.terms.is_interrupted().then_some(Ending::Interrupted);
        Ok((vec![turns], ending.or(interrupted)))
    }

    fn record(&mut self, findings: Vec<Entry>) -> Result<(), RecordError> {
        let mut findings = findings.into_iter();
        findings.try_for_each(|entry| self.journal.push(entry))
    }

    /// Shows warnings of a window, or of a block of turns, that the user may want to act on now; all
    /// others wait for the report.
    fn tell_warnings(&self, arm: Option<ArmIndex>, warnings: &[Warning]) {
        let is_shown = |warning: &&Warning| {
            let code = warning.code();
            code.soundness() == Soundness::Void || code == WarningCode::Steal
        };
        for warning in warnings.iter().filter(is_shown) {
            (self.emit)(Event::Warned {
                arm: arm.map(|arm| self.terms.arms[arm.get()].clone()),
                warning: warning.clone(),
            });
        }
    }

    fn tell_pressure(&mut self, window: &Window) {
        if let Some(spike) = self.pressure.look(window) {
            (self.emit)(Event::PressureSpike {
                share: spike.share,
                usual: spike.usual,
            });
        }
    }

    /// Looks for arms that have died since the last window, no matter which had load. Each death is
    /// a warning about the run. It ends the run if the plan says so or nothing is left to compare.
    fn note_deaths(
        &mut self,
        launched: &impl Launched,
        dead: &mut BTreeSet<ArmIndex>,
    ) -> Result<Option<Ending>, LabError> {
        let arms = self.terms.arms;
        // A shared service takes all arms with it: that is one death, reported once.
        let mut deaths: Vec<(Box<ServiceTrouble>, Vec<&str>)> = Vec::new();
        for (arm, id) in (0u16..).map(ArmIndex).zip(arms) {
            let Some(death) = launched.death(arm).filter(|_| !dead.contains(&arm)) else {
                continue;
            };
            dead.insert(arm);
            let known = deaths.iter_mut().find(|(known, _)| *known == death);
            let text = match known {
                Some((_, of)) => {
                    of.push(id.as_str());
                    format!("{id} is no longer measured either, for the same reason")
                }
                None => {
                    let text = format!("{id} is no longer measured in this round: {death}");
                    deaths.push((death, vec![id.as_str()]));
                    text
                }
            };
            (self.emit)(Event::Note { text });
        }
        for (death, of) in &deaths {
            self.journal.push(Entry::Warning(arm_died(death, of)))?;
        }
        let gone: Vec<ArmIndex> = dead.iter().copied().collect();
        let ends = self.ends_without(&gone);
        let last = deaths.pop().filter(|_| ends);
        Ok(last.map(|(death, _)| Ending::Died {
            text: death.to_string(),
        }))
    }

    /// Ends a run in which an arm has answered nothing but errors: further rounds would measure more
    /// of them.
    fn only_errors(&mut self, launched: &mut impl Launched) -> Result<Option<Ending>, LabError> {
        let failing: Vec<ArmIndex> = self.answers.only_errors().collect();
        let (Some(first), true) = (failing.first(), self.ends_without(&failing)) else {
            return Ok(None);
        };
        let (answer, last_words) = launched.explain_errors(*first)?;
        let of_first = self.answers.of(*first);
        let [.., answers_4xx, answers_5xx] = of_first.0;
        let ids = failing
            .iter()
            .map(|arm| self.terms.arms[arm.get()].to_string());
        let arms: Vec<String> = ids.collect();
        let text = format!(
            "every answer of {} was an error{}{}",
            arms.join(", "),
            answer
                .iter()
                .map(|how| format!(": one more request {how}"))
                .collect::<String>(),
            match last_words.is_empty() {
                true => String::new(),
                false => format!("; the service's last lines:\n{last_words}"),
            },
        );
        self.journal.push(Entry::Warning(Warning::ServiceErrors {
            arms,
            answers: of_first.total(),
            answers_4xx,
            answers_5xx,
            answer: answer.map(|how| how.trim_start_matches("was answered ").to_owned()),
            last_words: last_words.trim().to_owned(),
        }))?;
        Ok(Some(Ending::Died { text }))
    }

    /// Whether the run ends if nothing can be measured of these arms.
    fn ends_without(&self, arms: &[ArmIndex]) -> bool {
        let others = u16::try_from(self.terms.arms.len()).unwrap_or(u16::MAX);
        let nothing_to_compare = arms.contains(&ArmIndex::BASELINE)
            || (1..others).all(|arm| arms.contains(&ArmIndex(arm)));
        self.terms.on_death == OnDeath::End || nothing_to_compare
    }

    /// Whether it may stop after any block. Several launches must each be complete.
    fn stops_within_a_round(&self) -> bool {
        self.terms.order.rounds() == 1
    }

    /// What was measured before may be enough for a run that is resumed.
    fn enough_at_the_start(&mut self) -> Option<Ending> {
        let block = self.terms.start.block;
        let between_rounds = block.is_multiple_of(self.terms.order.blocks_per_round());
        if block > 0 && (between_rounds || self.stops_within_a_round()) {
            self.enough()
        } else {
            None
        }
    }

    fn enough(&mut self) -> Option<Ending> {
        let reason = self.stopping.as_mut()?.enough()?;
        (self.emit)(Event::Note {
            text: format!("enough was measured: {reason}"),
        });
        Some(Ending::StoppedEarly { reason })
    }

    fn kind(&self, block: u32, round: Round) -> BlockKind {
        let order = self.terms.order;
        // A launch that begins at a block of turns drains what its warm-up deferred.
        let follows_turns = block > round.first && order.is_of_turns(block - 1);
        match (order.is_of_turns(block), follows_turns) {
            (false, _) => BlockKind::Windows,
            (true, false) => BlockKind::FirstTurns,
            (true, true) => BlockKind::Turns,
        }
    }

    /// The whole rounds after `done` blocks.
    fn rounds_after(&self, done: u32) -> u32 {
        self.terms.blocks().saturating_sub(done) / self.terms.order.blocks_per_round().max(1)
    }

    fn tell_how_far(&self, done: u32) {
        let order = self.terms.order;
        let per_round = order.in_a_round();
        let blocks = self.terms.blocks();
        let (in_round, rounds) = (order.left_in_round(done), self.rounds_after(done));
        let whole = self.eta.left(in_round, rounds, per_round);
        let expected = self.stopping.as_ref().map(|stopping| {
            let needed = stopping.still_needed()?;
            Some(if self.stops_within_a_round() {
                self.eta.left(Blocks::of_windows(needed), 0, per_round)
            } else {
                // The current round is one of them.
                self.eta.left(in_round, needed.saturating_sub(1), per_round)
            })
        });
        (self.emit)(Event::BlockDone {
            done,
            blocks,
            left: expected.flatten().unwrap_or(whole).min(whole),
            at_most: expected == Some(None),
        });
    }
}

/// The statuses of all answers, by arm.
#[derive(Debug, Default)]
struct Answers(BTreeMap<ArmIndex, StatusClasses>);

impl Answers {
    fn take(&mut self, measured: &Entry) {
        match measured {
            Entry::Window(window) => self.add(window.place.arm, &window.exchanges),
            Entry::Turns(block) => block
                .arms
                .iter()
                .for_each(|of| self.add(of.arm, &of.exchanges)),
            _ => {}
        }
    }

    fn add(&mut self, arm: ArmIndex, exchanges: &Exchanges) {
        let so_far = &mut self.0.entry(arm).or_default().0;
        for (sum, more) in so_far.iter_mut().zip(exchanges.status.0) {
            *sum += more;
        }
    }

    fn of(&self, arm: ArmIndex) -> StatusClasses {
        self.0.get(&arm).copied().unwrap_or_default()
    }

    fn only_errors(&self) -> impl Iterator<Item = ArmIndex> + '_ {
        let failing = self.0.iter();
        let failing = failing.filter(|(_, of)| of.total() > 0 && of.errors() == of.total());
        failing.map(|(arm, _)| *arm)
    }
}

fn arm_died(death: &ServiceTrouble, arms: &[&str]) -> Warning {
    Warning::ArmDied {
        arms: arms.iter().map(|&id| id.to_owned()).collect(),
        service: death.service.clone(),
        whose: death.whose.clone(),
        how: death.trouble.clone(),
        last_words: death.log_tail.trim().to_owned(),
    }
}

#[cfg(test)]
pub(crate) mod tests;
