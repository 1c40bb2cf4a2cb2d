//! The raw input of an analysis, as plain values.

use std::collections::{BTreeMap, BTreeSet};

use windage_model::{AgentCycle, ArmIndex, PhaseSpent, ProcessTimes, Warning, Window};
use windage_record::{
    Delivered, Ending, Entry, Histograms, Journal, Launch, LaunchEnd, Loss, LostLines, Manifest,
    RecordError, RunDir, SelfReport, ServicesUsed, Timing, read_committed_histograms,
};

use crate::Timed;
use crate::fidelity::SpansInWindows;
use crate::ledger::Ledgers;
use crate::timers::LaunchTimes;
use crate::turns::Turns;
use crate::windows::Windows;

/// Everything recorded of a run except histograms, which are streamed. Of its windows only what is
/// compared or summed up is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Records {
    /// What the run is.
    pub manifest: Manifest,
    /// Facts about the machine, as recorded.
    pub host: serde_json::Value,
    /// Launches that began.
    pub launches: Vec<Launch>,
    /// Launches that ended normally.
    pub ends: Vec<LaunchEnd>,
    /// What the sink counted, by launch and arm. Counts per window are summed up and dropped.
    pub delivered: Vec<Delivered>,
    /// Warnings about the run noted while it was in progress.
    pub warnings: Vec<Warning>,
    /// Versions as programs report them.
    pub versions: BTreeMap<String, String>,
    /// What phases of batch programs used.
    pub phases: Vec<PhaseSpent>,
    /// What whole processes used, including those of void windows.
    pub processes: Vec<ProcessTimes>,
    /// What programs report about themselves.
    pub self_reported: Vec<SelfReport>,
    /// What each of several services of an arm used, by launch.
    pub services: Vec<ServicesUsed>,
    /// Attachments of agents, in the order in which they ended.
    pub cycles: Vec<AgentCycle>,
    /// How the run ended; `None` when its end was not recorded.
    pub ending: Option<Ending>,
    /// Damaged bytes at the journal's end that were left out.
    pub cut_bytes: u64,
    /// Damage before the journal's end, and the blocks that were left out for it.
    pub losses: Vec<Loss>,
    /// The length of the histogram logs at the last committed block, see
    /// [`Journal::histogram_bytes`].
    pub(crate) histogram_bytes: [u64; 2],
    pub(crate) windows: Windows,
    pub(crate) turns: Turns,
    pub(crate) in_windows: SpansInWindows,
    pub(crate) ledgers: Ledgers,
    pub(crate) launch_times: LaunchTimes,
}

impl Records {
    /// Reads everything except the histograms, separately for each load of the run; there is at
    /// least one.
    ///
    /// # Errors
    /// When the journal or the host facts can't be read or are of another format.
    pub fn read(run: &RunDir) -> Result<Vec<Records>, RecordError> {
        Records::read_along(run, &run.host()?, |_, _| {})
    }

    /// As [`Records::read`]; calls `show` with each window, even void ones, and its load's index.
    pub(crate) fn read_along(
        run: &RunDir,
        host: &serde_json::Value,
        show: impl FnMut(usize, &Window),
    ) -> Result<Vec<Records>, RecordError> {
        let mut journal = Journal::open(run)?;
        let entries = journal.by_ref();
        let mut all = Records::gather_along(run.manifest(), host, entries, show)?;
        for records in &mut all {
            records.ending = journal.ending().cloned();
            records.cut_bytes = journal.cut().map_or(0, |cut| cut.bytes);
            records.losses = journal.losses();
            records.histogram_bytes = journal.histogram_bytes();
        }
        Ok(all)
    }

    /// Gathers a run's entries in the order in which they were recorded, separately for each of its
    /// loads. They have no ending and no cut yet.
    pub(crate) fn gather<E>(
        manifest: &Manifest,
        host: &serde_json::Value,
        entries: impl Iterator<Item = Result<Entry, E>>,
    ) -> Result<Vec<Records>, E> {
        Records::gather_along(manifest, host, entries, |_, _| {})
    }

    fn gather_along<E>(
        manifest: &Manifest,
        host: &serde_json::Value,
        entries: impl Iterator<Item = Result<Entry, E>>,
        mut show: impl FnMut(usize, &Window),
    ) -> Result<Vec<Records>, E> {
        let mut gathering = Gathering::of(manifest, host);
        for entry in entries {
            let entry = entry?;
            let load = gathering.load_of(&entry);
            if let Entry::Window(window) = &entry {
                let all = 0..gathering.by_load.len();
                let of = load.map_or(all, |load| load..load + 1);
                of.for_each(|load| show(load, window));
            }
            gathering.put(load, entry);
        }
        let mut all = gathering.by_load;
        all.iter_mut().for_each(Records::close);
        Ok(all)
    }

    pub(crate) fn empty(manifest: Manifest, host: serde_json::Value) -> Records {
        Records {
            windows: Windows::of_arms(manifest.arms.len()),
            turns: Turns::of_arms(manifest.arms.len()),
            manifest,
            host,
            launches: Vec::new(),
            ends: Vec::new(),
            delivered: Vec::new(),
            warnings: Vec::new(),
            versions: BTreeMap::new(),
            phases: Vec::new(),
            processes: Vec::new(),
            self_reported: Vec::new(),
            services: Vec::new(),
            cycles: Vec::new(),
            ending: None,
            cut_bytes: 0,
            losses: Vec::new(),
            histogram_bytes: [0; 2],
            in_windows: SpansInWindows::default(),
            ledgers: Ledgers::default(),
            launch_times: LaunchTimes::default(),
        }
    }

    /// The number of launches in which anything was measured.
    pub(crate) fn measured_launches(&self) -> usize {
        let of_turns = self.turns.by_launch().map(|(launch, _)| launch);
        let of_windows = self.windows.launches.iter().copied();
        of_windows.chain(of_turns).collect::<BTreeSet<u32>>().len()
    }

    /// Sorts the entries; nothing may be added afterwards.
    pub(crate) fn close(&mut self) {
        self.windows.close();
        self.ledgers.close();
    }

    /// The result of `look` on the entries so far; more may be added afterwards.
    pub(crate) fn so_far<T>(&mut self, look: impl FnOnce(&Records) -> T) -> T {
        // Windows stay sorted when more are appended; closed ledgers can't be reopened.
        let open = self.ledgers.clone();
        self.windows.put_in_order();
        self.ledgers.close();
        let seen = look(self);
        self.ledgers = open;
        seen
    }

    pub(crate) fn take(&mut self, entry: Entry) {
        match entry {
            Entry::LaunchStarted(launch) => {
                self.ledgers.launch_started(&launch);
                self.launches.push(launch);
            }
            Entry::Window(window) => {
                self.ledgers.enter(&window);
                self.launch_times.window(&window);
                self.windows.take(&window);
            }
            Entry::Turns(block) => {
                self.launch_times.turns(&block);
                self.turns.take(&block);
            }
            Entry::LaunchEnded(end) => {
                self.ledgers.launch_ended(&end);
                self.turns.launch_ended(&end);
                self.launch_times.launch_ended(&end);
                self.ends.push(end);
            }
            Entry::Delivered(mut delivered) => {
                self.in_windows.take(&delivered, &self.windows);
                delivered.in_windows = Vec::new();
                self.delivered.push(delivered);
            }
            Entry::Warning(warning) => self.warnings.push(warning),
            Entry::Version { of, text } => {
                self.versions.insert(of, text);
            }
            Entry::Phase(spent) => self.phases.push(spent),
            Entry::Process(times) => self.processes.push(times),
            Entry::SelfReport(said) => self.self_reported.push(said),
            Entry::Services(used) => self.services.push(used),
            Entry::Agent(cycle) => self.cycles.push(cycle),
            Entry::Held(held) => self.windows.growth.take_held(&held),
            Entry::BlockDone { .. } | Entry::RunEnded(_) => {}
        }
    }
}

/// A run's records while its entries come in, in the order in which they were recorded.
#[derive(Debug)]
pub(crate) struct Gathering {
    by_load: Vec<Records>,
    loads: Loads,
}

impl Gathering {
    pub(crate) fn of(manifest: &Manifest, host: &serde_json::Value) -> Gathering {
        let of_load = |index| Records::empty(manifest.under_load(index), host.clone());
        Gathering {
            by_load: (0..manifest.loads()).map(of_load).collect(),
            loads: Loads::default(),
        }
    }

    pub(crate) fn take(&mut self, entry: Entry) {
        let load = self.load_of(&entry);
        self.put(load, entry);
    }

    fn load_of(&mut self, entry: &Entry) -> Option<usize> {
        self.loads.of(entry, self.by_load.len())
    }

    fn put(&mut self, load: Option<usize>, entry: Entry) {
        match load {
            Some(load) => self.by_load[load].take(entry),
            None => self
                .by_load
                .iter_mut()
                .for_each(|records| records.take(entry.clone())),
        }
    }

    /// The records of the load that began last; `None` before the first launch.
    pub(crate) fn present(&mut self) -> Option<&mut Records> {
        self.by_load.get_mut(self.loads.present?)
    }
}

/// Which of a run's loads its launches were under.
#[derive(Debug, Default)]
struct Loads {
    of_launch: BTreeMap<u32, usize>,
    present: Option<usize>,
}

impl Loads {
    /// The load of an entry; `None` when it belongs to the whole run.
    fn of(&mut self, entry: &Entry, loads: usize) -> Option<usize> {
        // A launch's start may be damaged: its windows say their round as well.
        if let Some((launch, round)) = entry.launch().zip(entry.round())
            && !self.of_launch.contains_key(&launch)
        {
            let load = round as usize % loads;
            self.of_launch.insert(launch, load);
            self.present = Some(load);
        }
        match (entry, entry.launch()) {
            (_, Some(launch)) => self.of_launch.get(&launch).copied().or(self.present),
            (Entry::Warning(_), None) => self.present,
            (_, None) => None,
        }
    }
}

/// A histogram log, read on demand.
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

    /// What could not be read so far.
    pub(crate) fn lost(&self) -> LostLines {
        self.log.lost()
    }
}

impl Iterator for Streamed<'_> {
    type Item = Timed;

    /// Leaves out lines that can't be read, and lines of an arm missing from the manifest, of a void
    /// window, or of a block that the journal does not have: it is of another load's launch, or
    /// damaged.
    fn next(&mut self) -> Option<Timed> {
        loop {
            let Ok((tag, times)) = self.log.next()? else {
                continue;
            };
            let is_void = self
                .windows
                .void
                .contains(&(tag.launch, tag.block, tag.position));
            if is_void {
                continue;
            }
            if let Some(&arm) = self.arms.get(&tag.arm)
                && self.windows.has(tag.launch, tag.block, arm)
            {
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
