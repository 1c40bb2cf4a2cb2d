//! Budgets as one comment on a pull request, which later checks update in place.

use windage_analysis::Analysis;
use windage_model::BudgetVerdict;

use super::unusable;
use crate::fact::one_line;
use crate::facts;
use crate::markdown::{escaped, facts_list, paragraph, push_table};
use crate::rows;

/// Markdown with the verdict of each plan, then its budgets. Further runs of a plan are what was
/// measured again.
///
/// The first line is a mark that a reader doesn't see and that differs between plans: the comment that
/// begins with it is the one to replace.
#[must_use]
pub fn comment(analyses: &[Analysis]) -> String {
    let mut plans: Vec<(&str, Vec<&Analysis>)> = Vec::new();
    for analysis in analyses {
        match plans.iter_mut().find(|(plan, _)| *plan == analysis.plan) {
            Some((_, runs)) => runs.push(analysis),
            None => plans.push((&analysis.plan, vec![analysis])),
        }
    }
    let names: Vec<&str> = plans.iter().map(|(plan, _)| *plan).collect();
    // Two hyphens would end the mark.
    let names = one_line(&names.join(", ")).replace("--", "__");
    let names = names.replace('>', "_");
    let mut text = format!("<!-- windage check: {names} -->\n");
    for (plan, runs) in plans {
        let heading = format!("### {}: {}", escaped(&one_line(plan)), outcome(&runs));
        paragraph(&mut text, &heading);
        for (number, run) in runs.into_iter().enumerate() {
            if number > 0 {
                paragraph(&mut text, "Measured again in fresh launches:");
            }
            push_run(&mut text, run);
        }
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// What the runs of a plan say together: a budget that is exceeded in one has to be exceeded in all.
fn outcome(runs: &[&Analysis]) -> &'static str {
    let worst = runs.iter().filter_map(|run| run.worst_budget()).max();
    if runs.iter().any(|run| unusable(run).is_some()) {
        return "no verdict";
    }
    let exceeded = runs.iter().map(|run| run.exceeded_budgets());
    let in_all = exceeded.reduce(|some, others| &some & &others);
    match worst {
        Some(BudgetVerdict::Exceeded) if in_all.is_some_and(|all| !all.is_empty()) => "exceeded",
        Some(BudgetVerdict::Within) if runs.iter().any(|run| warns(run)) => {
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
    }
}
