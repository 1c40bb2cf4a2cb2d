use super::*;
use windage_model::{ErrorCounts, StatusClasses, WarningCode};

/// A tenth of a second at 10,000/s without warnings.
fn sound(model: LoadModel) -> LoadFacts {
    LoadFacts {
        model,
        exchanges: Exchanges {
            intended: 1000,
            sent: 1000,
            completed: 1000,
            status: StatusClasses([0, 1000, 0, 0, 0]),
            send_lag_ns_p99: 60_000,
            send_lag_ns_max: 900_000,
            generator_preemptions: Some(2),
            generator_run_queue_ns: Some(40_000),
            ..Exchanges::default()
        },
        duration_ns: 100_000_000,
        lasted_ns: 101_000_000,
        response_time_ns_p99: Some(400_000),
        service_time_ns_p50: Some(200_000),
        generator_cpu_ns: 30_000_000,
        threads: 1,
        connections: 8,
        steal_ns: Some(0),
        subject: Some(SubjectCpu {
            used_ns: 50_000_000,
            cores: 1.0,
        }),
    }
}

fn codes(of: &LoadFacts) -> Vec<WarningCode> {
    warnings(of).iter().map(Warning::code).collect()
}

type Spoil = fn(&mut LoadFacts);

fn check(model: LoadModel, table: &[(&str, Spoil, &[WarningCode])]) {
    for (why, spoil, expected) in table {
        let mut facts = sound(model);
        spoil(&mut facts);
        assert_eq!(&codes(&facts), expected, "{model:?}: {why}");
    }
}

#[test]
fn each_rule_of_an_open_loop_has_two_sides() {
    use WarningCode::*;
    let table: &[(&str, Spoil, &[WarningCode])] = &[
        ("nothing", |_| {}, &[]),
        (
            "lag above 1 ms, however slow the answers",
            |f| {
                f.exchanges.send_lag_ns_p99 = 1_000_001;
                f.response_time_ns_p99 = Some(5_000_000_000);
            },
            &[SendLag],
        ),
        (
            "lag of 1 ms among slow answers",
            |f| {
                f.exchanges.send_lag_ns_p99 = 1_000_000;
                f.response_time_ns_p99 = Some(2_000_000);
            },
            &[],
        ),
        (
            "lag that is more than half of the answer",
            |f| f.exchanges.send_lag_ns_p99 = 200_001,
            &[SendLag],
        ),
        (
            "lag that is half of the answer",
            |f| f.exchanges.send_lag_ns_p99 = 200_000,
            &[],
        ),
        (
            "a usual wake-up and an even faster answer",
            |f| {
                f.exchanges.send_lag_ns_p99 = 100_000;
                f.response_time_ns_p99 = Some(110_000);
            },
            &[],
        ),
        (
            "polling keeps a core busy",
            |f| f.generator_cpu_ns = 99_000_000,
            &[],
        ),
        (
            "busy and late",
            |f| {
                f.generator_cpu_ns = 99_000_000;
                f.exchanges.send_lag_ns_p99 = 2_000_000;
            },
            &[SendLag, GeneratorSaturated],
        ),
        (
            "two threads share what would be too much for one",
            |f| {
                f.threads = 2;
                f.generator_cpu_ns = 150_000_000;
                f.exchanges.send_lag_ns_p99 = 2_000_000;
            },
            &[SendLag],
        ),
        ("a drop", |f| f.exchanges.dropped = 1, &[Dropped]),
        ("few waits", |f| f.exchanges.waited = 10, &[]),
        (
            "more waits",
            |f| f.exchanges.waited = 11,
            &[ConnectionsBusy],
        ),
        (
            "waits caused by a late generator",
            |f| {
                f.exchanges.waited = 500;
                f.exchanges.send_lag_ns_p99 = 2_000_000;
            },
            &[SendLag],
        ),
        (
            "steal in a short window",
            |f| f.steal_ns = Some(10_000_000),
            &[],
        ),
        (
            "more steal than a tick",
            |f| f.steal_ns = Some(20_000_000),
            &[Steal],
        ),
        (
            "the same steal in a long run",
            |f| {
                f.duration_ns *= 100;
                f.lasted_ns *= 100;
                f.steal_ns = Some(20_000_000);
            },
            &[],
        ),
        ("steal unknown", |f| f.steal_ns = None, &[]),
        (
            "a wait for a core shows as lateness, if it matters",
            |f| f.exchanges.generator_run_queue_ns = Some(50_000_000),
            &[],
        ),
    ];
    check(LoadModel::Open, table);
}

#[test]
fn each_rule_of_a_closed_loop_has_two_sides() {
    use WarningCode::*;
    let table: &[(&str, Spoil, &[WarningCode])] = &[
        ("nothing", |_| {}, &[]),
        (
            "a busy generator and an idle subject",
            |f| f.generator_cpu_ns = 99_000_000,
            &[GeneratorSaturated],
        ),
        (
            "a busy generator and a busy subject: the subject is saturated",
            |f| {
                f.generator_cpu_ns = 99_000_000;
                f.subject = Some(SubjectCpu {
                    used_ns: 90_000_000,
                    cores: 1.0,
                });
            },
            &[],
        ),
        (
            "one of two cores is not the subject's bottleneck",
            |f| {
                f.generator_cpu_ns = 99_000_000;
                f.subject = Some(SubjectCpu {
                    used_ns: 100_000_000,
                    cores: 2.0,
                });
            },
            &[GeneratorSaturated],
        ),
        (
            "a busy generator and an unknown subject",
            |f| {
                f.generator_cpu_ns = 99_000_000;
                f.subject = None;
            },
            &[GeneratorSaturated],
        ),
        (
            "a generator with some time to spare",
            |f| {
                f.generator_cpu_ns = 97_000_000;
                f.subject = None;
            },
            &[],
        ),
        (
            "a generator that waits for a core",
            |f| f.exchanges.generator_run_queue_ns = Some(5_000_001),
            &[GeneratorStarved],
        ),
        (
            "a generator that waits for a core a little",
            |f| f.exchanges.generator_run_queue_ns = Some(5_000_000),
            &[],
        ),
        (
            "two threads that wait a little each",
            |f| {
                f.threads = 2;
                f.exchanges.generator_run_queue_ns = Some(10_000_000);
            },
            &[],
        ),
        (
            "a wait that is unknown",
            |f| f.exchanges.generator_run_queue_ns = None,
            &[],
        ),
        (
            "lag does not matter in a closed loop",
            |f| f.exchanges.send_lag_ns_p99 = 9_000_000,
            &[],
        ),
        (
            "there is no rate to reach",
            |f| f.lasted_ns = 900_000_000,
            &[],
        ),
    ];
    check(LoadModel::Closed, table);
}

#[test]
fn partial_and_total_failure_are_distinguished() {
    use WarningCode::*;
    let table: &[(&str, Spoil, &[WarningCode])] = &[
        (
            "nothing completed",
            |f| f.exchanges.completed = 0,
            &[NothingCompleted],
        ),
        (
            "all answers are errors",
            |f| f.exchanges.status = StatusClasses([0, 0, 0, 400, 600]),
            &[OnlyErrors],
        ),
        (
            "some answers are errors",
            |f| f.exchanges.status = StatusClasses([0, 998, 0, 1, 1]),
            &[Errors],
        ),
        (
            "one error in a thousand",
            |f| f.exchanges.status = StatusClasses([0, 999, 0, 0, 1]),
            &[],
        ),
        ("timeouts", |f| f.exchanges.errors.timeout = 2, &[Errors]),
    ];
    for model in [LoadModel::Open, LoadModel::Closed, LoadModel::Batch] {
        check(model, table);
    }
    let mut facts = sound(LoadModel::Closed);
    facts.exchanges.errors = ErrorCounts {
        closed: 7,
        ..ErrorCounts::default()
    };
    let found = &warnings(&facts)[0];
    let Warning::Errors {
        closed, timeouts, ..
    } = found
    else {
        panic!("{found:?}");
    };
    assert_eq!((*closed, *timeouts), (Some(7), None), "only what occurred");
}

#[test]
fn answers_long_after_the_schedule_are_an_overload() {
    // schedule, time until the last answer, overload or not
    let table = [
        (100, 105, false),
        (100, 119, false),
        (100, 130, true),
        (1000, 1150, false),
        (1000, 1250, true),
    ];
    for (schedule_ms, lasted_ms, overload) in table {
        for (model, expected) in [(LoadModel::Open, overload), (LoadModel::Closed, false)] {
            let facts = LoadFacts {
                duration_ns: schedule_ms * 1_000_000,
                lasted_ns: lasted_ms * 1_000_000,
                ..sound(model)
            };
            let found = codes(&facts).contains(&WarningCode::RateNotReached);
            assert_eq!(found, expected, "{model:?} {schedule_ms} {lasted_ms}");
        }
    }
}

#[test]
fn a_long_run_that_falls_behind_is_noticed_before_a_fifth() {
    let mut facts = sound(LoadModel::Open);
    (facts.duration_ns, facts.lasted_ns) = (10_000_000_000, 10_500_000_000);
    assert_eq!(codes(&facts), [], "slow answers alone do not fall behind");
    facts.exchanges.waited = 900;
    assert_eq!(codes(&facts), [WarningCode::RateNotReached]);
    facts.lasted_ns = 10_100_000_000;
    assert_eq!(
        codes(&facts),
        [WarningCode::ConnectionsBusy],
        "starts waited, but the rate was reached"
    );
}

#[test]
fn the_bottleneck_is_named() {
    type Row = (&'static str, Spoil, (Bottleneck, SubjectLoad));
    let table: &[Row] = &[
        (
            "a late generator",
            |f| f.exchanges.send_lag_ns_p99 = 5_000_000,
            (Bottleneck::Generator, SubjectLoad::Spare),
        ),
        (
            "a busy subject",
            |f| {
                f.exchanges.waited = 900;
                f.subject = Some(SubjectCpu {
                    used_ns: 99_000_000,
                    cores: 1.0,
                });
            },
            (Bottleneck::Subject, SubjectLoad::Busy),
        ),
        (
            "failed requests",
            |f| {
                f.exchanges.completed = 900;
                f.exchanges.errors.timeout = 100;
            },
            (Bottleneck::Errors, SubjectLoad::Spare),
        ),
        (
            "too few connections for a subject with CPU to spare",
            |f| f.exchanges.waited = 900,
            (Bottleneck::Connections, SubjectLoad::Spare),
        ),
        (
            "too few connections and an unknown subject",
            |f| {
                f.exchanges.waited = 900;
                f.subject = None;
            },
            (Bottleneck::Connections, SubjectLoad::Unknown),
        ),
        (
            "none of these",
            |_| {},
            (Bottleneck::AnswerTime, SubjectLoad::Spare),
        ),
    ];
    for (why, spoil, expected) in table {
        let mut facts = sound(LoadModel::Open);
        facts.lasted_ns = 200_000_000;
        spoil(&mut facts);
        let found = warnings(&facts);
        let named = found.iter().find_map(|warning| match warning {
            Warning::RateNotReached {
                bottleneck,
                subject,
                ..
            } => Some((*bottleneck, *subject)),
            _ => None,
        });
        assert_eq!(named, Some(*expected), "{why}: {found:?}");
        assert!(
            !codes(&facts).contains(&WarningCode::ConnectionsBusy),
            "{why}: reported once"
        );
    }
}

#[test]
fn lateness_is_explained_by_counters() {
    let table: &[(&str, Spoil, LagCause)] = &[
        (
            "more than a thread can do",
            |f| f.generator_cpu_ns = 99_000_000,
            LagCause::Busy,
        ),
        ("steal", |f| f.steal_ns = Some(3_000_000), LagCause::Steal),
        (
            "preemption",
            |f| f.exchanges.generator_run_queue_ns = Some(4_200_000),
            LagCause::RunQueue,
        ),
        (
            "too short a wait to explain it",
            |f| f.exchanges.generator_run_queue_ns = Some(100_000),
            LagCause::LateWakeup,
        ),
        (
            "no counters",
            |f| {
                f.exchanges.generator_run_queue_ns = None;
                f.steal_ns = None;
            },
            LagCause::LateWakeup,
        ),
    ];
    for (why, spoil, expected) in table {
        let mut facts = sound(LoadModel::Open);
        facts.exchanges.send_lag_ns_p99 = 2_000_000;
        facts.exchanges.send_lag_ns_max = 5_000_000;
        facts.exchanges.longest_stall_ns = 4_000_000;
        spoil(&mut facts);
        let found = &warnings(&facts)[0];
        let Warning::SendLag {
            cause,
            longest_stall_us,
            ..
        } = found
        else {
            panic!("{why}: {found:?}");
        };
        assert_eq!(
            (cause, *longest_stall_us),
            (expected, Some(4_000.0)),
            "{why}"
        );
    }
}

#[test]
fn facts_are_taken_from_the_report() {
    let mut recording = Recording::new();
    recording.note(0, 0, 1_000_000);
    let report = RunReport {
        started_ns: 1_000,
        ended_ns: 6_000,
        duration_ns: 4_000,
        ..RunReport::default()
    };
    let facts = LoadFacts::of(&report, &recording, LoadModel::Open, 3);
    assert_eq!((facts.lasted_ns, facts.overrun_ns()), (5_000, 1_000));
    assert_eq!((facts.connections, facts.steal_ns), (3, None));
    assert!(facts.response_time_ns_p99.unwrap().abs_diff(1_000_000) <= 1_000);
    assert!(facts.service_time_ns_p50.unwrap().abs_diff(1_000_000) <= 1_000);
    let nothing = LoadFacts::of(&report, &Recording::new(), LoadModel::Open, 3);
    assert_eq!(nothing.response_time_ns_p99, None);
}
