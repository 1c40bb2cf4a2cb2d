//! What the tests with real parts need and the toolchains don't bring: Debian packages,
//! Python environments, the subjects built. All of it is found again the next time.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::step::announce;
use crate::{command, debian, web, workspace};

pub(crate) mod cache;
mod variables;

/// The services and agents that tests launch, what builds the latter, and the browser that looks at
/// pages, by their Debian packages.
const PACKAGES: &[&str] = &[
    "nginx-light",
    "haproxy",
    "libdd-opentracing0",
    "linux-perf",
    "redis-server",
    "bpftrace",
    "clang",
    "llvm",
    "gcc",
    "libc6-dev",
    "libbpf-dev",
    "chromium",
    "fonts-dejavu-core",
];

/// Environments that plans make themselves, beside them: the requirements and the folder of each. A
/// network may be slow, which must not count against a test's patience.
const PLANS_ENVIRONMENTS: &[(&str, &str)] = &[
    (
        "subjects/python/requirements.txt",
        "experiments/python-sqlite",
    ),
    ("subjects/python-web/fastapi.txt", "experiments/fastapi"),
    ("subjects/python-web/flask.txt", "experiments/flask"),
];

/// What plans build or fetch of their services and agents, for the same reason; and because what compiles
/// takes both cores from what another test measures.
const BUILDS: &[&str] = &[
    "subjects/node-express/build.sh",
    "subjects/java-web/build.sh",
    "subjects/otel-go-agent/build.sh",
    "subjects/probe-target/build.sh",
    "subjects/shop/build.sh",
    "experiments/caddy/build.sh",
    "experiments/envoy/fetch.sh",
];

/// Provides what it can, and returns the variables by which tests find it; each part that fails is told with its name,
/// and the others still run.
pub(crate) fn provide(
    mut failed: impl FnMut(&str, &anyhow::Error),
) -> Vec<(&'static str, OsString)> {
    let root = workspace::root();
    let mut part = |name: &str, make: &dyn Fn() -> Result<()>| {
        announce(name);
        if let Err(error) = make() {
            failed(name, &error);
        }
    };
    part("Debian packages", &|| debian::provide(PACKAGES));
    // Debian keeps these two modules in a package of their own.
    let modules = ["-c", "import ensurepip, venv"];
    part("Python's environments", &|| {
        let there = command::run(Command::new("python3").args(modules));
        there.or_else(|_| debian::provide(&["python3-venv"]))
    });
    for (requirements, plans) in PLANS_ENVIRONMENTS {
        let folder = root.join(plans).join(".venv");
        let name = format!("Python environment of {plans}");
        part(&name, &|| make_environment(requirements, &folder));
    }
    for build in BUILDS {
        let script = root.join(build);
        part(build, &|| command::run(Command::new("sh").arg(&script)));
    }
    part("Go subjects", &go_subjects);
    // Where the plans' build commands put it.
    let origin = "build --release --quiet --package origin --target-dir target";
    part("subjects/origin", &|| {
        command::run(workspace::cargo().args(origin.split(' ')))
    });
    part("packages of the front end", &web::install);
    variables::provide(&mut failed)
}

/// Makes the Python environment of a file of requirements, named from the workspace, unless it
/// is there, and returns its interpreter.
pub(crate) fn python_environment(requirements: &str) -> Result<PathBuf> {
    let content = cache::read(&workspace::root().join(requirements))?;
    // One for each content: none is ever changed under a test.
    let name = format!("python-{:08x}", crc32fast::hash(&content));
    let cache = workspace::cache()?;
    fs::create_dir_all(&cache).with_context(|| format!("make {}", cache.display()))?;
    let folder = cache.join(name);
    make_environment(requirements, &folder)?;
    Ok(folder.join("bin/python"))
}

/// As the plans' own build step does it; unless it is there.
fn make_environment(requirements: &str, folder: &Path) -> Result<()> {
    let root = workspace::root();
    command::run(
        Command::new("python3")
            .arg(root.join("subjects/python/environment.py"))
            .arg(root.join(requirements))
            .arg(folder),
    )
}

/// Builds each subject into its own `bin/`, where the plans' build commands put it as well, so
/// that downloading and compiling does not count against a test's patience. Modules without a
/// program of their own have a script.
fn go_subjects() -> Result<()> {
    for subject in workspace::subjects_with("main.go")? {
        let name = subject.file_name().unwrap_or_default();
        go_build(&subject, &subject.join("bin").join(name))?;
    }
    Ok(())
}

pub(crate) fn go_build(module: &Path, program: &Path) -> Result<()> {
    command::run(
        Command::new("go")
            // A checkout of another user's has no version that Go may read.
            .args(["build", "-buildvcs=false", "-o"])
            .arg(program)
            .arg(".")
            .current_dir(module),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plans_environments_have_requirements_and_plans() {
        for (requirements, plans) in PLANS_ENVIRONMENTS {
            assert!(
                workspace::root().join(requirements).is_file(),
                "{requirements}"
            );
            assert!(workspace::root().join(plans).is_dir(), "{plans}");
        }
        for build in BUILDS {
            assert!(workspace::root().join(build).is_file(), "{build}");
        }
    }
}
