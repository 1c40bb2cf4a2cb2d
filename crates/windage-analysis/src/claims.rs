//! Claims: whether what was published about an arm is true of what was measured.

use windage_model::{ArmIndex, Claim, ClaimVerdict, Says};

use crate::ClaimAnalysis;
use crate::budgets::Cost;
use crate::compare::Comparison;
use crate::family::Comparisons;
use crate::run::Run;

/// Every claim about an arm, in the plan's order.
pub(crate) fn of_arm(
    run: &Run<'_>,
    arm: ArmIndex,
    comparisons: &Comparisons,
) -> Vec<ClaimAnalysis> {
    let all = run.records.manifest.claims.iter();
    let held = all.filter(|claim| claim.arms.contains(&arm));
    held.map(|claim| judged(run, arm, claim, comparisons.get(&claim.metric)))
        .collect()
}

fn judged(run: &Run<'_>, arm: ArmIndex, claim: &Claim, of: Option<&Comparison>) -> ClaimAnalysis {
    let figure = claim.says.figure();
    let found = Cost::of(run, arm, of, claim.metric, figure, claim.confidence);
    ClaimAnalysis {
        verdict: verdict(claim, found.bounds()),
        claim: claim.clone(),
        launches_needed: found.launches_needed,
        cost: found.cost,
    }
}

fn verdict(claim: &Claim, bounds: Option<(f64, f64)>) -> ClaimVerdict {
    if !claim.is_comparable() {
        return ClaimVerdict::NotComparable;
    }
    let (least, most) = claimed(claim.says);
    match bounds {
        Some((low, high)) if least <= low && high <= most => ClaimVerdict::Holds,
        Some((low, high)) if high < least || most < low => ClaimVerdict::Refuted,
        _ => ClaimVerdict::Undecided,
    }
}

/// The costs of which a claim is true.
fn claimed(says: Says) -> (f64, f64) {
    let figure = says.figure().value();
    match says {
        Says::AtMost(_) => (f64::NEG_INFINITY, figure),
        Says::AtLeast(_) => (figure, f64::INFINITY),
        Says::About { tolerance, .. } => (figure - tolerance.value(), figure + tolerance.value()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::analyse;
    use crate::fixture::in_turns::records_with_turns;
    use windage_model::{Limit, Metric, Publication};

    const TREATMENT: ArmIndex = ArmIndex(2);

    fn claim(metric: Metric, says: Says) -> Claim {
        Claim {
            publication: Publication {
                text: "It costs next to nothing.".to_owned(),
                source: "https://example.org/".to_owned(),
                date: None,
                version: None,
                differs: None,
            },
            metric,
            arms: vec![TREATMENT],
            says,
            confidence: 0.95,
        }
    }

    /// The treatment costs 20 % or 24 µs more per request.
    fn judged_in(launches: u32, claim: Claim) -> ClaimAnalysis {
        let mut run = records_with_turns(launches, 1);
        run.manifest.claims = vec![claim];
        let records = run.gathered();
        let analysis = analyse(&records, std::iter::empty(), std::iter::empty());
        assert!(analysis.arms[0].claims.is_empty());
        analysis.arms[TREATMENT.get()].claims[0].clone()
    }

    #[test]
    fn a_claim_holds_is_refuted_or_open() {
        use ClaimVerdict::{Holds, NotComparable, Refuted, Undecided};
        use Limit::{InUnit, Percent};
        let about = |value, tolerance| Says::About {
            value: Percent(value),
            tolerance: Percent(tolerance),
        };
        let table = [
            (Says::AtMost(Percent(25.0)), Holds),
            (Says::AtMost(Percent(15.0)), Refuted),
            (Says::AtMost(Percent(20.0)), Undecided),
            (Says::AtLeast(Percent(15.0)), Holds),
            (Says::AtLeast(Percent(25.0)), Refuted),
            (about(22.0, 5.0), Holds),
            (about(15.0, 2.0), Refuted),
            (about(30.0, 2.0), Refuted),
            (about(22.0, 2.0), Undecided),
            (about(20.0, 0.0), Undecided),
            // µs on another machine.
            (Says::AtMost(InUnit(30.0)), NotComparable),
        ];
        for (says, expected) in table {
            let found = judged_in(14, claim(Metric::CpuPerRequest, says));
            assert_eq!(found.verdict, expected, "{says:?}: {:?}", found.cost);
            assert!(found.cost.is_ok(), "the figure is shown all the same");
        }
    }

    #[test]
    fn what_is_not_known_neither_holds_nor_is_refuted() {
        let most = Says::AtMost(Limit::Percent(99.0));
        let few = judged_in(12, claim(Metric::CpuPerRequest, most));
        assert_eq!(few.verdict, ClaimVerdict::Undecided);
        assert_eq!(few.launches_needed, Some(13));
        let unmeasured = judged_in(14, claim(Metric::ResponseTimeP99, most));
        assert_eq!(unmeasured.verdict, ClaimVerdict::Undecided);
        assert!(unmeasured.cost.is_err());
    }

    #[test]
    fn sizes_and_numbers_are_the_same_on_any_machine() {
        let table = [
            (Metric::RssPeak, true),
            (Metric::ContextSwitchesPerRequest, true),
            (Metric::CpuPerRequest, false),
            (Metric::CpuIdle, false),
            (Metric::Throughput, false),
            (Metric::StartupTime, false),
        ];
        for (metric, expected) in table {
            let of = claim(metric, Says::AtMost(Limit::InUnit(1.0)));
            assert_eq!(of.is_comparable(), expected, "{metric:?}");
            let of_a_share = claim(metric, Says::AtMost(Limit::Percent(1.0)));
            assert!(of_a_share.is_comparable(), "{metric:?}");
        }
    }
}
