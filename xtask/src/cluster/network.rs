//! The cluster's network: one bridge on this machine, and a network namespace for each node.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::command;

/// This machine's address among the nodes, where the control plane listens.
pub(super) const MACHINE: &str = "10.77.0.1";
const BRIDGE: &str = "windage-lab";
/// Namespaces are named after nodes with this in front.
const NAMESPACE: &str = "windage-";
/// Where the kernel lists network devices.
const DEVICES: &str = "/sys/class/net";
/// As many have addresses of their own.
pub(super) const NODES_MAX: u8 = 9;
/// Where `ip` keeps namespaces.
const NAMESPACES: &str = "/run/netns";

/// The address of a node, counted from 1.
pub(super) fn node(number: usize) -> String {
    format!("10.77.0.{}", 10 + number)
}

/// The addresses of a node's pods.
pub(super) fn pods(number: usize) -> String {
    format!("10.244.{number}.0/24")
}

pub(super) fn exists() -> bool {
    Path::new(DEVICES).join(BRIDGE).exists()
}

/// The nodes that have a namespace, by name.
pub(super) fn nodes() -> Result<Vec<String>> {
    let Ok(entries) = std::fs::read_dir(NAMESPACES) else {
        return Ok(Vec::new());
    };
    let mut nodes = Vec::new();
    for entry in entries {
        let name = entry
            .with_context(|| format!("read {NAMESPACES}"))?
            .file_name();
        let name = name.to_string_lossy();
        nodes.extend(name.strip_prefix(NAMESPACE).map(str::to_owned));
    }
    nodes.sort();
    Ok(nodes)
}

/// Runs what is added to it in the network of a node.
pub(super) fn inside(node: &str) -> Command {
    let mut nsenter = Command::new("nsenter");
    // `ip netns exec` would hide the cgroups: it mounts /sys anew.
    nsenter.arg(format!("--net={NAMESPACES}/{NAMESPACE}{node}"));
    nsenter
}

pub(super) fn make(nodes: &[String]) -> Result<()> {
    ip(&format!("link add {BRIDGE} type bridge"))?;
    ip(&format!("address add {MACHINE}/24 dev {BRIDGE}"))?;
    ip(&format!("link set {BRIDGE} up"))?;
    for (number, name) in (1..).zip(nodes) {
        let (namespace, here) = (format!("{NAMESPACE}{name}"), link(number));
        ip(&format!("netns add {namespace}"))?;
        ip(&format!(
            "link add {here} type veth peer name eth0 netns {namespace}"
        ))?;
        ip(&format!("link set {here} master {BRIDGE} up"))?;
        let inside = |line: &str| ip(&format!("-netns {namespace} {line}"));
        inside(&format!("address add {}/24 dev eth0", node(number)))?;
        inside("link set eth0 up")?;
        inside("link set lo up")?;
        inside(&format!("route add default via {MACHINE}"))?;
        ip(&format!("route add {} via {}", pods(number), node(number)))?;
        for other in (1..=nodes.len()).filter(|other| *other != number) {
            inside(&format!("route add {} via {}", pods(other), node(other)))?;
        }
    }
    Ok(())
}

/// Removes whatever there is of it; routes go with the bridge.
pub(super) fn remove() -> Result<()> {
    // The kernel may keep a namespace, and with it the link into it, long after its last process.
    for number in 1..=NODES_MAX {
        let link = link(number.into());
        if Path::new(DEVICES).join(&link).exists() {
            ip(&format!("link delete {link}"))?;
        }
    }
    for node in nodes()? {
        ip(&format!("netns delete {NAMESPACE}{node}"))?;
    }
    if exists() {
        ip(&format!("link delete {BRIDGE}"))?;
    }
    Ok(())
}

/// This machine's end of the link to a node, counted from 1.
fn link(number: usize) -> String {
    format!("windage-{number}")
}

fn ip(line: &str) -> Result<()> {
    command::run(Command::new("ip").args(line.split(' ')))
}
