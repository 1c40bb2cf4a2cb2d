use windage_model::{Metric, Verdict, Warning, WarningCode};

use crate::fixture::Recorded;
use crate::fixture::in_turns::{IDLE_CORES, RATE_PER_S, records_with_turns};
use crate::{Analysis, MetricAnalysis, analyse};

const TREATMENT: usize = 2;
/// A scraper in the treatment: 12 ms of CPU each second.
const SCRAPE_NS: f64 = 12e6;
const SCRAPE_CORES: f64 = 0.012;

fn analysed(run: &Recorded) -> Analysis {
    analyse(&run.gathered(), std::iter::empty(), std::iter::empty())
}

fn codes(of: &MetricAnalysis) -> Vec<WarningCode> {
    of.validity.reasons.iter().map(|of| of.code()).collect()
}

/// Fourteen launches with a scrape each second, outside windows and in turns, and `met` of them in
/// each launch's idle stretch of 100 ms.
fn with_scrapes(met: impl Fn(u32) -> f64) -> Recorded {
    let mut run = records_with_turns(14, 4);
    for block in &mut run.turns {
        let lasted_s = block.lasted_ns as f64 / 1e9;
        let of = &mut block.arms[TREATMENT];
        *of.cpu_ns.as_mut().unwrap() += (SCRAPE_NS * lasted_s) as u64;
    }
    for end in &mut run.ends {
        let of = &mut end.arms[TREATMENT];
        let drain_s = of.turns_drain_ns as f64 / 1e9;
        *of.after_turns_ns.as_mut().unwrap() += (SCRAPE_NS * drain_s) as u64;
        *of.idle_cpu_ns.as_mut().unwrap() += (SCRAPE_NS * met(end.launch)) as u64;
    }
    run
}

/// An idle stretch of a tenth of a period meets a scrape in one of ten launches, and never a tenth
/// of one.
#[test]
fn a_timer_that_idle_stretches_seldom_meet_is_a_warning_and_widens_the_interval() {
    let steady = analysed(&with_scrapes(|_| 0.1));
    let met_twice = analysed(&with_scrapes(|launch| f64::from(launch % 7 == 3)));
    let of = |analysis: &Analysis| analysis.arms[TREATMENT].metrics[&Metric::CpuPerRequest].clone();
    let difference_us = |of: &MetricAnalysis| of.difference.as_ref().unwrap().absolute;
    let (steady, lumpy) = (of(&steady), of(&met_twice));
    // 20 µs of requests and 4 of idle CPU that the arm has anyway, and the scrapes.
    let truth_us = 24.0 + SCRAPE_CORES * 1e6 / RATE_PER_S;
    for found in [&steady, &lumpy].map(difference_us) {
        assert!((found.low..found.high).contains(&truth_us), "{found:?}");
    }
    assert_eq!(steady.verdict, Some(Verdict::Costs));
    assert!(!codes(&steady).contains(&WarningCode::IdleUncertain));
    assert_eq!(lumpy.verdict, Some(Verdict::Inconclusive));
    let mut warnings = lumpy.validity.reasons.iter().map(|of| &of.warning);
    let Some(&Warning::IdleUncertain {
        idle_s,
        idle_cores_low,
        idle_cores_high,
        half_width,
    }) = warnings.find(|of| of.code() == WarningCode::IdleUncertain)
    else {
        panic!("{:?}", lumpy.validity)
    };
    let met_cores = IDLE_CORES[TREATMENT] + SCRAPE_NS / 1e8;
    for (found, expected) in [
        (idle_s, 1.4),
        (idle_cores_low, IDLE_CORES[TREATMENT]),
        (idle_cores_high, met_cores),
    ] {
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
    let found = difference_us(&lumpy);
    let share = half_width * lumpy.arm.unwrap() / ((found.high - found.low) / 2.0);
    assert!((0.7..=1.0).contains(&share), "{share} of the interval");
}

/// Turns and idle stretches have it alike, so no reading is wrong.
#[test]
fn idle_cpu_that_differs_between_launches_is_no_warning() {
    let is_scraped = |launch: u32| launch % 7 == 3;
    let mut run = with_scrapes(|launch| f64::from(u8::from(is_scraped(launch))));
    let of_reading = SCRAPE_NS / 1e8;
    // What the readings show is what the turns have.
    let more_cores = |launch| if is_scraped(launch) { of_reading } else { 0.0 } - SCRAPE_CORES;
    for block in &mut run.turns {
        let more_ns = more_cores(block.launch) * block.lasted_ns as f64;
        let cpu_ns = block.arms[TREATMENT].cpu_ns.as_mut().unwrap();
        *cpu_ns = (*cpu_ns as f64 + more_ns) as u64;
    }
    for end in &mut run.ends {
        let of = &mut end.arms[TREATMENT];
        let more_ns = more_cores(end.launch) * of.turns_drain_ns as f64;
        let cpu_ns = of.after_turns_ns.as_mut().unwrap();
        *cpu_ns = (*cpu_ns as f64 + more_ns) as u64;
    }
    let analysis = analysed(&run);
    let found = codes(&analysis.arms[TREATMENT].metrics[&Metric::CpuPerRequest]);
    assert!(!found.contains(&WarningCode::IdleUncertain), "{found:?}");
}

/// A service with a timer of its own: the error is that of both arms.
#[test]
fn a_timer_in_every_arm_is_a_warning_too() {
    let mut run = records_with_turns(14, 4);
    for (at, end) in run.ends.iter_mut().enumerate() {
        for of in &mut end.arms {
            let met = (at + 3 * of.arm.get()) % 7 == 3;
            *of.idle_cpu_ns.as_mut().unwrap() += (SCRAPE_NS * f64::from(u8::from(met))) as u64;
        }
    }
    let analysis = analysed(&run);
    let found = codes(&analysis.arms[TREATMENT].metrics[&Metric::CpuPerRequest]);
    assert!(found.contains(&WarningCode::IdleUncertain), "{found:?}");
}

#[test]
fn deferred_cost_below_zero_is_a_warning_beyond_its_error() {
    // The share of a scrape that idle stretches met, and whether there is a warning.
    for (met, expected) in [
        (|_| 0.0, false),
        // Three of fourteen launches: much on average, and within the error.
        (|launch: u32| f64::from(launch % 5 == 3), false),
        (|_| 0.1, true),
    ] as [(fn(u32) -> f64, bool); 3]
    {
        let mut run = with_scrapes(met);
        for is_alone in [false, true] {
            if is_alone {
                run.turns.clear();
            }
            let metrics = &analysed(&run).arms[TREATMENT].metrics;
            let metric = match is_alone {
                false => Metric::CpuPerRequestIsolated,
                true => Metric::CpuPerRequest,
            };
            let found = codes(&metrics[&metric]).contains(&WarningCode::DeferredNegative);
            assert_eq!(found, expected, "{metric:?} {:?}", codes(&metrics[&metric]));
        }
    }
}
