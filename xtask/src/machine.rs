//! What a figure depends on in addition to the code, without anything that identifies the machine's
//! owner.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{command, workspace};

/// Processor, cores, memory and kernel.
pub(crate) fn in_words() -> Result<String> {
    let read = |file: &str| fs::read_to_string(file).with_context(|| format!("read {file}"));
    let hardware = hardware(&read("/proc/cpuinfo")?, &read("/proc/meminfo")?);
    let kernel = first_line(Command::new("uname").arg("-srm"))?;
    Ok(format!("{hardware}; {kernel}"))
}

/// The measured commit, marked if the checkout differs from it, and the compiler.
pub(crate) fn versions() -> Result<String> {
    let mut git = Command::new("git");
    git.args(["describe", "--always", "--dirty", "--exclude=*"]);
    let commit = first_line(git.current_dir(workspace::root()))?;
    let rustc = first_line(Command::new("rustc").arg("--version"))?;
    Ok(format!("windage {commit}, {rustc}"))
}

/// Today in UTC, as `YYYY-MM-DD`.
pub(crate) fn today() -> Result<String> {
    first_line(Command::new("date").args(["-u", "+%Y-%m-%d"]))
}

fn hardware(cpuinfo: &str, meminfo: &str) -> String {
    let value = |text: &str, key: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(name, _)| name.trim() == key);
        found.map_or(String::new(), |(_, value)| value.trim().to_owned())
    };
    let cores = cpuinfo.lines().filter(|l| l.starts_with("processor"));
    let memory = value(meminfo, "MemTotal");
    let kib: f64 = memory.trim_end_matches(" kB").parse().unwrap_or_default();
    let mut flags = cpuinfo.split_whitespace();
    let kind = match flags.any(|flag| flag == "hypervisor") {
        true => "virtual machine",
        false => "no hypervisor seen",
    };
    let (model, cores) = (value(cpuinfo, "model name"), cores.count());
    format!(
        "{model}, {cores} cores, {:.1} GiB, {kind}",
        kib / f64::from(1 << 20)
    )
}

fn first_line(command: &mut Command) -> Result<String> {
    let text = command::output(command)?;
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_from_proc() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\nflags\t\t: fpu hypervisor\n\n\
                       processor\t: 1\nmodel name\t: Some CPU @ 2.0GHz\nflags\t\t: fpu hypervisor\n";
        assert_eq!(
            hardware(cpuinfo, "MemTotal:        8388608 kB\nMemFree: 1 kB\n"),
            "Some CPU @ 2.0GHz, 2 cores, 8.0 GiB, virtual machine"
        );
        let bare = hardware("processor : 0\nflags : fpu\n", "");
        assert!(
            bare.ends_with("1 cores, 0.0 GiB, no hypervisor seen"),
            "{bare}"
        );
    }
}
