//! Packages for Debian's and Red Hat's families, made by nfpm from one list of contents.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::{SOURCE_DATE_EPOCH, Staged};
use crate::{command, workspace};

/// Compiled on first use.
const NFPM: &str = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.44.0";
const CONTENTS: &str = "xtask/src/dist/nfpm.yaml";

/// Makes a package of each family, and returns their paths.
pub(super) fn make(staged: &Staged, to: &Path) -> Result<Vec<PathBuf>> {
    let version = env!("CARGO_PKG_VERSION");
    let names = [
        ("deb", format!("windage_{version}_amd64.deb")),
        ("rpm", format!("windage-{version}-1.x86_64.rpm")),
    ];
    let mut made = Vec::new();
    for (family, name) in names {
        let package = to.join(name);
        let mut nfpm = Command::new("go");
        nfpm.args(["run", NFPM, "package", "--packager", family, "--config"])
            .arg(workspace::root().join(CONTENTS))
            .arg("--target")
            .arg(&package)
            .env("VERSION", version)
            .env(SOURCE_DATE_EPOCH, &staged.seconds)
            .current_dir(&staged.folder);
        command::run(&mut nfpm)?;
        made.push(package);
    }
    Ok(made)
}
