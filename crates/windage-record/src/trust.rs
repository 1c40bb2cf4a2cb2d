//! Whether the plan in a run directory may be executed again.

use std::fs;
use std::path::Path;

use windage_files::{Owner, writable_by_others};

use crate::run_dir::RESOLVED;
use crate::{Manifest, RecordError, RunDir};

impl RunDir {
    /// The resolved plan that the run began with.
    ///
    /// # Errors
    /// When it can't be read, or was changed since.
    pub fn plan_to_resume(&self) -> Result<String, RecordError> {
        let text = self.resolved_text()?;
        let why = match &self.manifest().resolved_sha256 {
            Some(hash) if *hash == Manifest::hash_of(&text) => return Ok(text),
            Some(_) => "its SHA-256 is not the one in manifest.json",
            None => "manifest.json has no SHA-256 of it",
        };
        Err(RecordError::OtherPlan {
            path: self.path().join(RESOLVED),
            why,
        })
    }

    /// Checks that nobody but root and `owner` can have written the run: the directory, its files,
    /// and the directories in it.
    ///
    /// # Errors
    /// When others can have, or something can't be examined.
    pub fn check_writers(&self, owner: Option<Owner>) -> Result<(), RecordError> {
        let check = |path: &Path| {
            let found = writable_by_others(path, owner);
            match found.map_err(RecordError::io("examine", path))? {
                None => Ok(()),
                Some(why) => Err(RecordError::OthersWrite {
                    path: path.to_owned(),
                    why,
                }),
            }
        };
        // A link to the run directory is followed: its name came from the command line.
        let directory = fs::canonicalize(self.path());
        check(&directory.map_err(RecordError::io("examine", self.path()))?)?;
        let list = || RecordError::io("list", self.path());
        for entry in fs::read_dir(self.path()).map_err(list())? {
            check(&entry.map_err(list())?.path())?;
        }
        Ok(())
    }
}
