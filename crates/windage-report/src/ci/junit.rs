//! Budgets as test cases, in JUnit's XML.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use windage_analysis::Analysis;
use windage_model::BudgetVerdict;

use super::{Held, held, unusable};
use crate::ReportError;

/// Runs as JUnit's XML: a suite for each run, and a case for each budget and arm. *Exceeded* is a
/// failure, *undecided* a skipped case, and every case of a void run an error.
///
/// # Errors
///
/// [`ReportError`] when the XML can't be written.
pub fn junit(analyses: &[Analysis]) -> Result<String, ReportError> {
    let mut report = Report::new("windage");
    for analysis in analyses {
        let mut suite = TestSuite::new(&analysis.run);
        let cases = held(analysis).map(|of| case(analysis, &of));
        suite.add_test_cases(cases);
        report.add_test_suite(suite);
    }
    Ok(report.to_string()?)
}

fn case(analysis: &Analysis, of: &Held<'_>) -> TestCase {
    let status = match (unusable(analysis), of.budget.verdict) {
        (Some(why), _) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(why);
            status
        }
        (None, BudgetVerdict::Within) => TestCaseStatus::success(),
        (None, BudgetVerdict::Undecided) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(format!("undecided: {}", of.finding()));
            status
        }
        (None, BudgetVerdict::Exceeded) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(format!("exceeded: {}", of.finding()));
            status
        }
    };
    let mut case = TestCase::new(of.name(), status);
    case.set_classname(analysis.plan.as_str());
    if of.budget.warns {
        case.set_system_out(format!("warning: {}", of.finding()));
    }
    case
}
