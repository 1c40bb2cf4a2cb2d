//! `windage bisect PLAN --good A --bad B`: the commit that made telemetry, or the service, cost more.

mod search;

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::Args;
use serde_json::json;
use windage_model::BudgetVerdict;
use windage_record::RUNS;

use crate::exit::Exit;
use crate::flag_values::duration;
use crate::flags::OutputFlags;
use crate::git::{GitError, git};
use crate::message;
use crate::run_name::unused;
use crate::signals::Signals;
use crate::verbs::check::{Bench, at_revisions};
use crate::verbs::publish::{PublishFlags, Publishing};
use crate::verbs::report::print;
use search::{Search, Verdict};

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  windage bisect plan.toml --good v1.4 --bad main\n  \
    windage bisect plan.toml --good 3f2a91c --bad 9b1c004 --within 10m --json\n\n\
    Exit codes: 0 found · 2 usage · 3 no single commit could be named · 5 could not measure"
)]
pub(crate) struct BisectFlags {
    /// A plan with budgets of a change: [[budget]] with of = "change".
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    /// A commit before the change, with which all others are compared.
    #[arg(long, value_name = "REV")]
    good: String,
    /// A commit after it, which exceeds a budget.
    #[arg(long, value_name = "REV")]
    bad: String,
    /// The most measuring time of each step, without launches.
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration, allow_hyphen_values = true)]
    within: Duration,
    /// The directory for the runs of all steps [default: windage-runs/TIME-bisect].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Seed of the run order, instead of the plan's `design.seed`.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    output: OutputFlags,
}

/// Why there is nothing to search.
#[derive(Debug, thiserror::Error)]
enum NoRange {
    #[error("{0}")]
    Git(#[from] GitError),
    #[error("--good {good} is no ancestor of --bad {bad}, or the same commit")]
    NotBefore { good: String, bad: String },
}

/// A commit of the range.
struct Commit {
    hash: String,
    subject: String,
}

/// Checks commits between both until one is left.
pub(crate) fn bisect(flags: &BisectFlags) -> Exit {
    let commits = match commits(flags) {
        Ok(commits) => commits,
        Err(error) => {
            message::error(error);
            return Exit::Usage;
        }
    };
    let Some(signals) = Signals::install() else {
        return Exit::CouldNotMeasure;
    };
    let nowhere = PublishFlags::default();
    let publishing = match Publishing::start(&nowhere) {
        Ok(publishing) => publishing,
        Err(exit) => return exit,
    };
    let bench = Bench {
        output: &flags.output,
        signals: &signals,
        publishing: &publishing,
    };
    let directory = flags
        .out
        .clone()
        .unwrap_or_else(|| unused(RUNS.as_ref(), "bisect", SystemTime::now()));
    let mut search = Search::among(commits.len());
    let mut steps = Vec::new();
    // What became of the bad commit, which is checked first.
    let mut of_bad = Exit::Success;
    while let Some(number) = search.next() {
        let commit = &commits[number];
        say(
            flags,
            &format!("checking {}; {}", commit.shown(), search.left()),
        );
        let run = directory.join(format!("{:02}-{}", steps.len() + 1, commit.short()));
        let both = [flags.good.as_str(), commit.hash.as_str()];
        let checked = at_revisions(&flags.plan, both, flags.within, flags.seed);
        let (exit, verdict) = match &checked {
            Some(checked) => {
                let (measured, verdict) = bench.check(checked, run.clone());
                (measured.exit(), verdict)
            }
            // It has no plan, or one without such a budget.
            None => (Exit::Usage, None),
        };
        if signals.came() {
            return Exit::Interrupted;
        }
        if steps.is_empty() {
            of_bad = exit;
        }
        let verdict = match (exit, verdict) {
            (Exit::Success | Exit::Inconclusive, Some(BudgetVerdict::Within)) => Verdict::Good,
            (Exit::Success | Exit::Inconclusive, Some(BudgetVerdict::Exceeded)) => Verdict::Bad,
            _ => Verdict::Unknown,
        };
        say(
            flags,
            &format!("{}: {}", commit.shown(), verdict.in_words()),
        );
        steps.push(json!({
            "commit": commit.hash,
            "verdict": verdict.as_str(),
            "run": run.to_string_lossy(),
        }));
        search.learn(number, verdict);
    }
    let suspects: Vec<&Commit> = commits[search.suspects()].iter().collect();
    let document = json!({
        "suspects": suspects.iter().map(|commit| json!({
            "commit": commit.hash, "subject": commit.subject,
        })).collect::<Vec<_>>(),
        "steps": steps,
    });
    let shown = match flags.output.json {
        true => print(format!("{document:#}\n")),
        false => print(answer(&suspects, flags)),
    };
    let found = match suspects.len() {
        1 => Exit::Success,
        0 if of_bad == Exit::Usage => of_bad,
        0 => of_bad.max(Exit::Inconclusive),
        _ => Exit::Inconclusive,
    };
    found.max(shown)
}

fn answer(suspects: &[&Commit], flags: &BisectFlags) -> String {
    match suspects {
        [] => format!(
            "nothing to find: it is not shown that {} exceeds a budget against {}\n",
            flags.bad, flags.good
        ),
        [one] => format!("the first commit that exceeds a budget: {}\n", one.shown()),
        several => {
            let lines = several
                .iter()
                .map(|commit| format!("  {}\n", commit.shown()));
            format!(
                "one of these is the first commit that exceeds a budget; the others could not be decided\n{}",
                lines.collect::<String>()
            )
        }
    }
}

fn say(flags: &BisectFlags, text: &str) {
    if !flags.output.quiet {
        anstream::eprintln!("{text}");
    }
}

/// The commits after the good one up to the bad one, oldest first; of merges only the merge itself.
fn commits(flags: &BisectFlags) -> Result<Vec<Commit>, NoRange> {
    let folder = flags
        .plan
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let folder = folder.unwrap_or(".".as_ref());
    let resolved = |name: &str| {
        let commit = format!("{name}^{{commit}}");
        git(
            folder,
            ["rev-parse", "--verify", "--end-of-options", &commit],
        )
    };
    let (good, bad) = (resolved(&flags.good)?, resolved(&flags.bad)?);
    let is_before = git(folder, ["merge-base", "--is-ancestor", &good, &bad]);
    let range = format!("{good}..{bad}");
    let list = [
        "log",
        "--first-parent",
        "--reverse",
        "--no-show-signature",
        "--format=%H %s",
        &range,
        "--",
    ];
    let listed = git(folder, list)?;
    let commits: Vec<Commit> = listed.lines().map(Commit::of_line).collect();
    match is_before {
        Ok(_) if !commits.is_empty() => Ok(commits),
        _ => Err(NoRange::NotBefore {
            good: flags.good.clone(),
            bad: flags.bad.clone(),
        }),
    }
}

impl Commit {
    /// The last line has lost its space if there is no subject.
    fn of_line(line: &str) -> Commit {
        let (hash, subject) = line.split_once(' ').unwrap_or((line, ""));
        Commit {
            hash: hash.to_owned(),
            subject: subject.to_owned(),
        }
    }

    fn short(&self) -> &str {
        self.hash.get(..9).unwrap_or(&self.hash)
    }

    fn shown(&self) -> String {
        format!("{} {}", self.short(), self.subject)
    }
}
