//! A run for tests: three arms and their records.

use windage_model::fixtures::place;
use windage_model::{
    AgentCycle, ArmIndex, Beside, BpfProgram, BpfStatistics, ErrorCounts, Exchanges, MachineDelta,
    Place, Window, WindowCpu,
};
use windage_record::{Launch, Manifest, ManifestArm, fixtures};

pub(crate) fn manifest() -> Manifest {
    let mut manifest = Manifest {
        run: "r".to_owned(),
        plan: "p".to_owned(),
        started_unix_ns: 1_700_000_000_000_000_000,
        ..fixtures::manifest()
    };
    manifest.arms[2] = ManifestArm {
        name: "a\"b\n".to_owned(),
        ..fixtures::arm(2, "on")
    };
    manifest.design.rounds = 6;
    manifest
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
    let of = windage_model::fixtures::window(Place {
        position: u32::from(arm),
        ..place(launch, block, arm)
    });
    Window {
        started_ns: 0,
        exchanges: Exchanges {
            sent: 1003,
            errors: ErrorCounts {
                timeout: 3,
                ..ErrorCounts::default()
            },
            ..of.exchanges
        },
        cpu: WindowCpu {
            generator_ns: 6_000_000,
            windage_ns: 7_000_000,
            ..of.cpu
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
        ..of
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
