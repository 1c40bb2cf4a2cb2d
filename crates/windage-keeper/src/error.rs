//! Errors, and what to do about them.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::launch::Step;
use crate::{Containment, MAX_CHILDREN};

/// Why the keeper could not carry out a request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeeperError {
    /// The run's id can't name a directory.
    #[error(
        "run id {run_id:?}: use 1 to 64 letters, digits, `.`, `_` or `-`, not starting with `.`"
    )]
    RunId {
        /// As given.
        run_id: String,
    },
    /// The requested containment does not work here.
    #[error("containment `{}` is not available: {reason}; leave the choice to windage, or run as root", containment.as_str())]
    Unavailable {
        /// The requested containment.
        containment: Containment,
        /// What failed.
        reason: String,
    },
    /// A program without a `/` is in no directory of `PATH`.
    #[error(
        "program `{}` not found in PATH ({}): install it, or give its path",
        program.display(), list(looked_in)
    )]
    NotFound {
        /// The program.
        program: PathBuf,
        /// The directories searched, in order.
        looked_in: Vec<PathBuf>,
    },
    /// The program has no `/`, and the environment has no `PATH`.
    #[error("program `{}` can't be looked up: the given environment has no PATH; add one, or give the program's path", program.display())]
    NoPath {
        /// The program.
        program: PathBuf,
    },
    /// A process could not be started.
    #[error("`{}` was not started: {doing}: {source}{remedy}", program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// The step that failed, with the path at fault.
        doing: String,
        /// The kernel's error.
        source: io::Error,
        /// What to do, after a semicolon; empty if the text already says it.
        remedy: &'static str,
    },
    /// A request is larger than the protocol's bound.
    #[error(
        "a request of {bytes} bytes is above the limit of {limit}: shorten arguments or environment"
    )]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Too many children live at once.
    #[error("{MAX_CHILDREN} processes are alive or have unread exits: end some, or call `poll`")]
    TooManyChildren,
    /// The child does not belong to this keeper, or ended so long ago that its exit is forgotten.
    #[error(
        "child {child} is not known to this keeper: pass a child that it spawned, and ask for its exit sooner"
    )]
    UnknownChild {
        /// [`crate::Child::id`].
        child: u64,
    },
    /// The child has already ended, so it can't be signalled.
    #[error("child {child} has already ended: call `wait` for its exit")]
    Ended {
        /// [`crate::Child::id`].
        child: u64,
    },
    /// A signal could not be sent.
    #[error(
        "signal {signal} to child {child}: {source}; use a signal number that signal(7) lists, and a process of the same user"
    )]
    Signal {
        /// [`crate::Child::id`].
        child: u64,
        /// The signal's number.
        signal: i32,
        /// The kernel's error.
        source: io::Error,
    },
    /// The child survives SIGKILL.
    #[error(
        "child {child} is still alive {within:?} after SIGKILL: it waits for a device or a file system; see /proc/PID/stack"
    )]
    Unkillable {
        /// [`crate::Child::id`].
        child: u64,
        /// How long the keeper waited.
        within: Duration,
    },
    /// A cgroup directory could not be removed at the end.
    #[error("cgroup directory {} was not removed: {source}; remove it with rmdir when nothing is left in it", dir.display())]
    Directory {
        /// The directory.
        dir: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The keeper died, and everything it started was killed.
    #[error(
        "the keeper died, and everything it started was killed: look in the kernel log for an out-of-memory kill, and start the run again"
    )]
    Gone,
    /// The keeper lives but does not answer.
    #[error(
        "the keeper did not answer within {within:?}: is it stopped (SIGSTOP), or a file system hung?"
    )]
    Silent {
        /// How long Windage waited.
        within: Duration,
    },
    /// The keeper, or a process it started, could not be ended.
    #[error(
        "processes of the run are still alive {within:?} after they were killed: look for {}={run_id} in /proc/PID/environ",
        crate::RUN_VARIABLE
    )]
    Stuck {
        /// The run.
        run_id: String,
        /// How long Windage waited.
        within: Duration,
    },
    /// The other side sent an invalid message.
    #[error(
        "the keeper's answer is invalid ({what}): is the executable another version of windage?"
    )]
    Protocol {
        /// The fault.
        what: String,
    },
    /// A system call failed unexpectedly.
    #[error("{call}: {source}; check the limits of open files and processes (ulimit -n, -u)")]
    System {
        /// The call.
        call: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
}

impl KeeperError {
    /// Names a call that failed.
    pub(crate) fn system(call: &'static str) -> impl FnOnce(nix::Error) -> KeeperError {
        move |errno| KeeperError::System {
            call,
            source: errno.into(),
        }
    }

    /// A start that failed at `step`, with its `path` if it has one.
    pub(crate) fn spawn(
        program: &Path,
        step: Step,
        path: Option<&Path>,
        errno: i32,
    ) -> KeeperError {
        let doing = match path {
            Some(path) => format!("{} {}", step.as_str(), path.display()),
            None => step.as_str().to_owned(),
        };
        let source = io::Error::from_raw_os_error(errno);
        KeeperError::Spawn {
            program: program.to_owned(),
            doing,
            source,
            remedy: remedy(step, errno),
        }
    }
}

/// What to do about a failed start; begins with a semicolon unless empty.
fn remedy(step: Step, errno: i32) -> &'static str {
    match (step, errno) {
        (Step::Exec, libc::ENOENT) => {
            "; no such file, or the interpreter that it names (its #! line, its ELF loader) is missing"
        }
        (Step::Exec, libc::ENOEXEC) => "; it is not a program for this machine and has no #! line",
        (Step::Exec, libc::E2BIG) => "; shorten its arguments or environment",
        (Step::Directory, libc::ENOENT) => "; create the directory first",
        (Step::Log, libc::ENOENT) => "; create the log's directory first",
        (Step::Cgroup, libc::ENOENT) => "; create the cgroup first (mkdir)",
        (Step::Cgroup, libc::EACCES | libc::EPERM) => "; run as root, or have the cgroup delegated",
        (Step::User, libc::EPERM) => {
            "; run windage as root (CAP_SETUID, CAP_SETGID), or remove `user` from the plan"
        }
        (Step::Directory | Step::Exec, libc::EACCES) => {
            "; its `user` must be allowed to enter that directory and to execute the program, which \
             needs execute permission (chmod +x) and a file system not mounted noexec"
        }
        (Step::Cpus, libc::EINVAL) => {
            "; name cores that are online and allowed (nproc, taskset -p $$)"
        }
        (Step::Arguments, _) => "; program, argument, variable or path contains a NUL byte",
        (Step::Fork, libc::EAGAIN | libc::ENOMEM) => {
            "; raise the limit of processes (ulimit -u, pids cgroup)"
        }
        (_, libc::EMFILE | libc::ENFILE) => "; raise the limit of open files (ulimit -n)",
        (_, libc::EACCES | libc::EPERM) => "; check the permissions of that path",
        _ => "",
    }
}

fn list(dirs: &[PathBuf]) -> String {
    dirs.iter()
        .map(|dir| dir.display().to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_starts_name_program_path_cause_and_remedy() {
        let table: [(Step, Option<&str>, i32, &[&str]); 4] = [
            (
                Step::Directory,
                Some("/no"),
                libc::ENOENT,
                &["`p`", "/no", "No such file", "create the directory"],
            ),
            (
                Step::Exec,
                None,
                libc::EACCES,
                &["`p`", "Permission denied", "chmod +x"],
            ),
            (
                Step::Cpus,
                None,
                libc::EINVAL,
                &["`p`", "Invalid argument", "online"],
            ),
            (Step::Exec, None, libc::EIO, &["`p`", "Input/output error"]),
        ];
        for (step, path, errno, parts) in table {
            let text =
                KeeperError::spawn(Path::new("p"), step, path.map(Path::new), errno).to_string();
            for part in parts {
                assert!(text.contains(part), "{text:?} lacks {part:?}");
            }
        }
    }
}
