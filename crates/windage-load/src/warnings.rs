//! Rules that find warnings about a stretch of load in the generator's counters: one function per
//! rule, each with evidence and a text that names the bottleneck.

use windage_model::{Exchanges, LoadModel, Warning, WarningCode};

use crate::recording::Recording;
use crate::run::RunReport;

/// Send lag at the 99th percentile above which an open loop's latency is not the subject's …
const SEND_LAG_NS: u64 = 1_000_000;
/// … or when it is half of the response time there, and longer than a usual wake-up.
const SEND_LAG_PART: u64 = 2;
const USUAL_LAG_NS: u64 = 100_000;
/// A generator whose threads are busy for this share of the time was the bottleneck.
const GENERATOR_SHARE: f64 = 0.97;
/// A subject that keeps this share of its cores busy is saturated.
const SUBJECT_SHARE: f64 = 0.9;
/// Limit of steal, as a share of one core's time.
const STEAL_SHARE: f64 = 0.02;
/// Steal is counted in hundredths of a second: a single one is no evidence in a short window.
const STEAL_GRAIN_NS: u64 = 10_000_000;
/// Answers may arrive this long after an open loop's schedule, or for this share of it, whichever
/// is longer.
const OVERRUN_NS: u64 = 20_000_000;
const OVERRUN_PART: u64 = 5;
/// An open loop that completes less than this share of its rate has hit a bottleneck.
const RATE_SHARE: f64 = 0.98;
/// Share of starts that wait for a connection above which there is a warning.
const WAITED_SHARE: f64 = 0.01;
/// Above this share, starts wait because answers come more slowly than starts.
const MOST: f64 = 0.5;
/// Share of failed requests.
const ERROR_SHARE: f64 = 0.001;

/// The facts of a stretch of load.
#[derive(Clone, Copy, Debug)]
pub struct LoadFacts {
    /// The kind of load.
    pub model: LoadModel,
    /// Counts of what was sent and received.
    pub exchanges: Exchanges,
    /// The length of the schedule; in a closed loop from the first send to the last completion. In
    /// nanoseconds.
    pub duration_ns: u64,
    /// From the start until nothing was outstanding, in nanoseconds.
    pub lasted_ns: u64,
    /// Response time at the 99th percentile, in nanoseconds; `None` when nothing was completed.
    pub response_time_ns_p99: Option<u64>,
    /// CPU of the generator's threads in total, in nanoseconds.
    pub generator_cpu_ns: u64,
    /// Number of generator threads.
    pub threads: u32,
    /// The most concurrent exchanges: the bound on connections times the streams on each.
    pub connections: u32,
    /// Steal of the machine, in nanoseconds; `None` when unknown.
    pub steal_ns: Option<u64>,
    /// CPU of the subject; `None` when unknown.
    pub subject: Option<SubjectCpu>,
}

/// CPU of the subject during a stretch of load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SubjectCpu {
    /// Nanoseconds of CPU.
    pub used_ns: u64,
    /// Cores that it may use.
    pub cores: f64,
}

impl LoadFacts {
    /// The facts of one thread's run; steal and the subject's CPU are unknown.
    #[must_use]
    pub fn of(
        report: &RunReport,
        recording: &Recording,
        model: LoadModel,
        connections: u32,
    ) -> LoadFacts {
        let times = &recording.response_time;
        LoadFacts {
            model,
            exchanges: report.exchanges,
            duration_ns: report.duration_ns,
            lasted_ns: report.ended_ns.saturating_sub(report.started_ns),
            response_time_ns_p99: (!times.is_empty()).then(|| times.value_at_quantile(0.99)),
            generator_cpu_ns: report.generator_cpu_ns,
            threads: 1,
            connections,
            steal_ns: None,
            subject: None,
        }
    }

    /// Cores that the generator kept busy.
    fn generator_cores(&self) -> f64 {
        share(self.generator_cpu_ns, self.duration_ns)
    }

    fn is_generator_busy(&self) -> bool {
        self.generator_cores() > GENERATOR_SHARE * f64::from(self.threads.max(1))
    }

    /// Whether the subject kept its cores busy; `None` when unknown.
    fn is_subject_busy(&self) -> Option<bool> {
        let subject = self.subject?;
        Some(share(subject.used_ns, self.duration_ns) >= SUBJECT_SHARE * subject.cores)
    }

    /// Whether the generator's own lateness affects the response times.
    fn is_late(&self) -> bool {
        let lag_ns = self.exchanges.send_lag_ns_p99;
        let is_half = self
            .response_time_ns_p99
            .is_some_and(|ns| lag_ns > ns / SEND_LAG_PART);
        self.model == LoadModel::Open && (lag_ns > SEND_LAG_NS || lag_ns > USUAL_LAG_NS && is_half)
    }

    /// How long answers continued after the schedule's end.
    fn overrun_ns(&self) -> u64 {
        self.lasted_ns.saturating_sub(self.duration_ns)
    }
}

/// All warnings that the generator's counters give rise to.
#[must_use]
pub fn warnings(of: &LoadFacts) -> Vec<Warning> {
    let rate = rate_not_reached(of);
    let connections = connections_busy(of).filter(|_| rate.is_none());
    let found = [
        nothing_completed(of),
        errors(of),
        send_lag(of),
        generator_saturated(of),
        dropped(of),
        rate,
        connections,
        steal(of),
    ];
    found.into_iter().flatten().collect()
}

fn nothing_completed(of: &LoadFacts) -> Option<Warning> {
    let exchanges = &of.exchanges;
    (exchanges.completed == 0).then(|| {
        Warning::new(WarningCode::NothingCompleted, "Nothing was completed.")
            .with("sent", exchanges.sent as f64)
            .with("timeouts", exchanges.errors.timeout as f64)
            .with("connect_errors", exchanges.errors.connect as f64)
            .with("closed", exchanges.errors.closed as f64)
            .with("protocol_errors", exchanges.errors.protocol as f64)
    })
}

fn errors(of: &LoadFacts) -> Option<Warning> {
    let exchanges = &of.exchanges;
    let [_, _, _, client, server] = exchanges.status.0;
    if exchanges.completed > 0 && exchanges.status.errors() == exchanges.completed {
        return Some(
            Warning::new(
                WarningCode::OnlyErrors,
                "Every answer had a status of 400 or above: this measures errors. Check the \
                 request and the service's log.",
            )
            .with("answers", exchanges.completed as f64)
            .with("answers_4xx", client as f64)
            .with("answers_5xx", server as f64),
        );
    }
    // A timed-out request is missing from the end of the distribution, so a single one counts.
    let is_little = share(exchanges.failed(), exchanges.sent) <= ERROR_SHARE;
    if is_little && exchanges.errors.timeout == 0 {
        return None;
    }
    let kinds = [
        ("connect_errors", exchanges.errors.connect),
        ("timeouts", exchanges.errors.timeout),
        ("closed", exchanges.errors.closed),
        ("protocol_errors", exchanges.errors.protocol),
        ("answers_4xx", client),
        ("answers_5xx", server),
    ];
    let warning = Warning::new(
        WarningCode::Errors,
        "Requests failed or were answered with an error: the figures partly measure \
         errors.",
    )
    .with("failed", exchanges.failed() as f64)
    .with("sent", exchanges.sent as f64);
    let some = kinds.into_iter().filter(|(_, count)| *count > 0);
    Some(some.fold(warning, |warning, (name, count)| {
        warning.with(name, count as f64)
    }))
}

fn send_lag(of: &LoadFacts) -> Option<Warning> {
    of.is_late().then(|| {
        let text = format!(
            "The generator sent late: the response times include its own lateness. {}",
            why_late(of)
        );
        let warning = Warning::new(WarningCode::SendLag, text)
            .with("send_lag_us_p99", of.exchanges.send_lag_ns_p99 as f64 / 1e3)
            .with("send_lag_us_max", of.exchanges.send_lag_ns_max as f64 / 1e3);
        with_thread(warning, of)
    })
}

/// Why the generator was late, as far as its counters show.
fn why_late(of: &LoadFacts) -> String {
    let worst_ns = of.exchanges.send_lag_ns_max;
    let explains = |ns: Option<u64>| ns.filter(|ns| *ns > 0 && *ns >= worst_ns / 2);
    if of.is_generator_busy() {
        "It was busy all the time: the rate is too high for its threads. Lower `rate`.".to_owned()
    } else if let Some(steal_ns) = explains(of.steal_ns) {
        format!(
            "The hypervisor took the processor away for {:.1} ms.",
            steal_ns as f64 / 1e6
        )
    } else if let Some(wait_ns) = explains(of.exchanges.generator_run_queue_ns) {
        format!(
            "It waited {:.1} ms for a core that others used. Give it a core of its own (`cpus`).",
            wait_ns as f64 / 1e6
        )
    } else {
        "It was neither busy nor waiting for a core, so its wake-ups came late. Give it a \
         core of its own (`cpus`)."
            .to_owned()
    }
}

/// Adds what is known about the generator's threads.
fn with_thread(mut warning: Warning, of: &LoadFacts) -> Warning {
    let exchanges = &of.exchanges;
    warning = warning.with("generator_cores", of.generator_cores());
    if let Some(preemptions) = exchanges.generator_preemptions {
        warning = warning.with("generator_preemptions", preemptions as f64);
    }
    if let Some(wait_ns) = exchanges.generator_run_queue_ns {
        warning = warning.with("generator_run_queue_us", wait_ns as f64 / 1e3);
    }
    if exchanges.longest_stall_ns > 0 {
        let stall_us = exchanges.longest_stall_ns as f64 / 1e3;
        warning = warning.with("longest_stall_us", stall_us);
    }
    warning
}

/// In an open loop the generator polls before each start, so a busy core alone is no evidence: it
/// must also be late.
fn generator_saturated(of: &LoadFacts) -> Option<Warning> {
    let is_bottleneck = match of.model {
        LoadModel::Closed => of.is_subject_busy() != Some(true),
        LoadModel::Open => of.is_late(),
        LoadModel::Batch => false,
    };
    (is_bottleneck && of.is_generator_busy()).then(|| {
        let text = match of.is_subject_busy() {
            Some(false) => {
                "The generator kept its core busy and the subject did not: the generator was the \
                 bottleneck, and overhead in throughput is compressed."
            }
            Some(true) => {
                "Generator and subject kept their cores busy: the rate is too high for both."
            }
            None => {
                "The generator kept its core busy: it may have been the bottleneck rather than the \
                 subject, whose CPU is unknown."
            }
        };
        let mut warning = Warning::new(WarningCode::GeneratorSaturated, text)
            .with("generator_threads", f64::from(of.threads));
        if let Some(subject) = of.subject {
            warning = warning.with("subject_cores", share(subject.used_ns, of.duration_ns));
        }
        with_thread(warning, of)
    })
}

fn dropped(of: &LoadFacts) -> Option<Warning> {
    (of.exchanges.dropped > 0).then(|| {
        Warning::new(
            WarningCode::Dropped,
            "Intended starts were dropped because no connection was free, and the response times \
             do not include them. Allow more connections or lower `rate`.",
        )
        .with("dropped", of.exchanges.dropped as f64)
        .with("intended", of.exchanges.intended as f64)
        .with("connections", f64::from(of.connections))
    })
}

/// What kept an open loop below its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bottleneck {
    Generator,
    Subject,
    Errors,
    Connections,
    /// No bottleneck was hit; answers just take long.
    AnswerTime,
}

impl Bottleneck {
    fn of(of: &LoadFacts) -> Bottleneck {
        let exchanges = &of.exchanges;
        let short_of = exchanges.intended.saturating_sub(exchanges.completed);
        if of.is_late() {
            Bottleneck::Generator
        } else if of.is_subject_busy() == Some(true) {
            Bottleneck::Subject
        } else if short_of > 0 && share(exchanges.errors.total(), short_of) > MOST {
            Bottleneck::Errors
        } else if exchanges.dropped > 0 || has_waits(exchanges) {
            Bottleneck::Connections
        } else {
            Bottleneck::AnswerTime
        }
    }

    /// The word used in evidence.
    fn as_str(self) -> &'static str {
        match self {
            Bottleneck::Generator => "generator",
            Bottleneck::Subject => "subject",
            Bottleneck::Errors => "errors",
            Bottleneck::Connections => "connections",
            Bottleneck::AnswerTime => "answer time",
        }
    }

    fn in_words(self, of: &LoadFacts) -> String {
        let words = match self {
            Bottleneck::Generator => {
                return format!(
                    "The generator was late and is the bottleneck. {}",
                    why_late(of)
                );
            }
            Bottleneck::Subject => {
                "The subject kept its cores busy: it is saturated. Lower `rate` to measure \
                 below saturation."
            }
            Bottleneck::Errors => "Failed requests do not count as completed.",
            Bottleneck::Connections if of.is_subject_busy() == Some(false) => {
                "All connections were in use while the subject had CPU to spare: they are the \
                 bottleneck, or something that the subject waits for. Allow more connections or \
                 lower `rate`."
            }
            Bottleneck::Connections => {
                "All connections were in use: they or the subject are the bottleneck. \
                 Allow more connections or lower `rate`."
            }
            Bottleneck::AnswerTime => {
                "The last answers came long after the schedule's end although connections were \
                 free: the schedule is too short for such slow answers. Use longer windows."
            }
        };
        words.to_owned()
    }
}

fn has_waits(exchanges: &Exchanges) -> bool {
    share(exchanges.waited, exchanges.intended) > WAITED_SHARE
}

/// An open loop whose answers came more slowly than its starts. All answers may have arrived in the
/// end, with correct response times, but the rate was not the intended one.
fn rate_not_reached(of: &LoadFacts) -> Option<Warning> {
    let exchanges = &of.exchanges;
    if of.model != LoadModel::Open || exchanges.completed == 0 {
        return None;
    }
    let lasted_ns = of.lasted_ns.max(of.duration_ns);
    let intended_per_s = exchanges.intended_per_s(of.duration_ns)?;
    let achieved_per_s = exchanges.achieved_per_s(lasted_ns)?;
    let is_overrun = of.overrun_ns() > OVERRUN_NS.max(of.duration_ns / OVERRUN_PART);
    let is_short = share(exchanges.completed, exchanges.intended) < RATE_SHARE;
    // A long run whose starts queue up also ends late, but by less than a fifth of its length.
    let is_behind = achieved_per_s < RATE_SHARE * intended_per_s
        && share(exchanges.waited, exchanges.intended) > MOST;
    (is_overrun || is_short || is_behind).then(|| {
        let bottleneck = Bottleneck::of(of);
        let text = format!(
            "{achieved_per_s:.0} of the intended {intended_per_s:.0} requests per second were \
             completed. {}",
            bottleneck.in_words(of)
        );
        Warning::new(WarningCode::RateNotReached, text)
            .with("bottleneck", bottleneck.as_str())
            .with("intended_per_s", intended_per_s)
            .with("achieved_per_s", achieved_per_s)
            .with("overrun_us", of.overrun_ns() as f64 / 1e3)
            .with("window_us", of.duration_ns as f64 / 1e3)
            .with("waited", exchanges.waited as f64)
            .with("connections", f64::from(of.connections))
    })
}

/// Waiting counts as response time, as it would for a user. But the subject never saw the
/// simultaneous requests of users with connections of their own. A late generator sends in bursts,
/// so its waits say nothing about connections.
fn connections_busy(of: &LoadFacts) -> Option<Warning> {
    (of.model == LoadModel::Open && has_waits(&of.exchanges) && !of.is_late()).then(|| {
        let text = format!(
            "{:.1} % of the starts waited because all connections were in use ({} exchanges at \
             once). Response times include the wait, but the subject never had more requests at a \
             time, which keeps its service times low. Allow more connections.",
            100.0 * share(of.exchanges.waited, of.exchanges.intended),
            of.connections
        );
        Warning::new(WarningCode::ConnectionsBusy, text)
            .with("waited", of.exchanges.waited as f64)
            .with("intended", of.exchanges.intended as f64)
            .with("connections", f64::from(of.connections))
    })
}

fn steal(of: &LoadFacts) -> Option<Warning> {
    let steal_ns = of.steal_ns?;
    (steal_ns > STEAL_GRAIN_NS && share(steal_ns, of.duration_ns) > STEAL_SHARE).then(|| {
        Warning::new(
            WarningCode::Steal,
            "The hypervisor took the processor away.",
        )
        .with("steal_ns", steal_ns as f64)
        .with("window_ns", of.duration_ns as f64)
    })
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

#[cfg(test)]
#[path = "warnings_tests.rs"]
mod tests;
