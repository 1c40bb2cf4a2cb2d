//! What ends a run before its time. What goes wrong within a window is a warning of the window.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;
use windage_load::Endpoint;

/// A service that did not do what it should, with the end of its log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}; its last lines ({}):\n{log_tail}", self.what_happened(), .log.display())]
pub struct ServiceTrouble {
    /// Its name in the plan.
    pub service: String,
    /// Whose it is, in words: "of arm `off`", or "that all arms share".
    pub whose: String,
    /// What it did, or did not do.
    pub trouble: String,
    /// Its log.
    pub log: PathBuf,
    /// The end of its log, and what it names of the files that were rendered for the service.
    pub log_tail: String,
}

impl ServiceTrouble {
    /// The same without its last words, for places that tell of it again.
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

/// A check that a service's configuration did not pass.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the check of service `{service}` {whose} failed, so that it was not launched: `{command}` \
     {how}; its last lines ({}):\n{said}", .log.display()
)]
pub struct CheckTrouble {
    /// The service's name in the plan.
    pub service: String,
    /// Whose it is, in words.
    pub whose: String,
    /// What was run, placeholders filled.
    pub command: String,
    /// How it ended.
    pub how: String,
    /// What it printed.
    pub log: PathBuf,
    /// The end of that, and what it names of the files that were rendered for the service.
    pub said: String,
}

/// Why a run could not be made, or not to its end.
#[derive(Debug, Error)]
pub enum LabError {
    /// A command of the plan's build step failed.
    #[error("the build command `{command}` {how}; its last lines:\n{log_tail}")]
    Build {
        /// As it stands in the plan.
        command: String,
        /// How it ended.
        how: String,
        /// The end of what it printed.
        log_tail: String,
    },
    /// What the plan has look a service's configuration over did not find it in order.
    #[error("{0}")]
    Check(Box<CheckTrouble>),
    /// A service could not be launched.
    #[error("service `{service}` {whose} could not be launched: {source}")]
    Launch {
        /// Its name in the plan.
        service: String,
        /// Whose it is, in words.
        whose: String,
        /// Why, and what to do.
        source: windage_keeper::KeeperError,
    },
    /// A service ended although it should be up.
    #[error("{0}")]
    ServiceDied(Box<ServiceTrouble>),
    /// A service did not become ready.
    #[error("{0}\nraise `ready.within` if it only needs more time")]
    NotReady(Box<ServiceTrouble>),
    /// A fixed address is taken.
    #[error(
        "service `{service}` should listen on {address}, which can't be had: {source}; stop what \
         listens there, or leave `listen` out to get a free port"
    )]
    Address {
        /// Its name in the plan.
        service: String,
        /// The address.
        address: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
    /// A port that was free when it was allotted is taken when its service is to be launched.
    #[error(
        "service `{service}` {whose} can't be launched: {address}, its `{{{placeholder}}}`, was \
         free when the launch began and can't be had any more: {source}; a check, or a service \
         before it, may have left something that listens there; if not, run it again"
    )]
    PortTaken {
        /// Its name in the plan.
        service: String,
        /// Whose it is, in words.
        whose: String,
        /// What the address is called in the plan, without braces.
        placeholder: String,
        /// The address.
        address: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
    /// No free port could be found.
    #[error("no free port on 127.0.0.1: {0}")]
    NoPort(#[source] io::Error),
    /// A placeholder could not be filled.
    #[error("service `{service}` of arm `{arm}`: {source}")]
    Placeholder {
        /// The service, or what else holds the placeholder.
        service: String,
        /// The arm.
        arm: String,
        /// Which placeholder, and why.
        source: windage_plan::TemplateError,
    },
    /// A service that should be attached to is not there.
    #[error("can't attach to service `{service}`: {why}")]
    Attach {
        /// Its name in the plan.
        service: String,
        /// What is missing, and what to do.
        why: String,
    },
    /// The request of the load makes no sense once its placeholders are filled.
    #[error("`load.request` for arm `{arm}`: {why}")]
    Request {
        /// The arm.
        arm: String,
        /// What is wrong.
        why: String,
    },
    /// The load would leave this machine.
    #[error(
        "load for arm `{arm}` would go to {address}, which is not loopback; put the address into \
         `load.allow` if the machine behind it is yours to load"
    )]
    NotAllowed {
        /// The arm.
        arm: String,
        /// Where it would go.
        address: SocketAddr,
    },
    /// No connection could be made to a service that was ready.
    #[error("no connection to {endpoint} of arm `{arm}` could be opened: {why}; its log is {log}")]
    NoConnection {
        /// The arm.
        arm: String,
        /// The service's address.
        endpoint: Endpoint,
        /// What went wrong with the first attempt.
        why: String,
        /// Its log.
        log: PathBuf,
    },
    /// A resident batch program did not get ready as the protocol has it.
    #[error("{0}\ndocs/FORMAT.md has the protocol (\"Resident batch programs\")")]
    Resident(Box<ServiceTrouble>),
    /// An arm could not be switched to when it was to be warmed up.
    #[error("{0}")]
    Switch(String),
    /// What the plan's agents need, and the kernel or the user does not have.
    #[error("{0}")]
    Lacking(String),
    /// An agent was ended, and processes, BPF programs or links of it are still there: whatever would
    /// be measured without it would be measured with them.
    #[error(
        "the agents of arm `{arm}` are gone, but left behind: {objects}; the run is void. End \
         processes (`kill N`; one that can't be killed waits in the kernel), find out what holds \
         programs and links (`bpftool prog show`, pins below /sys/fs/bpf), and have the agent take \
         them with it when it ends"
    )]
    LeftBehind {
        /// The arm.
        arm: String,
        /// Processes, BPF programs and links, with their numbers.
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
        /// What the kernel said.
        source: io::Error,
    },
    /// Ctrl-C or SIGTERM came before anything was measured.
    #[error("interrupted")]
    Interrupted,
    /// Processes could not be held.
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
    /// Whose service or agent failed, in the words of its error; `None` for what is about none.
    pub(crate) fn whose(&self) -> Option<&str> {
        match self {
            LabError::Check(check) => Some(&check.whose),
            LabError::ServiceDied(trouble) | LabError::NotReady(trouble) => Some(&trouble.whose),
            LabError::Launch { whose, .. } | LabError::PortTaken { whose, .. } => Some(whose),
            _ => None,
        }
    }
}
