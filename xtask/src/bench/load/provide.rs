//! The programs that take part: installed or built, and the version that each of them tells.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::contender::Contender;
use crate::bench::build::{build, subject};
use crate::{command, debian, workspace};

/// Contenders and the origin, by their Debian packages.
const PACKAGES: &[&str] = &["nginx-light", "nghttp2-client", "wrk"];

/// Pinned: figures of two days differ by the day and not by the tool.
const OHA: &str = "1.16.0";

/// Where the programs are.
pub(super) struct Programs {
    pub(super) truth: PathBuf,
    windage: PathBuf,
    floor: PathBuf,
    oha: PathBuf,
}

impl Programs {
    /// Installs and builds what is missing.
    pub(super) fn provide() -> Result<Programs> {
        debian::provide(PACKAGES)?;
        Ok(Programs {
            oha: oha()?,
            windage: build(&workspace::root().join("Cargo.toml"), "windage")?,
            floor: build(&subject("floor"), "floor")?,
            truth: build(&subject("truth"), "truth")?,
        })
    }

    /// What to execute for a contender.
    pub(super) fn of(&self, contender: Contender) -> &Path {
        match contender {
            Contender::Windage | Contender::WindageBursts => &self.windage,
            Contender::Floor => &self.floor,
            Contender::Oha | Contender::OhaCorrected => &self.oha,
            Contender::Wrk => Path::new("wrk"),
            Contender::H2load => Path::new("h2load"),
        }
    }

    /// The version that a contender tells. Windage and the floor loop are the commit's.
    pub(super) fn version(&self, contender: Contender, commit: &str) -> Result<String> {
        if matches!(
            contender,
            Contender::Windage | Contender::WindageBursts | Contender::Floor
        ) {
            return Ok(commit.to_owned());
        }
        // wrk tells its version and calls that a failure.
        let output = Command::new(self.of(contender))
            .arg("--version")
            .output()
            .with_context(|| format!("could not start {}", contender.program()))?;
        version_in(&String::from_utf8_lossy(&output.stdout))
            .with_context(|| format!("{} --version printed nothing", contender.program()))
    }
}

/// The first line, without the copyright that wrk adds.
fn version_in(text: &str) -> Option<String> {
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    let version = line.split(" Copyright").next().unwrap_or(line);
    Some(version.trim().to_owned())
}

/// Installs oha into the cache unless it is there; its folder bears the version.
fn oha() -> Result<PathBuf> {
    let folder = workspace::cache()?.join(format!("oha-{OHA}"));
    let program = folder.join("bin/oha");
    if program.is_file() {
        return Ok(program);
    }
    anstream::eprintln!("==> installing oha {OHA} into {}", folder.display());
    command::run(
        workspace::cargo()
            .args([
                "install",
                "oha",
                "--version",
                OHA,
                "--locked",
                "--quiet",
                "--root",
            ])
            .arg(&folder),
    )?;
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_taken_from_what_tools_print() {
        let table = [
            (
                "wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer\nUsage: wrk",
                Some("wrk debian/4.1.0-3+b2 [epoll]"),
            ),
            ("h2load nghttp2/1.52.0\n", Some("h2load nghttp2/1.52.0")),
            ("\noha 1.16.0\n", Some("oha 1.16.0")),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(version_in(text).as_deref(), expected, "{text:?}");
        }
    }
}
