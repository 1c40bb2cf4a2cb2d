//! Results of recorded runs, with one thing changed at a time.

mod load;

use super::*;
use crate::fixture::{self, Recorded};
use windage_model::{
    Activity, Backend, LoadModel, Order, Reason, Soundness, Verdict, Warning, WarningCode, fixtures,
};
use windage_record::{DeliveredInWindow, ExportDelay};

fn analysed(recorded: &Recorded) -> Analysis {
    analyse(&recorded.gathered(), std::iter::empty(), std::iter::empty())
}

#[test]
fn overhead_is_found_under_drift_and_includes_deferred_cost() {
    let analysis = analysed(&fixture::records(14));
    let otel = &analysis.arms[2];
    let cpu = &otel.metrics[&Metric::CpuPerRequest];
    let relative = cpu.difference.as_ref().unwrap().relative.as_ref().unwrap();
    // A fifth in the windows; 2.2 ms for 1100 requests, spread over hidden settle times, is
    // slightly more than 2 µs on top of the 60 µs.
    let truth = 1.2 * (1.0 + 2.0 / 60.0) - 1.0;
    assert!((relative.estimate - truth).abs() < 0.01, "{relative:?}");
    assert_eq!(cpu.verdict, Some(Verdict::Costs));
    assert_eq!(cpu.exceeds_zero(), Some(true));
    let in_window = &otel.metrics[&Metric::CpuInWindow];
    let relative = in_window
        .difference
        .as_ref()
        .unwrap()
        .relative
        .as_ref()
        .unwrap();
    assert!((relative.estimate - 0.2).abs() < 0.003, "{relative:?}");
    assert_eq!(
        analysis.validity.soundness(),
        Soundness::Valid,
        "{:?}",
        analysis.validity
    );
}

#[test]
fn the_control_is_negligible_and_the_baseline_has_no_difference() {
    let analysis = analysed(&fixture::records(14));
    let control = &analysis.control().unwrap().metrics[&Metric::CpuPerRequest];
    assert_eq!(control.verdict, Some(Verdict::Negligible));
    let baseline = &analysis.baseline().unwrap().metrics[&Metric::CpuPerRequest];
    assert_eq!(
        baseline.difference.as_ref().unwrap_err().code(),
        crate::MissingCode::Baseline
    );
}

#[test]
fn context_switches_and_page_faults_are_per_request() {
    let mut records = fixture::records(3);
    for (number, window) in records.windows.iter_mut().enumerate() {
        let (page_faults, context_switches) = match window.place.arm.get() {
            2 => (30, 2_600),
            _ => (0, 2_000),
        };
        let activity = Activity {
            page_faults,
            context_switches,
        };
        window.activity = (number % 5 > 0).then_some(activity);
    }
    let found = |records: &Recorded| {
        let analysis = analysed(records);
        [
            Metric::ContextSwitchesPerRequest,
            Metric::PageFaultsPerRequest,
        ]
        .map(|metric| analysis.arms[2].metrics.get(&metric).cloned())
    };
    // Each window has 1000 requests.
    let table = [(2.0, 2.6, 0.6), (0.0, 0.03, 0.03)];
    for (metric, (baseline, arm, difference)) in found(&records).into_iter().zip(table) {
        let metric = metric.unwrap();
        assert_eq!((metric.baseline, metric.arm), (Some(baseline), Some(arm)));
        let found = metric.difference.unwrap();
        assert!((found.absolute.estimate - difference).abs() < 1e-12);
        assert!(found.relative.is_none());
    }
    for window in &mut records.windows {
        window.activity = None;
    }
    assert_eq!(found(&records), [None, None], "unreadable");
}

#[test]
fn sequential_order_is_a_warning() {
    let mut records = fixture::records(1);
    records.manifest.design.order = Order::Sequential;
    let codes: Vec<WarningCode> = analysed(&records)
        .validity
        .reasons
        .iter()
        .map(Reason::code)
        .collect();
    assert_eq!(
        codes,
        [WarningCode::SingleRound, WarningCode::SequentialOrder]
    );
}

#[test]
fn a_clock_that_was_set_is_a_warning_where_spans_are_timed() {
    for (delay, expected) in [(Some(ExportDelay::default()), true), (None, false)] {
        let mut records = fixture::records(3);
        // One of many windows.
        let step = Warning::ClockStepped { step_s: -2.0 };
        records.windows[7].warnings.push(step.clone());
        records.delivered.iter_mut().for_each(|of| of.delay = delay);
        let reasons = analysed(&records).validity.reasons;
        let is_told = reasons.iter().any(|reason| reason.warning == step);
        assert_eq!(is_told, expected, "{delay:?}");
    }
}

#[test]
fn lost_telemetry_is_a_warning() {
    let mut records = fixture::records(3);
    records.delivered[1].root_spans -= 5_000;
    let analysis = analysed(&records);
    assert!(analysis.validity.has(WarningCode::TelemetryLost));
    assert_eq!(
        analysis.arms[2].fidelity.as_ref().unwrap().lost,
        Some(5_000.0)
    );
}

#[test]
fn loss_with_a_faulty_backend_is_no_warning() {
    let mut records = fixture::records(3);
    records.manifest.arms[2].backend = Backend::Stall { lasts: None };
    records.delivered[1].root_spans -= 5_000;
    let analysis = analysed(&records);
    assert_eq!(analysis.validity.soundness(), Soundness::Valid);
    let fidelity = analysis.arms[2].fidelity.as_ref().unwrap();
    assert_eq!(
        (fidelity.lost, fidelity.beyond_sampling),
        (Some(5_000.0), Some(true))
    );
}

#[test]
fn telemetry_of_windows_is_compared_with_their_requests() {
    let mut records = fixture::records(3);
    for delivered in &mut records.delivered {
        let blocks = delivered.launch * 10..(delivered.launch + 1) * 10;
        let windows = blocks.flat_map(|block| [2, 3].map(|position| (block, position)));
        delivered.in_windows = windows
            .map(|(block, position)| DeliveredInWindow {
                block,
                position,
                spans: 990,
                root_spans: 990,
            })
            .collect();
    }
    let analysis = analysed(&records);
    let found = analysis.arms[2]
        .fidelity
        .as_ref()
        .unwrap()
        .in_windows
        .unwrap();
    // Twenty windows of a thousand requests in each of three rounds.
    assert_eq!(
        (found.expected, found.delivered, found.lost),
        (Some(60_000.0), 59_400, Some(600.0))
    );
}

#[test]
fn little_or_no_data_gives_a_defined_answer() {
    let nothing = Recorded {
        windows: vec![],
        launches: vec![],
        ends: vec![],
        delivered: vec![],
        ..fixture::records(1)
    };
    assert_eq!(analysed(&nothing).validity.soundness(), Soundness::Void);
    let one = Recorded {
        windows: fixture::records(1).windows[..1].to_vec(),
        ..nothing.clone()
    };
    let analysis = analysed(&one);
    assert!(
        analysis.arms[2].metrics[&Metric::CpuPerRequest]
            .difference
            .is_err()
    );
    let mut idle = fixture::records(3);
    for window in &mut idle.windows {
        window.exchanges.completed = 0;
        window.cpu.in_window_ns = None;
    }
    let analysis = analysed(&idle);
    let missing = analysis.arms[2].metrics.get(&Metric::CpuInWindow);
    assert!(missing.is_none_or(|m| m.difference.is_err()));
}

#[test]
fn a_control_that_differs_makes_the_run_suspect() {
    let mut records = fixture::records(4);
    for window in records
        .windows
        .iter_mut()
        .filter(|w| w.place.arm == ArmIndex::CONTROL)
    {
        window.cpu.in_window_ns = window.cpu.in_window_ns.map(|ns| ns + ns / 50);
    }
    let analysis = analysed(&records);
    assert!(analysis.validity.has(WarningCode::ControlDiffers));
}

#[test]
fn last_words_are_reported_once() {
    let died = fixtures::warning(WarningCode::ArmDied);
    let table = [
        (
            "service `app` of arm `otel` exited with status 1; its last lines (log):\n  farewell",
            "service `app` of arm `otel` exited with status 1",
            "the arm's warning has the last words",
        ),
        ("the disk is full", "the disk is full", "no service died"),
    ];
    for (account, expected, why) in table {
        let mut records = fixture::records(3).gathered();
        records.warnings.push(died.clone());
        records.ending = Some(windage_record::Ending::Died {
            text: account.to_owned(),
        });
        let reasons = crate::validity::of_run(&records, None).reasons;
        let found = reasons.iter().find_map(|reason| match &reason.warning {
            Warning::RunIncomplete { reason, .. } => reason.as_deref(),
            _ => None,
        });
        assert_eq!(found, Some(expected), "{why}");
    }
}

#[test]
fn logs_cut_in_several_launches_are_one_warning_for_each_service() {
    let cut = |service: &str, arms: &[&str], left_out_bytes| Warning::LogCut {
        service: service.to_owned(),
        arms: arms.iter().map(|&arm| arm.to_owned()).collect(),
        left_out_bytes,
        limit_bytes: 100,
    };
    let mut records = fixture::records(3).gathered();
    records.warnings.extend([
        cut("app", &["off", "otel"], 10),
        cut("db", &[], 5),
        cut("app", &["otel", "ebpf"], 20),
    ]);
    let reasons = crate::validity::of_run(&records, None).reasons;
    let found = reasons.into_iter().map(|reason| reason.warning);
    let found: Vec<Warning> = found
        .filter(|of| of.code() == WarningCode::LogCut)
        .collect();
    let expected = [cut("app", &["off", "otel", "ebpf"], 30), cut("db", &[], 5)];
    assert_eq!(found, expected);
}

#[test]
fn json_has_only_finite_figures() {
    let json = fixture::to_json(&analysed(&fixture::records(14)));
    assert_eq!(json["schema"], 1);
    let otel = &json["arms"][2];
    assert_eq!(otel["metrics"]["cpu_per_request"]["verdict"], "costs");
    assert_eq!(otel["metrics"]["cpu_per_request"]["exceeds_zero"], true);
    assert_eq!(
        json["arms"][0]["metrics"]["cpu_per_request"]["missing"]["code"],
        "baseline"
    );
    assert_eq!(
        otel["metrics"]["cpu_deferred"]["missing"]["code"],
        "baseline_zero"
    );
    assert!(otel["metrics"]["cpu_per_span"]["difference"]["estimate"].is_number());
    assert_eq!(otel["fidelity"]["lost"], 0.0);
    assert_eq!(otel["versions"]["app"], "app 1.2.3");
}

#[test]
fn each_load_is_analysed_from_its_own_launches() {
    let whole = fixture::records(4);
    let mut under_two_loads = whole.clone();
    let half = windage_record::LoadScope {
        regime: Some("half".to_owned()),
        model: LoadModel::Open,
        rate_per_s: Some(2000.0),
        ..whole.manifest.load.clone()
    };
    under_two_loads.manifest.other_loads.push(half);
    let by_load = under_two_loads.gathered_by_load();
    assert_eq!(by_load.len(), 2);
    for (load, records) in by_load.iter().enumerate() {
        // As if only every second launch had been recorded, under this load alone.
        let is_own = |launch: u32| launch as usize % 2 == load;
        let mut alone = whole.clone();
        alone.manifest = under_two_loads.manifest.under_load(load);
        alone.launches.retain(|launch| is_own(launch.launch));
        alone.windows.retain(|window| is_own(window.place.launch));
        alone.ends.retain(|end| is_own(end.launch));
        alone.delivered.retain(|delivered| is_own(delivered.launch));
        assert_eq!(records, &alone.gathered(), "load {load}");
        assert_eq!(records.manifest.design.rounds, 2);
        let analysis = analyse(records, std::iter::empty(), std::iter::empty());
        let name = [None, Some("half".to_owned())][load].clone();
        assert_eq!((analysis.regime, analysis.design.rounds), (name, 2));
    }
}
