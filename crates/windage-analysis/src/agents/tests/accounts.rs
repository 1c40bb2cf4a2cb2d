//! What agents use, and what the kernel's statistics count of it.

use serde_json::Value;
use windage_model::Method;

use super::*;
use crate::agents::metrics::Attachment;
use crate::agents::probes::{account, bpf_use};
use crate::{AgentUse, MetricAnalysis, Missing};

#[test]
fn metrics_of_attachments_are_compared_with_zero() {
    // metric, true value, tolerance for the noise of six attachments
    let table = [
        (Metric::AgentCpu, 0.2, 0.01),
        (Metric::AgentCpuPerRequest, 23.0, 0.01),
        (Metric::KernelThreadsCpuPerRequest, 0.5, 0.01),
        (Metric::AgentRssSteady, 80e6, 2e6),
        (Metric::AgentRssPeak, 160e6, 4e6),
        (Metric::AgentAttachTime, 2.0, 0.05),
        (Metric::AgentAttachCpu, 1.2, 0.03),
        (Metric::BpfNsPerRequest, 1200.0, 40.0),
        (Metric::BpfRunsPerRequest, 3.0, 0.1),
    ];
    for (rounds, blocks) in [(6, 1), (1, 6)] {
        let analysis = analysed(&run(rounds, blocks));
        for (metric, truth, off) in table {
            let found = &arm(&analysis, WATCHED).metrics[&metric];
            let of = found.difference.as_ref().unwrap();
            let name = metric.as_str();
            assert!((of.absolute.estimate - truth).abs() < off, "{name} {of:?}");
            assert_eq!(found.exceeds_zero(), Some(true), "{name}");
            assert_eq!((of.relative.as_ref(), found.verdict), (None, None));
            let by_launch = matches!(of.absolute.method, Method::MeanByLaunch);
            assert_eq!(by_launch, rounds > 1, "{name} {of:?}");
            assert_eq!(found.rounds, rounds as usize, "{name}");
            let baseline = &arm(&analysis, ArmIndex::BASELINE).metrics[&metric];
            let zero = metric != Metric::KernelThreadsCpuPerRequest;
            assert_eq!(baseline.arm == Some(0.0), zero, "{name}");
        }
    }
}

#[test]
fn attachments_of_a_single_launch_are_replicates() {
    let analysis = analysed(&run(1, 6));
    let found = &arm(&analysis, WATCHED).metrics[&Metric::AgentAttachTime];
    let of = found.difference.as_ref().unwrap();
    assert_eq!(of.absolute.method, Method::MeanByAttachment);
    let alone = analysed(&run(1, 1));
    let found = &arm(&alone, WATCHED).metrics[&Metric::AgentAttachTime];
    assert!(found.difference.is_err(), "one attachment has no scatter");
    assert!(found.arm.is_some());
}

#[test]
fn other_plans_and_arms_have_no_agent_metrics() {
    let mut plain = run(3, 1);
    plain.manifest.arms[2].agents.clear();
    plain.manifest.arms[3].bystander_of = None;
    let analysis = analysed(&plain);
    for of in &analysis.arms {
        assert!(OF_AGENTS.iter().all(|m| !of.metrics.contains_key(m)));
        assert!(of.agent.is_none() && of.bystander.is_none() && of.bill.is_some());
    }
    let analysis = analysed(&run(3, 1));
    for index in [ArmIndex::CONTROL, BYSTANDER] {
        let of = arm(&analysis, index);
        let found = OF_AGENTS.iter().filter(|m| of.metrics.contains_key(m));
        let found: Vec<_> = found.collect();
        assert_eq!(found, [&Metric::KernelThreadsCpuPerRequest], "{}", of.id);
        assert!(of.agent.is_none());
    }
}

/// A run recorded before agents were supported: no attachments, nothing beside windows.
#[test]
fn older_runs_have_what_was_recorded() {
    let mut old = fixture::records(3);
    old.reported.clear();
    let analysis = analysed(&old);
    let json = fixture::to_json(&analysis);
    for of in json["arms"].as_array().unwrap() {
        assert!(of["agent"].is_null() && of["bystander"].is_null());
        let kernel_threads = &of["bill"]["lines"][4];
        assert_eq!(kernel_threads["item"], "kernel_threads");
        assert!(kernel_threads["arm_us_per_request"].is_null());
    }
    assert_eq!(json["fidelity_curve"], serde_json::json!([]));
}

fn agent(run: &Recorded) -> AgentUse {
    arm(&analysed(run), WATCHED).agent.clone().unwrap()
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("no number: {value}"))
}

fn close(found: f64, expected: f64) {
    let off = (found - expected).abs();
    assert!(off <= 1e-9 * expected.abs().max(1.0), "{found} {expected}");
}

/// Each figure follows from those reported with it, in the units of their names.
#[test]
fn figures_can_be_recomputed_from_their_parts() {
    let json = fixture::to_json(&analysed(&run(6, 2)));
    let of = &json["arms"][2]["agent"];
    let cycles = of["cycles"].as_array().unwrap();
    assert_eq!((cycles.len(), &of["attachments"]), (12, &12.into()));
    let sum = |key: &str| cycles.iter().map(|cycle| number(&cycle[key])).sum::<f64>();
    let up = &of["up"];
    close(
        number(&up["cpu_us_per_request"]["estimate"]),
        (sum("up_cpu_s") - sum("bystanders_cpu_s")) * 1e6 / sum("requests"),
    );
    close(
        number(&up["cpu_cores"]["estimate"]),
        sum("windows_cpu_s") / sum("windows_s"),
    );
    close(
        number(&up["rss_steady_bytes"]["estimate"]),
        sum("rss_steady_bytes") / 12.0,
    );
    let bpf = &of["bpf"];
    let estimate = |key: &str| number(&bpf[key]["estimate"]);
    close(
        estimate("events_per_request"),
        sum("bpf_runs") / sum("statistics_requests"),
    );
    close(
        estimate("ns_per_request"),
        sum("bpf_run_ns") / sum("statistics_requests"),
    );
    close(
        estimate("ns_per_request"),
        estimate("ns_per_event") * estimate("events_per_request"),
    );
    let programs = bpf["programs"].as_array().unwrap();
    let of_programs = |key: &str| programs.iter().map(|of| number(&of[key])).sum::<f64>();
    close(of_programs("ns_per_request"), estimate("ns_per_request"));
    close(
        of_programs("runs_per_request"),
        estimate("events_per_request"),
    );
    for program in programs {
        close(
            number(&program["ns_per_request"]),
            number(&program["ns_per_run"]) * number(&program["runs_per_request"]),
        );
    }
    let probes = &of["probes"];
    let service_us = number(&probes["service_us_per_request"]["estimate"]);
    let difference = &json["arms"][2]["metrics"]["cpu_per_request"]["difference"];
    close(service_us, number(&difference["estimate"]));
    close(
        number(&probes["bpf_us_per_request"]["estimate"]),
        estimate("ns_per_request") / 1e3,
    );
    close(
        number(&probes["outside_bpf_us_per_request"]["estimate"]),
        service_us - estimate("ns_per_request") / 1e3,
    );
    let seen_us = number(&probes["bpf_us_per_request"]["estimate"]);
    close(
        number(&probes["outside_bpf_at_most_us_per_request"]["estimate"]),
        service_us - (seen_us - estimate("statistics_cost_us_per_request")).max(0.0),
    );
    close(
        number(&probes["service_ns_per_event"]["estimate"]),
        service_us * 1e3 / estimate("events_per_request"),
    );
}

#[test]
fn probe_costs_are_recovered() {
    let of = agent(&run(6, 2));
    let probes = of.probes.unwrap();
    // The service costs 12 µs more, of which 1.2 in programs; three events.
    let outside = &probes.outside_bpf_us_per_request;
    assert!((outside.estimate - 10.8).abs() < 0.1, "{outside:?}");
    assert!(outside.low < 10.8 && outside.high > 10.8, "{outside:?}");
    let service = &probes.service_us_per_request;
    assert!(outside.half_width() > service.half_width());
    // Up to 0.4 of the 1.2 in programs may be clock reads.
    let at_most = probes.outside_bpf_at_most_us_per_request.unwrap();
    assert!(at_most.low < 11.2 && at_most.high > 11.2, "{at_most:?}");
    assert!(at_most.half_width() > outside.half_width());
    let event = probes.service_ns_per_event.unwrap();
    assert!((event.estimate - 4_000.0).abs() < 100.0, "{event:?}");
    let bpf = of.bpf.unwrap();
    let names: Vec<&str> = bpf.programs.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["on_end", "on_start", "tick"], "by time");
    assert_eq!((bpf.links, bpf.programs[0].count), (3, 1));
    let statistics = bpf.statistics_cost_us_per_request.unwrap();
    let interval = statistics.interval.unwrap();
    assert!(interval.low < 0.4 && interval.high > 0.4, "{interval:?}");
}

#[test]
fn failed_attachments_are_listed_but_not_counted() {
    let mut spoilt = run(6, 1);
    let first = cycles(&mut spoilt).next().unwrap();
    first.failed = Some("otel ended with status 1.".to_owned());
    first.attach_ns = 60_000_000_000;
    first.up_cpu_ns = Some(u64::MAX / 4);
    let found = agent(&spoilt);
    assert_eq!((found.cycles.len(), found.failed().count()), (6, 1));
    assert!(found.attach.unwrap().time_s.max < 3.0);
    let us = found.up.unwrap().cpu_us_per_request.unwrap().estimate;
    assert!((us - 23.0).abs() < 0.01, "{us}");

    cycles(&mut spoilt).for_each(|cycle| cycle.failed = Some("It ended.".to_owned()));
    let found = agent(&spoilt);
    assert_eq!((found.attach, found.up, found.bpf), (None, None, None));
    let analysis = analysed(&spoilt);
    let metrics = &arm(&analysis, WATCHED).metrics;
    assert!(!metrics.contains_key(&Metric::AgentCpu));
}

#[test]
fn agent_cores_cover_the_time_between_readings() {
    let cores = |run: &Recorded| agent(run).up.unwrap().cpu_cores.unwrap().estimate;
    let older = run(6, 1);
    let mut longer = run(6, 1);
    for window in &mut longer.windows {
        // The load was a quarter of the time over which the agents' CPU was counted.
        window.beside.between_readings_ns = Some(window.duration_ns * 4);
    }
    assert!((cores(&older) / cores(&longer) - 4.0).abs() < 1e-9);
}

#[test]
fn unread_figures_are_absent() {
    let mut blind = run(6, 1);
    for cycle in cycles(&mut blind) {
        cycle.statistics = None;
        cycle.up_cpu_ns = None;
    }
    for window in &mut blind.windows {
        window.beside.agent_ns = None;
    }
    let found = agent(&blind);
    let bpf = found.bpf.unwrap();
    assert_eq!((bpf.ns_per_request, found.probes), (None, None));
    assert_eq!(
        bpf.programs.len(),
        3,
        "the programs are listed all the same"
    );
    assert_eq!(bpf.programs[0].runs_per_request, None);
    let up = found.up.unwrap();
    assert_eq!((up.cpu_cores, up.cpu_us_per_request), (None, None));
    cycles(&mut blind).for_each(|cycle| cycle.programs = None);
    assert_eq!(agent(&blind).bpf, None);

    let mut idle = run(6, 1);
    for cycle in cycles(&mut idle) {
        for program in cycle.programs.iter_mut().flatten() {
            (program.runs, program.run_ns) = (0, 0);
        }
    }
    let found = agent(&idle);
    let bpf = found.bpf.unwrap();
    assert_eq!(bpf.ns_per_request.unwrap().estimate, 0.0);
    assert_eq!(bpf.ns_per_event, None);
    assert!(found.probes.unwrap().service_ns_per_event.is_err());
}

/// One attachment, or several with equal or different runs, in a run that may stop early.
#[test]
fn an_unknown_error_of_runs_is_not_taken_as_zero() {
    // launches, whether each has the same runs per request, the result for the cost per event
    let table = [
        (1, true, Ok(Method::OneError)),
        (2, true, Ok(Method::OneError)),
        (2, false, Err(Missing::FewAttachments)),
        (6, false, Ok(Method::Fieller)),
    ];
    for (launches, is_alike, expected) in table {
        let mut run = run(launches, 1);
        if launches == 2 {
            // Over two launches a confidence sequence is unbounded.
            run.manifest.design.stop = Some(windage_record::StopScope {
                until: windage_model::Until::Known {
                    metric: Metric::CpuPerRequest,
                    half_width: 0.01,
                },
                within_ns: 1,
            });
        }
        for cycle in cycles(&mut run).filter(|_| is_alike) {
            let requests = cycle.statistics.as_mut().unwrap();
            requests.requests = 5_000;
            let programs = cycle.programs.iter_mut().flatten();
            programs.for_each(|program| program.runs = 5_000);
        }
        let attached: Vec<AgentCycle> = cycles(&mut run).map(|of| of.clone()).collect();
        let attached: Vec<Attachment<'_>> = attached.iter().map(bare).collect();
        let of = bpf_use(&attached, rules_of(&run)).unwrap();
        let found = account(&of, &known_cpu(), &attached)
            .unwrap()
            .service_ns_per_event;
        let what = format!("{launches} {is_alike}: {found:?}");
        match (found, expected) {
            (Ok(found), Ok(method)) => assert_eq!(found.method, method, "{what}"),
            (Err(missing), Err(expected)) => assert_eq!(missing, expected, "{what}"),
            _ => panic!("{what}"),
        }
    }
}

fn bare(cycle: &AgentCycle) -> Attachment<'_> {
    Attachment {
        cycle,
        own: Default::default(),
        bystanders_ns: 0.0,
    }
}

fn rules_of(run: &Recorded) -> Rules {
    Rules {
        sequence: run.manifest.design.stop.is_some(),
        ..rules()
    }
}

/// A known CPU per request, whatever the run.
fn known_cpu() -> MetricAnalysis {
    let analysis = analysed(&run(6, 1));
    arm(&analysis, WATCHED).metrics[&Metric::CpuPerRequest].clone()
}
