//! Small runs to write, and entries of every kind to put into them.

use std::collections::BTreeMap;
use std::path::Path;

use hdrhistogram::Histogram;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use windage_model::{
    ArmCpu, ArmId, ArmIndex, Backend, CpuSource, Doubt, DoubtCode, ErrorCounts, Evidence,
    Exchanges, LevelValue, LoadModel, MachineDelta, Metric, Order, Outlier, Place, Role,
    StatusClasses, Window, WindowCpu,
};
use windage_record::{
    Delivered, DeliveredByProtocol, DeliveredInWindow, DeliveredSource, DesignScope, Drops, Ending,
    Entry, Expected, ExportDelay, JournalWriter, Launch, LaunchArmEnd, LaunchEnd, LaunchedArm,
    LoadScope, Manifest, ManifestArm, PilotScope, RunDir, StopScope, TraceSample,
};

pub(crate) fn manifest() -> Manifest {
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
        same_as: None,
    };
    let mut otel = arm(2, "otel, sampling 0.1", Role::Treatment);
    otel.about = Some("One trace in ten.".to_owned());
    otel.levels
        .insert("sampling".to_owned(), LevelValue::Number(0.1));
    otel.levels
        .insert("exporter".to_owned(), LevelValue::Text("otlp".to_owned()));
    otel.backend = "slow 200ms".parse().unwrap();
    otel.expected = Some(Expected {
        traces_per_request: Some(0.1),
        spans_per_request: None,
        events_per_request: None,
    });
    Manifest {
        windage: "0.1.0".to_owned(),
        run: "go-http-7".to_owned(),
        plan: "go-http".to_owned(),
        about: None,
        plan_folder: "/plans".into(),
        command: "windage run go-http.toml".to_owned(),
        started_unix_ns: 1_763_632_800_123_456_789,
        seed: 1,
        arms: vec![
            arm(0, "off", Role::Baseline),
            arm(1, "off again", Role::Control),
            otel,
        ],
        load: LoadScope {
            regime: None,
            model: LoadModel::Open,
            rate_per_s: Some(2000.0),
            connections: 8,
            request: Some("GET http://{app}/".to_owned()),
            iterations: None,
        },
        further_loads: Vec::new(),
        design: DesignScope {
            window_ns: 100_000_000,
            settle_ns: 10_000_000,
            rounds: 3,
            blocks_per_round: 20,
            warmup_ns: 1_000_000_000,
            drain_ns: 1_000_000_000,
            idle_ns: 500_000_000,
            order: Order::Mirrored,
            interest: 0.005,
            generator_moved_at_most: None,
            subject_cores: 1,
            stop: Some(StopScope {
                metric: Metric::CpuPerRequest,
                half_width: 0.005,
                within_ns: 300_000_000_000,
            }),
            pilot: Some(PilotScope {
                window_ns: Some(100_000_000),
                settle_ns: None,
                flush_period_ns: Some(5_000_000_000),
                text: "Windows of 100 ms have the least noise.".to_owned(),
            }),
        },
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

/// A window like those of a service under 2000 requests a second.
pub(crate) fn window(block: u32, position: u32, arm: u16) -> Window {
    let started_ns = u64::from(block * 8 + position) * 112_000_000 + 3_000_000_000;
    Window {
        place: Place {
            launch: 0,
            round: 0,
            block,
            position,
            arm: ArmIndex(arm),
        },
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
            context_switches: 3_210,
        },
        rss_bytes: Some(23_456_789),
        page_faults: 12,
        arm_context_switches: 812,
        doubts: vec![],
        outliers: outliers(started_ns),
    }
}

/// The slowest of a window, within two milliseconds.
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

pub(crate) fn launch(launch: u32) -> Launch {
    let arm = LaunchedArm {
        arm: ArmIndex(0),
        instance: 0,
        startup_ns: Some(12_000_000),
        cpu_source: CpuSource::CgroupV2,
        cpu_grain_ns: 1_000,
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

fn arm() -> impl Strategy<Value = ArmIndex> {
    any::<u16>().prop_map(ArmIndex)
}

fn text() -> impl Strategy<Value = String> {
    "\\PC{0,20}"
}

fn place() -> impl Strategy<Value = Place> {
    (any::<[u32; 4]>(), arm()).prop_map(|([launch, round, block, position], arm)| Place {
        launch,
        round,
        block,
        position,
        arm,
    })
}

fn exchanges() -> impl Strategy<Value = Exchanges> {
    let optional = [(); 2].map(|()| option::of(any::<u64>()));
    (
        any::<[u64; 17]>(),
        any::<[u64; 5]>(),
        any::<[u64; 4]>(),
        optional,
    )
        .prop_map(|(n, status, e, [preemptions, run_queue_ns])| Exchanges {
            intended: n[0],
            sent: n[1],
            completed: n[2],
            dropped: n[3],
            status: StatusClasses(status),
            errors: ErrorCounts {
                connect: e[0],
                timeout: e[1],
                closed: e[2],
                protocol: e[3],
            },
            reopened: n[4],
            settle_completed: n[5],
            sent_bytes: n[6],
            received_bytes: n[7],
            send_lag_ns_p50: n[8],
            send_lag_ns_p99: n[9],
            send_lag_ns_max: n[10],
            waited: n[11],
            grown: n[12],
            pauses: n[13],
            generator_preemptions: preemptions,
            generator_run_queue_ns: run_queue_ns,
            stalls: n[14],
            longest_stall_ns: n[15],
            longest_stall_at_ns: n[16],
        })
}

/// Any times, in any order.
fn outlier() -> impl Strategy<Value = Outlier> {
    any::<[u64; 3]>().prop_map(|[intended_ns, sent_ns, completed_ns]| Outlier {
        intended_ns,
        sent_ns,
        completed_ns,
    })
}

fn cpu() -> impl Strategy<Value = WindowCpu> {
    let others = || {
        vec(
            (arm(), any::<u64>()).prop_map(|(arm, cpu_ns)| ArmCpu { arm, cpu_ns }),
            0..4,
        )
    };
    (
        option::of(any::<u64>()),
        any::<[u64; 4]>(),
        others(),
        others(),
    )
        .prop_map(
            |(in_window_ns, n, others_in_window, others_before)| WindowCpu {
                in_window_ns,
                settle_ns: n[0],
                others_in_window,
                others_before,
                generator_ns: n[1],
                sink_ns: n[2],
                windage_ns: n[3],
            },
        )
}

fn machine() -> impl Strategy<Value = MachineDelta> {
    (
        option::of(any::<u64>()),
        any::<u64>(),
        option::of(any::<u64>()),
        any::<u64>(),
    )
        .prop_map(
            |(busy_ns, steal_ns, cpu_pressure_ns, context_switches)| MachineDelta {
                busy_ns,
                steal_ns,
                cpu_pressure_ns,
                context_switches,
            },
        )
}

fn doubt() -> impl Strategy<Value = Doubt> {
    let evidence = prop_oneof![
        any::<f64>()
            .prop_filter("NaN equals nothing", |n| !n.is_nan())
            .prop_map(Evidence::Number),
        text().prop_map(Evidence::Text),
    ];
    (
        prop::sample::select(DoubtCode::ALL),
        text(),
        btree_map(text(), evidence, 0..3),
    )
        .prop_map(|(code, text, evidence)| Doubt {
            code,
            text,
            evidence,
        })
}

/// Any window whatever, likely or not.
pub(crate) fn any_window() -> impl Strategy<Value = Window> {
    let numbers = (any::<[u64; 5]>(), option::of(any::<u64>()));
    (
        place(),
        exchanges(),
        cpu(),
        machine(),
        numbers,
        vec(doubt(), 0..3),
        vec(outlier(), 0..9),
    )
        .prop_map(
            |(place, exchanges, cpu, machine, (n, rss_bytes), doubts, outliers)| Window {
                place,
                started_ns: n[0],
                duration_ns: n[1],
                stretch_ns: n[2],
                exchanges,
                cpu,
                machine,
                rss_bytes,
                page_faults: n[3],
                arm_context_switches: n[4],
                doubts,
                outliers,
            },
        )
}

fn any_launch() -> impl Strategy<Value = Launch> {
    let source = prop::sample::select(vec![
        CpuSource::CgroupV1,
        CpuSource::CgroupV2,
        CpuSource::ProcessClock,
        CpuSource::Rusage,
        CpuSource::None,
    ]);
    let times = (
        option::of(any::<u64>()),
        any::<u64>(),
        option::of(any::<u64>()),
    );
    let launched = (arm(), source, times, any::<[u64; 3]>()).prop_map(
        |(arm, cpu_source, (startup_ns, cpu_grain_ns, startup_cpu_ns), warmup)| LaunchedArm {
            arm,
            instance: arm.0 / 2,
            startup_ns,
            cpu_source,
            cpu_grain_ns,
            startup_cpu_ns,
            warmup_completed: warmup[0],
            warmup_outside_ns: warmup[1],
            warmup_outside_time_ns: warmup[2],
        },
    );
    (any::<[u32; 2]>(), any::<u64>(), vec(launched, 0..4)).prop_map(
        |([launch, round], started_ns, arms)| Launch {
            launch,
            round,
            started_ns,
            arms,
        },
    )
}

fn any_launch_end() -> impl Strategy<Value = LaunchEnd> {
    let readings = prop::array::uniform4(option::of(any::<u64>()));
    let end = (arm(), readings, any::<[u64; 2]>()).prop_map(|(arm, r, [drain_ns, idle_ns])| {
        LaunchArmEnd {
            arm,
            after_last_window_ns: r[0],
            drain_ns,
            idle_cpu_ns: r[1],
            idle_ns,
            rss_peak_bytes: r[2],
            pss_bytes: r[3],
        }
    });
    (any::<u32>(), vec(end, 0..4)).prop_map(|(launch, arms)| LaunchEnd { launch, arms })
}

fn any_delivered() -> impl Strategy<Value = Delivered> {
    let window = (any::<[u32; 2]>(), any::<[u64; 2]>()).prop_map(|([block, position], n)| {
        DeliveredInWindow {
            block,
            position,
            spans: n[0],
            root_spans: n[1],
        }
    });
    let drops = (text(), any::<u64>()).prop_map(|(reason, lost)| Drops { reason, lost });
    let lists = (
        vec(window, 0..4),
        vec(by_protocol(), 0..3),
        vec(source(), 0..3),
        vec(drops, 0..3),
    );
    (
        (any::<u32>(), arm(), any::<[u64; 20]>()),
        lists,
        option::of(delay()),
        option::of(trace_sample()),
    )
        .prop_map(
            |((launch, arm, n), (in_windows, by_protocol, sources, drops), delay, traces)| {
                Delivered {
                    launch,
                    arm,
                    export_requests: n[0],
                    spans: n[1],
                    root_spans: n[2],
                    span_events: n[3],
                    links: n[4],
                    attributes: n[5],
                    metric_points: n[6],
                    log_records: n[7],
                    wire_bytes: n[8],
                    body_bytes: n[9],
                    rejected: n[10],
                    malformed: n[11],
                    completed_requests: n[12],
                    profiles: n[13],
                    side_requests: n[14],
                    refused: n[15],
                    refused_spans: n[16],
                    refused_others: n[17],
                    retried_requests: n[18],
                    repeated_spans: n[19],
                    in_windows,
                    by_protocol,
                    sources,
                    delay,
                    traces,
                    drops,
                }
            },
        )
}

fn by_protocol() -> impl Strategy<Value = DeliveredByProtocol> {
    (text(), any::<[u64; 6]>()).prop_map(|(protocol, n)| DeliveredByProtocol {
        protocol,
        export_requests: n[0],
        spans: n[1],
        metric_points: n[2],
        log_records: n[3],
        wire_bytes: n[4],
        body_bytes: n[5],
    })
}

fn source() -> impl Strategy<Value = DeliveredSource> {
    (text(), text(), any::<[u64; 4]>()).prop_map(|(service, scope, n)| DeliveredSource {
        service,
        scope,
        spans: n[0],
        span_events: n[1],
        metric_points: n[2],
        log_records: n[3],
    })
}

fn delay() -> impl Strategy<Value = ExportDelay> {
    any::<[u64; 5]>().prop_map(|[spans, p50_ns, p90_ns, p99_ns, max_ns]| ExportDelay {
        spans,
        p50_ns,
        p90_ns,
        p99_ns,
        max_ns,
    })
}

fn trace_sample() -> impl Strategy<Value = TraceSample> {
    any::<[u64; 5]>().prop_map(
        |[one_in, traces, complete, spans, duplicates]| TraceSample {
            one_in,
            traces,
            complete,
            spans,
            duplicates,
        },
    )
}

/// Any entry, of every kind.
pub(crate) fn any_entry() -> impl Strategy<Value = Entry> {
    let ending = prop_oneof![
        Just(Ending::Complete),
        text().prop_map(|reason| Ending::StoppedEarly { reason }),
        Just(Ending::Interrupted),
        text().prop_map(|text| Ending::Died { text }),
    ];
    prop_oneof![
        any_launch().prop_map(Entry::LaunchStarted),
        any_window().prop_map(Entry::Window),
        any::<u32>().prop_map(|block| Entry::BlockDone { block }),
        any_launch_end().prop_map(Entry::LaunchEnded),
        any_delivered().prop_map(Entry::Delivered),
        doubt().prop_map(Entry::Doubt),
        any::<[String; 2]>().prop_map(|[of, text]| Entry::Version { of, text }),
        ending.prop_map(Entry::RunEnded),
    ]
}
