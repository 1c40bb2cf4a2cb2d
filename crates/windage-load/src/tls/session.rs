//! One TLS session. Each call gets the socket.

use std::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::OwnedFd;

use rustls::{CertificateError, ClientConnection};

use crate::socket;

/// HTTP/2 by its registered name.
pub(super) const H2: &[u8] = b"h2";

/// Bytes a server may send without any content: more than a handshake or a record takes. Without
/// this bound a server could monopolise the engine's thread; rustls bounds empty records, alerts
/// and key updates, but not tickets.
const FRUITLESS_BYTES_MAX: usize = 256 * 1024;

/// A session, begun or not. Callers follow the rules in [`crate::transport`].
pub(crate) struct Session {
    tls: ClientConnection,
    needs_h2: bool,
    /// The last receive emptied the kernel's buffer.
    is_drained: bool,
    /// Bytes read since there was last content.
    fruitless_bytes: usize,
}

impl Session {
    /// With `needs_h2`, the handshake fails if the server does not agree to HTTP/2.
    pub(super) fn new(tls: ClientConnection, needs_h2: bool) -> Session {
        Session {
            tls,
            needs_h2,
            is_drained: false,
            fruitless_bytes: 0,
        }
    }

    /// Continues the handshake. `true` once it is over and fully sent.
    pub(crate) fn shake_hands(&mut self, socket: &OwnedFd) -> io::Result<bool> {
        loop {
            let is_flushed = self.flush(socket).map_err(cut_short)?;
            if !self.tls.is_handshaking() {
                self.check_alpn()?;
                return Ok(is_flushed);
            }
            match self.take_in(socket) {
                Ok(0) => return Err(cut_short(io::ErrorKind::UnexpectedEof.into())),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(cut_short(error)),
            }
            if let Err(error) = self.tls.process_new_packets() {
                // Sends the alert that tells the server why; the server may have closed already.
                let _ = self.flush(socket);
                return Err(refusal(&error));
            }
        }
    }

    /// See [`Transport::send_some`](crate::transport::Transport::send_some).
    pub(crate) fn send_some(&mut self, socket: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
        // Send buffered records first, to make room. If that fails, the kernel is full and will
        // cause an event when it is not.
        self.flush(socket)?;
        let taken = self.tls.writer().write(bytes)?;
        self.flush(socket)?;
        if taken == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(taken)
    }

    /// See [`Transport::flush`](crate::transport::Transport::flush).
    pub(crate) fn flush(&mut self, socket: &OwnedFd) -> io::Result<bool> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut Outward(socket)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// See [`Transport::receive_some`](crate::transport::Transport::receive_some). Reads from the
    /// kernel only when no decrypted bytes are left.
    pub(crate) fn receive_some(
        &mut self,
        socket: &OwnedFd,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        // Bytes left from an earlier read say nothing about what the kernel has received since.
        self.is_drained = false;
        loop {
            match self.tls.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                received => {
                    self.fruitless_bytes = 0;
                    return received;
                }
            }
            self.take_in(socket)?;
            self.tls
                .process_new_packets()
                .map_err(|error| breach(&error))?;
            // The session's own answers, for example to key updates. If the socket can't be written
            // to, it may still be readable; the next send reports the error.
            let _ = self.flush(socket);
        }
    }

    /// See [`Transport::short_read_drains`](crate::transport::Transport::short_read_drains).
    pub(crate) fn short_read_drains(&self) -> bool {
        self.is_drained
    }

    /// The registered name of the protocol that the server chose.
    pub(crate) fn negotiated_alpn(&self) -> Option<&[u8]> {
        self.tls.alpn_protocol()
    }

    /// Tells the server that the end is intended, so that it does not log a truncated session. Best
    /// effort.
    pub(crate) fn say_goodbye(&mut self, socket: &OwnedFd) {
        if !self.tls.is_handshaking() {
            self.tls.send_close_notify();
            let _ = self.flush(socket);
        }
    }

    /// Reads records with one read from the kernel. 0 is the end of the stream.
    fn take_in(&mut self, socket: &OwnedFd) -> io::Result<usize> {
        if self.fruitless_bytes > FRUITLESS_BYTES_MAX {
            return Err(invalid(
                "the server keeps sending TLS records with nothing in them".to_owned(),
            ));
        }
        let mut inward = Inward {
            socket,
            is_drained: false,
        };
        let read = self.tls.read_tls(&mut inward).map_err(beyond_measure)?;
        self.is_drained = inward.is_drained;
        self.fruitless_bytes += read;
        Ok(read)
    }

    /// HTTP/2 begins without negotiation, so a server that did not agree to it would receive what
    /// looks like garbage (RFC 9113, section 3.2).
    fn check_alpn(&self) -> io::Result<()> {
        if self.needs_h2 && self.negotiated_alpn() != Some(H2) {
            return Err(invalid(
                "the server did not agree to HTTP/2 (ALPN `h2`); enable it there, or use HTTP/1.1"
                    .to_owned(),
            ));
        }
        Ok(())
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("is_handshaking", &self.tls.is_handshaking())
            .field("is_drained", &self.is_drained)
            .finish_non_exhaustive()
    }
}

/// The socket as a session reads it.
struct Inward<'s> {
    socket: &'s OwnedFd,
    is_drained: bool,
}

impl Read for Inward<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = socket::receive_some(self.socket, buffer)?;
        self.is_drained = 0 < length && length < buffer.len();
        Ok(length)
    }
}

/// The socket as a session writes to it.
struct Outward<'s>(&'s OwnedFd);

impl Write for Outward<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(socket::send_some(self.0, bytes)?)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match slices {
            // A request is usually one record, and `sendmsg` costs more than `send`.
            [only] => self.write(only),
            several => Ok(socket::send_some_of(self.0, several)?),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Why a handshake failed, and the remedy.
#[cold]
fn refusal(error: &rustls::Error) -> io::Error {
    use rustls::AlertDescription::NoApplicationProtocol;
    use rustls::Error::{AlertReceived, InvalidCertificate, InvalidMessage};
    invalid(match error {
        InvalidMessage(_) => format!(
            "the server does not speak TLS here ({error}); correct the port, or use http://"
        ),
        // The signature is bad if the authority has the trusted name but another key, such as a
        // test server's regenerated certificate.
        InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            "the server's certificate is not from a trusted authority; give the \
             authority's certificate as CA file, or accept any with `insecure`"
                .to_owned()
        }
        InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => format!("{error}; use a name in the certificate, or accept any with `insecure`"),
        InvalidCertificate(CertificateError::Other(_)) => format!(
            "{error}; a self-signed certificate needs `basicConstraints=critical,CA:FALSE`, \
             or accept any with `insecure`"
        ),
        AlertReceived(NoApplicationProtocol) => {
            "the server speaks none of the protocols offered (ALPN); enable HTTP/2 there, or use \
             HTTP/1.1"
                .to_owned()
        }
        AlertReceived(alert) => format!("the server refused the TLS handshake: {alert:?}"),
        other => format!("the TLS handshake failed: {other}"),
    })
}

/// An error in an established session.
#[cold]
fn breach(error: &rustls::Error) -> io::Error {
    invalid(match error {
        rustls::Error::AlertReceived(alert) => format!("the server ended TLS: {alert:?}"),
        other => format!("TLS broke: {other}"),
    })
}

/// The connection ended during the handshake.
#[cold]
fn cut_short(error: io::Error) -> io::Error {
    match error.kind() {
        kind @ (io::ErrorKind::UnexpectedEof
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe) => io::Error::new(
            kind,
            "the server closed during the TLS handshake; does this port speak TLS?",
        ),
        _ => error,
    }
}

/// A message too long for the session; no kernel error fits.
#[cold]
fn beyond_measure(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::InvalidData => invalid(format!(
            "the server sends a TLS message longer than allowed ({error})"
        )),
        _ => error,
    }
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
