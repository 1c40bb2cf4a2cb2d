//! Verdicts, families and sequences of comparisons with known scatter.

use std::collections::BTreeMap;

use super::*;
use crate::compare::by_launch;
use crate::scatter::Pace;
use crate::{Family, MissingCode};
use windage_model::Order;

fn interval(low: f64, high: f64, confidence: f64) -> Interval {
    Interval {
        estimate: f64::midpoint(low, high),
        low,
        high,
        confidence,
        method: windage_model::Method::MeanByLaunch,
    }
}

fn rules(sequence: bool) -> Rules {
    Rules {
        order: Order::Mirrored,
        margin: 0.005,
        sequence,
        pace: Pace {
            costs: None,
            whole_s: Some(60.0),
        },
    }
}

#[test]
fn verdicts_follow_their_rules() {
    use Direction::{Higher, Lower};
    use Verdict::{Costs, Inconclusive, Negligible, Saves};
    // 95 % interval, 90 % interval, direction, verdict at a margin of 0.005
    let table = [
        (0.010, 0.020, 0.011, 0.019, Lower, Costs),
        (0.010, 0.020, 0.011, 0.019, Higher, Saves),
        (-0.020, -0.010, -0.019, -0.011, Lower, Saves),
        (-0.020, -0.010, -0.019, -0.011, Higher, Costs),
        (-0.004, 0.004, -0.003, 0.003, Lower, Negligible),
        // Excludes zero but is within the margin: negligible, and `exceeds_zero` is true.
        (0.001, 0.004, 0.002, 0.003, Lower, Negligible),
        // The 95 % interval exceeds the margin, the 90 % interval does not.
        (-0.006, 0.004, -0.004, 0.003, Lower, Negligible),
        (-0.010, 0.010, -0.008, 0.008, Lower, Inconclusive),
        (0.004, 0.020, 0.006, 0.019, Lower, Inconclusive),
    ];
    for (low, high, low_90, high_90, direction, verdict) in table {
        let (at_95, at_90) = (interval(low, high, 0.95), interval(low_90, high_90, 0.90));
        let judged = judge(&at_95, &at_90, direction, 0.005);
        assert_eq!(judged, verdict, "{low} {high} {direction:?}");
    }
}

#[test]
fn differences_without_ratio_have_no_verdict() {
    let arm = BTreeMap::from([(0, 5.0), (1, 6.0), (2, 7.0)]);
    let baseline = BTreeMap::from([(0, 0.0), (1, 0.0), (2, 0.0)]);
    let rules = rules(false);
    let compared = by_launch(&arm, &baseline, Scale::Difference, 9);
    let wire = Metric::WireBytesPerRequest;
    let result = conclude(wire, ArmIndex(2), rules, None, compared);
    let found = result.difference.as_ref().unwrap();
    assert!((found.absolute.estimate - 6.0).abs() < 1e-12);
    assert_eq!((result.verdict, result.exceeds_zero()), (None, Some(true)));
    let ratio = by_launch(&arm, &baseline, Scale::LogRatio, 9);
    let result = conclude(Metric::RssSteady, ArmIndex(2), rules, None, ratio);
    assert_eq!(
        result.difference.unwrap_err().code(),
        MissingCode::BaselineZero
    );
}

/// Launches whose ratio has the given mean and scatter.
fn compared(launches: u32, cost: f64, scatter: f64) -> Comparison {
    let side = |of: &dyn Fn(f64) -> f64| -> BTreeMap<u32, f64> {
        let sign = |i: u32| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
        (0..launches).map(|i| (i, of(sign(i)))).collect()
    };
    let arm = side(&|sign| (cost + sign * scatter).exp());
    by_launch(&arm, &side(&|_| 1.0), Scale::LogRatio, 9)
}

#[test]
fn a_family_widens_intervals_and_may_revoke_a_verdict() {
    let seat = |comparisons| {
        Some(Seat {
            family: Family::Primary,
            comparisons,
        })
    };
    let of = |comparisons| {
        let compared = compared(14, 0.01, 0.005);
        conclude(
            Metric::RssSteady,
            ArmIndex(2),
            rules(false),
            seat(comparisons),
            compared,
        )
    };
    let (alone, among) = (of(1), of(20));
    assert_eq!(alone.verdict, Some(Verdict::Costs));
    let in_family = alone.inference.in_family.unwrap();
    assert_eq!(Some(in_family.interval), alone.difference.unwrap().relative);
    assert_eq!(in_family.verdict, Some(Verdict::Costs));
    assert_eq!(
        among.verdict,
        Some(Verdict::Costs),
        "the verdict on its own stays"
    );
    let in_family = among.inference.in_family.unwrap();
    assert_eq!(in_family.verdict, Some(Verdict::Inconclusive));
    assert!((in_family.interval.confidence - 0.9975).abs() < 1e-9);
}

#[test]
fn inconclusive_verdicts_have_a_time_needed() {
    let time_needed_s = |launches, cost, sequence| {
        let compared = compared(launches, cost, 0.027);
        let result = conclude(
            Metric::RssSteady,
            ArmIndex(2),
            rules(sequence),
            None,
            compared,
        );
        (result.verdict, result.inference.time_needed_s)
    };
    let (verdict, fixed_s) = time_needed_s(16, 0.015, false);
    assert_eq!(verdict, Some(Verdict::Inconclusive));
    // The half-width of 1.5 % has to become 1 %: (1.5)² times as long, or slightly less because
    // degrees of freedom grow.
    assert!((40.0..100.0).contains(&fixed_s.unwrap()), "{fixed_s:?}");
    let (_, sequence_s) = time_needed_s(16, 0.015, true);
    assert!(
        sequence_s > fixed_s,
        "looking at any time needs longer: {sequence_s:?}"
    );
    assert_eq!(time_needed_s(16, 0.1, false), (Some(Verdict::Costs), None));
    let at_the_limit = time_needed_s(16, 0.005f64.ln_1p(), false);
    assert_eq!(at_the_limit, (Some(Verdict::Inconclusive), None));
    let (verdict, too_few) = time_needed_s(12, 0.015, false);
    assert_eq!(
        (verdict, too_few),
        (Some(Verdict::Inconclusive), None),
        "their variance is known too poorly"
    );
}

#[test]
fn a_run_that_may_stop_early_has_wider_intervals_or_none() {
    let of = |launches, sequence| {
        let compared = compared(launches, 0.01, 0.005);
        conclude(
            Metric::RssSteady,
            ArmIndex(2),
            rules(sequence),
            None,
            compared,
        )
        .difference
    };
    let half = |of: &Result<Difference, Missing>| {
        of.as_ref().unwrap().relative.as_ref().unwrap().half_width()
    };
    assert!(half(&of(20, true)) > 1.3 * half(&of(20, false)));
    assert_eq!(of(3, true).unwrap_err().code(), MissingCode::TooFew);
    assert!(of(3, false).is_ok());
}

#[test]
fn a_claim_unbounded_in_its_family_does_not_hold_there() {
    let of = |launches, cost, seat| {
        let compared = compared(launches, cost, 0.005);
        conclude(Metric::RssSteady, ArmIndex(2), rules(true), seat, compared)
    };
    let seat = Some(Seat {
        family: Family::Secondary,
        comparisons: 200,
    });
    // launches, cost, seat, whether there is an interval on its own, and in the family, whether the
    // claim holds there, why
    let table = [
        (40, 0.1, seat, true, true, Some(true), "long enough"),
        (
            8,
            0.1,
            seat,
            true,
            false,
            Some(false),
            "unbounded in the family",
        ),
        (8, 0.1, None, true, false, None, "the control has no family"),
        (8, 0.0, seat, true, false, None, "nothing is claimed"),
        (3, 0.1, seat, false, false, None, "unbounded on its own"),
    ];
    for (launches, cost, seat, has_own, has_both, holds, why) in table {
        let found = of(launches, cost, seat);
        assert_eq!(found.difference.is_ok(), has_own, "{why}");
        assert_eq!(found.inference.in_family.is_some(), has_both, "{why}");
        let is_endless = has_own && !has_both;
        let endless = found.inference.endless_in;
        assert_eq!(endless, seat.filter(|_| is_endless), "{why}");
        let expected = seat.filter(|_| has_own);
        assert_eq!(found.inference.seat(), expected, "{why}");
        assert_eq!(found.holds_in_family(), holds, "{why}");
    }
}
