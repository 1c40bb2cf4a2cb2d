//! Why there is nothing to report.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use nix::errno::Errno;
use windage_load::{EngineError, ReplayError, RequestError, TlsError};
use windage_plan::Host;

use crate::descriptors::TooFewDescriptors;
use crate::exit::Exit;

/// What keeps load from being put on. What servers do wrong is counted, and no error.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoadError {
    /// Flags that don't go together.
    #[error("{flag}: {message}")]
    Flag { flag: &'static str, message: String },
    /// Load may not leave this machine unasked.
    #[error(
        "`{host}` ({address}) is not this machine, and load may not go there; if it may, say so: \
         --allow {host}"
    )]
    NotAllowed { host: Host, address: SocketAddr },
    /// A name without an address.
    #[error("can't resolve `{name}`: {why}; is it spelled right, and is there a resolver?")]
    Unresolved { name: String, why: String },
    /// A header's value is not there.
    #[error("--header {header}: the environment variable {variable} is not set, or is not text")]
    Variable { header: String, variable: String },
    /// The body can't be read.
    #[error("--data-file: can't read {}: {source}", path.display())]
    Data { path: PathBuf, source: io::Error },
    /// Recorded starts can't be read.
    #[error("--replay: {0}")]
    Replay(#[from] ReplayError),
    /// The request can't be sent as it is.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The connection can't be encrypted as asked.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// More connections than this process may have.
    #[error("--connections: {0}; or lower --connections or --max-connections")]
    Descriptors(#[from] TooFewDescriptors),
    /// The kernel keeps a thread from its cores.
    #[error("--cpus: the generator can't have {cores}: {source}; see `nproc --all`")]
    Cores { cores: String, source: Errno },
    /// A thread could not be had.
    #[error("can't start a thread: {0}; see `ulimit -u`")]
    Thread(#[source] io::Error),
    /// The engine itself failed.
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
