//! Counts of tests, read from the output of cargo, go and the front end's test runners.

use std::fmt;
use std::ops::AddAssign;

/// How many tests had which result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl Tally {
    fn of(&mut self, what: &str) -> Option<&mut usize> {
        match what {
            "passed" => Some(&mut self.passed),
            "failed" | "flaky" | "interrupted" => Some(&mut self.failed),
            "skipped" | "ignored" | "todo" => Some(&mut self.skipped),
            _ => None,
        }
    }

    /// Counts that many passed tests as skipped, because they lacked what they test.
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

/// How many tests a line of a command's output reports.
pub(crate) type Counts = fn(&str) -> Tally;

/// `test result: ok. 3 passed; 0 failed; 1 ignored; …`, the last line of each of cargo's test
/// programs.
pub(crate) fn cargo_line(line: &str) -> Tally {
    line.trim()
        .strip_prefix("test result: ")
        .map_or(Tally::default(), pairs)
}

/// `Tests  12 passed | 1 failed | 2 skipped (15)`, the last line of `vitest run`.
pub(crate) fn vitest_line(line: &str) -> Tally {
    line.trim()
        .strip_prefix("Tests ")
        .map_or(Tally::default(), pairs)
}

/// `12 passed (4.1s)`, `1 failed`, `1 flaky` and `2 skipped`, one line each, at the end of
/// `playwright test`. A test that passed only on a retry has failed.
pub(crate) fn playwright_line(line: &str) -> Tally {
    match line.split_whitespace().nth(2) {
        Some(word) if !word.starts_with('(') => Tally::default(),
        _ => pairs(line),
    }
}

/// `--- PASS: TestA/one (0.00s)` from `go test -v`, for each test and subtest.
pub(crate) fn go_line(line: &str) -> Tally {
    let end = line.trim_start().strip_prefix("--- ").unwrap_or_default();
    let (passed, failed, skipped) = (
        end.starts_with("PASS: "),
        end.starts_with("FAIL: "),
        end.starts_with("SKIP: "),
    );
    Tally {
        passed: passed.into(),
        failed: failed.into(),
        skipped: skipped.into(),
    }
}

/// Each number with the word after it.
fn pairs(text: &str) -> Tally {
    let mut tally = Tally::default();
    let words = text.split_whitespace();
    for (number, what) in words.clone().zip(words.skip(1)) {
        if let (Ok(number), Some(of)) = (
            number.parse::<usize>(),
            tally.of(what.trim_end_matches(';')),
        ) {
            *of += number;
        }
    }
    tally
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
    fn lines_of_test_runners() {
        let none = tally(0, 0, 0);
        let table: [(Counts, &str, Tally); 21] = [
            (
                cargo_line,
                "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.02s",
                tally(12, 0, 1),
            ),
            (
                cargo_line,
                "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
                tally(3, 2, 0),
            ),
            (cargo_line, "test tests::results_of_cargo ... ok", none),
            (cargo_line, "test result: unheard of", none),
            (cargo_line, "running 3 tests", none),
            (cargo_line, "", none),
            (vitest_line, "      Tests  12 passed (12)", tally(12, 0, 0)),
            (
                vitest_line,
                "      Tests  1 failed | 3 passed | 2 skipped (6)",
                tally(3, 1, 2),
            ),
            (vitest_line, " Test Files  2 passed (2)", none),
            (vitest_line, "   Duration  1.2s (transform 1ms)", none),
            (playwright_line, "  12 passed (4.1s)", tally(12, 0, 0)),
            (playwright_line, "  1 failed", tally(0, 1, 0)),
            (playwright_line, "  1 flaky", tally(0, 1, 0)),
            (playwright_line, "  2 skipped", tally(0, 0, 2)),
            (playwright_line, "  3 did not run", none),
            (playwright_line, "  2 passed tests were slow", none),
            (playwright_line, "Running 14 tests using 1 worker", none),
            (go_line, "--- PASS: TestA (0.01s)", tally(1, 0, 0)),
            (go_line, "    --- FAIL: TestA/one (0.00s)", tally(0, 1, 0)),
            (go_line, "--- SKIP: TestB (0.00s)", tally(0, 0, 1)),
            (go_line, "ok  \tp\t0.012s", none),
        ];
        for (counts, line, expected) in table {
            assert_eq!(counts(line), expected, "{line}");
        }
    }

    #[test]
    fn skips_leave_the_passed() {
        let mut counted = tally(10, 1, 2);
        counted.move_to_skipped(3);
        assert_eq!(counted, tally(7, 1, 5));
        assert_eq!(counted.to_string(), "7 passed, 1 failed, 5 skipped");
    }
}
