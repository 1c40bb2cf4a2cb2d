//! Why there is no plan.

use std::path::PathBuf;

use crate::exit::Exit;

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub(super) enum InitError {
    /// The value of a flag does not make a valid plan.
    #[error("{flag}: {message}")]
    Flag { flag: &'static str, message: String },
    #[error("{} exists already; overwrite it with --force, or name another file", .0.display())]
    Exists(PathBuf),
    #[error("can't write {}: {source}; check the folder and its permissions", path.display())]
    Unwritable {
        path: PathBuf,
        source: std::io::Error,
    },
}

impl InitError {
    pub(super) fn exit(&self) -> Exit {
        match self {
            InitError::Flag { .. } | InitError::Exists(_) => Exit::Usage,
            InitError::Unwritable { .. } => Exit::CouldNotMeasure,
        }
    }
}
