//! Opening and closing connections while a run goes on.

use std::io;

use super::{Cause, Run};
use crate::clock::monotonic_ns;
use crate::connection::Phase;
use crate::epoll::Readiness;
use crate::lane::State;
use crate::pace::Pacer;
use crate::target::TargetId;
use crate::work::Protocol;

impl<P: Pacer> Run<'_, P> {
    /// Collects the members' free lanes and starts to open their closed connections.
    pub(super) fn gather(&mut self) {
        self.engine.thinkers.clear();
        self.engine.stirred.clear();
        // All of them, before the first failure to connect is counted.
        for &TargetId(target) in self.members {
            let slot = &mut self.engine.targets[target];
            slot.member.begin(slot.target.work.constant().is_some());
        }
        for &TargetId(target) in self.members {
            self.gather_member(target);
        }
    }

    fn gather_member(&mut self, target: usize) {
        let is_head = self.always_head(target);
        // With turns, users go on where they were, so that each step gets its share of requests.
        let starts_over = !P::IS_CLOSED && !self.pacer.has_turns();
        for index in self.engine.targets[target].members() {
            let connection = &mut self.engine.connections[index];
            connection.is_stirred = false;
            connection.parser.expect(is_head);
            if connection.phase != Phase::Open {
                for lane in connection.lanes.clone() {
                    self.engine.lanes[lane].go_down();
                }
                self.open(index);
                continue;
            }
            for lane in connection.lanes.clone() {
                if self.engine.lanes[lane].state == State::Down {
                    continue;
                }
                if starts_over {
                    self.engine.lanes[lane].next = None;
                }
                self.engine.targets[target].member.idle.push_back(lane);
            }
        }
    }

    /// Whether every request to a target is HEAD.
    fn always_head(&self, target: usize) -> bool {
        let slot = &self.engine.targets[target];
        slot.member.is_constant && slot.target.work.step(Default::default()).is_head
    }

    /// Whether waiting starts may open one more connection to their target; one opens at a time.
    pub(super) fn may_grow(&self, target: usize) -> bool {
        let slot = &self.engine.targets[target];
        let is_coming_up = slot.member.grown.is_some_and(|index| {
            matches!(
                self.engine.connections[index].phase,
                Phase::Connecting { .. } | Phase::Paused { .. }
            )
        });
        slot.in_use < slot.connections.len() && !is_coming_up
    }

    /// Opens one more connection to each target for which starts wait.
    pub(super) fn grow(&mut self) {
        for &TargetId(target) in self.members {
            let waits = !self.engine.targets[target].member.backlog.is_empty();
            if waits && self.may_grow(target) {
                self.grow_member(target);
            }
        }
    }

    fn grow_member(&mut self, target: usize) {
        let is_head = self.always_head(target);
        let slot = &mut self.engine.targets[target];
        let index = slot.connections.start + slot.in_use;
        slot.in_use += 1;
        slot.member.grown = Some(index);
        slot.member.exchanges.grown += 1;
        self.engine.connections[index].parser.expect(is_head);
        self.open(index);
    }

    fn open(&mut self, index: usize) {
        if let Err(error) = self.engine.open(index) {
            self.connecting_failed(index, &error);
        }
    }

    pub(super) fn close_and_reopen(&mut self, index: usize) {
        self.engine.close(index);
        self.open_if_needed(index);
    }

    /// Reopens a connection if there is still something to send.
    pub(super) fn open_if_needed(&mut self, index: usize) {
        let now_ns = monotonic_ns();
        if self.nothing_to_send(now_ns) {
            return;
        }
        match self.engine.connections[index].pause_ns() {
            0 => self.open(index),
            pause_ns => self.pause(index, now_ns + pause_ns),
        }
    }

    fn pause(&mut self, index: usize, until_ns: u64) {
        self.engine.connections[index].phase = Phase::Paused { until_ns };
        self.next_sweep_ns = self.next_sweep_ns.min(until_ns);
    }

    pub(super) fn establish(&mut self, index: usize, readiness: Readiness) {
        match self.engine.establish(index, readiness.hung_up) {
            Ok(None) => {}
            Ok(Some(was_open)) => {
                let target = self.engine.connections[index].target;
                let member = &mut self.engine.targets[target].member;
                member.exchanges.reopened += u64::from(was_open);
                let now_ns = monotonic_ns();
                for lane in self.engine.connections[index].lanes.clone() {
                    if self.engine.lanes[lane].state != State::Down {
                        self.free_new(lane, now_ns);
                    }
                }
                // The server may have closed already; that is reported only once.
                if readiness.hung_up && self.protocol_of(target) == Protocol::Http1 {
                    let lane = self.engine.connections[index].lanes.start;
                    match self.engine.lanes[lane].state {
                        State::Exchanging => self.receive(lane, true),
                        _ => self.handle_bytes(index, readiness),
                    }
                }
            }
            Err(error) => self.connecting_failed(index, &error),
        }
    }

    /// Frees the lane of a failed exchange: its user starts over, unless the connection accepts no
    /// more requests.
    pub(super) fn free_stream(&mut self, connection: usize, lane: usize, now_ns: u64) {
        if self.takes_requests(connection) {
            self.engine.lanes[lane].next = None;
            self.free_new(lane, now_ns);
        } else {
            self.engine.lanes[lane].go_down();
        }
    }

    /// Continues with a lane that has just opened, or whose exchange failed.
    fn free_new(&mut self, lane: usize, now_ns: u64) {
        self.engine.lanes[lane].state = State::Idle { since_ns: now_ns };
        if let Some((resume_ns, next)) = self.engine.lanes[lane].awaiting.take() {
            self.engine.lanes[lane].next = next;
            if !self.pacer.has_turns() {
                return self.think(lane, resume_ns.max(now_ns));
            }
        }
        self.set_idle(lane, now_ns);
    }

    #[cold]
    fn connecting_failed(&mut self, index: usize, why: &io::Error) {
        let slot = &mut self.engine.targets[self.engine.connections[index].target];
        slot.member.exchanges.errors.connect += 1;
        let endpoint = &slot.target.endpoint;
        self.report
            .first_error
            .get_or_insert_with(|| format!("connecting to {endpoint}: {why}"));
        self.open_if_needed(index);
    }

    /// Counts an exchange without an answer, and closes its connection.
    #[cold]
    pub(super) fn lose_connection(&mut self, lane: usize, cause: Cause, why: &dyn Fn() -> String) {
        self.count_loss(lane, cause, why);
        self.close_and_reopen(self.engine.lanes[lane].connection);
    }

    /// Ends what has timed out and resumes what has paused for long enough.
    pub(super) fn sweep(&mut self, now_ns: u64) {
        // Anything that begins after this sweep times out later.
        self.next_sweep_ns = now_ns.saturating_add(self.engine.timeout_ns);
        for &TargetId(target) in self.members {
            self.sweep_member(target, now_ns);
        }
    }

    fn sweep_member(&mut self, target: usize, now_ns: u64) {
        let timeout_ns = self.engine.timeout_ns;
        for index in self.engine.targets[target].members() {
            match self.engine.connections[index].phase {
                Phase::Closed => {}
                Phase::Open => self.sweep_lanes(index, now_ns),
                Phase::Connecting { since_ns } => {
                    if self.is_due(since_ns.saturating_add(timeout_ns), now_ns) {
                        self.engine.connections[index].attempt_failed();
                        let why = io::Error::other("no connection within the timeout");
                        self.connecting_failed(index, &why);
                    }
                }
                Phase::Paused { until_ns } => {
                    if self.is_due(until_ns, now_ns) {
                        self.open(index);
                    }
                }
            }
        }
    }

    fn sweep_lanes(&mut self, index: usize, now_ns: u64) {
        for lane in self.engine.connections[index].lanes.clone() {
            let State::Exchanging = self.engine.lanes[lane].state else {
                continue;
            };
            let sent_ns = self.engine.lanes[lane].exchange.sent_ns;
            if self.is_due(sent_ns.saturating_add(self.engine.timeout_ns), now_ns) {
                self.time_out(lane);
                if self.protocol_of(self.engine.lanes[lane].target) != Protocol::Http1 {
                    self.stir(index);
                    self.free_stream(index, lane, now_ns);
                }
            }
        }
    }

    /// Whether a time has come. If not, the next sweep is no later than it.
    fn is_due(&mut self, due_ns: u64, now_ns: u64) -> bool {
        if due_ns > now_ns {
            self.next_sweep_ns = self.next_sweep_ns.min(due_ns);
        }
        due_ns <= now_ns
    }

    /// Gives up an exchange. A stream is cancelled; an HTTP/1.1 connection is closed.
    fn time_out(&mut self, lane: usize) {
        let why = || "no whole answer within the timeout".to_owned();
        if self.cancel(lane) {
            self.count_loss(lane, Cause::Timeout, &why);
        } else {
            self.lose_connection(lane, Cause::Timeout, &why);
        }
    }

    /// Cancels a request where the protocol can. Returns whether it did.
    fn cancel(&mut self, index: usize) -> bool {
        let lane = &mut self.engine.lanes[index];
        let connection = &mut self.engine.connections[lane.connection];
        let first = connection.lanes.start;
        let Some(session) = connection.session() else {
            return false;
        };
        session.cancel(index - first);
        // The reset goes out when the connection is next driven.
        let _ = session.push();
        lane.state = State::Idle {
            since_ns: monotonic_ns(),
        };
        lane.next = None;
        true
    }

    /// Ends all outstanding exchanges: at the last moment they count as timed out; those that a
    /// stop interrupted are not errors. Either way an HTTP/1.1 connection is unusable afterwards.
    pub(super) fn cut_off(&mut self) {
        let is_stopped = self.engine.is_stopped();
        self.pacer.give_up();
        self.waiting = 0;
        for &TargetId(target) in self.members {
            self.engine.targets[target].member.drop_backlog();
        }
        for &TargetId(target) in self.members {
            self.cut_off_member(target, is_stopped);
        }
    }

    fn cut_off_member(&mut self, target: usize, is_stopped: bool) {
        self.engine.targets[target].member.is_loaded = false;
        for index in self.engine.targets[target].members() {
            match self.engine.connections[index].phase {
                Phase::Open => {
                    self.cut_off_lanes(index, is_stopped);
                    if self.protocol_of(target) != Protocol::Http1 && !self.takes_requests(index) {
                        self.engine.close(index);
                    }
                }
                Phase::Closed => {}
                Phase::Connecting { .. } | Phase::Paused { .. } => self.engine.close(index),
            }
        }
    }

    fn cut_off_lanes(&mut self, index: usize, is_stopped: bool) {
        for lane in self.engine.connections[index].lanes.clone() {
            match self.engine.lanes[lane].state {
                State::Exchanging if !is_stopped => self.time_out(lane),
                State::Exchanging => {
                    if !self.cancel(lane) {
                        self.engine.close(index);
                    }
                }
                State::Thinking { .. } => {
                    self.engine.lanes[lane].state = State::Idle {
                        since_ns: monotonic_ns(),
                    };
                }
                State::Idle { .. } | State::Down => {}
            }
        }
    }
}
