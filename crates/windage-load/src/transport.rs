//! The bytes of one connection: a socket, with or without TLS.
//!
//! A connection is watched edge-triggered, so an event that is not acted on is never repeated. Code
//! that drives a [`Transport`] therefore follows three rules:
//!
//! - Receive until [`WouldBlock`](io::ErrorKind::WouldBlock), or until a read left room in its
//!   buffer while [`Transport::short_read_drains`] holds. A session then has no decrypted bytes
//!   left, and later bytes cause a new event.
//! - Call [`Transport::flush`] on every event of room to write: a session may hold records that the
//!   kernel has not accepted yet.
//! - Receive once after [`Transport::establish`] returned `true`, if the event included readable
//!   bytes: the server's first bytes may have arrived with the end of the handshake.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use nix::errno::Errno;

use crate::endpoint::Endpoint;
use crate::socket;
use crate::tls::{Session, TlsClient};

/// An open socket, with or without TLS. No call blocks: each fails with
/// [`WouldBlock`](io::ErrorKind::WouldBlock) where the kernel would block.
#[derive(Debug)]
pub(crate) struct Transport {
    socket: OwnedFd,
    is_connected: bool,
    /// Absent from a plain connection, which pays one comparison for it.
    session: Option<Box<Session>>,
}

impl Transport {
    /// Starts connecting; [`establish`](Self::establish) returns the result.
    ///
    /// # Errors
    /// When no socket is available, or the attempt fails at once. For a Unix socket all connection
    /// errors appear here, with its path and the remedy.
    pub(crate) fn open(endpoint: &Endpoint, tls: Option<&TlsClient>) -> io::Result<Transport> {
        let session = tls.map(TlsClient::session).transpose()?;
        let socket = match endpoint {
            Endpoint::Tcp(address) => socket::open(*address)?,
            Endpoint::Unix(path) => {
                socket::open_unix(path).map_err(|error| unreachable_path(path, error))?
            }
        };
        Ok(Transport {
            socket,
            is_connected: false,
            session: session.map(Box::new),
        })
    }

    /// The socket, for epoll.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Continues connecting and the handshake after an event: `true` once both are over, `false`
    /// while further events are needed.
    ///
    /// # Errors
    /// The kernel's, for the attempt to connect. For the handshake, one that says what the server
    /// did and the remedy.
    pub(crate) fn establish(&mut self) -> io::Result<bool> {
        if !self.is_connected {
            socket::connected(&self.socket)?;
            self.is_connected = true;
        }
        match &mut self.session {
            None => Ok(true),
            Some(session) => session.shake_hands(&self.socket),
        }
    }

    /// Sends as much as is accepted at once, by the kernel or by the session, which buffers some 64
    /// KiB for [`flush`](Self::flush) when the kernel is full. Returns the number of bytes, with
    /// TLS before encryption.
    ///
    /// # Errors
    /// `WouldBlock` when nothing is accepted, and the kernel's; never a SIGPIPE.
    #[inline]
    pub(crate) fn send_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.session {
            None => Ok(socket::send_some(&self.socket, bytes)?),
            Some(session) => session.send_some(&self.socket, bytes),
        }
    }

    /// Sends what the session has buffered. `true` when nothing is left, as always without TLS.
    ///
    /// # Errors
    /// The kernel's, except `WouldBlock`, which is `false`.
    #[inline]
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        match &mut self.session {
            None => Ok(true),
            Some(session) => session.flush(&self.socket),
        }
    }

    /// Receives available bytes, with TLS after decryption; 0 is the end of the stream. An end
    /// without `close_notify` counts as a normal end: most servers skip it, and protocols with
    /// lengths detect truncation.
    ///
    /// # Errors
    /// `WouldBlock` when nothing is available, and the kernel's; `InvalidData` for TLS violations.
    #[inline]
    pub(crate) fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.session {
            None => Ok(socket::receive_some(&self.socket, buffer)?),
            Some(session) => session.receive_some(&self.socket, buffer),
        }
    }

    /// Whether the last read, if it left room in its buffer, emptied the socket, so that no further
    /// read is needed until the next event. (Except for the end of the stream, which has an event
    /// of its own that may have come already.)
    #[inline]
    pub(crate) fn short_read_drains(&self) -> bool {
        self.session
            .as_ref()
            .is_none_or(|session| session.short_read_drains())
    }

    /// The registered name of the protocol that the server chose (`h2`, `http/1.1`). `None` without
    /// TLS, before the end of the handshake, or if the server chose none.
    #[cfg(test)]
    pub(crate) fn negotiated_alpn(&self) -> Option<&[u8]> {
        self.session.as_ref()?.negotiated_alpn()
    }
}

impl Drop for Transport {
    fn drop(&mut self) {
        if let Some(session) = &mut self.session {
            session.say_goodbye(&self.socket);
        }
    }
}

/// Adds the path to errors of a Unix socket; errors about this process's limits stay unchanged.
#[cold]
fn unreachable_path(path: &Path, error: Errno) -> io::Error {
    let path = path.display();
    let why = match error {
        Errno::EAGAIN => format!(
            "the listen backlog of {path} is full; open fewer connections or give the server a \
             longer backlog"
        ),
        Errno::ENOENT => {
            format!("there is no socket {path}; start the server first, or correct the path")
        }
        Errno::ECONNREFUSED => format!("no process listens on {path}; start the server"),
        Errno::EACCES => {
            format!("permission to connect to {path} is denied; grant write permission to it")
        }
        Errno::ENAMETOOLONG => {
            format!("the path {path} is too long for a socket; use at most 107 bytes")
        }
        Errno::EPROTOTYPE => format!("{path} is not a stream socket"),
        other => return other.into(),
    };
    let kind = match error {
        // Only another attempt helps; no event would announce room.
        Errno::EAGAIN => io::ErrorKind::ConnectionRefused,
        other => io::Error::from(other).kind(),
    };
    io::Error::new(kind, why)
}

#[cfg(test)]
#[path = "transport_tests.rs"]
mod tests;
