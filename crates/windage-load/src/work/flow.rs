//! The flows that users take through requests, and the protocol that carries them.

use std::time::Duration;

use super::text::Request;

/// The protocol of exchanges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// HTTP/1.1: one exchange at a time per connection.
    #[default]
    Http1,
    /// HTTP/2: many exchanges at a time per connection.
    Http2,
    /// Unary gRPC calls over HTTP/2.
    Grpc,
}

/// One request of a flow, and the pause after its answer.
#[derive(Clone, Debug)]
pub struct Step {
    /// The request.
    pub request: Request,
    /// Think time: from the answer to the next step, or to the next flow.
    pub think: Duration,
}

/// Steps that one user takes one after the other.
#[derive(Clone, Debug)]
pub struct Flow {
    /// How often this flow begins, relative to the weights of the others.
    pub weight: u32,
    /// At least one.
    pub steps: Vec<Step>,
}
