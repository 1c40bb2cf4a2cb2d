//! Runs of known costs in which arms take turns.

use windage_model::{Method, Soundness, TurnOrder, Verdict, WarningCode, fixtures};
use windage_record::StopScope;
use windage_stats::Confidence;

use super::*;
use crate::fixture::Recorded;
use crate::fixture::in_turns::{IDLE_CORES, RATE_PER_S, records_with_turns};
use crate::{Analysis, MetricAnalysis, MissingCode, analyse};

const TREATMENT: usize = 2;

fn analysed(run: &Recorded) -> Analysis {
    analyse(&run.gathered(), std::iter::empty(), std::iter::empty())
}

fn cpu(analysis: &Analysis, arm: usize) -> &MetricAnalysis {
    &analysis.arms[arm].metrics[&Metric::CpuPerRequest]
}

fn close(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
}

/// CPU per request of an arm in each launch, added up from what was recorded.
fn by_hand(run: &Recorded, arm: usize, with: usize) -> Vec<f64> {
    let of_launch = |launch: u32| {
        let end = &run.ends.iter().find(|end| end.launch == launch)?.arms[arm];
        let mut cpu_us = end.after_turns_ns? as f64 / 1e3;
        let mut time_us = end.turns_drain_ns as f64 / 1e3;
        let mut requests = 0.0;
        for block in run.turns.iter().filter(|block| block.launch == launch) {
            let (of, other) = (&block.arms[arm], &block.arms[with]);
            let is_void = block.soundness() == Soundness::Void;
            let is_short = block.order == TurnOrder::ShortTurns;
            if is_void || is_short || (of.turns > 0 && other.turns == 0) {
                continue;
            }
            cpu_us += of.cpu_ns? as f64 / 1e3;
            time_us += block.lasted_ns as f64 / 1e3;
            requests += of.exchanges.completed as f64;
        }
        let idle_cores = end.idle_cpu_ns? as f64 / end.idle_ns as f64;
        Some((cpu_us - idle_cores * time_us) / requests + idle_cores * 1e6 / RATE_PER_S)
    };
    let launches = run.launches.iter();
    launches.filter_map(|of| of_launch(of.launch)).collect()
}

fn plain_mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn figures_are_those_by_hand() {
    let mut run = records_with_turns(14, 1);
    // A block void for all arms, and a launch without one of its readings.
    let died = fixtures::warning(WarningCode::ServiceDied);
    run.turns[7].warnings.push(died);
    run.ends[5].arms[0].idle_cpu_ns = None;
    run.ends[5].arms[TREATMENT].idle_cpu_ns = None;
    let analysis = analysed(&run);
    let found = cpu(&analysis, TREATMENT);
    let (arm, baseline) = (
        by_hand(&run, TREATMENT, TREATMENT),
        by_hand(&run, 0, TREATMENT),
    );
    assert_eq!((arm.len(), found.rounds), (13, 13));
    close(found.arm.unwrap(), plain_mean(&arm));
    close(found.baseline.unwrap(), plain_mean(&baseline));
    let difference = found.difference.as_ref().unwrap();
    let apart: Vec<f64> = arm.iter().zip(&baseline).map(|(a, b)| a - b).collect();
    close(difference.absolute.estimate, plain_mean(&apart));
    let ratio = plain_mean(&arm) / plain_mean(&baseline);
    let relative = difference.relative.as_ref().unwrap();
    close(relative.estimate, ratio - 1.0);
    // Student's interval over launches; a skewed sample extends one side by at most a half.
    let half_width = |residuals: Vec<f64>| {
        let mean = plain_mean(&residuals);
        let squares: f64 = residuals.iter().map(|of| (of - mean).powi(2)).sum();
        2.178_812_829_667_229 * (squares / 12.0 / 13.0).sqrt()
    };
    let pairs = arm.iter().zip(&baseline);
    let residuals = pairs.map(|(a, b)| (a - ratio * b) / plain_mean(&baseline));
    for (interval, expected) in [
        (&difference.absolute, half_width(apart)),
        (relative, half_width(residuals.collect())),
    ] {
        let narrow = (interval.estimate - interval.low).min(interval.high - interval.estimate);
        assert!(
            (narrow / expected - 1.0).abs() < 1e-6,
            "{narrow} {expected}"
        );
        assert_eq!(interval.method, Method::TotalsByLaunch);
    }
    assert!(
        analysis
            .validity
            .reasons
            .iter()
            .all(|of| of.code() != WarningCode::NoWindows)
    );
    let reasons = &found.validity.reasons;
    let unknown = reasons
        .iter()
        .find(|of| of.code() == WarningCode::DeferredUnknown);
    let evidence = unknown.unwrap().evidence();
    assert_eq!(format!("{:?}", evidence["rounds_known"]), "Number(13.0)");
}

/// The truth is 24 µs, a fifth of the baseline's 120, although the machine's speed changes twice as
/// much and a quarter of the treatment's requests is paid for later.
#[test]
fn intervals_cover_what_turns_cost() {
    const RUNS: u64 = 60;
    let (mut in_us, mut in_percent, mut of_control, mut of_change) = (0, 0, 0, 0);
    let mut sums = [0.0; 2];
    for seed in 0..RUNS {
        let analysis = analysed(&records_with_turns(14, seed));
        let of = |arm| cpu(&analysis, arm).difference.as_ref().unwrap();
        let relative = |arm: usize| of(arm).relative.as_ref().unwrap();
        let covers = |interval: &windage_model::Interval, truth| {
            u64::from(interval.low <= truth && truth <= interval.high)
        };
        in_us += covers(&of(TREATMENT).absolute, 24.0);
        in_percent += covers(relative(TREATMENT), 0.2);
        of_control += covers(relative(1), 0.0);
        sums[0] += of(TREATMENT).absolute.estimate;
        sums[1] += relative(TREATMENT).estimate;
        assert_eq!(cpu(&analysis, TREATMENT).verdict, Some(Verdict::Costs));
        let turns = analysis.design.turns.unwrap();
        let change = turns.change_by_heaviest.unwrap();
        of_change += covers(&change, 0.0);
        let codes: Vec<_> = analysis
            .validity
            .reasons
            .iter()
            .map(|of| of.code())
            .collect();
        assert!(!codes.contains(&WarningCode::ArmsInterfere), "{codes:?}");
    }
    let [us, share] = sums.map(|sum| sum / RUNS as f64);
    assert!(
        (us - 24.0).abs() < 0.25 && (share - 0.2).abs() < 0.002,
        "{us} {share}"
    );
    // Of 60 intervals of 95 %, 53 or more cover in 99 of 100 cases.
    for (covered, what) in [
        (in_us, "µs"),
        (in_percent, "%"),
        (of_control, "control"),
        (of_change, "change by the heaviest arm"),
    ] {
        assert!(covered >= 53, "{what}: {covered}");
    }
}

#[test]
fn both_parts_are_shown_and_both_measures_agree() {
    let analysis = analysed(&records_with_turns(14, 3));
    let of = |metric| &analysis.arms[TREATMENT].metrics[&metric];
    let whole = cpu(&analysis, TREATMENT);
    let idle_us = IDLE_CORES[TREATMENT] * 1e6 / RATE_PER_S;
    close(
        of(Metric::CpuOfRequests).arm.unwrap(),
        whole.arm.unwrap() - idle_us,
    );
    let isolated = of(Metric::CpuPerRequestIsolated);
    let of_isolated = isolated.difference.as_ref().unwrap();
    assert_eq!(of_isolated.absolute.method, Method::TotalsByLaunch);
    let apart =
        of_isolated.absolute.estimate - whole.difference.as_ref().unwrap().absolute.estimate;
    assert!(apart.abs() < 0.5, "{apart}");
    let disagreement = analysis.arms[TREATMENT].isolated_less_interleaved.unwrap();
    assert!(
        disagreement.low <= 0.0 && 0.0 <= disagreement.high,
        "{disagreement:?}"
    );
    let typical = analysis.arms[TREATMENT]
        .metrics
        .get(&Metric::TypicalCpuPerRequest);
    assert_eq!(typical, None, "it lies in the interval");
}

#[test]
fn a_typical_difference_has_the_deferred_cost_of_both() {
    let mut run = crate::fixture::records(14);
    for of in run.ends.iter_mut().flat_map(|end| &mut end.arms) {
        // As much again as in the windows.
        of.after_last_window_ns = Some(70_000_000);
    }
    let records = run.gathered();
    let finished = crate::quantiles::Finished::nothing;
    let found = typical_cpu(&Run::new(&records, finished(), finished()), ArmIndex(2));
    let share = found.location.unwrap().estimate.exp_m1();
    let (us, expected) = (
        found.absolute.unwrap().estimate,
        share * found.baseline.unwrap(),
    );
    assert!((us / expected - 1.0).abs() < 0.01, "{us} {expected}");
}

#[test]
fn measures_that_disagree_are_a_warning() {
    // What a request of the treatment costs more in windows of its own, in microseconds.
    for (more_us, sign) in [(30, 1.0), (-30, -1.0)] {
        let mut run = records_with_turns(14, 3);
        for window in &mut run.windows {
            if window.place.arm.get() == TREATMENT {
                let cpu_ns = window.cpu.in_window_ns.as_mut().unwrap();
                *cpu_ns = cpu_ns.saturating_add_signed(100 * more_us * 1000);
            }
        }
        let analysis = analysed(&run);
        // Of 120 µs in all.
        let found = analysis.arms[TREATMENT].isolated_less_interleaved.unwrap();
        assert!((found.estimate - sign * 0.25).abs() < 0.02, "{found:?}");
        let disagree = |arm: usize| {
            let reasons = &cpu(&analysis, arm).validity.reasons;
            let codes = reasons.iter().map(|of| of.code());
            codes
                .filter(|code| *code == WarningCode::MeasuresDisagree)
                .count()
        };
        assert_eq!((disagree(TREATMENT), disagree(1)), (1, 0));
    }
}

/// Idle CPU is a larger share of each request in turns, and a smaller one where another arm is left
/// out. It is no scatter.
#[test]
fn blocks_scatter_by_what_the_figure_is_of() {
    let mut run = records_with_turns(14, 3);
    for block in &mut run.turns {
        let lasted_ns = block.lasted_ns;
        for of in &mut block.arms {
            // 100 µs per request, and half a core whatever the requests.
            of.cpu_ns = Some(of.exchanges.completed * 100_000 + lasted_ns / 2);
        }
    }
    for end in &mut run.ends {
        for of in &mut end.arms {
            (of.idle_cpu_ns, of.idle_ns) = (Some(500_000_000), 1_000_000_000);
            of.after_turns_ns = Some(of.turns_drain_ns / 2);
        }
    }
    let analysis = analysed(&run);
    for metric in [Metric::CpuPerRequest, Metric::CpuOfRequests] {
        let of = &analysis.arms[1].metrics[&metric].inference;
        let scatter = of.variance_components.as_ref().unwrap();
        assert!(scatter.block_sd < 1e-6, "{metric:?}: {scatter:?}");
    }
}

#[test]
fn launches_without_all_readings_are_left_out() {
    type Spoil = fn(&mut Recorded);
    let table: [(&str, Spoil, usize); 6] = [
        ("all readings", |_| {}, 14),
        (
            "no idle reading",
            |run| run.ends[2].arms[TREATMENT].idle_cpu_ns = None,
            13,
        ),
        (
            "the baseline has no idle reading",
            |run| run.ends[2].arms[0].idle_ns = 0,
            13,
        ),
        (
            "no reading after the drain",
            |run| run.ends[2].arms[0].after_turns_ns = None,
            13,
        ),
        ("it was cut short", |run| drop(run.ends.remove(13)), 13),
        (
            "two launches of a round",
            |run| run.launches[13].round = 12,
            14,
        ),
    ];
    for (why, spoil, launches) in table {
        let mut run = records_with_turns(14, 4);
        spoil(&mut run);
        let analysis = analysed(&run);
        let found = cpu(&analysis, TREATMENT);
        assert_eq!(found.rounds, launches, "{why}");
        assert_eq!(found.verdict, Some(Verdict::Costs), "{why}");
        let difference = found.difference.as_ref().unwrap().absolute.estimate;
        let both = found.arm.unwrap() - found.baseline.unwrap();
        assert!(
            (both - difference).abs() < 1e-9,
            "{why}: of the same launches"
        );
    }
}

#[test]
fn one_launch_has_an_interval_and_no_verdict() {
    let mut run = records_with_turns(2, 5);
    for (why, spoil) in [
        (
            "the other has no totals",
            (|run| run.ends.truncate(1)) as fn(&mut Recorded),
        ),
        ("there is no other", |run| {
            run.launches.truncate(1);
            run.windows.truncate(6);
            run.turns.truncate(6);
        }),
    ] {
        spoil(&mut run);
        let analysis = analysed(&run);
        let found = cpu(&analysis, TREATMENT);
        let difference = found.difference.as_ref().unwrap();
        assert_eq!(
            difference.absolute.method,
            Method::TotalsWithinLaunch,
            "{why}"
        );
        let [arm] = by_hand(&run, TREATMENT, TREATMENT)[..] else {
            panic!("{why}")
        };
        close(
            difference.absolute.estimate,
            arm - by_hand(&run, 0, TREATMENT)[0],
        );
        assert_eq!(found.verdict, Some(Verdict::Inconclusive), "{why}");
        assert_eq!(found.inference.launches_needed, Some(13), "{why}");
        let components = found.inference.variance_components.as_ref().unwrap();
        assert_eq!(components.launch_sd, None, "{why}");
    }
}

/// Looks at blocks at first and at launches later would be two sequences.
#[test]
fn a_run_that_may_stop_has_sequences_over_launches() {
    for (launches, expected) in [
        (1, Err(MissingCode::TooFew)),
        (15, Err(MissingCode::TooFew)),
        (16, Ok(Method::SequenceByLaunch)),
        (30, Ok(Method::SequenceByLaunch)),
    ] {
        let mut run = records_with_turns(launches, 6);
        run.manifest.design.stop = Some(StopScope {
            until: windage_model::Until::Known {
                metric: Metric::CpuPerRequest,
                half_width: 0.001,
            },
            within_ns: 60_000_000_000,
        });
        let analysis = analysed(&run);
        let difference = &cpu(&analysis, TREATMENT).difference;
        let found = difference.as_ref().map(|of| of.absolute.method);
        assert_eq!(found.map_err(|why| why.code()), expected, "{launches}");
        let records = run.gathered();
        let finished = crate::quantiles::Finished::nothing;
        let within = Run::new(&records, finished(), finished());
        let found = whole_cpu(&within, ArmIndex(2));
        let bounded = crate::conclude::relative_at(&found, Confidence::P95, within.rules);
        assert_eq!(
            bounded.is_some(),
            launches >= 16,
            "the monitor sees the same"
        );
    }
}

#[test]
fn a_run_of_turns_alone_has_figures_and_reasons() {
    let mut run = records_with_turns(14, 7);
    let both = analysed(&run);
    run.windows.clear();
    let alone = analysed(&run);
    let of = |analysis: &Analysis| cpu(analysis, TREATMENT).difference.clone();
    assert_eq!(of(&alone), of(&both), "the rate is the plan's");
    let metrics = &alone.arms[TREATMENT].metrics;
    assert!(!metrics.contains_key(&Metric::CpuPerRequestIsolated));
    assert!(!metrics.contains_key(&Metric::TypicalCpuPerRequest));
    assert!(
        !metrics.contains_key(&Metric::CpuDeferred),
        "that is of windows"
    );
    let times = metrics[&Metric::ResponseTimeP50].difference.as_ref();
    assert_eq!(times.unwrap_err().code(), MissingCode::NotMeasured);
    assert_eq!(alone.arms[TREATMENT].isolated_less_interleaved, None);
    assert_eq!(
        alone.validity.soundness(),
        Soundness::Valid,
        "{:?}",
        alone.validity
    );
    assert_eq!(alone.design.rounds, 14);
    // 50 ms of the generator in each block of 990 ms.
    close(alone.own_cost.generator_cores, 50.0 / 990.0);
    assert!(cpu(&alone, TREATMENT).inference.launches_needed.is_none());
}

/// In a closed loop the rate of one arm alone is that in its windows, or else in its turns.
#[test]
fn idle_cpu_is_paid_at_the_rate_of_one_arm() {
    let mut run = records_with_turns(14, 8);
    run.manifest.load.model = LoadModel::Closed;
    run.manifest.load.rate_per_s = None;
    let in_windows = run.windows[0].exchanges.completed as f64 / 0.1;
    // A third of the load's time is the treatment's, in five blocks of six.
    let in_turns = 400.0 / (0.99 / 3.0);
    for (rate_per_s, why) in [(in_windows, "in windows"), (in_turns, "in turns")] {
        let analysis = analysed(&run);
        let of = |metric| analysis.arms[TREATMENT].metrics[&metric].arm.unwrap();
        let idle_us = of(Metric::CpuPerRequest) - of(Metric::CpuOfRequests);
        let expected = IDLE_CORES[TREATMENT] * 1e6 / rate_per_s;
        assert!(
            (idle_us / expected - 1.0).abs() < 1e-9,
            "{why}: {idle_us} {expected}"
        );
        run.windows.clear();
    }
}

#[test]
fn each_load_has_the_turns_of_its_own_launches() {
    let mut run = records_with_turns(28, 9);
    let load = run.manifest.load.clone();
    run.manifest.other_loads = vec![load];
    for (load, records) in run.gathered_by_load().iter().enumerate() {
        let mut alone = run.clone();
        let is_own = |launch: u32| launch as usize % 2 == load;
        alone.launches.retain(|of| is_own(of.launch));
        let expected = by_hand(&alone, TREATMENT, TREATMENT);
        let analysis = analyse(records, std::iter::empty(), std::iter::empty());
        assert_eq!(analysis.design.rounds, 14);
        close(
            cpu(&analysis, TREATMENT).arm.unwrap(),
            plain_mean(&expected),
        );
    }
}
