//! Exchanges over HTTP/1.1: one lane is one connection.

use std::io;

use super::{Cause, Received, Run};
use crate::clock::monotonic_ns;
use crate::epoll::Readiness;
use crate::lane::State;
use crate::pace::Pacer;
use crate::response::Progress;
use crate::target::TargetSlot;
use crate::upkeep::is_passing;
use crate::work::Position;

/// Reads from one connection before others run: a megabyte's worth.
const READS_AT_ONCE: usize = 16;

impl<P: Pacer> Run<'_, P> {
    /// Renders a lane's request, unless it is the same each time, and sends it.
    #[inline]
    pub(super) fn send_bytes(&mut self, index: usize, position: Position) {
        if !self.is_constant(index) {
            let engine = &mut *self.engine;
            let lane = &mut engine.lanes[index];
            let slot = &mut engine.targets[lane.target];
            let work = &slot.target.work;
            engine.connections[lane.connection]
                .parser
                .expect(work.step(position).is_head);
            if work.constant_at(position).is_none() {
                slot.draws.write_http1(work, position, &mut lane.wire);
            }
        }
        self.send_rest(index);
    }

    /// Sends the rest of a request; an event announces more room.
    #[inline]
    fn send_rest(&mut self, index: usize) {
        let engine = &mut *self.engine;
        let lane = &mut engine.lanes[index];
        let connection = &mut engine.connections[lane.connection];
        let TargetSlot { target, member, .. } = &mut engine.targets[lane.target];
        let constant = target.work.constant_at(lane.exchange.position);
        let request = constant.unwrap_or(&lane.wire);
        loop {
            let rest = &request[lane.exchange.sent_bytes..];
            match connection.transport().and_then(|t| t.send_some(rest)) {
                Ok(sent) => {
                    lane.exchange.sent_bytes += sent;
                    member.exchanges.sent_bytes += sent as u64;
                    if sent == rest.len() {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_passing(&error) => return,
                // The server may have answered before it closed.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    return self.receive(index, true);
                }
                Err(error) => {
                    return self
                        .lose_connection(index, Cause::Closed, &|| format!("sending: {error}"));
                }
            }
        }
    }

    #[inline]
    pub(super) fn handle_bytes(&mut self, connection: usize, readiness: Readiness) {
        let index = self.engine.connections[connection].lanes.start;
        match self.engine.lanes[index].state {
            State::Exchanging => {
                if readiness.writable && !self.send_more(index) {
                    return;
                }
                if readiness.readable {
                    self.receive(index, readiness.hung_up);
                }
            }
            State::Idle { .. } | State::Thinking { .. } if readiness.readable => {
                self.drop_if_dead(connection, index, readiness.hung_up);
            }
            _ => {}
        }
    }

    /// Sends the rest of a request. Returns `false` if the connection was lost.
    fn send_more(&mut self, index: usize) -> bool {
        let connection = self.engine.lanes[index].connection;
        let flushed = self.engine.connections[connection]
            .transport()
            .and_then(crate::transport::Transport::flush);
        if let Err(error) = flushed
            && !is_passing(&error)
        {
            // The server may have answered before it closed.
            if error.kind() == io::ErrorKind::BrokenPipe {
                self.receive(index, true);
                return false;
            }
            self.lose_connection(index, Cause::Closed, &|| format!("sending: {error}"));
            return false;
        }
        if self.engine.lanes[index].exchange.sent_bytes < self.request_bytes(index) {
            self.send_rest(index);
        }
        true
    }

    fn drop_if_dead(&mut self, connection: usize, index: usize, hung_up: bool) {
        if self.engine.drop_if_dead(connection, hung_up) {
            self.member(index).idle.retain(|&idle| idle != index);
            self.open_if_needed(connection);
        }
    }

    #[inline]
    fn request_bytes(&self, index: usize) -> usize {
        let lane = &self.engine.lanes[index];
        let work = &self.engine.targets[lane.target].target.work;
        let constant = work.constant_at(lane.exchange.position);
        constant.unwrap_or(&lane.wire).len()
    }

    /// Reads an answer as far as it has arrived. `hung_up` says that the stream has ended.
    #[inline]
    pub(super) fn receive(&mut self, index: usize, hung_up: bool) {
        for _ in 0..READS_AT_ONCE {
            let engine = &mut *self.engine;
            let lane = &engine.lanes[index];
            if lane.state != State::Exchanging {
                return;
            }
            let (received, parser, drains) = match engine.connections[lane.connection].bytes() {
                Ok((transport, parser)) => (
                    transport.receive_some(&mut engine.buffer),
                    parser,
                    transport.short_read_drains(),
                ),
                Err(_) => return,
            };
            let now_ns = monotonic_ns();
            match received {
                Ok(0) => return self.end_of_stream(index, now_ns),
                Ok(length) => {
                    let member = &mut engine.targets[lane.target].member;
                    member.exchanges.received_bytes += length as u64;
                    match parser.feed(&engine.buffer[..length]) {
                        Ok(Progress::Complete { consumed, .. }) if consumed < length => {
                            return self.lose_connection(index, Cause::Protocol, &|| {
                                "the server sent more than its answer".to_owned()
                            });
                        }
                        Ok(Progress::Complete { answer, consumed }) => {
                            let is_clean = consumed == length && !hung_up;
                            return self.complete(index, now_ns, Received { answer, is_clean });
                        }
                        // A short read has emptied the socket: later bytes cause a new event.
                        Ok(Progress::Partial)
                            if drains && length < engine.buffer.len() && !hung_up =>
                        {
                            return;
                        }
                        Ok(Progress::Partial) => {}
                        Err(error) => {
                            return self
                                .lose_connection(index, Cause::Protocol, &|| error.to_string());
                        }
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_passing(&error) => return,
                Err(error) => {
                    return self
                        .lose_connection(index, Cause::Closed, &|| format!("receiving: {error}"));
                }
            }
        }
        self.read_on_later(index);
    }

    fn read_on_later(&mut self, index: usize) {
        let of = self.engine.lanes[index].connection;
        let connection = &mut self.engine.connections[of];
        let token = connection.token(of);
        let asked = connection
            .transport()
            .and_then(|transport| Ok(self.engine.epoll.report_again(transport.fd(), token)?));
        if let Err(error) = asked {
            self.lose_connection(index, Cause::Closed, &|| format!("epoll_ctl: {error}"));
        }
    }

    fn end_of_stream(&mut self, index: usize, now_ns: u64) {
        let of = self.engine.lanes[index].connection;
        let parser = &mut self.engine.connections[of].parser;
        let had_begun = parser.has_begun();
        match parser.finish() {
            Some(answer) => self.complete(
                index,
                now_ns,
                Received {
                    answer,
                    is_clean: false,
                },
            ),
            None if had_begun => self.lose_connection(index, Cause::Closed, &|| {
                "the server closed during an answer".to_owned()
            }),
            None => self.lose_connection(index, Cause::Closed, &|| {
                "the server closed without an answer".to_owned()
            }),
        }
    }

    /// Records a whole answer and continues with the connection.
    #[inline]
    fn complete(&mut self, index: usize, now_ns: u64, received: Received) {
        let is_sent = self.engine.lanes[index].exchange.sent_bytes == self.request_bytes(index);
        self.record(index, received.answer.status, now_ns);
        let of = self.engine.lanes[index].connection;
        self.engine.connections[of].answered();
        if received.answer.keep_alive && received.is_clean && is_sent {
            self.free(index, now_ns);
            return;
        }
        let follows = match self.is_constant(index) {
            true => None,
            false => self.what_follows(index, now_ns),
        };
        self.close_and_reopen(of);
        // The user goes on over the next connection.
        self.engine.lanes[index].awaiting = follows;
    }
}
