//! Processes that outlive the command which started them, and are found again.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The lines of a log that an error quotes.
const QUOTED: usize = 5;

/// A process with a folder: its logs, and the file that says which it is.
pub(super) struct Process {
    folder: PathBuf,
    pid: i32,
    /// In clock ticks since the machine's start: a later process with this number has another.
    started: u64,
}

impl Process {
    /// Starts it, with its output in a log in the folder.
    pub(super) fn start(mut command: Command, folder: &Path) -> Result<Process> {
        let log = folder.join("start.log");
        let log = File::create(&log).with_context(|| format!("make {}", log.display()))?;
        let same = log.try_clone().context("share a log")?;
        // In a group of its own, Ctrl-C in the terminal does not reach it.
        command
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(same)
            .process_group(0);
        let child = command
            .spawn()
            .with_context(|| format!("start {:?}", command.get_program()))?;
        let pid = i32::try_from(child.id()).context("a number of a process")?;
        let started = started(pid).context("it ended at once")?;
        let file = folder.join("process");
        fs::write(&file, format!("{pid} {started}\n"))
            .with_context(|| format!("write {}", file.display()))?;
        Ok(Process {
            folder: folder.to_owned(),
            pid,
            started,
        })
    }

    /// Those whose folders are in this one.
    pub(super) fn started_in(folder: &Path) -> Result<Vec<Process>> {
        let mut found = Vec::new();
        if !folder.exists() {
            return Ok(found);
        }
        for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
            let folder = entry?.path();
            let Ok(text) = fs::read_to_string(folder.join("process")) else {
                continue;
            };
            let Some((pid, started)) = text.trim().split_once(' ') else {
                continue;
            };
            if let (Ok(pid), Ok(started)) = (pid.parse(), started.parse()) {
                found.push(Process {
                    folder,
                    pid,
                    started,
                });
            }
        }
        Ok(found)
    }

    pub(super) fn name(&self) -> String {
        self.folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn lives(&self) -> bool {
        started(self.pid) == Some(self.started)
    }

    pub(super) fn kill(&self) {
        if self.lives() {
            let _ = kill(Pid::from_raw(self.pid), Signal::SIGKILL);
        }
    }

    /// The last lines of each of its logs.
    pub(super) fn last_lines(&self) -> String {
        let logs = fs::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        let mut text = String::new();
        for log in logs.filter(|path| path.extension().is_some_and(|of| of == "log")) {
            let content = fs::read_to_string(&log).unwrap_or_default();
            let lines: Vec<&str> = content.lines().collect();
            let last = lines[lines.len().saturating_sub(QUOTED)..].join("\n");
            text += &format!("{}:\n{last}\n", log.display());
        }
        text
    }
}

/// When a process started that has not ended; a zombie has.
fn started(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may have any character.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    let is_zombie = fields.next()? == "Z";
    fields.nth(18)?.parse().ok().filter(|_| !is_zombie)
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_process_is_found_again_and_ended_but_no_other_with_its_number() {
        let cluster = tempfile::tempdir().unwrap();
        let folder = cluster.path().join("node1");
        fs::create_dir(&folder).unwrap();
        let mut sleep = Command::new("sh");
        sleep.args(["-c", "echo started; exec sleep 60"]);
        let started = Process::start(sleep, &folder).unwrap();
        while !started.last_lines().ends_with("start.log:\nstarted\n") {
            thread::sleep(Duration::from_millis(5));
        }
        let found = Process::started_in(cluster.path()).unwrap();
        assert_eq!(
            (found.len(), found[0].pid, found[0].lives()),
            (1, started.pid, true)
        );

        let other = Process {
            folder: folder.clone(),
            pid: started.pid,
            started: started.started + 1,
        };
        other.kill();
        assert!(started.lives());
        found[0].kill();
        while started.lives() {
            thread::sleep(Duration::from_millis(5));
        }
    }
}
