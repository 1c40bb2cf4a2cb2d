//! True response times of the truth servers, computed from the schedule and not measured.

use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::time::{ClockId, clock_gettime};
use truth::queue::{percentile_ns, response_times_ns};
use truth::{Answering, Stalls};

use super::origin::Origin;
use super::scenario::Scenario;

/// The service time of every truth server launched here.
const SERVICE: Duration = Duration::from_millis(1);

/// A contender begins its schedule within this time of its process's start; the exact moment is
/// unknown. The truth is computed for moments across that time.
const BEGINS_WITHIN_NS: u64 = 1_000_000_000;

/// The distance between those moments. It is not a divisor of the distance between starts, so that
/// fractions of that are covered too.
const TRIED_EVERY_NS: u64 = 20_130_000;

const NS_PER_S: u64 = 1_000_000_000;

/// True response times of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Truth {
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    /// The largest difference to `p99_us` if the schedule had begun at another moment.
    pub(super) p99_us_uncertain_by: f64,
}

/// The truth of a scenario's run whose process was started at `started_ns` on the monotonic clock.
/// `None` if the origin's truth is unknown, and for closed loops.
pub(super) fn truth(
    scenario: &Scenario,
    stalls: Option<Stalls>,
    started_ns: u64,
    lasts_s: u32,
) -> Result<Option<Truth>> {
    let (Origin::Truth(_), Some(rate_per_s)) = (scenario.origin, scenario.rate_per_s) else {
        return Ok(None);
    };
    let constant = Answering::constant(SERVICE)?;
    let answering = stalls.map_or(constant, |stalls| constant.with_stalls(stalls));
    let connections = NonZeroUsize::new(scenario.connections as usize).context("no connection")?;
    let distance_ns = NS_PER_S / u64::from(rate_per_s);
    let count = u64::from(rate_per_s) * u64::from(lasts_s);
    let tries = BEGINS_WITHIN_NS / TRIED_EVERY_NS;
    let mut percentiles: Vec<(u64, u64)> = (0..=tries)
        .filter_map(|i| {
            let begin_ns = started_ns + i * TRIED_EVERY_NS;
            let starts_ns = (0..count).map(|i| begin_ns + i * distance_ns);
            let times_ns = response_times_ns(starts_ns, connections, &answering);
            Some((
                percentile_ns(&times_ns, 0.99)?,
                percentile_ns(&times_ns, 0.5)?,
            ))
        })
        .collect();
    percentiles.sort_unstable();
    Ok(middle(&percentiles))
}

fn middle(sorted_p99_and_p50_ns: &[(u64, u64)]) -> Option<Truth> {
    let in_us = |ns: u64| ns as f64 / 1e3;
    let (lowest_ns, _) = *sorted_p99_and_p50_ns.first()?;
    let (highest_ns, _) = *sorted_p99_and_p50_ns.last()?;
    let (p99_ns, p50_ns) = sorted_p99_and_p50_ns[sorted_p99_and_p50_ns.len() / 2];
    Some(Truth {
        p50_us: in_us(p50_ns),
        p99_us: in_us(p99_ns),
        p99_us_uncertain_by: in_us((p99_ns - lowest_ns).max(highest_ns - p99_ns)),
    })
}

/// Waits until a stall has just ended, so that a run of whole periods neither begins nor ends in
/// one.
pub(super) fn wait_past_a_stall(stalls: &Stalls) -> Result<()> {
    loop {
        let now_ns = monotonic_ns()?;
        let awake_ns = stalls.awake_ns(now_ns);
        if awake_ns > now_ns {
            thread::sleep(Duration::from_nanos(awake_ns - now_ns));
            return Ok(());
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// `CLOCK_MONOTONIC`, by which the truth servers stall.
pub(super) fn monotonic_ns() -> Result<u64> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).context("read the monotonic clock")?;
    Ok(u64::try_from(Duration::from(now).as_nanos())?)
}

#[cfg(test)]
mod tests {
    use super::super::scenario::by_name;
    use super::*;

    fn stalls(first_ns: u64) -> Stalls {
        Stalls::new(first_ns, Duration::from_secs(2), Duration::from_millis(200)).unwrap()
    }

    #[test]
    fn the_truth_of_a_constant_server_is_its_service_time() {
        let constant = by_name("constant");
        let truth = truth(constant, None, 7, 5).unwrap().unwrap();
        assert_eq!((truth.p50_us, truth.p99_us), (1000.0, 1000.0));
        assert_eq!(truth.p99_us_uncertain_by, 0.0);
    }

    #[test]
    fn the_truth_after_a_stall_does_not_depend_on_the_start() {
        let stall = by_name("stall");
        // The stall ended at 200 ms; the next is at 2 s.
        let truth = truth(stall, Some(stalls(0)), 210_000_000, 10)
            .unwrap()
            .unwrap();
        // A tenth of the starts lie in stalls, so the 99th percentile is the wait of requests that
        // arrived a tenth of the stall after its start, plus the queue of those before them.
        assert!((180_000.0..190_000.0).contains(&truth.p99_us), "{truth:?}");
        assert!(
            truth.p99_us_uncertain_by < 0.005 * truth.p99_us,
            "{truth:?}"
        );
        assert!((1000.0..1100.0).contains(&truth.p50_us), "{truth:?}");
    }

    #[test]
    fn the_truth_of_nginx_is_unknown() {
        for name in ["closed", "open-2000"] {
            assert_eq!(truth(by_name(name), None, 0, 5).unwrap(), None, "{name}");
        }
    }

    #[test]
    fn a_stall_is_waited_for() {
        let every = Duration::from_millis(40);
        let stalls = Stalls::new(0, every, Duration::from_millis(20)).unwrap();
        wait_past_a_stall(&stalls).unwrap();
    }
}
