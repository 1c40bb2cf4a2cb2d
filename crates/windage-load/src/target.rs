//! Targets: what is asked for and where, and the connections for it.

use std::ops::Range;

use crate::endpoint::Endpoint;
use crate::tls::TlsClient;
use crate::work::{Draws, Work};

/// What is asked for, and where.
#[derive(Clone, Debug)]
pub struct Target {
    /// The server's address.
    pub endpoint: Endpoint,
    /// Whom to trust, where the connection is encrypted.
    pub tls: Option<TlsClient>,
    /// Exchanges under way at once on one connection of HTTP/2; 1 with HTTP/1.1.
    pub streams: usize,
    /// The requests, and the protocol they are put in.
    pub work: Work,
}

/// How many connections a target has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// Opened before anything is sent.
    pub first: usize,
    /// An open loop opens more, up to so many, while starts wait for a free one.
    pub most: usize,
}

impl From<usize> for Connections {
    /// So many, and never more.
    fn from(count: usize) -> Connections {
        Connections {
            first: count,
            most: count,
        }
    }
}

/// Names a target of the engine that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TargetId(pub(crate) usize);

/// A target, where its connections are, and what changes as it is used.
#[derive(Debug)]
pub(crate) struct TargetSlot {
    pub target: Target,
    /// All that it may have.
    pub connections: Range<usize>,
    /// How many of them are in use, from the first; the others are room to grow.
    pub in_use: usize,
    pub draws: Draws,
}

impl TargetSlot {
    pub(crate) fn members(&self) -> Range<usize> {
        self.connections.start..self.connections.start + self.in_use
    }
}
