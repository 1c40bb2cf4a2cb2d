//! What to request: requests, their fields, and the flows that users take through them.
//!
//! A [`Work`] is checked and prepared once and never changes; [`Draws`] has the mutable state of a
//! run. Nothing here knows about connections, clocks or sockets.

mod check;
mod draws;
mod fields;
mod flow;
mod http1;
mod http2;
mod prepared;
mod table;
mod text;

use std::sync::Arc;
use std::time::Duration;

pub(crate) use draws::{Draws, Share};
pub use fields::{Field, Fields};
pub use flow::{Flow, Protocol, Step};
use prepared::{PreparedStep, PreparedWork};
pub use table::{RowOrder, Table, TableError};
pub use text::{Part, Request, Text};

use crate::request::RequestError;

/// All requests of a target: flows by weight, checked and ready to be rendered.
///
/// Cheap to clone: clones share the prepared data.
#[derive(Clone, Debug)]
pub struct Work(Arc<PreparedWork>);

impl Work {
    /// Checks and prepares flows that use the fields in `fields`.
    ///
    /// # Errors
    /// When a request can't be sent as written, a field does not exist, a table has a value that is
    /// invalid where it is used, or no flow would ever begin.
    pub fn new(flows: Vec<Flow>, fields: Fields, protocol: Protocol) -> Result<Work, RequestError> {
        PreparedWork::new(&flows, fields, protocol).map(|prepared| Work(Arc::new(prepared)))
    }

    /// The same request repeatedly, without fields or pauses.
    ///
    /// # Errors
    /// When the request can't be sent as written.
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

    /// The wire format, if it is always the same: HTTP/1.1, one flow of one step, no pause, no
    /// fields.
    #[inline]
    pub(crate) fn constant(&self) -> Option<&[u8]> {
        match &self.0.flows[..] {
            [flow] if flow.steps.len() == 1 && flow.steps[0].think_ns == 0 => {
                self.constant_at(Position::default())
            }
            _ => None,
        }
    }

    /// The wire format of a step, if it is always the same: HTTP/1.1, no fields. It can be sent
    /// from here, without a copy per connection.
    #[inline]
    pub(crate) fn constant_at(&self, at: Position) -> Option<&[u8]> {
        self.prepared(at).constant()
    }

    /// Whether users pause after any step.
    pub(crate) fn has_think_time(&self) -> bool {
        let mut steps = self.0.flows.iter().flat_map(|flow| &flow.steps);
        steps.any(|step| step.think_ns > 0)
    }

    /// What the engine needs to know about a step.
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

/// A user's position: flow, step and table rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    flow: u16,
    step: u16,
    /// Ordinal among the flows with columns, which determines the rows; the same in all steps.
    turn: u64,
}

/// What the engine needs to know about a step other than its bytes.
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
