//! Why no load could be run.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use nix::errno::Errno;
use windage_load::{EngineError, ReplayError, RequestError, TlsError};
use windage_plan::Host;

use crate::descriptors::TooFewDescriptors;
use crate::exit::Exit;

/// Errors that keep a load from running. Failures of the server are counted instead.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoadError {
    /// Flags that contradict each other.
    #[error("{flag}: {message}")]
    Flag { flag: &'static str, message: String },
    /// Load goes to other machines only with permission.
    #[error(
        "`{host}` ({address}) is not this machine, and load to other machines needs permission; \
         add --allow {host}"
    )]
    NotAllowed { host: Host, address: SocketAddr },
    /// A name without an address.
    #[error("can't resolve `{name}`: {why}; check its spelling and the resolver")]
    Unresolved { name: String, why: String },
    /// A header's variable is missing.
    #[error("--header {header}: the environment variable {variable} is not set, or is not text")]
    Variable { header: String, variable: String },
    /// The body can't be read.
    #[error("--data-file: can't read {}: {source}", path.display())]
    Data { path: PathBuf, source: io::Error },
    /// Recorded starts can't be read.
    #[error("--replay: {0}")]
    Replay(#[from] ReplayError),
    /// The request is invalid.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// TLS can't be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// More connections than file descriptors.
    #[error("--connections: {0}; or lower --connections or --max-connections")]
    Descriptors(#[from] TooFewDescriptors),
    /// The kernel refuses the cores.
    #[error("--cpus: the generator can't have {cores}: {source}; see `nproc --all`")]
    Cores { cores: String, source: Errno },
    /// A thread could not be started.
    #[error("can't start a thread: {0}; see `ulimit -u`")]
    Thread(#[source] io::Error),
    /// The load generator failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl LoadError {
    pub(super) fn exit(&self) -> Exit {
        match self {
            LoadError::Flag { .. }
            | LoadError::NotAllowed { .. }
            | LoadError::Variable { .. }
            | LoadError::Data { .. }
            | LoadError::Replay(_)
            | LoadError::Request(_)
            | LoadError::Tls(_)
            | LoadError::Cores { .. } => Exit::Usage,
            LoadError::Unresolved { .. }
            | LoadError::Descriptors(_)
            | LoadError::Thread(_)
            | LoadError::Engine(_) => Exit::CouldNotMeasure,
        }
    }
}
