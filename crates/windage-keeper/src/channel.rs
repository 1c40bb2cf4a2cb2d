//! Messages over a Unix stream: a length (4 bytes, little endian), then JSON. Never blocks.

use std::collections::VecDeque;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, Shutdown, recvmsg, sendmsg, shutdown,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::wire::MAX_MESSAGE_BYTES;

const LENGTH_BYTES: usize = 4;
const CHUNK_BYTES: usize = 16 * 1024;

/// One end of the connection.
pub(crate) struct Channel {
    socket: OwnedFd,
    received: Vec<u8>,
    /// Bounded by its users: one message from Windage; one answer and one exit per child from the
    /// keeper, whose children are bounded.
    unsent: VecDeque<u8>,
    /// Leaves with the next byte.
    unsent_fd: Option<OwnedFd>,
    received_fd: Option<OwnedFd>,
}

/// The result of `receive`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// Some bytes.
    Bytes,
    /// None at present.
    Nothing,
    /// None ever again: the other side has closed.
    Closed,
}

/// Why a message could not be sent or read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChannelError {
    #[error("a message of {bytes} bytes is too long")]
    TooLarge { bytes: usize },
    #[error("not a valid message: {0}")]
    Garbled(#[from] serde_json::Error),
}

impl Channel {
    pub(crate) fn new(socket: OwnedFd) -> Channel {
        Channel {
            socket,
            received: Vec::new(),
            unsent: VecDeque::new(),
            unsent_fd: None,
            received_fd: None,
        }
    }

    /// Queues a message; `flush` sends it.
    pub(crate) fn queue(&mut self, message: &impl Serialize) -> Result<(), ChannelError> {
        let json = serde_json::to_vec(message)?;
        let too_large = ChannelError::TooLarge { bytes: json.len() };
        let length = match u32::try_from(json.len()) {
            Ok(length) if json.len() <= MAX_MESSAGE_BYTES => length,
            _ => return Err(too_large),
        };
        self.unsent.extend(length.to_le_bytes());
        self.unsent.extend(json);
        Ok(())
    }

    /// Sends a descriptor with the next byte; the queue must hold only the message it belongs to.
    pub(crate) fn attach(&mut self, fd: OwnedFd) {
        self.unsent_fd = Some(fd);
    }

    /// Whether anything is still queued.
    pub(crate) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Sends what the socket takes at once.
    pub(crate) fn flush(&mut self) -> Result<(), Errno> {
        while self.has_unsent() {
            let (head, _) = self.unsent.as_slices();
            let fds: Option<[RawFd; 1]> = self.unsent_fd.as_ref().map(|fd| [fd.as_raw_fd()]);
            let rights: Vec<ControlMessage> = fds
                .iter()
                .map(|fds| ControlMessage::ScmRights(fds))
                .collect();
            let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
            match sendmsg::<()>(
                self.socket.as_raw_fd(),
                &[IoSlice::new(head)],
                &rights,
                flags,
                None,
            ) {
                Ok(sent) => {
                    self.unsent.drain(..sent);
                    self.unsent_fd = None;
                }
                Err(Errno::EAGAIN) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }

    /// Receives what has arrived, at most one chunk.
    pub(crate) fn receive(&mut self) -> Result<Received, Errno> {
        let mut chunk = [0_u8; CHUNK_BYTES];
        let mut rights = nix::cmsg_space!([RawFd; 1]);
        let mut slices = [IoSliceMut::new(&mut chunk)];
        let flags = MsgFlags::MSG_CMSG_CLOEXEC | MsgFlags::MSG_DONTWAIT;
        let message = match recvmsg::<()>(
            self.socket.as_raw_fd(),
            &mut slices,
            Some(&mut rights),
            flags,
        ) {
            Ok(message) => message,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(Received::Nothing),
            // Linux reports a peer that died with our bytes unread as a reset.
            Err(Errno::ECONNRESET) => return Ok(Received::Closed),
            Err(errno) => return Err(errno),
        };
        let count = message.bytes;
        let mut fd = None;
        for part in message.cmsgs()? {
            if let ControlMessageOwned::ScmRights(fds) = part {
                // SAFETY: the kernel has just made these descriptors for us; nothing else owns them.
                fd = fds
                    .into_iter()
                    .map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
                    .next_back();
            }
        }
        if let Some(fd) = fd {
            self.received_fd = Some(fd);
        }
        self.received.extend_from_slice(&chunk[..count]);
        Ok(if count == 0 {
            Received::Closed
        } else {
            Received::Bytes
        })
    }

    /// The next complete message.
    pub(crate) fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, ChannelError> {
        let Some((length, rest)) = self.received.split_first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let bytes = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if bytes > MAX_MESSAGE_BYTES {
            return Err(ChannelError::TooLarge { bytes });
        }
        let Some(json) = rest.get(..bytes) else {
            return Ok(None);
        };
        let message = serde_json::from_slice(json)?;
        self.received.drain(..LENGTH_BYTES + bytes);
        Ok(Some(message))
    }

    /// The descriptor that came with the message read last.
    pub(crate) fn take_fd(&mut self) -> Option<OwnedFd> {
        self.received_fd.take()
    }

    /// Tells the other side that nothing will follow; its messages can still be received.
    pub(crate) fn finish_sending(&self) {
        // The peer may already have closed.
        let _ = shutdown(self.socket.as_raw_fd(), Shutdown::Write);
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    use super::*;

    fn pair() -> (Channel, Channel) {
        let (a, b) = UnixStream::pair().unwrap();
        (Channel::new(a.into()), Channel::new(b.into()))
    }

    #[test]
    fn messages_of_all_sizes_arrive_whole_and_in_order() {
        let (mut a, mut b) = pair();
        for size in [0, 1, CHUNK_BYTES, MAX_MESSAGE_BYTES - 2] {
            a.queue(&"x".repeat(size)).unwrap();
        }
        let mut sizes = Vec::new();
        while sizes.len() < 4 {
            a.flush().unwrap();
            b.receive().unwrap();
            while let Some(text) = b.next::<String>().unwrap() {
                sizes.push(text.len());
            }
        }
        assert_eq!(sizes, [0, 1, CHUNK_BYTES, MAX_MESSAGE_BYTES - 2]);
    }

    #[test]
    fn the_bound_holds_on_both_sides() {
        let (mut a, _b) = pair();
        let refused = a.queue(&"x".repeat(MAX_MESSAGE_BYTES));
        assert!(
            matches!(refused, Err(ChannelError::TooLarge { .. })),
            "{refused:?}"
        );
        assert!(!a.has_unsent());

        let (mut raw, b) = UnixStream::pair().unwrap();
        let mut b = Channel::new(b.into());
        raw.write_all(&u32::MAX.to_le_bytes()).unwrap();
        b.receive().unwrap();
        assert!(matches!(
            b.next::<String>(),
            Err(ChannelError::TooLarge { .. })
        ));
    }

    #[test]
    fn a_descriptor_travels_with_its_message() {
        let (mut a, mut b) = pair();
        let (kept, sent) = UnixStream::pair().unwrap();
        a.queue(&1).unwrap();
        a.attach(sent.into());
        a.flush().unwrap();
        b.receive().unwrap();
        assert_eq!(b.next::<i32>().unwrap(), Some(1));
        let mut far = File::from(b.take_fd().expect("a descriptor"));
        far.write_all(b"hello").unwrap();
        drop(far);
        let mut text = String::new();
        (&kept).read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
    }

    #[test]
    fn the_peers_end_is_noticed() {
        let (mut a, b) = pair();
        assert_eq!(a.receive().unwrap(), Received::Nothing);
        drop(b);
        // A child that another test starts has a copy until it executes its program.
        let deadline = Instant::now() + Duration::from_secs(10);
        let mut received = a.receive().unwrap();
        while received == Received::Nothing && Instant::now() < deadline {
            std::thread::yield_now();
            received = a.receive().unwrap();
        }
        assert_eq!(received, Received::Closed);
        a.queue(&1).unwrap();
        assert_eq!(a.flush(), Err(Errno::EPIPE));
    }
}
