//! Findings that do not hold when adjusted for their family.

use windage_analysis::Seat;
use windage_report::csv;

use crate::{fixtures, plain, renderings, unwrapped};

#[test]
fn findings_without_an_adjusted_interval_are_marked() {
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
        "(but not when adjusted for all 4 comparisons)",
        "costs‡",
        "negligible‡",
        "‡ no longer holds when adjusted for all comparisons of its family: 4 of CPU per request, \
         28 of the other metrics (Bonferroni, 95 %)",
    ] {
        assert!(report.contains(expected), "{expected:?} not in {report}");
    }
    let rows = csv(&[analysis]).unwrap();
    assert!(rows.contains(",primary,4,,,,,"), "{rows}");
}

#[test]
fn findings_that_do_not_hold_when_adjusted_are_marked() {
    let report = plain(&fixtures::family(), 80);
    let marked = [
        // A cost by itself; inconclusive when adjusted for four comparisons.
        "spans only         61.8  +0.64  +1.1  +0.6 to +1.6  costs‡",
        // By itself it excludes zero.
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
    let legend = "‡ no longer holds when adjusted for all comparisons of its family: 4 of CPU per \
                  request, 28 of the other metrics (Bonferroni, 95 %)";
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
fn findings_that_hold_when_adjusted_are_named() {
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
    let legend = "findings also hold when adjusted for all comparisons of their family: 4 of CPU \
                  per request, 28 of the other metrics (Bonferroni, 95 %)";
    assert!(unwrapped(&report).contains(legend), "{report}");
    assert!(!report.contains('‡'), "{report}");
}
