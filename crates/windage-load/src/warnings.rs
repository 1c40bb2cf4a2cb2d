//! Rules that find warnings about a stretch of load in the generator's counters: one function per
//! rule.

use windage_model::{Bottleneck, Exchanges, LagCause, LoadModel, RATE_SHARE, SubjectLoad, Warning};

use crate::recording::Recording;
use crate::run::RunReport;

/// Send lag at the 99th percentile above which an open loop's latency is not the subject's …
const SEND_LAG_NS: u64 = 1_000_000;
/// … or when it is half of the response time there, and longer than a usual wake-up.
const SEND_LAG_PART: u64 = 2;
const USUAL_LAG_NS: u64 = 100_000;
/// A generator whose threads are busy for this share of the time was the bottleneck.
const GENERATOR_SHARE: f64 = 0.97;
/// A generator whose threads wait for a core for a larger share of the time paces a closed loop.
const STARVED_SHARE: f64 = 0.05;
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
    /// Median service time, in nanoseconds; `None` when nothing was completed.
    pub service_time_ns_p50: Option<u64>,
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
        let (times, service) = (&recording.response_time, &recording.service_time);
        LoadFacts {
            model,
            exchanges: report.exchanges,
            duration_ns: report.duration_ns,
            lasted_ns: report.ended_ns.saturating_sub(report.started_ns),
            response_time_ns_p99: (!times.is_empty()).then(|| times.value_at_quantile(0.99)),
            service_time_ns_p50: (!service.is_empty()).then(|| service.value_at_quantile(0.5)),
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

    fn subject_load(&self) -> SubjectLoad {
        match self.subject {
            None => SubjectLoad::Unknown,
            Some(subject) => {
                let used_cores = share(subject.used_ns, self.duration_ns);
                if used_cores >= SUBJECT_SHARE * subject.cores {
                    SubjectLoad::Busy
                } else {
                    SubjectLoad::Spare
                }
            }
        }
    }

    /// Whether the generator's own lateness affects the response times.
    fn is_late(&self) -> bool {
        let lag_ns = self.exchanges.send_lag_ns_p99;
        let is_half = self
            .response_time_ns_p99
            .is_some_and(|ns| lag_ns > ns / SEND_LAG_PART);
        self.model == LoadModel::Open && (lag_ns > SEND_LAG_NS || lag_ns > USUAL_LAG_NS && is_half)
    }

    /// Why the generator was late, as far as its counters show.
    fn lag_cause(&self) -> LagCause {
        let worst_ns = self.exchanges.send_lag_ns_max;
        let explains = |ns: Option<u64>| ns.is_some_and(|ns| ns > 0 && ns >= worst_ns / 2);
        if self.is_generator_busy() {
            LagCause::Busy
        } else if explains(self.steal_ns) {
            LagCause::Steal
        } else if explains(self.exchanges.generator_run_queue_ns) {
            LagCause::RunQueue
        } else {
            LagCause::LateWakeup
        }
    }

    fn longest_stall_us(&self) -> Option<f64> {
        let ns = self.exchanges.longest_stall_ns;
        (ns > 0).then(|| us(ns))
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
        generator_starved(of),
        dropped(of),
        rate,
        connections,
        steal(of),
    ];
    found.into_iter().flatten().collect()
}

fn nothing_completed(of: &LoadFacts) -> Option<Warning> {
    let (exchanges, errors) = (&of.exchanges, of.exchanges.errors);
    (exchanges.completed == 0).then_some(Warning::NothingCompleted {
        sent: exchanges.sent,
        timeouts: errors.timeout,
        connect_errors: errors.connect,
        closed: errors.closed,
        protocol_errors: errors.protocol,
    })
}

fn errors(of: &LoadFacts) -> Option<Warning> {
    let exchanges = &of.exchanges;
    let [_, _, _, client, server] = exchanges.status.0;
    if exchanges.completed > 0 && exchanges.status.errors() == exchanges.completed {
        return Some(Warning::OnlyErrors {
            answers: exchanges.completed,
            answers_4xx: client,
            answers_5xx: server,
        });
    }
    // A timed-out request is missing from the end of the distribution, so a single one counts.
    let is_little = share(exchanges.failed(), exchanges.sent) <= ERROR_SHARE;
    if is_little && exchanges.errors.timeout == 0 {
        return None;
    }
    let some = |count: u64| (count > 0).then_some(count);
    Some(Warning::Errors {
        failed: exchanges.failed(),
        sent: exchanges.sent,
        connect_errors: some(exchanges.errors.connect),
        timeouts: some(exchanges.errors.timeout),
        closed: some(exchanges.errors.closed),
        protocol_errors: some(exchanges.errors.protocol),
        answers_4xx: some(client),
        answers_5xx: some(server),
    })
}

fn send_lag(of: &LoadFacts) -> Option<Warning> {
    of.is_late().then(|| Warning::SendLag {
        cause: of.lag_cause(),
        send_lag_us_p99: us(of.exchanges.send_lag_ns_p99),
        send_lag_us_max: us(of.exchanges.send_lag_ns_max),
        steal_us: of.steal_ns.map(us),
        generator_cores: of.generator_cores(),
        generator_preemptions: of.exchanges.generator_preemptions,
        generator_run_queue_us: of.exchanges.generator_run_queue_ns.map(us),
        longest_stall_us: of.longest_stall_us(),
    })
}

/// In an open loop the generator polls before each start, so a busy core alone is no evidence: it
/// must also be late.
fn generator_saturated(of: &LoadFacts) -> Option<Warning> {
    let is_bottleneck = match of.model {
        LoadModel::Closed => of.subject_load() != SubjectLoad::Busy,
        LoadModel::Open => of.is_late(),
        LoadModel::Batch => false,
    };
    let subject_cores = |subject: SubjectCpu| share(subject.used_ns, of.duration_ns);
    (is_bottleneck && of.is_generator_busy()).then(|| Warning::GeneratorSaturated {
        subject: of.subject_load(),
        subject_cores: of.subject.map(subject_cores),
        generator_threads: of.threads.into(),
        generator_cores: of.generator_cores(),
        generator_preemptions: of.exchanges.generator_preemptions,
        generator_run_queue_us: of.exchanges.generator_run_queue_ns.map(us),
        longest_stall_us: of.longest_stall_us(),
    })
}

/// In a closed loop a generator that waits for a core lowers the rate and lengthens the response
/// times, and no schedule shows it.
fn generator_starved(of: &LoadFacts) -> Option<Warning> {
    let waited_ns = of.exchanges.generator_run_queue_ns?;
    let threads = u64::from(of.threads.max(1));
    let is_starved = share(waited_ns, of.duration_ns.saturating_mul(threads)) > STARVED_SHARE;
    (of.model == LoadModel::Closed && is_starved).then(|| Warning::GeneratorStarved {
        generator_threads: threads,
        generator_run_queue_us: us(waited_ns),
        window_us: us(of.duration_ns),
        generator_preemptions: of.exchanges.generator_preemptions,
    })
}

fn dropped(of: &LoadFacts) -> Option<Warning> {
    (of.exchanges.dropped > 0).then_some(Warning::Dropped {
        dropped: of.exchanges.dropped,
        intended: of.exchanges.intended,
        connections: of.connections.into(),
    })
}

fn bottleneck(of: &LoadFacts) -> Bottleneck {
    let exchanges = &of.exchanges;
    let short_of = exchanges.intended.saturating_sub(exchanges.completed);
    if of.is_late() {
        Bottleneck::Generator
    } else if of.subject_load() == SubjectLoad::Busy {
        Bottleneck::Subject
    } else if short_of > 0 && share(exchanges.errors.total(), short_of) > MOST {
        Bottleneck::Errors
    } else if exchanges.dropped > 0 || has_waits(exchanges) {
        Bottleneck::Connections
    } else {
        Bottleneck::AnswerTime
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
    (is_overrun || is_short || is_behind).then(|| Warning::RateNotReached {
        bottleneck: bottleneck(of),
        subject: of.subject_load(),
        cause: of.is_late().then(|| of.lag_cause()),
        intended_per_s,
        achieved_per_s,
        overrun_us: us(of.overrun_ns()),
        window_us: us(of.duration_ns),
        waited: exchanges.waited,
        connections: of.connections.into(),
        steal_us: of.steal_ns.map(us),
        generator_run_queue_us: exchanges.generator_run_queue_ns.map(us),
        service_time_us_p50: of.service_time_ns_p50.map(us),
    })
}

/// Waiting counts as response time, as it would for a user. But the subject never saw the
/// simultaneous requests of users with connections of their own. A late generator sends in bursts,
/// so its waits say nothing about connections.
fn connections_busy(of: &LoadFacts) -> Option<Warning> {
    let is_busy = of.model == LoadModel::Open && has_waits(&of.exchanges) && !of.is_late();
    is_busy.then_some(Warning::ConnectionsBusy {
        waited: of.exchanges.waited,
        intended: of.exchanges.intended,
        connections: of.connections.into(),
    })
}

fn steal(of: &LoadFacts) -> Option<Warning> {
    let steal_ns = of.steal_ns?;
    let is_much = steal_ns > STEAL_GRAIN_NS && share(steal_ns, of.duration_ns) > STEAL_SHARE;
    is_much.then_some(Warning::Steal {
        steal_ns,
        window_ns: of.duration_ns,
    })
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
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
