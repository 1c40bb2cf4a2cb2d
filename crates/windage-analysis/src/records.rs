//! The raw material of an analysis, as plain values.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Doubt, PhaseSpent, ProcessTimes};
use windage_record::{
    Delivered, Ending, Entry, Histograms, Journal, Launch, LaunchEnd, Manifest, RecordError,
    RunDir, Said, Timing, read_committed_histograms,
};

use crate::Timed;
use crate::fidelity::SpansInWindows;
use crate::ledger::Ledgers;
use crate::windows::Windows;

/// What was recorded of a run, histograms apart (they are streamed). Of its windows no more is
/// kept than what is compared and summed up.
#[derive(Clone, Debug, PartialEq)]
pub struct Records {
    /// What the run is.
    pub manifest: Manifest,
    /// Facts about the machine, as they were recorded.
    pub host: serde_json::Value,
    /// Launches that were begun.
    pub launches: Vec<Launch>,
    /// Launches that were ended in order.
    pub ends: Vec<LaunchEnd>,
    /// What the sink counted, by launch and arm. What it counted of each window is summed up
    /// and left out.
    pub delivered: Vec<Delivered>,
    /// Doubts about the run that were noted while it went on.
    pub doubts: Vec<Doubt>,
    /// What programs said of their versions.
    pub versions: BTreeMap<String, String>,
    /// What phases of batch programs took.
    pub phases: Vec<PhaseSpent>,
    /// What whole processes used, those of void windows included.
    pub processes: Vec<ProcessTimes>,
    /// What programs said about themselves.
    pub said: Vec<Said>,
    /// How the run ended; `None` when its end was not recorded.
    pub ending: Option<Ending>,
    /// Bytes at the journal's end that were damaged and left out.
    pub cut_bytes: u64,
    /// How long the histogram logs were when the last block was whole, in bytes.
    pub(crate) histogram_bytes: [u64; 2],
    pub(crate) windows: Windows,
    pub(crate) in_windows: SpansInWindows,
    pub(crate) ledgers: Ledgers,
}

impl Records {
    /// Reads everything but the histograms, apart for each load of the run, of which there is at
    /// least one.
    ///
    /// # Errors
    /// When the journal or the host facts can't be read or are of a newer format.
    pub fn read(run: &RunDir) -> Result<Vec<Records>, RecordError> {
        let mut journal = Journal::open(run)?;
        let mut all = Records::gather(run.manifest(), &run.host()?, &mut journal)?;
        for records in &mut all {
            records.ending = journal.ending().cloned();
            records.cut_bytes = journal.cut().map_or(0, |cut| cut.bytes);
            records.histogram_bytes = journal.histogram_bytes();
        }
        Ok(all)
    }

    /// Gathers a run's entries, in the order in which they were recorded, apart for each of its
    /// loads. Neither an ending nor a cut is known of them yet.
    pub(crate) fn gather<E>(
        manifest: &Manifest,
        host: &serde_json::Value,
        entries: impl Iterator<Item = Result<Entry, E>>,
    ) -> Result<Vec<Records>, E> {
        let of_load = |index| Records::empty(manifest.under_load(index), host.clone());
        let mut all: Vec<Records> = (0..manifest.loads()).map(of_load).collect();
        let mut loads = Loads::default();
        for entry in entries {
            let entry = entry?;
            match loads.of(&entry, all.len()) {
                Some(load) => all[load].take(entry),
                None => all
                    .iter_mut()
                    .for_each(|records| records.take(entry.clone())),
            }
        }
        all.iter_mut().for_each(Records::close);
        Ok(all)
    }

    pub(crate) fn empty(manifest: Manifest, host: serde_json::Value) -> Records {
        Records {
            windows: Windows::of_arms(manifest.arms.len()),
            manifest,
            host,
            launches: Vec::new(),
            ends: Vec::new(),
            delivered: Vec::new(),
            doubts: Vec::new(),
            versions: BTreeMap::new(),
            phases: Vec::new(),
            processes: Vec::new(),
            said: Vec::new(),
            ending: None,
            cut_bytes: 0,
            histogram_bytes: [0; 2],
            in_windows: SpansInWindows::default(),
            ledgers: Ledgers::default(),
        }
    }

    /// Puts what was taken in order; nothing may be taken after it.
    pub(crate) fn close(&mut self) {
        self.windows.close();
        self.ledgers.close();
    }

    pub(crate) fn take(&mut self, entry: Entry) {
        match entry {
            Entry::LaunchStarted(launch) => {
                self.ledgers.launch_started(&launch);
                self.launches.push(launch);
            }
            Entry::Window(window) => {
                self.ledgers.enter(&window);
                self.windows.take(&window);
            }
            Entry::LaunchEnded(end) => {
                self.ledgers.launch_ended(&end);
                self.ends.push(end);
            }
            Entry::Delivered(mut delivered) => {
                self.in_windows.take(&delivered, &self.windows);
                delivered.in_windows = Vec::new();
                self.delivered.push(delivered);
            }
            Entry::Doubt(doubt) => self.doubts.push(doubt),
            Entry::Version { of, text } => {
                self.versions.insert(of, text);
            }
            Entry::Phase(spent) => self.phases.push(spent),
            Entry::Process(times) => self.processes.push(times),
            Entry::Said(said) => self.said.push(said),
            Entry::BlockDone { .. } | Entry::RunEnded(_) => {}
        }
    }
}

/// Under which of a run's loads its launches were.
#[derive(Default)]
struct Loads {
    of_launch: BTreeMap<u32, usize>,
    present: Option<usize>,
}

impl Loads {
    /// Whose an entry is among so many loads; `None` when it is the whole run's.
    fn of(&mut self, entry: &Entry, loads: usize) -> Option<usize> {
        let launch = match entry {
            Entry::LaunchStarted(launch) => {
                let load = launch.round as usize % loads;
                self.of_launch.insert(launch.launch, load);
                self.present = Some(load);
                launch.launch
            }
            Entry::Window(window) => window.place.launch,
            Entry::LaunchEnded(end) => end.launch,
            Entry::Delivered(delivered) => delivered.launch,
            Entry::Phase(spent) => spent.launch,
            Entry::Process(times) => times.place.launch,
            Entry::Said(said) => said.launch,
            Entry::Doubt(_) => return self.present,
            Entry::Version { .. } | Entry::BlockDone { .. } | Entry::RunEnded(_) => return None,
        };
        self.of_launch.get(&launch).copied().or(self.present)
    }
}

/// A histogram log, read as it is needed.
pub(crate) struct Streamed<'a> {
    log: Histograms,
    arms: &'a BTreeMap<String, ArmIndex>,
    windows: &'a Windows,
}

impl<'a> Streamed<'a> {
    pub(crate) fn open(
        run: &RunDir,
        timing: Timing,
        histogram_bytes: [u64; 2],
        arms: &'a BTreeMap<String, ArmIndex>,
        windows: &'a Windows,
    ) -> Result<Streamed<'a>, RecordError> {
        Ok(Streamed {
            log: read_committed_histograms(run, timing, histogram_bytes)?,
            arms,
            windows,
        })
    }
}

impl Iterator for Streamed<'_> {
    type Item = Timed;

    /// Lines that can't be read, that speak of an arm that the manifest doesn't know, of another
    /// load's launch or of a void window are left out.
    fn next(&mut self) -> Option<Timed> {
        loop {
            let Ok((tag, times)) = self.log.next()? else {
                continue;
            };
            let is_void = self
                .windows
                .void
                .contains(&(tag.launch, tag.block, tag.position));
            if is_void || !self.windows.launches.contains(&tag.launch) {
                continue;
            }
            if let Some(&arm) = self.arms.get(&tag.arm) {
                return Some(Timed {
                    launch: tag.launch,
                    block: tag.block,
                    arm,
                    times,
                });
            }
        }
    }
}
