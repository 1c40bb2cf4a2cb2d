//! Budgets as one comment on a pull request, which later checks update in place.

use windage_analysis::Analysis;
use windage_model::{BudgetVerdict, Soundness};

use super::unusable;
use crate::fact::{Fact, one_line};
use crate::facts;
use crate::markdown::{escaped, facts_list, paragraph, push_table, push_warnings};
use crate::rows;

/// Markdown with the verdict of each plan, then its budgets. A second run of the same two revisions is
/// what was measured again.
#[must_use]
pub fn comment(analyses: &[Analysis]) -> String {
    let mut text = String::new();
    for runs in analyses.chunk_by(is_repeated_by) {
        let plan = escaped(&one_line(&runs[0].plan));
        paragraph(&mut text, &format!("### {plan}: {}", outcome(runs)));
        for (number, run) in runs.iter().enumerate() {
            if number > 0 {
                paragraph(&mut text, "Measured again in fresh launches:");
            }
            push_run(&mut text, run);
        }
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// Only a change is measured again.
fn is_repeated_by(run: &Analysis, next: &Analysis) -> bool {
    run.revisions.is_some() && run.revisions == next.revisions && run.plan == next.plan
}

/// The worst under any load.
fn soundness(run: &Analysis) -> Soundness {
    let loads = run.regimes().map(|load| load.validity.soundness());
    loads.max().unwrap_or(Soundness::Valid)
}

/// What the runs of a plan say together, and whether they are suspect.
fn outcome(runs: &[Analysis]) -> String {
    if runs.iter().any(|run| unusable(run).is_some()) {
        return "no verdict".to_owned();
    }
    let is_suspect = runs.iter().map(soundness).max() == Some(Soundness::Suspect);
    format!(
        "{}{}",
        verdict(runs),
        if is_suspect { ", suspect" } else { "" }
    )
}

/// A budget that is exceeded in one run has to be exceeded in all.
fn verdict(runs: &[Analysis]) -> &'static str {
    let exceeded = runs.iter().map(Analysis::exceeded_budgets);
    let in_all = exceeded.reduce(|some, others| &some & &others);
    match runs.iter().filter_map(Analysis::worst_budget).max() {
        Some(BudgetVerdict::Exceeded) if in_all.is_some_and(|all| !all.is_empty()) => "exceeded",
        Some(BudgetVerdict::Within) if runs.iter().any(warns) => {
            "within its budgets, with a warning"
        }
        Some(BudgetVerdict::Within) => "within its budgets",
        _ => "undecided",
    }
}

fn warns(run: &Analysis) -> bool {
    let mut arms = run.regimes().flat_map(|load| &load.arms);
    arms.any(|arm| arm.budgets.iter().any(|of| of.warns))
}

fn push_run(text: &mut String, run: &Analysis) {
    if let Some(why) = unusable(run) {
        paragraph(text, why);
    }
    for load in run.regimes() {
        facts_list(text, &facts::in_brief(load));
        for table in rows::budget_tables(load) {
            push_table(text, &table);
        }
        if soundness(run) != Soundness::Valid {
            push_warnings(text, load);
        }
    }
    facts_list(text, &measured(run));
}

/// Which commit was measured, and when. Two revisions are among the facts of each load.
fn measured(run: &Analysis) -> Vec<Fact> {
    let commit = run.versions.get("commit");
    let commit = commit.filter(|_| run.revisions.is_none());
    let commit = commit.map(|commit| Fact::new("commit", one_line(commit)));
    let when = format!("{} at {}", one_line(&run.run), run.started);
    commit.into_iter().chain([Fact::new("run", when)]).collect()
}
