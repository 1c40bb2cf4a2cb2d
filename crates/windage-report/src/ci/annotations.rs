//! Budgets as annotations of GitHub's workflows: lines that its runner reads from standard output.
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>

use windage_analysis::Analysis;
use windage_model::BudgetVerdict;

use super::{held, unusable};

/// A line for each budget and arm: an error where it is exceeded or the run is void, a warning
/// where it is undecided or above what the budget warns of, else a notice.
#[must_use]
pub fn annotations(analyses: &[Analysis]) -> String {
    let mut lines = String::new();
    for analysis in analyses {
        if let Some(why) = unusable(analysis) {
            lines += &line("error", &analysis.plan, why);
            continue;
        }
        for of in held(analysis) {
            let (level, word) = match of.budget.verdict {
                BudgetVerdict::Within if of.budget.warns => ("warning", "within its budget"),
                BudgetVerdict::Within => ("notice", "within its budget"),
                BudgetVerdict::Undecided => ("warning", "undecided"),
                BudgetVerdict::Exceeded => ("error", "exceeded"),
            };
            let title = format!("{}: {}", analysis.plan, of.name());
            lines += &line(level, &title, &format!("{word}: {}", of.finding()));
        }
    }
    lines
}

fn line(level: &str, title: &str, message: &str) -> String {
    let message = escaped(message);
    // A property also ends at a comma, and a colon ends all of them.
    let title = escaped(title).replace(':', "%3A").replace(',', "%2C");
    format!("::{level} title={title}::{message}\n")
}

fn escaped(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}
