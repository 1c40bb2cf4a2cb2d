//! The seam to sockets: opening, sending, receiving; nothing here ever blocks.

use std::io::IoSlice;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, SockaddrStorage, UnixAddr, connect, getsockopt,
    recv, send, sendmsg, setsockopt, socket, sockopt,
};

/// A new TCP socket whose connection attempt has begun.
pub(crate) fn open(address: SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() {
        AddressFamily::Inet
    } else {
        AddressFamily::Inet6
    };
    let socket = stream_socket(family)?;
    // Else a request in two segments would wait for an acknowledgement that the server delays.
    setsockopt(&socket, sockopt::TcpNoDelay, &true)?;
    match connect(socket.as_raw_fd(), &SockaddrStorage::from(address)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(socket),
        Err(error) => Err(error),
    }
}

/// A new Unix socket, connected: these connect at once or not at all. `EAGAIN` when the listen
/// backlog is full, which no later report tells of.
pub(crate) fn open_unix(path: &Path) -> Result<OwnedFd, Errno> {
    let address = UnixAddr::new(path)?;
    let socket = stream_socket(AddressFamily::Unix)?;
    connect(socket.as_raw_fd(), &address)?;
    Ok(socket)
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

/// As [`send_some`], from several places.
pub(crate) fn send_some_of(socket: &OwnedFd, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
    let flags = MsgFlags::MSG_NOSIGNAL;
    sendmsg::<()>(socket.as_raw_fd(), slices, &[], flags, None)
}

/// Receives what is there; 0 is the end of the stream.
#[inline]
pub(crate) fn receive_some(socket: &OwnedFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    recv(socket.as_raw_fd(), buffer, MsgFlags::empty())
}

fn stream_socket(family: AddressFamily) -> Result<OwnedFd, Errno> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    socket(family, SockType::Stream, flags, None)
}
