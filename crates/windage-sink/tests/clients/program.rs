//! Other programs: find, start, wait for.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::skip::skip;

/// Long enough for a loaded machine; normally nothing takes that long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Variables that would override the test's settings of exporters.
const FOREIGN: &[&str] = &[
    "OTEL_",
    "DD_",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
];

/// The path in `variable`; if it is not set, the test is skipped.
pub(crate) fn part(test: &str, variable: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).filter(|path| !path.is_empty());
    if path.is_none() {
        skip(test, &format!("{variable} is not set"));
    }
    path.map(PathBuf::from)
}

/// A command without inherited settings.
pub(crate) fn command(program: impl Into<PathBuf>) -> Command {
    let mut command = Command::new(program.into());
    for (name, _) in std::env::vars_os() {
        let begins_with = |prefix: &&str| name.as_encoded_bytes().starts_with(prefix.as_bytes());
        if FOREIGN.iter().any(begins_with) {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Runs a program to its end. If it fails, its output is the error.
pub(crate) fn run(mut command: Command) -> Result<(), String> {
    let said = tempfile::NamedTempFile::new().unwrap();
    command.stderr(said.reopen().unwrap());
    let child = command
        .spawn()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let status = Going(child).ended();
    if status.is_some_and(|status| status.success()) {
        return Ok(());
    }
    let said = fs::read_to_string(said.path()).unwrap();
    let status = status.map_or("is stuck".to_owned(), |status| status.to_string());
    Err(format!("{command:?} {status}: {said}"))
}

/// A running program; it is killed when dropped.
pub(crate) struct Going(pub(crate) Child);

impl Going {
    /// Waits for its end; `None` if it does not end in time.
    fn ended(mut self) -> Option<ExitStatus> {
        let mut status = None;
        until(PATIENCE, || {
            status = self.0.try_wait().unwrap();
            status.is_some()
        });
        status
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        // Normally it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until `condition` holds. Returns whether it did.
pub(crate) fn until(patience: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    while !condition() {
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
    true
}
