//! Arbitrary entries of every kind, including unlikely ones.

mod agent;
mod telemetry;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use windage_model::{
    Activity, ArmCpu, ArmIndex, ArmTurns, Beside, CpuSource, DriftOver, ErrorCounts, Exchanges,
    Held, MachineDelta, Outlier, Phase, PhaseSpent, Place, ProcessTimes, StatusClasses, TurnBlock,
    TurnOrder, Warning, Window, WindowCpu,
};
use windage_record::{
    CpuUsed, Ending, Entry, HeldAt, Launch, LaunchArmEnd, LaunchEnd, LaunchedArm, SelfReport,
    ServiceUsed, ServicesUsed,
};

use self::agent::agent_cycle;
use self::telemetry::any_delivered;

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
        any::<[u64; 16]>(),
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
            generator_preemptions: preemptions,
            generator_run_queue_ns: run_queue_ns,
            stalls: n[13],
            longest_stall_ns: n[14],
            longest_stall_at_ns: n[15],
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
    )
        .prop_map(|(busy_ns, steal_ns, cpu_pressure_ns)| MachineDelta {
            busy_ns,
            steal_ns,
            cpu_pressure_ns,
        })
}

fn beside() -> impl Strategy<Value = Beside> {
    let reading = || option::of(any::<u64>());
    let all = [reading(), reading(), reading(), reading()];
    all.prop_map(|readings| {
        let [
            agent_ns,
            agent_rss_bytes,
            kernel_threads_ns,
            between_readings_ns,
        ] = readings;
        Beside {
            agent_ns,
            agent_rss_bytes,
            kernel_threads_ns,
            between_readings_ns,
        }
    })
}

/// Warnings with each type of evidence.
fn warning() -> impl Strategy<Value = Warning> {
    let figure = || any::<f64>().prop_filter("NaN equals nothing", |n| !n.is_nan());
    let over = prop::sample::select(vec![DriftOver::Launch, DriftOver::Run]);
    let errors = any::<(u32, u32, Option<u32>)>();
    prop_oneof![
        Just(Warning::SingleRound),
        (figure(), over).prop_map(|(change, over)| Warning::Trend { change, over }),
        vec(text(), 0..3).prop_map(|arms| Warning::ArmVoid { arms }),
        text().prop_map(|how| Warning::SwitchFailed { how }),
        errors.prop_map(|(failed, sent, timeouts)| Warning::Errors {
            failed: failed.into(),
            sent: sent.into(),
            connect_errors: None,
            timeouts: timeouts.map(u64::from),
            closed: None,
            protocol_errors: None,
            answers_4xx: None,
            answers_5xx: None,
        }),
    ]
}

fn any_window() -> impl Strategy<Value = Window> {
    let numbers = (any::<[u64; 5]>(), option::of(any::<u64>()));
    (
        place(),
        exchanges(),
        cpu(),
        (machine(), beside()),
        numbers,
        vec(warning(), 0..3),
        vec(outlier(), 0..9),
    )
        .prop_map(
            |(place, exchanges, cpu, (machine, beside), (n, rss_bytes), warnings, outliers)| {
                Window {
                    place,
                    started_ns: n[0],
                    duration_ns: n[1],
                    stretch_ns: n[2],
                    exchanges,
                    cpu,
                    machine,
                    beside,
                    rss_bytes,
                    activity: Some(Activity {
                        page_faults: n[3],
                        context_switches: n[4],
                    }),
                    warnings,
                    outliers,
                }
            },
        )
}

fn any_turns() -> impl Strategy<Value = TurnBlock> {
    let order = prop::sample::select(vec![
        TurnOrder::Random,
        TurnOrder::WithoutHeaviest,
        TurnOrder::ShortTurns,
    ]);
    let of_arm = (
        arm(),
        any::<(u32, bool)>(),
        option::of(any::<u64>()),
        exchanges(),
    );
    let of_arm = of_arm.prop_map(|(arm, (turns, is_awake), cpu_ns, exchanges)| ArmTurns {
        arm,
        turns,
        cpu_ns,
        is_awake,
        exchanges,
    });
    let counts = (any::<[u32; 3]>(), any::<[u64; 7]>());
    let rest = (exchanges(), machine(), vec(warning(), 0..3));
    (counts, order, vec(of_arm, 0..4), rest).prop_map(
        |(([launch, round, block], ns), order, arms, (exchanges, machine, warnings))| TurnBlock {
            launch,
            round,
            block,
            order,
            started_ns: ns[0],
            lasted_ns: ns[1],
            load_ns: ns[2],
            turn: ns[3],
            arms,
            exchanges,
            generator_ns: ns[4],
            sink_ns: ns[5],
            windage_ns: ns[6],
            machine,
            warnings,
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
        |(arm, cpu_source, (startup_ns, cpu_resolution_ns, startup_cpu_ns), warmup)| LaunchedArm {
            arm,
            instance: arm.0 / 2,
            startup_ns,
            cpu_source,
            cpu_resolution_ns,
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
    let readings = prop::array::uniform5(option::of(any::<u64>()));
    let end = (arm(), readings, any::<[u64; 5]>()).prop_map(|(arm, r, of)| {
        let [drain_ns, idle_ns, turns_drain_ns, hidden_ns, unmeasured] = of;
        LaunchArmEnd {
            arm,
            after_last_window_ns: r[0],
            drain_ns,
            idle_cpu_ns: r[1],
            idle_ns,
            rss_peak_bytes: r[2],
            pss_bytes: r[3],
            after_turns_ns: r[4],
            turns_drain_ns,
            hidden_ns,
            unmeasured,
        }
    });
    let all = (any::<u32>(), vec(end, 0..4), any::<Option<u64>>());
    all.prop_map(|(launch, arms, own_rss_bytes)| LaunchEnd {
        launch,
        arms,
        own_rss_bytes,
    })
}

fn phase() -> impl Strategy<Value = PhaseSpent> {
    let phase = prop::sample::select(Phase::ALL.to_vec());
    let spent = (any::<u64>(), option::of(any::<u64>()));
    (any::<u32>(), arm(), phase, spent).prop_map(|(launch, arm, phase, (wall_ns, cpu_ns))| {
        PhaseSpent {
            launch,
            arm,
            phase,
            wall_ns,
            cpu_ns,
        }
    })
}

fn process() -> impl Strategy<Value = ProcessTimes> {
    (place(), any::<[u64; 3]>()).prop_map(|(place, [wall_ns, user_ns, system_ns])| ProcessTimes {
        place,
        wall_ns,
        user_ns,
        system_ns,
    })
}

fn said() -> impl Strategy<Value = SelfReport> {
    (any::<u32>(), arm(), text(), text()).prop_map(|(launch, arm, name, text)| SelfReport {
        launch,
        arm,
        name,
        text,
    })
}

fn cpu_used() -> impl Strategy<Value = CpuUsed> {
    any::<[u64; 4]>().prop_map(|[windows_ns, outside_ns, turns_ns, idle_ns]| CpuUsed {
        windows_ns,
        outside_ns,
        turns_ns,
        idle_ns,
    })
}

fn services() -> impl Strategy<Value = ServicesUsed> {
    let service = (text(), cpu_used()).prop_map(|(service, cpu)| ServiceUsed { service, cpu });
    let services = prop::collection::vec(service, 0..4);
    let of_arm = (any::<u32>(), arm(), any::<[u64; 3]>(), cpu_used(), services);
    of_arm.prop_map(|(launch, arm, times_ns, whole, services)| {
        let [outside_time_ns, turns_time_ns, idle_time_ns] = times_ns;
        ServicesUsed {
            launch,
            arm,
            outside_time_ns,
            turns_time_ns,
            idle_time_ns,
            whole,
            services,
        }
    })
}

fn held() -> impl Strategy<Value = Option<Held>> {
    let held = any::<(u64, Option<u64>)>().prop_map(|(threads, descriptors)| Held {
        threads,
        descriptors,
    });
    prop::option::of(held)
}

fn held_at() -> impl Strategy<Value = HeldAt> {
    let all = (place(), any::<u64>(), held(), held());
    all.prop_map(|(place, at_ns, services, agents)| HeldAt {
        place,
        at_ns,
        services,
        agents,
    })
}

/// Any entry of any kind.
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
        any_turns().prop_map(Entry::Turns),
        any::<u32>().prop_map(|block| Entry::BlockDone { block }),
        any_launch_end().prop_map(Entry::LaunchEnded),
        any_delivered().prop_map(Entry::Delivered),
        warning().prop_map(Entry::Warning),
        any::<[String; 2]>().prop_map(|[of, text]| Entry::Version { of, text }),
        phase().prop_map(Entry::Phase),
        process().prop_map(Entry::Process),
        said().prop_map(Entry::SelfReport),
        services().prop_map(Entry::Services),
        agent_cycle().prop_map(Entry::Agent),
        held_at().prop_map(Entry::Held),
        ending.prop_map(Entry::RunEnded),
    ]
}
