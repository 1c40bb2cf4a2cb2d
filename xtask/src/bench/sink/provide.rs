//! The programs that take part, built, and the version of each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::receiver::Receiver;
use crate::bench::build::{build, subject};
use crate::test::provision::kept::{self, Sources};
use crate::test::provision::{go_build, python_environment};
use crate::{command, workspace};

/// What builds Collectors; its version is that of the receiver in its manifest.
const BUILDER: &str = "go.opentelemetry.io/collector/cmd/builder";

const PYTHON_REQUIREMENTS: &str = "subjects/receivers/python/requirements.txt";

/// Where the programs are.
pub(super) struct Programs {
    pub(super) windage: PathBuf,
    discard: PathBuf,
    collector: PathBuf,
    go: PathBuf,
    python: PathBuf,
}

impl Programs {
    /// Builds what is missing of all of them.
    pub(super) fn provide() -> Result<Programs> {
        anstream::eprintln!("==> building the receiver in Go");
        let go = workspace::cache()?.join("receivers/receive");
        go_build(&files("go"), &go)?;
        Ok(Programs {
            go,
            collector: collector()?,
            python: python_environment(PYTHON_REQUIREMENTS)?,
            discard: build(&subject("receivers/discard"), "discard")?,
            windage: build(&workspace::root().join("Cargo.toml"), "windage")?,
        })
    }

    /// What to execute for a receiver.
    pub(super) fn of(&self, receiver: Receiver) -> &Path {
        match receiver {
            Receiver::Windage | Receiver::WindageCountOnly => &self.windage,
            Receiver::Discard => &self.discard,
            Receiver::Collector | Receiver::CollectorAllCores => &self.collector,
            Receiver::Go => &self.go,
            Receiver::Python => &self.python,
        }
    }

    /// Names with versions, for the record. Windage and `discard` are the commit's.
    pub(super) fn versions(&self, commit: &str) -> Result<Vec<(&'static str, String)>> {
        let go = command::output(Command::new("go").arg("version"))?;
        let modules = read(&files("go").join("go.mod"))?;
        let python = command::output(Command::new(&self.python).arg("--version"))?;
        let packages = read(&workspace::root().join(PYTHON_REQUIREMENTS))?;
        Ok(vec![
            ("windage", commit.to_owned()),
            ("collector", collector_version(&manifest()?)?),
            ("go", with_parts(&go, &required(&modules))),
            ("python", with_parts(&python, &pinned(&packages))),
        ])
    }
}

/// The folder of the files of a minimal receiver.
pub(super) fn files(name: &str) -> PathBuf {
    workspace::root().join("subjects/receivers").join(name)
}

/// The Collector, generated and compiled by its own builder where its manifest says so.
fn collector() -> Result<PathBuf> {
    let sources = Sources::of(&files("collector"))?;
    let version = collector_version(&manifest()?)?;
    let name = format!("collector-{version}-{:08x}", sources.hash()?);
    let folder = kept::folder(&name, |folder| {
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
    read(&files("collector").join("builder.yaml"))
}

/// `v0.162.0` of a line `- gomod: go.opentelemetry.io/collector/receiver/otlpreceiver v0.162.0`.
fn collector_version(manifest: &str) -> Result<String> {
    manifest
        .lines()
        .find_map(|line| line.split_once("/otlpreceiver "))
        .map(|(_, version)| version.trim().to_owned())
        .context("subjects/receivers/collector/builder.yaml names no otlpreceiver")
}

/// What the first block of a `go.mod` requires: the other has what those require in their turn.
fn required(modules: &str) -> Vec<String> {
    let block = modules.split("require (").nth(1).unwrap_or_default();
    let block = block.split(')').next().unwrap_or_default();
    let lines = block.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

/// The packages of a file of requirements, without their hashes.
fn pinned(requirements: &str) -> Vec<String> {
    let lines = requirements.lines().filter(|line| line.contains("=="));
    let packages = lines.filter(|line| !line.starts_with('#'));
    packages
        .map(|line| line.trim_end_matches(" \\").replace("==", " "))
        .collect()
}

fn with_parts(version: &str, parts: &[String]) -> String {
    format!("{} with {}", version.trim(), parts.join(", "))
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("read {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_manifests() {
        let version = collector_version(&manifest().unwrap()).unwrap();
        assert!(version.starts_with("v0."), "{version}");
        assert!(collector_version("receivers: []").is_err());
        let modules = read(&files("go").join("go.mod")).unwrap();
        assert_eq!(required(&modules).len(), 3, "{modules}");
        let packages = read(&workspace::root().join(PYTHON_REQUIREMENTS)).unwrap();
        let names = ["grpcio ", "opentelemetry-proto ", "protobuf "];
        for (package, name) in pinned(&packages).iter().zip(names) {
            assert!(package.starts_with(name), "{package}");
        }
    }
}
