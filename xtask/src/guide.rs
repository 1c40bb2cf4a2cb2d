//! `cargo xtask guide`: follows pages of the guide word by word, as a new user would, and looks
//! whether their commands print what the pages show, and whether each gives a useful answer in time.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
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
/// Stands in a page for lines that it does not show.
const LEFT_OUT: &str = "…";
/// Stands for a word with a digit when outputs are compared: figures differ from run to run.
const FIGURE: &str = "#";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these pages, such as first.md [default: all that can be followed]
    #[arg(value_name = "PAGE")]
    pages: Vec<String>,

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

const TASKS: [Task; 4] = [
    Task {
        page: "first.md",
        folder: Folder::Empty,
    },
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
    Console(Console<'p>),
}

/// Commands, and what they print.
#[derive(Debug, Default, PartialEq)]
struct Console<'p> {
    commands: Vec<&'p str>,
    /// Lines that follow each other; between two of these pieces there may be others.
    shown: Vec<Vec<&'p str>>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let is_wanted =
        |task: &&Task| args.pages.is_empty() || args.pages.iter().any(|p| p == task.page);
    let tasks: Vec<&Task> = TASKS.iter().filter(is_wanted).collect();
    if tasks.len() < args.pages.len() {
        let pages = TASKS.map(|task| task.page).join(", ");
        bail!("pages that can be followed: {pages}");
    }
    let windage = workspace::build("crates/windage", "windage")?;
    let mut page = format!(
        "# The guide, followed word by word\n\n- Date: {}\n- Command: `cargo xtask guide`\n- Machine: {}\n- Versions: {}\n\n\
         | page | arm | CPU per request | 95 % interval | measured | useful |\n|---|---|---:|---:|---:|---|\n",
        machine::today()?,
        machine::in_words()?,
        machine::versions()?,
    );
    let mut all_useful = true;
    for task in tasks {
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
    /// Follows the page, and analyses the one run that it makes.
    fn follow(&self, windage: &Path) -> Result<Analysis> {
        let empty = tempfile::tempdir().context("make a temporary folder")?;
        let folder = match self.folder {
            Folder::Checkout => workspace::root(),
            Folder::Empty => empty.path(),
        };
        let run = follow(self.page, folder, windage, &[])?;
        let run = RunDir::open(&run).with_context(|| format!("open {}", run.display()))?;
        Ok(of_run_directory(&run)?)
    }
}

fn text_of(page: &str) -> Result<String> {
    let path = workspace::root().join("docs/guide").join(page);
    fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
}

/// Follows a page in a folder with this `windage` and these variables, and returns the one run that it makes.
pub(crate) fn follow(
    page: &str,
    folder: &Path,
    windage: &Path,
    variables: &[(&str, &OsStr)],
) -> Result<PathBuf> {
    let text = text_of(page)?;
    let before = runs(folder)?;
    let mut path = windage.parent().unwrap_or(windage).as_os_str().to_owned();
    path.push(":");
    path.push(env::var_os("PATH").unwrap_or_default());
    for step in steps(&text) {
        match step {
            Step::File { name, text } => fs::write(folder.join(name), text)
                .with_context(|| format!("write {name} of {page}"))?,
            Step::Console(console) => {
                let mut bash = Command::new("bash");
                bash.args([
                    "-euc",
                    &format!("exec 2>&1\n{}", console.commands.join("\n")),
                ]);
                bash.current_dir(folder).env("PATH", &path);
                console.follow(bash.envs(variables.iter().copied()))?;
            }
        }
    }
    let mut made: Vec<PathBuf> = runs(folder)?.difference(&before).cloned().collect();
    match (made.pop(), made.is_empty()) {
        (Some(run), true) => Ok(run),
        _ => bail!("{page} has not made one run"),
    }
}

impl Console<'_> {
    /// Runs the commands, which print what is shown.
    fn follow(&self, commands: &mut Command) -> Result<()> {
        let mut printed = String::new();
        let has_succeeded = command::stream(commands, |line| {
            anstream::eprintln!("{line}");
            printed += line;
            printed.push('\n');
        })?;
        if !has_succeeded {
            bail!("these failed:\n{}", self.commands.join("\n"));
        }
        match self.unprinted(&printed) {
            Some(piece) => bail!("the page shows what was not printed:\n{}", piece.join("\n")),
            None => Ok(()),
        }
    }

    /// The first of the shown pieces that was not printed, or not after the one before it.
    fn unprinted(&self, printed: &str) -> Option<&Vec<&str>> {
        let printed = words(printed);
        let mut rest = &printed[..];
        self.shown.iter().find(|piece| {
            let shown = piece.join("\n");
            let piece = words(&shown);
            let at = rest
                .windows(piece.len())
                .position(|part| part == piece.as_slice());
            rest = &rest[at.map_or(0, |at| at + piece.len())..];
            at.is_none()
        })
    }
}

/// The words of a text without its figures, which differ from run to run.
fn words(text: &str) -> Vec<&str> {
    let has_digit = |word: &str| word.contains(|of: char| of.is_ascii_digit());
    let words = text.split_whitespace();
    words
        .map(|word| if has_digit(word) { FIGURE } else { word })
        .collect()
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
            None => Step::Console(console(&block)),
        });
    }
    steps
}

/// Lines that begin with a prompt are commands.
fn console<'p>(block: &[&'p str]) -> Console<'p> {
    let mut console = Console::default();
    let mut goes_on = false;
    for line in block {
        let command = line.strip_prefix("$ ");
        console.commands.extend(command);
        let is_shown = command.is_none() && *line != LEFT_OUT && !line.trim().is_empty();
        match console.shown.last_mut() {
            Some(piece) if goes_on && is_shown => piece.push(line),
            _ if is_shown => console.shown.push(vec![line]),
            _ => {}
        }
        goes_on = is_shown;
    }
    console
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
            Step::Console(Console {
                commands: vec!["first  # says why", "second"],
                shown: vec![vec!["its output"]],
            }),
        ];
        assert_eq!(steps(page), expected);
    }

    #[test]
    fn what_is_shown_is_printed_in_its_order_whatever_the_figures() {
        let block = ["$ measure", "off   186 µs", "on    204 µs", "…", "valid"];
        let console = console(&block);
        let table: [(&str, Option<&str>); 5] = [
            ("building\noff  97.1 µs\non  120 µs\nmore\nvalid\n", None),
            ("off  97.1 µs on  120 µs valid", None),
            (
                "off  97.1 µs\ncontrol 98 µs\non  120 µs\nvalid",
                Some("off   186 µs"),
            ),
            ("valid\noff  97.1 µs\non  120 µs\n", Some("valid")),
            ("", Some("off   186 µs")),
        ];
        for (printed, expected) in table {
            let unprinted = console.unprinted(printed).map(|piece| piece[0]);
            assert_eq!(unprinted, expected, "{printed}");
        }
    }

    #[test]
    fn every_page_measures_once() {
        for task in &TASKS {
            let text = text_of(task.page).unwrap();
            let runs = steps(&text).into_iter().flat_map(|step| match step {
                Step::Console(console) => console.commands,
                Step::File { .. } => Vec::new(),
            });
            let runs = runs.filter(|line| line.starts_with("windage run"));
            let runs = runs.filter(|line| !line.contains("--dry-run"));
            assert_eq!(runs.count(), 1, "{}", task.page);
        }
    }
}
