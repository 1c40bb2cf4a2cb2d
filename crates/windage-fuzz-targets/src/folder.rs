//! A run directory for the targets and the writer of seeds.

use tempfile::TempDir;
use windage_record::{Manifest, RunDir, fixtures};

/// A run directory that is removed when dropped.
pub struct Folder {
    /// The run.
    pub run: RunDir,
    _directory: TempDir,
}

impl Folder {
    /// Creates one in the system's temporary folder; `TMPDIR=/dev/shm` avoids the disk.
    ///
    /// # Panics
    /// When it can't be created: then there is nothing to fuzz.
    #[must_use]
    pub fn new() -> Folder {
        let directory = tempfile::tempdir().expect("a temporary folder");
        // The seeds of histogram logs begin with this time.
        let manifest = Manifest {
            started_unix_ns: 1_763_632_800_000_000_000,
            ..fixtures::manifest()
        };
        let run = RunDir::create(
            directory.path(),
            &manifest,
            "",
            "",
            &serde_json::Value::Null,
        )
        .expect("a run directory");
        Folder {
            run,
            _directory: directory,
        }
    }
}

impl Default for Folder {
    fn default() -> Folder {
        Folder::new()
    }
}
