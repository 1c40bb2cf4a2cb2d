//! `cargo xtask bench page`: time to write the page of a large run, to open it, and to list many
//! runs.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};

use super::median::{Median, median};
use super::{Example, preface};
use crate::{command, web, workspace};

/// The size of the run: arms, and windows of each.
const ARMS: &str = "36";
const WINDOWS: &str = "5000";
/// How often each is repeated.
const TIMES: usize = 7;

const LONG_RUN: Example = Example {
    package: "windage-analysis",
    name: "long_run",
};
const SHOWCASE: Example = Example {
    package: "windage-record",
    name: "showcase",
};
const THOUSAND_RUNS: Example = Example {
    package: "windage-serve",
    name: "thousand_runs",
};
/// The examples that it runs.
#[cfg(test)]
pub(super) const EXAMPLES: &[Example] = &[LONG_RUN, SHOWCASE, THOUSAND_RUNS];

pub(super) fn run() -> Result<ExitCode> {
    preface("page")?;
    let windage = workspace::build("crates/windage", "windage")?;
    let folder = tempfile::tempdir().context("make a folder for the run")?;
    let (run, page) = (folder.path().join("run"), folder.path().join("page.html"));
    let windows = [run.as_os_str(), ARMS.as_ref(), WINDOWS.as_ref()];
    command::run(LONG_RUN.command().arg("make").args(windows))?;

    let mut seconds = Vec::new();
    for _ in 0..TIMES {
        seconds.push(written(&windage, &run, &page)?);
    }
    let bytes = fs::metadata(&page).context("look at the page")?.len();
    print_row("page of a run, s", median(seconds), 3)?;
    print_row("size, MB", median([bytes as f64 / 1e6]), 3)?;
    print_row("until usable, ms", median(opened(&page)?), 0)?;

    let runs = folder.path().join("runs");
    command::run(SHOWCASE.command().arg(&runs))?;
    let of_many = runs.join("20260113-090000-agents");
    command::run(THOUSAND_RUNS.command().arg(of_many))?;
    Ok(ExitCode::SUCCESS)
}

/// Seconds taken to write the page.
fn written(windage: &Path, run: &Path, page: &Path) -> Result<f64> {
    let began = Instant::now();
    command::run(
        Command::new(windage)
            .arg("report")
            .arg(run)
            .args(["--format", "html", "--output"])
            .arg(page),
    )?;
    Ok(began.elapsed().as_secs_f64())
}

/// Milliseconds from the navigation until the page is usable, each in a new browser.
fn opened(page: &Path) -> Result<Vec<f64>> {
    web::install()?;
    let mut node = Command::new("node");
    node.arg("tests/ready.mjs")
        .arg(page)
        .arg(TIMES.to_string())
        .current_dir(web::folder())
        .stdin(Stdio::null());
    let printed = command::output(&mut node)?;
    let times = printed.split_whitespace().map(str::parse);
    times
        .collect::<Result<_, _>>()
        .with_context(|| format!("tests/ready.mjs printed {printed:?}"))
}

fn print_row(what: &str, found: Option<Median>, places: usize) -> Result<()> {
    let found = found.map(|median| median.show(|figure| format!("{figure:.places$}")));
    let mut out = std::io::stdout().lock();
    writeln!(out, "{what:<34} {}", found.unwrap_or_default())?;
    Ok(())
}
