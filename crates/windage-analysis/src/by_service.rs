//! Which of an arm's services the CPU of a request is spent in.
//!
//! The clocks of processes say which share of an arm's CPU each service used; what is shared is the
//! arm's CPU per request, so that the services of an arm add up to it.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Order};
use windage_record::{CpuUsed, ServicesUsed};
use windage_stats::TwoLevelError;

use crate::MetricAnalysis;
use crate::compare::{self, Scale};
use crate::conclude::conclude;
use crate::ledger::Ledger;
use crate::run::Run;
use crate::totals::{compare, interleaved, of_windows};

/// One service of an arm.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceAnalysis {
    /// Its name.
    pub service: String,
    /// CPU per request that was spent in it. Neither judged nor adjusted for the number of services.
    pub cpu: MetricAnalysis,
}

/// In place of a service's name: processes of the arm that no service's clock was read of. No
/// service can have this name.
const OTHERS: &str = "other processes";
/// Less of an arm's CPU in them is divided as the rest is.
const OTHERS_FROM: f64 = 0.02;

/// The services of an arm, in the plan's order; empty where there are not several, where arms were
/// measured one after another, and in a single launch without turns, whose figure is no total.
pub(crate) fn of_arm(run: &Run<'_>, arm: ArmIndex) -> Vec<ServiceAnalysis> {
    let records = &run.records.services;
    let Some(used) = records.iter().find(|used| used.arm == arm) else {
        return Vec::new();
    };
    let is_one_launch = run.records.turns.is_empty() && run.records.measured_launches() < 2;
    if run.rules.order == Order::Sequential || is_one_launch {
        return Vec::new();
    }
    let has_others = (0u16..).take(run.records.manifest.arms.len()).map(ArmIndex);
    let mut has_others = has_others.map(|arm| others(records, arm));
    let has_others = has_others.any(|share| share > OTHERS_FROM);
    let names = used.services.iter().map(|of| of.service.as_str());
    let names = names.chain(has_others.then_some(OTHERS));
    let [of_arm, of_baseline] =
        [arm, ArmIndex::BASELINE].map(|of| by_launch(run, of, arm, has_others));
    let measured = match run.records.turns.is_empty() {
        true => run.usable_windows(arm),
        false => run.records.turns.usable_of(arm),
    };
    let analysis = |(number, service): (usize, &str)| {
        let both = of_arm.iter().filter_map(|(launch, parts)| {
            let baseline = of_baseline.get(launch)?.get(number)?;
            Some((*launch, (*parts.get(number)?, *baseline)))
        });
        let both: BTreeMap<u32, (f64, f64)> = both.collect();
        let side = |us: fn(&(f64, f64)) -> f64| -> BTreeMap<u32, f64> {
            both.iter().map(|(launch, of)| (*launch, us(of))).collect()
        };
        let [arm_us, baseline_us] = [side(|of| of.0), side(|of| of.1)];
        let compared = match compare(&arm_us, &baseline_us, measured) {
            // A service that does nothing in the baseline has a difference, but no ratio.
            of if of.location == Err(TwoLevelError::NoValues) => {
                compare::by_launch(&arm_us, &baseline_us, Scale::Difference, measured)
            }
            of => of,
        };
        ServiceAnalysis {
            service: service.to_owned(),
            cpu: MetricAnalysis {
                verdict: None,
                ..conclude(run.cpu_metric(), arm, run.rules, None, compared)
            },
        }
    };
    names.enumerate().map(analysis).collect()
}

/// The share of an arm's CPU in processes that no service's clock was read of.
fn others(records: &[ServicesUsed], arm: ArmIndex) -> f64 {
    let all = |cpu: &CpuUsed| (cpu.windows_ns + cpu.outside_ns + cpu.turns_ns) as f64;
    let (mut whole, mut seen) = (0.0, 0.0);
    for used in records.iter().filter(|used| used.arm == arm) {
        whole += all(&used.whole);
        seen += used.services.iter().map(|of| all(&of.cpu)).sum::<f64>();
    }
    if whole > 0.0 { 1.0 - seen / whole } else { 0.0 }
}

/// CPU per request of each service by launch, in microseconds, as the run's headline has it.
fn by_launch(
    run: &Run<'_>,
    arm: ArmIndex,
    compared: ArmIndex,
    has_others: bool,
) -> BTreeMap<u32, Vec<f64>> {
    let parts = match run.records.turns.is_empty() {
        true => of_isolated(run, arm, compared),
        false => {
            let parts = interleaved(run, arm, &[compared]).into_iter();
            parts
                .map(|(launch, of)| (launch, [of.of_requests_us, of.idle_us]))
                .collect()
        }
    };
    let used = run.records.services.iter().filter(|used| used.arm == arm);
    let divided = used.filter_map(|used| {
        let [first, second] = parts.get(&used.launch)?;
        let shares = shares(used, has_others)?.into_iter();
        let us = shares.map(|[of_first, of_second]| first * of_first + second * of_second);
        Some((used.launch, us.collect()))
    });
    divided.collect()
}

/// CPU per request in windows, and deferred beyond them.
fn of_isolated(run: &Run<'_>, arm: ArmIndex, compared: ArmIndex) -> BTreeMap<u32, [f64; 2]> {
    let whole = of_windows(run, arm, &[compared, ArmIndex::BASELINE]);
    let in_window = |of: &Ledger| Some(of.in_window_per_request_ns()? / 1e3);
    let in_window = run.records.ledgers.by_launch(arm, in_window);
    let parts = |(launch, whole_us): (u32, f64)| {
        let in_window_us = *in_window.get(&launch)?;
        Some((launch, [in_window_us, whole_us - in_window_us]))
    };
    whole.into_iter().filter_map(parts).collect()
}

/// The shares of each service in both parts of an arm's CPU per request: what grows with requests
/// and idle CPU, or without turns what is in windows and what is deferred. `None` where there is
/// nothing to share.
fn shares(used: &ServicesUsed, has_others: bool) -> Option<Vec<[f64; 2]>> {
    let mut parts: Vec<CpuUsed> = used.services.iter().map(|of| of.cpu).collect();
    if has_others {
        let seen = parts.iter().fold(CpuUsed::default(), |sum, of| CpuUsed {
            windows_ns: sum.windows_ns + of.windows_ns,
            outside_ns: sum.outside_ns + of.outside_ns,
            turns_ns: sum.turns_ns + of.turns_ns,
            idle_ns: sum.idle_ns + of.idle_ns,
        });
        parts.push(CpuUsed {
            windows_ns: used.whole.windows_ns.saturating_sub(seen.windows_ns),
            outside_ns: used.whole.outside_ns.saturating_sub(seen.outside_ns),
            turns_ns: used.whole.turns_ns.saturating_sub(seen.turns_ns),
            idle_ns: used.whole.idle_ns.saturating_sub(seen.idle_ns),
        });
    }
    // A stretch is longer than the load of one arm, so idle CPU is taken away before.
    let less_idle = |busy_ns: u64, of: &CpuUsed, time_ns: u64| match used.idle_time_ns {
        0 => busy_ns as f64,
        idle_time_ns => busy_ns as f64 - of.idle_ns as f64 * time_ns as f64 / idle_time_ns as f64,
    };
    let has_turns = used.turns_time_ns > 0;
    let both = |of: &CpuUsed| match has_turns {
        true => [
            less_idle(of.turns_ns, of, used.turns_time_ns),
            of.idle_ns as f64,
        ],
        false => [
            of.windows_ns as f64,
            less_idle(of.outside_ns, of, used.outside_time_ns),
        ],
    };
    let parts: Vec<[f64; 2]> = parts.iter().map(both).collect();
    let sum = |part: usize| parts.iter().map(|of| of[part]).sum::<f64>();
    let (first, second) = (sum(0), sum(1));
    let share = |of: &[f64; 2]| {
        let of_first = of[0] / first;
        [
            of_first,
            if second > 0.0 {
                of[1] / second
            } else {
                of_first
            },
        ]
    };
    (first > 0.0).then(|| parts.iter().map(share).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::in_turns::{IDLE_CORES, OF_REQUESTS_US, RATE_PER_S, records_with_turns};
    use crate::fixture::{self, Recorded};
    use crate::{Analysis, analyse};
    use windage_model::Metric;
    use windage_record::{Entry, ServiceUsed};

    const SECOND: f64 = 1e9;

    fn analysed(run: &Recorded) -> Analysis {
        analyse(&run.gathered(), std::iter::empty(), std::iter::empty())
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "of a test"
    )]
    fn ns(of: f64) -> u64 {
        of.round() as u64
    }

    /// An app and a collector: of the treatment's 20 µs more, the app pays 5 and the collector 15,
    /// of which it defers two thirds beyond windows. In the other arms the collector is idle, with a
    /// thousandth of a core.
    fn with_services(mut run: Recorded, has_turns: bool) -> Recorded {
        let launches = 0..u32::try_from(run.launches.len()).unwrap();
        for (launch, arm) in launches.flat_map(|launch| (0..3u16).map(move |arm| (launch, arm))) {
            let of = usize::from(arm);
            let collector_us = if arm == 2 { 15.0 } else { 0.0 };
            let of_requests = [OF_REQUESTS_US[of] - collector_us, collector_us];
            let deferred = [0.0, collector_us * 2.0 / 3.0];
            let idle = [IDLE_CORES[of] - 0.001, 0.001];
            let requests = 2e6;
            let cpu = |which: usize| CpuUsed {
                windows_ns: ns((of_requests[which] - deferred[which]) * requests),
                outside_ns: ns(deferred[which] * requests + idle[which] * 5.0 * SECOND),
                turns_ns: ns(of_requests[which] * requests + idle[which] * 5.0 * SECOND),
                idle_ns: ns(idle[which] * SECOND),
            };
            let [app, collector] = [cpu(0), cpu(1)];
            let service = |name: &str, cpu| ServiceUsed {
                service: name.to_owned(),
                cpu,
            };
            run.reported.push(Entry::Services(ServicesUsed {
                launch,
                arm: ArmIndex(arm),
                outside_time_ns: ns(5.0 * SECOND),
                turns_time_ns: if has_turns { ns(5.0 * SECOND) } else { 0 },
                idle_time_ns: ns(SECOND),
                whole: CpuUsed {
                    windows_ns: app.windows_ns + collector.windows_ns,
                    outside_ns: app.outside_ns + collector.outside_ns,
                    turns_ns: app.turns_ns + collector.turns_ns,
                    idle_ns: app.idle_ns + collector.idle_ns,
                },
                services: vec![service("app", app), service("collector", collector)],
            }));
        }
        run
    }

    /// The collector's clock misses what its children use.
    fn unseen(run: &mut Recorded, change: fn(&mut ServicesUsed)) {
        for entry in &mut run.reported {
            if let Entry::Services(used) = entry {
                change(used);
            }
        }
    }

    fn estimate(of: &ServiceAnalysis) -> f64 {
        of.cpu.difference.as_ref().unwrap().absolute.estimate
    }

    fn names(analysis: &Analysis) -> Vec<&str> {
        let services = analysis.arms[2].services.iter();
        services.map(|of| of.service.as_str()).collect()
    }

    #[test]
    fn each_service_has_what_it_costs() {
        let analysis = analysed(&with_services(records_with_turns(14, 1), true));
        assert_eq!(names(&analysis), ["app", "collector"]);
        let [app, collector] = &analysis.arms[2].services[..] else {
            unreachable!()
        };
        // The arm's idle CPU is 4 µs more at its rate, all of it the app's; launches scatter by 2 %.
        assert!((estimate(app) - 9.0).abs() < 2.0, "{}", estimate(app));
        let found = estimate(collector);
        assert!((found - 15.0).abs() < 0.5, "{found}");
        let idle_us = 0.001 * 1e6 / RATE_PER_S;
        assert!((collector.cpu.baseline.unwrap() - idle_us).abs() < 0.01);
        assert_eq!(collector.cpu.verdict, None);
    }

    /// Of the 62 µs of the treatment in this fixture, 2 are deferred, all of them by the collector.
    #[test]
    fn deferred_work_is_that_of_the_service_that_did_it() {
        let analysis = analysed(&with_services(fixture::records(14), false));
        let collector = &analysis.arms[2].services[1];
        let arm = &analysis.arms[2].metrics;
        let deferred_us = arm[&Metric::CpuDeferred].arm.unwrap();
        let in_window_us = arm[&Metric::CpuInWindow].arm.unwrap();
        let expected = deferred_us + in_window_us * 5.0 / 110.0;
        let found = collector.cpu.arm.unwrap();
        assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}");
    }

    #[test]
    fn a_service_that_does_nothing_without_telemetry_has_a_difference() {
        let mut run = with_services(records_with_turns(14, 1), true);
        unseen(&mut run, |used| {
            if used.arm != ArmIndex(2) {
                used.services[1].cpu = CpuUsed::default();
                used.whole = used.services[0].cpu;
            }
        });
        let analysis = analysed(&run);
        let collector = &analysis.arms[2].services[1];
        assert!((estimate(collector) - 16.0).abs() < 0.5, "{collector:?}");
        assert_eq!(collector.cpu.baseline, Some(0.0));
        let difference = collector.cpu.difference.as_ref().unwrap();
        assert_eq!(difference.relative, None);
    }

    #[test]
    fn processes_that_no_clock_was_read_of_are_apart() {
        let mut run = with_services(records_with_turns(14, 1), true);
        unseen(&mut run, |used| {
            let collector = &mut used.services[1].cpu;
            collector.turns_ns -= collector.turns_ns / 2;
            collector.windows_ns -= collector.windows_ns / 2;
        });
        let analysis = analysed(&run);
        assert_eq!(names(&analysis), ["app", "collector", OTHERS]);
        let [_, collector, others] = &analysis.arms[2].services[..] else {
            unreachable!()
        };
        let [half, rest] = [collector, others].map(estimate);
        assert!((half + rest - 15.0).abs() < 0.5, "{half} {rest}");
        assert!((half - rest).abs() < 3.0, "{half} {rest}");
    }

    #[test]
    fn services_add_up_to_their_arm() {
        for (run, has_turns) in [
            (records_with_turns(14, 3), true),
            (fixture::records(14), false),
        ] {
            let analysis = analysed(&with_services(run, has_turns));
            for arm in &analysis.arms {
                let whole = arm.metrics[&Metric::CpuPerRequest].arm.unwrap();
                let services = arm.services.iter().map(|of| of.cpu.arm.unwrap());
                let sum: f64 = services.sum();
                assert!(
                    (sum / whole - 1.0).abs() < 1e-9,
                    "{}: {sum} {whole}",
                    arm.id
                );
            }
        }
    }

    #[test]
    fn without_several_services_or_launches_there_are_none() {
        let one_service = records_with_turns(14, 1);
        let one_launch = with_services(fixture::records(1), false);
        for run in [one_service, one_launch] {
            let analysis = analysed(&run);
            assert!(analysis.arms.iter().all(|arm| arm.services.is_empty()));
        }
    }

    #[test]
    fn nothing_used_is_not_shared() {
        let idle = ServicesUsed {
            services: vec![ServiceUsed::default(); 2],
            turns_time_ns: 5,
            ..ServicesUsed::default()
        };
        assert_eq!(shares(&idle, false), None);
    }
}
