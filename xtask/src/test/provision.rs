//! What the tests with real parts need and the toolchains don't bring: Debian packages, a
//! Python environment, the subjects built. All of it is found again the next time.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::step::announce;
use crate::{command, debian, web, workspace};

mod exporters;
pub(crate) mod kept;

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

/// Pinned with hashes: what is installed today is what was installed when it was written.
const REQUIREMENTS: &str = "xtask/requirements-test.txt";

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

/// Where tests find what was provided.
#[derive(Default)]
pub(crate) struct Provided {
    /// Environment variables for the tests.
    pub(crate) variables: Vec<(&'static str, OsString)>,
}

/// Provides what it can; each part that fails is told with its name, and the others still run.
pub(crate) fn provide(mut failed: impl FnMut(&str, &anyhow::Error)) -> Provided {
    let mut provided = Provided::default();
    if let Err(error) = debian::provide(PACKAGES) {
        failed("Debian packages", &error);
    }
    announce("Python environment");
    match python_environment(REQUIREMENTS) {
        Ok(python) => provided
            .variables
            .push(("WINDAGE_TEST_PYTHON", python.into())),
        Err(error) => failed("Python environment", &error),
    }
    for (requirements, plans) in PLANS_ENVIRONMENTS {
        announce(&format!("Python environment of {plans}"));
        if let Err(error) = environment_of_plans(requirements, plans) {
            failed(&format!("Python environment of {plans}"), &error);
        }
    }
    for build in BUILDS {
        announce(build);
        let script = workspace::root().join(build);
        if let Err(error) = command::run(Command::new("sh").arg(script)) {
            failed(build, &error);
        }
    }
    if let Err(error) = go_subjects() {
        failed("Go subjects", &error);
    }
    announce("building subjects/origin");
    if let Err(error) = origin() {
        failed("subjects/origin", &error);
    }
    announce("packages of the front end");
    if let Err(error) = web::install() {
        failed("packages of the front end", &error);
    }
    provided.variables.extend(exporters::provide(&mut failed));
    provided
}

/// Makes the Python environment of a file of requirements, named from the workspace, unless it
/// is there, and returns its interpreter.
pub(crate) fn python_environment(requirements: &str) -> Result<PathBuf> {
    let file = workspace::root().join(requirements);
    let version = command::output(Command::new("python3").arg("--version"))?;
    let name = environment_name(&kept::read(&file)?, &version);
    let folder = kept::folder(&name, |folder| {
        make_environment(folder)?;
        command::run(
            Command::new(interpreter(folder))
                .args(["-m", "pip", "install", "--quiet", "--require-hashes"])
                // A package's own code does not run at its installation.
                .args(["--only-binary", ":all:", "--requirement"])
                .arg(&file),
        )
    })?;
    Ok(interpreter(&folder))
}

/// As the plans' own build step does it; unless it is there.
fn environment_of_plans(requirements: &str, plans: &str) -> Result<()> {
    let root = workspace::root();
    command::run(
        Command::new("python3")
            .arg(root.join("subjects/python/environment.py"))
            .arg(root.join(requirements))
            .arg(root.join(plans).join(".venv")),
    )
}

fn interpreter(environment: &Path) -> PathBuf {
    environment.join("bin/python")
}

fn make_environment(folder: &Path) -> Result<()> {
    let has_pip = Command::new("python3")
        .args(["-c", "import ensurepip, venv"])
        .stderr(Stdio::null())
        .status()
        .context("could not start python3; install Python 3.9 or later")?;
    if !has_pip.success() {
        // Debian keeps these two modules in a package of their own.
        debian::provide(&["python3-venv"])?;
    }
    command::run(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(folder),
    )
}

/// A folder for each set of requirements and each Python: none is ever changed under a test.
fn environment_name(requirements: &[u8], version: &str) -> String {
    let version: String = version
        .chars()
        .filter(|c| c.is_ascii_digit() || *c == '.')
        .collect();
    format!("python-{version}-{:08x}", crc32fast::hash(requirements))
}

/// Builds each subject into its own `bin/`, where the plans' build commands put it as well, so
/// that downloading and compiling does not count against a test's patience. Modules without a
/// program of their own have a script.
fn go_subjects() -> Result<()> {
    for subject in workspace::subjects_with("main.go")? {
        let name = subject.file_name().unwrap_or_default();
        announce(&format!("building subjects/{}", name.display()));
        go_build(&subject, &subject.join("bin").join(name))?;
    }
    Ok(())
}

/// Builds the origin behind proxies where the plans' build commands put it.
fn origin() -> Result<()> {
    command::run(
        Command::new("cargo")
            .args(["build", "--release", "--quiet", "--package", "origin"])
            .args(["--target-dir", "target"])
            .current_dir(workspace::root()),
    )
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

    #[test]
    fn environments_are_told_apart() {
        let name = environment_name(b"hdrhistogram==0.10.8", "Python 3.11.7\n");
        assert!(name.starts_with("python-3.11.7-"), "{name}");
        assert_eq!(
            name,
            environment_name(b"hdrhistogram==0.10.8", "Python 3.11.7")
        );
        assert_ne!(
            name,
            environment_name(b"hdrhistogram==0.10.9", "Python 3.11.7")
        );
        assert_ne!(
            name,
            environment_name(b"hdrhistogram==0.10.8", "Python 3.12.0")
        );
    }
}
