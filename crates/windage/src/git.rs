//! What git says about a folder.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Command;

use thiserror::Error;

/// Variables with which a hook would make git use its own repository.
const OF_HOOKS: [&str; 3] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"];
/// Characters of a commit's hash that are recorded.
const SHORT: &str = "--abbrev=12";

/// Why git gave no answer.
#[derive(Debug, Error)]
pub(crate) enum GitError {
    #[error("git can't be started: {0}")]
    NotStarted(io::Error),
    #[error("`git {command}` failed: {said}")]
    Failed { command: String, said: String },
}

/// What git prints, without the line's end.
pub(crate) fn git<A: AsRef<OsStr>>(
    folder: &Path,
    args: impl IntoIterator<Item = A>,
) -> Result<String, GitError> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(args);
    for name in OF_HOOKS {
        command.env_remove(name);
    }
    let output = command.output().map_err(GitError::NotStarted)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned());
    }
    let words = command.get_args().skip(2).map(OsStr::to_string_lossy);
    Err(GitError::Failed {
        command: words.collect::<Vec<_>>().join(" "),
        said: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

/// The commit that is checked out in a folder, followed by `-dirty` if something is uncommitted.
/// `None` without a repository or without git.
pub(crate) fn commit(folder: &Path) -> Option<String> {
    let describe = ["describe", "--always", "--dirty", "--exclude=*", SHORT];
    git(folder, describe).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_of_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(commit(folder.path()), None, "no repository");
        let run = |args: &[&str]| git(folder.path(), args.iter().copied()).unwrap();
        run(&["init", "--quiet"]);
        std::fs::write(folder.path().join("file"), "1").unwrap();
        run(&["add", "."]);
        let author = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        run(&[&author[..], &["commit", "--quiet", "-m", "1"]].concat());
        let clean = commit(folder.path()).unwrap();
        assert_eq!(clean, run(&["rev-parse", "--short=12", "HEAD"]));
        std::fs::write(folder.path().join("file"), "2").unwrap();
        assert_eq!(commit(folder.path()), Some(clean + "-dirty"));
    }
}
