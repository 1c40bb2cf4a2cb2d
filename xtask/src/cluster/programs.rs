//! The programs of a cluster: Debian's, and Kubernetes built from its Go modules once, into the cache.

use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::image::Image;
use crate::test::provision::cache::{self, Sources};
use crate::{command, debian, workspace};

const PACKAGES: &[&str] = &[
    "containerd",
    "containernetworking-plugins",
    "etcd-server",
    "iproute2",
    "nftables",
    "openssl",
    "runc",
];
/// Of the Go module beside this crate's sources.
const VERSION: &str = "v1.34.4";
/// Of images that are made for the cluster.
const TAG: &str = "lab";
/// The names that the program answers to.
const LINKS: &[&str] = &[
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubectl",
    "kubelet",
];

/// Where the programs are.
pub(super) struct Programs(PathBuf);

impl Programs {
    /// Installs and builds what is missing.
    pub(super) fn provide() -> Result<Programs> {
        debian::provide(PACKAGES)?;
        let module = module();
        cache::folder(&name_of(&module)?, |folder| build(&module, folder)).map(Programs)
    }

    /// Whether Kubernetes is in the cache.
    #[cfg(all(test, feature = "real-parts"))]
    pub(super) fn are_built() -> Result<bool> {
        Ok(workspace::cache()?
            .join(name_of(&module())?)
            .join("complete")
            .is_file())
    }

    /// A program that finds these, and those of the machine's administrator.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut path = OsString::from(&self.0);
        path.push(":");
        path.push(debian::path());
        let mut command = match LINKS.contains(&program) {
            true => Command::new(self.0.join(program)),
            false => Command::new(program),
        };
        command.env("PATH", path);
        command
    }

    /// The images of the cluster: of the container that keeps a pod's network, and of the subject of
    /// experiments/kubernetes.
    pub(super) fn images(&self) -> Result<[(&'static str, Vec<u8>); 2]> {
        let subject = workspace::root().join("subjects/go-http");
        let name = format!("go-http-static-{:08x}", Sources::of(&subject)?.hash()?);
        let built = cache::folder(&name, |folder| {
            go(&subject, ".", &folder.join("go-http"), "")
        })?;
        let image = |name: &'static str, program: PathBuf| {
            let program = &cache::read(&program)?;
            let (tag, made) = (TAG, 0);
            Ok::<_, anyhow::Error>((
                name,
                Image {
                    name,
                    tag,
                    program,
                    libraries: &[],
                    notices: None,
                    made,
                }
                .archive()?,
            ))
        };
        Ok([
            image("pause", self.0.join("pause"))?,
            image("go-http", built.join("go-http"))?,
        ])
    }
}

/// The sources of Kubernetes' programs.
fn module() -> PathBuf {
    workspace::root().join("xtask/kubernetes")
}

/// In the cache.
fn name_of(module: &Path) -> Result<String> {
    Ok(format!("kubernetes-{:08x}", Sources::of(module)?.hash()?))
}

fn build(module: &Path, folder: &Path) -> Result<()> {
    anstream::eprintln!("==> building Kubernetes {VERSION}, once; it takes ten minutes");
    let mut flags = String::from("-s -w");
    for package in [
        "k8s.io/component-base/version",
        "k8s.io/client-go/pkg/version",
    ] {
        let set = |name: &str, value: &str| format!(" -X {package}.{name}={value}");
        flags += &set("gitVersion", VERSION);
        flags += &set("gitMajor", "1");
        flags += &set("gitMinor", "34");
    }
    for (package, name) in [(".", "kubernetes"), ("./pause", "pause")] {
        go(module, package, &folder.join(name), &flags)?;
    }
    for link in LINKS {
        let link = folder.join(link);
        symlink("kubernetes", &link).with_context(|| format!("make {}", link.display()))?;
    }
    Ok(())
}

/// Builds a package statically: an image has nothing but its program.
fn go(module: &Path, package: &str, program: &Path, flags: &str) -> Result<()> {
    let mut go = Command::new("go");
    go.args([
        "build",
        "-trimpath",
        "-buildvcs=false",
        "-ldflags",
        flags,
        "-o",
    ]);
    command::run(
        go.arg(program)
            .arg(package)
            .env("CGO_ENABLED", "0")
            .current_dir(module),
    )
}
