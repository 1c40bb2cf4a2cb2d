//! Which processes listen on a TCP address: whether those that are measured do, or others.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use crate::error::{ProbeError, has_left};
use crate::open_files::read_file;
use crate::parse::process::{self, ProcessStat};
use crate::parse::socket::{self, ListeningSocket};
use crate::system::System;
use crate::task::{dir, every_process};

/// A process, as messages name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedProcess {
    /// Its id.
    pub id: u32,
    /// The program's name.
    pub name: String,
}

impl NamedProcess {
    /// The process with that id; its name is `?` if it has ended.
    #[must_use]
    pub fn of(system: &dyn System, id: u32) -> NamedProcess {
        let stat = read_file(system, &dir(id).join("stat")).unwrap_or_default();
        let name = process::name(&stat).unwrap_or_else(|| "?".to_owned());
        NamedProcess { id, name }
    }
}

impl fmt::Display for NamedProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({})", self.id, self.name)
    }
}

/// Who gets the connections to an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listening {
    /// The given processes.
    Own,
    /// The given processes and these, which are none of their ancestors.
    Shared(Vec<NamedProcess>),
    /// These processes instead.
    Others(Vec<NamedProcess>),
    /// Other processes, which this user may not see.
    Hidden,
    /// Nobody.
    Nobody,
    /// This user may not see what the given processes listen on.
    Unknown,
}

/// Who listens on an address: `own` or other processes.
///
/// Processes in another network namespace (a container) may be reached under another address than
/// that on which they listen. So there, any listening socket counts.
///
/// # Errors
/// When processes or sockets can't be listed.
pub fn listening(
    system: &dyn System,
    address: SocketAddr,
    own: &[u32],
) -> Result<Listening, ProbeError> {
    let at_address = best(sockets(system, "self")?, address);
    let mut is_own = false;
    let mut is_unreadable = false;
    for &id in own {
        match holds(system, id, &at_address) {
            Ok(found) => is_own |= found,
            Err(error) => is_unreadable |= !has_left(&error),
        }
        if listens_elsewhere(system, id).unwrap_or(false) {
            return Ok(Listening::Own);
        }
    }
    let all = every_process(system)?;
    let ancestors = ancestors(own, &all);
    let mut others = Vec::new();
    for (id, _) in all {
        let is_known = own.contains(&id) || (is_own && ancestors.contains(&id));
        if !is_known && holds(system, id, &at_address).unwrap_or(false) {
            others.push(NamedProcess::of(system, id));
        }
    }
    Ok(match (is_own, others.is_empty()) {
        (true, true) => Listening::Own,
        (true, false) => Listening::Shared(others),
        (false, false) => Listening::Others(others),
        (false, true) if is_unreadable => Listening::Unknown,
        (false, true) if at_address.is_empty() => Listening::Nobody,
        (false, true) => Listening::Hidden,
    })
}

/// Whether a process is in another network namespace and listens there.
fn listens_elsewhere(system: &dyn System, id: u32) -> io::Result<bool> {
    if system.read_link(&dir(id).join("ns/net"))?
        == system.read_link(Path::new("/proc/self/ns/net"))?
    {
        return Ok(false);
    }
    let there = sockets(system, &id.to_string()).map_err(io::Error::other)?;
    holds(system, id, &there.iter().map(|of| of.inode).collect())
}

/// Whether a process holds one of these sockets.
fn holds(system: &dyn System, id: u32, inodes: &BTreeSet<u64>) -> io::Result<bool> {
    let descriptors = dir(id).join("fd");
    for entry in system.list(&descriptors)? {
        // A descriptor that was closed meanwhile is none.
        let Ok(link) = system.read_link(&descriptors.join(entry.name)) else {
            continue;
        };
        let inode = socket::inode(link.as_os_str().as_encoded_bytes());
        if inode.is_some_and(|inode| inodes.contains(&inode)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The TCP sockets that listen in the network namespace of a process.
fn sockets(system: &dyn System, process: &str) -> Result<Vec<ListeningSocket>, ProbeError> {
    let mut found = Vec::new();
    for table in ["tcp", "tcp6"] {
        let path = PathBuf::from("/proc").join(process).join("net").join(table);
        match read_file(system, &path) {
            Ok(text) => found.extend(socket::listening(&text)),
            // A kernel without IPv6 has no such file.
            Err(error) if has_left(&error) => {}
            Err(source) => {
                return Err(ProbeError::File {
                    call: "read",
                    path,
                    source,
                });
            }
        }
    }
    Ok(found)
}

/// The sockets that get connections to an address: those bound to it, else those bound to all
/// addresses. One bound to all IPv6 addresses gets connections over IPv4 too, if no other does.
fn best(sockets: Vec<ListeningSocket>, address: SocketAddr) -> BTreeSet<u64> {
    let wanted = match address.ip().to_canonical() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    let rank = |socket: &ListeningSocket| match socket.address.ip().to_canonical() {
        _ if socket.address.port() != address.port() => None,
        ip if ip == wanted => Some(0),
        ip if ip.is_unspecified() && ip.is_ipv4() == wanted.is_ipv4() => Some(1),
        ip if ip.is_unspecified() && ip.is_ipv6() => Some(2),
        _ => None,
    };
    let first = sockets.iter().filter_map(rank).min();
    let of_first = sockets
        .iter()
        .filter(|of| first.is_some() && rank(of) == first);
    of_first.map(|of| of.inode).collect()
}

/// The processes from which any of these descends.
fn ancestors(of: &[u32], all: &[(u32, ProcessStat)]) -> BTreeSet<u32> {
    let parent = |id: u32| {
        all.iter()
            .find(|(known, _)| *known == id)
            .map(|(_, stat)| stat.parent)
    };
    let mut found = BTreeSet::new();
    for &id in of {
        let mut next = parent(id);
        while let Some(ancestor) = next.filter(|ancestor| found.insert(*ancestor)) {
            next = parent(ancestor);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeSystem;

    /// A machine with these processes: id, parent, name, sockets. Sockets 80 and 81 listen on
    /// 127.0.0.1:8080, 82 on 0.0.0.0:8081, 83 on [::]:8082, 84 on 127.0.0.1:8081.
    fn machine(processes: &[(u32, u32, &str, &[u64])]) -> FakeSystem {
        let system = FakeSystem::new();
        let line =
            |address: &str, inode: u32| format!("0: {address} 0:0 0A 0:0 0:0 0 0 0 {inode} 1\n");
        let address = |ip: [u8; 4], port: u16| format!("{:08X}:{port:04X}", u32::from_ne_bytes(ip));
        let local = [127, 0, 0, 1];
        let tcp = line(&address(local, 8080), 80)
            + &line(&address(local, 8080), 81)
            + &line(&address([0; 4], 8081), 82)
            + &line(&address(local, 8081), 84);
        system.set("/proc/self/net/tcp", tcp);
        let tcp6 = line(&format!("{}:{:04X}", "0".repeat(32), 8082), 83);
        system.set("/proc/self/net/tcp6", tcp6);
        system.set("/proc/self/ns/net", "net:[1]");
        for (id, parent, name, sockets) in processes {
            let zeros = "0 ".repeat(47);
            system.set(
                format!("/proc/{id}/stat"),
                format!("{id} ({name}) S {parent} {zeros}"),
            );
            system.set(format!("/proc/{id}/ns/net"), "net:[1]");
            system.set(format!("/proc/{id}/fd/0"), "/dev/null");
            for (at, inode) in (3..).zip(*sockets) {
                system.set(format!("/proc/{id}/fd/{at}"), format!("socket:[{inode}]"));
            }
        }
        system
    }

    fn at(system: &FakeSystem, address: &str, own: &[u32]) -> Listening {
        listening(system, address.parse().unwrap(), own).unwrap()
    }

    fn listener(id: u32, name: &str) -> NamedProcess {
        let name = name.to_owned();
        NamedProcess { id, name }
    }

    #[test]
    fn the_process_that_owns_the_port_is_told_from_others() {
        let system = machine(&[
            (1, 0, "init", &[80]),
            (10, 1, "nginx", &[80]),
            (11, 10, "nginx", &[80]),
            (12, 10, "nginx", &[80]),
            (20, 1, "sleep", &[]),
            (30, 1, "any", &[82]),
            (31, 1, "local", &[84]),
            (40, 1, "six", &[83]),
        ]);
        let nginx = |ids: &[u32]| {
            ids.iter()
                .map(|id| listener(*id, "nginx"))
                .collect::<Vec<_>>()
        };
        let table = [
            (
                "127.0.0.1:8080",
                &[10, 11, 12][..],
                Listening::Own,
                "with all descendants",
            ),
            (
                "0.0.0.0:8080",
                &[10, 11, 12],
                Listening::Own,
                "connected to loopback",
            ),
            (
                "127.0.0.1:8080",
                &[11],
                Listening::Shared(nginx(&[12])),
                "one worker of two",
            ),
            (
                "127.0.0.1:8081",
                &[31],
                Listening::Own,
                "the closer address",
            ),
            (
                "127.0.0.1:8081",
                &[30],
                Listening::Others(vec![listener(31, "local")]),
                "the wider one",
            ),
            ("127.0.0.2:8081", &[30], Listening::Own, "all addresses"),
            (
                "127.0.0.1:8082",
                &[40],
                Listening::Own,
                "all addresses of both families",
            ),
            ("[::1]:8082", &[40], Listening::Own, "all addresses"),
            ("[::1]:8080", &[10], Listening::Nobody, "only IPv4"),
            ("127.0.0.1:9", &[10], Listening::Nobody, "another port"),
        ];
        for (address, own, expected, why) in table {
            assert_eq!(at(&system, address, own), expected, "{why}");
        }
        let mut all = vec![listener(1, "init")];
        all.extend(nginx(&[10, 11, 12]));
        assert_eq!(at(&system, "127.0.0.1:8080", &[20]), Listening::Others(all));
    }

    #[test]
    fn a_second_socket_for_the_same_address_shares_it() {
        let system = machine(&[(10, 1, "old", &[80]), (20, 1, "new", &[81])]);
        let expected = Listening::Shared(vec![listener(10, "old")]);
        assert_eq!(at(&system, "127.0.0.1:8080", &[20]), expected);
    }

    #[test]
    fn a_container_is_reached_under_another_address() {
        let system = machine(&[
            (10, 1, "docker-proxy", &[80]),
            (20, 1, "app", &[90]),
            (30, 1, "sleep", &[]),
        ]);
        for id in [20, 30] {
            system.set(format!("/proc/{id}/ns/net"), "net:[2]");
            system.set(
                format!("/proc/{id}/net/tcp"),
                "0: 00000000:0050 0:0 0A 0:0 0:0 0 0 0 90 1\n",
            );
        }
        let proxy = vec![listener(10, "docker-proxy")];
        let at = |own: &[u32]| at(&system, "127.0.0.1:8080", own);
        assert_eq!(at(&[20]), Listening::Own);
        assert_eq!(at(&[30]), Listening::Others(proxy));
    }

    #[test]
    fn what_may_not_be_seen_is_not_judged() {
        let system = machine(&[(10, 1, "root", &[80, 81]), (20, 1, "own", &[])]);
        system.fail("/proc/10/fd", libc::EACCES);
        assert_eq!(at(&system, "127.0.0.1:8080", &[20]), Listening::Hidden);
        assert_eq!(at(&system, "127.0.0.1:8080", &[10]), Listening::Unknown);
        assert_eq!(
            at(&system, "127.0.0.1:8080", &[99]),
            Listening::Hidden,
            "it has ended"
        );
    }
}
