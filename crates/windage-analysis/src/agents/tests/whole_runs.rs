//! Agents in runs that stop early, and under several loads.

use super::*;
use crate::Monitor;
use windage_model::{LoadModel, Method};
use windage_record::{LoadScope, StopScope};

fn stopping(half_width: f64) -> Recorded {
    let mut run = run(16, 2);
    run.manifest.design.stop = Some(StopScope {
        until: windage_model::Until::Known {
            metric: Metric::CpuPerRequest,
            half_width,
        },
        within_ns: 60_000_000_000,
    });
    run
}

#[test]
fn a_run_in_progress_agrees_with_its_analysis() {
    for (half_width, is_enough) in [(0.02, true), (0.000_01, false)] {
        let run = stopping(half_width);
        let mut monitor = Monitor::new(run.manifest.clone()).unwrap();
        run.launches.iter().for_each(|l| monitor.launched(l));
        monitor.block_done(&run.measured());
        run.ends.iter().for_each(|end| monitor.launch_ended(end));
        assert_eq!(monitor.enough().is_some(), is_enough, "{half_width}");
        let analysis = analysed(&run);
        for of in [WATCHED, BYSTANDER] {
            let cpu = &arm(&analysis, of).metrics[&Metric::CpuPerRequest];
            let relative = cpu.difference.as_ref().unwrap().relative.as_ref().unwrap();
            let is_known = relative.half_width() <= half_width;
            assert_eq!(is_known, is_enough, "{half_width} {relative:?}");
        }
    }
}

#[test]
fn a_run_that_may_stop_has_confidence_sequences_everywhere() {
    let analysis = analysed(&stopping(0.02));
    let watched = arm(&analysis, WATCHED);
    let of_launches = &watched.metrics[&Metric::AgentCpu].difference;
    let up = watched.agent.as_ref().unwrap().up.as_ref().unwrap();
    let of_cycles = up.cpu_cores.as_ref().unwrap().interval.as_ref().unwrap();
    let bill = watched.bill.as_ref().unwrap();
    let of_bill = bill.machine.interval.as_ref().unwrap();
    let methods = [
        of_launches.as_ref().unwrap().absolute.method,
        of_cycles.method,
        of_bill.method,
    ];
    for method in methods {
        assert_eq!(method, Method::SequenceByLaunch);
    }
    let fixed = analysed(&run(16, 2));
    let fixed = arm(&fixed, WATCHED).bill.as_ref().unwrap();
    let fixed = fixed.machine.interval.as_ref().unwrap();
    assert!(of_bill.half_width() > fixed.half_width());
}

/// Rounds take turns between loads, and attachments belong to their launch's load.
#[test]
fn each_load_has_its_own_attachments() {
    let mut run = run(6, 2);
    run.manifest.other_loads = vec![LoadScope {
        regime: Some("open".to_owned()),
        model: LoadModel::Open,
        rate_per_s: Some(10_000.0),
        ..run.manifest.load.clone()
    }];
    let under_loads = run.gathered_by_load();
    assert_eq!(under_loads.len(), 2);
    for (load, records) in (0..).zip(&under_loads) {
        let analysis = analyse(records, std::iter::empty(), std::iter::empty());
        let agent = arm(&analysis, WATCHED).agent.as_ref().unwrap();
        let launches: Vec<u32> = agent.cycles.iter().map(|cycle| cycle.launch).collect();
        assert_eq!(launches, [0, 0, 2, 2, 4, 4].map(|of| of + load));
        let bill = arm(&analysis, WATCHED).bill.as_ref().unwrap();
        assert_eq!(bill.rounds, 3);
    }
}
