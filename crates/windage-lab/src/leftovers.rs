//! Ends processes that programs left running: their process groups, and processes that left them.
//!
//! The keeper has reaped what it started, so that the kernel may have given a process's id to
//! another one. Processes are therefore killed through descriptors, which stay theirs.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use windage_probe::{ArmProbe, process_group};

/// The time limit for killing a process group.
const GROUP_GONE_WITHIN: Duration = Duration::from_secs(1);
/// How long processes that were killed may take to end.
const PROCESSES_GONE_WITHIN: Duration = Duration::from_secs(5);
/// The interval between checks that they have ended.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Kills what a check or an agent left in its process group. It would run beside what is measured,
/// or hold a port. Processes that left the group on purpose live on.
///
/// The leader must be reaped.
pub(crate) fn end_its_group(leader: u32) {
    end_listed(GROUP_GONE_WITHIN, || group_without_leader(leader));
}

/// Kills every process that a probe finds; names those that survive.
pub(crate) fn end_all(probe: &mut ArmProbe) -> Vec<String> {
    let alive = end_listed(PROCESSES_GONE_WITHIN, || match probe.refresh_tasks() {
        Ok(_) => probe.process_ids().collect(),
        Err(_) => Vec::new(),
    });
    alive.iter().map(|id| format!("process {id}")).collect()
}

/// The processes of a group whose leader was reaped. The kernel does not reuse the leader's id while
/// its group has members: a process with that id shows that the group has ended.
fn group_without_leader(leader: u32) -> Vec<u32> {
    match Path::new("/proc").join(leader.to_string()).exists() {
        true => Vec::new(),
        false => process_group(&windage_probe::Linux, leader).unwrap_or_default(),
    }
}

/// Kills what is listed until nothing is, within a time; returns what is still listed then.
fn end_listed(within: Duration, mut list: impl FnMut() -> Vec<u32>) -> Vec<u32> {
    let deadline = Instant::now() + within;
    loop {
        let listed = list();
        if listed.is_empty() || Instant::now() >= deadline {
            return listed;
        }
        kill_all(&listed, &mut list);
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Kills processes that were listed. They are listed again once a descriptor holds each: an id that
/// has gone to another process meanwhile is no longer listed, and one that goes later has no effect.
fn kill_all(listed: &[u32], list_again: impl FnOnce() -> Vec<u32>) {
    let held: Vec<Held> = listed.iter().filter_map(|id| Held::of(*id)).collect();
    let still_listed = list_again();
    for process in held.iter().filter(|of| still_listed.contains(&of.id)) {
        process.kill();
    }
}

/// A process, held so that its id can't stand for another one.
struct Held {
    id: u32,
    pid: Pid,
    /// `None` before Linux 5.3: the list just before must do.
    descriptor: Option<OwnedFd>,
}

impl Held {
    /// `None` if it has ended.
    fn of(id: u32) -> Option<Held> {
        let pid = Pid::from_raw(id.cast_signed())?;
        let descriptor = match pidfd_open(pid, PidfdFlags::empty()) {
            Err(Errno::SRCH) => return None,
            opened => opened.ok(),
        };
        Some(Held {
            id,
            pid,
            descriptor,
        })
    }

    /// It may just have ended.
    fn kill(&self) {
        let _ = match &self.descriptor {
            Some(descriptor) => pidfd_send_signal(descriptor, Signal::KILL),
            None => kill_process(self.pid, Signal::KILL),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};

    use super::*;
    use crate::skip::skip;

    /// A process that leads a group of its own, as what the keeper starts does.
    fn leader(shell: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", shell]).process_group(0);
        command.spawn().unwrap()
    }

    /// Ends with its test.
    struct Sleeper(Child);

    impl Sleeper {
        fn new() -> Sleeper {
            Sleeper(leader("exec sleep 60"))
        }

        /// A process that was killed needs a moment to end.
        fn lives(&mut self) -> bool {
            std::thread::sleep(Duration::from_millis(200));
            self.0.try_wait().unwrap().is_none()
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// A process that got the id of a leader that was reaped; `None` where this user can't choose
    /// ids, or others take them first each time.
    fn reusing_an_id() -> Option<Sleeper> {
        (0..50).find_map(|_| {
            let mut ended = leader("exit 0");
            ended.wait().unwrap();
            let before = (ended.id() - 1).to_string();
            fs::write("/proc/sys/kernel/ns_last_pid", before).ok()?;
            let sleeper = Sleeper::new();
            (sleeper.0.id() == ended.id()).then_some(sleeper)
        })
    }

    #[test]
    fn a_process_that_took_the_id_of_a_leader_lives() {
        let Some(mut other) = reusing_an_id() else {
            let test = "a_process_that_took_the_id_of_a_leader_lives";
            return skip(test, "the ids of processes can't be chosen");
        };
        end_its_group(other.0.id());
        assert!(other.lives());
    }

    #[test]
    fn a_process_that_took_a_listed_id_lives() {
        let mut other = Sleeper::new();
        let id = other.0.id();
        kill_all(&[id], Vec::new);
        assert!(other.lives(), "no longer listed");
        kill_all(&[id], || vec![id]);
        let status = other.0.wait().unwrap();
        assert!(!status.success(), "listed again: {status}");
    }

    #[test]
    fn what_is_left_in_a_group_is_ended() {
        let mut ended = leader("sleep 60 &");
        ended.wait().unwrap();
        let members = || group_without_leader(ended.id());
        assert_eq!(members().len(), 1);
        end_its_group(ended.id());
        assert_eq!(members(), Vec::<u32>::new());
    }
}
