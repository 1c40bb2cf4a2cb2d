//! `windage check PLAN…`: measures until every budget is decided.

mod worktrees;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use windage_analysis::{Analysis, BudgetAnalysis};
use windage_model::BudgetVerdict;
use windage_plan::{Depth, Plan};

use crate::exit::Exit;
use crate::flag_values::duration;
use crate::flags::OutputFlags;
use crate::git::commit;
use crate::message;
use crate::signals::Signals;
use crate::verbs::publish::{PublishFlags, Publishing};
use crate::verbs::run::{
    Measured, Start, directory_for, files, may_be_several, measure, show, show_plan_error,
    show_plan_warnings, today, until,
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
    /// Plan files with budgets; a folder means all its *.toml files, sorted; a file may list plans.
    #[arg(value_name = "PLAN", required = true)]
    plans: Vec<PathBuf>,
    /// The most measuring time of each plan, without launches. A run ends as soon as every budget is
    /// decided, after 16 launches at the earliest, each with a block of turns at least; one with a
    /// budget of a response or service time, of lost telemetry or of errors takes all of it.
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration, allow_hyphen_values = true)]
    within: Duration,
    /// What a budget means that is still undecided then. One without a figure never passes.
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
    // Before revisions are checked out: an interruption removes their worktrees.
    let Some(signals) = Signals::install() else {
        return Exit::CouldNotMeasure;
    };
    let plans = match plans(flags) {
        _ if signals.came() => return Exit::Interrupted,
        Ok(plans) => plans,
        Err(exit) => return exit,
    };
    let publishing = match Publishing::start(&flags.publish) {
        Ok(publishing) => publishing,
        Err(exit) => return exit,
    };
    let bench = Bench {
        output: &flags.output,
        signals: &signals,
        publishing: &publishing,
    };
    let mut verdicts = Vec::new();
    let measured = until(
        || signals.came(),
        &plans,
        |checked| {
            let directory = directory_for(&checked.plan, flags.out.as_deref(), plans.len() > 1);
            let (measured, verdict) = bench.check(checked, directory);
            verdicts.push(verdict);
            measured
        },
    );
    let several = may_be_several(&flags.plans);
    let shown = show(&measured, several, false, &flags.output, &publishing);
    if measured.len() < plans.len() {
        return Exit::Interrupted;
    }
    match shown {
        // The longest allowed time is no failure by itself: the budgets are what counts.
        Exit::Success | Exit::Inconclusive => verdict(&verdicts, flags.undecided),
        failed => failed,
    }
}

/// A plan to check.
pub(super) struct Checked {
    pub(super) plan: Plan,
    /// What it compares, for as long as it is measured.
    worktrees: Option<Worktrees>,
}

/// What all checks of a command share.
pub(super) struct Bench<'a> {
    pub(super) output: &'a OutputFlags,
    pub(super) signals: &'a Signals,
    pub(super) publishing: &'a Publishing<'a>,
}

impl Bench<'_> {
    /// Measures a plan until its budgets are decided; with two revisions once more if one is
    /// exceeded, in a directory beside. Returns the last run and what all say.
    pub(super) fn check(
        &self,
        checked: &Checked,
        directory: PathBuf,
    ) -> (Measured, Option<BudgetVerdict>) {
        let first = self.measure(&checked.plan, &directory);
        let in_first = exceeded(&first);
        if checked.worktrees.is_none() || in_first.is_empty() || !is_whole(&first) {
            let of_first = worst(&first);
            return (first, of_first);
        }
        message::warning(format_args!(
            "a budget is exceeded in {}: measuring again in fresh launches",
            directory.display()
        ));
        let mut plan = checked.plan.clone();
        plan.design.seed = plan.design.seed.wrapping_add(1);
        let again = self.measure(&plan, &next_to(&directory));
        let of_both = recurring(&in_first, &again);
        (again, of_both)
    }

    fn measure(&self, plan: &Plan, directory: &Path) -> Measured {
        self.publishing.follow(directory);
        let start = Start::New { is_shared: false };
        measure(plan, directory, start, self.output, self.signals).tidied(false)
    }
}

/// The worst verdict of a run; `None` without one, and where a budget is undecided because there is no
/// figure: what is missing never passes.
fn worst(measured: &Measured) -> Option<BudgetVerdict> {
    let analysis = measured.analysis()?;
    let is_missing =
        |of: &BudgetAnalysis| of.verdict == BudgetVerdict::Undecided && of.cost.is_err();
    let worst = analysis.worst_budget()?;
    let arms = analysis.regimes().flat_map(|load| &load.arms);
    let mut budgets = arms.flat_map(|arm| &arm.budgets);
    let is_known = worst != BudgetVerdict::Undecided || !budgets.any(is_missing);
    is_known.then_some(worst)
}

/// The places of the budgets that are exceeded.
fn exceeded(measured: &Measured) -> BTreeSet<[usize; 3]> {
    let analysis = measured.analysis();
    analysis.map_or_else(BTreeSet::new, Analysis::exceeded_budgets)
}

/// Whether a run was measured to its end and may be used.
fn is_whole(measured: &Measured) -> bool {
    matches!(measured.exit(), Exit::Success | Exit::Inconclusive)
}

/// What two runs say together, of which the first has exceeded these budgets.
fn recurring(in_first: &BTreeSet<[usize; 3]>, again: &Measured) -> Option<BudgetVerdict> {
    if !is_whole(again) {
        return worst(again);
    }
    if !in_first.is_disjoint(&exceeded(again)) {
        return Some(BudgetVerdict::Exceeded);
    }
    message::warning(
        "what the first run exceeds is not exceeded in the second: they do not agree, so the check is undecided",
    );
    Some(BudgetVerdict::Undecided)
}

/// The directory of a second run.
fn next_to(directory: &Path) -> PathBuf {
    let mut name = directory.file_name().unwrap_or_default().to_owned();
    name.push("-again");
    directory.with_file_name(name)
}

/// Reads a plan as it stands.
fn read(path: &Path) -> Option<Checked> {
    match Plan::load(path, Depth::Usual) {
        Ok(plan) => Some(Checked {
            plan,
            worktrees: None,
        }),
        Err(error) => {
            show_plan_error(&error);
            None
        }
    }
}

/// Reads a plan as it is at both revisions.
fn read_at(path: &Path, base: &str, head: Option<&str>) -> Option<Checked> {
    let both = Worktrees::check_out(path, base, head)
        .and_then(|worktrees| Ok((worktrees.plan()?, worktrees)));
    match both {
        Ok(((plan, differs), worktrees)) => {
            if worktrees.are_the_same() {
                message::warning(format_args!(
                    "{}: base and head are the same commit, so nothing can have changed",
                    path.display()
                ));
            }
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
    let all = files(&flags.plans)?;
    for path in &all {
        let read = match &flags.base {
            Some(base) => read_at(path, base, flags.head.as_deref()),
            None => read(path),
        };
        let prepared = read.and_then(|of| prepared(path, of, flags.within, flags.seed));
        if let Some(why) = prepared.as_ref().and_then(|of| open_budgets(&of.plan)) {
            message::warning(format_args!("{}: {why}", path.display()));
        }
        plans.extend(prepared);
    }
    if plans.len() < all.len() {
        Err(Exit::Usage)
    } else {
        Ok(plans)
    }
}

/// The plan at two revisions, ready to be measured; `None` after an error that was shown.
pub(super) fn at_revisions(
    path: &Path,
    [base, head]: [&str; 2],
    within: Duration,
    seed: Option<u64>,
) -> Option<Checked> {
    prepared(path, read_at(path, base, Some(head))?, within, seed)
}

/// A plan that ends when its budgets are decided.
fn prepared(
    path: &Path,
    mut checked: Checked,
    within: Duration,
    seed: Option<u64>,
) -> Option<Checked> {
    let plan = &mut checked.plan;
    let ended = plan.end_overrides(&today());
    for why in &ended {
        message::error(format_args!("{}: {why}", path.display()));
    }
    plan.profile = None;
    plan.commit = commit(&plan.folder);
    plan.design.seed = seed.unwrap_or(plan.design.seed);
    if let Err(why) = plan.stop_when_budgets_are_decided(within) {
        message::error(format_args!("{}: {why}", path.display()));
        return None;
    }
    show_plan_warnings(path, plan);
    ended.is_empty().then_some(checked)
}

/// That a check leaves budgets undecided, because they are not of what it compares.
fn open_budgets(plan: &Plan) -> Option<String> {
    let open = plan.budgets.len() - plan.decided_budgets().count();
    let (budgets, are) = if open == 1 {
        ("budget", "is")
    } else {
        ("budgets", "are")
    };
    let remedy = if plan.revisions.is_some() {
        format!("{budgets} that {are} not of a change: check the plan without --base as well")
    } else {
        format!("{budgets} of a change: --base REV names the revision to compare with")
    };
    (open > 0).then(|| format!("this check does not decide {open} {remedy}"))
}

/// What the worst budgets of all runs come to. A run without one decides nothing.
fn verdict(worst: &[Option<BudgetVerdict>], undecided: Undecided) -> Exit {
    let has = |verdict| worst.contains(&Some(verdict));
    let is_missing = worst.is_empty() || worst.contains(&None);
    match undecided {
        _ if has(BudgetVerdict::Exceeded) => Exit::Exceeded,
        Undecided::Pass if is_missing => Exit::Inconclusive,
        _ if is_missing || has(BudgetVerdict::Undecided) => undecided.exit(),
        _ => Exit::Success,
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
            (vec![within, None], Undecided::Pass, Exit::Inconclusive),
            (vec![], Undecided::Pass, Exit::Inconclusive),
            (vec![None], Undecided::Fail, Exit::Exceeded),
            (vec![within, open], Undecided::Fail, Exit::Exceeded),
            (vec![exceeded, open], Undecided::Pass, Exit::Exceeded),
        ];
        for (worst, undecided, expected) in table {
            let shown = format!("{worst:?} {undecided:?}");
            assert_eq!(verdict(&worst, undecided), expected, "{shown}");
        }
    }
}
