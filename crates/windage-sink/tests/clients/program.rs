//! Other programs: found, started, waited for.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::skip::skip;

/// Long enough for a loaded machine; nothing takes that long when all is well.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Variables by which exporters could be told otherwise than by the test.
const FOREIGN: &[&str] = &[
    "OTEL_",
    "DD_",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
];

/// What a variable names; without it, the test is skipped.
pub(crate) fn part(test: &str, variable: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).filter(|path| !path.is_empty());
    if path.is_none() {
        skip(test, &format!("{variable} is not set"));
    }
    path.map(PathBuf::from)
}

/// A command that knows nothing but its arguments.
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

/// Runs a program to its end; what it said is the error when that is no success.
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

/// A program that runs; it never outlives this.
pub(crate) struct Going(pub(crate) Child);

impl Going {
    /// Waits for its end; `None` when that does not come.
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
        // It has ended already when all is well.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until `condition` holds, and tells whether it ever did.
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
