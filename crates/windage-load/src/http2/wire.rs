//! The bytes below `h2`: a non-blocking carrier as its reader and writer.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::transport::Transport;

/// Carries bytes. No call blocks; it fails with [`WouldBlock`](io::ErrorKind::WouldBlock) instead.
pub(crate) trait Carrier: Send + 'static {
    /// Sends as much as the carrier accepts at once.
    fn send_some(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Continues sending accepted bytes. Returns whether none are left.
    fn flush(&mut self) -> io::Result<bool>;
    /// Receives available bytes; 0 is the end of the stream.
    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize>;
    /// Whether a read that did not fill its buffer has emptied the socket, so that later bytes
    /// cause a new event.
    fn short_read_drains(&self) -> bool;
}

impl Carrier for Transport {
    #[inline]
    fn send_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Transport::send_some(self, bytes)
    }

    #[inline]
    fn flush(&mut self) -> io::Result<bool> {
        Transport::flush(self)
    }

    #[inline]
    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Transport::receive_some(self, buffer)
    }

    #[inline]
    fn short_read_drains(&self) -> bool {
        Transport::short_read_drains(self)
    }
}

/// A carrier, byte counts, and how many bytes it may move in this turn.
#[derive(Debug)]
pub(super) struct Wire<C> {
    carrier: C,
    pub(super) sent_bytes: u64,
    pub(super) received_bytes: u64,
    /// Receive allowance left in this turn.
    receivable: usize,
    /// Send allowance left in this turn. With a shared allowance, `h2`, which reads first, would
    /// never send while a stream never pauses.
    sendable: usize,
    /// An allowance ran out while the carrier may have had more.
    is_cut_short: bool,
    /// Nothing is left to read until the next event.
    is_drained: bool,
    hung_up: bool,
    /// A head and the start of its body, sent together.
    gathered: Vec<u8>,
}

impl<C: Carrier> Wire<C> {
    pub(super) fn new(carrier: C) -> Wire<C> {
        Wire {
            carrier,
            sent_bytes: 0,
            received_bytes: 0,
            receivable: 0,
            sendable: 0,
            is_cut_short: false,
            is_drained: false,
            hung_up: false,
            gathered: Vec::new(),
        }
    }

    /// Notes an event: there may be something to read again.
    pub(super) fn reported(&mut self, hung_up: bool) {
        self.is_drained = false;
        self.hung_up |= hung_up;
    }

    /// Begins a turn in which this many bytes may move in each direction.
    pub(super) fn allow(&mut self, bytes: usize) {
        self.receivable = bytes;
        self.sendable = bytes;
        self.is_cut_short = false;
    }

    pub(super) fn is_cut_short(&self) -> bool {
        self.is_cut_short
    }

    fn receive(&mut self, buffer: &mut ReadBuf<'_>) -> io::Result<()> {
        if self.is_drained {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let length = self.within(self.receivable, buffer.remaining())?;
        let asked = buffer.initialize_unfilled_to(length);
        let received = match self.carrier.receive_some(asked) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.is_drained = true;
                return Err(error);
            }
            other => other?,
        };
        // A short read before the end of the stream causes no new event, see `hung_up`.
        self.is_drained =
            received > 0 && received < length && !self.hung_up && self.carrier.short_read_drains();
        self.received_bytes += received as u64;
        self.receivable -= received;
        buffer.advance(received);
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.within(self.sendable, bytes.len())?;
        let sent = self.carrier.send_some(&bytes[..length])?;
        self.sent_bytes += sent as u64;
        self.sendable -= sent;
        Ok(sent)
    }

    /// Sends several pieces as one. Otherwise a request's head and body would cost two calls and
    /// two segments, and wake the server twice.
    fn send_together(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        if let [piece] = pieces {
            return self.send(piece);
        }
        let wanted = pieces.iter().map(|piece| piece.len()).sum();
        let mut room = self.within(self.sendable, wanted)?;
        let mut gathered = std::mem::take(&mut self.gathered);
        gathered.clear();
        for piece in pieces {
            let taken = piece.len().min(room);
            gathered.extend_from_slice(&piece[..taken]);
            room -= taken;
        }
        let sent = self.send(&gathered);
        self.gathered = gathered;
        sent
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.carrier.flush()? {
            Ok(())
        } else {
            Err(io::ErrorKind::WouldBlock.into())
        }
    }

    /// How many of `wanted` bytes may move; if none, behaves as if the kernel would block.
    fn within(&mut self, allowance: usize, wanted: usize) -> io::Result<usize> {
        if allowance == 0 && wanted > 0 {
            self.is_cut_short = true;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(wanted.min(allowance))
    }
}

/// `h2`'s end of the wire. It wakes nobody: the session is driven again when the socket is ready.
#[derive(Debug)]
pub(super) struct Port<C>(pub(super) Arc<Mutex<Wire<C>>>);

impl<C: Carrier> Port<C> {
    fn attempt<T>(
        &self,
        mut act: impl FnMut(&mut Wire<C>) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        let mut wire = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match act(&mut wire) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => return Poll::Ready(done),
            }
        }
    }
}

impl<C: Carrier> AsyncRead for Port<C> {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.attempt(|wire| wire.receive(buffer))
    }
}

impl<C: Carrier> AsyncWrite for Port<C> {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.attempt(|wire| wire.send(bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.attempt(|wire| wire.send_together(pieces))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.attempt(Wire::flush)
    }

    /// The socket closes with its session.
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(context)
    }
}
