//! What CI reads.

use windage_model::{BudgetVerdict, Revision, Revisions, Soundness, WarningCode};
use windage_report::{annotations, bencher, benchmark_action, comment, junit};

use crate::fixtures;

#[test]
fn a_run_with_budgets_of_every_verdict() {
    let runs = [fixtures::budgets()];
    insta::assert_snapshot!("ci_junit", junit(&runs).unwrap());
    insta::assert_snapshot!("ci_annotations", annotations(&runs));
    insta::assert_snapshot!("ci_comment", comment(&runs));
    insta::assert_snapshot!("ci_bencher", bencher(&runs));
    insta::assert_snapshot!("ci_benchmark_action", benchmark_action(&runs));
}

#[test]
fn a_void_run_passes_nothing_and_has_no_figures() {
    let mut void = fixtures::budgets();
    void.validity = fixtures::void().validity;
    assert_eq!(void.validity.soundness(), Soundness::Void);
    let runs = [void];
    let cases = junit(&runs).unwrap();
    let count = |what: &str| cases.matches(what).count();
    assert_eq!(count("<testcase"), 7);
    assert_eq!(
        (count("<error"), count("<failure"), count("<skipped")),
        (7, 0, 0)
    );
    assert!(annotations(&runs).starts_with("::error "));
    assert_eq!(annotations(&runs).lines().count(), 1);
    assert!(comment(&runs).contains(": no verdict\n"));
    assert_eq!(bencher(&runs), "{}\n");
    assert_eq!(benchmark_action(&runs), "[]\n");
}

/// Names come from plans: they end no line, no property and no attribute.
#[test]
fn harmful_names_are_escaped() {
    let mut hostile = fixtures::budgets();
    hostile.plan = "a\n::error::100 %, \u{1}<b>&\"c\"".to_owned();
    hostile.arms[2].name = "x\r\n::set-output name=y::z, </testcase>".to_owned();
    let runs = [hostile];
    let shown = annotations(&runs);
    assert_eq!(shown.lines().count(), 7, "{shown}");
    for line in shown.lines() {
        let title = line.split_once(" title=").unwrap().1;
        assert!(!title.split("::").next().unwrap().contains(','), "{line}");
    }
    let cases = junit(&runs).unwrap();
    assert_eq!(cases.matches("</testcase>").count(), 5, "{cases}");
    assert!(
        !cases.contains("<b>") && !cases.contains('\u{1}'),
        "{cases}"
    );
    let _: serde_json::Value = serde_json::from_str(&bencher(&runs)).unwrap();
    let shown = comment(&runs);
    assert!(!shown.contains("<b>"), "{shown}");
}

#[test]
fn what_is_measured_again_has_to_be_exceeded_again() {
    let revision = |name: &str| Revision {
        name: name.to_owned(),
        commit: format!("{name}0a1b2c"),
    };
    let mut first = fixtures::budgets();
    first.revisions = Some(Revisions {
        base: revision("main"),
        head: revision("HEAD"),
    });
    let again = |verdict| {
        let mut again = first.clone();
        again.arms[2].budgets[0].verdict = verdict;
        comment(&[first.clone(), again])
    };
    let table = [
        (BudgetVerdict::Exceeded, "exceeded"),
        (BudgetVerdict::Within, "undecided"),
    ];
    for (verdict, outcome) in table {
        let shown = again(verdict);
        let heading = format!("### {}: {outcome}\n", first.plan);
        assert_eq!(shown.matches("### ").count(), 1, "{shown}");
        assert!(shown.contains(&heading), "{heading}: {shown}");
        assert!(shown.contains("Measured again"), "{shown}");
    }
    let others = comment(&[fixtures::budgets(), fixtures::budgets()]);
    assert_eq!(others.matches("### ").count(), 2, "no revisions: {others}");

    let mut within = fixtures::budgets();
    within.arms[2].budgets.clear();
    within.arms[3].budgets.clear();
    assert!(comment(&[within.clone()]).contains(": within its budgets, with a warning\n"));
    within.arms[4].budgets[1].warns = false;
    assert!(comment(&[within.clone()]).contains(": within its budgets\n"));
    within.validity = fixtures::suspect().validity;
    assert!(
        comment(&[within.clone()]).contains(": no verdict\n"),
        "ended too soon"
    );
    within
        .validity
        .reasons
        .retain(|reason| reason.code() != WarningCode::RunIncomplete);
    let suspect = comment(&[within]);
    assert!(
        suspect.contains(": within its budgets, suspect\n"),
        "{suspect}"
    );
    assert!(
        suspect.contains("(suspect): "),
        "with its reasons: {suspect}"
    );
}
