//! One command of a test run, streamed and counted.

use std::ffi::OsString;
use std::process::Command;

use anyhow::Result;

use crate::command;

use super::tally::{GoEvents, Tally};

/// How a command's output tells the number of its tests.
pub(crate) enum Counts {
    /// It runs none: only its failure counts.
    Nothing,
    /// `test result: …` lines.
    CargoTests,
    /// `go test -json`.
    GoTests,
    /// The summary of `vitest run`.
    Vitest,
    /// The summary of `playwright test`.
    Playwright,
}

/// One command of a test run.
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) command: Command,
    counts: Counts,
}

impl Step {
    pub(crate) fn new(name: impl Into<String>, command: Command, counts: Counts) -> Step {
        Step {
            name: name.into(),
            command,
            counts,
        }
    }

    /// Runs the command to its end. One that fails without a failed test (a warning, a
    /// compile error, a test program that was killed) counts as one failure, and so does one that
    /// should run tests and ran none (a filter that fits nothing, output that is not understood).
    pub(crate) fn run(&mut self, environment: &[(&str, OsString)]) -> Result<Tally> {
        announce(&self.name);
        self.command
            .envs(environment.iter().map(|(name, value)| (name, value)));
        let mut tally = Tally::default();
        let success = match self.counts {
            Counts::Nothing => command::stream(&mut self.command, show)?,
            Counts::CargoTests => command::stream(&mut self.command, |line| {
                tally += Tally::from_cargo_line(line).unwrap_or_default();
                show(line);
            })?,
            Counts::Vitest => command::stream(&mut self.command, |line| {
                tally += Tally::from_vitest_line(line).unwrap_or_default();
                show(line);
            })?,
            Counts::Playwright => command::stream(&mut self.command, |line| {
                tally += Tally::from_playwright_line(line).unwrap_or_default();
                show(line);
            })?,
            Counts::GoTests => {
                let mut events = GoEvents::default();
                let success = command::stream(&mut self.command, |line| {
                    if let Some(text) = events.take(line) {
                        show(&text);
                    }
                })?;
                tally = events.tally();
                success
            }
        };
        let ran_none = !matches!(self.counts, Counts::Nothing) && tally == Tally::default();
        if success && ran_none {
            anstream::eprintln!("{}: no tests were counted", self.name);
        }
        if tally.failed == 0 && (!success || ran_none) {
            tally.failed = 1;
        }
        Ok(tally)
    }
}

/// Says what comes next.
pub(crate) fn announce(name: &str) {
    anstream::eprintln!("==> {name}");
}

fn show(line: &str) {
    anstream::println!("{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_counts_once() {
        let table = [
            (Counts::Nothing, "exit 0", (0, 0)),
            (Counts::Nothing, "exit 1", (0, 1)),
            (
                Counts::CargoTests,
                "echo 'test result: ok. 2 passed; 0 failed; 0 ignored'",
                (2, 0),
            ),
            (
                Counts::CargoTests,
                "echo 'test result: FAILED. 2 passed; 3 failed; 0 ignored'; exit 101",
                (2, 3),
            ),
            (
                Counts::CargoTests,
                "echo 'test result: ok. 2 passed; 0 failed; 0 ignored'; exit 101",
                (2, 1),
            ),
            (
                Counts::GoTests,
                "echo 'go: cannot find module'; exit 1",
                (0, 1),
            ),
            (Counts::CargoTests, "exit 0", (0, 1)),
            (
                Counts::CargoTests,
                "echo 'test result: ok. 0 passed; 0 failed; 0 ignored; 4 filtered out'",
                (0, 1),
            ),
            (
                Counts::CargoTests,
                "echo 'test result: ok. 0 passed; 0 failed; 3 ignored'",
                (0, 0),
            ),
            (
                Counts::GoTests,
                r#"echo '{"Action":"pass","Package":"p"}'"#,
                (0, 1),
            ),
            (
                Counts::Vitest,
                "echo ' Tests  written in another way'",
                (0, 1),
            ),
            (Counts::Vitest, "echo '      Tests  2 passed (2)'", (2, 0)),
            (Counts::Playwright, "echo 'Running 0 tests'", (0, 1)),
            (Counts::Playwright, "echo '  1 skipped'", (0, 0)),
            (Counts::Nothing, r#"exit "$CODE_OF_A_TEST""#, (0, 1)),
        ];
        for (counts, script, expected) in table {
            let mut shell = Command::new("sh");
            shell.args(["-c", script]);
            let tally = Step::new(script, shell, counts)
                .run(&[("CODE_OF_A_TEST", "9".into())])
                .unwrap();
            assert_eq!((tally.passed, tally.failed), expected, "{script}");
        }
    }
}
