//! A lane carries one exchange at a time: an HTTP/1.1 connection is one lane, an HTTP/2 connection
//! has one per stream. In a flow, a lane is the user who walks through the steps.

use crate::pace::Start;
use crate::work::Position;

/// State of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Its connection is not open.
    Down,
    /// Free.
    Idle { since_ns: u64 },
    /// A request is being sent, or its answer is awaited.
    Exchanging,
    /// The user thinks before the next step.
    Thinking { until_ns: u64 },
}

/// The current exchange.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Exchange {
    pub intended_ns: u64,
    pub sent_ns: u64,
    /// Bytes of the request that the kernel has accepted (HTTP/1.1).
    pub sent_bytes: usize,
    /// Its step and flow.
    pub position: Position,
}

/// One lane of a connection.
#[derive(Debug)]
pub(crate) struct Lane {
    pub target: usize,
    pub connection: usize,
    pub state: State,
    pub exchange: Exchange,
    /// The next step within a flow.
    pub next: Option<Position>,
    /// When the user goes on and with which step, once the connection is open again.
    pub awaiting: Option<(u64, Option<Position>)>,
    /// The request as sent, if it differs between exchanges (HTTP/1.1).
    pub wire: Vec<u8>,
}

impl Lane {
    pub(crate) fn new(target: usize, connection: usize) -> Lane {
        Lane {
            target,
            connection,
            state: State::Down,
            exchange: Exchange::default(),
            next: None,
            awaiting: None,
            wire: Vec::new(),
        }
    }

    /// Starts an exchange; nothing is sent yet.
    #[inline]
    pub(crate) fn begin(&mut self, start: Start, position: Position, now_ns: u64) {
        let intended_ns = match start {
            Start::Now => now_ns,
            Start::At(intended_ns) => intended_ns,
        };
        self.exchange = Exchange {
            intended_ns,
            sent_ns: now_ns,
            sent_bytes: 0,
            position,
        };
        self.state = State::Exchanging;
    }

    /// Fails with its connection; the user starts over.
    pub(crate) fn go_down(&mut self) {
        self.state = State::Down;
        self.next = None;
        self.awaiting = None;
    }
}
