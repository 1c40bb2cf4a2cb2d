//! The seam to sockets: opens, sends, receives. Nothing here ever blocks.

use std::io::IoSlice;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, SockaddrStorage, UnixAddr, connect, getsockopt,
    recv, send, sendmsg, setsockopt, socket, sockopt,
};

/// A new TCP socket that has started to connect.
pub(crate) fn open(address: SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() {
        AddressFamily::Inet
    } else {
        AddressFamily::Inet6
    };
    let socket = stream_socket(family)?;
    // Otherwise a request in two segments would wait for a delayed acknowledgement.
    setsockopt(&socket, sockopt::TcpNoDelay, &true)?;
    match connect(socket.as_raw_fd(), &SockaddrStorage::from(address)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(socket),
        Err(error) => Err(error),
    }
}

/// A new, connected Unix socket: these connect at once or not at all. `EAGAIN` when the listen
/// backlog is full; no later event would report that.
pub(crate) fn open_unix(path: &Path) -> Result<OwnedFd, Errno> {
    let address = UnixAddr::new(path)?;
    let socket = stream_socket(AddressFamily::Unix)?;
    connect(socket.as_raw_fd(), &address)?;
    Ok(socket)
}

/// The result of a connection attempt, once the socket is writable.
pub(crate) fn connected(socket: &OwnedFd) -> Result<(), Errno> {
    match getsockopt(socket, sockopt::SocketError)? {
        0 => Ok(()),
        error => Err(Errno::from_raw(error)),
    }
}

/// Sends as much as the kernel accepts. A broken connection is an error, never a SIGPIPE.
#[inline]
pub(crate) fn send_some(socket: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    // `send` and `recv` go straight to the socket and bypass the file layer of `write` and `read`.
    send(socket.as_raw_fd(), bytes, MsgFlags::MSG_NOSIGNAL)
}

/// As [`send_some`], from several buffers.
pub(crate) fn send_some_of(socket: &OwnedFd, slices: &[IoSlice<'_>]) -> Result<usize, Errno> {
    let flags = MsgFlags::MSG_NOSIGNAL;
    sendmsg::<()>(socket.as_raw_fd(), slices, &[], flags, None)
}

/// Receives available bytes; 0 is the end of the stream.
#[inline]
pub(crate) fn receive_some(socket: &OwnedFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    recv(socket.as_raw_fd(), buffer, MsgFlags::empty())
}

fn stream_socket(family: AddressFamily) -> Result<OwnedFd, Errno> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    socket(family, SockType::Stream, flags, None)
}
