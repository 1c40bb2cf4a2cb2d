//! The progress of a run, from the entries of its journal.

mod events;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use windage_model::{ArmIndex, Soundness, Window};
use windage_record::{DesignScope, Ending, Entry, Launch, Manifest, RecordError, RunState};

use super::row::State;
use super::snapshot::open;
use crate::journal_reader::{Growing, Summed};
use crate::seconds;
use events::{Events, RunEvent};

/// The data of `event: progress`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Progress {
    state: State,
    round: u32,
    rounds: u32,
    blocks_done: u32,
    blocks: Option<u32>,
    windows: u64,
    windows_void: u64,
    lasts_s: f64,
    left_s: Option<f64>,
    events: Vec<RunEvent>,
}

/// The progress as recorded.
#[derive(Debug)]
struct Course {
    design: DesignScope,
    round: u32,
    rounds_begun: u32,
    blocks_done: u32,
    windows: u64,
    windows_void: u64,
    /// The end of what was recorded, in nanoseconds since the run began.
    until_ns: u64,
    launches: Vec<Launched>,
    events: Events,
}

/// A launch, in nanoseconds since the run began.
#[derive(Debug)]
struct Launched {
    started_ns: u64,
    /// From its first window to the end of its last block.
    measured_ns: Option<(u64, u64)>,
}

impl Progress {
    /// Whether the run is in progress.
    pub(crate) fn goes_on(&self) -> bool {
        self.state == State::GoingOn
    }
}

/// A followed run.
pub(crate) struct Following(Growing<Course>);

impl Following {
    /// Opens the run without reading its journal.
    ///
    /// # Errors
    /// When the directory holds no readable run.
    pub(crate) fn open(directory: &Path) -> Result<Following, RecordError> {
        Ok(Following(Growing::of(open(directory)?)?))
    }

    /// The present progress of the run.
    ///
    /// # Errors
    /// When the journal can't be read.
    pub(crate) fn read_on(&mut self, is_written: bool) -> Result<Progress, RecordError> {
        self.0.read_on()?;
        Ok(self.0.sum().progress(is_written, self.0.ending()))
    }
}

impl Summed for Course {
    fn of(manifest: &Manifest) -> Course {
        let names = manifest
            .arms
            .iter()
            .map(|arm| (arm.index, arm.name.clone()));
        let names: BTreeMap<ArmIndex, String> = names.collect();
        Course {
            design: manifest.design.clone(),
            round: 0,
            rounds_begun: 0,
            blocks_done: 0,
            windows: 0,
            windows_void: 0,
            until_ns: 0,
            launches: Vec::new(),
            events: Events::naming(names),
        }
    }

    fn take(&mut self, entry: &Entry) {
        match entry {
            Entry::LaunchStarted(launch) => self.launched(launch),
            Entry::Window(window) => self.window(window),
            Entry::Turns(turns) => {
                let ended_ns = self.measured(turns.started_ns, turns.lasted_ns);
                self.events.turns(turns, ended_ns);
            }
            Entry::BlockDone { block } => {
                self.blocks_done += 1;
                self.events.block_done(*block);
            }
            Entry::Agent(cycle) => self.events.agents(cycle, self.until_ns),
            Entry::Warning(warning) => self.events.warning(warning, self.until_ns),
            Entry::RunEnded(ending) => self.events.ended(ending, self.until_ns),
            Entry::LaunchEnded(_)
            | Entry::Delivered(_)
            | Entry::Version { .. }
            | Entry::Phase(_)
            | Entry::Process(_)
            | Entry::SelfReport(_)
            | Entry::Services(_)
            | Entry::Held(_) => {}
        }
    }
}

impl Course {
    fn launched(&mut self, launch: &Launch) {
        self.round = launch.round;
        self.rounds_begun = self.rounds_begun.max(launch.round.saturating_add(1));
        self.until_ns = self.until_ns.max(launch.started_ns);
        self.launches.push(Launched {
            started_ns: launch.started_ns,
            measured_ns: None,
        });
        self.events.round(launch, self.design.rounds);
    }

    fn window(&mut self, window: &Window) {
        self.windows += 1;
        self.windows_void += u64::from(window.soundness() == Soundness::Void);
        let ended_ns = self.measured(window.started_ns, window.duration_ns);
        self.events.window(window, ended_ns);
    }

    /// Notes that load was measured in that stretch; returns its end.
    fn measured(&mut self, started_ns: u64, lasted_ns: u64) -> u64 {
        let ended_ns = started_ns.saturating_add(lasted_ns);
        self.until_ns = self.until_ns.max(ended_ns);
        if let Some(launch) = self.launches.last_mut() {
            let (from_ns, _) = launch.measured_ns.unwrap_or((started_ns, 0));
            launch.measured_ns = Some((from_ns, ended_ns));
        }
        ended_ns
    }

    fn progress(&self, is_written: bool, ending: Option<&Ending>) -> Progress {
        let design = &self.design;
        let state = RunState::of(is_written, ending);
        // A run that may stop early has no fixed number of blocks.
        let planned = design.rounds.saturating_mul(design.blocks_per_round);
        let blocks = design.stop.is_none().then_some(planned);
        // If the end is recorded and a process still writes, profiles are being taken.
        let is_measuring = state == RunState::GoingOn && ending.is_none();
        let left_s = blocks.filter(|_| is_measuring);
        let left_s = left_s.and_then(|blocks| self.left_s(blocks));
        Progress {
            state: state.into(),
            round: self.round,
            rounds: design.rounds,
            blocks_done: self.blocks_done,
            blocks,
            windows: self.windows,
            windows_void: self.windows_void,
            lasts_s: seconds(self.until_ns),
            left_s,
            events: self.events.latest(),
        }
    }

    /// The time left if blocks and launches continue to take what they took so far; `None` before
    /// the first block.
    fn left_s(&self, blocks: u32) -> Option<f64> {
        let measured = self
            .launches
            .iter()
            .filter_map(|l| Some((l.started_ns, l.measured_ns?)));
        let (mut in_blocks_ns, mut before_blocks_ns, mut launches) = (0, 0, 0_u32);
        for (started_ns, (from_ns, to_ns)) in measured {
            in_blocks_ns += to_ns.saturating_sub(from_ns);
            before_blocks_ns += from_ns.saturating_sub(started_ns);
            launches += 1;
        }
        if launches == 0 || self.blocks_done == 0 {
            return None;
        }
        let design = &self.design;
        let block_s = seconds(in_blocks_ns) / f64::from(self.blocks_done);
        let before_s = seconds(before_blocks_ns) / f64::from(launches);
        let after_s = seconds(design.drain_ns.saturating_add(design.idle_ns));
        let rounds_left = design.rounds.saturating_sub(self.rounds_begun);
        let blocks_left = blocks.saturating_sub(self.blocks_done);
        let left_s = f64::from(blocks_left) * block_s
            + f64::from(rounds_left) * (before_s + after_s)
            + after_s;
        Some(left_s)
    }
}

#[cfg(test)]
mod tests;
