//! Warnings about a window: the rules about its load, which need only the generator's counters
//! ([`windage_load::warnings`]), and the rules about what only the lab sees.

use std::time::Duration;

use windage_load::LoadFacts;
use windage_model::{ArmTurns, TurnBlock, Warning, Window};
use windage_probe::ProcessChanges;
use windage_probe::bpf::{Bpf, Held, LeftBehind, left_behind};

use crate::readings::Reading;

/// The share of the window's own CPU above which CPU of other arms is a warning.
const OTHERS_SHARE: f64 = 0.05;
/// How long the kernel may take to free BPF programs that nothing holds any more.
const FREED_WITHIN: Duration = Duration::from_millis(200);
/// A machine that was suspended for longer was not measured meanwhile.
const SUSPENDED_NS_MAX: u64 = 10_000_000;
/// A wall clock that was set by more does not time spans as well as windows need.
const STEP_NS_MAX: u64 = 1_000_000;

/// Every warning that the counters of a window justify under that load.
///
/// `counted` says whether Windage can read the subject's CPU at all. For a service that is attached
/// by URL it can't, and that is no fault of the window.
pub(crate) fn of_window(window: &Window, load: &LoadFacts, counted: bool) -> Vec<Warning> {
    let of_lab = [
        other_arm_active(window),
        cpu_unreadable(window).filter(|_| counted),
    ];
    let mut found = windage_load::warnings(load);
    found.extend(of_lab.into_iter().flatten());
    found
}

/// Every warning that the counters of a block of turns justify. Turns give neither latency nor
/// throughput, so warnings about these alone don't apply.
pub(crate) fn of_turns(block: &TurnBlock, load: &LoadFacts) -> Vec<Warning> {
    let is_of_windows = |of: &Warning| {
        matches!(
            of,
            Warning::SendLag { .. }
                | Warning::ConnectionsBusy { .. }
                | Warning::GeneratorStarved { .. }
        )
    };
    let mut found = windage_load::warnings(load);
    found.retain(|warning| !is_of_windows(warning));
    let took_turns = |of: &&ArmTurns| of.turns > 0;
    let takers = || block.arms.iter().filter(took_turns);
    // Where all arms got no answer, the rules about the load have said so.
    if block.exchanges.completed > 0
        && let Some(silent) = takers().find(|of| of.exchanges.completed == 0)
    {
        let errors = silent.exchanges.errors;
        found.push(Warning::NothingCompleted {
            sent: silent.exchanges.sent,
            timeouts: errors.timeout,
            connect_errors: errors.connect,
            closed: errors.closed,
            protocol_errors: errors.protocol,
        });
    }
    let answered = |of: &&ArmTurns| of.exchanges.completed > 0;
    if takers()
        .filter(answered)
        .any(|of| of.cpu_ns.is_none_or(|ns| ns == 0))
    {
        found.push(Warning::CpuUnreadable);
    }
    found
}

/// The warning about processes that came or went while CPU was read by process.
pub(crate) fn processes_changed(changes: impl Iterator<Item = ProcessChanges>) -> Option<Warning> {
    let (appeared, ended) = changes.fold((0, 0), |(appeared, ended), of| {
        (appeared + of.appeared, ended + of.ended)
    });
    (appeared + ended > 0).then_some(Warning::ProcessesChanged { appeared, ended })
}

/// The warning about a subject that was held back for so long between two readings.
pub(crate) fn throttled(throttled_ns: u64, [start, end]: [&Reading; 2]) -> Option<Warning> {
    (throttled_ns > 0).then(|| Warning::Throttled {
        throttled_us: throttled_ns as f64 / 1e3,
        stretch_us: end.at_ns.saturating_sub(start.at_ns) as f64 / 1e3,
    })
}

/// The warning about a machine that was suspended between two readings.
pub(crate) fn suspended([start, end]: [&Reading; 2]) -> Option<Warning> {
    let suspended_ns = end.clocks?.suspended_ns_since(&start.clocks?);
    (suspended_ns > SUSPENDED_NS_MAX).then_some(Warning::Suspended {
        seconds: suspended_ns as f64 / 1e9,
    })
}

/// The warning about a wall clock that was set between two readings.
pub(crate) fn clock_stepped([start, end]: [&Reading; 2]) -> Option<Warning> {
    let step_ns = end.clocks?.stepped_ns_since(&start.clocks?);
    (step_ns.unsigned_abs() > STEP_NS_MAX).then_some(Warning::ClockStepped {
        step_s: step_ns as f64 / 1e9,
    })
}

/// The warning about BPF programs that are there before a run launches anything and that no process
/// holds; none where they can't be listed.
pub(crate) fn bpf_left_behind(bpf: &dyn Bpf) -> Option<Warning> {
    let look = || left_behind(bpf, || Held::by_others_than(|_| false)).unwrap_or_default();
    let mut left = look();
    if !left.is_empty() {
        // The kernel frees the programs of processes that have just ended a moment later.
        std::thread::sleep(FREED_WITHIN);
        let still = look();
        left.retain(|found| still.iter().any(|of| of.program.id == found.program.id));
    }
    (!left.is_empty()).then(|| Warning::BpfLeftBehind {
        objects: left.iter().map(LeftBehind::describe).collect(),
        commands: left.iter().flat_map(LeftBehind::removal).collect(),
    })
}

fn share(part: f64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part / whole as f64 }
}

fn other_arm_active(window: &Window) -> Option<Warning> {
    let others_ns: u64 = window
        .cpu
        .others_in_window
        .iter()
        .map(|other| other.cpu_ns)
        .sum();
    let own_ns = window.cpu.in_window_ns?;
    (share(others_ns as f64, own_ns) > OTHERS_SHARE).then_some(Warning::OtherArmActive {
        others_cpu_ns: others_ns,
        own_cpu_ns: own_ns,
    })
}

fn cpu_unreadable(window: &Window) -> Option<Warning> {
    let completed = window.exchanges.completed > 0;
    (completed && window.cpu.in_window_ns.is_none_or(|ns| ns == 0))
        .then_some(Warning::CpuUnreadable)
}

/// What failed, for an error that a warning turns into.
pub(crate) fn what_failed(warning: &Warning) -> String {
    match warning {
        Warning::SwitchFailed { how } => how.clone(),
        Warning::ServiceDied {
            service: name,
            whose,
            how,
        }
        | Warning::AgentDied {
            agent: name,
            whose,
            how,
        } => format!("service `{name}` {whose} {how}"),
        other => other.code().as_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windage_load::SubjectCpu;
    use windage_model::{ArmCpu, ArmIndex, LoadModel, WarningCode, fixtures};
    use windage_probe::bpf::{FakeBpf, Link, Objects, Program};
    use windage_probe::{Clock, Clocks, FakeSystem};

    fn sound() -> Window {
        fixtures::window(fixtures::place(0, 0, 2))
    }

    /// The facts about that window's load.
    fn load(window: &Window) -> LoadFacts {
        LoadFacts {
            model: LoadModel::Open,
            exchanges: window.exchanges,
            duration_ns: window.duration_ns,
            lasted_ns: window.duration_ns,
            response_time_ns_p99: Some(1_000_000),
            service_time_ns_p50: Some(500_000),
            generator_cpu_ns: window.cpu.generator_ns,
            threads: 1,
            connections: 8,
            steal_ns: Some(window.machine.steal_ns),
            subject: window.cpu.in_window_ns.map(|used_ns| SubjectCpu {
                used_ns,
                cores: 1.0,
            }),
        }
    }

    fn another_arm_used(window: &mut Window, cpu_ns: u64) {
        window.cpu.others_in_window.push(ArmCpu {
            arm: ArmIndex(0),
            cpu_ns,
        });
    }

    #[test]
    fn each_rule_warns_of_its_own_fault_only() {
        use WarningCode::*;
        type Spoil = fn(&mut Window);
        let table: &[(&str, Spoil, &[WarningCode])] = &[
            ("nothing", |_| {}, &[]),
            (
                "a rule about the load",
                |w| w.exchanges.dropped = 1,
                &[Dropped],
            ),
            (
                "no counter",
                |w| w.cpu.in_window_ns = None,
                &[CpuUnreadable],
            ),
            (
                "a counter that did not move",
                |w| w.cpu.in_window_ns = Some(0),
                &[CpuUnreadable],
            ),
            (
                "deferred work of another arm",
                |w| another_arm_used(w, 5_000_000),
                &[OtherArmActive],
            ),
            ("a little of it", |w| another_arm_used(w, 500), &[]),
        ];
        for (why, spoil, expected) in table {
            let mut window = sound();
            spoil(&mut window);
            let found = of_window(&window, &load(&window), true);
            let codes: Vec<_> = found.iter().map(Warning::code).collect();
            assert_eq!(&codes, expected, "{why}");
        }
    }

    /// A reading at these times of the monotonic, the boot and the wall clock.
    fn at(monotonic_ms: u64, boot_ms: u64, wall_us: u64) -> Reading {
        let system = FakeSystem::new();
        system.set_clock(Clock::Monotonic, monotonic_ms * 1_000_000);
        system.set_clock(Clock::Boot, boot_ms * 1_000_000);
        system.set_clock(Clock::Wall, wall_us * 1000);
        Reading {
            clocks: Clocks::read(&system).ok(),
            ..Reading::default()
        }
    }

    #[test]
    fn a_wall_clock_that_was_set_is_a_warning() {
        let set = |step_s| Some(Warning::ClockStepped { step_s });
        let start = at(0, 500, 90_000_000);
        let table = [
            (at(1_000, 1_500, 91_000_000), None, "it went on"),
            (at(1_000, 1_500, 91_001_000), None, "1 ms"),
            (at(1_000, 1_500, 91_002_000), set(0.002), "2 ms forward"),
            (at(1_000, 1_500, 87_500_000), set(-3.5), "3.5 s back"),
            (
                at(1_000, 4_500, 94_000_000),
                None,
                "it goes on while the machine is suspended",
            ),
            (Reading::default(), None, "no such clock"),
        ];
        for (end, expected, why) in table {
            assert_eq!(clock_stepped([&start, &end]), expected, "{why}");
        }
    }

    #[test]
    fn a_machine_that_slept_was_not_measured() {
        let at = |monotonic_ms, boot_ms| at(monotonic_ms, boot_ms, 90_000_000);
        let slept = |seconds| Some(Warning::Suspended { seconds });
        let table = [
            (at(0, 500), at(1_000, 1_500), None, "awake"),
            (at(0, 500), at(1_000, 1_510), None, "a rounding of clocks"),
            (at(0, 500), at(1_000, 4_000), slept(2.5), "suspended"),
            (at(0, 500), Reading::default(), None, "no such clock"),
        ];
        for (start, end, expected, why) in table {
            assert_eq!(suspended([&start, &end]), expected, "{why}");
        }
    }

    #[test]
    fn bpf_programs_without_a_process_are_a_warning_if_they_stay() {
        // No process holds a program of that id.
        let id = u32::MAX;
        let there = Objects {
            programs: vec![Program {
                id,
                kind: "kprobe".to_owned(),
                ..Program::default()
            }],
            links: vec![Link { id: 3, program: id }],
            ..Objects::default()
        };
        let (bpf, gone) = (FakeBpf::new(), Objects::default());
        // Each look lists twice.
        bpf.script([there.clone(), there.clone(), gone.clone(), gone]);
        assert_eq!(bpf_left_behind(&bpf), None, "freed a moment later");
        bpf.set(there);
        let expected = Warning::BpfLeftBehind {
            objects: vec![format!("program {id} (kprobe), link 3")],
            commands: vec!["bpftool link detach id 3".to_owned()],
        };
        assert_eq!(bpf_left_behind(&bpf), Some(expected));
        bpf.fail(libc::EPERM);
        assert_eq!(bpf_left_behind(&bpf), None, "not permitted");
    }

    #[test]
    fn a_wait_for_a_limit_is_reported_with_its_stretch() {
        let at = |at_ns| Reading {
            at_ns,
            ..Reading::default()
        };
        let found = |throttled_ns| throttled(throttled_ns, [&at(1_000_000), &at(101_000_000)]);
        assert_eq!(found(0), None);
        let expected = Warning::Throttled {
            throttled_us: 2_500.0,
            stretch_us: 100_000.0,
        };
        assert_eq!(found(2_500_000), Some(expected));
    }

    #[test]
    fn processes_that_come_or_go_are_counted_over_all_sets() {
        let of = |appeared, ended| ProcessChanges { appeared, ended };
        let warned = |appeared, ended| Some(Warning::ProcessesChanged { appeared, ended });
        let table = [
            (vec![], None),
            (vec![of(0, 0), of(0, 0)], None),
            (vec![of(2, 0), of(1, 4)], warned(3, 4)),
        ];
        for (changes, expected) in table {
            assert_eq!(processes_changed(changes.into_iter()), expected);
        }
    }

    #[test]
    fn cpu_that_can_not_be_read_is_no_fault_of_a_window() {
        let mut window = sound();
        window.cpu.in_window_ns = None;
        assert_eq!(of_window(&window, &load(&window), false), []);
    }

    /// The facts about that block's load.
    fn load_of_turns(block: &TurnBlock) -> LoadFacts {
        LoadFacts {
            exchanges: block.exchanges,
            duration_ns: block.load_ns,
            lasted_ns: block.load_ns,
            generator_cpu_ns: block.generator_ns,
            steal_ns: Some(block.machine.steal_ns),
            subject: None,
            ..load(&sound())
        }
    }

    #[test]
    fn each_rule_warns_of_its_own_fault_of_a_block_of_turns() {
        use WarningCode::*;
        type Spoil = fn(&mut TurnBlock);
        fn silence(arm: &mut ArmTurns) {
            arm.cpu_ns = Some(0);
            arm.exchanges.completed = 0;
            arm.exchanges.errors.timeout = arm.exchanges.sent;
        }
        let table: &[(&str, Spoil, &[WarningCode])] = &[
            ("nothing", |_| {}, &[]),
            (
                "a rule about the load",
                |block| block.exchanges.dropped = 1,
                &[Dropped],
            ),
            (
                "requests that wait for a connection: turns have no latency",
                |block| block.exchanges.waited = block.exchanges.sent,
                &[],
            ),
            (
                "an arm without an answer",
                |block| silence(&mut block.arms[2]),
                &[NothingCompleted],
            ),
            (
                "no arm with an answer, which is one warning",
                |block| {
                    block.arms.iter_mut().for_each(silence);
                    block.exchanges.completed = 0;
                },
                &[NothingCompleted],
            ),
            (
                "no counter",
                |block| block.arms[1].cpu_ns = None,
                &[CpuUnreadable],
            ),
            (
                "a counter that did not move",
                |block| block.arms[1].cpu_ns = Some(0),
                &[CpuUnreadable],
            ),
            (
                "an arm that was left out is no fault",
                |block| {
                    block.arms[2].turns = 0;
                    block.arms[2].cpu_ns = None;
                    block.arms[2].exchanges = Default::default();
                },
                &[],
            ),
            (
                "an arm that still runs is marked, not warned of",
                |block| block.arms[1].is_awake = true,
                &[],
            ),
        ];
        for (why, spoil, expected) in table {
            let mut block = fixtures::turn_block(0, 3, &[0, 1, 2]);
            spoil(&mut block);
            let found = of_turns(&block, &load_of_turns(&block));
            let codes: Vec<_> = found.iter().map(Warning::code).collect();
            assert_eq!(&codes, expected, "{why}");
        }
    }
}
