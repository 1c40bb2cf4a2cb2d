//! Debian: packages, and where they put their programs.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::command;

/// Installs the packages that are missing. As another user than root it says which those are.
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
    command::run(
        apt()
            .args(["install", "--yes", "--no-install-recommends"])
            .args(missing),
    )
}

/// The `PATH` with the folder in which Debian puts servers, for users other than root as well.
pub(crate) fn path() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin");
    path
}

/// `dpkg-query` fails for a package that it has never heard of, and knows removed ones.
fn is_installed(package: &str) -> Result<bool> {
    let query = Command::new("dpkg-query")
        .args(["--show", "--showformat=${db:Status-Status}", package])
        .stderr(Stdio::null())
        .output()
        .context("no dpkg-query: the packages are installed by themselves on Debian only")?;
    Ok(query.status.success() && query.stdout == b"installed")
}

fn apt() -> Command {
    let mut apt = Command::new("apt-get");
    // Another installation on the machine is waited for.
    apt.args(["--option", "DPkg::Lock::Timeout=300", "--quiet=2"]);
    apt.env("DEBIAN_FRONTEND", "noninteractive");
    apt
}
