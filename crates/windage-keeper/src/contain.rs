//! Killing everything that was started.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid};

use crate::cgroup::RunCgroup;
use crate::process_tree::kill_descendants;
use crate::reap::{Reaped, reap_one};

const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// What contains the processes, as seen by the process that must kill them.
#[derive(Debug)]
pub(crate) enum Hold {
    /// This process is pid 1 of its namespace.
    PidNamespace,
    /// A cgroup, and this process is a subreaper.
    Cgroup(RunCgroup),
    /// This process is a subreaper.
    Descendants,
}

impl Hold {
    /// What a new child must enter.
    pub(crate) fn entrance(&self) -> io::Result<Option<OwnedFd>> {
        match self {
            Hold::Cgroup(cgroup) => cgroup.entrance().map(Some),
            Hold::PidNamespace | Hold::Descendants => Ok(None),
        }
    }

    /// Kills and reaps until this process has no descendant left, and reports each one reaped. Does
    /// not give up: as long as a process can't be killed, this one stays alive to do it.
    pub(crate) fn kill_all(&self, mut reaped: impl FnMut(Reaped)) {
        let mut pause = FIRST_PAUSE;
        loop {
            self.kill_once();
            // Killed processes need a moment; most have ended after the first.
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
            loop {
                match reap_one() {
                    Reaped::NoChildren => return,
                    Reaped::NoneYet => break,
                    one @ Reaped::One { .. } => reaped(one),
                }
            }
        }
    }

    /// Removes what was created to contain them.
    pub(crate) fn remove(&self) {
        if let Hold::Cgroup(cgroup) = self {
            // Guardian and keeper both try; the second finds it removed.
            let _ = cgroup.remove();
        }
    }

    fn kill_once(&self) {
        match self {
            // From any process but pid 1, this would kill the entire machine's processes.
            Hold::PidNamespace if getpid().as_raw() == 1 => {
                let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
            }
            Hold::PidNamespace | Hold::Descendants => kill_descendants(),
            Hold::Cgroup(cgroup) => {
                cgroup.kill();
                // A service may have moved a process to another cgroup.
                kill_descendants();
            }
        }
    }
}
