//! Inside the measuring pod: measures, and keeps the run until it was fetched.

use std::env;
use std::fs;
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::archive::pack;
use crate::{INSIDE_VERB, Owner};

/// What the verb is asked for: measures, and waits until the run was fetched.
pub(crate) const MEASURE: &str = "measure";
/// Has the run end early.
pub(crate) const INTERRUPT: &str = "interrupt";
/// Writes the run to standard output.
pub(crate) const HAND_OVER: &str = "hand-over";

/// The program's container.
pub(crate) const CONTAINER: &str = "windage";
/// Variables that say where this is.
pub(crate) const NODE: &str = "WINDAGE_NODE";
pub(crate) const ADDRESS: &str = "WINDAGE_NODE_ADDRESS";
pub(crate) const JOB: &str = "WINDAGE_JOB";
pub(crate) const JOB_ID: &str = "WINDAGE_JOB_ID";
/// The commit that the plan is of.
pub(crate) const COMMIT: &str = "WINDAGE_PLAN_COMMIT";
/// Where the plan is, and how it is called.
pub(crate) const PLAN_FOLDER: &str = "/plan";
pub(crate) const PLAN: &str = "plan.toml";
/// Where the run is.
pub(crate) const WORK: &str = "/work";
/// The last line that is printed before the run waits to be fetched.
pub(crate) const ENDED: &str = "windage: the run waits to be fetched";

/// What is in [`WORK`].
const RUN: &str = "run";
/// The exit code of the run.
const EXIT: &str = "exit";
/// The process that measures.
const PROCESS: &str = "process";
/// How often the process that measures, and what ends it, are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The node that this pod is on, its address, and the Job that the pod belongs to; `None` outside.
#[must_use]
pub fn place() -> Option<(String, IpAddr, Owner)> {
    let owner = Owner {
        name: variable(JOB)?,
        uid: variable(JOB_ID)?,
    };
    Some((variable(NODE)?, variable(ADDRESS)?.parse().ok()?, owner))
}

/// The commit that the plan of this pod is of, if it is of one.
#[must_use]
pub fn commit_of_plan() -> Option<String> {
    variable(COMMIT)
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// Does what is asked, and returns the exit code.
///
/// # Errors
/// When a process can't be started, or a file not be read or written.
pub fn inside(what: &str, ended: &AtomicBool) -> io::Result<u8> {
    let work = Path::new(WORK);
    match what {
        MEASURE => measure(work, ended),
        INTERRUPT => interrupt(work).map(|()| 0),
        HAND_OVER => hand_over(work).map(|()| 0),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{INSIDE_VERB} can't {what:?}"),
        )),
    }
}

fn measure(work: &Path, ended: &AtomicBool) -> io::Result<u8> {
    let mut windage = Command::new(env::current_exe()?);
    windage
        .args(["run", "--keep-work", "--out"])
        .arg(work.join(RUN));
    windage.arg(PLAN).current_dir(PLAN_FOLDER);
    // The report is printed where the run was asked for.
    windage.stdout(Stdio::null());
    let mut child = windage.spawn()?;
    fs::write(work.join(PROCESS), child.id().to_string())?;
    let code = wait(&mut child, ended)?;
    fs::write(work.join(EXIT), code.to_string())?;
    let mut out = io::stdout().lock();
    writeln!(out, "{ENDED}")?;
    out.flush()?;
    // When it was fetched, the Job is deleted.
    while !ended.load(Ordering::Relaxed) {
        sleep(LOOK_EVERY);
    }
    Ok(code)
}

/// Waits for the process that measures, which is asked to end when this one is.
fn wait(child: &mut Child, ended: &AtomicBool) -> io::Result<u8> {
    let mut is_asked = false;
    loop {
        if let Some(status) = child.try_wait()? {
            // Killed by a signal, it could not measure.
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            return Ok(code.unwrap_or(5));
        }
        if ended.load(Ordering::Relaxed) && !is_asked {
            is_asked = true;
            kill(child.id())?;
        }
        sleep(LOOK_EVERY);
    }
}

fn interrupt(work: &Path) -> io::Result<()> {
    // It has ended by itself.
    if work.join(EXIT).exists() {
        return Ok(());
    }
    let process = fs::read_to_string(work.join(PROCESS))?;
    let process = process.trim().parse().map_err(io::Error::other)?;
    kill(process)
}

fn kill(process: u32) -> io::Result<()> {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    let process = process.ok_or_else(|| io::Error::other("no process"))?;
    Ok(kill_process(process, Signal::INT)?)
}

fn hand_over(work: &Path) -> io::Result<()> {
    // Before it is there, the run goes on.
    fs::metadata(work.join(EXIT))?;
    pack(work, io::stdout().lock())
}

/// The exit code of a run that was handed over into a folder, and the folder of the run itself.
pub(crate) fn handed_over(folder: &Path) -> io::Result<(u8, PathBuf)> {
    let code = fs::read_to_string(folder.join(EXIT))?;
    let code = code.trim().parse().map_err(io::Error::other)?;
    Ok((code, folder.join(RUN)))
}
