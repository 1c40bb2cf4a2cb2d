//! The bytes of one connection: a socket, within TLS or not.
//!
//! A connection is watched edge-triggered, so a report that is not acted on is never repeated.
//! Whoever drives a [`Transport`] therefore keeps three rules:
//!
//! - Receive until [`WouldBlock`](io::ErrorKind::WouldBlock), or until a read left room in its
//!   buffer while [`Transport::short_read_drains`] holds. A session then has nothing decrypted
//!   left that was not handed over, and what the kernel gets later makes a new report.
//! - [`Transport::flush`] at every report of room to write: a session holds records that the kernel
//!   has not taken yet.
//! - Receive once after [`Transport::establish`] said yes, if the report spoke of bytes to read: the
//!   server's first bytes may have come with the last of the handshake.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use nix::errno::Errno;

use crate::endpoint::Endpoint;
use crate::socket;
use crate::tls::{Session, TlsClient};

/// An open socket, plain or within TLS. No call blocks: each fails with
/// [`WouldBlock`](io::ErrorKind::WouldBlock) where the kernel would.
#[derive(Debug)]
pub(crate) struct Transport {
    socket: OwnedFd,
    is_connected: bool,
    /// Absent from a plain connection, whose bytes go past it at the price of one comparison.
    session: Option<Box<Session>>,
}

impl Transport {
    /// Begins to connect; [`establish`](Self::establish) tells how it ended.
    ///
    /// # Errors
    /// When there is no socket to be had, or the attempt failed at once. A Unix socket that can't
    /// be reached is an error here, with its path and what to do.
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

    /// The socket, to be watched.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Goes on with connecting and with the handshake after a report: `true` once both are over,
    /// `false` when another report has to come first.
    ///
    /// # Errors
    /// The kernel's, for the attempt to connect; for the handshake one that says what the server
    /// did or is, and what to do about it.
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

    /// Sends what is taken at once, and tells how much of `bytes` that is: by the kernel, or by
    /// the session, which holds some 64 KiB back for [`flush`](Self::flush) when the kernel is
    /// full. Within TLS these are bytes before encryption.
    ///
    /// # Errors
    /// `WouldBlock` when nothing is taken, and the kernel's; never a SIGPIPE.
    #[inline]
    pub(crate) fn send_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.session {
            None => Ok(socket::send_some(&self.socket, bytes)?),
            Some(session) => session.send_some(&self.socket, bytes),
        }
    }

    /// Sends what the session holds back. `true` when nothing is left, as ever without TLS.
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

    /// Receives what is there; 0 is the end of the stream. Within TLS these are bytes after
    /// decryption, and an end without `close_notify` is an end like any other: most servers spare
    /// it, and a protocol that knows its lengths sees what is missing.
    ///
    /// # Errors
    /// `WouldBlock` when nothing is there, and the kernel's; `InvalidData` for what breaks TLS.
    #[inline]
    pub(crate) fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.session {
            None => Ok(socket::receive_some(&self.socket, buffer)?),
            Some(session) => session.receive_some(&self.socket, buffer),
        }
    }

    /// Whether the read before, if it left room in its buffer, took all there was, so that asking
    /// again is needless until the next report. (The end of the stream is left out of this: it
    /// has a report of its own, which may have come already.)
    #[inline]
    pub(crate) fn short_read_drains(&self) -> bool {
        self.session
            .as_ref()
            .is_none_or(|session| session.short_read_drains())
    }

    /// The protocol that the server chose, in its registered name (`h2`, `http/1.1`). Nothing
    /// without TLS, before the end of the handshake, or when the server made no choice.
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

/// Errors of a Unix socket, with its path; those of this process's limits are left as they are.
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
        Errno::ECONNREFUSED => format!("nobody listens on {path}; start the server"),
        Errno::EACCES => {
            format!("permission to connect to {path} is denied; it takes the right to write to it")
        }
        Errno::ENAMETOOLONG => {
            format!("the path {path} is too long for a socket; 107 bytes are the most")
        }
        Errno::EPROTOTYPE => format!("{path} is not a stream socket"),
        other => return other.into(),
    };
    let kind = match error {
        // Another attempt, not another report, is what would help.
        Errno::EAGAIN => io::ErrorKind::ConnectionRefused,
        other => io::Error::from(other).kind(),
    };
    io::Error::new(kind, why)
}

#[cfg(test)]
#[path = "transport_tests.rs"]
mod tests;
