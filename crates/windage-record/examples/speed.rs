//! What a long run's records cost: to write, save, store and read.
//!
//! `cargo run --locked --release -p windage-record --example speed -- [WINDOWS] [FOLDER]`
//!
//! Writes that many windows to a run directory below FOLDER, by default the system's temporary
//! folder, and removes it afterwards. A commit takes as long as FOLDER's file system needs to sync
//! a block, so a folder in memory says nothing about it.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use windage_model::{
    ArmCpu, ArmIndex, Exchanges, MachineDelta, Outlier, Place, StatusClasses, Window, WindowCpu,
    fixtures,
};
use windage_record::fixtures::manifest;
use windage_record::{Entry, Journal, JournalWriter, RunDir, Timing, read_histograms};

const USAGE: &str =
    "usage: speed [WINDOWS, by default 1000000] [FOLDER, by default the system's temporary folder]";

const DEFAULT_WINDOWS: u32 = 1_000_000;
const WINDOWS_IN_BLOCK: u32 = 40;
/// How many blocks have histograms and a commit each, as in a run.
const TIMED_BLOCKS: u32 = 100;
/// Without histograms, this many blocks share one commit, to stay far below the buffer's bound.
const BLOCKS_IN_COMMIT: u32 = 1_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let windows = match arguments.next() {
        Some(text) => text.parse::<u32>().map_err(|_| USAGE)?,
        None => DEFAULT_WINDOWS,
    };
    let blocks = windows / WINDOWS_IN_BLOCK;
    if blocks == 0 || arguments.len() > 1 {
        return Err(USAGE.into());
    }
    let folder = arguments
        .next()
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(folder)?;
    journal(&new_run(&folder.path().join("journal"))?, blocks)?;
    histograms(&new_run(&folder.path().join("histograms"))?)
}

/// A journal alone: bytes per window, and how fast it is written and read.
fn journal(run: &RunDir, blocks: u32) -> Result<(), Box<dyn Error>> {
    let windows = blocks * WINDOWS_IN_BLOCK;
    let mut writer = JournalWriter::create(run)?;
    let mut pushed = Duration::ZERO;
    for block in 0..blocks {
        let began = Instant::now();
        for position in 0..WINDOWS_IN_BLOCK {
            writer.push(&Entry::Window(window(block, position)))?;
        }
        writer.push(&Entry::BlockDone { block })?;
        pushed += began.elapsed();
        if block % BLOCKS_IN_COMMIT == 0 {
            writer.commit()?;
        }
    }
    writer.commit()?;

    let bytes = fs::metadata(run.path().join("journal.bin"))?.len();
    let began = Instant::now();
    let mut found = 0_u32;
    for entry in Journal::open(run)? {
        found += u32::from(matches!(entry?, Entry::Window(_)));
    }
    let read_s = began.elapsed().as_secs_f64();
    if found != windows {
        return Err(format!("{windows} windows were written, {found} were read").into());
    }
    let (windows, blocks, bytes) = (f64::from(windows), f64::from(blocks), bytes as f64);
    figure("journal, per window", bytes / windows, "bytes")?;
    figure(
        "one window made and pushed",
        pushed.as_nanos() as f64 / windows,
        "ns",
    )?;
    figure("read: records", (windows + blocks) / read_s, "1/s")?;
    figure("read: bytes", bytes / 1e6 / read_s, "MB/s")
}

/// Windows with histograms and a commit per block: what a run waits for between windows.
fn histograms(run: &RunDir) -> Result<(), Box<dyn Error>> {
    let mut writer = JournalWriter::create(run)?;
    let (mut window_times, mut commit_times) = (Vec::new(), Vec::new());
    for block in 0..TIMED_BLOCKS {
        for position in 0..WINDOWS_IN_BLOCK {
            let window = window(block, position);
            let times = response_times(&window)?;
            let began = Instant::now();
            writer.window(&window, &times, &times)?;
            window_times.push(began.elapsed());
        }
        let began = Instant::now();
        writer.commit_block(block)?;
        commit_times.push(began.elapsed());
    }
    let log_bytes = fs::metadata(run.path().join(Timing::ResponseTime.file_name()))?.len();
    let began = Instant::now();
    let read = read_histograms(run, Timing::ResponseTime)?
        .try_fold(0_u32, |n, interval| interval.map(|_| n + 1))?;
    let read_s = began.elapsed().as_secs_f64();

    let windows = f64::from(TIMED_BLOCKS * WINDOWS_IN_BLOCK);
    figure("each log, per window", log_bytes as f64 / windows, "bytes")?;
    spread("window() with two histograms", window_times, 1e6, "us")?;
    spread("commit_block() of 40 windows", commit_times, 1e3, "ms")?;
    figure("read: histograms", f64::from(read) / read_s, "1/s")
}

fn figure(what: &str, value: f64, unit: &str) -> Result<(), Box<dyn Error>> {
    Ok(writeln!(
        std::io::stdout(),
        "{what:<30} {value:>12.1} {unit}"
    )?)
}

/// The median and the slowest, which a run may have to wait for too.
fn spread(
    what: &str,
    mut times: Vec<Duration>,
    units_in_second: f64,
    unit: &str,
) -> Result<(), Box<dyn Error>> {
    times.sort_unstable();
    let at = |place: usize| times[place].as_secs_f64() * units_in_second;
    let (median, slowest) = (at(times.len() / 2), at(times.len() - 1));
    Ok(writeln!(
        std::io::stdout(),
        "{what:<30} {median:>12.1} {unit} (median; at most {slowest:.1})"
    )?)
}

/// The slowest exchanges of a window, within two milliseconds.
fn outliers(started_ns: u64) -> Vec<Outlier> {
    (0..8)
        .map(|i| Outlier {
            intended_ns: started_ns + i * 12_345_678,
            sent_ns: started_ns + i * 12_345_678 + 4_200,
            completed_ns: started_ns + i * 12_345_678 + 1_900_000 - i * 100_000,
        })
        .collect()
}

/// A typical window of a service under 2000 requests per second.
fn window(block: u32, position: u32) -> Window {
    let started_ns = 3_000_000_000 + u64::from(block * WINDOWS_IN_BLOCK + position) * 112_000_000;
    let others = |cpu_ns| {
        vec![ArmCpu {
            arm: ArmIndex(1),
            cpu_ns,
        }]
    };
    Window {
        started_ns,
        duration_ns: 100_213_456,
        stretch_ns: 112_345_678,
        exchanges: Exchanges {
            intended: 200,
            sent: 200,
            completed: 200,
            status: StatusClasses([0, 200, 0, 0, 0]),
            settle_completed: 21,
            sent_bytes: 17_800,
            received_bytes: 245_000,
            send_lag_ns_p50: 4_200,
            send_lag_ns_p99: 61_000,
            send_lag_ns_max: 212_000,
            ..Exchanges::default()
        },
        cpu: WindowCpu {
            in_window_ns: Some(13_456_789),
            settle_ns: 1_456_789,
            others_in_window: others(34_567),
            others_before: others(12_345),
            generator_ns: 9_876_543,
            sink_ns: 345_678,
            windage_ns: 11_234_567,
        },
        machine: MachineDelta {
            busy_ns: Some(32_345_678),
            steal_ns: 120_000,
            cpu_pressure_ns: Some(890_000),
        },
        rss_bytes: Some(23_456_789),
        outliers: outliers(started_ns),
        ..fixtures::window(Place {
            position,
            ..fixtures::place(0, block, 2)
        })
    }
}

/// Skewed times in nanoseconds, different from window to window.
fn response_times(window: &Window) -> Result<Histogram<u32>, Box<dyn Error>> {
    let mut times = Histogram::new_with_bounds(1_000, 60_000_000_000, 3)?;
    let fastest_ns = 80_000 + u64::from(window.place.block * 997 + window.place.position * 131);
    for i in 0..window.exchanges.completed {
        times.record(fastest_ns + i * i * 70)?;
    }
    Ok(times)
}

fn new_run(path: &Path) -> Result<RunDir, Box<dyn Error>> {
    Ok(RunDir::create(
        path,
        &manifest(),
        "",
        "",
        &serde_json::Value::Null,
    )?)
}
