//! A page over all runs of a directory, for `windage serve`.

mod answers;
mod catalog;
mod documents;
mod guard;
mod index;
mod live;
mod news;
mod past;
mod progress;
mod routes;
mod row;
mod scan;
mod snapshot;
mod stamps;
#[cfg(test)]
mod tests;
mod token;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use index::reopen_index;

use crate::listening::{Limits, Listening, bind};
use catalog::Catalog;
use documents::Documents;
use guard::Guard;
use live::Live;
use past::Past;
use routes::Assets;
use token::Token;

const LIMITS: Limits = Limits::connections(128);

/// Why the page can't be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunsError {
    /// The directory can't be listed.
    #[error("can't list {directory}: {source}; name the directory that holds your runs")]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The address can't be listened on.
    #[error(
        "can't listen on {address}: {source}; name another --listen, such as 127.0.0.1:0 for any \
         free port"
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The kernel's error.
        source: io::Error,
    },
    /// The threads or the event loop can't be started.
    #[error("the threads of the server can't be started: {0}; raise `ulimit -n` or `ulimit -u`")]
    Thread(io::Error),
    /// The kernel has no random bytes for the token.
    #[error("no token can be made for the page's URL: {0}")]
    Random(io::Error),
}

/// A page over all runs of a directory, for browsers. It ends when this is dropped.
#[derive(Debug)]
pub struct RunsServer {
    listening: Listening,
    catalog: Arc<Catalog>,
    token: Token,
}

/// What is served.
#[derive(Debug)]
struct Served {
    catalog: Arc<Catalog>,
    documents: Arc<Documents>,
    live: Live,
    past: Arc<Past>,
    assets: Assets,
}

impl RunsServer {
    /// Begins to serve the runs in a directory and in its folders, or the one run that the
    /// directory is; port 0 lets the kernel choose.
    ///
    /// # Errors
    /// When the directory can't be listed, the address can't be listened on, or the threads can't
    /// be started.
    pub fn start(directory: &Path, address: SocketAddr) -> Result<RunsServer, RunsError> {
        let shown = directory.display().to_string();
        let found = directory.canonicalize().and_then(|found| {
            std::fs::read_dir(&found)?;
            Ok(found)
        });
        let found = found.map_err(|source| RunsError::Directory {
            directory: directory.to_owned(),
            source,
        })?;
        let listen = |source| RunsError::Listen { address, source };
        let listener = bind(address).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let token = Token::random().map_err(RunsError::Random)?;
        let catalog = Catalog::start(&found, &shown).map_err(RunsError::Thread)?;
        let served = Arc::new(Served::of(&found, Arc::clone(&catalog)));
        let guard = Guard {
            listening: address,
            token: token.clone(),
        };
        let router = routes::router(served, guard);
        let listening = Listening::start("windage-serve", listener, router, LIMITS)
            .map_err(RunsError::Thread)?;
        Ok(RunsServer {
            listening,
            catalog,
            token,
        })
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// The page's URL with the token, without which nothing is answered.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/?{}", self.address(), self.token.query())
    }

    /// Notes on the index, in sentences, since the last call.
    #[must_use]
    pub fn take_notes(&self) -> Vec<String> {
        self.catalog.take_notes()
    }
}

impl Served {
    fn of(directory: &Path, catalog: Arc<Catalog>) -> Served {
        Served {
            catalog,
            past: Arc::new(Past::of(directory)),
            documents: Arc::default(),
            live: Live::default(),
            assets: Assets::new(),
        }
    }
}
