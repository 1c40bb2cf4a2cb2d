//! Targets: requests, server, and the connections to it.

use std::ops::Range;

use crate::endpoint::Endpoint;
use crate::member::Member;
use crate::tls::TlsClient;
use crate::work::{Draws, Work};

/// What to request, and where.
#[derive(Clone, Debug)]
pub struct Target {
    /// The server's address.
    pub endpoint: Endpoint,
    /// TLS settings, if the connection is encrypted.
    pub tls: Option<TlsClient>,
    /// Concurrent exchanges on one HTTP/2 connection; 1 with HTTP/1.1.
    pub streams: usize,
    /// The requests, prepared for a protocol.
    pub work: Work,
}

/// Number of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// Opened before anything is sent.
    pub first: usize,
    /// An open loop opens more, up to this many, while starts wait for a free one.
    pub most: usize,
}

impl From<usize> for Connections {
    /// A fixed number.
    fn from(count: usize) -> Connections {
        Connections {
            first: count,
            most: count,
        }
    }
}

/// Identifies a target of the engine that returned it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TargetId(pub(crate) usize);

/// A target, its connections, and its mutable state.
#[derive(Debug)]
pub(crate) struct TargetSlot {
    pub target: Target,
    /// All connections that it may have.
    pub connections: Range<usize>,
    /// How many of them are in use, from the first; the rest is room to grow.
    pub in_use: usize,
    pub draws: Draws,
    pub member: Member,
}

impl TargetSlot {
    pub(crate) fn members(&self) -> Range<usize> {
        self.connections.start..self.connections.start + self.in_use
    }
}
