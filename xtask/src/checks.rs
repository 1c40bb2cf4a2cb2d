//! `cargo xtask checks`: repeats `windage check --base` with identical commits and with known
//! regressions, and judges the same pairs of revisions as other gates do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::{command, machine, workspace};

mod one_by_one;
mod page;
mod revisions;
mod rules;

use one_by_one::{OneByOne, Reading};
use revisions::Repository;

/// The plan whose budgets are checked.
const PLAN: &str = "experiments/go-http/change/plan.toml";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many checks compare a commit with itself
    #[arg(long, default_value_t = 24)]
    identical: usize,
    /// How many compare it with a server that takes about 3 % more CPU for each request
    #[arg(long, default_value_t = 8)]
    slower: usize,
    /// How many compare it with one that exports each span by itself
    #[arg(long, default_value_t = 8)]
    unbatched: usize,
    /// The most measuring time of each check
    #[arg(long, value_name = "DURATION", default_value = "2m")]
    within: String,
    /// Go on with a study: the comparisons that its folder has are not repeated
    #[arg(long, value_name = "FOLDER")]
    resume: Option<PathBuf>,
    /// End after this many further comparisons
    #[arg(long, value_name = "N")]
    at_most: Option<usize>,
}

/// What the head of a comparison is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Head {
    /// The base's commit.
    Identical,
    /// More work in each request.
    Slower,
    /// A simple span processor instead of a batch processor.
    Unbatched,
}

impl Head {
    const ALL: [Head; 3] = [Head::Identical, Head::Slower, Head::Unbatched];

    fn name(self) -> &'static str {
        match self {
            Head::Identical => "identical",
            Head::Slower => "slower",
            Head::Unbatched => "unbatched",
        }
    }

    /// The git branch.
    fn branch(self) -> &'static str {
        match self {
            Head::Identical => "base",
            _ => self.name(),
        }
    }
}

/// One pair of revisions, judged by `windage check` and measured one after the other.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Comparison {
    head: Head,
    check: Checked,
    /// Runs of the base, then as many of the head.
    base_runs: Vec<Reading>,
    head_runs: Vec<Reading>,
    one_by_one_s: f64,
}

/// What a check said.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Checked {
    exit_code: Option<i32>,
    /// By the clock, with both builds.
    seconds: f64,
    first: Vec<Found>,
    /// Of the second run, if the first exceeded a budget.
    again: Option<Vec<Found>>,
}

/// A budget's verdict, as in `windage report --json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Found {
    arm: String,
    verdict: String,
    cost: Option<Bounds>,
}

/// Shares of the baseline.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Bounds {
    estimate: f64,
    low: f64,
    high: f64,
}

/// The part of a report that is read.
#[derive(Deserialize)]
struct Report {
    budgets: Vec<Found>,
}

/// Compares until all is done. The page is written after each comparison.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let windage = workspace::build("crates/windage", "windage")?;
    let folder = match &args.resume {
        Some(folder) => folder.clone(),
        None => workspace::root().join("windage-runs").join(format!(
            "checks-{}-{}",
            machine::today()?,
            std::process::id()
        )),
    };
    fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    let folder = folder
        .canonicalize()
        .with_context(|| format!("find {}", folder.display()))?;
    anstream::eprintln!("==> runs go to {}", folder.display());
    let study = Study {
        repository: Repository::prepare(&folder)?,
        windage,
        folder,
    };
    let (mut done, mut further) = (Vec::new(), 0);
    for (number, head) in args.order().into_iter().enumerate() {
        let number = number + 1;
        let kept = study.folder.join(format!("{number:03}.json"));
        if kept.exists() {
            let json = fs::read(&kept).with_context(|| format!("read {}", kept.display()))?;
            let comparison = serde_json::from_slice(&json);
            done.push(comparison.with_context(|| format!("read {}", kept.display()))?);
            continue;
        }
        if args.at_most.is_some_and(|most| further >= most) {
            break;
        }
        further += 1;
        anstream::eprintln!("==> {number} of {}: {head:?}", args.count());
        let comparison = study.compare(number, head, &args.within)?;
        let json = serde_json::to_vec_pretty(&comparison)?;
        fs::write(&kept, json).with_context(|| format!("write {}", kept.display()))?;
        done.push(comparison);
    }
    let page = page::page(args, &done)?;
    let file = study.folder.join("README.md");
    fs::write(&file, &page).with_context(|| format!("write {}", file.display()))?;
    anstream::println!("{page}");
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn count(&self) -> usize {
        self.identical + self.slower + self.unbatched
    }

    /// The comparisons in an order that is random and always the same, so that a study can go on.
    fn order(&self) -> Vec<Head> {
        let counts = [self.identical, self.slower, self.unbatched];
        let of_each = Head::ALL.into_iter().zip(counts);
        let mut order: Vec<Head> = of_each
            .flat_map(|(head, count)| std::iter::repeat_n(head, count))
            .collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(1));
        order
    }
}

struct Study {
    folder: PathBuf,
    windage: PathBuf,
    repository: Repository,
}

impl Study {
    fn compare(&self, number: usize, head: Head, within: &str) -> Result<Comparison> {
        let check = self.check(number, head, within)?;
        let began = Instant::now();
        let servers = OneByOne::start(&self.windage)?;
        let base = self.repository.program(Head::Identical);
        let base_runs = servers.runs_of(&base)?;
        let head_runs = servers.runs_of(&self.repository.program(head))?;
        Ok(Comparison {
            head,
            check,
            base_runs,
            head_runs,
            one_by_one_s: began.elapsed().as_secs_f64(),
        })
    }

    fn check(&self, number: usize, head: Head, within: &str) -> Result<Checked> {
        let run = self.folder.join(format!("{number:03}"));
        let mut check = Command::new(&self.windage);
        check
            .current_dir(self.repository.folder())
            .args(["check", PLAN, "--quiet", "--within", within])
            .args(["--base", Head::Identical.branch(), "--head", head.branch()])
            .args(["--seed", &number.to_string(), "--out"])
            .arg(&run)
            .stdout(Stdio::null());
        let began = Instant::now();
        let status = check
            .status()
            .with_context(|| format!("could not start {}", command::line(&check)))?;
        if status.code() == Some(130) {
            bail!("interrupted; what was compared before is kept");
        }
        let again = self.folder.join(format!("{number:03}-again"));
        Ok(Checked {
            exit_code: status.code(),
            seconds: began.elapsed().as_secs_f64(),
            first: self.budgets(&run)?,
            again: again.exists().then(|| self.budgets(&again)).transpose()?,
        })
    }

    fn budgets(&self, run: &Path) -> Result<Vec<Found>> {
        let mut report = Command::new(&self.windage);
        report.args(["report", "--json"]).arg(run);
        let json = command::output(&mut report)?;
        let report: Report = serde_json::from_str(&json)
            .with_context(|| format!("{} has no budgets", command::line(&report)))?;
        Ok(report.budgets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_random_and_the_same_again() {
        let args = Args {
            identical: 24,
            slower: 8,
            unbatched: 8,
            within: "2m".to_owned(),
            resume: None,
            at_most: None,
        };
        let order = args.order();
        assert_eq!(order.len(), args.count());
        assert_eq!(order, args.order());
        let of = |head| order.iter().filter(|of| **of == head).count();
        assert_eq!(Head::ALL.map(of), [24, 8, 8]);
        let is_worse = |head: &&Head| **head != Head::Identical;
        let worse = order[..20].iter().filter(is_worse).count();
        assert!((4..=12).contains(&worse), "{worse} of the first half");
    }
}
