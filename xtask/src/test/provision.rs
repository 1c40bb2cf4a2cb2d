//! Provides what the real-parts tests need in addition to the toolchains: Debian packages, Python
//! environments, the built subjects. Everything is reused the next time.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::step::announce;
use crate::{command, debian, web, workspace};

pub(crate) mod cache;
mod variables;

/// Debian packages of the services and agents that tests launch, of the tools that build the
/// agents, and of the browser that loads pages.
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

/// Python environments that plans create next to themselves: requirements and folder of each. They
/// are made in advance, so that a slow network does not use up a test's timeout.
const PLANS_ENVIRONMENTS: &[(&str, &str)] = &[
    (
        "subjects/python/requirements.txt",
        "experiments/python-sqlite",
    ),
    ("subjects/python-web/fastapi.txt", "experiments/fastapi"),
    ("subjects/python-web/flask.txt", "experiments/flask"),
];

/// What plans build or fetch of their services and agents: made in advance for the same reason, and
/// because compiling takes both cores from a measuring test.
const BUILDS: &[&str] = &[
    "subjects/node-express/build.sh",
    "subjects/java-web/build.sh",
    "subjects/otel-go-agent/build.sh",
    "subjects/probe-target/build.sh",
    "subjects/shop/build.sh",
    "experiments/caddy/build.sh",
    "experiments/envoy/fetch.sh",
];

/// Provides what it can, and returns the variables by which tests find it. Each part that fails is
/// reported by name, and the others still run.
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
    // Debian has these two modules in a separate package.
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
    let origin = "build --locked --release --quiet --package origin --target-dir target";
    part("subjects/origin", &|| {
        command::run(workspace::cargo().args(origin.split(' ')))
    });
    part("packages of the front end", &web::install);
    variables::provide(&mut failed)
}

/// Creates the Python environment of a file of requirements, given relative to the workspace,
/// unless it exists, and returns its interpreter.
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

/// As the plans' own build step does it; unless it exists.
fn make_environment(requirements: &str, folder: &Path) -> Result<()> {
    let root = workspace::root();
    command::run(
        Command::new("python3")
            .arg(root.join("subjects/python/environment.py"))
            .arg(root.join(requirements))
            .arg(folder),
    )
}

/// Builds each subject into its own `bin/`, as the plans' build commands do, so that downloading
/// and compiling do not use up a test's timeout. Modules without a program of their own have a
/// script.
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
            // Go can't read the version of a checkout that belongs to another user.
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
