//! The raw material of an analysis, as plain values.

use std::collections::{BTreeMap, BTreeSet};

use windage_model::{ArmIndex, Doubt, Soundness, Window};
use windage_record::{
    Delivered, Ending, Entry, Histograms, Journal, Launch, LaunchEnd, Manifest, RecordError,
    RunDir, Timing, read_histograms,
};

use crate::Timed;

/// What was recorded of a run, histograms apart (they are streamed).
#[derive(Clone, Debug, PartialEq)]
pub struct Records {
    /// What the run is.
    pub manifest: Manifest,
    /// Facts about the machine, as they were recorded.
    pub host: serde_json::Value,
    /// Launches that were begun.
    pub launches: Vec<Launch>,
    /// Windows in the order in which they were measured.
    pub windows: Vec<Window>,
    /// Launches that were ended in order.
    pub ends: Vec<LaunchEnd>,
    /// What the sink counted, by launch and arm.
    pub delivered: Vec<Delivered>,
    /// Doubts about the run that were noted while it went on.
    pub doubts: Vec<Doubt>,
    /// What programs said of their versions.
    pub versions: BTreeMap<String, String>,
    /// How the run ended; `None` when its end was not recorded.
    pub ending: Option<Ending>,
    /// Bytes at the journal's end that were damaged and left out.
    pub cut_bytes: u64,
}

impl Records {
    /// Reads everything but the histograms.
    ///
    /// # Errors
    /// When the journal or the host facts can't be read or are of a newer format.
    pub fn read(run: &RunDir) -> Result<Records, RecordError> {
        let recorded = Journal::read(run)?;
        let mut records = Records {
            manifest: run.manifest().clone(),
            host: run.host()?,
            launches: Vec::new(),
            windows: Vec::new(),
            ends: Vec::new(),
            delivered: Vec::new(),
            doubts: Vec::new(),
            versions: BTreeMap::new(),
            ending: recorded.ending,
            cut_bytes: recorded.cut.map_or(0, |cut| cut.bytes),
        };
        for entry in recorded.entries {
            match entry {
                Entry::LaunchStarted(launch) => records.launches.push(launch),
                Entry::Window(window) => records.windows.push(window),
                Entry::LaunchEnded(end) => records.ends.push(end),
                Entry::Delivered(delivered) => records.delivered.push(delivered),
                Entry::Doubt(doubt) => records.doubts.push(doubt),
                Entry::Version { of, text } => {
                    records.versions.insert(of, text);
                }
                Entry::BlockDone { .. } | Entry::RunEnded(_) => {}
            }
        }
        Ok(records)
    }

    /// Launch, block and position of every void window.
    pub(crate) fn void_places(&self) -> BTreeSet<(u32, u32, u32)> {
        let void = self
            .windows
            .iter()
            .filter(|w| w.soundness() == Soundness::Void);
        void.map(|w| (w.place.launch, w.place.block, w.place.position))
            .collect()
    }
}

/// A histogram log, read as it is needed.
pub(crate) struct Streamed<'a> {
    log: Histograms,
    arms: &'a BTreeMap<String, ArmIndex>,
    void: &'a BTreeSet<(u32, u32, u32)>,
}

impl<'a> Streamed<'a> {
    pub(crate) fn open(
        run: &RunDir,
        timing: Timing,
        arms: &'a BTreeMap<String, ArmIndex>,
        void: &'a BTreeSet<(u32, u32, u32)>,
    ) -> Result<Streamed<'a>, RecordError> {
        Ok(Streamed {
            log: read_histograms(run, timing)?,
            arms,
            void,
        })
    }
}

impl Iterator for Streamed<'_> {
    type Item = Timed;

    /// Lines that can't be read, that speak of an arm that the manifest doesn't know or of a
    /// void window are left out.
    fn next(&mut self) -> Option<Timed> {
        loop {
            let Ok((tag, times)) = self.log.next()? else {
                continue;
            };
            if self.void.contains(&(tag.launch, tag.block, tag.position)) {
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
