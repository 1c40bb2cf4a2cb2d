//! What is asked for: requests, their fields, and the flows that users take through them.
//!
//! A [`Work`] is checked and prepared once and never changes; what does change while a run goes
//! on is in [`Draws`]. Nothing here knows of connections, clocks or sockets.

mod check;
mod draws;
mod fields;
mod http1;
mod http2;
mod prepared;
mod table;
mod text;

use std::sync::Arc;
use std::time::Duration;

pub(crate) use draws::{Draws, Share};
pub use fields::{Field, Fields};
use prepared::{PreparedStep, PreparedWork};
pub use table::{RowOrder, Table, TableError};
pub use text::{Part, Request, Text};

use crate::request::RequestError;

/// How exchanges travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// HTTP/1.1, one exchange at a time on a connection.
    #[default]
    Http1,
    /// HTTP/2, many exchanges at a time on a connection.
    Http2,
    /// Unary gRPC calls over HTTP/2.
    Grpc,
}

/// One request of a flow, and the pause after its answer.
#[derive(Clone, Debug)]
pub struct Step {
    /// What is sent.
    pub request: Request,
    /// How long the user thinks: from the answer to the next step, or to the next flow.
    pub think: Duration,
}

/// Steps that one user takes one after the other.
#[derive(Clone, Debug)]
pub struct Flow {
    /// How often this flow is begun, against the weights of the others.
    pub weight: u32,
    /// At least one.
    pub steps: Vec<Step>,
}

/// All that a target is asked for: flows by weight, checked and ready to be rendered.
///
/// Cheap to clone: clones share what was prepared.
#[derive(Clone, Debug)]
pub struct Work(Arc<PreparedWork>);

impl Work {
    /// Checks and prepares flows, whose fields are those of `fields`.
    ///
    /// # Errors
    /// When a request could not be put on the wire as it is meant, a field does not exist, a
    /// table has a value that may not stand where it is used, or no flow would ever begin.
    pub fn new(flows: Vec<Flow>, fields: Fields, protocol: Protocol) -> Result<Work, RequestError> {
        PreparedWork::new(&flows, fields, protocol).map(|prepared| Work(Arc::new(prepared)))
    }

    /// The same request over and over, without fields or pauses.
    ///
    /// # Errors
    /// When the request could not be put on the wire as it is meant.
    pub fn single(request: Request, protocol: Protocol) -> Result<Work, RequestError> {
        let step = Step {
            request,
            think: Duration::ZERO,
        };
        let flow = Flow {
            weight: 1,
            steps: vec![step],
        };
        Work::new(vec![flow], Fields::default(), protocol)
    }

    /// The protocol that the requests were prepared for.
    #[must_use]
    pub fn protocol(&self) -> Protocol {
        self.0.protocol
    }

    /// The bytes that go over the wire when they are always the same: HTTP/1.1, one flow of one
    /// step, no pause, no fields.
    #[inline]
    pub(crate) fn constant(&self) -> Option<&[u8]> {
        match &self.0.flows[..] {
            [flow] if flow.steps.len() == 1 && flow.steps[0].think_ns == 0 => {
                self.constant_at(Position::default())
            }
            _ => None,
        }
    }

    /// The bytes of a step that are the same each time it is taken: HTTP/1.1, no fields. They
    /// can be sent from here, without a copy for each connection.
    #[inline]
    pub(crate) fn constant_at(&self, at: Position) -> Option<&[u8]> {
        self.prepared(at).constant()
    }

    /// What the engine has to know of a step.
    #[inline]
    pub(crate) fn step(&self, at: Position) -> StepFacts {
        let step = self.prepared(at);
        let steps = self.0.flows[usize::from(at.flow)].steps.len();
        let is_last = usize::from(at.step) + 1 == steps;
        StepFacts {
            is_head: step.is_head,
            think_ns: step.think_ns,
            next: (!is_last).then(|| Position {
                step: at.step + 1,
                ..at
            }),
        }
    }

    #[inline]
    fn prepared(&self, at: Position) -> &PreparedStep {
        &self.0.flows[usize::from(at.flow)].steps[usize::from(at.step)]
    }
}

/// Where a user is: in which flow, at which step, with which rows of the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    flow: u16,
    step: u16,
    /// Ordinal among the flows with columns, which settles the rows; the same in all its steps.
    turn: u64,
}

/// What the engine has to know of a step beside its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StepFacts {
    /// Whether the answer has no body, because the method is HEAD.
    pub(crate) is_head: bool,
    /// The pause after the answer, in nanoseconds.
    pub(crate) think_ns: u64,
    /// The next step of the flow; `None` at its end.
    pub(crate) next: Option<Position>,
}

#[cfg(test)]
mod tests;
