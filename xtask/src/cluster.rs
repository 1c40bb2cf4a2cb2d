//! `cargo xtask cluster`: a Kubernetes of several nodes on this machine, for tests and to try things.
//!
//! Each node is a kubelet and a containerd in namespaces of their own; etcd and the control plane run
//! beside them. Everything is real but the machines: all nodes share this one's cores, so that the
//! cluster shows how pods, networks and failures are handled, and not how anything scales. Pods reach each
//! other and this machine, and no other network. Service names are not resolved.

mod access;
mod network;
mod process;
mod programs;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::{command, workspace};
use process::Process;
use programs::Programs;

/// How long a cluster may take until all nodes are ready; usually ten seconds.
const READY_MAX: Duration = Duration::from_secs(120);
/// How long ended processes may hold what they used.
const GONE_MAX: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(200);

#[derive(clap::Subcommand)]
pub(crate) enum Verb {
    /// Brings a cluster up and prints how to reach it. The first time it builds Kubernetes, which takes minutes
    Up {
        /// How many nodes
        #[arg(default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=i64::from(network::NODES_MAX)))]
        nodes: u8,
    },
    /// Loads an image into every node
    Load {
        /// An archive of OCI or Docker
        image: PathBuf,
    },
    /// Ends the cluster, and removes what belongs to it
    Down,
}

pub(crate) fn run(verb: &Verb) -> Result<ExitCode> {
    let cluster = Cluster::in_folder(workspace::root().join("target/cluster"));
    match verb {
        Verb::Up { nodes } => {
            cluster.up(*nodes)?;
            anstream::println!("export KUBECONFIG={}", cluster.kubeconfig().display());
        }
        Verb::Load { image } => cluster.load(image)?,
        Verb::Down => cluster.down()?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A cluster, up or not. There is one on a machine, because its network is.
struct Cluster {
    folder: PathBuf,
}

impl Cluster {
    fn in_folder(folder: PathBuf) -> Cluster {
        Cluster { folder }
    }

    /// The administrator's.
    fn kubeconfig(&self) -> PathBuf {
        self.folder.join("admin.json")
    }

    /// What is half up after an error is taken down again, but for the logs.
    fn up(&self, nodes: u8) -> Result<()> {
        if let Some(why) = lacking() {
            bail!("{why}");
        }
        if network::exists() {
            bail!("there is a cluster already; `cargo xtask cluster down` ends it");
        }
        let programs = Programs::provide()?;
        let names: Vec<String> = (1..=nodes).map(|number| format!("node{number}")).collect();
        self.start(&programs, &names).inspect_err(|_| {
            self.end()
                .unwrap_or_else(|error| anstream::eprintln!("{error:#}"))
        })
    }

    fn start(&self, programs: &Programs, nodes: &[String]) -> Result<()> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder)
                .with_context(|| format!("remove {}", self.folder.display()))?;
        }
        for name in nodes.iter().map(String::as_str).chain(["control"]) {
            let folder = self.folder.join(name);
            fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
        }
        access::write(&self.folder, nodes)?;
        for (name, image) in programs.images()? {
            let file = self.folder.join(name).with_extension("tar");
            fs::write(&file, image).with_context(|| format!("write {}", file.display()))?;
        }
        network::make(nodes)?;

        let mut control = unshared(programs, "control.sh", &["--pid"]);
        control.arg(&self.folder).arg(network::MACHINE);
        let mut processes = vec![Process::start(control, &self.folder.join("control"))?];
        for (number, name) in (1..).zip(nodes) {
            let mut node = network::inside(name);
            let unshared = unshared(programs, "node.sh", &["--pid", "--mount", "--mount-proc"]);
            node.arg(unshared.get_program()).args(unshared.get_args());
            node.envs(
                unshared
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            );
            node.arg(name).arg(&self.folder);
            node.args([network::node(number), network::pods(number)]);
            processes.push(Process::start(node, &self.folder.join(name))?);
        }
        self.await_ready(programs, nodes, &processes)
    }

    fn await_ready(
        &self,
        programs: &Programs,
        nodes: &[String],
        processes: &[Process],
    ) -> Result<()> {
        let began = Instant::now();
        // Until the API server listens, it fails.
        let get = |what: &[&str]| -> Result<String> {
            let mut get = programs.command("kubectl");
            get.arg("--kubeconfig").arg(self.kubeconfig()).arg("get");
            let got = get.args(what).output().context("start kubectl")?;
            Ok(String::from_utf8_lossy(&got.stdout).into_owned())
        };
        let conditions = "jsonpath={.items[*].status.conditions[?(@.type==\"Ready\")].status}";
        loop {
            if let Some(dead) = processes.iter().find(|process| !process.lives()) {
                bail!(
                    "{} ended; its logs are in {}\n{}",
                    dead.name(),
                    dead.folder().display(),
                    dead.last_lines()
                );
            }
            let ready = get(&["nodes", "--output", conditions])?;
            let ready = ready.matches("True").count();
            // Without its account, a namespace takes no pods.
            let takes_pods = || get(&["serviceaccount", "default", "--output=name"]);
            if ready == nodes.len() && !takes_pods()?.is_empty() {
                return Ok(());
            }
            if began.elapsed() > READY_MAX {
                let waited = READY_MAX.as_secs();
                bail!(
                    "{ready} of {} nodes are ready after {waited} s; logs are in {}",
                    nodes.len(),
                    self.folder.display()
                );
            }
            thread::sleep(POLL);
        }
    }

    fn load(&self, image: &Path) -> Result<()> {
        if !image.is_file() {
            bail!("there is no file {}", image.display());
        }
        let nodes = network::nodes()?;
        if nodes.is_empty() {
            bail!("there is no cluster; `cargo xtask cluster up` brings one up");
        }
        for node in nodes {
            let socket = self.folder.join(node).join("containerd.sock");
            let mut ctr = Command::new("ctr");
            ctr.arg("--address").arg(socket);
            command::run(
                ctr.args(["--namespace=k8s.io", "images", "import"])
                    .arg(image),
            )?;
        }
        Ok(())
    }

    fn down(&self) -> Result<()> {
        self.end()?;
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder)
                .with_context(|| format!("remove {}", self.folder.display()))?;
        }
        Ok(())
    }

    /// Ends processes and removes networks and cgroups, whatever there is of them.
    fn end(&self) -> Result<()> {
        for process in Process::started_in(&self.folder)? {
            process.kill();
        }
        network::remove()?;
        let began = Instant::now();
        // A namespace's processes end one after another, and its cgroups are busy until then.
        while let Err(error) = remove_cgroups() {
            if began.elapsed() > GONE_MAX {
                return Err(error);
            }
            thread::sleep(POLL);
        }
        Ok(())
    }
}

/// Why this machine can't have a cluster; `None` if it can.
fn lacking() -> Option<&'static str> {
    if !nix::unistd::geteuid().is_root() {
        return Some("a cluster makes namespaces and mounts, which needs root");
    }
    let has_v1 = Path::new("/sys/fs/cgroup/cpuset").exists();
    (!has_v1).then_some(
        "this cluster uses control groups of version 1, which this machine has not mounted",
    )
}

/// A script of this folder as the first process of new namespaces, which ends with the command.
fn unshared(programs: &Programs, script: &str, namespaces: &[&str]) -> Command {
    let mut unshare = programs.command("unshare");
    unshare.args(namespaces).args(["--fork", "--kill-child"]);
    unshare
        .arg("bash")
        .arg(workspace::root().join("xtask/src/cluster").join(script));
    unshare
}

/// Removes the nodes' cgroups, in which no process may be left.
fn remove_cgroups() -> Result<()> {
    let mut find = Command::new("find");
    find.args(["/sys/fs/cgroup", "-mindepth", "2", "-depth", "-type", "d"]);
    let found = command::output(find.args(["-path", "*/windage-node[1-9]*"]))?;
    for folder in found.lines() {
        fs::remove_dir(folder).with_context(|| format!("remove {folder}"))?;
    }
    Ok(())
}

#[cfg(all(test, feature = "real-parts"))]
mod tests;
