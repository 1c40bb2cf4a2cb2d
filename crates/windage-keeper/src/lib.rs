//! Starts processes and lets none of them outlive Windage.
//!
//! Windage executes itself a second time as the *keeper*, and only the keeper starts processes. A
//! Unix socket connects the two. When Windage's end of it closes (Windage returned, failed, was
//! interrupted or was killed with signal 9), the keeper kills everything that descends from it,
//! reaps it, runs a last process if Windage has named one, removes the registered cgroup
//! directories, and exits. There is no other way to end: an
//! orderly end takes the same path as a kill.
//!
//! What happens when the keeper itself is killed depends on [`Containment`]:
//!
//! - **[`PidNamespace`](Containment::PidNamespace)**: the keeper is pid 1 of a namespace, and the
//!   kernel kills a namespace whose pid 1 dies (`pid_namespaces(7)`). Nothing can slip out.
//! - **[`Cgroup`](Containment::Cgroup)** and **[`Subreaper`](Containment::Subreaper)**: the
//!   process that windage starts is a *guardian*, and its only child is the keeper. Both are
//!   child subreapers (`prctl(2)`), so orphans of a killed keeper become children of the
//!   guardian, which kills all its descendants; and the keeper does the same when it sees the
//!   guardian die. Killing keeper and guardian at once is the one gap.
//!
//! Why a guardian, and not Windage as the second subreaper? The guardian's only child ever is the
//! keeper, so all its descendants are ours. Windage would have to distinguish adopted orphans from
//! its own children, and neither an environment marker (nginx overwrites its environment to set its
//! title) nor the session (daemons make their own) is reliable.
//!
//! The crate does not stop a service that starts processes through a server elsewhere
//! (`systemd-run`, a container engine).
//!
//! ```no_run
//! use windage_keeper::{KEEPER_VERB, Keeper, KeeperOptions, Spawn, keeper_main};
//!
//! if std::env::args().nth(1).as_deref() == Some(KEEPER_VERB) {
//!     keeper_main();
//! }
//! let mut keeper = Keeper::start(KeeperOptions {
//!     executable: "/proc/self/exe".into(),
//!     containment: None,
//!     run_id: "example".to_owned(),
//! })?;
//! let child = keeper.spawn(Spawn {
//!     program: "sleep".into(),
//!     args: vec!["60".into()],
//!     env: vec![("PATH".into(), "/usr/bin".into())],
//!     cwd: "/".into(),
//!     log: "sleep.log".into(),
//!     cgroups: Vec::new(),
//!     cpus: None,
//!     inherit: None,
//!     user: None,
//!     no_new_privs: true,
//! })?;
//! println!("{} does not outlive this program, even one that is killed", child.pid);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Needs Linux 5.3 (`pidfd_open`). Older kernels lose only the protection against a pid that is
//! reused between look and kill.

mod cgroup;
mod channel;
mod client;
mod contain;
mod error;
mod guardian;
mod keeper;
mod launch;
mod lookup;
mod process_tree;
mod reap;
#[cfg(test)]
#[path = "../../windage/tests/quick/skip.rs"]
mod skip;
mod start;
mod wire;

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use client::Keeper;
pub use error::KeeperError;
pub use keeper::keeper_main;
pub use lookup::find as find_program;

/// The first argument with which windage is executed as the keeper.
pub const KEEPER_VERB: &str = "__keeper";

/// The environment variable that names the run in every process the keeper starts.
pub const RUN_VARIABLE: &str = "WINDAGE_RUN";

/// The environment variable that holds the number of the descriptor in [`Spawn::inherit`].
pub const CONTROL_FD_VARIABLE: &str = "WINDAGE_CONTROL_FD";

/// How many children may live at once.
pub const MAX_CHILDREN: usize = 1024;

/// How processes are contained, so that all of them can be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Containment {
    /// A pid namespace whose pid 1 is the keeper; needs `CAP_SYS_ADMIN`.
    PidNamespace,
    /// A cgroup of the run (v1 freezer, or v2 with `cgroup.kill`, Linux 5.14), and also the tree of
    /// descendants. Needs permission to create cgroups and to move processes there.
    Cgroup,
    /// The tree of descendants, whose orphans become the keeper's children; needs no privilege.
    Subreaper,
}

impl Containment {
    /// Every kind, strongest first: the order in which they are tried.
    pub const ALL: [Containment; 3] = [
        Containment::PidNamespace,
        Containment::Cgroup,
        Containment::Subreaper,
    ];

    /// The word used in messages and on the keeper's command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Containment::PidNamespace => "pid-namespace",
            Containment::Cgroup => "cgroup",
            Containment::Subreaper => "subreaper",
        }
    }

    /// The kind with that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Containment> {
        Containment::ALL
            .into_iter()
            .find(|kind| kind.as_str() == name)
    }
}

/// The options of [`Keeper::start`].
#[derive(Clone, Debug)]
pub struct KeeperOptions {
    /// The program to execute as the keeper, normally `/proc/self/exe`. Its `main` must call
    /// [`keeper_main`] when its first argument is [`KEEPER_VERB`].
    pub executable: PathBuf,
    /// The kind of containment; `None` takes the first of [`Containment::ALL`] that works.
    pub containment: Option<Containment>,
    /// Names the run: 1 to 64 of `[A-Za-z0-9._-]`, not starting with a dot.
    pub run_id: String,
}

/// A process to start.
#[derive(Debug)]
pub struct Spawn {
    /// With a `/`: a path, relative to Windage's own working directory. Without: looked up in the
    /// `PATH` of `env`.
    pub program: PathBuf,
    /// The arguments after the program's own name.
    pub args: Vec<OsString>,
    /// The complete environment; nothing is inherited. [`RUN_VARIABLE`] is added.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory.
    pub cwd: PathBuf,
    /// Receives standard output and standard error, appended.
    pub log: PathBuf,
    /// Cgroup directories that the process enters before it executes the program.
    pub cgroups: Vec<PathBuf>,
    /// The cores it may use; `None` for all cores of the keeper.
    pub cpus: Option<Vec<u32>>,
    /// Becomes descriptor 3 of the process, with [`CONTROL_FD_VARIABLE`] set to 3.
    pub inherit: Option<OwnedFd>,
    /// The user that it becomes, which needs root; `None` for the keeper's own.
    pub user: Option<Credentials>,
    /// Whether no program that it executes can gain privileges (`PR_SET_NO_NEW_PRIVS`).
    pub no_new_privs: bool,
}

/// A user by number, with all groups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Credentials {
    /// The user.
    pub uid: u32,
    /// The primary group.
    pub gid: u32,
    /// The supplementary groups.
    pub groups: Vec<u32>,
}

/// A process that was started, in a session and process group of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Child {
    /// Its number, unique within a [`Keeper`].
    pub id: u64,
    /// Its pid in Windage's own pid namespace.
    pub pid: u32,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExitStatusKind {
    /// It returned this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
}

/// The end of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Exit {
    /// [`Child::id`].
    pub child: u64,
    /// How it ended.
    pub status: ExitStatusKind,
    /// CPU in user space of the process and of the descendants that it waited for. The kernel
    /// splits the exact sum of user and system time by its tick samples.
    pub user_ns: u64,
    /// CPU in the kernel, likewise.
    pub system_ns: u64,
    /// The largest resident set of the process or of any descendant it waited for. Never less than
    /// the keeper's own few MiB, because Linux carries the figure across `execve`.
    pub max_rss_bytes: u64,
}

impl Exit {
    /// Total CPU.
    #[must_use]
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns.saturating_add(self.system_ns)
    }
}
