//! A clone of this repository with a branch for each head, and the server built from each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::Head;
use crate::{command, workspace};

/// The server's folder in the repository.
const SERVER: &str = "subjects/go-http";

/// What a branch changes in a file.
struct Edit {
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

/// Multiplications, each of which waits for the one before: some 3 µs.
const MORE_WORK: Edit = Edit {
    file: "main.go",
    from: "\t\ttime.Sleep(sleep)\n",
    to: "\t\tspent := size\n\t\tfor range 4400 {\n\t\t\tspent = spent*31 + 7\n\t\t}\n\
         \t\tif spent == 0 {\n\t\t\treturn\n\t\t}\n\t\ttime.Sleep(sleep)\n",
};

/// An export for each span, within its request.
const NO_BATCHES: Edit = Edit {
    file: "telemetry.go",
    from: "trace.WithBatcher(exporter)",
    to: "trace.WithSyncer(exporter)",
};

impl Head {
    fn edit(self) -> Option<Edit> {
        match self {
            Head::Identical => None,
            Head::Slower => Some(MORE_WORK),
            Head::Unbatched => Some(NO_BATCHES),
        }
    }
}

impl Edit {
    /// The changed text; an error unless it has the place exactly once.
    fn applied(&self, text: &str) -> Result<String> {
        match text.matches(self.from).count() {
            1 => Ok(text.replace(self.from, self.to)),
            count => bail!("{} has {count} places to change, not one", self.file),
        }
    }
}

/// The clone, with its branches and programs.
pub(super) struct Repository {
    folder: PathBuf,
    programs: PathBuf,
}

impl Repository {
    /// Clones the last commit into the study's folder, unless it has the clone already.
    pub(super) fn prepare(study: &Path) -> Result<Repository> {
        let repository = Repository {
            folder: study.join("repository"),
            programs: study.join("programs"),
        };
        if repository.programs.exists() {
            return Ok(repository);
        }
        let _ = fs::remove_dir_all(&repository.folder);
        let mut clone = Command::new("git");
        clone.args(["clone", "--quiet", "--no-hardlinks"]);
        command::run(clone.arg(workspace::root()).arg(&repository.folder))?;
        repository.git(&["checkout", "--quiet", "-b", Head::Identical.branch()])?;
        for head in Head::ALL {
            repository.commit(head)?;
            repository.build(head)?;
        }
        Ok(repository)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn program(&self, head: Head) -> PathBuf {
        self.programs.join(head.branch())
    }

    /// Commits a head's edit to a branch of its own, and leaves that checked out.
    fn commit(&self, head: Head) -> Result<()> {
        let Some(edit) = head.edit() else {
            return Ok(());
        };
        let base = Head::Identical.branch();
        self.git(&["checkout", "--quiet", "-b", head.branch(), base])?;
        let file = self.folder.join(SERVER).join(edit.file);
        let text = fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
        fs::write(&file, edit.applied(&text)?)
            .with_context(|| format!("write {}", file.display()))?;
        let author = ["-c", "user.name=study", "-c", "user.email=study@localhost"];
        let commit = ["commit", "--quiet", "--all", "--message", head.branch()];
        self.git(&[&author[..], &commit[..]].concat())
    }

    fn build(&self, head: Head) -> Result<()> {
        let mut build = Command::new("go");
        build.args(["build", "-buildvcs=false", "-o"]);
        build.arg(self.program(head)).arg(".");
        command::run(build.current_dir(self.folder.join(SERVER)))
    }

    fn git(&self, arguments: &[&str]) -> Result<()> {
        command::run(
            Command::new("git")
                .current_dir(&self.folder)
                .args(arguments),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_edit_has_its_place_in_the_server() {
        for edit in Head::ALL.into_iter().filter_map(Head::edit) {
            let file = workspace::root().join(SERVER).join(edit.file);
            let text = fs::read_to_string(file).unwrap();
            assert!(edit.applied(&text).unwrap().contains(edit.to));
            assert!(edit.applied(&text.repeat(2)).is_err(), "{}", edit.file);
        }
    }
}
