//! Exchanges over the streams of HTTP/2 connections, gRPC included.

use http::uri::Scheme;

use super::{Cause, Run};
use crate::clock::monotonic_ns;
use crate::epoll::Readiness;
use crate::http2::{Event, Session};
use crate::lane::State;
use crate::pace::Pacer;
use crate::work::{Position, Protocol};

impl<P: Pacer> Run<'_, P> {
    /// Gives a lane's request to its connection, which sends it when it is next driven.
    pub(super) fn send_stream(&mut self, index: usize, position: Position) {
        let engine = &mut *self.engine;
        let of = engine.lanes[index].connection;
        let slot = &mut engine.targets[engine.lanes[index].target];
        let work = &slot.target.work;
        let scheme = match slot.target.tls {
            Some(_) => &Scheme::HTTPS,
            None => &Scheme::HTTP,
        };
        let (request, body) = slot.draws.http2(work, position, scheme);
        let connection = &mut engine.connections[of];
        let stream = index - connection.lanes.start;
        let is_grpc = work.protocol() == Protocol::Grpc;
        let sent = match connection.session() {
            Some(session) => session
                .send(stream, request, body, is_grpc)
                .map_err(|error| error.to_string()),
            None => Err("the connection is not open".to_owned()),
        };
        match sent {
            Ok(()) => self.stir(of),
            Err(why) => {
                self.engine.lanes[index].go_down();
                self.count_loss(index, Cause::Closed, &|| why.clone());
            }
        }
    }

    /// Drives the connections that have something to send, or whose pass ended early, until none is
    /// left.
    pub(super) fn drive_stirred(&mut self) {
        for _ in 0..self.engine.stirred.len() {
            let Some(connection) = self.engine.stirred.pop_front() else {
                return;
            };
            self.engine.connections[connection].is_stirred = false;
            self.drive(connection, None);
        }
    }

    /// Moves a connection's bytes both ways and handles the results: after an event on its socket,
    /// or after sends.
    pub(super) fn drive(&mut self, of: usize, report: Option<Readiness>) {
        let connection = &mut self.engine.connections[of];
        let Some(session) = connection.session() else {
            return;
        };
        let goes_on = match report {
            Some(readiness) => session.drive(readiness.hung_up),
            None => session.push(),
        };
        let (sent, received) = connection.take_bytes();
        let exchanges = &mut self.engine.targets[connection.target].member.exchanges;
        exchanges.sent_bytes += sent;
        exchanges.received_bytes += received;
        if goes_on {
            self.stir(of);
        }
        let now_ns = monotonic_ns();
        while let Some((stream, event)) = self.engine.connections[of]
            .session()
            .and_then(Session::next_event)
        {
            let lane = self.engine.connections[of].lanes.start + stream;
            self.take_in(of, lane, event, now_ns);
        }
        self.notice_end(of);
    }

    /// Schedules a connection for the next pass of the loop.
    pub(super) fn stir(&mut self, of: usize) {
        if !std::mem::replace(&mut self.engine.connections[of].is_stirred, true) {
            self.engine.stirred.push_back(of);
        }
    }

    fn take_in(&mut self, of: usize, index: usize, event: Event, now_ns: u64) {
        if self.engine.lanes[index].state != State::Exchanging {
            return;
        }
        match event {
            Event::Answer { status, .. } => {
                self.record(index, status, now_ns);
                self.engine.connections[of].answered();
            }
            Event::Failed { protocol, why } => {
                let cause = if protocol {
                    Cause::Protocol
                } else {
                    Cause::Closed
                };
                self.count_loss(index, cause, &|| why.clone());
                return self.free_stream(of, index, now_ns);
            }
        }
        if self.takes_requests(of) {
            self.free(index, now_ns);
        } else {
            self.engine.lanes[index].go_down();
        }
    }

    pub(super) fn takes_requests(&mut self, of: usize) -> bool {
        let session = self.engine.connections[of].session();
        session.is_some_and(|session| session.is_ready())
    }

    /// Reopens a connection that has ended. A connection that received GOAWAY still gets answers,
    /// but nothing more is sent over it.
    fn notice_end(&mut self, of: usize) {
        let Some(session) = self.engine.connections[of].session() else {
            return;
        };
        let (is_ready, ended) = (session.is_ready(), session.ended().map(str::to_owned));
        if is_ready {
            return;
        }
        let (lanes, target) = (
            self.engine.connections[of].lanes.clone(),
            self.engine.connections[of].target,
        );
        let member = &mut self.engine.targets[target].member;
        member.idle.retain(|idle| !lanes.contains(idle));
        for index in lanes {
            match (&ended, self.engine.lanes[index].state) {
                (Some(why), State::Exchanging) => {
                    self.count_loss(index, Cause::Closed, &|| why.clone());
                }
                (None, State::Exchanging) => {}
                _ => self.engine.lanes[index].go_down(),
            }
        }
        if ended.is_some() {
            self.close_and_reopen(of);
        }
    }
}
