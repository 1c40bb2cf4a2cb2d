//! `cargo xtask test`: every check, with a last line that counts them.

use std::process::ExitCode;

use anyhow::Result;

use crate::{debian, workspace};

pub(crate) mod provision;
mod skips;
mod step;
mod tally;

use skips::Skips;
use step::Step;
use tally::{Counts, Tally, cargo_line, go_line, playwright_line, vitest_line};

/// Go modules that are also built without OpenTelemetry, for agents to watch.
const BUILT_PLAIN: &[&str] = &["subjects/go-http", "subjects/shop/go"];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only checks that need nothing but Rust: no installing, no real services, no Go
    #[arg(long)]
    quick: bool,
}

/// Runs every step, even if others failed, and prints `N passed, N failed, N skipped` as the last
/// line.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut report = Report::default();
    let skips = Skips::create().map_err(|error| report.fail("the list of skips", &error));
    let mut environment: Vec<_> = skips.iter().map(Skips::variable).collect();
    environment.push(("PATH", debian::path()));

    if !args.quick {
        environment.extend(provision::provide(|name, error| report.fail(name, error)));
    }
    let steps = steps(args.quick).unwrap_or_else(|error| {
        report.fail("finding the steps", &error);
        Vec::new()
    });
    for mut step in steps {
        let name = step.name.clone();
        match step.run(&environment) {
            Ok(tally) => report.add(&name, tally),
            Err(error) => report.fail(&name, &error),
        }
    }
    if let Ok(skips) = &skips {
        match skips.read() {
            Ok(skipped) => report.skip(&skipped),
            Err(error) => report.fail("the list of skips", &error),
        }
    }
    Ok(report.close())
}

/// The steps of a full run other than Rust's and Go's: folder, command, and how its tests are
/// counted.
const OTHERS: &[(&str, &str, Option<Counts>)] = &[
    ("", "cargo xtask deny", None),
    (
        "",
        "go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.7 -shellcheck= docs/guide/github.yml",
        None,
    ),
    ("subjects/shop/recommendations", "python3 -m unittest", None),
    // Reads recorded runs with the program that Rust's tests have built.
    ("python", "sh test.sh", None),
    ("subjects/shop", "python3 shop.py --check", None),
    ("web", "npx --no-install tsc --noEmit", None),
    ("web", "npx --no-install tsc --noEmit --project tests", None),
    ("", "cargo xtask web --check", None),
    ("web", "npx --no-install vitest run", Some(vitest_line)),
    (
        "web",
        "npx --no-install playwright test",
        Some(playwright_line),
    ),
];

fn steps(quick: bool) -> Result<Vec<Step>> {
    let mut steps = rust(&workspace::real_parts(&workspace::metadata()?), quick);
    if quick {
        return Ok(steps);
    }
    // Fuzz targets are a workspace of their own, which no other step compiles.
    let fuzz = "cargo check --locked --all-targets --manifest-path fuzz/Cargo.toml --target-dir target/fuzz";
    let mut fuzz = Step::new("", fuzz, None);
    // Nothing is linked, so libFuzzer need not be compiled.
    let library = workspace::root().join("target/libfuzzer.a");
    fuzz.command.env("CUSTOM_LIBFUZZER_PATH", library);
    steps.push(fuzz);
    for subject in workspace::subjects_with("main.go")? {
        let name = subject.file_name().unwrap_or_default().to_string_lossy();
        steps.extend(go(&format!("subjects/{name}"), ""));
    }
    for subject in BUILT_PLAIN {
        steps.extend(go(subject, " -tags plain"));
    }
    steps.extend(go("subjects/receivers/go", ""));
    // The exporters are tested by the receivers that they send to.
    let [vet, _] = go("subjects/exporters/go", "");
    steps.push(vet);
    steps.extend(go("subjects/shop/go", ""));
    let others = OTHERS.iter();
    steps.extend(others.map(|(folder, line, counts)| Step::new(folder, line, *counts)));
    Ok(steps)
}

/// The steps that need only Rust. A quick run leaves out the real-parts tests, but not their lints,
/// which need no service.
fn rust(real_parts: &[String], quick: bool) -> Vec<Step> {
    let features = match real_parts {
        [] => String::new(),
        features => format!(" --features {}", features.join(",")),
    };
    let lint = format!("cargo clippy --locked --workspace --all-targets{features} -- -D warnings");
    let tested = if quick { "" } else { &features };
    let tests = format!("cargo test --locked --workspace --no-fail-fast{tested}");
    vec![
        Step::new("", "cargo fmt --all --check", None),
        Step::new("", &lint, None),
        Step::new("", &tests, Some(cargo_line)),
    ]
}

/// A module, with a build tag or none (`""`). Go's cache of test results is not used: it can't see
/// the inputs of a test that uses sockets.
fn go(folder: &str, tags: &str) -> [Step; 2] {
    let tests = format!("go test{tags} -v -count=1 ./...");
    [
        Step::new(folder, &format!("go vet{tags} ./..."), None),
        Step::new(folder, &tests, Some(go_line)),
    ]
}

/// The results of all steps.
#[derive(Default)]
struct Report {
    tally: Tally,
    failures: Vec<String>,
}

impl Report {
    fn add(&mut self, name: &str, tally: Tally) {
        if tally.failed > 0 {
            self.failures.push(format!("{name}: {tally}"));
        }
        self.tally += tally;
    }

    fn fail(&mut self, name: &str, error: &anyhow::Error) {
        anstream::eprintln!("{error:#}");
        self.failures.push(format!("{name}: {error:#}"));
        self.tally.failed += 1;
    }

    /// Cargo counts skipped tests as passed; they are moved.
    fn skip(&mut self, reasons: &[String]) {
        for reason in reasons {
            anstream::println!("skipped: {reason}");
        }
        self.tally.move_to_skipped(reasons.len());
    }

    fn close(self) -> ExitCode {
        for failure in &self.failures {
            anstream::println!("failed: {failure}");
        }
        anstream::println!("{}", self.tally);
        if self.tally.failed == 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_tests_do_not_count_as_passed() {
        let mut report = Report::default();
        report.add(
            "fine",
            Tally {
                passed: 5,
                failed: 0,
                skipped: 1,
            },
        );
        report.skip(&["a: not root".to_owned()]);
        assert_eq!(report.tally.to_string(), "4 passed, 0 failed, 2 skipped");
        assert!(report.failures.is_empty());
        report.add(
            "broken",
            Tally {
                passed: 1,
                failed: 2,
                skipped: 0,
            },
        );
        report.fail("missing", &anyhow::anyhow!("no such program"));
        assert_eq!(report.tally.to_string(), "5 passed, 3 failed, 2 skipped");
        assert_eq!(report.failures.len(), 2);
    }

    #[test]
    fn only_the_tests_of_a_quick_run_omit_real_parts() {
        let asks = |real_parts: &[String], quick| {
            let steps = rust(real_parts, quick).into_iter();
            let asks =
                steps.map(|step| step.name.contains(" --features a/real-parts,b/real-parts"));
            asks.collect::<Vec<_>>()
        };
        let features = ["a/real-parts".to_owned(), "b/real-parts".to_owned()];
        assert_eq!(asks(&features, false), [false, true, true]);
        assert_eq!(asks(&features, true), [false, true, false]);
        assert!(
            rust(&[], false)
                .iter()
                .all(|step| !step.name.contains("--features"))
        );
    }

    #[test]
    fn every_step_has_its_folder() {
        let others = OTHERS.iter().map(|(folder, ..)| folder);
        for folder in others.chain(BUILT_PLAIN) {
            assert!(workspace::root().join(folder).is_dir(), "{folder}");
        }
    }
}
