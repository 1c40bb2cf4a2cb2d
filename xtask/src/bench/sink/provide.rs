//! Builds the programs of the study and reads their versions.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::bench::line::{self, Places};
use crate::test::provision::cache::{self, Sources};
use crate::test::provision::{go_build, python_environment};
use crate::{command, workspace};

/// The Collector's builder; its version is that of the receiver in the manifest.
const BUILDER: &str = "go.opentelemetry.io/collector/cmd/builder";

const RECEIVERS: &str = "subjects/receivers";
const PYTHON_REQUIREMENTS: &str = "subjects/receivers/python/requirements.txt";

/// Builds all that are missing.
pub(super) fn programs() -> Result<Places> {
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    anstream::eprintln!("==> building the receiver in Go");
    let go = workspace::cache()?.join("receivers/receive");
    go_build(&workspace::root().join(RECEIVERS).join("go"), &go)?;
    Ok(vec![
        ("receive", text(go)),
        ("collector", text(collector()?)),
        ("python", text(python_environment(PYTHON_REQUIREMENTS)?)),
        (
            "discard",
            text(workspace::build("subjects/receivers/discard", "discard")?),
        ),
        (
            "windage",
            text(workspace::build("crates/windage", "windage")?),
        ),
    ])
}

/// Versions of the tools and the Collector; the commit determines the rest.
pub(super) fn versions(programs: &Places) -> Result<Vec<String>> {
    let go = command::output(Command::new("go").arg("version"))?;
    let python = command::output(&mut line::command("python --version", programs))?;
    let collector = collector_version(&manifest()?)?;
    let versions = [go.trim(), python.trim(), &format!("collector {collector}")];
    Ok(versions.map(str::to_owned).into())
}

/// The Collector, generated and compiled by its own builder from its manifest.
fn collector() -> Result<PathBuf> {
    let sources = Sources::of(&workspace::root().join(RECEIVERS).join("collector"))?;
    let version = collector_version(&manifest()?)?;
    let name = format!("collector-{version}-{:08x}", sources.hash()?);
    let folder = cache::folder(&name, |folder| {
        sources.copy_to(folder)?;
        command::run(
            Command::new("go")
                .args(["install", &format!("{BUILDER}@{version}")])
                .env("GOBIN", folder),
        )?;
        command::run(
            Command::new(folder.join("builder"))
                .args(["--config", "builder.yaml"])
                .current_dir(folder),
        )
    })?;
    Ok(folder.join("built/collector"))
}

fn manifest() -> Result<String> {
    let file = workspace::root()
        .join(RECEIVERS)
        .join("collector/builder.yaml");
    fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))
}

/// `v0.162.0` from a line `- gomod: go.opentelemetry.io/collector/receiver/otlpreceiver v0.162.0`.
fn collector_version(manifest: &str) -> Result<String> {
    manifest
        .lines()
        .find_map(|line| line.split_once("/otlpreceiver "))
        .map(|(_, version)| version.trim().to_owned())
        .context("subjects/receivers/collector/builder.yaml names no otlpreceiver")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_collectors_version_comes_from_its_manifest() {
        let version = collector_version(&manifest().unwrap()).unwrap();
        assert!(version.starts_with("v0."), "{version}");
        assert!(collector_version("receivers: []").is_err());
    }
}
