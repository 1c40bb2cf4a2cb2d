//! Whether a service that ran before the run was switched back at its end.

use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::{RecordError, RunDir};

const RESTORED: &str = "restored.json";

/// How a service that runs on was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The service.
    pub service: String,
    /// How a step failed; `None` when the service is in the baseline's state.
    pub failed: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    service: String,
    failed: Option<String>,
}

impl RunDir {
    /// Records how the service was left. The process that switches it back writes this, when the run
    /// may have been killed, so it is no part of the journal.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn note_restored(&self, restored: &Restored) -> Result<(), RecordError> {
        let Restored { service, failed } = restored.clone();
        let text = serde_json::json!(Stored { service, failed });
        self.write_whole(RESTORED, format!("{text:#}\n").as_bytes())?;
        Ok(())
    }

    /// Forgets how an earlier part of the run left the service.
    ///
    /// # Errors
    /// When the file can't be removed.
    pub fn forget_restored(&self) -> Result<(), RecordError> {
        let path = self.path().join(RESTORED);
        match fs::remove_file(&path) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                Err(RecordError::io("remove", &path)(cause))
            }
            _ => Ok(()),
        }
    }

    /// How the service was left; `None` while the run goes on, and where there is nothing to restore.
    ///
    /// # Errors
    /// When the file can't be read or has another form.
    pub fn restored(&self) -> Result<Option<Restored>, RecordError> {
        let path = self.path().join(RESTORED);
        let text = match windage_files::read_to_string(&path) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(RecordError::io("read", &path))?,
        };
        let stored: Stored = serde_json::from_str(&text).map_err(|cause| RecordError::Damaged {
            path,
            why: cause.to_string(),
        })?;
        let Stored { service, failed } = stored;
        Ok(Some(Restored { service, failed }))
    }
}
