//! The truth: what the calibration service itself reports as injected.

use std::path::PathBuf;

use thiserror::Error;
use windage_calibration::Account;
use windage_model::LevelValue;
use windage_record::{ManifestArm, RunDir};

use super::findings::Unit;
use super::part::Part;

/// The service's name in the calibration plans.
const SERVICE: &str = "app";

/// The id of the arm with a timer.
const TIMER: &str = "timer";

/// What was injected into the requests of an arm, or beside them, per request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Truth {
    /// Nothing: a control.
    Nothing,
    /// Work, as a share of the CPU of a request without it.
    Share(f64),
    /// CPU, in microseconds.
    CpuUs(f64),
    /// A delay, in microseconds.
    DelayUs(f64),
}

impl Truth {
    /// The unit in which it is judged. A control is judged as a share, because a microsecond has no
    /// fixed size relative to it.
    pub(super) fn unit(self) -> Unit {
        match self {
            Truth::Nothing | Truth::Share(_) => Unit::Share,
            Truth::CpuUs(_) | Truth::DelayUs(_) => Unit::Microseconds,
        }
    }

    /// Its size in that unit.
    pub(super) fn size(self) -> f64 {
        match self {
            Truth::Nothing => 0.0,
            Truth::Share(size) | Truth::CpuUs(size) | Truth::DelayUs(size) => size,
        }
    }
}

/// Why the truth is unknown.
#[derive(Debug, Error)]
pub(crate) enum TruthError {
    #[error("can't read the service's report in {log}: {source}; calibrate again")]
    Unreadable {
        log: PathBuf,
        source: std::io::Error,
    },
    #[error("{log} ends without the service's report, so the service was killed; calibrate again")]
    NoAccount { log: PathBuf },
    #[error("the service of {log} answered no request; calibrate again with a longer --for")]
    NoRequests { log: PathBuf },
    #[error(
        "the timer of arm {arm} never ran, or the plan has no rate; calibrate again with a longer \
         --for"
    )]
    NoTimer { arm: String },
}

/// What was injected into the requests of one arm of a run.
pub(super) fn of_arm(
    part: Part,
    run: &RunDir,
    arm: &ManifestArm,
    baseline: &ManifestArm,
) -> Result<Truth, TruthError> {
    let (injected, without) = (account(run, arm)?, account(run, baseline)?);
    if arm.id.as_str() == TIMER {
        let rate_per_s = run.manifest().load.rate_per_s;
        let us = rate_per_s.and_then(|rate_per_s| timer_us(&injected, rate_per_s));
        return us.map(Truth::CpuUs).ok_or_else(|| TruthError::NoTimer {
            arm: arm.name.clone(),
        });
    }
    Ok(truth(part, &injected, &without, arm))
}

/// The sum of the reports of all launches.
fn account(run: &RunDir, arm: &ManifestArm) -> Result<Account, TruthError> {
    let launches = 0..run.manifest().design.rounds;
    let accounts = launches.map(|launch| account_of_launch(run, launch, arm));
    let accounts = accounts.collect::<Result<Vec<Account>, _>>()?;
    Ok(sum(&accounts))
}

/// Of the median sleeps, the mean: they differ little between launches.
fn sum(accounts: &[Account]) -> Account {
    let mut sum = accounts.first().copied().unwrap_or_default();
    for more in accounts.iter().skip(1) {
        sum.requests += more.requests;
        sum.base_cpu_ns += more.base_cpu_ns;
        sum.injected_cpu_ns += more.injected_cpu_ns;
        sum.injected_wall_ns += more.injected_wall_ns;
        sum.injected_wall_p50_ns += more.injected_wall_p50_ns;
        sum.cpu_ns += more.cpu_ns;
        sum.injected_iterations += more.injected_iterations;
        sum.timer_runs += more.timer_runs;
        sum.timer_iterations += more.timer_iterations;
        sum.timer_cpu_ns += more.timer_cpu_ns;
        sum.timer_wall_ns += more.timer_wall_ns;
    }
    sum.injected_wall_p50_ns /= accounts.len().max(1) as u64;
    sum
}

fn account_of_launch(run: &RunDir, launch: u32, arm: &ManifestArm) -> Result<Account, TruthError> {
    let log = run.log_path(launch, arm.id.as_str(), SERVICE);
    match windage_files::read_to_string(&log) {
        Err(source) => Err(TruthError::Unreadable { log, source }),
        Ok(text) => match last_line(&text) {
            None => Err(TruthError::NoAccount { log }),
            Some(account) if account.requests == 0 => Err(TruthError::NoRequests { log }),
            Some(account) => Ok(account),
        },
    }
}

fn last_line(text: &str) -> Option<Account> {
    serde_json::from_str(text.lines().last()?).ok()
}

fn truth(part: Part, injected: &Account, baseline: &Account, arm: &ManifestArm) -> Truth {
    let is_injected = |level: &str| match arm.levels.get(level) {
        None => false,
        Some(LevelValue::Number(number)) => *number != 0.0,
        Some(LevelValue::Text(text)) => text != "0",
    };
    if injected.injected_iterations > 0 {
        return Truth::Share(share(injected));
    }
    if !is_injected("ns") {
        return Truth::Nothing;
    }
    match part {
        Part::Cpu | Part::Small => {
            let cpu_us = |of: &Account| of.injected_cpu_ns as f64 / 1e3 / of.requests as f64;
            Truth::CpuUs(cpu_us(injected) - cpu_us(baseline))
        }
        // The median, because the metric is a median response time. The mean of sleeps is dominated
        // by the few after which the scheduler woke the service late.
        Part::Latency => {
            let delay_us = |of: &Account| of.injected_wall_p50_ns as f64 / 1e3;
            Truth::DelayUs(delay_us(injected) - delay_us(baseline))
        }
    }
}

/// CPU of a timer per request, in microseconds: what it uses per second, shared by the requests of
/// a second at the plan's rate. `None` without any run.
fn timer_us(of: &Account, rate_per_s: f64) -> Option<f64> {
    let cores = of.timer_cpu_ns as f64 / of.timer_wall_ns as f64;
    (of.timer_wall_ns > 0 && rate_per_s > 0.0).then(|| cores * 1e6 / rate_per_s)
}

/// Counted, not read from a clock: an interruption hits the few injected iterations rarely but
/// hard, and the many others evenly.
fn share(of: &Account) -> f64 {
    let base_iterations = of.iterations as f64 * of.requests as f64;
    let more = of.injected_iterations as f64 / base_iterations;
    let injected_ns = of.base_cpu_ns as f64 * more;
    injected_ns / (of.cpu_ns as f64 - injected_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(level: Option<(&str, f64)>) -> ManifestArm {
        let levels = level.map(|(name, value)| (name.to_owned(), LevelValue::Number(value)));
        ManifestArm {
            levels: levels.into_iter().collect(),
            ..windage_record::fixtures::arm(2, "arm")
        }
    }

    /// A thousand requests of 50 µs in the loop and 70 µs in all before anything is injected. Empty
    /// measurements show 90 ns of CPU and 40 ns of time too much.
    fn served(injected_iterations: u64, cpu_ns: i64, wall_ns: i64) -> Account {
        Account {
            requests: 1_000,
            iterations: 25_000,
            injected_iterations: injected_iterations * 1_000,
            base_cpu_ns: 50_000_000,
            injected_cpu_ns: (cpu_ns + 90) * 1_000,
            // A few sleeps were very long.
            injected_wall_ns: (wall_ns + 40_000) * 1_000,
            injected_wall_p50_ns: wall_ns.unsigned_abs() + 40,
            bracket_cpu_ns: 220,
            bracket_wall_ns: 25,
            cpu_ns: (70_000 + cpu_ns.unsigned_abs()) * 1_000,
            ..Account::default()
        }
    }

    #[test]
    fn every_injection_has_its_truth() {
        let baseline = served(0, 0, 0);
        let table = [
            (Part::Cpu, None, served(0, 0, 0), Truth::Nothing),
            (
                Part::Cpu,
                Some(("ns", 0.0)),
                served(0, 0, 0),
                Truth::Nothing,
            ),
            (
                Part::Cpu,
                Some(("iterations", 350.0)),
                served(350, 700, 700),
                Truth::Share(0.01),
            ),
            (
                Part::Cpu,
                Some(("ns", 2_000.0)),
                served(0, 2_050, 2_040),
                Truth::CpuUs(2.05),
            ),
            (
                Part::Latency,
                Some(("ns", 50_000.0)),
                served(0, 3_000, 52_000),
                Truth::DelayUs(52.0),
            ),
        ];
        for (part, level, account, expected) in table {
            let found = truth(part, &account, &baseline, &arm(level));
            let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
            let same = match (found, expected) {
                (Truth::Nothing, Truth::Nothing) => true,
                (Truth::Share(a), Truth::Share(b))
                | (Truth::CpuUs(a), Truth::CpuUs(b))
                | (Truth::DelayUs(a), Truth::DelayUs(b)) => near(a, b),
                _ => false,
            };
            assert!(same, "{level:?}: {found:?}");
        }
    }

    #[test]
    fn launches_add_up() {
        let all = sum(&[served(350, 600, 40_000), served(350, 800, 50_000)]);
        assert_eq!((all.requests, all.iterations), (2_000, 25_000));
        assert_eq!(all.injected_iterations, 700_000);
        assert_eq!(all.injected_wall_p50_ns, 45_040);
        let baseline = sum(&[served(0, 0, 0); 2]);
        let spin = truth(
            Part::Cpu,
            &all,
            &baseline,
            &arm(Some(("iterations", 350.0))),
        );
        assert_eq!(spin, Truth::Share(0.01));
        let all = sum(&[served(0, 600, 40_000), served(0, 800, 50_000)]);
        let of = |level, part| truth(part, &all, &baseline, &arm(Some((level, 1.0))));
        let Truth::CpuUs(cpu_us) = of("ns", Part::Cpu) else {
            panic!("CPU was injected");
        };
        assert!((cpu_us - 0.7).abs() < 1e-9, "{cpu_us}");
        assert_eq!(of("ns", Part::Latency), Truth::DelayUs(45.0));
    }

    /// 70,000 iterations in every 200th request are 350 in the mean one.
    #[test]
    fn bursts_have_the_truth_of_their_mean() {
        let bursts = Account {
            injected_iterations: 70_000 * 5,
            ..served(0, 700, 700)
        };
        let found = truth(Part::Cpu, &bursts, &served(0, 0, 0), &arm(None));
        assert_eq!(found, Truth::Share(0.01));
    }

    #[test]
    fn a_timer_is_shared_by_the_requests_of_a_second() {
        let timer = |runs: u64| Account {
            timer_runs: runs,
            timer_cpu_ns: runs * 280_000,
            timer_wall_ns: runs * 70_000_000,
            ..served(0, 0, 0)
        };
        // 4 ms of CPU per second, shared by 2,000 requests.
        let found = timer_us(&sum(&[timer(10), timer(30)]), 2_000.0).unwrap();
        assert!((found - 2.0).abs() < 1e-12, "{found}");
        assert_eq!(timer_us(&timer(0), 2_000.0), None);
        assert_eq!(timer_us(&timer(10), 0.0), None);
    }

    #[test]
    fn the_report_is_the_last_line() {
        let line = serde_json::to_string(&served(0, 0, 0)).unwrap();
        let log = format!("listening on 127.0.0.1:1\n{line}\n");
        assert_eq!(last_line(&log), Some(served(0, 0, 0)));
        assert_eq!(last_line("listening on 127.0.0.1:1\n"), None);
        assert_eq!(last_line(""), None);
    }
}
