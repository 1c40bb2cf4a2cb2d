//! Commands of the plan: the build step, checks, and switches of arms.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use windage_keeper::{Child, Exit, ExitStatusKind, Keeper, KeeperError, Spawn};

use crate::LabError;
use crate::log_tail::log_tail;

/// The time limit of each command.
pub(crate) const COMMAND_WITHIN: Duration = Duration::from_secs(30);
/// How long a signal may go unnoticed.
pub(crate) const HEAR: Duration = Duration::from_millis(200);

/// Runs a command with a log of its own; returns how it failed, with the end of that log, or `None`.
pub(crate) fn run_alone(
    keeper: &mut Keeper,
    command: &str,
    folder: &Path,
    log: &Path,
    interrupted: &AtomicBool,
) -> Result<Option<String>, LabError> {
    // The message must quote this attempt's output only.
    let _ = std::fs::remove_file(log);
    let of_it = log.to_owned();
    let failed = run_shell(keeper, command, folder, of_it, COMMAND_WITHIN, interrupted)?;
    Ok(failed.map(|how| quoting(&how, log)))
}

/// Runs a command; returns how it failed, or `None` when it succeeded.
pub(crate) fn run_shell(
    keeper: &mut Keeper,
    command: &str,
    folder: &Path,
    log: PathBuf,
    within: Duration,
    interrupted: &AtomicBool,
) -> Result<Option<String>, LabError> {
    let child = keeper.spawn(Spawn {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), command.into()],
        env: std::env::vars_os().collect(),
        cwd: folder.to_owned(),
        log,
        cgroups: Vec::new(),
        cpus: None,
        inherit: None,
        user: None,
        no_new_privs: false,
    })?;
    see_through(keeper, &child, within, interrupted)
}

/// How a command failed, with the end of its log.
pub(crate) fn quoting(how: &str, log: &Path) -> String {
    format!("{how}; its last lines:\n{}", log_tail(log))
}

/// Waits for a program to end; ends it when its time is over or a signal came. Returns how it
/// failed, or `None`.
pub(crate) fn see_through(
    keeper: &mut Keeper,
    child: &Child,
    within: Duration,
    interrupted: &AtomicBool,
) -> Result<Option<String>, LabError> {
    if let Some(exit) = wait(keeper, child, within, interrupted)? {
        return Ok(describe_failure(exit.status));
    }
    match keeper.signal_group(child, libc::SIGKILL) {
        // It may just have ended by itself.
        Ok(()) | Err(KeeperError::Ended { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    keeper.wait(child, Duration::from_secs(5))?;
    if interrupted.load(Ordering::Relaxed) {
        return Err(LabError::Interrupted);
    }
    Ok(Some(format!("did not end within {within:?}")))
}

/// Waits for a child in pieces, so that a signal is noticed; `None` when its time is over or a
/// signal came.
pub(crate) fn wait(
    keeper: &mut Keeper,
    child: &Child,
    within: Duration,
    interrupted: &AtomicBool,
) -> Result<Option<Exit>, LabError> {
    let deadline = Instant::now() + within;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let exit = keeper.wait(child, left.min(HEAR))?;
        if exit.is_some() || left.is_zero() || interrupted.load(Ordering::Relaxed) {
            return Ok(exit);
        }
    }
}

fn describe_failure(status: ExitStatusKind) -> Option<String> {
    (status != ExitStatusKind::Code(0)).then(|| describe(status))
}

/// An ended process in words, such as "exited with code 3".
pub(crate) fn describe(status: ExitStatusKind) -> String {
    match status {
        ExitStatusKind::Code(code) => format!("exited with code {code}"),
        ExitStatusKind::Signal(signal) => format!("was killed by signal {signal}"),
    }
}
