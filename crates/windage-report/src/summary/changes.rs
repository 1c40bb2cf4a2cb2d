//! What changed between two revisions, in words.

use windage_analysis::{Analysis, ArmAnalysis, BudgetAnalysis};
use windage_model::{BudgetOf, BudgetVerdict};

use crate::pieces::{Piece, arm, joined, text, without_stop};
use crate::{limit, number, sentences};

/// Each budget of a change with its verdict; empty in a run that compares no revisions.
pub(super) fn changes(analysis: &Analysis) -> Vec<Piece> {
    let baseline = analysis.baseline().map(|arm| &arm.id);
    let clauses = analysis.arms.iter().flat_map(|arm| {
        let of_change = arm.budgets.iter();
        let of_change = of_change.filter(|of| of.budget.of == BudgetOf::Change);
        let is_service = arm.at_base.is_some() && arm.at_base.as_ref() == baseline;
        of_change.map(move |of| clause(arm, of, is_service))
    });
    let mut sentence = joined(clauses.collect(), "; ");
    if !sentence.is_empty() {
        sentence.insert(0, text("From base to head, "));
    }
    sentence
}

/// "the cost of `otel@head` changed by +1.2 % of CPU per request (95 % bounds +0.9 to +1.4 %), within
/// the budget of 1.5 %"
fn clause(of_arm: &ArmAnalysis, of: &BudgetAnalysis, is_service: bool) -> Vec<Piece> {
    let (metric, at_most) = (of.budget.metric, of.budget.limit());
    let subject = match is_service {
        true => Vec::new(),
        false => vec![text("the cost of ")],
    };
    let found = of
        .cost
        .as_ref()
        .map_err(sentences::missing)
        .and_then(|cost| {
            let none = || "its bounds are not finite".to_owned();
            limit::cost(metric, at_most, cost).ok_or_else(none)
        });
    let said = match found {
        Ok(shown) => format!(
            " changed by {} of {} ({} bounds {}), {} {}",
            shown.point(),
            metric.label(),
            number::percent_short(of.budget.confidence),
            shown.range_with_unit(),
            match of.verdict {
                BudgetVerdict::Within => "within the budget of",
                BudgetVerdict::Undecided => "undecided for the budget of",
                BudgetVerdict::Exceeded => "above the budget of",
            },
            limit::limit(metric, at_most),
        ),
        Err(why) => format!(" has no change to report ({})", without_stop(&why)),
    };
    [subject, vec![arm(of_arm), text(said)]].concat()
}
