//! `cargo xtask web`: builds the front end into the files that the binary embeds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::{command, workspace};

/// The files that the build makes and the binary embeds.
const ASSETS: &[&str] = &["windage.js", "windage.css"];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Change nothing: fail unless the committed files match a new build
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    install()?;
    if args.check {
        check()?;
    } else {
        build_into(&assets())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The front end's sources.
pub(crate) fn folder() -> PathBuf {
    workspace::root().join("web")
}

fn assets() -> PathBuf {
    workspace::root().join("crates/windage-report/assets")
}

/// Installs the packages that build and test the front end, exactly those of its lock file, unless
/// they are installed.
pub(crate) fn install() -> Result<()> {
    let lock = folder().join("package-lock.json");
    let wanted = fs::read(&lock).with_context(|| format!("read {}", lock.display()))?;
    // Written last, so that an interrupted installation is repeated.
    let installed = folder().join("node_modules/.installed-lock.json");
    if fs::read(&installed).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    command::run(
        Command::new("npm")
            .args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"])
            .current_dir(folder()),
    )?;
    fs::write(&installed, wanted).with_context(|| format!("write {}", installed.display()))
}

fn build_into(assets: &Path) -> Result<()> {
    let mut npx = Command::new("npx");
    npx.args(["--no-install", "vite", "build", "--outDir"]);
    command::run(npx.arg(assets).current_dir(folder()))
}

fn check() -> Result<()> {
    let built = tempfile::tempdir().context("make a folder for the build")?;
    build_into(built.path())?;
    let mut stale = Vec::new();
    for name in ASSETS {
        let read = |folder: &Path| {
            let path = folder.join(name);
            fs::read(&path).with_context(|| format!("read {}", path.display()))
        };
        if read(built.path())? != read(&assets())? {
            stale.push(*name);
        }
    }
    if !stale.is_empty() {
        bail!(
            "{} in crates/windage-report/assets differs from what web/ builds; run `cargo xtask web` \
             and commit the result",
            stale.join(" and ")
        );
    }
    Ok(())
}
