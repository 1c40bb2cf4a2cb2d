//! The seam to TCP sockets: opening, sending, receiving; nothing here ever blocks.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, SockaddrStorage, connect, getsockopt, recv, send,
    setsockopt, socket, sockopt,
};

/// A new socket whose connection attempt has begun.
pub(crate) fn open(address: SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() {
        AddressFamily::Inet
    } else {
        AddressFamily::Inet6
    };
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let socket = socket(family, SockType::Stream, flags, None)?;
    // Else a request in two segments would wait for an acknowledgement that the server delays.
    setsockopt(&socket, sockopt::TcpNoDelay, &true)?;
    match connect(socket.as_raw_fd(), &SockaddrStorage::from(address)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(socket),
        Err(error) => Err(error),
    }
}

/// How a connection attempt ended, once the socket is writable.
pub(crate) fn connected(socket: &OwnedFd) -> Result<(), Errno> {
    match getsockopt(socket, sockopt::SocketError)? {
        0 => Ok(()),
        error => Err(Errno::from_raw(error)),
    }
}

/// Sends what the kernel takes at once. A broken connection is an error, never a SIGPIPE.
#[inline]
pub(crate) fn send_some(socket: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    // `send` and `recv` go straight to the socket, past the file layer that `write` and `read` enter.
    send(socket.as_raw_fd(), bytes, MsgFlags::MSG_NOSIGNAL)
}

/// Receives what is there; 0 is the end of the stream.
#[inline]
pub(crate) fn receive_some(socket: &OwnedFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    recv(socket.as_raw_fd(), buffer, MsgFlags::empty())
}
