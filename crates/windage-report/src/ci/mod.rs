//! What CI reads or shows: budgets as test cases, annotations or a comment, and overheads as metrics
//! for trackers.

mod annotations;
mod comment;
mod junit;
mod trackers;

use windage_analysis::{Analysis, BudgetAnalysis};
use windage_model::{BudgetOf, Soundness, WarningCode};

use crate::fact::one_line;
use crate::{limit, number, sentences};

pub use annotations::annotations;
pub use comment::comment;
pub use junit::junit;
pub use trackers::{bencher, benchmark_action};

/// A budget and an arm that it holds for.
struct Held<'a> {
    arm: String,
    budget: &'a BudgetAnalysis,
}

impl Held<'_> {
    /// "otel: CPU per request at most 5 %".
    fn name(&self) -> String {
        let of = match self.budget.budget.of {
            BudgetOf::Cost => "",
            BudgetOf::Change => "change of ",
            BudgetOf::Own => "its own ",
        };
        format!(
            "{}: {of}{} at most {}",
            self.arm,
            self.budget.budget.metric.label(),
            self.limit()
        )
    }

    /// "+6.1 % (95 % bounds +5.6 to +6.6 %); at most 5 % is allowed".
    fn finding(&self) -> String {
        let budget = &self.budget.budget;
        let found = match &self.budget.cost {
            Ok(found) => found,
            Err(why) => return sentences::missing(why),
        };
        let Some(shown) = limit::found(self.budget, found) else {
            return "the cost has no bound".to_owned();
        };
        let warning = budget.warn_above.filter(|_| self.budget.warns);
        let warning = warning.map(|above| {
            let above = limit::limit(budget.metric, above);
            format!(", and above {above} is a warning")
        });
        format!(
            "{} ({} bounds {}); at most {} is allowed{}",
            shown.point(),
            number::percent_short(budget.confidence),
            shown.range_with_unit(),
            self.limit(),
            warning.unwrap_or_default(),
        )
    }

    fn limit(&self) -> String {
        limit::limit(self.budget.budget.metric, self.budget.budget.limit())
    }
}

/// Every budget of a run, for each of its arms, under each of its loads.
fn held(analysis: &Analysis) -> impl Iterator<Item = Held<'_>> {
    analysis.regimes().flat_map(|under| {
        let load = under.regime.as_ref();
        let load = load.map_or(String::new(), |load| format!(", {}", one_line(load)));
        let arms = under.arms.iter();
        let budgets = arms.flat_map(|arm| arm.budgets.iter().map(move |budget| (arm, budget)));
        budgets.map(move |(arm, budget)| Held {
            arm: format!("{}{load}", one_line(&arm.name)),
            budget,
        })
    })
}

/// Why nothing that a run shows may be used; `None` if it may.
fn unusable(analysis: &Analysis) -> Option<&'static str> {
    let mut loads = analysis.regimes();
    if loads.any(|under| under.validity.soundness() == Soundness::Void) {
        Some("The run is void: its figures must not be used.")
    } else if analysis.validity.has(WarningCode::RunIncomplete) {
        Some("The run did not reach its end: it decides nothing.")
    } else {
        None
    }
}
