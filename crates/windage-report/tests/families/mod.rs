//! What holds on its own, and not when a whole family of comparisons has to.

use windage_analysis::Seat;
use windage_report::csv;

use crate::{fixtures, plain, renderings, unwrapped};

#[test]
fn what_has_no_end_in_its_family_is_marked_as_said_on_its_own() {
    let mut analysis = fixtures::family();
    for arm in &mut analysis.arms[2..] {
        for result in arm.metrics.values_mut() {
            let of = result.inference.in_family.take();
            result.inference.endless_in = of.map(|of| Seat {
                family: of.family,
                comparisons: of.comparisons,
            });
        }
    }
    let report = unwrapped(&plain(&analysis, 80));
    for expected in [
        "(on its own, but not when all 4 comparisons have to hold together)",
        "costs‡",
        "negligible‡",
        "‡ holds on its own, but not when all comparisons of its family have to: 4 of CPU per \
         request, 28 of the other metrics (Bonferroni, 95 %)",
    ] {
        assert!(report.contains(expected), "{expected:?} not in {report}");
    }
    let rows = csv(&[analysis]).unwrap();
    assert!(rows.contains(",primary,4,,,,,"), "{rows}");
}

#[test]
fn what_does_not_hold_in_its_family_is_marked_and_explained() {
    let report = plain(&fixtures::family(), 80);
    let marked = [
        // On its own a cost, among four not told from what does not matter.
        "spans only         61.8  +0.64  +1.1  +0.6 to +1.6  costs‡",
        // On its own it excludes zero.
        "metrics only       61.6  +0.40  +0.7  +0.0 to +1.2  inconclusive‡",
        "switched off       61.2  +0.05  +0.1  −0.4 to +0.6  negligible‡",
        "‡ +6.0 % (+2.0 to +10.0)",
        "‡ −5.0 % (−9.0 to −1.0)",
        "=‡ 0.0 % (−0.5 to +0.5)",
    ];
    for cell in marked.map(unwrapped) {
        assert!(
            unwrapped(&report).contains(&cell),
            "{cell:?} not in {report}"
        );
    }
    let unmarked = ["+8.7 costs ", "= +0.01 % (−0.07 to +0.09)", "~ +1.0 % ("];
    for cell in unmarked {
        assert!(
            unwrapped(&report).contains(cell),
            "{cell:?} not in {report}"
        );
    }
    let legend = "‡ holds on its own, but not when all comparisons of its family have to: \
                  4 of CPU per request, 28 of the other metrics (Bonferroni, 95 %)";
    assert!(unwrapped(&report).contains(legend), "{report}");
}

#[test]
fn a_family_of_one_has_no_mark_and_no_legend() {
    for analysis in [fixtures::stopped(), fixtures::demo()] {
        for (renderer, text) in renderings(&analysis) {
            assert!(
                !text.contains('‡') && !text.contains("Bonferroni"),
                "{renderer}"
            );
        }
    }
}

#[test]
fn what_holds_in_its_family_is_said_to() {
    let mut analysis = fixtures::family();
    let metrics = analysis
        .arms
        .iter_mut()
        .flat_map(|arm| arm.metrics.values_mut());
    for result in metrics {
        let held = result.difference.as_ref().ok().and_then(|d| d.relative);
        if let (Some(of), Some(held)) = (&mut result.inference.in_family, held) {
            of.verdict = result.verdict;
            (of.interval.low, of.interval.high) = (held.low, held.high);
        }
    }
    let report = plain(&analysis, 80);
    let legend = "what is found holds also when all comparisons of its family have to: \
                  4 of CPU per request, 28 of the other metrics (Bonferroni, 95 %)";
    assert!(unwrapped(&report).contains(legend), "{report}");
    assert!(!report.contains('‡'), "{report}");
}
