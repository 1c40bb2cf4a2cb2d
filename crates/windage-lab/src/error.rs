//! Errors that end a run early. Faults within a window are warnings of that window.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;
use windage_load::Endpoint;

/// A service that failed, with the end of its log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}; its last lines ({}):\n{log_tail}", self.what_happened(), .log.display())]
pub struct ServiceTrouble {
    /// Its name in the plan.
    pub service: String,
    /// Which arm it belongs to: "of arm `off`", or "that all arms share".
    pub whose: String,
    /// What it did wrong, or did not do.
    pub trouble: String,
    /// Its log.
    pub log: PathBuf,
    /// The end of its log, and the rendered files that it names.
    pub log_tail: String,
}

impl ServiceTrouble {
    /// The error without the end of the log, for texts that repeat it.
    #[must_use]
    pub fn what_happened(&self) -> String {
        let ServiceTrouble {
            service,
            whose,
            trouble,
            ..
        } = self;
        format!("service `{service}` {whose} {trouble}")
    }
}

/// A failed check of a service's configuration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the check of service `{service}` {whose} failed, so the service was not launched: `{command}` \
     {how}; its last lines ({}):\n{said}", .log.display()
)]
pub struct CheckTrouble {
    /// The service's name in the plan.
    pub service: String,
    /// Which arm it belongs to.
    pub whose: String,
    /// The command, with its placeholders filled.
    pub command: String,
    /// How it ended.
    pub how: String,
    /// The file with its output.
    pub log: PathBuf,
    /// The end of its output, and the rendered files that it names.
    pub said: String,
}

/// Why a run could not start, or ended early.
#[derive(Debug, Error)]
pub enum LabError {
    /// A command of the plan's build step failed.
    #[error("the build command `{command}` {how}; its last lines:\n{log_tail}")]
    Build {
        /// The command as the plan states it.
        command: String,
        /// How it ended.
        how: String,
        /// The end of its output.
        log_tail: String,
    },
    /// A plan's check of a service's configuration failed.
    #[error("{0}")]
    Check(Box<CheckTrouble>),
    /// A service could not be launched.
    #[error("service `{service}` {whose} could not be launched: {source}")]
    Launch {
        /// Its name in the plan.
        service: String,
        /// Which arm it belongs to.
        whose: String,
        /// The reason, and what to do.
        source: windage_keeper::KeeperError,
    },
    /// A service ended while it should be running.
    #[error("{0}")]
    ServiceDied(Box<ServiceTrouble>),
    /// A service did not become ready.
    #[error("{0}\nraise `ready.within` if it only needs more time")]
    NotReady(Box<ServiceTrouble>),
    /// A fixed address is taken.
    #[error(
        "service `{service}` should listen on {address}, which is not available: {source}; stop \
         what listens there, or omit `listen` to get a free port"
    )]
    Address {
        /// Its name in the plan.
        service: String,
        /// The address.
        address: SocketAddr,
        /// The kernel's error.
        source: io::Error,
    },
    /// A port was free when it was allotted, but taken when its service was to be launched.
    #[error(
        "service `{service}` {whose} can't be launched: its address {address} \
         (`{{{placeholder}}}`) was free when the launch began, but is no longer available: \
         {source}; a check or an earlier service may have left a process that listens there; if \
         not, run windage again"
    )]
    PortTaken {
        /// Its name in the plan.
        service: String,
        /// Which arm it belongs to.
        whose: String,
        /// The placeholder of the address, without braces.
        placeholder: String,
        /// The address.
        address: SocketAddr,
        /// The kernel's error.
        source: io::Error,
    },
    /// No free port could be found.
    #[error("no free port on 127.0.0.1: {0}")]
    NoPort(#[source] io::Error),
    /// A placeholder could not be filled.
    #[error("service `{service}` of arm `{arm}`: {source}")]
    Placeholder {
        /// The service, or the plan's other part that contains the placeholder.
        service: String,
        /// The arm.
        arm: String,
        /// Which placeholder, and why.
        source: windage_plan::TemplateError,
    },
    /// A service to attach to was not found.
    #[error("can't attach to service `{service}`: {why}")]
    Attach {
        /// Its name in the plan.
        service: String,
        /// What is missing, and what to do.
        why: String,
    },
    /// The environment lacks a variable that the plan names.
    #[error(
        "{place} is ${variable}, but windage's environment has no variable {variable}; set it first \
         (`export {variable}=…`, and under sudo `--preserve-env={variable}`)"
    )]
    Variable {
        /// Where the plan names it.
        place: String,
        /// The variable, without `$`.
        variable: String,
    },
    /// The program of a service is missing, or can't be executed.
    #[error("service `{service}` {whose} can't be launched: {why}")]
    Program {
        /// Its name in the plan.
        service: String,
        /// Which arm it belongs to.
        whose: String,
        /// What is missing, and what to do.
        why: String,
    },
    /// A service can't run as its user.
    #[error("service `{service}` can't run as its `user`, `{user}`: {why}")]
    User {
        /// Its name in the plan.
        service: String,
        /// The user.
        user: String,
        /// The reason, and what to do.
        why: String,
    },
    /// The load's request is not valid after its placeholders are filled.
    #[error("`load.request` for arm `{arm}`: {why}")]
    Request {
        /// The arm.
        arm: String,
        /// What is wrong.
        why: String,
    },
    /// The load would leave this machine.
    #[error(
        "load for arm `{arm}` would go to {address}, which is not loopback; add the address to \
         `load.allow` if you may load that machine"
    )]
    NotAllowed {
        /// The arm.
        arm: String,
        /// The address it would go to.
        address: SocketAddr,
    },
    /// No connection could be opened to a service that was ready.
    #[error("no connection to {endpoint} of arm `{arm}` could be opened: {why}; its log is {log}")]
    NoConnection {
        /// The arm.
        arm: String,
        /// The service's address.
        endpoint: Endpoint,
        /// The error of the first attempt.
        why: String,
        /// Its log.
        log: PathBuf,
    },
    /// A resident batch program did not follow the protocol when it started.
    #[error("{0}\nthe protocol is in docs/FORMAT.md (\"Resident batch programs\")")]
    Resident(Box<ServiceTrouble>),
    /// The switch to an arm failed before its warm-up.
    #[error("{0}")]
    Switch(String),
    /// The kernel or the user lacks something that the plan's agents need.
    #[error("{0}")]
    Lacking(String),
    /// An agent ended but left processes, BPF programs or links behind. The baseline would be
    /// measured with them.
    #[error(
        "the agents of arm `{arm}` have ended but left behind: {objects}; the run is void. End the \
         processes (`kill N`; one that does not die is waiting in the kernel), find out what holds \
         the programs and links (`bpftool prog show`, pins below /sys/fs/bpf), and make the agent \
         remove them when it ends"
    )]
    LeftBehind {
        /// The arm.
        arm: String,
        /// Processes, BPF programs and links, with their ids.
        objects: String,
    },
    /// A plan that this version can't run.
    #[error("{0}")]
    Unsupported(String),
    /// A file of the run could not be written.
    #[error("can't write {path}: {source}; is the disk full or the directory read-only?")]
    Write {
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// Ctrl-C or SIGTERM came before anything was measured.
    #[error("interrupted")]
    Interrupted,
    /// The keeper failed.
    #[error(transparent)]
    Keeper(#[from] windage_keeper::KeeperError),
    /// Counters could not be read.
    #[error(transparent)]
    Probe(#[from] windage_probe::ProbeError),
    /// The load engine failed.
    #[error(transparent)]
    Engine(#[from] windage_load::EngineError),
    /// The receiver could not be started.
    #[error(transparent)]
    Sink(#[from] windage_sink::SinkError),
    /// The run directory could not be read or written.
    #[error(transparent)]
    Record(#[from] windage_record::RecordError),
}

impl LabError {
    /// The service or agent that failed, as the error names it; `None` for an error that names
    /// none.
    pub(crate) fn whose(&self) -> Option<&str> {
        match self {
            LabError::Check(check) => Some(&check.whose),
            LabError::ServiceDied(trouble) | LabError::NotReady(trouble) => Some(&trouble.whose),
            LabError::Launch { whose, .. } | LabError::PortTaken { whose, .. } => Some(whose),
            _ => None,
        }
    }
}
