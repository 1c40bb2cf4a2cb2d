//! A scope of systemd's: where a user who is not root may create cgroups.

use std::path::Path;
use std::time::Duration;

use crate::open_files::read_file;
use crate::parse::cgroup::{Hierarchy, memberships};
use crate::system::System;

/// How often to look whether systemd has moved this process, and how long to wait in between. It
/// answers before it has.
const LOOKS: u32 = 50;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Asks the user's systemd to move processes, this one among them, into a scope that is delegated
/// to the user. Returns its name, or `None` when there is no such systemd or it refuses.
///
/// `systemd-run --scope` does the same for a program that it starts.
pub(crate) fn enter(system: &dyn System, processes: &[u32]) -> Option<String> {
    let name = format!("windage-{}.scope", system.process_id());
    if !system.run("busctl", &request(&name, processes)).ok()? {
        return None;
    }
    for _ in 0..LOOKS {
        if own_group(system)?.ends_with(&name) {
            return Some(name);
        }
        system.pause(BETWEEN_LOOKS);
    }
    None
}

/// The call of `StartTransientUnit`, which is part of systemd's stable interface
/// (`org.freedesktop.systemd1(5)`).
fn request(name: &str, processes: &[u32]) -> Vec<String> {
    let call = [
        "--user",
        "--quiet",
        "--timeout=5",
        "call",
        "org.freedesktop.systemd1",
        "/org/freedesktop/systemd1",
        "org.freedesktop.systemd1.Manager",
        "StartTransientUnit",
        "ssa(sv)a(sa(sv))",
        name,
        "fail",
        "2",
        "Delegate",
        "b",
        "true",
        "PIDs",
        "au",
    ];
    let mut words: Vec<String> = call.map(str::to_owned).to_vec();
    words.push(processes.len().to_string());
    words.extend(processes.iter().map(u32::to_string));
    words.push("0".to_owned());
    words
}

/// This process's cgroup of version 2.
fn own_group(system: &dyn System) -> Option<std::path::PathBuf> {
    let own = memberships(&read_file(system, Path::new("/proc/self/cgroup")).ok()?);
    let v2 = own.into_iter().find(|of| of.hierarchy == Hierarchy::V2);
    v2.map(|of| of.path)
}
