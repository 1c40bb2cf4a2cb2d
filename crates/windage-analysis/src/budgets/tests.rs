use windage_model::{BudgetVerdict, Metric, Role};
use windage_record::StopScope;

use super::*;
use crate::analyse::analyse;
use crate::fixture::Recorded;
use crate::fixture::in_turns::records_with_turns;
use crate::monitor::Monitor;
use windage_model::Until;

const TREATMENT: ArmIndex = ArmIndex(2);

fn budget(metric: Metric, at_most: Limit) -> Budget {
    Budget {
        of: BudgetOf::Cost,
        metric,
        arms: vec![TREATMENT],
        at_most,
        warn_above: None,
        overridden: None,
        confidence: 0.95,
    }
}

/// The budgets of the treatment, which costs 20 % or 24 µs more per request.
fn judged_in(mut run: Recorded, budgets: &[Budget]) -> Vec<BudgetAnalysis> {
    run.manifest.budgets = budgets.to_vec();
    let records = run.gathered();
    let analysis = analyse(&records, std::iter::empty(), std::iter::empty());
    assert!(analysis.arms[0].budgets.is_empty() && analysis.arms[1].budgets.is_empty());
    analysis.arms[TREATMENT.get()].budgets.clone()
}

#[test]
fn a_cost_is_within_exceeded_or_undecided() {
    use BudgetVerdict::{Exceeded, Undecided, Within};
    let cpu = Metric::CpuPerRequest;
    let table = [
        (Limit::Percent(25.0), Within),
        (Limit::Percent(15.0), Exceeded),
        (Limit::Percent(20.0), Undecided),
        (Limit::InUnit(30.0), Within),
        (Limit::InUnit(18.0), Exceeded),
        (Limit::InUnit(24.0), Undecided),
    ];
    for (at_most, expected) in table {
        let [found] = &judged_in(records_with_turns(14, 1), &[budget(cpu, at_most)])[..] else {
            panic!("one budget")
        };
        let cost = found.cost.as_ref().unwrap();
        assert_eq!(found.verdict, expected, "{at_most:?}: {cost:?}");
        assert!(
            (cost.confidence - 0.90).abs() < 1e-12,
            "each end is a bound of 95 %"
        );
        assert_eq!(found.launches_needed, None);
        if expected != Undecided {
            assert_eq!(found.time_needed_s, None, "{at_most:?}");
        }
    }
}

#[test]
fn a_cost_between_both_limits_is_a_warning() {
    use BudgetVerdict::{Exceeded, Undecided, Within};
    // The treatment costs 20 %.
    let table = [
        (25.0, 15.0, Within, true),
        (25.0, 20.0, Within, false),
        (20.0, 15.0, Undecided, true),
        (15.0, 10.0, Exceeded, false),
    ];
    for (at_most, above, verdict, warns) in table {
        let budget = Budget {
            warn_above: Some(Limit::Percent(above)),
            ..budget(Metric::CpuPerRequest, Limit::Percent(at_most))
        };
        let [found] = &judged_in(records_with_turns(14, 1), &[budget])[..] else {
            panic!("one budget")
        };
        assert_eq!(
            (found.verdict, found.warns),
            (verdict, warns),
            "{at_most} {above}"
        );
    }
}

#[test]
fn an_own_figure_needs_no_baseline() {
    use BudgetVerdict::{Exceeded, Undecided, Within};
    // 144 µs, which is 24 more than the baseline's.
    let own = |metric, at_most| Budget {
        of: BudgetOf::Own,
        ..budget(metric, Limit::InUnit(at_most))
    };
    let table = [(160.0, Within), (130.0, Exceeded), (144.0, Undecided)];
    for (at_most, verdict) in table {
        let budget = own(Metric::CpuPerRequest, at_most);
        let [found] = &judged_in(records_with_turns(14, 1), &[budget])[..] else {
            panic!("one budget")
        };
        let cost = found.cost.as_ref().unwrap();
        assert!((cost.estimate - 144.0).abs() < 2.0, "{cost:?}");
        assert_eq!(found.verdict, verdict, "{at_most}: {cost:?}");
    }
    let few = judged_in(records_with_turns(3, 1), &[own(Metric::CpuPerRequest, 1e3)]);
    assert_eq!(few[0].verdict, Undecided);
    assert!(few[0].launches_needed.is_some(), "{few:?}");
}

#[test]
fn a_narrow_miss_says_how_much_longer_it_takes() {
    let cpu = Metric::CpuPerRequest;
    let found = judged_in(
        records_with_turns(14, 1),
        &[budget(cpu, Limit::Percent(99.0))],
    );
    let cost = found[0].cost.clone().unwrap();
    // A limit between the estimate and its upper bound.
    let near = 100.0 * (cost.estimate + 0.7 * (cost.high - cost.estimate));
    let found = judged_in(
        records_with_turns(14, 1),
        &[budget(cpu, Limit::Percent(near))],
    );
    assert_eq!(found[0].verdict, BudgetVerdict::Undecided);
    let time_s = found[0].time_needed_s.unwrap();
    assert!(time_s > 0.0 && time_s.is_finite(), "{time_s}");
}

#[test]
fn too_few_launches_decide_nothing() {
    let generous = budget(Metric::CpuPerRequest, Limit::Percent(99.0));
    for launches in [1, 12] {
        let found = judged_in(
            records_with_turns(launches, 1),
            std::slice::from_ref(&generous),
        );
        assert_eq!(found[0].verdict, BudgetVerdict::Undecided, "{launches}");
        assert_eq!(found[0].launches_needed, Some(13), "{launches}");
    }
}

#[test]
fn what_was_not_measured_is_never_within() {
    let of_times = budget(Metric::ResponseTimeP99, Limit::Percent(99.0));
    let of_idle = budget(Metric::CpuIdle, Limit::Percent(99.0));
    let found = judged_in(records_with_turns(14, 1), &[of_times, of_idle]);
    for of in &found {
        assert_eq!(of.verdict, BudgetVerdict::Undecided, "{of:?}");
        assert!(of.cost.is_err(), "{of:?}");
    }
}

#[test]
fn throughput_that_is_lost_is_a_cost() {
    let fast = Interval {
        estimate: -0.10,
        low: -0.12,
        high: -0.08,
        confidence: 0.9,
        method: windage_model::Method::TotalsByLaunch,
    };
    let cost = on_the_side_of_cost(Metric::Throughput, fast);
    assert_eq!((cost.estimate, cost.low, cost.high), (0.10, 0.08, 0.12));
    assert_eq!(on_the_side_of_cost(Metric::CpuPerRequest, fast), fast);
}

#[test]
fn a_run_ends_when_its_budgets_are_decided() {
    let mut decided = Vec::new();
    for (launches, percent) in [(15, 99.0), (16, 99.0), (16, 20.0), (30, 1.0)] {
        let run = records_with_turns(launches, 1);
        let mut manifest = run.manifest.clone();
        manifest.budgets = vec![budget(Metric::CpuPerRequest, Limit::Percent(percent))];
        manifest.design.stop = Some(StopScope {
            until: Until::Budgets,
            within_ns: 60_000_000_000,
        });
        let mut monitor = Monitor::new(manifest).unwrap();
        run.launches
            .iter()
            .for_each(|launch| monitor.launched(launch));
        monitor.block_done(&run.measured());
        run.ends.iter().for_each(|end| monitor.launch_ended(end));
        decided.push(monitor.enough().is_some());
    }
    assert_eq!(decided, [false, true, false, true]);
}

/// The second arm is the baseline at the head, and the telemetry's arm at the base as well: it costs
/// nothing, and the treatment 20 % or 24 µs.
#[test]
fn a_change_is_the_cost_at_the_head_less_that_at_the_base() {
    use BudgetVerdict::{Exceeded, Undecided, Within};
    let table = [
        (Limit::Percent(25.0), Within),
        (Limit::Percent(15.0), Exceeded),
        (Limit::Percent(20.0), Undecided),
        (Limit::InUnit(30.0), Within),
        (Limit::InUnit(18.0), Exceeded),
    ];
    for (at_most, expected) in table {
        let mut run = records_with_turns(14, 1);
        run.manifest.arms[1].role = Role::Treatment;
        run.manifest.arms[1].at_base = Some(ArmIndex::BASELINE);
        run.manifest.arms[2].at_base = Some(ArmIndex(1));
        run.manifest.budgets = vec![Budget {
            of: BudgetOf::Change,
            arms: vec![ArmIndex(1), TREATMENT],
            ..budget(Metric::CpuPerRequest, at_most)
        }];
        let records = run.gathered();
        let analysis = analyse(&records, std::iter::empty(), std::iter::empty());
        let [of_service, of_telemetry] = [1, 2].map(|arm: usize| &analysis.arms[arm].budgets[0]);
        assert_eq!(of_telemetry.verdict, expected, "{at_most:?}");
        assert_eq!(of_service.verdict, Within, "{at_most:?}");
        let cost = of_telemetry.cost.as_ref().unwrap().estimate;
        let (truth, near) = match at_most {
            Limit::Percent(_) => (0.2, 0.02),
            Limit::InUnit(_) => (24.0, 2.4),
        };
        assert!((cost - truth).abs() < near, "{cost}");
    }
}

#[test]
fn without_two_revisions_a_change_is_undecided() {
    let change = Budget {
        of: BudgetOf::Change,
        ..budget(Metric::CpuPerRequest, Limit::Percent(1.0))
    };
    let [found] = &judged_in(records_with_turns(14, 1), &[change])[..] else {
        panic!("one budget")
    };
    assert_eq!(found.verdict, BudgetVerdict::Undecided);
    assert_eq!(found.cost, Err(Missing::NoValue));
}

#[test]
fn a_surplus_of_telemetry_decides_nothing_about_its_loss() {
    let table = [
        (1_000, BudgetVerdict::Within),
        (900, BudgetVerdict::Exceeded),
        (1_100, BudgetVerdict::Undecided),
    ];
    for (spans, verdict) in table {
        let mut run = records_with_turns(14, 1);
        run.manifest.arms[TREATMENT.get()].expected = Some(windage_model::Expected {
            spans_per_request: Some(1.0),
            ..windage_model::Expected::default()
        });
        let of_launch = |launch| windage_record::Delivered {
            launch,
            arm: TREATMENT,
            completed_requests: 1_000,
            spans,
            ..windage_record::Delivered::default()
        };
        run.delivered = (0..14).map(of_launch).collect();
        let lost = budget(Metric::TelemetryLost, Limit::InUnit(0.01));
        let found = judged_in(run, &[lost]);
        assert_eq!(found[0].verdict, verdict, "{spans}: {found:?}");
    }
}
