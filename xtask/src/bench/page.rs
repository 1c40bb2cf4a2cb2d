//! `cargo xtask bench page`: what it takes to write the page of a large run, to open it, and to list many runs.
//!
//! The page is written of the run as `windage run` leaves it, with what was gathered of its histograms
//! while it went on; and, apart from that, of the same directory without that file, as a run that was
//! killed or an earlier version leaves it: then the histograms have to be unpacked.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};

use super::build::build;
use super::median::{Median, median};
use super::{Example, preface};
use crate::{command, web, workspace};

/// What a page has to bear: so many arms, and windows of each.
const ARMS: &str = "36";
const WINDOWS: &str = "5000";
/// How often each is done.
const TIMES: usize = 7;
/// What a long run leaves of its histograms, and a report where it finds none.
const GATHERED: &str = "quantiles.bin";

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
/// All that it runs.
#[cfg(test)]
pub(super) const EXAMPLES: &[Example] = &[LONG_RUN, SHOWCASE, THOUSAND_RUNS];

pub(super) fn run() -> Result<ExitCode> {
    preface("page")?;
    let windage = build(&workspace::root().join("Cargo.toml"), "windage")?;
    let folder = tempfile::tempdir().context("make a folder for the run")?;
    let (run, page) = (folder.path().join("run"), folder.path().join("page.html"));
    let windows = [run.as_os_str(), ARMS.as_ref(), WINDOWS.as_ref()];
    command::run(LONG_RUN.command().arg("make").args(windows))?;

    let gathered = Gathered::of(&run, folder.path())?;
    let mut as_left = Vec::new();
    let mut without = Vec::new();
    for _ in 0..TIMES {
        gathered.put_back()?;
        as_left.push(written(&windage, &run, &page)?);
        gathered.remove()?;
        without.push(written(&windage, &run, &page)?);
    }
    let bytes = fs::metadata(&page).context("look at the page")?.len();
    told("page of a run as it ended, s", median(as_left), 3)?;
    told(
        &format!("the same without {GATHERED}, s"),
        median(without),
        3,
    )?;
    told("size, MB", median([bytes as f64 / 1e6]), 3)?;
    told("until it can be used, ms", median(opened(&page)?), 0)?;

    let runs = folder.path().join("runs");
    command::run(SHOWCASE.command().arg(&runs))?;
    let of_many = runs.join("20260113-090000-agents");
    command::run(THOUSAND_RUNS.command().arg(of_many))?;
    Ok(ExitCode::SUCCESS)
}

/// The file of what was gathered in a run's directory, and a copy of it as the run left it.
struct Gathered {
    of_run: PathBuf,
    copy: PathBuf,
}

impl Gathered {
    fn of(run: &Path, folder: &Path) -> Result<Gathered> {
        let gathered = Gathered {
            of_run: run.join(GATHERED),
            copy: folder.join(GATHERED),
        };
        fs::copy(&gathered.of_run, &gathered.copy)
            .with_context(|| format!("`long_run` left no {}", gathered.of_run.display()))?;
        Ok(gathered)
    }

    /// As the run left it.
    fn put_back(&self) -> Result<()> {
        fs::copy(&self.copy, &self.of_run)
            .with_context(|| format!("write {}", self.of_run.display()))?;
        Ok(())
    }

    /// As in a copy of the run, or one of an earlier version.
    fn remove(&self) -> Result<()> {
        fs::remove_file(&self.of_run).with_context(|| format!("remove {}", self.of_run.display()))
    }
}

/// Seconds that writing the page took.
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

/// Milliseconds from the navigation until the page can be used, each in a browser of its own.
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

fn told(what: &str, found: Option<Median>, places: usize) -> Result<()> {
    let found = found.map(|median| median.show(|figure| format!("{figure:.places$}")));
    let mut out = std::io::stdout().lock();
    writeln!(out, "{what:<34} {}", found.unwrap_or_default())?;
    Ok(())
}
