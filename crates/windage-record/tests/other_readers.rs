//! Other HdrHistogram tools can read the logs: here `HistogramLogReader` of the Python package
//! `hdrhistogram`, which shares no code with Windage.
//!
//! `WINDAGE_TEST_PYTHON` names a Python with the package.

#![expect(
    clippy::unwrap_used,
    reason = "a sample that cannot be created fails the test"
)]

use std::process::Command;

use hdrhistogram::Histogram;
use windage_model::Window;
use windage_model::fixtures::{place, window as any_window};
use windage_record::{JournalWriter, Manifest, RunDir, Times, Timing, fixtures, read_histograms};

/// Prints a line for each interval: tag, start and end in ms since 1970, count, p50, p99.
const SCRIPT: &str = "
import sys
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
reader = HistogramLogReader(sys.argv[1], HdrHistogram(1000, 60_000_000_000, 3))
while True:
    h = reader.get_next_interval_histogram()
    if h is None:
        break
    print(h.get_tag(), round(h.get_start_time_stamp()), round(h.get_end_time_stamp()),
          h.get_total_count(), h.get_value_at_percentile(50), h.get_value_at_percentile(99))
";

const STARTED_UNIX_MS: u64 = 1_763_632_800_123;

#[test]
fn python_and_windage_read_the_same() {
    let python = std::env::var("WINDAGE_TEST_PYTHON")
        .unwrap_or_else(|_| panic!("set WINDAGE_TEST_PYTHON to a Python that has hdrhistogram"));
    let dir = tempfile::tempdir().unwrap();
    let run = RunDir::create(dir.path(), &manifest(), "", "", &serde_json::Value::Null).unwrap();
    let mut writer = JournalWriter::create(&run).unwrap();
    for block in 0..3 {
        for position in 0..4 {
            let window = window(block, position);
            let response_time = times(&window, 90_000);
            writer
                .window(&window, &response_time, &times(&window, 70_000))
                .unwrap();
        }
        writer.commit_block(block).unwrap();
    }
    for timing in Timing::ALL {
        let log = run.path().join(timing.file_name());
        let output = Command::new(&python)
            .args(["-c", SCRIPT])
            .arg(&log)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");

        let expected: Vec<String> = read_histograms(&run, timing)
            .unwrap()
            .map(|interval| {
                let (tag, histogram) = interval.unwrap();
                let started_ms = STARTED_UNIX_MS + started_ms(tag.block, tag.position);
                format!(
                    "{}.{}.{}.{} {started_ms} {} {} {} {}",
                    tag.arm,
                    tag.launch,
                    tag.block,
                    tag.position,
                    started_ms + 100,
                    histogram.len(),
                    at_quantile(&histogram, 0.5),
                    at_quantile(&histogram, 0.99),
                )
            })
            .collect();
        assert_eq!(expected.len(), 12);
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(printed.lines().collect::<Vec<_>>(), expected, "{errors}");
    }
}

/// The time at a quantile.
fn at_quantile(times: &Times, share: f64) -> u64 {
    let (mut passed, rank) = (0, share * times.len() as f64);
    let mut counts = times.counts().iter();
    let found = counts.find(|counted| {
        passed += counted.count;
        passed as f64 >= rank
    });
    found.unwrap().ns
}

fn manifest() -> Manifest {
    let mut manifest = fixtures::manifest();
    manifest.started_unix_ns = STARTED_UNIX_MS * 1_000_000;
    manifest.arms[2] = fixtures::arm(2, "otel, sampling 1.0");
    manifest
}

fn started_ms(block: u32, position: u32) -> u64 {
    u64::from(block * 4 + position) * 112 + 1_500
}

fn window(block: u32, position: u32) -> Window {
    let arm = [0, 2, 2, 1][position as usize];
    let mut window = any_window(place(0, block, arm));
    window.place.position = position;
    window.started_ns = started_ms(block, position) * 1_000_000;
    window.exchanges.completed = 500;
    window
}

/// Skewed times upwards of `fastest_ns`, different for each window.
fn times(window: &Window, fastest_ns: u64) -> Histogram<u32> {
    let mut histogram = Histogram::new_with_bounds(1_000, 60_000_000_000, 3).unwrap();
    let shift_ns = u64::from(window.place.block * 1_000 + window.place.position * 100);
    for i in 0..window.exchanges.completed {
        histogram
            .record(fastest_ns + shift_ns + i * i * 50)
            .unwrap();
    }
    histogram
}
