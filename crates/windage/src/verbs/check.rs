//! `windage check PLAN…`: measures until every budget is decided.

mod worktrees;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use windage_analysis::Analysis;
use windage_model::BudgetVerdict;
use windage_plan::{Depth, Plan};

use crate::exit::Exit;
use crate::flag_values::duration;
use crate::flags::OutputFlags;
use crate::message;
use crate::signals::Signals;
use crate::verbs::publish::{PublishFlags, Publishing};
use crate::verbs::run::{
    Measured, Start, directory_for, files, measure, show, show_plan_error, show_plan_warnings,
    today, until,
};
use worktrees::{RevisionError, Worktrees};

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  windage check plan.toml\n  windage check plan.toml --within 10m --json\n  \
    windage check plan.toml --base main      what this branch changes\n\n\
    A budget in the plan:\n  [[budget]]\n  metric  = \"cpu_per_request\"\n  at_most = \"5%\"\n\n\
    A budget of what a revision changes, for --base:\n  [[budget]]\n  of      = \"change\"\n  \
    metric  = \"cpu_per_request\"\n  at_most = \"1%\"\n\n\
    Exit codes: 0 within every budget · 1 a budget is exceeded · 3 undecided · 4 void"
)]
pub(crate) struct CheckFlags {
    /// Plan files with budgets; a folder means all its *.toml files, sorted.
    #[arg(value_name = "PLAN", required = true)]
    plans: Vec<PathBuf>,
    /// The most measuring time of each plan, without launches. A run ends as soon as every budget is
    /// decided, after 16 launches at the earliest, each with a block of turns at least; one with a
    /// budget of a response or service time takes all of it.
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration, allow_hyphen_values = true)]
    within: Duration,
    /// What a budget means that is still undecided then.
    #[arg(long, value_name = "WORD", default_value = "report")]
    undecided: Undecided,
    /// Compare with this git revision: both are built in worktrees of their own and take turns in
    /// the same run. Budgets with `of = "change"` are decided. One that is exceeded is measured again
    /// in fresh launches, and counts if it is exceeded there as well.
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// With --base: the revision to check [default: HEAD, if nothing is uncommitted].
    #[arg(long, value_name = "REV", requires = "base")]
    head: Option<String>,
    /// The run directory; with several plans, the directory that holds their run directories.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Seed of the run order, instead of the plan's `design.seed`.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    publish: PublishFlags,
    #[command(flatten)]
    output: OutputFlags,
}

/// Measures every plan; the exit code says whether all are within their budgets.
pub(crate) fn check(flags: &CheckFlags) -> Exit {
    let plans = match plans(flags) {
        Ok(plans) => plans,
        Err(exit) => return exit,
    };
    let Some(signals) = Signals::install() else {
        return Exit::CouldNotMeasure;
    };
    let publishing = match Publishing::start(&flags.publish) {
        Ok(publishing) => publishing,
        Err(exit) => return exit,
    };
    let measure_one = |plan: &Plan, directory: PathBuf| {
        publishing.follow(&directory);
        let start = Start::New { is_shared: false };
        measure(plan, &directory, start, &flags.output, &signals).tidied(false)
    };
    let mut verdicts = Vec::new();
    let measured = until(
        || signals.came(),
        &plans,
        |checked| {
            let directory = directory_for(&checked.plan, flags.out.as_deref(), plans.len() > 1);
            let first = measure_one(&checked.plan, directory.clone());
            let of_first = worst(&first);
            if of_first != Some(BudgetVerdict::Exceeded) || checked.worktrees.is_none() {
                verdicts.push(of_first);
                return first;
            }
            message::warning(format_args!(
                "a budget is exceeded in {}: measuring again in fresh launches",
                directory.display()
            ));
            let mut plan = checked.plan.clone();
            plan.design.seed = plan.design.seed.wrapping_add(1);
            let again = measure_one(&plan, next_to(&directory));
            verdicts.push(recurring(worst(&again)));
            again
        },
    );
    let several = plans.len() > 1 || flags.plans.iter().any(|path| path.is_dir());
    let shown = show(&measured, several, false, &flags.output, &publishing);
    if measured.len() < plans.len() {
        return Exit::Interrupted;
    }
    match shown {
        // The longest allowed time is no failure by itself: the budgets are what counts.
        Exit::Success | Exit::Inconclusive => verdict(verdicts.into_iter(), flags.undecided),
        failed => failed,
    }
}

/// A plan to check.
struct Checked {
    plan: Plan,
    /// What it compares, for as long as it is measured.
    worktrees: Option<Worktrees>,
}

fn worst(measured: &Measured) -> Option<BudgetVerdict> {
    measured.analysis().and_then(Analysis::worst_budget)
}

/// What two runs say together, of which the first has exceeded a budget.
fn recurring(again: Option<BudgetVerdict>) -> Option<BudgetVerdict> {
    if again == Some(BudgetVerdict::Exceeded) {
        return again;
    }
    message::warning(
        "no budget is exceeded in the second run: the two do not agree, so the check is undecided",
    );
    Some(BudgetVerdict::Undecided)
}

/// The directory of a second run.
fn next_to(directory: &Path) -> PathBuf {
    let mut name = directory.file_name().unwrap_or_default().to_owned();
    name.push("-again");
    directory.with_file_name(name)
}

/// Reads a plan; with --base, as it is at both revisions.
fn read(path: &Path, flags: &CheckFlags) -> Option<Checked> {
    let Some(base) = &flags.base else {
        return match Plan::load(path, Depth::Usual) {
            Ok(plan) => Some(Checked {
                plan,
                worktrees: None,
            }),
            Err(error) => {
                show_plan_error(&error);
                None
            }
        };
    };
    let both = Worktrees::check_out(path, base, flags.head.as_deref())
        .and_then(|worktrees| Ok((worktrees.plan()?, worktrees)));
    match both {
        Ok(((plan, differs), worktrees)) => {
            if let Some(differs) = differs {
                message::warning(format_args!("{}: {differs}", path.display()));
            }
            Some(Checked {
                plan,
                worktrees: Some(worktrees),
            })
        }
        Err(RevisionError::Plan(error)) => {
            show_plan_error(&error);
            None
        }
        Err(error) => {
            message::error(error);
            None
        }
    }
}

/// Reads every plan before the first is measured.
fn plans(flags: &CheckFlags) -> Result<Vec<Checked>, Exit> {
    let mut plans = Vec::new();
    let mut failed = false;
    for path in files(&flags.plans)? {
        let Some(mut checked) = read(&path, flags) else {
            failed = true;
            continue;
        };
        let plan = &mut checked.plan;
        let ended = plan.end_overrides(&today());
        failed |= !ended.is_empty();
        for why in ended {
            message::error(format_args!("{}: {why}", path.display()));
        }
        plan.profile = None;
        plan.design.seed = flags.seed.unwrap_or(plan.design.seed);
        if let Err(why) = plan.stop_when_budgets_are_decided(flags.within) {
            failed = true;
            message::error(format_args!("{}: {why}", path.display()));
            continue;
        }
        show_plan_warnings(&path, plan);
        plans.push(checked);
    }
    if failed { Err(Exit::Usage) } else { Ok(plans) }
}

/// What the worst budgets of all runs come to. A run without one decides nothing.
fn verdict(worst: impl Iterator<Item = Option<BudgetVerdict>>, undecided: Undecided) -> Exit {
    let of_each = worst.map(|of_run| of_run.unwrap_or(BudgetVerdict::Undecided));
    match of_each.max().unwrap_or(BudgetVerdict::Undecided) {
        BudgetVerdict::Within => Exit::Success,
        BudgetVerdict::Undecided => undecided.exit(),
        BudgetVerdict::Exceeded => Exit::Exceeded,
    }
}

/// What a budget that is undecided means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Undecided {
    /// Exit code 3.
    Report,
    /// As if it were within: exit code 0.
    Pass,
    /// As if it were exceeded: exit code 1.
    Fail,
}

impl Undecided {
    fn exit(self) -> Exit {
        match self {
            Undecided::Report => Exit::Inconclusive,
            Undecided::Pass => Exit::Success,
            Undecided::Fail => Exit::Exceeded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_never_passes() {
        let within = Some(BudgetVerdict::Within);
        let open = Some(BudgetVerdict::Undecided);
        let exceeded = Some(BudgetVerdict::Exceeded);
        let table = [
            (vec![within, within], Undecided::Fail, Exit::Success),
            (vec![within, open], Undecided::Report, Exit::Inconclusive),
            (vec![within, None], Undecided::Report, Exit::Inconclusive),
            (vec![], Undecided::Report, Exit::Inconclusive),
            (vec![within, open], Undecided::Pass, Exit::Success),
            (vec![within, open], Undecided::Fail, Exit::Exceeded),
            (vec![exceeded, open], Undecided::Pass, Exit::Exceeded),
        ];
        for (worst, undecided, expected) in table {
            let shown = format!("{worst:?} {undecided:?}");
            assert_eq!(verdict(worst.into_iter(), undecided), expected, "{shown}");
        }
    }
}
