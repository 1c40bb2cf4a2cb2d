//! Other HdrHistogram tools can read the logs: here `HistogramLogReader` of the Python package
//! `hdrhistogram`, which shares no code with Windage.
//!
//! `WINDAGE_TEST_PYTHON` names a Python with the package.

#![expect(
    clippy::unwrap_used,
    reason = "a sample that cannot be created fails the test"
)]

use std::collections::BTreeMap;
use std::process::Command;

use hdrhistogram::Histogram;
use windage_model::{
    ArmId, ArmIndex, Backend, Exchanges, LoadModel, MachineDelta, Order, Place, Role, Window,
    WindowCpu,
};
use windage_record::{
    DesignScope, JournalWriter, LoadScope, Manifest, ManifestArm, RunDir, Times, Timing,
    read_histograms,
};

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
    let arm = |index, name: &str, role| ManifestArm {
        index: ArmIndex(index),
        id: ArmId::from_text(name).unwrap(),
        name: name.to_owned(),
        about: None,
        role,
        levels: BTreeMap::new(),
        expected: None,
        backend: Backend::Ok,
        adds_to: None,
        agents: Vec::new(),
        bystander_of: None,
        same_as: None,
    };
    Manifest {
        windage: "0.1.0".to_owned(),
        run: "readers".to_owned(),
        plan: "readers".to_owned(),
        about: None,
        plan_folder: "/plans".into(),
        command: "windage run readers.toml".to_owned(),
        started_unix_ns: STARTED_UNIX_MS * 1_000_000,
        seed: 1,
        arms: vec![
            arm(0, "off", Role::Baseline),
            arm(1, "control", Role::Control),
            arm(2, "otel, sampling 1.0", Role::Treatment),
        ],
        load: LoadScope {
            regime: None,
            model: LoadModel::Closed,
            rate_per_s: None,
            connections: 8,
            request: Some("GET http://{app}/".to_owned()),
            iterations: None,
        },
        other_loads: Vec::new(),
        design: DesignScope {
            window_ns: 100_000_000,
            settle_ns: 10_000_000,
            rounds: 1,
            blocks_per_round: 3,
            warmup_ns: 0,
            drain_ns: 0,
            idle_ns: 0,
            order: Order::Mirrored,
            margin: 0.005,
            subject_cores: 1,
            placement: Vec::new(),
            stop: None,
        },
    }
}

fn started_ms(block: u32, position: u32) -> u64 {
    u64::from(block * 4 + position) * 112 + 1_500
}

fn window(block: u32, position: u32) -> Window {
    let arm = ArmIndex([0, 2, 2, 1][position as usize]);
    Window {
        place: Place {
            launch: 0,
            round: 0,
            block,
            position,
            arm,
        },
        started_ns: started_ms(block, position) * 1_000_000,
        duration_ns: 100_000_000,
        stretch_ns: 112_000_000,
        exchanges: Exchanges {
            completed: 500,
            ..Exchanges::default()
        },
        cpu: WindowCpu::default(),
        machine: MachineDelta::default(),
        beside: Default::default(),
        rss_bytes: None,
        activity: None,
        warnings: vec![],
        outliers: vec![],
    }
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
