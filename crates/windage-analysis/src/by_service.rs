//! Which of an arm's services the CPU of a request is spent in.
//!
//! The clocks of processes say which share of an arm's CPU each service used; what is shared is the
//! arm's CPU per request, so that the services of an arm add up to it.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Order};
use windage_record::{ServiceUsed, ServicesUsed};
use windage_stats::TwoLevelError;

use crate::MetricAnalysis;
use crate::compare::{self, Scale};
use crate::conclude::conclude;
use crate::run::Run;
use crate::totals::{compare, interleaved, of_windows};

/// One service of an arm.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceAnalysis {
    /// Its name.
    pub service: String,
    /// CPU per request that was spent in it. Not adjusted for the number of services.
    pub cpu: MetricAnalysis,
}

/// The services of an arm, in the plan's order; empty where there are not several.
pub(crate) fn of_arm(run: &Run<'_>, arm: ArmIndex) -> Vec<ServiceAnalysis> {
    if run.rules.order == Order::Sequential {
        return Vec::new();
    }
    let used = run.records.services.iter().find(|used| used.arm == arm);
    let services = used.map_or(&[][..], |used| &used.services);
    let [of_arm, of_baseline] = [arm, ArmIndex::BASELINE].map(|of| by_launch(run, of, arm));
    let measured = match run.records.turns.is_empty() {
        true => run.usable_windows(arm),
        false => run.records.turns.usable_of(arm),
    };
    let nothing = BTreeMap::new();
    let analysis = |ServiceUsed { service, .. }: &ServiceUsed| {
        let [arm_us, baseline_us] =
            [&of_arm, &of_baseline].map(|of| of.get(service.as_str()).unwrap_or(&nothing));
        let compared = match compare(arm_us, baseline_us, measured) {
            // A service that does nothing in the baseline has a difference, but no ratio.
            of if of.location == Err(TwoLevelError::NoValues) => {
                compare::by_launch(arm_us, baseline_us, Scale::Difference, measured)
            }
            of => of,
        };
        ServiceAnalysis {
            service: service.clone(),
            cpu: conclude(run.cpu_metric(), arm, run.rules, None, compared),
        }
    };
    services.iter().map(analysis).collect()
}

/// CPU per request by service and launch, in microseconds, as the run's headline has it.
fn by_launch<'r>(
    run: &Run<'r>,
    arm: ArmIndex,
    compared: ArmIndex,
) -> BTreeMap<&'r str, BTreeMap<u32, f64>> {
    let parts = match run.records.turns.is_empty() {
        true => {
            let windows = of_windows(run, arm, &[compared, ArmIndex::BASELINE]).into_iter();
            windows.map(|(launch, us)| (launch, [us, 0.0])).collect()
        }
        false => {
            let parts = interleaved(run, arm, &[compared]).into_iter();
            parts
                .map(|(launch, of)| (launch, [of.of_requests_us, of.idle_us]))
                .collect::<BTreeMap<u32, [f64; 2]>>()
        }
    };
    let mut all: BTreeMap<&str, BTreeMap<u32, f64>> = BTreeMap::new();
    for used in run.records.services.iter().filter(|used| used.arm == arm) {
        let Some([of_requests_us, idle_us]) = parts.get(&used.launch) else {
            continue;
        };
        for (service, [of_requests, idle]) in shares(used) {
            let us = of_requests_us * of_requests + idle_us * idle;
            all.entry(service).or_default().insert(used.launch, us);
        }
    }
    all
}

/// The shares of each service in what grows with requests, and in idle CPU; empty where there is
/// nothing to share.
fn shares(used: &ServicesUsed) -> Vec<(&str, [f64; 2])> {
    let idle_ns: f64 = used.services.iter().map(|of| of.idle_ns as f64).sum();
    // Turns last longer than the load of one arm, so that idle CPU is taken away before.
    let idle_of_turns = match used.idle_time_ns {
        0 => 0.0,
        time_ns => used.turns_time_ns as f64 / time_ns as f64,
    };
    let has_turns = used.turns_time_ns > 0;
    let of_requests_ns = |of: &ServiceUsed| match has_turns {
        true => of.turns_ns as f64 - of.idle_ns as f64 * idle_of_turns,
        false => of.windows_ns as f64,
    };
    let whole_ns: f64 = used.services.iter().map(of_requests_ns).sum();
    if whole_ns <= 0.0 {
        return Vec::new();
    }
    let share = |of: &'_ ServiceUsed| {
        let idle = if idle_ns > 0.0 {
            of.idle_ns as f64 / idle_ns
        } else {
            0.0
        };
        [of_requests_ns(of) / whole_ns, idle]
    };
    let services = used.services.iter();
    services
        .map(|of| (of.service.as_str(), share(of)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::in_turns::{IDLE_CORES, OF_REQUESTS_US, RATE_PER_S, records_with_turns};
    use crate::fixture::{self, Recorded};
    use crate::{Analysis, analyse};
    use windage_model::Metric;
    use windage_record::Entry;

    const SECOND: f64 = 1e9;

    fn analysed(run: &Recorded) -> Analysis {
        analyse(&run.gathered(), std::iter::empty(), std::iter::empty())
    }

    fn ns(of: f64) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "of a test"
        )]
        let whole = of.round() as u64;
        whole
    }

    /// An app and a collector: of the treatment's 20 µs more, the app pays 5 and the collector 15.
    /// The collector is idle in the other arms, where a tenth of a hundredth of a core is its own.
    fn with_services(mut run: Recorded, has_turns: bool) -> Recorded {
        for (launch, arm) in (0..run.launches.len()).flat_map(|l| (0..3usize).map(move |a| (l, a)))
        {
            let collector_us = if arm == 2 { 15.0 } else { 0.0 };
            let requests = 2_000.0;
            let idle = [IDLE_CORES[arm] - 0.001, 0.001];
            let of_requests = [OF_REQUESTS_US[arm] - collector_us, collector_us];
            let of = |service: &str, which: usize| {
                let loaded_ns = of_requests[which] * 1e3 * requests;
                ServiceUsed {
                    service: service.to_owned(),
                    windows_ns: ns(loaded_ns),
                    turns_ns: match has_turns {
                        true => ns(loaded_ns + idle[which] * 5.0 * SECOND),
                        false => 0,
                    },
                    idle_ns: ns(idle[which] * SECOND),
                }
            };
            run.reported.push(Entry::Services(ServicesUsed {
                launch: launch.try_into().unwrap(),
                arm: ArmIndex(arm.try_into().unwrap()),
                turns_time_ns: if has_turns { ns(5.0 * SECOND) } else { 0 },
                idle_time_ns: ns(SECOND),
                services: vec![of("app", 0), of("collector", 1)],
            }));
        }
        run
    }

    fn estimate(of: &ServiceAnalysis) -> f64 {
        of.cpu.difference.as_ref().unwrap().absolute.estimate
    }

    #[test]
    fn each_service_has_what_it_costs() {
        let analysis = analysed(&with_services(records_with_turns(14, 1), true));
        let [app, collector] = &analysis.arms[2].services[..] else {
            panic!("{:?}", analysis.arms[2].services);
        };
        assert_eq!(
            (app.service.as_str(), collector.service.as_str()),
            ("app", "collector")
        );
        // The arm's idle CPU is 4 µs more at its rate, all of it the app's; launches scatter by 2 %.
        assert!(
            (estimate(app) - (5.0 + 4.0)).abs() < 2.0,
            "{}",
            estimate(app)
        );
        assert!(
            (estimate(collector) - 15.0).abs() < 0.5,
            "{}",
            estimate(collector)
        );
        let idle_us = 0.001 * 1e6 / RATE_PER_S;
        assert!((collector.cpu.baseline.unwrap() - idle_us).abs() < 0.01);
    }

    #[test]
    fn a_service_that_does_nothing_without_telemetry_has_a_difference() {
        let mut run = with_services(records_with_turns(14, 1), true);
        for entry in &mut run.reported {
            if let Entry::Services(used) = entry
                && used.arm != ArmIndex(2)
            {
                used.services[1] = ServiceUsed {
                    service: "collector".to_owned(),
                    ..ServiceUsed::default()
                };
            }
        }
        let analysis = analysed(&run);
        let collector = &analysis.arms[2].services[1];
        assert!((estimate(collector) - 16.0).abs() < 0.5, "{collector:?}");
        assert_eq!(collector.cpu.baseline, Some(0.0));
        let difference = collector.cpu.difference.as_ref().unwrap();
        assert_eq!(difference.relative, None);
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
    fn one_service_has_no_table() {
        let analysis = analysed(&records_with_turns(14, 1));
        assert!(analysis.arms.iter().all(|arm| arm.services.is_empty()));
    }

    #[test]
    fn nothing_used_is_not_shared() {
        let idle = ServicesUsed {
            services: vec![ServiceUsed::default(); 2],
            turns_time_ns: 5,
            ..ServicesUsed::default()
        };
        assert_eq!(shares(&idle), []);
    }
}
