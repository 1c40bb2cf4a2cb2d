//! `cargo xtask deny`: licences, sources and bans of all dependencies.
//!
//! cargo-deny takes minutes to compile, so the program is Astral's build of it, which is pinned by its
//! hash as Python packages are.

use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::test::provision::python_environment;
use crate::{command, workspace};

/// The workspaces with dependencies of their own.
const WORKSPACES: &[&str] = &["Cargo.toml", "fuzz/Cargo.toml"];
/// Advisories are left out: their database is fetched from github.com.
const CHECKS: &[&str] = &["licenses", "sources", "bans"];

pub(crate) fn run() -> Result<ExitCode> {
    let program = python_environment("xtask/requirements-deny.txt")?.with_file_name("cargo-deny");
    for manifest in WORKSPACES {
        command::run(
            Command::new(&program)
                .args(["--locked", "--config", "deny.toml"])
                .args(["--manifest-path", manifest, "check"])
                .args(CHECKS)
                .current_dir(workspace::root()),
        )?;
    }
    Ok(ExitCode::SUCCESS)
}
