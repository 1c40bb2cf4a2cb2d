//! The cost to bystanders.

use super::*;
use crate::MissingCode;
use windage_model::{LoadModel, Verdict};

#[test]
fn a_bystander_is_compared_with_the_control_and_the_watched_arm() {
    // A single launch has an interval and no verdict.
    for (rounds, blocks, has_verdict) in [(14, 1, true), (1, 8, false)] {
        let analysis = analysed(&run(rounds, blocks));
        let found = arm(&analysis, BYSTANDER).bystander.as_ref().unwrap();
        assert_eq!(found.bystander_of.as_str(), "agent");
        assert_eq!(found.control.as_str(), "control");
        for (against, us, share, verdict) in [
            (&found.against_control, 3.0, 0.06, Verdict::Costs),
            (&found.against_watched, -9.0, -9.0 / 62.0, Verdict::Saves),
        ] {
            let of = against.difference.as_ref().unwrap();
            let relative = of.relative.as_ref().unwrap();
            assert!((of.absolute.estimate - us).abs() < 0.1, "{of:?}");
            assert!((relative.estimate - share).abs() < 0.002, "{of:?}");
            let verdict = if has_verdict {
                verdict
            } else {
                Verdict::Inconclusive
            };
            assert_eq!(against.verdict, Some(verdict));
            assert_eq!(against.rounds, rounds as usize);
        }
    }
}

#[test]
fn probes_on_the_watched_service_alone_leave_the_bystander_as_it_is() {
    let mut quiet = run(14, 2);
    for window in &mut quiet.windows {
        if window.place.arm == BYSTANDER {
            window.cpu.in_window_ns = window.cpu.in_window_ns.map(|ns| ns * 50 / 53);
        }
    }
    let analysis = analysed(&quiet);
    let found = arm(&analysis, BYSTANDER).bystander.as_ref().unwrap();
    assert_eq!(found.against_control.verdict, Some(Verdict::Negligible));
}

/// A ladder that starts at the control: the cost to bystanders, and what another stage of theirs
/// adds.
#[test]
fn stages_may_begin_at_the_control() {
    let mut ladder = run(5, 2);
    ladder.manifest.arms[BYSTANDER.get()].adds_to = Some(ArmIndex::CONTROL);
    let analysis = analysed(&ladder);
    let [stages] = &analysis.stages[..] else {
        panic!("one chain: {:?}", analysis.stages)
    };
    assert_eq!((stages.from.as_str(), stages.rounds), ("control", 5));
    let cost = &stages.stages[0].cost.as_ref().unwrap().absolute;
    let bystander = arm(&analysis, BYSTANDER).bystander.as_ref().unwrap();
    let against = bystander.against_control.difference.as_ref().unwrap();
    assert!((cost.estimate - 3.0).abs() < 0.1, "{cost:?}");
    assert!((cost.estimate - against.absolute.estimate).abs() < 1e-9);
}

#[test]
fn without_paired_windows_figures_are_missing() {
    let mut run = run(3, 1);
    run.windows
        .retain(|window| window.place.arm != ArmIndex::CONTROL);
    let json = fixture::to_json(&analysed(&run));
    let against = &json["arms"][3]["bystander"]["against_control"];
    assert!(against["relative"].is_null() && against["verdict"].is_null());
    let code = MissingCode::TooFew.as_str();
    assert_eq!(against["missing"]["code"], code, "{against}");
    let watched = &json["arms"][3]["bystander"]["against_watched"];
    assert!(watched["difference_us_per_request"]["low"].is_number());
}

/// In a batch load, bystander cost and probes are per iteration.
#[test]
fn batch_loads_are_compared_per_iteration() {
    let mut run = run(6, 1);
    run.manifest.load.model = LoadModel::Batch;
    let analysis = analysed(&run);
    let found = arm(&analysis, BYSTANDER);
    assert_eq!(found.bystander_of.as_ref().unwrap().as_str(), "agent");
    let of = found.bystander.as_ref().unwrap();
    assert_eq!(of.metric, Metric::CpuPerIteration);
    for (against, us) in [(&of.against_control, 3.0), (&of.against_watched, -9.0)] {
        let absolute = &against.difference.as_ref().unwrap().absolute;
        assert!((absolute.estimate - us).abs() < 0.1, "{absolute:?}");
    }
    let json = &fixture::to_json(&analysis)["arms"];
    assert_eq!(json[3]["bystander"]["metric"], "cpu_per_iteration");
    let watched = arm(&analysis, WATCHED);
    assert_eq!(watched.bystander_of, None);
    let probes = watched.agent.as_ref().unwrap().probes.as_ref().unwrap();
    let of_metric = &watched.metrics[&Metric::CpuPerIteration].difference;
    let of_metric = &of_metric.as_ref().unwrap().absolute;
    assert_eq!(&probes.service_us_per_request, of_metric);
    let outside = probes.outside_bpf_us_per_request.estimate;
    assert!((outside - 10.8).abs() < 0.1, "{outside}");
}

/// Without a control there is no comparison, but the arm is still not a treatment.
#[test]
fn a_bystander_without_a_control_is_still_a_bystander() {
    let mut run = run(3, 1);
    run.manifest.arms[ArmIndex::CONTROL.get()].role = Role::Treatment;
    let analysis = analysed(&run);
    let found = arm(&analysis, BYSTANDER);
    assert!(found.bystander.is_none() && found.bystander_of.is_some());
}
