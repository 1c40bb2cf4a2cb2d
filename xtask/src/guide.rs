//! `cargo xtask guide`: follows pages of the guide word by word, as a new user would, and looks
//! whether each gives a useful answer in time.

use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use windage_analysis::{Analysis, of_run_directory};
use windage_model::{Metric, Role, Soundness};
use windage_record::RunDir;

use crate::{command, machine, workspace};

/// An answer must be there after this much measuring, in seconds.
const MEASURING_S: f64 = 180.0;
/// The interval of a cost above this share must exclude zero.
const CLEAR: f64 = 0.05;
/// What marks a block of a page that is followed: the second word after its fence. The third is the
/// name of a file that has this text.
const MARK: &str = "followed";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where to write the page [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// A page, and where its commands run.
struct Task {
    page: &'static str,
    folder: Folder,
}

#[derive(Clone, Copy)]
enum Folder {
    /// The checkout, whose experiments the page runs.
    Checkout,
    /// A new one.
    Empty,
}

const TASKS: [Task; 3] = [
    Task {
        page: "configuration.md",
        folder: Folder::Checkout,
    },
    Task {
        page: "sdk.md",
        folder: Folder::Checkout,
    },
    Task {
        page: "running.md",
        folder: Folder::Empty,
    },
];

/// A block of a page that is followed.
#[derive(Debug, PartialEq)]
enum Step<'p> {
    File { name: &'p str, text: String },
    Commands(Vec<&'p str>),
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let windage = workspace::build("crates/windage", "windage")?;
    let mut page = format!(
        "# The guide, followed word by word\n\n- Date: {}\n- Command: `cargo xtask guide`\n- Machine: {}\n- Versions: {}\n\n\
         | page | arm | CPU per request | 95 % interval | measured | useful |\n|---|---|---:|---:|---:|---|\n",
        machine::today()?,
        machine::in_words()?,
        machine::versions()?,
    );
    let mut all_useful = true;
    for task in &TASKS {
        anstream::eprintln!("==> docs/guide/{}", task.page);
        let found = task.follow(&windage)?;
        all_useful &= row(&mut page, task.page, &found)?;
    }
    match &args.out {
        Some(file) => {
            fs::write(file, page).with_context(|| format!("write {}", file.display()))?;
        }
        None => anstream::print!("{page}"),
    }
    Ok(ExitCode::from(u8::from(!all_useful)))
}

impl Task {
    fn text(&self) -> Result<String> {
        let path = workspace::root().join("docs/guide").join(self.page);
        fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
    }

    /// Follows the page, and analyses the one run that it makes.
    fn follow(&self, windage: &Path) -> Result<Analysis> {
        let text = self.text()?;
        let empty = tempfile::tempdir().context("make a temporary folder")?;
        let folder = match self.folder {
            Folder::Checkout => workspace::root(),
            Folder::Empty => empty.path(),
        };
        let before = runs(folder)?;
        let mut path = windage.parent().unwrap_or(windage).as_os_str().to_owned();
        path.push(":");
        path.push(env::var_os("PATH").unwrap_or_default());
        for step in steps(&text) {
            match step {
                Step::File { name, text } => fs::write(folder.join(name), text)
                    .with_context(|| format!("write {name} of {}", self.page))?,
                Step::Commands(lines) => {
                    let mut bash = Command::new("bash");
                    bash.args(["-euxc", &lines.join("\n")]);
                    command::run(bash.current_dir(folder).env("PATH", &path))?;
                }
            }
        }
        let mut made: Vec<PathBuf> = runs(folder)?.difference(&before).cloned().collect();
        let (Some(run), true) = (made.pop(), made.is_empty()) else {
            bail!("{} has not made one run", self.page);
        };
        let run = RunDir::open(&run).with_context(|| format!("open {}", run.display()))?;
        Ok(of_run_directory(&run)?)
    }
}

/// The runs of a folder.
fn runs(folder: &Path) -> Result<BTreeSet<PathBuf>> {
    let folder = folder.join("windage-runs");
    if !folder.exists() {
        return Ok(BTreeSet::new());
    }
    let entries = fs::read_dir(&folder).with_context(|| format!("read {}", folder.display()))?;
    let paths = entries.map(|entry| Ok(entry?.path()));
    paths.collect()
}

/// The blocks of a page that are followed, in order.
fn steps(page: &str) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(fence) = line.strip_prefix("```") else {
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let mut words = fence.split_whitespace().skip(1);
        if words.next() != Some(MARK) {
            continue;
        }
        steps.push(match words.next() {
            Some(name) => Step::File {
                name,
                text: block.join("\n") + "\n",
            },
            None => Step::Commands(
                block
                    .iter()
                    .filter_map(|line| line.strip_prefix("$ "))
                    .collect(),
            ),
        });
    }
    steps
}

/// Adds what a page's run found; returns whether that is useful: all treatments cost, as is known
/// of them, and clearly so where it is much.
fn row(page: &mut String, name: &str, found: &Analysis) -> Result<bool> {
    let turns_s = found.design.turns.map_or(0.0, |turns| turns.measured_s);
    let measured_s = found.design.measured_s + turns_s;
    let holds = found.validity.soundness() != Soundness::Void && measured_s <= MEASURING_S;
    let mut all_useful = true;
    for arm in found.arms.iter().filter(|arm| arm.role == Role::Treatment) {
        let metric = arm.metrics.get(&Metric::CpuPerRequest);
        let difference = metric.and_then(|metric| metric.difference.as_ref().ok());
        let share = difference
            .and_then(|of| of.relative)
            .with_context(|| format!("{name}: `{}` has no figure", arm.name))?;
        let is_clear = share.low > 0.0 || share.estimate <= CLEAR;
        let useful = holds && share.estimate > 0.0 && is_clear;
        all_useful &= useful;
        writeln!(
            page,
            "| [{name}](../../docs/guide/{name}) | {} | {:+.1} % | {:+.1} to {:+.1} % | {measured_s:.0} s | {} |",
            arm.name,
            share.estimate * 100.0,
            share.low * 100.0,
            share.high * 100.0,
            if useful { "yes" } else { "no" },
        )?;
    }
    Ok(all_useful)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_are_marked_are_steps() {
        let page = "# A page\n```toml followed plan.toml\na = 1\n\nb = 2\n```\ntext\n```console\n$ not this\n```\n\
                    ```console followed\n$ first  # says why\nits output\n$ second\n```\n";
        let expected = [
            Step::File {
                name: "plan.toml",
                text: "a = 1\n\nb = 2\n".to_owned(),
            },
            Step::Commands(vec!["first  # says why", "second"]),
        ];
        assert_eq!(steps(page), expected);
    }

    #[test]
    fn every_page_measures_once() {
        for task in &TASKS {
            let text = task.text().unwrap();
            let runs = steps(&text).into_iter().flat_map(|step| match step {
                Step::Commands(lines) => lines,
                Step::File { .. } => Vec::new(),
            });
            let runs = runs.filter(|line| line.starts_with("windage run"));
            assert_eq!(runs.count(), 1, "{}", task.page);
        }
    }
}
