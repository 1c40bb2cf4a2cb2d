//! Counts of tests, read from what cargo, go and the front end's test runners print.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

use serde_json::Value;

/// How many tests ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl Tally {
    /// Reads a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; …`, which every
    /// test program of cargo ends with; `None` for any other line.
    pub(crate) fn from_cargo_line(line: &str) -> Option<Tally> {
        let (_, counts) = line
            .trim()
            .strip_prefix("test result: ")?
            .split_once(". ")?;
        let of = |what: &str| {
            counts
                .split(';')
                .find_map(|part| part.trim().strip_suffix(what)?.trim().parse().ok())
        };
        Some(Tally {
            passed: of("passed")?,
            failed: of("failed")?,
            skipped: of("ignored")?,
        })
    }

    /// Reads the line `Tests  12 passed | 1 failed | 2 skipped (15)`, with which `vitest run` ends; `None`
    /// for any other line.
    pub(crate) fn from_vitest_line(line: &str) -> Option<Tally> {
        let counts = line.trim().strip_prefix("Tests ")?;
        let (counts, _in_all) = counts.rsplit_once('(')?;
        let mut tally = Tally::default();
        for part in counts.split('|') {
            let (number, what) = part.trim().split_once(' ')?;
            *tally.of(what)? += number.parse::<usize>().ok()?;
        }
        Some(tally)
    }

    /// Reads one of the lines `12 passed (4.1s)`, `1 failed`, `1 flaky` and `2 skipped`, with which
    /// `playwright test` ends; `None` for any other line. What passed only when it was tried again
    /// has failed.
    pub(crate) fn from_playwright_line(line: &str) -> Option<Tally> {
        let mut words = line.split_whitespace();
        let number = words.next()?.parse::<usize>().ok()?;
        let what = words.next()?;
        if words.next().is_some_and(|word| !word.starts_with('(')) {
            return None;
        }
        let mut tally = Tally::default();
        *tally.of(what)? = number;
        Some(tally)
    }

    fn of(&mut self, what: &str) -> Option<&mut usize> {
        match what {
            "passed" => Some(&mut self.passed),
            "failed" | "flaky" | "interrupted" => Some(&mut self.failed),
            "skipped" | "todo" => Some(&mut self.skipped),
            _ => None,
        }
    }

    /// Counts tests that ran without what they were to try as skipped instead of passed.
    pub(crate) fn move_to_skipped(&mut self, tests: usize) {
        self.passed = self.passed.saturating_sub(tests);
        self.skipped += tests;
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} passed, {} failed, {} skipped",
            self.passed, self.failed, self.skipped
        )
    }
}

/// The events of `go test -json`, one a line.
#[derive(Default)]
pub(crate) struct GoEvents {
    /// How each test ended, by package and name.
    ends: BTreeMap<(String, String), GoEnd>,
}

#[derive(Clone, Copy)]
enum GoEnd {
    Passed,
    Failed,
    Skipped,
}

impl GoEvents {
    /// Takes in a line and returns what of it a person wants to see. A line that is no event,
    /// such as a complaint of the toolchain, is shown as it is.
    pub(crate) fn take(&mut self, line: &str) -> Option<String> {
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            return Some(line.to_owned());
        };
        let text = |key: &str| event[key].as_str().unwrap_or_default();
        let end = match text("Action") {
            "pass" => GoEnd::Passed,
            "fail" => GoEnd::Failed,
            "skip" => GoEnd::Skipped,
            "output" | "build-output" => {
                let output = text("Output").trim_end_matches('\n');
                return (!output.starts_with("=== ")).then(|| output.to_owned());
            }
            _ => return None,
        };
        // An end without a test is that of the package.
        if !text("Test").is_empty() {
            self.ends
                .insert((text("Package").to_owned(), text("Test").to_owned()), end);
        }
        None
    }

    /// Counts the leaves: a test that only holds others is not one more.
    pub(crate) fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for ((package, test), end) in &self.ends {
            let prefix = format!("{test}/");
            if self
                .ends
                .keys()
                .any(|(p, t)| p == package && t.starts_with(&prefix))
            {
                continue;
            }
            match end {
                GoEnd::Passed => tally.passed += 1,
                GoEnd::Failed => tally.failed += 1,
                GoEnd::Skipped => tally.skipped += 1,
            }
        }
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(passed: usize, failed: usize, skipped: usize) -> Tally {
        Tally {
            passed,
            failed,
            skipped,
        }
    }

    #[test]
    fn results_of_cargo() {
        let table = [
            (
                "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.02s",
                Some(tally(12, 0, 1)),
            ),
            (
                "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
                Some(tally(3, 2, 0)),
            ),
            ("test tests::results_of_cargo ... ok", None),
            ("test result: unheard of", None),
            ("running 3 tests", None),
            ("", None),
        ];
        for (line, expected) in table {
            assert_eq!(Tally::from_cargo_line(line), expected, "{line}");
        }
    }

    #[test]
    fn summaries_of_vitest_and_playwright() {
        let vitest = [
            ("      Tests  12 passed (12)", Some(tally(12, 0, 0))),
            (
                "      Tests  1 failed | 3 passed | 2 skipped (6)",
                Some(tally(3, 1, 2)),
            ),
            (" Test Files  2 passed (2)", None),
            ("   Duration  1.2s (transform 1ms)", None),
        ];
        for (line, expected) in vitest {
            assert_eq!(Tally::from_vitest_line(line), expected, "{line}");
        }
        let playwright = [
            ("  12 passed (4.1s)", Some(tally(12, 0, 0))),
            ("  1 failed", Some(tally(0, 1, 0))),
            ("  1 flaky", Some(tally(0, 1, 0))),
            ("  2 skipped", Some(tally(0, 0, 2))),
            ("  3 did not run", None),
            ("  2 passed tests were slow", None),
            ("Running 14 tests using 1 worker", None),
        ];
        for (line, expected) in playwright {
            assert_eq!(Tally::from_playwright_line(line), expected, "{line}");
        }
    }

    #[test]
    fn skips_leave_the_passed() {
        let mut counted = tally(10, 1, 2);
        counted.move_to_skipped(3);
        assert_eq!(counted, tally(7, 1, 5));
        assert_eq!(counted.to_string(), "7 passed, 1 failed, 5 skipped");
    }

    #[test]
    fn events_of_go() {
        let lines = [
            (r#"{"Action":"run","Package":"p","Test":"TestA"}"#, None),
            (
                r#"{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}"#,
                None,
            ),
            (
                r#"{"Action":"output","Package":"p","Test":"TestA","Output":"    a.go:1: lost\n"}"#,
                Some("    a.go:1: lost"),
            ),
            (
                r#"{"Action":"fail","Package":"p","Test":"TestA/one"}"#,
                None,
            ),
            (
                r#"{"Action":"pass","Package":"p","Test":"TestA/two"}"#,
                None,
            ),
            (r#"{"Action":"fail","Package":"p","Test":"TestA"}"#, None),
            (r#"{"Action":"pass","Package":"q","Test":"TestA"}"#, None),
            (r#"{"Action":"skip","Package":"q","Test":"TestAB"}"#, None),
            (r#"{"Action":"fail","Package":"p"}"#, None),
            (
                r#"{"Action":"build-output","ImportPath":"p","Output":"x undefined\n"}"#,
                Some("x undefined"),
            ),
            ("go: no module", Some("go: no module")),
        ];
        let mut events = GoEvents::default();
        for (line, shown) in lines {
            assert_eq!(events.take(line).as_deref(), shown, "{line}");
        }
        // p: the two under TestA, not TestA itself; q: both, for neither holds the other.
        assert_eq!(events.tally(), tally(2, 1, 1));
    }
}
