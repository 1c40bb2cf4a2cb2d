//! Where a study is kept, if it is.

use std::path::PathBuf;

use anyhow::Result;

use crate::record::files::Files;
use crate::workspace;

/// The flags that ask for it.
#[derive(clap::Args)]
pub(super) struct Kept {
    /// Write its page and document into record/<today>
    #[arg(long)]
    record: bool,
    /// Write them into this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

impl Kept {
    /// `NAME.md` and `NAME.json`, claimed before anything is measured; `None` when nothing is to
    /// be kept.
    pub(super) fn files(&self, date: &str, name: &str) -> Result<Option<Files>> {
        let folder = self.folder(date);
        folder.map(|folder| Files::claim(&folder, name)).transpose()
    }

    pub(super) fn folder(&self, date: &str) -> Option<PathBuf> {
        let today = || workspace::root().join("record").join(date);
        self.out.clone().or_else(|| self.record.then(today))
    }
}
