//! Reported load figures, and warnings about times alone.

use windage_model::Bottleneck;

use super::*;

#[test]
fn a_late_generator_affects_times_only() {
    let mut records = fixture::records(3);
    for window in &mut records.windows {
        window
            .warnings
            .push(fixtures::warning(WarningCode::SendLag));
    }
    let times = |arm: u16| Timed {
        launch: 0,
        block: 0,
        arm: ArmIndex(arm),
        times: {
            let mut times = hdrhistogram::Histogram::<u64>::new_with_max(1_000_000, 3).unwrap();
            times.record_n(1000, 100).unwrap();
            (&times).into()
        },
    };
    let analysis = analyse(
        &records.gathered(),
        [times(0), times(2)].into_iter(),
        std::iter::empty(),
    );
    let otel = &analysis.arms[2].metrics;
    let codes = |metric| -> Vec<WarningCode> {
        otel[&metric]
            .validity
            .reasons
            .iter()
            .map(Reason::code)
            .collect()
    };
    assert_eq!(codes(Metric::ResponseTimeP50), [WarningCode::SendLag]);
    assert_eq!(codes(Metric::CpuPerRequest), []);
    assert_eq!(analysis.validity.soundness(), Soundness::Valid);
}

#[test]
fn a_starved_generator_takes_throughput_and_times_with_it() {
    let of = |starved_of_three: usize| {
        let mut records = fixture::records(14);
        let otel = records.windows.iter_mut();
        let otel = otel.filter(|window| window.place.arm == ArmIndex(2));
        for (at, window) in otel.enumerate() {
            let starved = fixtures::warning(WarningCode::GeneratorStarved);
            window
                .warnings
                .extend((at % 3 < starved_of_three).then_some(starved));
        }
        analysed(&records)
    };
    for (starved_of_three, is_known) in [(1, true), (2, false)] {
        let analysis = of(starved_of_three);
        let otel = &analysis.arms[2].metrics;
        let throughput = &otel[&Metric::Throughput];
        assert!(throughput.validity.has(WarningCode::GeneratorStarved));
        assert_eq!(
            throughput.difference.is_ok(),
            is_known,
            "{starved_of_three}"
        );
        assert_eq!(throughput.arm.is_some(), is_known, "{starved_of_three}");
        let cpu = &otel[&Metric::CpuPerRequest];
        assert!(cpu.difference.is_ok() && cpu.validity.reasons.is_empty());
        let of_control = &analysis.arms[1].metrics[&Metric::Throughput];
        assert_eq!(of_control.validity.reasons, [], "it was not starved");
        let of_run = analysis.validity.has(WarningCode::GeneratorStarved);
        assert_eq!(of_run, !is_known, "the run lacks figures");
    }
}

#[test]
fn a_busy_subject_has_a_throughput_whatever_its_generator_waits_for() {
    let of = |busy_share_of_baseline: u64| {
        let mut records = fixture::records(14);
        let cores = u64::from(records.manifest.design.subject_cores);
        for window in &mut records.windows {
            let share = match window.place.arm {
                ArmIndex::BASELINE => busy_share_of_baseline,
                _ => 99,
            };
            window.cpu.in_window_ns = Some(window.duration_ns * cores * share / 100);
            let starved = fixtures::warning(WarningCode::GeneratorStarved);
            window.warnings.push(starved);
        }
        analysed(&records)
    };
    for (busy_share_of_baseline, is_known) in [(95, true), (60, false)] {
        let otel = &of(busy_share_of_baseline).arms[2].metrics;
        let throughput = &otel[&Metric::Throughput];
        assert_eq!(throughput.difference.is_ok(), is_known);
        assert!(throughput.validity.has(WarningCode::GeneratorStarved));
        let times = &otel[&Metric::ResponseTimeP50];
        assert!(times.difference.is_err(), "the wait is in them");
    }
}

#[test]
fn busy_connections_affect_service_times_only() {
    let mut records = fixture::records(3);
    for window in &mut records.windows {
        window
            .warnings
            .push(fixtures::warning(WarningCode::ConnectionsBusy));
    }
    let times = || {
        [0, 2].into_iter().map(|arm| Timed {
            launch: 0,
            block: 0,
            arm: ArmIndex(arm),
            times: {
                let mut times = hdrhistogram::Histogram::<u64>::new_with_max(1_000_000, 3).unwrap();
                times.record_n(1000, 100).unwrap();
                (&times).into()
            },
        })
    };
    let analysis = analyse(&records.gathered(), times(), times());
    let otel = &analysis.arms[2].metrics;
    let is_warned = |metric| {
        let reasons = &otel[&metric].validity.reasons;
        reasons
            .iter()
            .any(|d| d.code() == WarningCode::ConnectionsBusy)
    };
    assert!(is_warned(Metric::ServiceTimeP50));
    assert!(!is_warned(Metric::ResponseTimeP50));
    assert_eq!(analysis.validity.soundness(), Soundness::Valid);
}

#[test]
fn the_load_and_the_slowest_exchanges_are_reported() {
    let mut records = fixture::records(3);
    records.windows[1].exchanges.errors.timeout = 3;
    records.windows[1].exchanges.grown = 2;
    records.windows[1].outliers = vec![windage_model::Outlier {
        intended_ns: 1_000_000_000,
        sent_ns: 1_000_500_000,
        completed_ns: 1_009_000_000,
    }];
    let json = fixture::to_json(&analysed(&records));
    let load = &json["arms"][1]["load"];
    assert_eq!(load["errors"]["timeout"], 3);
    assert_eq!(load["connections_opened"], 2);
    assert_eq!(load["intended_per_s"], serde_json::Value::Null);
    assert_eq!(load["status"]["2xx"], load["completed"]);
    let slow = &json["outliers"][0];
    assert_eq!(
        (&slow["arm"], &slow["at_s"], &slow["response_time_us"]),
        (&"control".into(), &1.0.into(), &9000.0.into())
    );
    assert_eq!(slow["waited_us"], 500.0);
    assert_eq!(slow["coincided"]["stall_us"], serde_json::Value::Null);
}

#[test]
fn the_mean_response_time_is_over_all_answers() {
    let timed = |block, arm, ns, count| {
        let mut times = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1_000_000_000, 3);
        let times = times.as_mut().unwrap();
        times.record_n(ns, count).unwrap();
        Timed {
            launch: 0,
            block,
            arm: ArmIndex(arm),
            times: (&*times).into(),
        }
    };
    // One answer of 1 ms and three of 2 ms.
    let times = [timed(0, 2, 1_000_000, 1), timed(1, 2, 2_000_000, 3)];
    let records = fixture::records(1).gathered();
    let analysis = analyse(&records, times.into_iter(), std::iter::empty());
    let mean_us = |arm: usize| {
        analysis.arms[arm]
            .load
            .as_ref()
            .unwrap()
            .mean_response_time_us
    };
    assert!((mean_us(2).unwrap() - 1750.0).abs() < 1.0);
    assert_eq!(mean_us(0), None);
    let json = fixture::to_json(&analysis);
    assert!(json["arms"][2]["load"]["mean_response_time_us"].is_number());
    let none = &json["arms"][0]["load"]["mean_response_time_us"];
    assert_eq!(*none, serde_json::Value::Null);
    assert_eq!(json["curves"], serde_json::json!([]));
}

#[test]
fn a_throughput_that_the_schedule_fixed_is_not_reported() {
    let mut records = fixture::records(3);
    let is_reported = |records: &Recorded| {
        let analysis = analysed(records);
        analysis.arms[2].metrics.contains_key(&Metric::Throughput)
    };
    assert!(is_reported(&records), "of a closed loop");
    records.manifest.load.model = windage_model::LoadModel::Open;
    assert!(!is_reported(&records), "it is the rate");
    let of_otel = records.windows.iter_mut();
    let of_otel = of_otel.filter(|window| window.place.arm == ArmIndex(2));
    of_otel.for_each(|window| window.exchanges.completed -= 30);
    assert!(is_reported(&records), "some starts were never completed");
}

#[test]
fn rate_not_reached_names_the_most_frequent_bottleneck() {
    let mut records = fixture::records(3);
    records.manifest.load.model = windage_model::LoadModel::Open;
    let found = |records: &Recorded| {
        let reasons = analysed(records).validity.reasons;
        reasons.into_iter().find_map(|reason| match reason.warning {
            Warning::StartsNotCompleted {
                intended,
                completed,
                bottleneck,
            } => Some((completed as f64 / intended as f64, bottleneck)),
            _ => None,
        })
    };
    assert_eq!(found(&records), None, "all were completed");
    for window in &mut records.windows {
        window.exchanges.completed = 900;
    }
    assert_eq!(found(&records), Some((0.9, None)));
    let named = [
        Bottleneck::Subject,
        Bottleneck::Generator,
        Bottleneck::Subject,
    ];
    for (window, of_window) in records.windows.iter_mut().zip(named) {
        let mut warning = fixtures::warning(WarningCode::RateNotReached);
        if let Warning::RateNotReached { bottleneck, .. } = &mut warning {
            *bottleneck = of_window;
        }
        window.warnings.push(warning);
    }
    assert_eq!(found(&records), Some((0.9, Some(Bottleneck::Subject))));
}
