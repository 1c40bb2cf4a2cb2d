//! Records about a run, a launch or an attachment rather than a window.

use std::error::Error;

use windage_model::{
    AgentCycle, ArmId, ArmIndex, BpfProgram, BpfStatistics, CpuSource, Expected, LevelValue,
    LoadModel,
};
use windage_record::{
    CpuUsed, DesignScope, Launch, LaunchArmEnd, LaunchEnd, LaunchedArm, LoadScope, Manifest,
    ManifestArm, Placed, Profiled, RecordedProfile, RunDir, RunPart, ServiceUsed, ServicesUsed,
    fixtures,
};

use crate::cases::{ArmOf, Case};

pub(crate) const WINDOW_NS: u64 = 100_000_000;
pub(crate) const SETTLE_NS: u64 = 10_000_000;

pub(super) fn manifest(run: &str, case: &Case) -> Manifest {
    let mut loads = (0..)
        .zip(&case.loads)
        .map(|(i, &(model, rate_per_s))| LoadScope {
            regime: (case.loads.len() > 1)
                .then(|| if i == 0 { "half" } else { "saturation" }.to_owned()),
            model,
            rate_per_s,
            connections: if model == LoadModel::Batch { 0 } else { 8 },
            request: (model != LoadModel::Batch).then(|| "GET http://{app}/".to_owned()),
            iterations: (model == LoadModel::Batch).then_some(50),
        });
    let load = loads.next().expect("every case has a load");
    let rounds = case.rounds * u32::try_from(case.loads.len()).unwrap_or(1);
    let any = fixtures::manifest();
    Manifest {
        windage: env!("CARGO_PKG_VERSION").to_owned(),
        run: run.to_owned(),
        plan: case.plan.clone(),
        about: Some(case.about.to_owned()),
        command: "windage run plan.toml".to_owned(),
        started_unix_ns: case.started_unix_s * 1_000_000_000,
        seed: case.seed,
        arms: case
            .indexed()
            .map(|(index, of)| manifest_arm(index, of))
            .collect(),
        load,
        other_loads: loads.collect(),
        design: DesignScope {
            window_ns: WINDOW_NS,
            settle_ns: SETTLE_NS,
            rounds,
            blocks_per_round: case.blocks_per_round,
            warmup_ns: 1_000_000_000,
            drain_ns: 1_000_000_000,
            idle_ns: 1_000_000_000,
            placement: placement(case),
            ..any.design
        },
        ..any
    }
}

/// As in plans with agents on two cores: the agent shares the load generator's core.
fn placement(case: &Case) -> Vec<Placed> {
    let placed = |part, cpu| Placed {
        part,
        cpus: Some(vec![cpu]),
    };
    if !case.arms.iter().any(|of| of.has_agent) {
        return Vec::new();
    }
    vec![
        placed(RunPart::Service("app".to_owned()), 0),
        placed(RunPart::Agent("agent".to_owned()), 1),
        placed(RunPart::Generator, 1),
    ]
}

fn manifest_arm(index: ArmIndex, of: &ArmOf) -> ManifestArm {
    let level = |sampling| ("sampling".to_owned(), LevelValue::Number(sampling));
    ManifestArm {
        name: of.name.clone(),
        levels: of.sampling.map(level).into_iter().collect(),
        expected: of.sampling.map(|sampling| Expected {
            traces_per_request: Some(sampling),
            ..Expected::default()
        }),
        agents: if of.has_agent {
            vec!["agent".to_owned()]
        } else {
            Vec::new()
        },
        agents_have_needs: of.has_agent,
        bystander_of: of.bystander_of.map(ArmIndex),
        ..fixtures::arm(index.0, &of.id)
    }
}

pub(super) fn launch(case: &Case, round: u32, started_ns: u64) -> Launch {
    let arm = |(arm, of): (ArmIndex, &ArmOf)| LaunchedArm {
        arm,
        // Agents watch the baseline's processes.
        instance: if of.has_agent { 0 } else { arm.0 },
        startup_ns: Some(20_000_000),
        cpu_source: CpuSource::CgroupV2,
        cpu_resolution_ns: 1_000,
        startup_cpu_ns: Some(10_000_000),
        warmup_completed: 1_000,
        warmup_outside_ns: 100_000,
        warmup_outside_time_ns: 1_000_000_000,
    };
    Launch {
        launch: round,
        round,
        started_ns,
        arms: case.indexed().map(arm).collect(),
    }
}

pub(super) fn launch_end(case: &Case, launch: u32) -> LaunchEnd {
    let arm = |(arm, of): (ArmIndex, &ArmOf)| LaunchArmEnd {
        arm,
        after_last_window_ns: Some(200_000),
        drain_ns: 1_000_000_000,
        idle_cpu_ns: Some(100_000),
        idle_ns: 1_000_000_000,
        rss_peak_bytes: (!of.is_unreadable).then(|| whole(4.2e7 * (1.0 + of.costs))),
        pss_bytes: (!of.is_unreadable).then_some(30_000_000),
        ..LaunchArmEnd::default()
    };
    LaunchEnd {
        launch,
        arms: case.indexed().map(arm).collect(),
        own_rss_bytes: Some(28_000_000),
    }
}

/// What services used: the first pays for the arm's cost, the others are the same in all arms.
pub(super) fn services(case: &Case, launch: u32) -> Vec<ServicesUsed> {
    if case.services.is_empty() {
        return Vec::new();
    }
    let of_arm = |(arm, of): (ArmIndex, &ArmOf)| {
        let cpu = |number: usize| {
            let own = if number == 0 {
                1.0 + 5.0 * of.costs
            } else {
                1.0 / number as f64
            };
            CpuUsed {
                windows_ns: whole(5e7 * own),
                outside_ns: whole(4e5 * own),
                ..CpuUsed::default()
            }
        };
        let service = |(number, name): (usize, &String)| ServiceUsed {
            service: name.clone(),
            cpu: cpu(number),
        };
        let services: Vec<ServiceUsed> = case.services.iter().enumerate().map(service).collect();
        ServicesUsed {
            launch,
            arm,
            outside_time_ns: 1_000_000_000,
            idle_time_ns: 1_000_000_000,
            whole: CpuUsed {
                windows_ns: services.iter().map(|of| of.cpu.windows_ns).sum(),
                outside_ns: services.iter().map(|of| of.cpu.outside_ns).sum(),
                ..CpuUsed::default()
            },
            services,
            ..ServicesUsed::default()
        }
    };
    case.indexed().map(of_arm).collect()
}

pub(super) fn attachment(launch: u32, block: u32, arm: ArmIndex) -> AgentCycle {
    let program = |id, name: &str, runs| BpfProgram {
        id,
        name: name.to_owned(),
        kind: "kprobe".to_owned(),
        runs,
        run_ns: runs * 300,
    };
    AgentCycle {
        launch,
        block,
        arm,
        attach_ns: 900_000_000,
        attach_cpu_ns: Some(700_000_000),
        attach_rss_peak_bytes: Some(210_000_000),
        up_ns: 2_000_000_000,
        up_cpu_ns: Some(90_000_000),
        requests: 4_000,
        rss_steady_bytes: Some(180_000_000),
        rss_peak_bytes: Some(210_000_000),
        detach_ns: 80_000_000,
        detach_cpu_ns: Some(5_000_000),
        programs: Some(vec![
            program(11 + block * 2, "uprobe_ServeHTTP", 1_000),
            program(12 + block * 2, "uprobe_Returns", 1_000),
        ]),
        links: 2,
        bpf_memory_bytes: 4_000_000,
        statistics: Some(BpfStatistics {
            duration_ns: 500_000_000,
            requests: 1_000,
            cpu_ns: Some(185_000_000),
            cpu_without_ns: Some(180_000_000),
            requests_without: 1_000,
        }),
        left_behind: Vec::new(),
        failed: None,
    }
}

pub(super) fn profiles(run: &RunDir, case: &Case) -> Result<(), Box<dyn Error>> {
    let arms = case
        .indexed()
        .filter(|(arm, of)| arm.get() == 0 || of.sampling == Some(1.0));
    for (_, of) in arms {
        let telemetry = if of.sampling.is_some() {
            "app.main;app.serve;sdk.start_span 90\napp.main;app.serve;sdk.export;sdk.encode 60\n"
        } else {
            ""
        };
        let collapsed = format!(
            "app.main;app.serve;db.query 700\napp.main;app.serve;<lambda> 250\n{telemetry}"
        );
        run.write_profile(&RecordedProfile {
            regime: (case.loads.len() > 1).then(|| "half".to_owned()),
            arm: ArmId::from_text(&of.id).expect("a plain word is an id"),
            profiler: "py-spy".to_owned(),
            version: Some("py-spy 0.4.0".to_owned()),
            rate_hz: 100,
            outcome: Ok(Profiled {
                lasts_ns: 10_000_000_000,
                iterations: 20_000,
                cpu_ns: Some(whole(20_000.0 * case.request_us * 1e3 * (1.0 + of.costs))),
                malformed_lines: 0,
                beyond_limit: 0,
                collapsed,
            }),
        })?;
    }
    Ok(())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "all figures are positive, of at most minutes and megabytes"
)]
pub(crate) fn whole(figure: f64) -> u64 {
    figure as u64
}
