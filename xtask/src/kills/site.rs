//! A folder of its own for each run that is killed, and Windage in it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::plan::Plan;

/// A run of a few seconds that takes longer than this hangs, on a busy machine too.
const LONGEST: Duration = Duration::from_secs(120);
/// How often something awaited is looked for.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(10);

pub(super) struct Site {
    folder: tempfile::TempDir,
    windage: PathBuf,
    /// The name of the run, which no other run has.
    pub(super) run: String,
    started: AtomicU32,
}

impl Site {
    pub(super) fn new(windage: &Path, plan: &Plan) -> Result<Site> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = tempfile::Builder::new().prefix("windage-kill-").tempdir();
        let folder = folder.context("make a temporary folder")?;
        plan.write(folder.path())?;
        fs::create_dir(folder.path().join("tmp"))?;
        Ok(Site {
            folder,
            windage: windage.to_owned(),
            // No name is the beginning of another.
            run: format!("kill-{}-{number:05}", std::process::id()),
            started: AtomicU32::new(0),
        })
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where Windage and all that it starts are to put temporary files.
    pub(super) fn temporary(&self) -> PathBuf {
        self.folder().join("tmp")
    }

    /// The run directory.
    pub(super) fn directory(&self) -> PathBuf {
        self.folder().join(&self.run)
    }

    pub(super) fn run_args(&self) -> [&str; 4] {
        ["run", "plan.toml", "--out", &self.run]
    }

    pub(super) fn resume_args(&self) -> [&str; 3] {
        ["run", "--resume", &self.run]
    }

    /// Keeps the folder, and returns its path.
    pub(super) fn keep(self) -> String {
        self.folder.keep().display().to_string()
    }

    /// Starts Windage in the folder.
    pub(super) fn start(&self, args: &[&str]) -> Result<Going> {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let output =
            ["stdout", "stderr"].map(|name| self.folder().join(format!("{name}-{number}")));
        let file = |path: &PathBuf| File::create(path).context("make a file for the output");
        let child = Command::new(&self.windage)
            .args(args)
            .current_dir(self.folder())
            .env("TMPDIR", self.temporary())
            .stdin(Stdio::null())
            .stdout(file(&output[0])?)
            .stderr(file(&output[1])?)
            .spawn()
            .with_context(|| format!("could not start {}", self.windage.display()))?;
        Ok(Going {
            child,
            output,
            began: Instant::now(),
        })
    }
}

/// A running Windage; it is killed when this is dropped.
pub(super) struct Going {
    child: Child,
    output: [PathBuf; 2],
    began: Instant,
}

/// A Windage that has ended.
pub(super) struct Ended {
    pub(super) pid: u32,
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) after: Duration,
}

impl Going {
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has written to standard error so far.
    pub(super) fn stderr(&self) -> String {
        text(&self.output[1])
    }

    /// The time since its start.
    pub(super) fn after(&self) -> Duration {
        self.began.elapsed()
    }

    pub(super) fn has_ended(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Waits until something holds; false if it ends before.
    pub(super) fn until(&mut self, holds: impl Fn() -> bool) -> Result<bool> {
        let deadline = Instant::now() + LONGEST;
        while !self.has_ended()? && Instant::now() < deadline {
            if holds() {
                return Ok(true);
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(false)
    }

    /// Waits for its end.
    pub(super) fn end(mut self) -> Result<Ended> {
        if self.until(|| false)? || !self.has_ended()? {
            bail!("windage {} does not end: {}", self.pid(), self.stderr());
        }
        Ok(Ended {
            pid: self.pid(),
            status: self.child.wait()?,
            stdout: text(&self.output[0]),
            stderr: self.stderr(),
            after: self.began.elapsed(),
        })
    }
}

/// Kills processes, in this order.
pub(super) fn kill_all(pids: &[u32]) {
    for pid in pids {
        // The death of the one before may have ended it.
        let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}
