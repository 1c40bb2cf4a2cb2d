//! Listening sockets: `/proc/PID/net/{tcp,tcp6}`, and the links in `/proc/PID/fd`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{lines, number, words};

/// A TCP socket that listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListeningSocket {
    /// The address to which it is bound.
    pub address: SocketAddr,
    /// Its inode, which descriptors name.
    pub inode: u64,
}

/// `TCP_LISTEN`, in `include/net/tcp_states.h`.
const LISTENS: &[u8] = b"0A";

/// The sockets that listen, from `/proc/PID/net/tcp` or `tcp6`. Lines of another form are left out,
/// as is the heading.
pub fn listening(bytes: &[u8]) -> impl Iterator<Item = ListeningSocket> {
    lines(bytes).filter_map(|line| {
        // sl, local, remote, state, queues, timer, retransmits, uid, timeout, inode
        let mut fields = words(line);
        let local = fields.nth(1)?;
        let state = fields.nth(1)?;
        let inode = number(fields.nth(5)?)?;
        (state == LISTENS).then_some(ListeningSocket {
            address: address(local)?,
            inode,
        })
    })
}

/// An address as the kernel prints it: each 32-bit word of it as a number of this machine.
fn address(text: &[u8]) -> Option<SocketAddr> {
    let (ip, port) = std::str::from_utf8(text).ok()?.split_once(':')?;
    let word = |at: usize| {
        let digits = ip.get(8 * at..8 * at + 8)?;
        u32::from_str_radix(digits, 16).ok().map(u32::to_ne_bytes)
    };
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let bytes: [u8; 16] = words.concat().try_into().ok()?;
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    let port = u16::from_str_radix(port, 16).ok()?;
    Some(SocketAddr::new(ip, port))
}

/// The inode of a socket, from the target of a link in `/proc/PID/fd`; `None` for other files.
#[must_use]
pub fn inode(link: &[u8]) -> Option<u64> {
    number(link.strip_prefix(b"socket:[")?.strip_suffix(b"]")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn sockets_that_listen_are_found() {
        let v4 = b"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
            0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 31337 1 0000000000000000 100 0 0 10 0\n   \
            1: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 42 1 0000000000000000 100 0 0 10 0\n   \
            2: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000        0 99 1 0000000000000000 20 4 30 10 -1\n";
        let v6 = b"   0: 00000000000000000000000001000000:1F91 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 7 1\n   \
            1: B80D0120000000000000000001000000:0001 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 8 1\n";
        let found = |text: &[u8]| -> Vec<(String, u64)> {
            let named = |of: ListeningSocket| (of.address.to_string(), of.inode);
            listening(text).map(named).collect()
        };
        let expected = [("127.0.0.1:8080", 31337), ("0.0.0.0:80", 42)];
        assert_eq!(
            found(v4),
            expected.map(|(at, inode)| (at.to_owned(), inode))
        );
        let expected = [("[::1]:8081", 7), ("[2001:db8::1]:1", 8)];
        assert_eq!(
            found(v6),
            expected.map(|(at, inode)| (at.to_owned(), inode))
        );
        assert_eq!(found(b"nonsense\n\n 0: 0100007F:1F90 x 0A"), []);
    }

    #[test]
    fn links_name_sockets() {
        let table: [(&[u8], Option<u64>); 4] = [
            (b"socket:[31337]", Some(31337)),
            (b"pipe:[31337]", None),
            (b"/tmp/socket:[1]", None),
            (b"socket:[]", None),
        ];
        for (link, expected) in table {
            assert_eq!(inode(link), expected);
        }
    }
}
