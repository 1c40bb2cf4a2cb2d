//! One run: the loop that sends, receives and records.
//!
//! This module has what all protocols share: when to send, what to record, when to end. `http1` and
//! `streams` move the bytes; `lifecycle` opens and closes connections.

mod http1;
mod lifecycle;
mod report;
mod streams;

use std::cmp::Reverse;

use nix::errno::Errno;

use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::connection::Phase;
use crate::engine::{Engine, EngineError, LONGEST_WAIT_NS, waiting_failed, whole_ns};
use crate::epoll::Readiness;
use crate::lane::State;
use crate::own::Stalls;
use crate::pace::{ClosedPacer, OpenPacer, Pace, Pacer, Start};
use crate::recording::Recording;
use crate::response::Answer;
use crate::target::TargetId;
use crate::upkeep::ConnectReport;
use crate::wakeup::{ExactTimers, Waited};
use crate::work::{Position, Protocol, Work};

pub use report::RunReport;

/// Interval at which counts are published; a rate computed from them is off by at most this.
const TELL_EVERY_NS: u64 = 10_000_000;
/// Interval at which quantiles are published; finding them takes some microseconds.
const TELL_TIMES_EVERY_NS: u64 = 250_000_000;

impl Engine {
    /// Loads a target for as long as `pace` says, then waits until no exchange is outstanding.
    /// Takes at most the length of the pace, plus the timeout, plus a little.
    ///
    /// # Errors
    /// When waiting for events fails. Failed exchanges are in the report instead.
    pub fn run(
        &mut self,
        target: TargetId,
        pace: Pace<'_>,
        recording: &mut Recording,
    ) -> Result<RunReport, EngineError> {
        self.run_from(target, monotonic_ns(), pace, recording)
    }

    /// A run whose schedule began at a given time, shared by several engines.
    pub(crate) fn run_from(
        &mut self,
        target: TargetId,
        began_ns: u64,
        pace: Pace<'_>,
        recording: &mut Recording,
    ) -> Result<RunReport, EngineError> {
        self.slot(target)?;
        // Taken out for the duration of the run, so that the pacer can borrow it along with the
        // engine.
        let mut backlog = std::mem::take(&mut self.backlog);
        let result = match pace {
            Pace::Closed { lasts } => {
                let ends_ns = began_ns.saturating_add(whole_ns(lasts));
                let mut pacer = ClosedPacer { ends_ns };
                Run::new(self, target.0, &mut pacer, recording, began_ns, ends_ns)
                    .execute()
                    .map(|mut report| {
                        report.exchanges.intended = report.exchanges.sent;
                        report
                    })
            }
            Pace::Open { schedule, lasts } => {
                let _exact = ExactTimers::for_this_thread();
                let lasts_ns = whole_ns(lasts);
                let mut pacer = OpenPacer::new(schedule, &mut backlog, began_ns, lasts_ns);
                let ends_ns = began_ns.saturating_add(lasts_ns);
                let result =
                    Run::new(self, target.0, &mut pacer, recording, began_ns, ends_ns).execute();
                result.map(|mut report| {
                    report.exchanges.intended += pacer.intended;
                    report.exchanges.dropped = pacer.dropped;
                    report.exchanges.waited = pacer.waited;
                    report.duration_ns = lasts_ns;
                    report
                })
            }
        };
        self.backlog = backlog;
        result
    }
}

/// The error count to which a failure belongs.
#[derive(Clone, Copy, Debug)]
enum Cause {
    Timeout,
    Closed,
    Protocol,
}

/// A run in progress.
struct Run<'r, P> {
    engine: &'r mut Engine,
    target: usize,
    work: Work,
    /// Every exchange sends the same bytes.
    is_constant: bool,
    pacer: &'r mut P,
    recording: &'r mut Recording,
    report: RunReport,
    /// No request is sent after this time.
    ends_ns: u64,
    /// Nothing is outstanding after this time.
    last_ns: u64,
    /// No timeout or pause ends before this time.
    next_sweep_ns: u64,
    outstanding: usize,
    first_sent_ns: Option<u64>,
    last_completed_ns: Option<u64>,
    /// The connection opened last because starts were waiting.
    grown: Option<usize>,
    stalls: Stalls,
    /// This turn of the loop did more than look at the clock.
    was_at_work: bool,
    /// When progress is published next; never without a watcher.
    next_tell_ns: u64,
    next_times_ns: u64,
    /// The counts last published.
    published: (u64, u64),
}

impl<'r, P: Pacer> Run<'r, P> {
    fn new(
        engine: &'r mut Engine,
        target: usize,
        pacer: &'r mut P,
        recording: &'r mut Recording,
        began_ns: u64,
        ends_ns: u64,
    ) -> Run<'r, P> {
        let work = engine.targets[target].target.work.clone();
        Run {
            target,
            is_constant: work.constant().is_some(),
            work,
            pacer,
            recording,
            report: RunReport {
                started_ns: began_ns,
                ..RunReport::default()
            },
            ends_ns,
            last_ns: ends_ns.saturating_add(engine.timeout_ns),
            next_sweep_ns: began_ns.saturating_add(engine.timeout_ns),
            outstanding: 0,
            first_sent_ns: None,
            last_completed_ns: None,
            grown: None,
            stalls: Stalls::default(),
            was_at_work: false,
            next_tell_ns: match engine.progress {
                Some(_) => began_ns,
                None => u64::MAX,
            },
            next_times_ns: began_ns,
            published: (0, 0),
            engine,
        }
    }

    fn execute(mut self) -> Result<RunReport, EngineError> {
        let (cpu_before_ns, own_before) = (thread_cpu_ns(), self.engine.own.read());
        self.gather();
        let result = self.turn_until_done();
        self.cut_off();
        self.tell();
        result?;
        let report = &mut self.report;
        report.ended_ns = monotonic_ns();
        let from_ns = self.first_sent_ns.unwrap_or(report.started_ns);
        // Time in which nothing was answered any more counts too.
        let least_ns = report.ended_ns.min(self.ends_ns);
        report.duration_ns = self
            .last_completed_ns
            .map_or(report.ended_ns, |last_ns| last_ns.max(least_ns))
            .saturating_sub(from_ns);
        report.generator_cpu_ns = thread_cpu_ns().saturating_sub(cpu_before_ns);
        let own = self.engine.own.read().since(&own_before);
        own.note_in(&mut report.exchanges);
        self.stalls
            .note_in(&mut report.exchanges, report.started_ns);
        report.take_lag_of(self.recording);
        Ok(self.report)
    }

    fn turn_until_done(&mut self) -> Result<(), EngineError> {
        let mut now_ns = monotonic_ns();
        loop {
            let sent_before = self.report.exchanges.sent;
            self.was_at_work = now_ns >= self.next_sweep_ns.min(self.next_tell_ns);
            if now_ns >= self.next_sweep_ns {
                self.sweep(now_ns);
            }
            if now_ns >= self.next_tell_ns {
                self.next_tell_ns = now_ns + TELL_EVERY_NS;
                self.tell();
                if now_ns >= self.next_times_ns {
                    self.next_times_ns = now_ns + TELL_TIMES_EVERY_NS;
                    self.tell_times();
                }
            }
            self.resume_thinkers(now_ns);
            self.send_due(now_ns);
            self.drive_stirred();
            self.was_at_work |= self.report.exchanges.sent != sent_before;
            let is_done = self.outstanding == 0 && self.pacer.is_over(now_ns);
            if is_done || now_ns >= self.last_ns || self.engine.is_stopped() {
                return Ok(());
            }
            self.wait(now_ns).map_err(waiting_failed)?;
            for event in 0..self.engine.epoll.ready() {
                let readiness = self.engine.epoll.readiness(event);
                self.handle(readiness);
            }
            now_ns = monotonic_ns();
        }
    }

    /// Waits for events, or for the next thing to do by the clock.
    fn wait(&mut self, now_ns: u64) -> Result<(), Errno> {
        if !self.engine.stirred.is_empty() {
            return self.engine.epoll.poll();
        }
        // Without a free lane no start can go out, and an event announces a free lane. But a
        // waiting start can open a connection.
        let may_start = !self.engine.idle.is_empty() || self.may_grow();
        let engine = &mut *self.engine;
        let start_ns = self.pacer.next_ns().filter(|_| may_start);
        let resume_ns = engine.thinkers.peek().map(|Reverse((at_ns, _))| *at_ns);
        if let Some(at_ns) = [start_ns, resume_ns].into_iter().flatten().min() {
            let at_ns = at_ns.min(now_ns + LONGEST_WAIT_NS);
            let waited = engine.wakeup.wait(&mut engine.epoll, now_ns, at_ns)?;
            if waited == Waited::Polling && engine.epoll.ready() == 0 && !self.was_at_work {
                self.stalls.looked(now_ns, monotonic_ns());
            }
            return Ok(());
        }
        let turn_ns = if now_ns < self.ends_ns {
            self.ends_ns
        } else {
            self.last_ns
        };
        let until_ns = self
            .next_sweep_ns
            .min(turn_ns)
            .min(now_ns + LONGEST_WAIT_NS);
        self.engine.epoll.wait_until(now_ns, until_ns)
    }

    /// Publishes what has happened since the last time.
    fn tell(&mut self) {
        let Some(progress) = &self.engine.progress else {
            return;
        };
        let exchanges = &self.report.exchanges;
        let now = (exchanges.completed, exchanges.errors.total());
        progress.add(now.0 - self.published.0, now.1 - self.published.1);
        self.published = now;
    }

    /// Publishes the current quantiles.
    fn tell_times(&self) {
        if let Some(progress) = &self.engine.progress {
            let times = &self.recording.response_time;
            progress.times(times.value_at_quantile(0.5), times.value_at_quantile(0.99));
        }
    }

    /// Sends on free lanes, the longest free first, until no lane is free or no start is due.
    #[inline]
    fn send_due(&mut self, now_ns: u64) {
        let free_since_ns = self.free_since_ns();
        while let Some(&lane) = self.engine.idle.front() {
            let Some(start) = self.pacer.take(now_ns) else {
                return;
            };
            self.engine.idle.pop_front();
            self.send(lane, start);
        }
        // A lane was free for these too, but the generator was late for all of them.
        let lag = &mut self.recording.send_lag;
        self.pacer.queue_due(now_ns, |due_ns| {
            if free_since_ns.is_some_and(|since_ns| since_ns <= due_ns) {
                lag.saturating_record(now_ns.saturating_sub(due_ns));
            }
        });
        if self.pacer.waiting() > 0 {
            self.grow();
        }
    }

    /// Since when a lane has been free for starts; the closed loop does not need it.
    #[inline]
    fn free_since_ns(&self) -> Option<u64> {
        if P::IS_CLOSED {
            return None;
        }
        let lane = *self.engine.idle.front()?;
        match self.engine.lanes[lane].state {
            State::Idle { since_ns } => Some(since_ns),
            _ => None,
        }
    }

    /// Sends the next request of a free lane's user.
    #[inline]
    fn send(&mut self, index: usize, start: Start) {
        let lane = &mut self.engine.lanes[index];
        let State::Idle { since_ns } = lane.state else {
            return;
        };
        let position = match (self.is_constant, lane.next.take()) {
            (true, _) => Position::default(),
            (false, Some(next)) => next,
            (false, None) => self.engine.targets[self.target].draws.begin(&self.work),
        };
        let now_ns = monotonic_ns();
        lane.begin(start, position, now_ns);
        self.outstanding += 1;
        self.report.exchanges.sent += 1;
        self.first_sent_ns.get_or_insert(now_ns);
        // A start that waited for a lane says nothing about the generator's lateness.
        if let Start::At(intended_ns) = start
            && since_ns <= intended_ns
        {
            self.recording
                .send_lag
                .saturating_record(now_ns.saturating_sub(intended_ns));
        }
        match self.work.protocol() {
            Protocol::Http1 => self.send_bytes(index, position),
            Protocol::Http2 | Protocol::Grpc => self.send_stream(index, position),
        }
    }

    #[inline]
    fn handle(&mut self, readiness: Readiness) {
        let Some(index) = self.engine.connection_of(readiness.token) else {
            return;
        };
        let connection = &self.engine.connections[index];
        if connection.target != self.target {
            // Another target's connection died; that target's next `connect` reopens it.
            return self.engine.tend(readiness, &mut ConnectReport::default());
        }
        match (connection.phase, self.work.protocol()) {
            (Phase::Open, Protocol::Http1) => self.handle_bytes(index, readiness),
            (Phase::Open, Protocol::Http2 | Protocol::Grpc) => {
                self.drive(index, Some(readiness));
            }
            (Phase::Connecting { .. }, _) => self.establish(index, readiness),
            (Phase::Closed | Phase::Paused { .. }, _) => {}
        }
    }

    /// Records a whole answer.
    #[inline]
    fn record(&mut self, index: usize, status: u16, now_ns: u64) {
        let exchange = &self.engine.lanes[index].exchange;
        self.recording
            .note(exchange.intended_ns, exchange.sent_ns, now_ns);
        self.report.exchanges.completed += 1;
        self.report.exchanges.status.count(status);
        self.last_completed_ns = Some(now_ns);
        self.outstanding -= 1;
    }

    /// Continues with a lane: the next step of its flow, or whatever is due.
    #[inline]
    fn free(&mut self, index: usize, now_ns: u64) {
        let lane = &mut self.engine.lanes[index];
        lane.state = State::Idle { since_ns: now_ns };
        if !self.is_constant && self.go_on(index, now_ns) {
            return;
        }
        self.engine.idle.push_back(index);
        self.send_due(now_ns);
    }

    /// Whether the lane's user continues its flow or thinks, rather than being free.
    fn go_on(&mut self, index: usize, now_ns: u64) -> bool {
        let Some((resume_ns, next)) = self.what_follows(index, now_ns) else {
            self.engine.lanes[index].next = None;
            return false;
        };
        self.engine.lanes[index].next = next;
        self.think(index, resume_ns);
        self.resume_thinkers(now_ns);
        true
    }

    /// When the user whose answer has just arrived goes on, and with which step; `None` at the end
    /// of its flow.
    fn what_follows(&self, index: usize, now_ns: u64) -> Option<(u64, Option<Position>)> {
        let step = self.work.step(self.engine.lanes[index].exchange.position);
        // In an open loop nothing depends on think time after the last step.
        let goes_on = step.next.is_some() || (step.think_ns > 0 && P::IS_CLOSED);
        goes_on.then(|| (now_ns.saturating_add(step.think_ns), step.next))
    }

    /// Lets a lane's user think until a time.
    fn think(&mut self, index: usize, until_ns: u64) {
        // No step follows after the end, and waiting starts need the lane.
        let until_ns = until_ns.min(self.ends_ns);
        self.engine.lanes[index].state = State::Thinking { until_ns };
        self.engine.thinkers.push(Reverse((until_ns, index)));
    }

    /// Lets users who have finished thinking take their next step, unless the run is over by then.
    fn resume_thinkers(&mut self, now_ns: u64) {
        while let Some(&Reverse((at_ns, index))) = self.engine.thinkers.peek() {
            if at_ns > now_ns {
                return;
            }
            self.engine.thinkers.pop();
            let lane = &mut self.engine.lanes[index];
            // Otherwise the connection, and with it this user, was lost in the meantime.
            if lane.state != (State::Thinking { until_ns: at_ns }) {
                continue;
            }
            lane.state = State::Idle { since_ns: at_ns };
            if at_ns < self.ends_ns {
                self.report.exchanges.intended += 1;
                self.send(index, Start::At(at_ns));
                continue;
            }
            if !P::IS_CLOSED {
                lane.next = None;
            }
            self.engine.idle.push_back(index);
        }
    }

    /// Counts an exchange without an answer.
    fn count_loss(&mut self, cause: Cause, why: &dyn Fn() -> String) {
        let errors = &mut self.report.exchanges.errors;
        match cause {
            Cause::Timeout => errors.timeout += 1,
            Cause::Closed => errors.closed += 1,
            Cause::Protocol => errors.protocol += 1,
        }
        self.report.first_error.get_or_insert_with(why);
        self.outstanding -= 1;
    }
}

/// A whole answer, and whether its connection can be used again.
#[derive(Clone, Copy, Debug)]
struct Received {
    answer: Answer,
    is_clean: bool,
}
