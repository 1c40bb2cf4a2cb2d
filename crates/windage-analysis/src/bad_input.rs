//! Whatever was recorded, an analysis gives a defined answer or a typed reason: it neither panics
//! nor shows a figure that is not a number.

mod damaged;
mod in_turns;

use hdrhistogram::Histogram;
use serde_json::Value;
use windage_model::{
    ArmIndex, DriftOver, Evidence, Expected, LoadModel, Metric, Order, Soundness, Warning,
    WarningCode, fixtures,
};
use windage_record::{
    Delivered, DeliveredByProtocol, DeliveredInWindow, DeliveredSource, Drops, ExportDelay,
    TraceSample,
};

use crate::fixture::{self, Recorded};
use crate::{Analysis, MissingCode, Timed, analyse};

const TREATMENT: ArmIndex = ArmIndex(2);

/// Analyses with a histogram per window: one time of a millisecond per completed request.
fn analysed(recorded: &Recorded) -> Analysis {
    let times = || {
        let windows = recorded.windows.iter();
        let windows = windows.filter(|w| w.soundness() != Soundness::Void);
        let times = windows.map(|window| {
            let mut times = Histogram::<u64>::new_with_bounds(1, 2_000_000, 3).unwrap();
            times
                .record_n(1_000_000, window.exchanges.completed)
                .unwrap();
            Timed {
                launch: window.place.launch,
                block: window.place.block,
                arm: window.place.arm,
                times: (&times).into(),
            }
        });
        times.collect::<Vec<_>>().into_iter()
    };
    analyse(&recorded.gathered(), times(), times())
}

/// A run with something wrong in it.
struct Case {
    what: &'static str,
    spoil: fn(&mut Recorded),
    /// The expected result for the treatment's CPU: a difference, or why there is none.
    cpu: Result<(), MissingCode>,
    /// A warning about the run that must be present.
    warning: Option<WarningCode>,
}

const CASES: &[Case] = &[
    Case {
        what: "an empty run",
        spoil: |run| {
            run.windows.clear();
            run.launches.clear();
            run.ends.clear();
            run.delivered.clear();
        },
        cpu: Err(MissingCode::NotMeasured),
        warning: Some(WarningCode::NoWindows),
    },
    Case {
        what: "one window of the baseline",
        spoil: |run| run.windows.truncate(1),
        cpu: Err(MissingCode::NotMeasured),
        warning: Some(WarningCode::ArmVoid),
    },
    Case {
        what: "one window of each",
        spoil: |run| run.windows.truncate(3),
        cpu: Err(MissingCode::TooFew),
        warning: Some(WarningCode::SingleRound),
    },
    Case {
        // Its two halves give an interval with one degree of freedom: the t quantile is 12.7.
        what: "one block",
        spoil: |run| run.windows.truncate(6),
        cpu: Ok(()),
        warning: Some(WarningCode::SingleRound),
    },
    Case {
        what: "one round",
        spoil: |run| run.windows.truncate(60),
        cpu: Ok(()),
        warning: Some(WarningCode::SingleRound),
    },
    Case {
        what: "a window without a request",
        spoil: |run| run.windows[2].exchanges = Default::default(),
        cpu: Ok(()),
        warning: None,
    },
    Case {
        what: "no request in any window",
        spoil: |run| {
            for window in &mut run.windows {
                window.exchanges = Default::default();
            }
        },
        cpu: Err(MissingCode::NotMeasured),
        warning: None,
    },
    Case {
        what: "windows of no length",
        spoil: |run| {
            for window in &mut run.windows {
                (window.duration_ns, window.stretch_ns) = (0, 0);
            }
        },
        cpu: Ok(()),
        warning: None,
    },
    Case {
        what: "all windows equal",
        spoil: |run| {
            let first = run.windows[0].clone();
            for window in &mut run.windows {
                let place = window.place;
                *window = first.clone();
                window.place = place;
                window.cpu.others_before.clear();
            }
        },
        cpu: Ok(()),
        warning: None,
    },
    Case {
        what: "counters that could not be read",
        spoil: |run| {
            for window in &mut run.windows {
                window.cpu.in_window_ns = None;
                window.machine.busy_ns = None;
                window.rss_bytes = None;
            }
        },
        cpu: Err(MissingCode::NotMeasured),
        warning: None,
    },
    Case {
        what: "counters that did not move",
        spoil: |run| {
            for window in &mut run.windows {
                window.cpu.in_window_ns = Some(0);
                window.machine.busy_ns = Some(0);
                window.rss_bytes = Some(0);
            }
        },
        cpu: Err(MissingCode::NotMeasured),
        warning: None,
    },
    Case {
        what: "counters that jumped",
        spoil: |run| {
            for window in &mut run.windows[20..30] {
                window.cpu.in_window_ns = Some(u64::MAX / 1_000_000);
                window.machine.busy_ns = Some(u64::MAX / 1_000_000);
                window.machine.steal_ns = u64::MAX / 1_000_000;
            }
        },
        cpu: Ok(()),
        warning: None,
    },
    Case {
        what: "a treatment that is void throughout",
        spoil: |run| {
            for window in &mut run.windows {
                if window.place.arm == TREATMENT {
                    let died = fixtures::warning(WarningCode::ServiceDied);
                    window.warnings.push(died);
                }
            }
        },
        cpu: Err(MissingCode::NotMeasured),
        warning: Some(WarningCode::ArmVoid),
    },
    Case {
        what: "a second treatment of which nothing was measured",
        spoil: |run| {
            let mut second = run.manifest.arms[2].clone();
            second.index = ArmIndex(3);
            run.manifest.arms.push(second);
        },
        cpu: Ok(()),
        warning: Some(WarningCode::ArmMissing),
    },
    Case {
        what: "a baseline that is void throughout",
        spoil: |run| {
            for window in &mut run.windows {
                if window.place.arm == ArmIndex::BASELINE {
                    let died = fixtures::warning(WarningCode::ServiceDied);
                    window.warnings.push(died);
                }
            }
        },
        cpu: Err(MissingCode::TooFew),
        warning: Some(WarningCode::ArmVoid),
    },
    Case {
        what: "everything void",
        spoil: |run| {
            for window in &mut run.windows {
                let died = fixtures::warning(WarningCode::ServiceDied);
                window.warnings.push(died);
            }
        },
        cpu: Err(MissingCode::NotMeasured),
        warning: Some(WarningCode::NoWindows),
    },
    Case {
        what: "an arm that the manifest does not know",
        spoil: |run| {
            for window in &mut run.windows[..9] {
                window.place.arm = ArmIndex(700);
            }
        },
        cpu: Ok(()),
        warning: None,
    },
    Case {
        what: "deliveries of extreme size",
        spoil: |run| {
            let most = u64::MAX;
            let sample = TraceSample {
                one_in: most,
                traces: most,
                complete: most,
                spans: most,
                duplicates: most,
            };
            for delivered in &mut run.delivered {
                let block = delivered.launch * 10;
                *delivered = Delivered {
                    spans: most,
                    root_spans: most,
                    refused_spans: most,
                    wire_bytes: most,
                    rejected: most,
                    malformed: most,
                    in_windows: vec![of_window(block, most), of_window(u32::MAX, most)],
                    by_protocol: vec![DeliveredByProtocol {
                        spans: most,
                        ..DeliveredByProtocol::default()
                    }],
                    sources: vec![DeliveredSource {
                        spans: most,
                        metric_points: most,
                        log_records: most,
                        ..DeliveredSource::default()
                    }],
                    delay: Some(ExportDelay {
                        spans: most,
                        p50_ns: most,
                        p90_ns: 0,
                        p99_ns: most,
                        max_ns: most,
                    }),
                    traces: Some(sample),
                    drops: vec![Drops {
                        reason: String::new(),
                        lost: most,
                    }],
                    completed_requests: most,
                    ..delivered.clone()
                };
            }
        },
        cpu: Ok(()),
        warning: None,
    },
    Case {
        what: "deliveries without requests or an expectation",
        spoil: |run| {
            run.manifest.arms[2].expected = Some(Expected {
                traces_per_request: Some(0.0),
                spans_per_request: Some(0.0),
                ..Expected::default()
            });
            for delivered in &mut run.delivered {
                delivered.completed_requests = 0;
                delivered.traces = Some(TraceSample::default());
                delivered.in_windows = vec![of_window(0, 0)];
            }
        },
        cpu: Ok(()),
        warning: None,
    },
    Case {
        what: "everything lost",
        spoil: |run| {
            for delivered in &mut run.delivered {
                *delivered = Delivered {
                    launch: delivered.launch,
                    arm: delivered.arm,
                    completed_requests: 22_000,
                    refused_spans: 22_000,
                    ..Delivered::default()
                };
            }
        },
        cpu: Ok(()),
        warning: Some(WarningCode::TelemetryLost),
    },
    Case {
        what: "a delivery of an arm that the manifest does not know",
        spoil: |run| run.delivered[0].arm = ArmIndex(700),
        cpu: Ok(()),
        warning: None,
    },
    Case {
        what: "evidence that is not a number",
        spoil: |run| {
            for window in &mut run.windows {
                window.warnings.push(Warning::Trend {
                    change: f64::NAN,
                    over: DriftOver::Run,
                });
            }
        },
        cpu: Ok(()),
        warning: Some(WarningCode::Trend),
    },
];

fn of_window(block: u32, spans: u64) -> DeliveredInWindow {
    DeliveredInWindow {
        block,
        position: 2,
        spans,
        root_spans: spans,
    }
}

#[test]
fn any_record_has_a_defined_answer() {
    for case in CASES {
        for model in [LoadModel::Closed, LoadModel::Open, LoadModel::Batch] {
            let mut run = fixture::records(3);
            run.manifest.load.model = model;
            (case.spoil)(&mut run);
            let analysis = analysed(&run);
            let what = format!("{}, {model:?}", case.what);
            assert_eq!(cpu(&analysis, model), case.cpu, "{what}");
            if let Some(code) = case.warning {
                let mut reasons = analysis.validity.reasons.iter();
                assert!(reasons.any(|warning| warning.code() == code), "{what}");
            }
            assert_whole(&analysis, &what);
        }
    }
}

#[test]
fn sequential_order_has_a_defined_answer_too() {
    for case in CASES {
        let mut run = fixture::records(3);
        run.manifest.design.order = Order::Sequential;
        (case.spoil)(&mut run);
        assert_whole(&analysed(&run), case.what);
    }
}

/// The treatment's difference, or the code of why there is none.
fn cpu(analysis: &Analysis, model: LoadModel) -> Result<(), MissingCode> {
    let metric = match model {
        LoadModel::Batch => Metric::CpuPerIteration,
        LoadModel::Open | LoadModel::Closed => Metric::CpuPerRequest,
    };
    // A metric that neither side has is omitted.
    let found = analysis.arms[TREATMENT.get()].metrics.get(&metric);
    let difference = &found.ok_or(MissingCode::NotMeasured)?.difference;
    let missing = |missing: &crate::Missing| missing.code();
    difference.as_ref().map(|_| ()).map_err(missing)
}

/// Checks that every interval has numeric ends around its estimate, in every form that is shown.
fn assert_whole(analysis: &Analysis, what: &str) {
    for arm in &analysis.arms {
        for (metric, of) in &arm.metrics {
            let figures = [of.baseline, of.arm];
            assert!(
                figures.iter().flatten().all(|figure| figure.is_finite()),
                "{what}: {metric:?} {figures:?}"
            );
            let Ok(difference) = &of.difference else {
                continue;
            };
            for interval in [Some(&difference.absolute), difference.relative.as_ref()] {
                let Some(interval) = interval else { continue };
                assert!(
                    interval.low <= interval.estimate && interval.estimate <= interval.high,
                    "{what}: {} {metric:?} {interval:?}",
                    arm.name
                );
            }
        }
    }
    for warning in &analysis.validity.reasons {
        // Of windows, it is what was recorded.
        let is_figure = |of: &Evidence| !matches!(of, Evidence::Number(n) if !n.is_finite());
        let is_whole = warning.windows.is_some() || warning.evidence().values().all(is_figure);
        assert!(is_whole, "{what}: {warning:?}");
    }
    let json = fixture::to_json(analysis);
    let arms = json["arms"].as_array().unwrap();
    assert_eq!(arms.len(), analysis.arms.len(), "{what}");
    for metric in arms.iter().flat_map(|arm| arm["metrics"].as_object()) {
        for (name, of) in metric {
            let interval = &of["difference"];
            let shown = ["estimate", "low", "high"].map(|part| &interval[part]);
            assert!(
                interval.is_null() || !shown.contains(&&Value::Null),
                "{what}: {name} {of}"
            );
        }
    }
}
