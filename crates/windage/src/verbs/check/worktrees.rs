//! Two git revisions, checked out side by side for as long as they are measured.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use thiserror::Error;
use windage_model::{Revision, Revisions};
use windage_plan::{Plan, PlanError};

use crate::git::{GitError, git};

/// The worktrees of both revisions, which are removed when this is dropped.
///
/// They are outside the repository, so that nothing in it is found by a build that looks in parent
/// folders, and their paths have the same length.
pub(super) struct Worktrees {
    repository: PathBuf,
    folder: TempDir,
    /// The plan's path in the repository.
    plan: PathBuf,
    revisions: Revisions,
}

/// Why two revisions can't be measured.
#[derive(Debug, Error)]
pub(super) enum RevisionError {
    #[error("--base needs a git repository, and {} is in none: {said}", of.display())]
    NoRepository { of: PathBuf, said: String },
    #[error(
        "`{name}` is no commit of this repository{}{}",
        if *is_at_origin {
            format!(", but `origin/{name}` is")
        } else {
            String::new()
        },
        if *is_shallow {
            ", which is shallow: fetch all of it (git fetch --unshallow; fetch-depth: 0 of \
             GitHub's action checkout; GIT_DEPTH: 0 of GitLab)"
        } else {
            ""
        }
    )]
    NoCommit {
        name: String,
        is_shallow: bool,
        is_at_origin: bool,
    },
    #[error(
        "there are uncommitted changes, which no revision has: commit them, or pass --head HEAD \
         to check the last commit without them"
    )]
    Uncommitted,
    #[error("{} is not in {name}: commit it there", plan.display())]
    NoPlan { plan: PathBuf, name: String },
    #[error("{}: {why}", folder.display())]
    NoFolder { folder: PathBuf, why: io::Error },
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("{0}")]
    NotBoth(String),
    #[error("{}", _0.render(false))]
    Plan(PlanError),
}

impl Worktrees {
    /// Checks out both revisions of the repository that a plan is in. Without `head`, the current
    /// commit is it, and nothing may be uncommitted.
    pub(super) fn check_out(
        plan: &Path,
        base: &str,
        head: Option<&str>,
    ) -> Result<Worktrees, RevisionError> {
        let absolute = std::path::absolute(plan).map_err(|why| RevisionError::NoFolder {
            folder: plan.to_owned(),
            why,
        })?;
        let folder = absolute.parent().unwrap_or(Path::new("/"));
        let outside = |error| match error {
            GitError::Failed { said, .. } => RevisionError::NoRepository {
                of: plan.to_owned(),
                said,
            },
            other => RevisionError::Git(other),
        };
        let repository = git(folder, ["rev-parse", "--show-toplevel"]).map_err(outside)?;
        let repository = PathBuf::from(repository);
        let prefix = git(folder, ["rev-parse", "--show-prefix"])?;
        let changed = ["status", "--porcelain", "--untracked-files=no"];
        if head.is_none() && !git(&repository, changed)?.is_empty() {
            return Err(RevisionError::Uncommitted);
        }
        let revisions = Revisions {
            base: revision(&repository, base)?,
            head: revision(&repository, head.unwrap_or("HEAD"))?,
        };
        let temporary =
            TempDir::with_prefix("windage-").map_err(|why| RevisionError::NoFolder {
                folder: std::env::temp_dir(),
                why,
            })?;
        let both = Worktrees {
            repository,
            folder: temporary,
            plan: Path::new(&prefix).join(absolute.file_name().unwrap_or_default()),
            revisions,
        };
        for (name, of) in both.named() {
            let path = both.folder.path().join(name);
            let add = ["worktree", "add", "--quiet", "--detach", "--force"].map(OsStr::new);
            let what = [path.as_os_str(), OsStr::new(&of.commit)];
            git(&both.repository, add.into_iter().chain(what))?;
        }
        Ok(both)
    }

    /// Whether both revisions are one commit.
    pub(super) fn are_the_same(&self) -> bool {
        self.revisions.base.commit == self.revisions.head.commit
    }

    /// One plan of both: the head's, at either revision. Says so where the base's own differs.
    pub(super) fn plan(&self) -> Result<(Plan, Option<String>), RevisionError> {
        let texts = self.named().map(|(name, _)| self.text(name));
        let [base, head] = texts;
        let head = head?;
        let at = |name: &str, of: &Revision| {
            let file = self.folder.path().join(name).join(&self.plan);
            let shown = format!("{} at {}", self.plan.display(), of.in_words());
            let folder = file.parent().unwrap_or(Path::new("/"));
            Plan::parse(&head, &shown, folder).map_err(RevisionError::Plan)
        };
        let [at_base, at_head] = self.named().map(|(name, of)| at(name, of));
        let both = Plan::at_both(at_base?, at_head?, self.revisions.clone());
        let differs = base.ok().is_none_or(|base| base != head).then(|| {
            format!(
                "the plan differs between {} and {}: both are measured by the latter's",
                self.revisions.base.in_words(),
                self.revisions.head.in_words()
            )
        });
        Ok((both.map_err(RevisionError::NotBoth)?, differs))
    }

    fn text(&self, worktree: &str) -> Result<String, RevisionError> {
        let path = self.folder.path().join(worktree).join(&self.plan);
        std::fs::read_to_string(path).map_err(|_| RevisionError::NoPlan {
            plan: self.plan.clone(),
            name: self.revisions.head.in_words(),
        })
    }

    /// Both revisions, each with the name of its folder.
    fn named(&self) -> [(&'static str, &Revision); 2] {
        [
            ("base", &self.revisions.base),
            ("head", &self.revisions.head),
        ]
    }
}

impl Drop for Worktrees {
    fn drop(&mut self) {
        // What git can't remove it forgets by itself once the folder is gone.
        for (name, _) in self.named() {
            let path = self.folder.path().join(name);
            let remove = ["worktree", "remove", "--force"].map(OsStr::new);
            let _ = git(
                &self.repository,
                remove.into_iter().chain([path.as_os_str()]),
            );
        }
    }
}

/// The commit that a name stands for.
fn revision(repository: &Path, name: &str) -> Result<Revision, RevisionError> {
    let commit = format!("{name}^{{commit}}");
    let found = git(
        repository,
        [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &commit,
        ],
    );
    match found {
        Ok(commit) => Ok(Revision {
            name: name.to_owned(),
            commit,
        }),
        Err(GitError::Failed { .. }) => Err(RevisionError::NoCommit {
            name: name.to_owned(),
            is_shallow: git(repository, ["rev-parse", "--is-shallow-repository"])
                .is_ok_and(|said| said == "true"),
            is_at_origin: git(
                repository,
                [
                    "rev-parse",
                    "--verify",
                    "--quiet",
                    &format!("refs/remotes/origin/{name}"),
                ],
            )
            .is_ok(),
        }),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "name = \"p\"\n[[service]]\nname = \"app\"\ncommand = [\"./app\", \"{listen}\"]\n\
        [load]\nmodel = \"closed\"\nrequest = \"GET http://{app}/\"\n\
        [[arm]]\nname = \"off\"\nbaseline = true\n[[arm]]\nname = \"on\"\n";

    /// A repository with two commits, of which the first has the tag `old`.
    fn repository() -> TempDir {
        let dir = TempDir::new().unwrap();
        let run = |args: &[&str]| git(dir.path(), args.iter().copied()).unwrap();
        run(&["init", "--quiet"]);
        run(&["config", "user.email", "t@example.org"]);
        run(&["config", "user.name", "t"]);
        std::fs::create_dir(dir.path().join("perf")).unwrap();
        for (number, tag) in [("1", Some("old")), ("2", None)] {
            std::fs::write(dir.path().join("perf/plan.toml"), PLAN).unwrap();
            std::fs::write(dir.path().join("number"), number).unwrap();
            run(&["add", "."]);
            run(&["commit", "--quiet", "-m", number]);
            if let Some(tag) = tag {
                run(&["tag", tag]);
            }
        }
        dir
    }

    #[test]
    fn both_revisions_are_there_until_the_end() {
        let dir = repository();
        let both = Worktrees::check_out(&dir.path().join("perf/plan.toml"), "old", None).unwrap();
        let number = |name| std::fs::read_to_string(both.folder.path().join(name).join("number"));
        assert_eq!(
            (number("base").unwrap(), number("head").unwrap()),
            ("1".into(), "2".into())
        );
        let (plan, differs) = both.plan().unwrap();
        assert_eq!((plan.arms.len(), differs), (6, None));
        let folder = both.folder.path().to_owned();
        assert_eq!(plan.folder, folder.join("head/perf"));
        drop(both);
        assert!(!folder.exists());
        let left = git(dir.path(), ["worktree", "list", "--porcelain"]).unwrap();
        assert_eq!(left.matches("worktree ").count(), 1, "{left}");
    }

    #[test]
    fn what_is_missing_is_named() {
        let dir = repository();
        let plan = dir.path().join("perf/plan.toml");
        let refused = |base: &str, head| {
            let both = Worktrees::check_out(&plan, base, head).err();
            both.expect("no such revisions").to_string()
        };
        assert!(refused("nothing", None).contains("`nothing` is no commit"));
        assert!(refused("--help", None).contains("`--help` is no commit"));
        std::fs::write(&plan, format!("{PLAN}# changed\n")).unwrap();
        assert!(refused("old", None).contains("uncommitted"));
        assert!(Worktrees::check_out(&plan, "old", Some("HEAD")).is_ok());
        git(dir.path(), ["commit", "--quiet", "-am", "3"]).unwrap();
        let both = Worktrees::check_out(&plan, "old", None).unwrap();
        assert!(both.plan().unwrap().1.unwrap().contains("the plan differs"));
        let other = Worktrees::check_out(&dir.path().join("perf/other.toml"), "old", None);
        let missing = other.unwrap().plan().unwrap_err().to_string();
        assert!(
            missing.contains("perf/other.toml is not in HEAD"),
            "{missing}"
        );
    }

    #[test]
    fn a_shallow_clone_says_how_to_get_the_rest() {
        let (dir, clone) = (repository(), TempDir::new().unwrap());
        let from = format!("file://{}", dir.path().display());
        let into = clone.path().join("clone");
        let args = [
            "clone",
            "--quiet",
            "--depth",
            "1",
            &from,
            into.to_str().unwrap(),
        ];
        git(dir.path(), args).unwrap();
        let refused = Worktrees::check_out(&into.join("perf/plan.toml"), "HEAD~1", None);
        let said = refused.err().unwrap().to_string();
        assert!(said.contains("which is shallow"), "{said}");
    }

    #[test]
    fn a_plan_outside_a_repository_is_refused() {
        let dir = TempDir::new().unwrap();
        let refused = Worktrees::check_out(&dir.path().join("plan.toml"), "main", None);
        let said = refused.err().unwrap().to_string();
        assert!(said.contains("needs a git repository"), "{said}");
    }
}
