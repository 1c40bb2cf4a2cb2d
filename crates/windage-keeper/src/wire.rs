//! The messages between Windage and the keeper. They are private and both sides are one executable,
//! so there is no version to negotiate.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::launch::Step;
use crate::{Credentials, Exit, ExitStatusKind};

/// The largest message, in bytes of JSON.
pub(crate) const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

/// From Windage, one at a time: the next follows the answer.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) enum Request {
    /// Start a process; the descriptor to inherit comes with the message's first byte.
    Spawn(Box<SpawnRequest>),
    /// Signal a child, or its whole process group.
    Signal {
        child: u64,
        signal: i32,
        group: bool,
    },
    /// Remove this cgroup directory at the end.
    RemoveAtEnd { dir: Bytes },
    /// At the end, after everything was killed, run this instead of what an earlier request named,
    /// for so long at most.
    RunAtEnd {
        spawn: Box<SpawnRequest>,
        within: Duration,
    },
    /// Kill everything that was started, and stay.
    KillAll,
}

/// A resolved `Spawn`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SpawnRequest {
    pub(crate) child: u64,
    pub(crate) program: Bytes,
    /// Includes the program's own name.
    pub(crate) args: Vec<Bytes>,
    pub(crate) env: Vec<(Bytes, Bytes)>,
    pub(crate) cwd: Bytes,
    pub(crate) log: Bytes,
    pub(crate) cgroups: Vec<Bytes>,
    pub(crate) cpus: Option<Vec<u32>>,
    pub(crate) inherits: bool,
    pub(crate) user: Option<Credentials>,
    pub(crate) no_new_privs: bool,
}

/// From the keeper: answers in the order of requests, and exits at any time in between.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) enum Notice {
    /// The first notice: it is ready for requests.
    Ready,
    /// Instead of `Ready`: the containment does not work here.
    Unavailable { reason: String },
    /// Answer: done. For a spawn, the child's pid waits on the birth socket.
    Done,
    /// Answer to a spawn that failed.
    NotStarted {
        step: Step,
        path: Option<Bytes>,
        errno: i32,
    },
    /// Answer: a system call failed.
    Failed { errno: i32 },
    /// Answer: the child has ended (its exit is on its way), or never existed.
    NoSuchChild,
    /// Answer: the limit of living children is reached.
    TooManyChildren,
    /// A child ended.
    Exited {
        child: u64,
        code: Option<i32>,
        signal: Option<i32>,
        user_ns: u64,
        system_ns: u64,
        max_rss_bytes: u64,
    },
}

impl From<Exit> for Notice {
    fn from(exit: Exit) -> Notice {
        let (code, signal) = match exit.status {
            ExitStatusKind::Code(code) => (Some(code), None),
            ExitStatusKind::Signal(signal) => (None, Some(signal)),
        };
        Notice::Exited {
            child: exit.child,
            code,
            signal,
            user_ns: exit.user_ns,
            system_ns: exit.system_ns,
            max_rss_bytes: exit.max_rss_bytes,
        }
    }
}

impl Notice {
    /// The exit in this notice; otherwise the notice itself, which is an answer.
    pub(crate) fn into_exit(self) -> Result<Exit, Notice> {
        match self {
            Notice::Exited {
                child,
                code: Some(code),
                signal: None,
                user_ns,
                system_ns,
                max_rss_bytes,
            } => Ok(Exit {
                child,
                status: ExitStatusKind::Code(code),
                user_ns,
                system_ns,
                max_rss_bytes,
            }),
            Notice::Exited {
                child,
                code: None,
                signal: Some(signal),
                user_ns,
                system_ns,
                max_rss_bytes,
            } => Ok(Exit {
                child,
                status: ExitStatusKind::Signal(signal),
                user_ns,
                system_ns,
                max_rss_bytes,
            }),
            answer => Err(answer),
        }
    }
}

/// Text of the operating system: a string if it is UTF-8, otherwise bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Bytes {
    Text(String),
    Raw(Vec<u8>),
}

impl From<&OsStr> for Bytes {
    fn from(text: &OsStr) -> Bytes {
        match text.to_str() {
            Some(text) => Bytes::Text(text.to_owned()),
            None => Bytes::Raw(text.as_bytes().to_owned()),
        }
    }
}

impl From<&Path> for Bytes {
    fn from(path: &Path) -> Bytes {
        path.as_os_str().into()
    }
}

impl Bytes {
    pub(crate) fn into_vec(self) -> Vec<u8> {
        match self {
            Bytes::Text(text) => text.into_bytes(),
            Bytes::Raw(bytes) => bytes,
        }
    }

    pub(crate) fn into_path(self) -> PathBuf {
        OsString::from_vec(self.into_vec()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_bytes_survive() {
        for bytes in [
            &b""[..],
            b"plain",
            "µ".as_bytes(),
            b"\xff\xfe not text",
            b"[1,2]",
            b"\"q\"",
        ] {
            let sent = serde_json::to_string(&Bytes::from(OsStr::from_bytes(bytes))).unwrap();
            let received: Bytes = serde_json::from_str(&sent).unwrap();
            assert_eq!(received.into_vec(), bytes, "{sent}");
        }
    }

    #[test]
    fn exits_round_trip_and_answers_are_not_exits() {
        for status in [ExitStatusKind::Code(7), ExitStatusKind::Signal(9)] {
            let exit = Exit {
                child: 1,
                status,
                user_ns: 2,
                system_ns: 4,
                max_rss_bytes: 3,
            };
            assert_eq!(Notice::from(exit).into_exit(), Ok(exit));
        }
        assert_eq!(Notice::Done.into_exit(), Err(Notice::Done));
    }
}
