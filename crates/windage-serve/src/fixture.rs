//! A run for tests: three arms and their records.

use std::collections::BTreeMap;

use windage_model::{
    AgentCycle, ArmId, ArmIndex, Backend, Beside, BpfProgram, BpfStatistics, ErrorCounts,
    Exchanges, LoadModel, MachineDelta, Order, Place, Role, StatusClasses, Window, WindowCpu,
};
use windage_record::{DesignScope, Launch, LoadScope, Manifest, ManifestArm};

pub(crate) fn manifest() -> Manifest {
    let arms = [
        ("off", "off", Role::Baseline),
        ("control", "control", Role::Control),
        ("on", "a\"b\n", Role::Treatment),
    ];
    Manifest {
        windage: "0.1.0".to_owned(),
        run: "r".to_owned(),
        plan: "p".to_owned(),
        about: None,
        plan_folder: "/".into(),
        command: "windage run".to_owned(),
        started_unix_ns: 1_700_000_000_000_000_000,
        seed: 1,
        arms: (0..).zip(arms).map(manifest_arm).collect(),
        load: LoadScope {
            regime: None,
            model: LoadModel::Closed,
            rate_per_s: None,
            connections: 8,
            request: None,
            iterations: None,
        },
        other_loads: Vec::new(),
        design: DesignScope {
            window_ns: 100_000_000,
            settle_ns: 10_000_000,
            rounds: 6,
            blocks_per_round: 10,
            warmup_ns: 0,
            drain_ns: 0,
            idle_ns: 0,
            order: Order::Mirrored,
            margin: 0.005,
            subject_cores: 1,
            placement: Vec::new(),
            stop: None,
        },
    }
}

fn manifest_arm((index, (id, name, role)): (u16, (&str, &str, Role))) -> ManifestArm {
    ManifestArm {
        index: ArmIndex(index),
        id: ArmId::from_text(id).unwrap(),
        name: name.to_owned(),
        about: None,
        role,
        levels: BTreeMap::new(),
        expected: None,
        backend: Backend::Ok,
        adds_to: None,
        same_as: None,
        agents: Vec::new(),
        bystander_of: None,
    }
}

pub(crate) fn launch(launch: u32, round: u32) -> Launch {
    Launch {
        launch,
        round,
        ..Launch::default()
    }
}

/// A window of a thousand requests that cost 50 µs each; arm 2 has agents.
pub(crate) fn window(launch: u32, block: u32, arm: u16) -> Window {
    Window {
        place: Place {
            launch,
            round: launch,
            block,
            position: u32::from(arm),
            arm: ArmIndex(arm),
        },
        started_ns: 0,
        duration_ns: 100_000_000,
        stretch_ns: 110_000_000,
        exchanges: Exchanges {
            sent: 1003,
            completed: 1000,
            status: StatusClasses([0, 1000, 0, 0, 0]),
            errors: ErrorCounts {
                timeout: 3,
                ..ErrorCounts::default()
            },
            ..Exchanges::default()
        },
        cpu: WindowCpu {
            in_window_ns: Some(50_000_000),
            generator_ns: 6_000_000,
            windage_ns: 7_000_000,
            ..WindowCpu::default()
        },
        machine: MachineDelta {
            busy_ns: Some(60_000_000),
            steal_ns: 1_000_000,
            ..MachineDelta::default()
        },
        beside: Beside {
            agent_ns: (arm == 2).then_some(2_000_000),
            agent_rss_bytes: (arm == 2).then_some(40_000_000),
            kernel_threads_ns: Some(500_000),
            ..Beside::default()
        },
        rss_bytes: Some(10_000_000),
        activity: None,
        warnings: Vec::new(),
        outliers: Vec::new(),
    }
}

/// An attachment whose programs took 3 µs per request, and which left one behind.
pub(crate) fn cycle(launch: u32, arm: u16) -> AgentCycle {
    let program = |run_ns| BpfProgram {
        run_ns,
        ..BpfProgram::default()
    };
    AgentCycle {
        launch,
        arm: ArmIndex(arm),
        attach_ns: 1_500_000_000,
        attach_cpu_ns: Some(750_000_000),
        programs: Some(vec![program(2_000_000), program(1_000_000)]),
        statistics: Some(BpfStatistics {
            requests: 1000,
            ..BpfStatistics::default()
        }),
        left_behind: vec!["program 17 (count_requests, kprobe)".to_owned()],
        ..AgentCycle::default()
    }
}
