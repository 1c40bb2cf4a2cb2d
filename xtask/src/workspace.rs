//! Locations: the checkout, its cache, its members.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::command;

/// The feature of a crate's tests that need real services.
const REAL_PARTS: &str = "real-parts";

/// The folder of the workspace.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// The cargo that runs this program, working in the workspace.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}

/// The cache, which outlives a checkout: `$XDG_CACHE_HOME/windage`, or the same under `~/.cache`.
pub(crate) fn cache() -> Result<PathBuf> {
    let absolute = |name: &str| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|base| base.join("windage"))
        .context("neither XDG_CACHE_HOME nor HOME names a folder; set one of them")
}

/// Installs tools into the cache, unless they are there, and returns their folder.
pub(crate) fn install(tools: &[&str]) -> Result<PathBuf> {
    let folder = cache()?.join("tools");
    let mut install = cargo();
    install.args(["install", "--locked", "--quiet", "--root"]);
    command::run(install.arg(&folder).args(tools))?;
    Ok(folder.join("bin"))
}

/// The workspace's own packages, from `cargo metadata`.
pub(crate) fn metadata() -> Result<Value> {
    let listing = ["metadata", "--locked", "--no-deps", "--format-version=1"];
    let text = command::output(cargo().args(listing))?;
    serde_json::from_str(&text).context("cargo metadata did not print JSON")
}

/// Builds a package's program for release, and returns its path.
pub(crate) fn build(package: &str, name: &str) -> Result<PathBuf> {
    build_as(cargo(), ("release", "release"), package, name, "")
}

/// As [`build`], but what is distributed: by another command that takes the arguments of cargo and builds
/// for this target, with these features.
pub(crate) fn build_to_distribute(
    target: &str,
    build: Command,
    package: &str,
    name: &str,
    features: &str,
) -> Result<PathBuf> {
    let folder = format!("{target}/dist");
    build_as(build, ("dist", &folder), package, name, features)
}

/// Builds a package's program as the tests do, and returns its path.
pub(crate) fn build_for_tests(package: &str, name: &str) -> Result<PathBuf> {
    build_as(cargo(), ("dev", "debug"), package, name, "")
}

/// Builds a program with a profile, given with its folder in the target directory.
fn build_as(
    mut build: Command,
    (profile, folder): (&str, &str),
    package: &str,
    name: &str,
    features: &str,
) -> Result<PathBuf> {
    anstream::eprintln!("==> building {name}");
    let manifest = root().join(package).join("Cargo.toml");
    build.args(["build", "--locked", "--profile", profile, "--quiet"]);
    build.args(["--bin", name, "--features", features]);
    command::run(build.arg("--manifest-path").arg(manifest))?;
    let metadata = metadata()?;
    let target = metadata["target_directory"]
        .as_str()
        .context("no target_directory")?;
    let program = Path::new(target).join(folder).join(name);
    if !program.is_file() {
        bail!("{} was built, but does not exist", program.display());
    }
    Ok(program)
}

/// Windage as the workspace's tests have built it, next to this test; built if it is missing.
#[cfg(test)]
pub(crate) fn built_with_tests() -> Result<PathBuf> {
    let this = env::current_exe().context("find this program")?;
    let folder = this.ancestors().nth(2).unwrap_or(&this);
    let windage = folder.join("windage");
    if !windage.exists() {
        let mut build = cargo();
        build.args(["build", "--locked", "--quiet", "--package", "windage"]);
        command::run(&mut build)?;
    }
    Ok(windage)
}

/// `PACKAGE/real-parts` for every package that declares the feature.
pub(crate) fn real_parts(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    packages
        .iter()
        .filter(|package| package["features"].get(REAL_PARTS).is_some())
        .filter_map(|package| package["name"].as_str())
        .map(|name| format!("{name}/{REAL_PARTS}"))
        .collect()
}

/// The folders under `subjects/` that hold a file of this name, sorted.
pub(crate) fn subjects_with(file: &str) -> Result<Vec<PathBuf>> {
    let folder = root().join("subjects");
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("read {}", folder.display()))? {
        let subject = entry?.path();
        if subject.join(file).is_file() {
            found.push(subject);
        }
    }
    if found.is_empty() {
        bail!("no folder of {} holds a {file}", folder.display());
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_parts_features_are_found() {
        let metadata = serde_json::json!({ "packages": [
            { "name": "a", "features": { "real-parts": [] } },
            { "name": "b", "features": {} },
            { "name": "c", "features": { "default": [], "real-parts": ["x"] } },
        ]});
        assert_eq!(real_parts(&metadata), ["a/real-parts", "c/real-parts"]);
    }

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("xtask/Cargo.toml").is_file());
    }
}
