//! Sockets: receives with the time of arrival, sends completely or not at all.

use std::io::{self, IoSliceMut, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;

use crate::clock::{as_ns, monotonic_ns, wall_ns};

/// Sets up an accepted socket: non-blocking, TCP_NODELAY, with time stamps of arrival.
pub(crate) fn prepare(socket: &TcpStream) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    socket.set_nodelay(true)?;
    setsockopt(socket, sockopt::ReceiveTimestampns, &true)?;
    Ok(())
}

/// The result of a read.
pub(crate) enum Received {
    /// This number of bytes, of which the last arrived at this time of the monotonic clock.
    Bytes { length: usize, came_ns: u64 },
    /// Nothing yet.
    Nothing,
    /// The end of the stream, or an error that ends it.
    End,
}

/// Reads what has arrived. The time is when the kernel received it, however late this process
/// woke.
pub(crate) fn receive(socket: &TcpStream, buffer: &mut [u8]) -> Received {
    let mut control = cmsg_space!(TimeSpec);
    let mut parts = [IoSliceMut::new(buffer)];
    let message = recvmsg::<()>(
        socket.as_raw_fd(),
        &mut parts,
        Some(&mut control),
        MsgFlags::empty(),
    );
    match message {
        Ok(message) if message.bytes == 0 => Received::End,
        Ok(message) => {
            let stamp = message.cmsgs().ok().and_then(|mut all| all.find_map(stamp));
            Received::Bytes {
                length: message.bytes,
                came_ns: on_the_monotonic_clock(stamp),
            }
        }
        Err(Errno::EAGAIN | Errno::EINTR) => Received::Nothing,
        Err(_) => Received::End,
    }
}

fn stamp(message: ControlMessageOwned) -> Option<u64> {
    match message {
        ControlMessageOwned::ScmTimestampns(time) => Some(as_ns(time)),
        _ => None,
    }
}

/// Stamps are by the time of day, which may be set; only their age matters. Without a stamp it is
/// now.
fn on_the_monotonic_clock(stamp_ns: Option<u64>) -> u64 {
    let age_ns = stamp_ns.map_or(0, |stamp_ns| wall_ns().saturating_sub(stamp_ns));
    monotonic_ns().saturating_sub(age_ns)
}

/// Sends an answer, which a socket always has room for unless its client reads nothing.
pub(crate) fn send(mut socket: &TcpStream, answer: &[u8]) -> bool {
    matches!(socket.write(answer), Ok(sent) if sent == answer.len())
}

/// Whether standard input has ended. Its contents are discarded.
pub(crate) fn input_has_ended() -> bool {
    let mut thrown_away = [0; 512];
    !matches!(std::io::stdin().read(&mut thrown_away), Ok(length) if length > 0)
}
