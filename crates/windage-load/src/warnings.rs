//! What speaks against a stretch of load, found from what the generator knows: one rule each,
//! with its evidence, in words that say which part was at its ceiling.

use windage_model::{Exchanges, LoadModel, Warning, WarningCode};

use crate::recording::Recording;
use crate::run::RunReport;

/// Send lag at the 99th percentile beyond which an open loop's latency is not the subject's …
const SEND_LAG_NS: u64 = 1_000_000;
/// … or when it is half of the response time there, and more than a machine's usual wake-up.
const SEND_LAG_PART: u64 = 2;
const USUAL_LAG_NS: u64 = 100_000;
/// A generator whose threads are busy for this share of the time was the ceiling.
const GENERATOR_SHARE: f64 = 0.97;
/// A subject that keeps this share of its cores busy is saturated.
const SUBJECT_SHARE: f64 = 0.9;
/// Time taken away by the hypervisor, of one core's time.
const STEAL_SHARE: f64 = 0.02;
/// Steal is counted in hundredths of a second: a single one is no evidence in a short window.
const STEAL_GRAIN_NS: u64 = 10_000_000;
/// Answers may come so long after an open loop's schedule, or for such a part of it, whichever is
/// longer.
const OVERRUN_NS: u64 = 20_000_000;
const OVERRUN_PART: u64 = 5;
/// An open loop that completes less than this share of its rate has met a ceiling.
const RATE_SHARE: f64 = 0.98;
/// Starts that wait for a connection are worth a word beyond this share.
const WAITED_SHARE: f64 = 0.01;
/// Starts that wait beyond this share do so because answers come more slowly than starts.
const MOST: f64 = 0.5;
/// Failed requests.
const ERROR_SHARE: f64 = 0.001;

/// A stretch of load as its rules see it.
#[derive(Clone, Copy, Debug)]
pub struct LoadFacts {
    /// The kind of load.
    pub model: LoadModel,
    /// What was sent and what came back.
    pub exchanges: Exchanges,
    /// The length of the schedule; in a closed loop from the first send to the last completion.
    /// In nanoseconds.
    pub duration_ns: u64,
    /// From the start until nothing was outstanding, in nanoseconds.
    pub lasted_ns: u64,
    /// Response time at the 99th percentile, in nanoseconds; `None` when nothing was completed.
    pub response_time_ns_p99: Option<u64>,
    /// CPU of the generator's threads together, in nanoseconds.
    pub generator_cpu_ns: u64,
    /// Threads of the generator.
    pub threads: u32,
    /// Exchanges that may be under way at a time: the bound on connections, times the streams on
    /// each.
    pub connections: u32,
    /// Time that the hypervisor took from the machine, in nanoseconds; `None` when unknown.
    pub steal_ns: Option<u64>,
    /// What the subject used; `None` when it is out of reach.
    pub subject: Option<SubjectCpu>,
}

/// CPU of the subject during a stretch of load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SubjectCpu {
    /// Nanoseconds of CPU.
    pub used_ns: u64,
    /// Cores that it may keep busy.
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

    /// Whether the subject kept its cores busy; `None` when nobody knows.
    fn is_subject_busy(&self) -> Option<bool> {
        let subject = self.subject?;
        Some(share(subject.used_ns, self.duration_ns) >= SUBJECT_SHARE * subject.cores)
    }

    /// Whether the generator's own lateness is in the answer.
    fn is_late(&self) -> bool {
        let lag_ns = self.exchanges.send_lag_ns_p99;
        let is_half = self
            .response_time_ns_p99
            .is_some_and(|ns| lag_ns > ns / SEND_LAG_PART);
        self.model == LoadModel::Open && (lag_ns > SEND_LAG_NS || lag_ns > USUAL_LAG_NS && is_half)
    }

    /// How long answers went on after the schedule's end.
    fn overrun_ns(&self) -> u64 {
        self.lasted_ns.saturating_sub(self.duration_ns)
    }
}

/// Everything that the generator's counters say against a stretch of load.
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
                "Every answer had a status of 400 or above: this measures failing. Look at the \
                 request and at the service's log.",
            )
            .with("answers", exchanges.completed as f64)
            .with("answers_4xx", client as f64)
            .with("answers_5xx", server as f64),
        );
    }
    // A timeout is missing from the times, where it would stand at their end: one is too many.
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
        "Requests failed or were answered with an error: the figures are those of failing, in \
         part.",
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
            "The generator sent later than intended: its response times hold its own lateness. {}",
            why_late(of)
        );
        let warning = Warning::new(WarningCode::SendLag, text)
            .with("send_lag_us_p99", of.exchanges.send_lag_ns_p99 as f64 / 1e3)
            .with("send_lag_us_max", of.exchanges.send_lag_ns_max as f64 / 1e3);
        with_thread(warning, of)
    })
}

/// What kept the generator from being in time, as far as anything was counted.
fn why_late(of: &LoadFacts) -> String {
    let worst_ns = of.exchanges.send_lag_ns_max;
    let explains = |ns: Option<u64>| ns.filter(|ns| *ns > 0 && *ns >= worst_ns / 2);
    if of.is_generator_busy() {
        "It was busy all the time: the rate is more than its threads can do. Lower `rate`."
            .to_owned()
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
        "It was neither busy nor seen to wait for a core, so its wake-ups came late. Give it a \
         core of its own (`cpus`)."
            .to_owned()
    }
}

/// What is known of the generator's thread.
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

/// In an open loop the generator polls before each start, so a busy core alone says nothing: it
/// must be late as well.
fn generator_saturated(of: &LoadFacts) -> Option<Warning> {
    let is_ceiling = match of.model {
        LoadModel::Closed => of.is_subject_busy() != Some(true),
        LoadModel::Open => of.is_late(),
        LoadModel::Batch => false,
    };
    (is_ceiling && of.is_generator_busy()).then(|| {
        let text = match of.is_subject_busy() {
            Some(false) => {
                "The generator kept its core busy and the subject did not: the generator was the \
                 ceiling, and overhead in throughput is compressed."
            }
            Some(true) => {
                "Generator and subject kept their cores busy: the rate is more than either can do."
            }
            None => {
                "The generator kept its core busy: it may have been the ceiling, and not the \
                 subject, whose CPU is out of reach."
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
            "Intended starts were dropped for want of a free connection, and the response times \
             leave them out. Allow more connections or lower `rate`.",
        )
        .with("dropped", of.exchanges.dropped as f64)
        .with("intended", of.exchanges.intended as f64)
        .with("connections", f64::from(of.connections))
    })
}

/// What kept an open loop from its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ceiling {
    Generator,
    Subject,
    Errors,
    Connections,
    /// None was reached; answers merely take long.
    AnswerTime,
}

impl Ceiling {
    fn of(of: &LoadFacts) -> Ceiling {
        let exchanges = &of.exchanges;
        let short_of = exchanges.intended.saturating_sub(exchanges.completed);
        if of.is_late() {
            Ceiling::Generator
        } else if of.is_subject_busy() == Some(true) {
            Ceiling::Subject
        } else if short_of > 0 && share(exchanges.errors.total(), short_of) > MOST {
            Ceiling::Errors
        } else if exchanges.dropped > 0 || has_waits(exchanges) {
            Ceiling::Connections
        } else {
            Ceiling::AnswerTime
        }
    }

    /// The word used in evidence.
    fn as_str(self) -> &'static str {
        match self {
            Ceiling::Generator => "generator",
            Ceiling::Subject => "subject",
            Ceiling::Errors => "errors",
            Ceiling::Connections => "connections",
            Ceiling::AnswerTime => "answer time",
        }
    }

    fn in_words(self, of: &LoadFacts) -> String {
        let words = match self {
            Ceiling::Generator => {
                return format!(
                    "The generator was late and is the ceiling. {}",
                    why_late(of)
                );
            }
            Ceiling::Subject => {
                "The subject kept its cores busy: this is its saturation. Lower `rate` to measure \
                 below it."
            }
            Ceiling::Errors => "Requests failed, and what fails is not completed.",
            Ceiling::Connections if of.is_subject_busy() == Some(false) => {
                "All connections were in use while the subject had CPU to spare: they are the \
                 ceiling, or what its answers wait for is. Allow more connections or lower `rate`."
            }
            Ceiling::Connections => {
                "All connections were in use: they, or the subject behind them, are the ceiling. \
                 Allow more connections or lower `rate`."
            }
            Ceiling::AnswerTime => {
                "The last answers came long after the schedule's end although connections were \
                 free: it is short for answers this slow. Measure for longer at a stretch."
            }
        };
        words.to_owned()
    }
}

fn has_waits(exchanges: &Exchanges) -> bool {
    share(exchanges.waited, exchanges.intended) > WAITED_SHARE
}

/// An open loop that was answered more slowly than its schedule went. The answers may all have
/// come in the end, and their response times are true; the rate was not what was asked for.
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
    // A long run whose starts queue up ends late, too, but by less than a fifth of itself.
    let is_behind = achieved_per_s < RATE_SHARE * intended_per_s
        && share(exchanges.waited, exchanges.intended) > MOST;
    (is_overrun || is_short || is_behind).then(|| {
        let ceiling = Ceiling::of(of);
        let text = format!(
            "{achieved_per_s:.0} of the intended {intended_per_s:.0} requests per second were \
             completed. {}",
            ceiling.in_words(of)
        );
        Warning::new(WarningCode::RateNotReached, text)
            .with("ceiling", ceiling.as_str())
            .with("intended_per_s", intended_per_s)
            .with("achieved_per_s", achieved_per_s)
            .with("overrun_us", of.overrun_ns() as f64 / 1e3)
            .with("window_us", of.duration_ns as f64 / 1e3)
            .with("waited", exchanges.waited as f64)
            .with("connections", f64::from(of.connections))
    })
}

/// Waiting counts as response time, as it would for a user. But the subject was spared the
/// simultaneous requests of users who have connections of their own. A generator that was late
/// sent in bursts, and says nothing of connections.
fn connections_busy(of: &LoadFacts) -> Option<Warning> {
    (of.model == LoadModel::Open && has_waits(&of.exchanges) && !of.is_late()).then(|| {
        let text = format!(
            "{:.1} % of the starts waited because all connections were in use ({} exchanges at \
             once). The wait is in the response times and true for so many; but the subject never had \
             more requests at a time, and its service times are those of that. Allow more \
             connections to let it have them.",
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
