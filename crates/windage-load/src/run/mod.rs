//! One run: the loop that sends, receives and records.
//!
//! This module has what all protocols share: when to send, what to record, when to end. `http1` and
//! `streams` move the bytes; `lifecycle` opens and closes connections; `turns` begins runs of
//! several targets.

mod http1;
mod lifecycle;
mod report;
mod streams;
mod turns;

use std::cmp::Reverse;

use nix::errno::Errno;
use windage_model::Exchanges;

use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::connection::Phase;
use crate::engine::{Engine, EngineError, LONGEST_WAIT_NS, waiting_failed, whole_ns};
use crate::epoll::Readiness;
use crate::lane::State;
use crate::member::Member;
use crate::own::Stalls;
use crate::pace::{BACKLOG_BOUND, ClosedPacer, OpenPacer, Pace, Pacer, Start};
use crate::recording::Recording;
use crate::response::Answer;
use crate::target::TargetId;
use crate::turns::Course;
use crate::upkeep::ConnectReport;
use crate::wakeup::{ExactTimers, Waited};
use crate::work::{Position, Protocol};

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
        let members = &[target];
        let course = Course::endless(members);
        match pace {
            Pace::Closed { lasts } => {
                let ends_ns = began_ns.saturating_add(whole_ns(lasts));
                let mut pacer = ClosedPacer::new(course, began_ns, ends_ns);
                Run::new(self, members, &mut pacer, recording, began_ns, ends_ns).execute()
            }
            Pace::Open { schedule, lasts } => {
                let _exact = ExactTimers::for_this_thread();
                let lasts_ns = whole_ns(lasts);
                let ends_ns = began_ns.saturating_add(lasts_ns);
                let mut pacer = OpenPacer::new(schedule, course, began_ns, Some(lasts_ns));
                let run = Run::new(self, members, &mut pacer, recording, began_ns, ends_ns);
                run.execute().map(|report| RunReport {
                    duration_ns: lasts_ns,
                    ..report
                })
            }
        }
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
    /// The targets under load.
    members: &'r [TargetId],
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
    /// Due starts of all members that wait for a lane.
    waiting: usize,
    /// Most starts of one member that wait.
    most_waiting: usize,
    first_sent_ns: Option<u64>,
    last_completed_ns: Option<u64>,
    stalls: Stalls,
    /// This pass of the loop did more than look at the clock.
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
        members: &'r [TargetId],
        pacer: &'r mut P,
        recording: &'r mut Recording,
        began_ns: u64,
        ends_ns: u64,
    ) -> Run<'r, P> {
        Run {
            members,
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
            waiting: 0,
            // A dead target may not use up the room of the others.
            most_waiting: BACKLOG_BOUND / members.len().max(1),
            first_sent_ns: None,
            last_completed_ns: None,
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
        let result = self.loop_until_done();
        self.cut_off();
        self.tell();
        result?;
        self.report.exchanges = self.sum();
        let report = &mut self.report;
        report.ended_ns = monotonic_ns();
        let from_ns = self
            .first_sent_ns
            .filter(|_| P::IS_CLOSED)
            .unwrap_or(report.started_ns);
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

    fn loop_until_done(&mut self) -> Result<(), EngineError> {
        let mut now_ns = monotonic_ns();
        loop {
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
            if self.waiting > 0 {
                self.grow();
            }
            self.drive_stirred();
            let is_over = self.pacer.is_over(now_ns);
            if is_over && self.ends_ns == u64::MAX {
                // The end of turns is known only now.
                self.ends_ns = now_ns;
                self.last_ns = now_ns.saturating_add(self.engine.timeout_ns);
            }
            let is_done = is_over && self.outstanding == 0 && self.waiting == 0;
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
        let start_ns = self.pacer.next_ns().filter(|_| self.may_start());
        let engine = &mut *self.engine;
        let resume_ns = engine.thinkers.peek().map(|Reverse((at_ns, _))| *at_ns);
        if let Some(at_ns) = [start_ns, resume_ns].into_iter().flatten().min() {
            let at_ns = at_ns.min(now_ns + LONGEST_WAIT_NS);
            let waited = engine.wakeup.wait(&mut engine.epoll, now_ns, at_ns)?;
            if waited == Waited::Polling && engine.epoll.ready() == 0 && !self.was_at_work {
                self.stalls.looked(now_ns, monotonic_ns());
            }
            return Ok(());
        }
        let end_ns = if now_ns < self.ends_ns {
            self.ends_ns
        } else {
            self.last_ns
        };
        let until_ns = self.next_sweep_ns.min(end_ns).min(now_ns + LONGEST_WAIT_NS);
        self.engine.epoll.wait_until(now_ns, until_ns)
    }

    /// Whether a due start may lead to anything. Without a free lane it can't go out, and an event
    /// announces a free lane. But a waiting start can open a connection. One member's free lane is
    /// enough, because the starts of the others only have to get out of its way.
    fn may_start(&self) -> bool {
        self.members.iter().any(|&TargetId(target)| {
            !self.engine.targets[target].member.idle.is_empty() || self.may_grow(target)
        })
    }

    /// Publishes what has happened since the last time.
    fn tell(&mut self) {
        let Some(progress) = &self.engine.progress else {
            return;
        };
        let exchanges = self.sum();
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

    /// The counts of all members.
    fn sum(&self) -> Exchanges {
        let mut sum = Exchanges::default();
        for &TargetId(target) in self.members {
            sum.merge(&self.engine.targets[target].member.exchanges);
        }
        sum
    }

    /// The part in the run of a lane's target.
    #[inline]
    fn member(&mut self, lane: usize) -> &mut Member {
        &mut self.engine.targets[self.engine.lanes[lane].target].member
    }

    /// Whether a lane sends the same bytes each time.
    #[inline]
    fn is_constant(&self, lane: usize) -> bool {
        let target = self.engine.lanes[lane].target;
        self.engine.targets[target].member.is_constant
    }

    #[inline]
    fn protocol_of(&self, target: usize) -> Protocol {
        self.engine.targets[target].target.work.protocol()
    }

    fn nothing_to_send(&self, now_ns: u64) -> bool {
        self.waiting == 0 && self.pacer.is_over(now_ns)
    }

    /// Sends what is due on free lanes, the longest free first. In an open loop, starts without a
    /// lane wait; in a closed loop the turn does.
    #[inline]
    fn send_due(&mut self, now_ns: u64) {
        while let Some(target) = self.pacer.due(now_ns) {
            let member = &mut self.engine.targets[target].member;
            let Some(lane) = member.idle.pop_front() else {
                match P::IS_CLOSED {
                    true if self.let_turn_pass(target, now_ns) => continue,
                    true => return,
                    false => self.queue(target, now_ns),
                }
                continue;
            };
            member.exchanges.intended += 1;
            if !P::IS_CLOSED
                && let State::Idle { since_ns } = self.engine.lanes[lane].state
            {
                member.note_pass(now_ns, since_ns);
            }
            let start = self.pacer.take(now_ns);
            self.send(lane, start);
        }
    }

    /// Queues the start that is due, for which its target has no free lane.
    fn queue(&mut self, target: usize, now_ns: u64) {
        let Start::At(due_ns) = self.pacer.take(now_ns) else {
            return;
        };
        let member = &mut self.engine.targets[target].member;
        member.exchanges.intended += 1;
        // A lane was free for it, but the generator was late.
        if member.was_free_at(due_ns, now_ns) {
            let lag_ns = now_ns.saturating_sub(due_ns);
            self.recording.send_lag.saturating_record(lag_ns);
        }
        self.waiting += usize::from(member.queue(due_ns, self.most_waiting));
    }

    /// Sends a target's waiting starts on its free lanes.
    #[inline]
    fn send_waiting(&mut self, target: usize) {
        loop {
            let member = &mut self.engine.targets[target].member;
            if member.backlog.is_empty() {
                return;
            }
            let Some(lane) = member.idle.pop_front() else {
                return;
            };
            let Some(due_ns) = member.backlog.pop_front() else {
                return;
            };
            member.exchanges.waited += 1;
            self.waiting -= 1;
            self.send(lane, Start::At(due_ns));
        }
    }

    /// Ends the turn of a target that has had no free lane and given no answer for the timeout. It
    /// is not waited for again until it answers. Returns whether the turn has ended.
    #[inline]
    fn let_turn_pass(&mut self, target: usize, now_ns: u64) -> bool {
        let Some(began_ns) = self.pacer.turn_began_ns() else {
            return false;
        };
        let member = &mut self.engine.targets[target].member;
        let since_ns = began_ns.max(member.answered_ns);
        if !member.is_lost && now_ns < since_ns.saturating_add(self.engine.timeout_ns) {
            return false;
        }
        let left = self.pacer.skip_turn(now_ns);
        member.is_lost = true;
        member.exchanges.intended += left;
        member.exchanges.dropped += left;
        true
    }

    /// Sends the next request of a free lane's user.
    #[inline]
    fn send(&mut self, index: usize, start: Start) {
        let lane = &mut self.engine.lanes[index];
        let State::Idle { since_ns } = lane.state else {
            return;
        };
        let slot = &mut self.engine.targets[lane.target];
        let work = &slot.target.work;
        let position = match (slot.member.is_constant, lane.next.take()) {
            (true, _) => Position::default(),
            (false, Some(next)) => next,
            (false, None) => slot.draws.begin(work),
        };
        let (protocol, now_ns) = (work.protocol(), monotonic_ns());
        lane.begin(start, position, now_ns);
        slot.member.exchanges.sent += 1;
        self.outstanding += 1;
        self.was_at_work = true;
        self.first_sent_ns.get_or_insert(now_ns);
        // A start that waited for a lane says nothing about the generator's lateness.
        if let Start::At(intended_ns) = start
            && since_ns <= intended_ns
        {
            self.recording
                .send_lag
                .saturating_record(now_ns.saturating_sub(intended_ns));
        }
        match protocol {
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
        let slot = &self.engine.targets[connection.target];
        if !slot.member.is_loaded {
            // Another target's connection died; that target's next `connect` reopens it.
            return self.engine.tend(readiness, &mut ConnectReport::default());
        }
        match (connection.phase, slot.target.work.protocol()) {
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
        let member = self.member(index);
        member.exchanges.completed += 1;
        member.exchanges.status.count(status);
        member.answered_ns = now_ns;
        member.is_lost = false;
        self.last_completed_ns = Some(now_ns);
        self.outstanding -= 1;
    }

    /// Continues with a lane: the next step of its flow, or whatever is due.
    #[inline]
    fn free(&mut self, index: usize, now_ns: u64) {
        if !self.is_constant(index) && self.go_on(index, now_ns) {
            return;
        }
        self.set_idle(index, now_ns);
    }

    /// Makes a lane free for whatever waits or is due.
    #[inline]
    fn set_idle(&mut self, index: usize, now_ns: u64) {
        let lane = &mut self.engine.lanes[index];
        lane.state = State::Idle { since_ns: now_ns };
        let target = lane.target;
        self.engine.targets[target].member.idle.push_back(index);
        self.send_waiting(target);
        self.send_due(now_ns);
    }

    /// Whether the lane's user continues its flow or thinks, rather than being free. With turns it
    /// continues when its target's turn has a start for it.
    fn go_on(&mut self, index: usize, now_ns: u64) -> bool {
        let follows = self.what_follows(index, now_ns);
        self.engine.lanes[index].next = follows.and_then(|(_, next)| next);
        let Some((resume_ns, _)) = follows.filter(|_| !self.pacer.has_turns()) else {
            return false;
        };
        self.think(index, resume_ns);
        self.resume_thinkers(now_ns);
        true
    }

    /// When the user whose answer has just arrived goes on, and with which step; `None` at the end
    /// of its flow.
    fn what_follows(&self, index: usize, now_ns: u64) -> Option<(u64, Option<Position>)> {
        let lane = &self.engine.lanes[index];
        let work = &self.engine.targets[lane.target].target.work;
        let step = work.step(lane.exchange.position);
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
            let member = &mut self.engine.targets[lane.target].member;
            if at_ns < self.ends_ns {
                member.exchanges.intended += 1;
                self.send(index, Start::At(at_ns));
                continue;
            }
            if !P::IS_CLOSED {
                lane.next = None;
            }
            member.idle.push_back(index);
            let target = lane.target;
            self.send_waiting(target);
        }
    }

    /// Counts an exchange without an answer.
    fn count_loss(&mut self, lane: usize, cause: Cause, why: &dyn Fn() -> String) {
        let errors = &mut self.member(lane).exchanges.errors;
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
