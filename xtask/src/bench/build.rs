//! Programs of the workspace, built for release.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{command, workspace};

/// Builds a program of a package and tells where it is.
pub(super) fn build(manifest: &Path, name: &str) -> Result<PathBuf> {
    anstream::eprintln!("==> building {name}");
    let mut cargo = workspace::cargo();
    cargo.args(["build", "--release", "--quiet", "--bin", name]);
    if name == "windage" {
        cargo.args(["--package", name]);
    }
    command::run(cargo.arg("--manifest-path").arg(manifest))?;
    let mut metadata = workspace::cargo();
    metadata.args([
        "metadata",
        "--no-deps",
        "--format-version=1",
        "--manifest-path",
    ]);
    let text = command::output(metadata.arg(manifest))?;
    let metadata: Value = serde_json::from_str(&text).context("cargo metadata printed no JSON")?;
    let target = metadata["target_directory"]
        .as_str()
        .context("no target_directory")?;
    let program = Path::new(target).join("release").join(name);
    if !program.is_file() {
        bail!("{} was built, but is not there", program.display());
    }
    Ok(program)
}

/// The manifest of a subject.
pub(super) fn subject(name: &str) -> PathBuf {
    workspace::root()
        .join("subjects")
        .join(name)
        .join("Cargo.toml")
}
