//! A small run whose histograms were kept, and the file that they are kept in.

use std::fs;
use std::path::PathBuf;

use hdrhistogram::Histogram;
use windage_model::{ArmIndex, Beside, Exchanges, MachineDelta, Place, Window, WindowCpu};
use windage_record::{
    Committed, Ending, Entry, JournalWriter, Kept, KeptTimes, Launch, LaunchedArm, RunDir, Timing,
};

use crate::Folder;

const CHECKSUM_BYTES: usize = 4;
/// What nothing at all takes: of two kinds of time two empty lists each.
const EMPTY_BYTES: usize = 4;
const LAUNCHES: u32 = 2;
const BLOCKS: u32 = 3;

/// A run of two launches, and the beginning of the file that is right for it.
pub struct KeptRun {
    folder: Folder,
    head: Vec<u8>,
}

impl KeptRun {
    /// Records the run.
    ///
    /// # Panics
    /// When it cannot be recorded: there is nothing to fuzz then.
    #[must_use]
    pub fn new() -> KeptRun {
        let folder = Folder::new();
        record(&folder.run);
        let mut kept = KeptRun {
            folder,
            head: Vec::new(),
        };
        kept.keep(Default::default());
        let file = fs::read(kept.path()).expect("what was kept is there");
        let (head, empty) = file.split_at(file.len() - CHECKSUM_BYTES - EMPTY_BYTES);
        assert_eq!(empty[..EMPTY_BYTES], [0; EMPTY_BYTES], "empty lists");
        kept.head = head.to_vec();
        kept
    }

    /// The run.
    #[must_use]
    pub fn run(&self) -> &RunDir {
        &self.folder.run
    }

    /// Where it is kept.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.run.path().join("quantiles.bin")
    }

    /// A file of these times as they are stored, with all before and behind them as it has to be.
    #[must_use]
    pub fn file_of(&self, times: &[u8]) -> Vec<u8> {
        let mut file = [&self.head, times].concat();
        let checksum = crc32fast::hash(&file);
        file.extend(checksum.to_le_bytes());
        file
    }

    /// What [`KeptRun::file_of`] made a whole file of.
    #[must_use]
    pub fn times_of<'f>(&self, file: &'f [u8]) -> &'f [u8] {
        &file[self.head.len()..file.len() - CHECKSUM_BYTES]
    }

    /// Keeps response and service times of the run.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn keep(&self, times: [KeptTimes; 2]) {
        let bytes_of = |name| {
            let file = fs::metadata(self.folder.run.path().join(name));
            file.expect("a file of the run").len()
        };
        let committed = Committed {
            journal_bytes: bytes_of("journal.bin"),
            histogram_bytes: [Timing::ResponseTime, Timing::ServiceTime]
                .map(|timing| bytes_of(timing.file_name())),
        };
        let loads = vec![times];
        let kept = Kept { committed, loads };
        self.folder.run.keep(kept).expect("a file is written");
    }
}

impl Default for KeptRun {
    fn default() -> KeptRun {
        KeptRun::new()
    }
}

fn record(run: &RunDir) {
    let mut writer = JournalWriter::create(run).expect("a journal is begun");
    for launch in 0..LAUNCHES {
        let arms = [0, 1, 2].map(launched).into();
        let started = Entry::LaunchStarted(Launch {
            launch,
            round: launch,
            arms,
            ..Launch::default()
        });
        writer.push(&started).expect("an entry fits");
        for block in launch * BLOCKS..(launch + 1) * BLOCKS {
            for arm in [0, 1, 2] {
                let times = times(u64::from(arm));
                writer
                    .window(&window(launch, block, arm), &times, &times)
                    .expect("a window fits");
            }
            writer.commit_block(block).expect("a block is written");
        }
    }
    writer
        .push(&Entry::RunEnded(Ending::Complete))
        .expect("an entry fits");
    writer.commit().expect("a journal is written");
}

fn launched(arm: u16) -> LaunchedArm {
    LaunchedArm {
        arm: ArmIndex(arm),
        startup_ns: None,
        cpu_source: windage_model::CpuSource::CgroupV2,
        cpu_grain_ns: 1_000,
        startup_cpu_ns: None,
        warmup_completed: 0,
        warmup_outside_ns: 0,
        warmup_outside_time_ns: 0,
        instance: arm,
    }
}

fn times(arm: u64) -> Histogram<u32> {
    let mut times = Histogram::new_with_bounds(1_000, 60_000_000_000, 3).expect("bounds in order");
    for i in 0..40 {
        times += 80_000 + 1_000 * i + 3_000 * arm;
    }
    times
}

fn window(launch: u32, block: u32, arm: u16) -> Window {
    let position = u32::from(arm);
    Window {
        place: Place {
            launch,
            round: launch,
            block,
            position,
            arm: ArmIndex(arm),
        },
        started_ns: u64::from(block * 3 + position) * 200_000_000,
        duration_ns: 100_000_000,
        stretch_ns: 110_000_000,
        exchanges: Exchanges {
            completed: 40,
            ..Exchanges::default()
        },
        cpu: WindowCpu {
            in_window_ns: Some(4_000_000 + 100_000 * u64::from(arm)),
            ..WindowCpu::default()
        },
        machine: MachineDelta::default(),
        rss_bytes: None,
        page_faults: 0,
        arm_context_switches: 0,
        doubts: vec![],
        outliers: vec![],
        beside: Beside::default(),
    }
}
