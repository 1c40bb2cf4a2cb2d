//! The two files of a record: JSON for programs, Markdown for people.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The two files of a record.
pub(crate) struct Files {
    pub(crate) document: PathBuf,
    pub(crate) page: PathBuf,
}

impl Files {
    /// Names the files and makes their folder. A record that is already there is never replaced.
    pub(crate) fn claim(folder: &Path, name: &str) -> Result<Files> {
        let files = Files {
            document: folder.join(format!("{name}.json")),
            page: folder.join(format!("{name}.md")),
        };
        for file in [&files.document, &files.page] {
            if file.exists() {
                bail!(
                    "{} exists; move it away or name another folder by --out",
                    file.display()
                );
            }
        }
        fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
        Ok(files)
    }

    /// Writes both, in the place of what this study wrote before.
    pub(crate) fn write(&self, document: &Value, page: &str) -> Result<()> {
        replace(&self.document, &format!("{document:#}\n"))?;
        replace(&self.page, page)
    }
}

/// Writes beside the file and renames: an interruption leaves the old text or the new one.
fn replace(file: &Path, text: &str) -> Result<()> {
    let beside = file.with_extension("new");
    fs::write(&beside, text)
        .and_then(|()| fs::rename(&beside, file))
        .with_context(|| format!("write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_record_is_written_whole_and_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("2026-01-02");
        let files = Files::claim(&inner, "study").unwrap();
        for page in ["one", "two"] {
            files.write(&json!({ "page": page }), page).unwrap();
        }
        assert_eq!(fs::read_to_string(&files.page).unwrap(), "two");
        assert!(
            fs::read_to_string(&files.document)
                .unwrap()
                .ends_with("}\n")
        );
        assert_eq!(
            fs::read_dir(&inner).unwrap().count(),
            2,
            "nothing half-written stays"
        );
        let refused = Files::claim(&inner, "study").err().unwrap().to_string();
        assert!(
            refused.contains("study.json") && refused.contains("--out"),
            "{refused}"
        );
    }
}
