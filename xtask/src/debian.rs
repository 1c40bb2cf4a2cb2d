//! Debian packages, and where they install their programs.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::command;

/// Installs missing packages. For a user other than root, lists them in an error.
pub(crate) fn provide(names: &[&str]) -> Result<()> {
    anstream::eprintln!("==> Debian packages: {}", names.join(" "));
    let mut missing = Vec::new();
    for &name in names {
        if !is_installed(name)? {
            missing.push(name);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.join(" ");
    if command::output(Command::new("id").arg("-u"))?.trim() != "0" {
        bail!("missing: {list}; not root, so run `sudo apt-get install {list}` first");
    }
    anstream::eprintln!("==> installing {list}");
    command::run(apt().arg("update"))?;
    let _nothing_starts = NothingStarts::by(Path::new(POLICY))?;
    command::run(
        apt()
            .args(["install", "--yes", "--no-install-recommends"])
            .args(missing),
    )
}

/// The script that packages ask before they start a service: `invoke-rc.d(8)`,
/// `deb-systemd-invoke(1)`. (The latter ignores `RUNLEVEL`, which used to keep services from
/// starting.)
const POLICY: &str = "/usr/sbin/policy-rc.d";

/// As long as it exists, installing a package starts no service: only the program is needed, and a
/// running server would disturb measurements.
struct NothingStarts {
    policy: Option<PathBuf>,
}

impl NothingStarts {
    /// An existing policy is kept.
    fn by(policy: &Path) -> Result<NothingStarts> {
        let made = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o755)
            .open(policy);
        let mut file = match made {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Ok(NothingStarts { policy: None });
            }
            made => made.with_context(|| format!("make {}", policy.display()))?,
        };
        let nothing_starts = NothingStarts {
            policy: Some(policy.to_owned()),
        };
        file.write_all(forbids_while_alive(std::process::id()).as_bytes())
            .with_context(|| format!("write {}", policy.display()))?;
        Ok(nothing_starts)
    }
}

impl Drop for NothingStarts {
    fn drop(&mut self) {
        if let Some(policy) = &self.policy {
            // A policy that is left behind allows everything once this process has ended.
            let _ = fs::remove_file(policy);
        }
    }
}

/// A policy that forbids starts as long as this process lives (101), and allows everything else
/// (0): a service that already runs is restarted when its package is updated.
fn forbids_while_alive(pid: u32) -> String {
    format!(
        "#!/bin/sh\n\
         # Written by `cargo xtask` while it installs packages. It may be removed.\n\
         case \" $* \" in *' start '*) [ ! -d /proc/{pid} ] || exit 101 ;; esac\n\
         exit 0\n"
    )
}

/// `PATH` including the folder in which Debian installs servers, which only root has in it.
pub(crate) fn path() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin");
    path
}

/// `dpkg-query` fails for an unknown package, and lists removed ones.
fn is_installed(package: &str) -> Result<bool> {
    let query = Command::new("dpkg-query")
        .args(["--show", "--showformat=${db:Status-Status}", package])
        .stderr(Stdio::null())
        .output()
        .context("no dpkg-query: packages are installed automatically on Debian only")?;
    Ok(query.status.success() && query.stdout == b"installed")
}

fn apt() -> Command {
    let mut apt = Command::new("apt-get");
    // Waits for another installation on the machine.
    apt.args(["--option", "DPkg::Lock::Timeout=300", "--quiet=2"]);
    apt.env("DEBIAN_FRONTEND", "noninteractive");
    apt
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn answer(policy: &Path, action: &str) -> Option<i32> {
        let mut asked = Command::new("sh");
        asked.arg(policy).args(["nginx", action]);
        asked.status().unwrap().code()
    }

    #[test]
    fn nothing_starts_until_the_packages_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let policy = folder.path().join("policy-rc.d");
        let nothing_starts = NothingStarts::by(&policy).unwrap();
        assert_eq!(answer(&policy, "start"), Some(101));
        assert_eq!(answer(&policy, "restart"), Some(0), "restarts are allowed");
        let mode = fs::metadata(&policy).unwrap().permissions().mode();
        assert_eq!(mode & 0o500, 0o500, "root must be able to run it");
        drop(nothing_starts);
        assert!(!policy.exists());
    }

    #[test]
    fn a_policy_of_a_process_that_was_killed_allows_everything() {
        let folder = tempfile::tempdir().unwrap();
        let policy = folder.path().join("policy-rc.d");
        // No process has that number.
        fs::write(&policy, forbids_while_alive(u32::MAX)).unwrap();
        assert_eq!(answer(&policy, "start"), Some(0));
    }

    #[test]
    fn a_machine_keeps_its_own_policy() {
        let folder = tempfile::tempdir().unwrap();
        let policy = folder.path().join("policy-rc.d");
        fs::write(&policy, "exit 104\n").unwrap();
        drop(NothingStarts::by(&policy).unwrap());
        assert_eq!(answer(&policy, "start"), Some(104));
    }
}
