//! The descendants of this process, and how to kill them even if they fork meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::signal::Signal;

/// A process, distinguished by its start time from a later one with the same pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity {
    pub(crate) pid: i32,
    start_ticks: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    identity: Identity,
    parent: i32,
    dead: bool,
}

/// After this many rounds of stopping, whatever was found is killed; the caller calls again.
const MAX_ROUNDS: usize = 64;

/// Stops all descendants, parents first, until no new one is found, then kills them: a stopped
/// process can't fork. Returns at once. The caller reaps the dead and repeats the call until there
/// is no child left.
pub(crate) fn kill_descendants() {
    let me = nix::unistd::getpid().as_raw();
    let mut stopped = BTreeSet::new();
    for _ in 0..MAX_ROUNDS {
        let found = descendants(&all_processes(), me);
        let fresh: Vec<Identity> = found.into_iter().filter(|p| stopped.insert(*p)).collect();
        if fresh.is_empty() {
            break;
        }
        for process in fresh {
            signal(process, Signal::SIGSTOP);
        }
    }
    for process in stopped {
        signal(process, Signal::SIGKILL);
    }
}

/// Signals this process only, never a later one with the same pid.
fn signal(process: Identity, signal: Signal) {
    let signal = signal as i32;
    // SAFETY: plain system calls on numbers; a null siginfo is allowed.
    unsafe {
        let pidfd = libc::syscall(libc::SYS_pidfd_open, process.pid, 0);
        let Ok(pidfd @ 0..) = i32::try_from(pidfd) else {
            // Linux before 5.3, or out of descriptors: the look just before must do.
            if Errno::last() != Errno::ESRCH
                && read_process(process.pid).is_some_and(|p| p.identity == process)
            {
                libc::kill(process.pid, signal);
            }
            return;
        };
        let pidfd = OwnedFd::from_raw_fd(pidfd);
        // The descriptor refers to the current owner of the pid; is that the intended process?
        if read_process(process.pid).is_some_and(|p| p.identity == process) {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                pidfd.as_raw_fd(),
                signal,
                std::ptr::null::<()>(),
                0,
            );
        }
    }
}

/// The living processes among `processes` that descend from `root`, parents before children.
fn descendants(processes: &[Process], root: i32) -> Vec<Identity> {
    let mut children: BTreeMap<i32, Vec<&Process>> = BTreeMap::new();
    for process in processes {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut generation = vec![root];
    while !generation.is_empty() {
        // Removes what it visits, so that a torn snapshot with a cycle ends as well.
        let next: Vec<&Process> = generation
            .iter()
            .filter_map(|pid| children.remove(pid))
            .flatten()
            .collect();
        found.extend(next.iter().filter(|p| !p.dead).map(|p| p.identity));
        generation = next.iter().map(|p| p.identity.pid).collect();
    }
    found
}

fn all_processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(read_process)
        .collect()
}

fn read_process(pid: i32) -> Option<Process> {
    parse_stat(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads `/proc/PID/stat`, whose second field is a name that may contain anything.
fn parse_stat(pid: i32, stat: &[u8]) -> Option<Process> {
    let name_end = stat.iter().rposition(|b| *b == b')')?;
    let text = std::str::from_utf8(stat.get(name_end + 1..)?).ok()?;
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    // Numbered as in proc_pid_stat(5), less the three before.
    let field = |number: usize| fields.get(number - 3).copied();
    Some(Process {
        identity: Identity {
            pid,
            start_ticks: field(22)?.parse().ok()?,
        },
        parent: field(4)?.parse().ok()?,
        dead: matches!(field(3)?, "Z" | "X"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32, dead: bool) -> Process {
        Process {
            identity: Identity {
                pid,
                start_ticks: 777,
            },
            parent,
            dead,
        }
    }

    #[test]
    fn stat_lines_are_read_whatever_the_name() {
        let rest = b"5 5 0 -1 0 0 0 0 0 0 1 2 3 4 20 0 1 777";
        let living = Some(process(10, 5, false));
        let table: [(&[u8], Option<Process>); 6] = [
            (b"10 (sh) S 5 ", living),
            (b"10 (a) Z 1 (b) S 5 ", living),
            (b"10 (\xff\xfe) S 5 ", living),
            (b"10 (gone) Z 5 ", Some(process(10, 5, true))),
            (b"10 (sh S 5 ", None),
            (b"10 (sh) S ", None),
        ];
        for (head, expected) in table {
            let found = parse_stat(10, &[head, rest].concat());
            assert_eq!(found, expected, "{}", String::from_utf8_lossy(head));
        }
    }

    #[test]
    fn descendants_are_found_parents_first_through_the_dead() {
        let table = [
            process(1, 0, false),
            process(30, 20, false),
            process(20, 10, true),
            process(10, 5, false),
            process(40, 1, false),
            process(11, 5, false),
        ];
        let pids = |root| {
            descendants(&table, root)
                .iter()
                .map(|p| p.pid)
                .collect::<Vec<_>>()
        };
        assert_eq!(pids(5), [10, 11, 30]);
        assert_eq!(pids(20), [30]);
        assert!(pids(99).is_empty());
    }

    #[test]
    fn a_cycle_in_a_torn_snapshot_ends() {
        let table = [process(2, 3, false), process(3, 2, false)];
        assert_eq!(descendants(&table, 2).len(), 2);
    }

    #[test]
    fn this_process_is_among_all() {
        let me = nix::unistd::getpid().as_raw();
        assert!(
            all_processes()
                .iter()
                .any(|p| p.identity.pid == me && !p.dead)
        );
    }
}
