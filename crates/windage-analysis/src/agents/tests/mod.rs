//! Agents with known costs.

mod accounts;
mod bills;
mod bystanders;
mod cycles;
mod warnings;
mod whole_runs;

use windage_model::{
    AgentCycle, ArmIndex, Beside, BpfProgram, BpfStatistics, Metric, Order, Role, Window,
};
use windage_record::{Entry, ManifestArm, fixtures};

use crate::compare::Rules;
use crate::fixture::{self, Recorded, noise};
use crate::{Analysis, ArmAnalysis, analyse};

const WATCHED: ArmIndex = ArmIndex(2);
const BYSTANDER: ArmIndex = ArmIndex(3);

/// The service's cost per request of each arm, in microseconds: off, control, the watched arm, its
/// bystander.
const SERVICE_US: [f64; 4] = [50.0, 50.0, 62.0, 53.0];
/// The same for the agent's cost.
const AGENT_US: f64 = 20.0;
const GENERATOR_US: f64 = 6.0;
const WINDAGE_US: f64 = 1.0;
const KERNEL_THREADS_US: [f64; 4] = [2.0, 2.0, 2.5, 2.5];
const REST_US: f64 = 3.0;

/// A run with an agent and a bystander: off, control, watched, bystander. Each round has the given
/// number of blocks of `[detached][agent][agent][detached]`, and the agent is attached once in
/// each.
fn run(rounds: u32, blocks: u32) -> Recorded {
    let mut run = fixture::records(0);
    run.manifest.design.rounds = rounds;
    run.manifest.arms[2] = ManifestArm {
        agents: vec!["otel".to_owned()],
        agents_have_needs: true,
        ..fixtures::arm(2, "agent")
    };
    run.manifest.arms.push(ManifestArm {
        bystander_of: Some(WATCHED),
        ..fixtures::arm(BYSTANDER.0, "bystander")
    });
    for round in 0..rounds {
        let mut launch = fixture::launch(round, &[0, 1, 2, 3]);
        launch.arms[2].instance = 0;
        launch.arms[3].instance = 1;
        run.launches.push(launch);
        for block in round * blocks..(round + 1) * blocks {
            add_block(&mut run, round, block);
        }
        let ends = [(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0)];
        run.ends.push(fixture::launch_end(round, &ends));
    }
    run
}

fn add_block(run: &mut Recorded, round: u32, block: u32) {
    let detached: [u16; 8] = [0, 1, 1, 0, 0, 1, 1, 0];
    let attached = detached.map(|arm| arm + 2);
    let turns = [detached, attached, attached, detached];
    let mut bystanders_ns = 0;
    for (position, arm) in (0..).zip(turns.into_iter().flatten()) {
        let window = window(round, block, position, arm);
        if window.place.arm == BYSTANDER {
            bystanders_ns += window.beside.agent_ns.unwrap();
        }
        run.windows.push(window);
    }
    let mut cycle = cycle(round, block);
    cycle.up_cpu_ns = cycle.up_cpu_ns.map(|ns| ns + bystanders_ns);
    run.reported.push(Entry::Agent(cycle));
}

/// A thousand requests, whose costs scatter by a few per mille.
fn window(round: u32, block: u32, position: u32, arm: u16) -> Window {
    let mut window = fixture::window(round, block, arm);
    window.place.position = position;
    let of = |number: u64, us: f64| {
        let counter = (u64::from(block) << 16) | (u64::from(position) << 4) | number;
        (us * 1e6 * (1.0 + 0.004 * noise(counter))) as u64
    };
    let index = usize::from(arm);
    let is_attached = arm > 1;
    let service = of(0, SERVICE_US[index]);
    let agent = of(1, AGENT_US);
    let kernel_threads = of(2, KERNEL_THREADS_US[index]);
    let (generator, windage) = (of(3, GENERATOR_US), of(4, WINDAGE_US));
    window.cpu.in_window_ns = Some(service);
    window.cpu.generator_ns = generator;
    window.cpu.windage_ns = generator + windage;
    window.beside = Beside {
        agent_ns: is_attached.then_some(agent),
        agent_rss_bytes: is_attached.then_some(80_000_000),
        kernel_threads_ns: Some(kernel_threads),
        ..Beside::default()
    };
    let beside = if is_attached { agent } else { 0 };
    let parts = service + beside + kernel_threads + generator + windage;
    window.machine.busy_ns = Some(parts + of(5, REST_US));
    window
}

/// The agent uses 23 µs for each of about 20,000 requests, without windows of the bystander, and 3
/// runs of 400 ns for each of about 5,000.
fn cycle(launch: u32, block: u32) -> AgentCycle {
    let vary =
        |of: f64, number: u64| (of * (1.0 + 0.02 * noise((u64::from(block) << 8) | number))) as u64;
    let requests = vary(20_000.0, 1);
    let program = |id: u32, name: &str, kind: &str, runs: f64, ns: f64| BpfProgram {
        id: id + block * 10,
        name: name.to_owned(),
        kind: kind.to_owned(),
        runs: vary(runs, u64::from(id)),
        run_ns: vary(runs * ns, u64::from(id) + 10),
    };
    AgentCycle {
        launch,
        block,
        arm: WATCHED,
        attach_ns: vary(2e9, 2),
        attach_cpu_ns: Some(vary(1.2e9, 3)),
        attach_rss_peak_bytes: Some(vary(150e6, 4)),
        up_ns: vary(2.3e9, 5),
        up_cpu_ns: Some((requests as f64 * 23e3) as u64),
        requests,
        rss_steady_bytes: Some(vary(80e6, 6)),
        rss_peak_bytes: Some(vary(160e6, 7)),
        detach_ns: vary(3e8, 8),
        detach_cpu_ns: Some(vary(1e7, 9)),
        programs: Some(vec![
            program(11, "on_start", "kprobe", 5_000.0, 500.0),
            program(12, "on_end", "kprobe", 5_000.0, 600.0),
            program(13, "tick", "tracepoint", 5_000.0, 100.0),
        ]),
        links: 3,
        bpf_memory_bytes: 4_000_000,
        statistics: Some(BpfStatistics {
            duration_ns: 1_000_000_000,
            requests: vary(5_000.0, 20),
            cpu_ns: Some(vary(5_000.0 * 62_400.0, 21)),
            cpu_without_ns: Some(vary(5_000.0 * 62_000.0, 22)),
            requests_without: vary(5_000.0, 23),
        }),
        left_behind: Vec::new(),
        failed: None,
    }
}

fn rules() -> Rules {
    Rules {
        order: Order::Mirrored,
        margin: 0.005,
        sequence: false,
        pace: Default::default(),
    }
}

/// The attachments of a run, to be modified.
fn cycles(run: &mut Recorded) -> impl Iterator<Item = &mut AgentCycle> {
    run.reported.iter_mut().filter_map(|entry| match entry {
        Entry::Agent(cycle) => Some(cycle),
        _ => None,
    })
}

fn analysed(run: &Recorded) -> Analysis {
    analyse(&run.gathered(), std::iter::empty(), std::iter::empty())
}

fn arm(analysis: &Analysis, arm: ArmIndex) -> &ArmAnalysis {
    &analysis.arms[arm.get()]
}

/// The metrics that only plans with agents have.
const OF_AGENTS: [Metric; 9] = [
    Metric::AgentCpu,
    Metric::AgentCpuPerRequest,
    Metric::KernelThreadsCpuPerRequest,
    Metric::AgentRssSteady,
    Metric::AgentRssPeak,
    Metric::AgentAttachTime,
    Metric::AgentAttachCpu,
    Metric::BpfNsPerRequest,
    Metric::BpfRunsPerRequest,
];
