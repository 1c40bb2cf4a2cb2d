//! One command of a test run, streamed and counted.

use std::ffi::OsString;
use std::process::Command;

use anyhow::Result;

use crate::{command, workspace};

use super::tally::{Counts, Tally};

/// One command of a test run.
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) command: Command,
    /// How many tests a line of its output reports; `None`: it runs no tests, and only its failure
    /// counts.
    counts: Option<Counts>,
}

impl Step {
    /// A command as it would be typed in a folder of the workspace.
    pub(crate) fn new(folder: &str, line: &str, counts: Option<Counts>) -> Step {
        let mut words = line.split(' ');
        let mut command = match words.next() {
            Some("cargo") => workspace::cargo(),
            program => Command::new(program.unwrap_or_default()),
        };
        command
            .args(words)
            .current_dir(workspace::root().join(folder));
        if line.starts_with("npx ") {
            // Their output is parsed.
            command.env("NO_COLOR", "1").env_remove("FORCE_COLOR");
        }
        let name = format!("{folder}: {line}");
        Step {
            name: name.trim_start_matches(": ").to_owned(),
            command,
            counts,
        }
    }

    /// Runs the command to its end. If it fails without a failed test (a warning, a compile error,
    /// a killed test program), that counts as one failure; so does a command that should run tests
    /// and ran none (a filter that matches nothing, unexpected output).
    pub(crate) fn run(&mut self, environment: &[(&str, OsString)]) -> Result<Tally> {
        announce(&self.name);
        self.command
            .envs(environment.iter().map(|(name, value)| (name, value)));
        let mut tally = Tally::default();
        let success = command::stream(&mut self.command, |line| {
            tally += self.counts.map_or(Tally::default(), |counts| counts(line));
            // Go announces each test that begins.
            if !line.trim_start().starts_with("=== ") {
                anstream::println!("{line}");
            }
        })?;
        let ran_none = self.counts.is_some() && tally == Tally::default();
        if success && ran_none {
            anstream::eprintln!("{}: no tests were counted", self.name);
        }
        if tally.failed == 0 && (!success || ran_none) {
            tally.failed = 1;
        }
        Ok(tally)
    }
}

/// Announces the next step.
pub(crate) fn announce(name: &str) {
    anstream::eprintln!("==> {name}");
}

#[cfg(test)]
mod tests {
    use super::super::tally::{cargo_line, go_line, playwright_line, vitest_line};
    use super::*;

    #[test]
    fn a_failure_counts_once() {
        let table: [(Option<Counts>, &str, (usize, usize)); 15] = [
            (None, "exit 0", (0, 0)),
            (None, "exit 1", (0, 1)),
            (
                Some(cargo_line),
                "echo 'test result: ok. 2 passed; 0 failed; 0 ignored'",
                (2, 0),
            ),
            (
                Some(cargo_line),
                "echo 'test result: FAILED. 2 passed; 3 failed; 0 ignored'; exit 101",
                (2, 3),
            ),
            (
                Some(cargo_line),
                "echo 'test result: ok. 2 passed; 0 failed; 0 ignored'; exit 101",
                (2, 1),
            ),
            (
                Some(go_line),
                "echo 'go: cannot find module'; exit 1",
                (0, 1),
            ),
            (Some(cargo_line), "exit 0", (0, 1)),
            (
                Some(cargo_line),
                "echo 'test result: ok. 0 passed; 0 failed; 0 ignored; 4 filtered out'",
                (0, 1),
            ),
            (
                Some(cargo_line),
                "echo 'test result: ok. 0 passed; 0 failed; 3 ignored'",
                (0, 0),
            ),
            (Some(go_line), "echo 'ok  p 0.1s [no tests to run]'", (0, 1)),
            (
                Some(vitest_line),
                "echo ' Tests  written in another way'",
                (0, 1),
            ),
            (
                Some(vitest_line),
                "echo '      Tests  2 passed (2)'",
                (2, 0),
            ),
            (Some(playwright_line), "echo 'Running 0 tests'", (0, 1)),
            (Some(playwright_line), "echo '  1 skipped'", (0, 0)),
            (None, r#"exit "$CODE_OF_A_TEST""#, (0, 1)),
        ];
        for (counts, script, expected) in table {
            let mut step = Step::new("xtask", "sh -c", counts);
            step.command.arg(script);
            let tally = step.run(&[("CODE_OF_A_TEST", "9".into())]).unwrap();
            assert_eq!((tally.passed, tally.failed), expected, "{script}");
        }
    }
}
