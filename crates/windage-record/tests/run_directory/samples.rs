//! Small sample runs.

use std::path::Path;
use std::time::Duration;

use hdrhistogram::Histogram;
use windage_model::fixtures::{place, turn_block};
use windage_model::{
    ArmCpu, ArmIndex, Budget, BudgetOf, Claim, CpuSource, Exchanges, Expected, LevelValue, Limit,
    LoadModel, MachineDelta, Metric, Outlier, Override, Place, PointsPerInterval, Publication,
    Says, StatusClasses, TurnBlock, Window, WindowCpu,
};
use windage_record::{
    DesignScope, Entry, JournalWriter, Launch, LaunchedArm, LoadScope, Manifest, Placed, RunDir,
    RunPart, StopScope, TurnScope, fixtures,
};

pub(crate) fn manifest() -> Manifest {
    let mut otel = fixtures::arm(2, "otel, sampling 0.1");
    otel.about = Some("One trace in ten.".to_owned());
    otel.levels
        .insert("sampling".to_owned(), LevelValue::Number(0.1));
    otel.levels
        .insert("exporter".to_owned(), LevelValue::Text("otlp".to_owned()));
    otel.backend = "slow 200ms".parse().unwrap();
    otel.expected = Some(Expected {
        traces_per_request: Some(0.1),
        records_per_request: Some(2.5),
        points: Some(PointsPerInterval {
            points: 12.0,
            interval: Duration::from_secs(60),
        }),
        ..Expected::default()
    });
    let any = fixtures::manifest();
    Manifest {
        started_unix_ns: 1_763_632_800_123_456_789,
        arms: vec![fixtures::arm(0, "off"), fixtures::arm(1, "off again"), otel],
        load: LoadScope {
            model: LoadModel::Open,
            rate_per_s: Some(2000.0),
            ..any.load
        },
        budgets: vec![
            Budget {
                of: BudgetOf::Cost,
                metric: Metric::CpuPerRequest,
                arms: vec![ArmIndex(1)],
                at_most: Limit::Percent(5.0),
                warn_above: Some(Limit::Percent(4.0)),
                overridden: None,
                confidence: 0.95,
            },
            Budget {
                of: BudgetOf::Cost,
                metric: Metric::RssPeak,
                arms: vec![ArmIndex(1)],
                at_most: Limit::InUnit(16_777_216.0),
                warn_above: None,
                overridden: Some(Override {
                    at_most: Limit::InUnit(3e7),
                    reason: "a \"buffer\"".to_owned(),
                    until: "2027-01-31".to_owned(),
                }),
                confidence: 0.9,
            },
        ],
        claims: vec![
            Claim {
                publication: Publication {
                    text: "It costs \"4 %\".".to_owned(),
                    source: "https://example.org/".to_owned(),
                    date: Some("2026-02".to_owned()),
                    version: None,
                    differs: Some("another machine".to_owned()),
                },
                metric: Metric::CpuPerRequest,
                arms: vec![ArmIndex(1)],
                says: Says::About {
                    value: Limit::Percent(4.0),
                    tolerance: Limit::Percent(1.0),
                },
                confidence: 0.95,
            },
            Claim {
                publication: Publication {
                    text: "It needs little.".to_owned(),
                    source: "a talk".to_owned(),
                    date: None,
                    version: Some("1.2".to_owned()),
                    differs: None,
                },
                metric: Metric::RssPeak,
                arms: vec![ArmIndex(1)],
                says: Says::AtLeast(Limit::InUnit(1e6)),
                confidence: 0.9,
            },
        ],
        design: DesignScope {
            rounds: 3,
            blocks_per_round: 20,
            turns: Some(TurnScope {
                blocks_per_round: 12,
                block_ns: 1_000_000_000,
                turn_ns: Some(10_000_000),
                turn_requests: None,
            }),
            warmup_ns: 1_000_000_000,
            drain_ns: 1_000_000_000,
            idle_ns: 500_000_000,
            placement: vec![
                Placed {
                    part: RunPart::Service("app".to_owned()),
                    cpus: Some(vec![0]),
                },
                Placed {
                    part: RunPart::Agent("otel".to_owned()),
                    cpus: None,
                },
                Placed {
                    part: RunPart::Generator,
                    cpus: Some(vec![1, 2]),
                },
            ],
            stop: Some(StopScope {
                until: windage_model::Until::Known {
                    metric: Metric::CpuPerRequest,
                    half_width: 0.005,
                },
                within_ns: 300_000_000_000,
            }),
            ..any.design
        },
        ..any
    }
}

pub(crate) fn create(path: &Path) -> RunDir {
    let host = serde_json::json!({ "cores": 2 });
    RunDir::create(
        path,
        &manifest(),
        "name = \"go-http\"\n",
        "seed = 1\n",
        &host,
    )
    .unwrap()
}

/// A typical window of a service under 2000 requests per second.
pub(crate) fn window(block: u32, position: u32, arm: u16) -> Window {
    let started_ns = u64::from(block * 8 + position) * 112_000_000 + 3_000_000_000;
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
            others_in_window: vec![ArmCpu {
                arm: ArmIndex(1),
                cpu_ns: 34_567,
            }],
            others_before: vec![ArmCpu {
                arm: ArmIndex(1),
                cpu_ns: 12_345,
            }],
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
        ..windage_model::fixtures::window(Place {
            position,
            ..place(0, block, arm)
        })
    }
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

/// Latencies in nanoseconds that differ from window to window.
pub(crate) fn histogram(window: &Window) -> Histogram<u32> {
    let mut histogram = Histogram::new_with_bounds(1_000, 60_000_000_000, 3).unwrap();
    let base = 80_000 + u64::from(window.place.block * 997 + window.place.position * 131);
    for i in 0..window.exchanges.completed {
        histogram.record(base + i * i * 70).unwrap();
    }
    histogram
}

/// Pushes a block of windows with their histograms and ends it.
pub(crate) fn write_block(writer: &mut JournalWriter, block: u32, windows: u32) {
    push_windows(writer, block, windows);
    writer.commit_block(block).unwrap();
}

/// Pushes windows of a block that is not done yet.
pub(crate) fn push_windows(writer: &mut JournalWriter, block: u32, windows: u32) {
    for position in 0..windows {
        let window = window(block, position, u16::try_from(position % 3).unwrap());
        let times = histogram(&window);
        writer.window(&window, &times, &times).unwrap();
    }
}

/// Ends a block of turns.
pub(crate) fn write_turns(writer: &mut JournalWriter, block: u32) {
    writer.push(&Entry::Turns(turns(block))).unwrap();
    writer.commit_block(block).unwrap();
}

/// A block in which three arms took turns.
pub(crate) fn turns(block: u32) -> TurnBlock {
    TurnBlock {
        // After the windows.
        started_ns: 10_000_000_000 + u64::from(block) * 1_000_000_000,
        ..turn_block(0, block, &[0, 1, 2])
    }
}

pub(crate) fn launch(launch: u32) -> Launch {
    let arm = LaunchedArm {
        arm: ArmIndex(0),
        instance: 0,
        startup_ns: Some(12_000_000),
        cpu_source: CpuSource::CgroupV2,
        cpu_resolution_ns: 1_000,
        startup_cpu_ns: None,
        warmup_completed: 900,
        warmup_outside_ns: 40_000,
        warmup_outside_time_ns: 2_000_000_000,
    };
    Launch {
        launch,
        round: launch,
        started_ns: 1_000,
        arms: vec![arm],
    }
}
