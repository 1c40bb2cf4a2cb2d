//! What a result depends on besides the code: the machine and the versions of what ran on it.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{command, workspace};

/// Facts that a reader needs to judge a figure; nothing that tells whose machine it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) kernel: String,
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) is_virtual: bool,
    pub(crate) memory_kib: u64,
    pub(crate) rustc: String,
    pub(crate) nginx: String,
    pub(crate) commit: String,
}

impl Machine {
    /// What stands on a page.
    pub(crate) fn in_words(&self) -> String {
        let kind = if self.is_virtual {
            "virtual machine"
        } else {
            "no hypervisor seen"
        };
        let gib = self.memory_kib as f64 / f64::from(1 << 20);
        let (processor, cores, kernel) = (&self.processor, self.cores, &self.kernel);
        format!("{processor}, {cores} cores, {gib:.1} GiB, {kind}; {kernel}")
    }

    /// Reads the facts of this machine.
    pub(crate) fn read() -> Result<Machine> {
        Ok(Machine {
            nginx: nginx_version()?,
            ..Machine::read_without_nginx()?
        })
    }

    /// The same for a study in which nginx, which may be missing, has no part.
    pub(crate) fn read_without_nginx() -> Result<Machine> {
        let read = |file: &str| fs::read_to_string(file).with_context(|| format!("read {file}"));
        let mut machine = from_proc(&read("/proc/cpuinfo")?, &read("/proc/meminfo")?);
        machine.kernel = first_line(&command::output(Command::new("uname").arg("-srm"))?);
        machine.rustc = first_line(&command::output(Command::new("rustc").arg("--version"))?);
        machine.commit = commit()?;
        Ok(machine)
    }
}

fn from_proc(cpuinfo: &str, meminfo: &str) -> Machine {
    let value = |text: &str, key: &str| {
        text.lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.trim() == key)
            .map(|(_, value)| value.trim().to_owned())
    };
    let memory = value(meminfo, "MemTotal").unwrap_or_default();
    Machine {
        processor: value(cpuinfo, "model name").unwrap_or_else(|| "unknown".to_owned()),
        cores: cpuinfo
            .lines()
            .filter(|line| line.starts_with("processor"))
            .count(),
        is_virtual: value(cpuinfo, "flags")
            .is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")),
        memory_kib: memory
            .trim_end_matches("kB")
            .trim()
            .parse()
            .unwrap_or_default(),
        ..Machine::default()
    }
}

/// nginx prints its version as if it were an error.
fn nginx_version() -> Result<String> {
    let output = Command::new("nginx")
        .arg("-v")
        .output()
        .context("could not start nginx; run `apt-get install nginx-light`")?;
    Ok(first_line(&String::from_utf8_lossy(&output.stderr)))
}

/// The commit measured, marked when the checkout differs from it.
fn commit() -> Result<String> {
    let mut git = Command::new("git");
    git.args(["describe", "--always", "--dirty", "--exclude=*"])
        .current_dir(workspace::root());
    Ok(first_line(&command::output(&mut git)?))
}

/// Today in UTC, as `YYYY-MM-DD`.
pub(crate) fn today() -> Result<String> {
    Ok(first_line(&command::output(
        Command::new("date").args(["-u", "+%Y-%m-%d"]),
    )?))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_from_proc() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\nflags\t\t: fpu hypervisor\n\n\
                       processor\t: 1\nmodel name\t: Some CPU @ 2.0GHz\nflags\t\t: fpu hypervisor\n";
        let machine = from_proc(cpuinfo, "MemTotal:        8000000 kB\nMemFree: 1 kB\n");
        assert_eq!(machine.processor, "Some CPU @ 2.0GHz");
        assert_eq!((machine.cores, machine.memory_kib), (2, 8_000_000));
        assert!(machine.is_virtual);
        let bare = from_proc("processor : 0\nflags : fpu\n", "");
        assert_eq!(
            (bare.processor.as_str(), bare.is_virtual),
            ("unknown", false)
        );
    }
}
