//! Parts that tests find by variables: the exporters of `subjects/exporters`, each built by its own
//! language's tools, two that are downloaded, and a Python.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::cache::{self, Sources};
use crate::test::step::announce;
use crate::{command, workspace};

/// The load generator with which the OpenTelemetry Collector is tested.
const TELEMETRYGEN: &str =
    "github.com/open-telemetry/opentelemetry-collector-contrib/cmd/telemetrygen";
const TELEMETRYGEN_VERSION: &str = "v0.161.0";

/// A part that tests need, and how it is made.
type Part = (&'static str, &'static str, fn() -> Result<PathBuf>);

/// Name, variable and maker of each.
const PARTS: &[Part] = &[
    ("Python of the tests", "WINDAGE_TEST_PYTHON", tests_python),
    ("exporter in Python", "WINDAGE_TEST_EXPORTER_PYTHON", python),
    ("exporter in Go", "WINDAGE_TEST_EXPORTER_GO", go),
    ("exporter in JavaScript", "WINDAGE_TEST_EXPORTER_NODE", node),
    ("exporter in Java", "WINDAGE_TEST_EXPORTER_JAVA", java),
    ("telemetrygen", "WINDAGE_TEST_TELEMETRYGEN", telemetrygen),
    ("Prometheus", "WINDAGE_TEST_PROMETHEUS", prometheus),
];

/// Makes missing parts and returns the variables by which tests find them. Failed parts are
/// reported by name.
pub(super) fn provide(
    failed: &mut impl FnMut(&str, &anyhow::Error),
) -> Vec<(&'static str, OsString)> {
    let mut variables = Vec::new();
    for (name, variable, make) in PARTS {
        announce(name);
        match make() {
            Ok(path) => variables.push((*variable, path.into())),
            Err(error) => failed(name, &error),
        }
    }
    variables
}

/// Pinned with hashes, so that every installation is the same.
fn tests_python() -> Result<PathBuf> {
    super::python_environment("xtask/requirements-test.txt")
}

/// The interpreter that has the packages; the programs are run in place.
fn python() -> Result<PathBuf> {
    super::python_environment("subjects/exporters/python/requirements.txt")
}

/// The program. Go's own cache decides what to build.
fn go() -> Result<PathBuf> {
    let folder = sources_of("go");
    let program = folder.join("bin/exporter");
    super::go_build(&folder, &program)?;
    Ok(program)
}

/// The script, next to the packages that it needs.
fn node() -> Result<PathBuf> {
    let folder = built("node", |folder| {
        command::run(
            Command::new("npm")
                // Installation scripts of packages are not run.
                .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
                .args(["--prefer-offline", "--loglevel=error"])
                .current_dir(folder),
        )
    })?;
    Ok(folder.join("exporter.js"))
}

/// The folder with the jars.
fn java() -> Result<PathBuf> {
    let folder = built("java", |folder| {
        command::run(
            Command::new("mvn")
                .args(["--batch-mode", "--quiet", "package"])
                .current_dir(folder),
        )
    })?;
    Ok(folder.join("target"))
}

fn telemetrygen() -> Result<PathBuf> {
    let name = format!("telemetrygen-{TELEMETRYGEN_VERSION}");
    let folder = cache::folder(&name, |folder| {
        command::run(
            Command::new("go")
                .arg("install")
                .arg(format!("{TELEMETRYGEN}@{TELEMETRYGEN_VERSION}"))
                .env("GOBIN", folder),
        )
    })?;
    Ok(folder.join("telemetrygen"))
}

/// The server, extracted from its Debian package. Installing the package would start it
/// permanently.
fn prometheus() -> Result<PathBuf> {
    let folder = cache::folder("prometheus", |folder| {
        // The lists of packages may be old or missing.
        let script = "apt-get download -qq prometheus || { apt-get update -qq && apt-get download -qq prometheus; } \
                      && dpkg-deb --extract prometheus_*.deb . && rm prometheus_*.deb";
        command::run(Command::new("sh").args(["-ec", script]).current_dir(folder))
    })?;
    Ok(folder.join("usr/bin/prometheus"))
}

/// Builds a copy of an exporter's sources there.
fn built(language: &str, build: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let sources = Sources::of(&sources_of(language))?;
    let name = format!("exporter-{language}-{:08x}", sources.hash()?);
    cache::folder(&name, |folder| {
        sources.copy_to(folder)?;
        build(folder)
    })
}

fn sources_of(language: &str) -> PathBuf {
    workspace::root().join("subjects/exporters").join(language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_a_unique_variable_and_its_sources() {
        let mut variables: Vec<_> = PARTS.iter().map(|(_, variable, _)| *variable).collect();
        variables.sort_unstable();
        variables.dedup();
        assert_eq!(variables.len(), PARTS.len());
        for (language, lock) in [
            ("python", "requirements.txt"),
            ("go", "go.sum"),
            ("node", "package-lock.json"),
            ("java", "pom.xml"),
        ] {
            assert!(sources_of(language).join(lock).is_file(), "{language}");
        }
    }
}
