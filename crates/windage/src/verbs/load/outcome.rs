//! The results of a load, and the figures that follow from them.

use hdrhistogram::Histogram;
use windage_load::{Recording, RunReport};
use windage_model::{Exchanges, Outlier, Validity};

use super::attack::Done;
use super::design::Design;
use super::validity;

/// The results of a load.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) exchanges: Exchanges,
    pub(super) recording: Recording,
    /// The slowest exchanges first; times in nanoseconds since the load began.
    pub(super) slowest: Vec<Outlier>,
    /// Length of the schedule, as far as it was carried out. In a closed loop, the time from the
    /// first request to the last answer.
    pub(super) scheduled_ns: u64,
    /// The time over which answers are counted: as above, or longer if answers came late.
    pub(super) answered_ns: u64,
    pub(super) generator_cpu_ns: u64,
    /// Time stolen by the hypervisor meanwhile; `None` if unreadable.
    pub(super) steal_ns: Option<u64>,
    /// Peak memory of this process, in bytes; `None` if unreadable.
    pub(super) rss_peak_bytes: Option<u64>,
    pub(super) first_error: Option<String>,
    pub(super) interrupted: bool,
    pub(super) validity: Validity,
}

/// Percentiles of a histogram, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Percentiles {
    pub(super) p50: f64,
    pub(super) p90: f64,
    pub(super) p99: f64,
    pub(super) p999: f64,
    pub(super) max: f64,
}

impl Percentiles {
    /// `None` for an empty histogram.
    pub(super) fn of(histogram: &Histogram<u32>) -> Option<Percentiles> {
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e3;
        (!histogram.is_empty()).then(|| Percentiles {
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: histogram.max() as f64 / 1e3,
        })
    }

    /// In display order.
    pub(super) fn all(self) -> [f64; 5] {
        [self.p50, self.p90, self.p99, self.p999, self.max]
    }
}

impl Outcome {
    /// The figures of a load.
    pub(super) fn of(design: &Design, done: Done, interrupted: bool) -> Outcome {
        let (scheduled_ns, answered_ns) = lengths_ns(design, &done);
        let report = &done.report;
        let since_began = |outlier: Outlier| outlier.on_clock(report.started_ns, 0);
        let slowest = done.recording.outliers.slowest();
        let interrupted_after_s = interrupted.then_some(answered_ns as f64 / 1e9);
        let validity = validity::of(design, &done, scheduled_ns, interrupted_after_s);
        Outcome {
            exchanges: report.exchanges,
            slowest: slowest.into_iter().map(since_began).collect(),
            scheduled_ns,
            answered_ns,
            generator_cpu_ns: report.generator_cpu_ns,
            steal_ns: done.machine.map(|machine| machine.steal_ns),
            rss_peak_bytes: rss_peak_bytes(),
            first_error: report.first_error.clone(),
            interrupted,
            recording: done.recording,
            validity,
        }
    }

    /// How long answers were counted, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.answered_ns as f64 / 1e9
    }

    /// Starts per second in the schedule; `None` in a closed loop.
    pub(super) fn intended_per_s(&self, design: &Design) -> Option<f64> {
        let intended_per_s = self.exchanges.intended_per_s(self.scheduled_ns);
        intended_per_s.filter(|_| design.is_open())
    }

    /// Requests sent per second, over the length of the schedule.
    pub(super) fn offered_per_s(&self) -> Option<f64> {
        self.exchanges.offered_per_s(self.scheduled_ns)
    }

    /// Answers per second.
    pub(super) fn achieved_per_s(&self) -> Option<f64> {
        self.exchanges.achieved_per_s(self.answered_ns)
    }

    /// The generator's CPU per answer, in microseconds; `None` without answers.
    pub(super) fn cpu_us_per_request(&self) -> Option<f64> {
        let completed = self.exchanges.completed;
        (completed > 0).then(|| self.generator_cpu_ns as f64 / 1e3 / completed as f64)
    }

    /// Cores that the generator kept busy, on average.
    pub(super) fn generator_cores(&self) -> Option<f64> {
        (self.answered_ns > 0).then(|| self.generator_cpu_ns as f64 / self.answered_ns as f64)
    }
}

/// The lengths of the schedule and of the answers.
///
/// Answers of an open loop are counted from the earliest possible one, which is the shortest
/// response time after the first start. If the service keeps up, the achieved rate then equals the
/// offered rate, whatever the response time.
fn lengths_ns(design: &Design, done: &Done) -> (u64, u64) {
    let RunReport {
        started_ns,
        ended_ns,
        duration_ns,
        ..
    } = done.report;
    if !design.is_open() {
        return (duration_ns, duration_ns);
    }
    let lasted_ns = ended_ns.saturating_sub(started_ns);
    // Shorter than planned if interrupted.
    let scheduled_ns = duration_ns.min(lasted_ns);
    let answered_ns = lasted_ns.saturating_sub(done.recording.response_time.min());
    (scheduled_ns, answered_ns.max(scheduled_ns))
}

/// Peak memory of this process. `ru_maxrss` does not work: it includes the peak of the process that
/// executed this one (`setmax_mm_hiwater_rss` in the kernel's `exec_mmap`).
fn rss_peak_bytes() -> Option<u64> {
    let status = std::fs::read("/proc/self/status").ok()?;
    windage_probe::parse::process::resident_peak_bytes(&status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Verb};
    use clap::Parser;
    use windage_model::{Reason, WarningCode};

    fn design(args: &[&str]) -> Design {
        let words = ["windage", "load", "http://localhost/"];
        let cli = Cli::parse_from(words.iter().chain(args));
        match cli.verb {
            Verb::Load(flags) => Design::of(&flags).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    fn done(started_ns: u64, ended_ns: u64, duration_ns: u64, response_ns: &[u64]) -> Done {
        let mut recording = Recording::new();
        for &ns in response_ns {
            recording.note(started_ns, started_ns, started_ns + ns);
        }
        let exchanges = Exchanges {
            intended: 10,
            sent: 10,
            completed: response_ns.len() as u64,
            ..Exchanges::default()
        };
        let report = RunReport {
            exchanges,
            started_ns,
            ended_ns,
            duration_ns,
            ..RunReport::default()
        };
        Done {
            report,
            recording,
            machine: None,
        }
    }

    #[test]
    fn a_service_that_keeps_up_achieves_the_rate_whatever_its_response_time() {
        let second = 1_000_000_000;
        let half = second / 2;
        let open = design(&["--rate", "10/s"]);
        // the end, the response times, scheduled, answered, why
        let table = [
            (
                second + half,
                vec![half; 10],
                second,
                second,
                "half a second each",
            ),
            (
                2 * second,
                vec![0; 10],
                second,
                2 * second,
                "one second late",
            ),
            (half, vec![0; 5], half, half, "cut short"),
            (second, vec![], second, second, "never answered"),
        ];
        for (ended_ns, times_ns, scheduled_ns, answered_ns, why) in table {
            let one = done(0, ended_ns, second, &times_ns);
            let outcome = Outcome::of(&open, one, false);
            let off = outcome.answered_ns.abs_diff(answered_ns);
            assert_eq!(outcome.scheduled_ns, scheduled_ns, "{why}");
            assert!(off <= answered_ns / 1000, "{why}: {off} ns");
        }
    }

    #[test]
    fn a_closed_loop_has_no_intended_rate() {
        let closed = design(&[]);
        let outcome = Outcome::of(&closed, done(5_000, 9_000, 3_500, &[1_000]), false);
        assert_eq!(outcome.answered_ns, 3_500);
        assert_eq!(outcome.intended_per_s(&closed), None);
        assert!(outcome.achieved_per_s().is_some());
        assert_eq!(outcome.slowest[0].intended_ns, 0, "since the load began");
    }

    #[test]
    fn an_interrupted_load_is_incomplete() {
        let closed = design(&[]);
        let outcome = Outcome::of(&closed, done(0, 9_000, 9_000, &[1_000]), true);
        let codes: Vec<WarningCode> = outcome.validity.reasons.iter().map(Reason::code).collect();
        assert_eq!(codes, [WarningCode::LoadInterrupted]);
    }

    #[test]
    fn peak_memory_is_read() {
        assert!(rss_peak_bytes().is_some_and(|bytes| bytes > 100_000));
    }
}
