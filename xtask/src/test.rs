//! `cargo xtask test`: everything that has to hold, ending in one line that counts it.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::{debian, web, workspace};

pub(crate) mod provision;
mod skips;
mod step;
mod tally;

use skips::Skips;
use step::{Counts, Step};
use tally::Tally;

/// Go modules that are built without OpenTelemetry as well, for agents to watch.
const BUILT_PLAIN: &[&str] = &["subjects/go-http", "subjects/shop/go"];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only what needs nothing but Rust: no installing, no real services, no Go
    #[arg(long)]
    quick: bool,
}

/// Runs every step, whatever became of the others, and prints
/// `N passed, N failed, N skipped` as the last line.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut report = Report::default();
    let skips = Skips::create().map_err(|error| report.fail("the list of skips", &error));
    let mut environment: Vec<_> = skips.iter().map(Skips::variable).collect();
    environment.push(("PATH", debian::path()));

    if !args.quick {
        let provided = provision::provide(|name, error| report.fail(name, error));
        environment.extend(provided.variables);
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

fn steps(quick: bool) -> Result<Vec<Step>> {
    let real_parts = workspace::real_parts(&workspace::metadata()?);
    let mut steps = Vec::from(rust(&real_parts, quick));
    if !quick {
        steps.push(fuzz_targets());
        for subject in workspace::subjects_with("main.go")? {
            steps.extend(go(&subject, ""));
        }
        for subject in BUILT_PLAIN {
            steps.extend(go(&workspace::root().join(subject), "plain"));
        }
        steps.extend(go(&workspace::root().join("subjects/receivers/go"), ""));
        // The exporters are tested by the receivers that they send to.
        let [vet, _] = go(&workspace::root().join("subjects/exporters/go"), "");
        steps.push(vet);
        steps.extend(shop());
        steps.extend(page());
    }
    Ok(steps)
}

/// Fuzz targets are a workspace of their own, which nothing else here would compile.
fn fuzz_targets() -> Step {
    let root = workspace::root();
    let mut check = workspace::cargo();
    check
        .args(["check", "--locked", "--all-targets", "--manifest-path"])
        .arg(root.join("fuzz/Cargo.toml"))
        .arg("--target-dir")
        .arg(root.join("target/fuzz"))
        // Nothing is linked, so that libFuzzer need not be compiled.
        .env("CUSTOM_LIBFUZZER_PATH", root.join("target/libfuzzer.a"));
    Step::new("fuzz targets", check, Counts::Nothing)
}

/// The shop's services by themselves, and all of them together.
fn shop() -> Vec<Step> {
    let folder = workspace::root().join("subjects/shop");
    let mut recommendations = Command::new("python3");
    recommendations
        .args(["-m", "unittest"])
        .current_dir(folder.join("recommendations"));
    let mut together = Command::new("python3");
    together.arg(folder.join("shop.py")).arg("--check");
    let mut steps = Vec::from(go(&folder.join("go"), ""));
    steps.push(Step::new(
        "tests of the shop's recommendations",
        recommendations,
        Counts::Nothing,
    ));
    steps.push(Step::new(
        "a way through the shop",
        together,
        Counts::Nothing,
    ));
    steps
}

/// The front end: its types, that the binary embeds what the sources build, its own tests, and the page in a
/// browser.
fn page() -> [Step; 5] {
    let mut embedded = workspace::cargo();
    embedded.args(["xtask", "web", "--check"]);
    [
        Step::new(
            "types of the front end",
            web::npx(&["tsc", "--noEmit"]),
            Counts::Nothing,
        ),
        Step::new(
            "types of its browser tests",
            web::npx(&["tsc", "--noEmit", "--project", "tests"]),
            Counts::Nothing,
        ),
        Step::new("the front end as it is embedded", embedded, Counts::Nothing),
        Step::new(
            "tests of the front end",
            web::npx(&["vitest", "run"]),
            Counts::Vitest,
        ),
        Step::new(
            "the page in a browser",
            web::npx(&["playwright", "test"]),
            Counts::Playwright,
        ),
    ]
}

/// What needs only Rust. The tests with real parts are left out of a quick run, but never its
/// lints: reading them needs no service.
fn rust(real_parts: &[String], quick: bool) -> [Step; 3] {
    let mut format = workspace::cargo();
    format.args(["fmt", "--all", "--check"]);

    let mut lint = workspace::cargo();
    lint.args(["clippy", "--workspace", "--all-targets"]);
    with_features(&mut lint, real_parts);
    lint.args(["--", "-D", "warnings"]);

    let mut tests = workspace::cargo();
    tests.args(["test", "--workspace", "--no-fail-fast"]);
    if !quick {
        with_features(&mut tests, real_parts);
    }
    [
        Step::new("formatting", format, Counts::Nothing),
        Step::new("lints", lint, Counts::Nothing),
        Step::new("tests of the workspace", tests, Counts::CargoTests),
    ]
}

/// A module by itself, with a build tag or none (`""`).
fn go(subject: &Path, tag: &str) -> [Step; 2] {
    let mut name = subject
        .strip_prefix(workspace::root())
        .unwrap_or(subject)
        .display()
        .to_string();
    if !tag.is_empty() {
        name.push_str(&format!(" with the tag {tag}"));
    }
    let mut vet = Command::new("go");
    vet.args(["vet", "-tags", tag, "./..."])
        .current_dir(subject);
    // Never from Go's cache of results: a test that talks over sockets has inputs it can't see.
    let mut tests = Command::new("go");
    tests
        .args(["test", "-tags", tag, "-json", "-count=1", "./..."])
        .current_dir(subject);
    [
        Step::new(format!("go vet of {name}"), vet, Counts::Nothing),
        Step::new(format!("tests of {name}"), tests, Counts::GoTests),
    ]
}

fn with_features(cargo: &mut Command, features: &[String]) {
    if !features.is_empty() {
        cargo.arg("--features").arg(features.join(","));
    }
}

/// What became of all steps.
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

    /// Tests that found a part missing ended well for cargo; they proved nothing.
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
    use crate::command;

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
    fn only_the_tests_of_a_quick_run_leave_the_real_parts_out() {
        let asks = |step: &Step| {
            command::line(&step.command).contains("--features a/real-parts,b/real-parts")
        };
        let features = ["a/real-parts".to_owned(), "b/real-parts".to_owned()];
        assert_eq!(
            rust(&features, false).each_ref().map(asks),
            [false, true, true]
        );
        assert_eq!(
            rust(&features, true).each_ref().map(asks),
            [false, true, false]
        );
        assert!(
            !rust(&[], false)
                .iter()
                .any(|step| command::line(&step.command).contains("--features"))
        );
    }
}
