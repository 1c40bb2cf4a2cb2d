//! One run: the loop that sends, receives and records.

use std::time::Duration;

use nix::errno::Errno;
use windage_model::Exchanges;

use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::connection::{Connection, State};
use crate::engine::{ConnectReport, Engine, EngineError, LONGEST_WAIT_NS, waiting_failed};
use crate::epoll::Readiness;
use crate::pace::{Pacer, Start};
use crate::recording::Recording;
use crate::response::{Answer, Progress};
use crate::socket;

/// Reads from one connection before others get their turn: a megabyte's worth.
const READS_AT_ONCE: usize = 16;

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunReport {
    /// Counts of all that was sent and came back. Of requests that were sent, each is completed
    /// or an error other than `connect`; only a run that was stopped leaves some out. Send lag
    /// is that of the recording, which holds more than this run unless it was cleared before.
    pub exchanges: Exchanges,
    /// Start, in nanoseconds of `CLOCK_MONOTONIC`.
    pub started_ns: u64,
    /// End, with nothing outstanding, in nanoseconds of `CLOCK_MONOTONIC`.
    pub ended_ns: u64,
    /// Closed loop: first send to last completion, or to the end when nothing was completed.
    /// Open loop: the length of the schedule. In nanoseconds.
    pub duration_ns: u64,
    /// CPU that the calling thread used for the run, in nanoseconds.
    pub generator_cpu_ns: u64,
    /// The first thing that went wrong, in words.
    pub first_error: Option<String>,
}

/// Which count of errors a failure goes to.
#[derive(Clone, Copy, Debug)]
enum Cause {
    Timeout,
    Closed,
    Protocol,
}

/// A run under way.
pub(crate) struct Run<'r, P> {
    engine: &'r mut Engine,
    target: usize,
    pacer: &'r mut P,
    recording: &'r mut Recording,
    report: RunReport,
    /// Nothing is outstanding after this.
    last_ns: u64,
    /// No timeout and no pause ends before this.
    next_sweep_ns: u64,
    outstanding: usize,
    first_sent_ns: Option<u64>,
    last_completed_ns: Option<u64>,
}

impl<'r, P: Pacer> Run<'r, P> {
    pub(crate) fn new(
        engine: &'r mut Engine,
        target: usize,
        pacer: &'r mut P,
        recording: &'r mut Recording,
        began_ns: u64,
        ends_ns: u64,
    ) -> Run<'r, P> {
        let last_ns = ends_ns.saturating_add(engine.timeout_ns);
        Run {
            target,
            pacer,
            recording,
            report: RunReport {
                started_ns: began_ns,
                ..RunReport::default()
            },
            last_ns,
            next_sweep_ns: began_ns.saturating_add(engine.timeout_ns),
            outstanding: 0,
            first_sent_ns: None,
            last_completed_ns: None,
            engine,
        }
    }

    pub(crate) fn execute(mut self) -> Result<RunReport, EngineError> {
        let cpu_before_ns = thread_cpu_ns();
        self.gather();
        let result = self.turn_until_done();
        self.cut_off();
        result?;
        let report = &mut self.report;
        report.ended_ns = monotonic_ns();
        let from_ns = self.first_sent_ns.unwrap_or(report.started_ns);
        report.duration_ns = self
            .last_completed_ns
            .unwrap_or(report.ended_ns)
            .saturating_sub(from_ns);
        report.generator_cpu_ns = thread_cpu_ns().saturating_sub(cpu_before_ns);
        let lag = &self.recording.send_lag;
        report.exchanges.send_lag_ns_p50 = lag.value_at_quantile(0.5);
        report.exchanges.send_lag_ns_p99 = lag.value_at_quantile(0.99);
        report.exchanges.send_lag_ns_max = lag.max();
        Ok(self.report)
    }

    /// Collects the target's free connections and begins to open the others.
    fn gather(&mut self) {
        self.engine.idle.clear();
        for index in self.engine.targets[self.target].connections.clone() {
            match self.engine.connections[index].state {
                State::Idle { .. } => self.engine.idle.push_back(index),
                _ => self.open(index),
            }
        }
    }

    fn turn_until_done(&mut self) -> Result<(), EngineError> {
        let mut now_ns = monotonic_ns();
        loop {
            if now_ns >= self.next_sweep_ns {
                self.sweep(now_ns);
            }
            self.send_due(now_ns);
            let is_done = self.outstanding == 0 && self.pacer.is_over(now_ns);
            if is_done || now_ns >= self.last_ns || self.engine.stop.is_stopped() {
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
        let engine = &mut *self.engine;
        // A start can't go out without a free connection, and an event will tell of one.
        if !engine.idle.is_empty()
            && let Some(start_ns) = self.pacer.next_ns()
        {
            return engine.wakeup.wait(
                &mut engine.epoll,
                now_ns,
                start_ns.min(now_ns + LONGEST_WAIT_NS),
            );
        }
        let ends_ns = self.last_ns - engine.timeout_ns;
        let turn_ns = if now_ns < ends_ns {
            ends_ns
        } else {
            self.last_ns
        };
        let wait_ns = self
            .next_sweep_ns
            .min(turn_ns)
            .saturating_sub(now_ns)
            .min(LONGEST_WAIT_NS);
        engine.epoll.wait(Duration::from_nanos(wait_ns))
    }

    /// Sends on free connections, the longest free first, until none is left or nothing is due.
    #[inline]
    fn send_due(&mut self, now_ns: u64) {
        while let Some(&index) = self.engine.idle.front() {
            let Some(start) = self.pacer.take(now_ns) else {
                return;
            };
            self.engine.idle.pop_front();
            self.send(index, start);
        }
        self.pacer.queue_due(now_ns);
    }

    #[inline]
    fn send(&mut self, index: usize, start: Start) {
        let connection = &mut self.engine.connections[index];
        let State::Idle { since_ns } = connection.state else {
            return;
        };
        let now_ns = monotonic_ns();
        connection.begin(start, now_ns);
        self.outstanding += 1;
        self.report.exchanges.sent += 1;
        self.first_sent_ns.get_or_insert(now_ns);
        // A start that had to wait for a connection says nothing of the generator's lateness.
        if let Start::At(intended_ns) = start
            && since_ns <= intended_ns
        {
            self.recording
                .send_lag
                .saturating_record(now_ns.saturating_sub(intended_ns));
        }
        self.send_rest(index);
    }

    /// Sends what is left of a request; a report comes when there is room for more.
    #[inline]
    fn send_rest(&mut self, index: usize) {
        let request = &self.engine.targets[self.target].target.request;
        let connection = &mut self.engine.connections[index];
        loop {
            let rest = &request[connection.exchange.sent_bytes..];
            match connection.socket().and_then(|s| socket::send_some(s, rest)) {
                Ok(sent) => {
                    connection.exchange.sent_bytes += sent;
                    self.report.exchanges.sent_bytes += sent as u64;
                    if sent == rest.len() {
                        return;
                    }
                }
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return,
                // The server may have answered before it closed.
                Err(Errno::EPIPE) => return self.receive(index, true),
                Err(error) => {
                    return self.lose(index, Cause::Closed, &|| format!("sending: {error}"));
                }
            }
        }
    }

    #[inline]
    fn handle(&mut self, readiness: Readiness) {
        let Some(index) = self.engine.connection_of(readiness.token) else {
            return;
        };
        let connection = &self.engine.connections[index];
        if connection.target != self.target {
            // Another target's connection died; that target's next `connect` opens it again.
            return self.engine.tend(readiness, &mut ConnectReport::default());
        }
        match connection.state {
            State::Exchanging => {
                if readiness.writable && connection.exchange.sent_bytes < self.request_bytes() {
                    self.send_rest(index);
                }
                if readiness.readable {
                    self.receive(index, readiness.hung_up);
                }
            }
            State::Connecting { .. } => {
                self.finish_connecting(index);
                // The server may have closed already; that is reported only once.
                if readiness.readable {
                    self.receive(index, readiness.hung_up);
                }
            }
            State::Idle { .. } if readiness.readable => self.drop_if_dead(index),
            _ => {}
        }
    }

    fn drop_if_dead(&mut self, index: usize) {
        if self.engine.drop_if_dead(index) {
            self.engine.idle.retain(|&idle| idle != index);
            self.open_if_needed(index);
        }
    }

    fn request_bytes(&self) -> usize {
        self.engine.targets[self.target].target.request.len()
    }

    /// Reads an answer as far as it has come. With `hung_up` its end is known to be there.
    #[inline]
    fn receive(&mut self, index: usize, hung_up: bool) {
        for _ in 0..READS_AT_ONCE {
            let engine = &mut *self.engine;
            let connection = &mut engine.connections[index];
            if connection.state != State::Exchanging {
                return;
            }
            let received = connection
                .socket()
                .and_then(|s| socket::receive_some(s, &mut engine.buffer));
            let now_ns = monotonic_ns();
            match received {
                Ok(0) => return self.end_of_stream(index, now_ns),
                Ok(length) => {
                    self.report.exchanges.received_bytes += length as u64;
                    match connection.parser.feed(&engine.buffer[..length]) {
                        Ok(Progress::Complete { answer, consumed }) => {
                            let is_clean = consumed == length && !hung_up;
                            return self.complete(index, answer, now_ns, is_clean);
                        }
                        // A short read has emptied the socket: the next bytes make a new report.
                        Ok(Progress::Partial) if length < engine.buffer.len() && !hung_up => return,
                        Ok(Progress::Partial) => {}
                        Err(error) => {
                            return self.lose(index, Cause::Protocol, &|| error.to_string());
                        }
                    }
                }
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return,
                Err(error) => {
                    return self.lose(index, Cause::Closed, &|| format!("receiving: {error}"));
                }
            }
        }
        self.read_on_later(index);
    }

    fn read_on_later(&mut self, index: usize) {
        let connection = &self.engine.connections[index];
        let asked = connection
            .socket()
            .and_then(|s| self.engine.epoll.report_again(s, connection.token(index)));
        if let Err(error) = asked {
            self.lose(index, Cause::Closed, &|| format!("epoll_ctl: {error}"));
        }
    }

    fn end_of_stream(&mut self, index: usize, now_ns: u64) {
        let parser = &mut self.engine.connections[index].parser;
        let had_begun = parser.has_begun();
        match parser.finish() {
            Some(answer) => self.complete(index, answer, now_ns, false),
            None if had_begun => self.lose(index, Cause::Closed, &|| {
                "the server closed within an answer".to_owned()
            }),
            None => self.lose(index, Cause::Closed, &|| {
                "the server closed without an answer".to_owned()
            }),
        }
    }

    /// Records a whole answer and puts the connection to its next use.
    #[inline]
    fn complete(&mut self, index: usize, answer: Answer, now_ns: u64, is_clean: bool) {
        let is_sent = self.engine.connections[index].exchange.sent_bytes == self.request_bytes();
        let connection = &mut self.engine.connections[index];
        let exchange = connection.exchange;
        self.recording
            .response_time
            .saturating_record(now_ns.saturating_sub(exchange.intended_ns));
        self.recording
            .service_time
            .saturating_record(now_ns.saturating_sub(exchange.sent_ns));
        self.report.exchanges.completed += 1;
        self.report.exchanges.status.count(answer.status);
        self.last_completed_ns = Some(now_ns);
        self.outstanding -= 1;
        connection.answered();
        if answer.keep_alive && is_clean && is_sent {
            self.free(index, now_ns);
        } else {
            connection.close();
            self.open_if_needed(index);
        }
    }

    #[inline]
    fn free(&mut self, index: usize, now_ns: u64) {
        self.engine.connections[index].state = State::Idle { since_ns: now_ns };
        self.engine.idle.push_back(index);
        self.send_due(now_ns);
    }

    /// Counts an exchange that got no answer, and closes its connection.
    #[cold]
    fn lose(&mut self, index: usize, cause: Cause, why: &dyn Fn() -> String) {
        let errors = &mut self.report.exchanges.errors;
        match cause {
            Cause::Timeout => errors.timeout += 1,
            Cause::Closed => errors.closed += 1,
            Cause::Protocol => errors.protocol += 1,
        }
        self.report.first_error.get_or_insert_with(why);
        self.outstanding -= 1;
        self.engine.connections[index].close();
        self.open_if_needed(index);
    }

    /// Opens a connection again if there is still something to send.
    fn open_if_needed(&mut self, index: usize) {
        let now_ns = monotonic_ns();
        if self.pacer.is_over(now_ns) {
            return;
        }
        match self.engine.connections[index].pause_ns() {
            0 => self.open(index),
            pause_ns => self.pause(index, now_ns + pause_ns),
        }
    }

    fn pause(&mut self, index: usize, until_ns: u64) {
        self.engine.connections[index].state = State::Paused { until_ns };
        self.next_sweep_ns = self.next_sweep_ns.min(until_ns);
    }

    fn open(&mut self, index: usize) {
        if let Err(error) = self.engine.open(index) {
            self.engine.connections[index].attempt_failed();
            self.connecting_failed(index, &|| error.to_string());
        }
    }

    fn finish_connecting(&mut self, index: usize) {
        match self.engine.finish_connecting(index) {
            Ok(was_open) => {
                self.report.exchanges.reopened += u64::from(was_open);
                self.free(index, monotonic_ns());
            }
            Err(error) => self.connecting_failed(index, &|| error.to_string()),
        }
    }

    #[cold]
    fn connecting_failed(&mut self, index: usize, why: &dyn Fn() -> String) {
        self.report.exchanges.errors.connect += 1;
        let address = self.engine.targets[self.target].target.address;
        self.report
            .first_error
            .get_or_insert_with(|| format!("connecting to {address}: {}", why()));
        self.open_if_needed(index);
    }

    /// Ends what has taken too long and resumes what has paused for long enough.
    fn sweep(&mut self, now_ns: u64) {
        let timeout_ns = self.engine.timeout_ns;
        // Whatever begins after this sweep can't be overdue sooner.
        self.next_sweep_ns = now_ns.saturating_add(timeout_ns);
        for index in self.engine.targets[self.target].connections.clone() {
            let Connection {
                state, exchange, ..
            } = &self.engine.connections[index];
            let due_ns = match *state {
                State::Exchanging => exchange.sent_ns.saturating_add(timeout_ns),
                State::Connecting { since_ns } => since_ns.saturating_add(timeout_ns),
                State::Paused { until_ns } => until_ns,
                State::Closed | State::Idle { .. } => continue,
            };
            if due_ns > now_ns {
                self.next_sweep_ns = self.next_sweep_ns.min(due_ns);
                continue;
            }
            match *state {
                State::Exchanging => self.time_out(index),
                State::Connecting { .. } => {
                    self.engine.connections[index].attempt_failed();
                    self.connecting_failed(index, &|| {
                        "no connection within the timeout".to_owned()
                    });
                }
                _ => self.open(index),
            }
        }
    }

    fn time_out(&mut self, index: usize) {
        self.lose(index, Cause::Timeout, &|| {
            "no whole answer within the timeout".to_owned()
        });
    }

    /// Leaves nothing outstanding: what is still under way at the last moment has timed out, and
    /// what a stop interrupted is not an error. Either way the connection is of no more use.
    fn cut_off(&mut self) {
        let is_stopped = self.engine.stop.is_stopped();
        self.pacer.give_up();
        for index in self.engine.targets[self.target].connections.clone() {
            match self.engine.connections[index].state {
                State::Exchanging if !is_stopped => self.time_out(index),
                State::Idle { .. } | State::Closed => {}
                _ => self.engine.connections[index].close(),
            }
        }
    }
}
