//! Warnings about a run with agents: one function per warning.

use windage_model::{AgentCycle, Evidence, Warning, WarningCode};
use windage_record::ManifestArm;

use crate::records::Records;

/// How many left-behind objects a warning names.
const NAMED: usize = 5;
/// How to remove BPF programs and links.
const OF_KERNEL: &str = "(`bpftool link`, `bpftool prog`; a pin under /sys/fs/bpf holds one)";
/// How to end processes.
const ALIVE: &str = "(`kill N`; one that can't be killed waits in the kernel)";
/// With fewer attachments than this an interval is wide for that reason alone, as with rounds.
const FEW: usize = 3;

/// All warnings about attachments, except those already noted during the run.
pub(crate) fn of_attachments(records: &Records) -> Vec<Warning> {
    let with_agents = records
        .manifest
        .arms
        .iter()
        .filter(|arm| !arm.agents.is_empty());
    let mut found = Vec::new();
    for arm in with_agents {
        let cycles = records.cycles.iter().filter(|of| of.arm == arm.index);
        let cycles: Vec<&AgentCycle> = cycles.collect();
        found.extend(left_behind(arm, &cycles));
        found.extend(failed(arm, &cycles));
        let attached: Vec<&AgentCycle> = cycles
            .into_iter()
            .filter(|cycle| cycle.failed.is_none())
            .collect();
        found.extend(detach_unverified(arm, &attached));
        found.extend(idle(arm, &attached));
        found.extend(few(arm, &attached, records));
    }
    // An agent without BPF has no program that the statistics slow down.
    let may_have_bpf = |of: &AgentCycle| of.programs.as_ref().is_none_or(|all| !all.is_empty());
    let has_bpf = records.cycles.iter().any(may_have_bpf);
    found.extend(timed_throughout(&records.host).filter(|_| has_bpf));
    found.retain(|warning| !records.warnings.iter().any(|noted| says(noted, warning)));
    found
}

/// Whether a noted warning is this one for the same arm. A noted warning may name several arms, or
/// none, which means any.
fn says(noted: &Warning, warning: &Warning) -> bool {
    let arm = |of: &'_ Warning| match of.evidence.get("arm") {
        Some(Evidence::Text(arm)) => Some(arm.clone()),
        _ => None,
    };
    let is_of_arm = match (arm(noted), arm(warning)) {
        (Some(noted), Some(arm)) => noted.split(", ").any(|noted| noted == arm),
        _ => true,
    };
    noted.code == warning.code && is_of_arm
}

fn left_behind(arm: &ManifestArm, cycles: &[&AgentCycle]) -> Option<Warning> {
    let (index, first) = cycles
        .iter()
        .enumerate()
        .find(|(_, cycle)| !cycle.left_behind.is_empty())?;
    let times = cycles.iter().filter(|cycle| !cycle.left_behind.is_empty());
    let named = first.left_behind.iter().take(NAMED).map(String::as_str);
    let objects = named.collect::<Vec<_>>().join(", ");
    let more = first.left_behind.len().saturating_sub(NAMED);
    let and_more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let left = first.left_behind.iter();
    let processes = left.clone().filter(|object| object.starts_with("process "));
    let remedy = match processes.count() {
        0 => format!("Remove them {OF_KERNEL}"),
        all if all == left.len() => format!("End them {ALIVE}"),
        _ => format!("Remove programs and links {OF_KERNEL} and end processes {ALIVE}"),
    };
    Some(
        Warning::new(
            WarningCode::AgentLeftBehind,
            format!(
                "After the agents of {} were detached for the {} time, these were left: \
                 {objects}{and_more}. What was measured without the agents was measured with them. \
                 {remedy}, let the agent detach on `stop`, and run again.",
                arm.id,
                ordinal(index + 1),
            ),
        )
        .with("arm", arm.id.as_str())
        .with("attachment", (index + 1) as f64)
        .with("launch", f64::from(first.launch))
        .with("block", f64::from(first.block))
        .with("attachments_that_left_some", times.count() as f64),
    )
}

/// A window of a dead agent is void by itself; the run relies on the remaining attachments.
fn failed(arm: &ManifestArm, cycles: &[&AgentCycle]) -> Option<Warning> {
    let failures: Vec<&str> = cycles
        .iter()
        .filter_map(|cycle| cycle.failed.as_deref())
        .collect();
    let (first, count) = (failures.first()?, cycles.len());
    Some(
        Warning::new(
            WarningCode::ArmDied,
            format!(
                "In {} of {count} attachments the agents of {} failed; the first failure: {first} \
                 See their logs in the run directory.",
                failures.len(),
                arm.id,
            ),
        )
        .with("arm", arm.id.as_str())
        .with("attachments", count as f64)
        .with("failed", failures.len() as f64),
    )
}

fn detach_unverified(arm: &ManifestArm, attached: &[&AgentCycle]) -> Option<Warning> {
    let unknown = attached.iter().filter(|cycle| cycle.programs.is_none());
    let unknown = unknown.count();
    (unknown > 0).then(|| {
        Warning::new(
            WarningCode::DetachUnverified,
            format!(
                "The kernel does not allow listing BPF programs, so it is unknown whether those of \
                 {} were detached in the other arms' windows. Run as root (or with CAP_SYS_ADMIN, \
                 which allows listing them).",
                arm.id
            ),
        )
        .with("arm", arm.id.as_str())
        .with("attachments", attached.len() as f64)
        .with("attachments_unknown", unknown as f64)
    })
}

/// How an attachment was idle, as far as the kernel shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Idle {
    /// The agent loaded no program.
    WithoutPrograms,
    /// No program ran, though there were requests.
    WithoutRuns,
}

impl Idle {
    /// `None` for an attachment that was not idle, and when unknown.
    fn of(cycle: &AgentCycle) -> Option<Idle> {
        if cycle.programs.as_ref()?.is_empty() {
            return Some(Idle::WithoutPrograms);
        }
        let (statistics, runs, _) = super::metrics::bpf(cycle)?;
        (statistics.requests > 0 && runs == 0).then_some(Idle::WithoutRuns)
    }
}

/// Each attachment by itself: an agent may find its target in one and miss it in the next.
fn idle(arm: &ManifestArm, attached: &[&AgentCycle]) -> Option<Warning> {
    let idle: Vec<Idle> = attached.iter().filter_map(|of| Idle::of(of)).collect();
    let all = |kind| idle.iter().all(|of| *of == kind);
    let what = match idle.len() {
        0 => return None,
        _ if all(Idle::WithoutPrograms) => "no BPF program came with the agents of",
        _ if all(Idle::WithoutRuns) => "none of the BPF programs ran that came with the agents of",
        _ => "no BPF program came, or none of them ran, with the agents of",
    };
    Some(
        Warning::new(
            WarningCode::AgentIdle,
            format!(
                "In {} of {} attachments {what} {}: the agent may have found no target, and its \
                 measured cost is then that of an idle agent. Its log in the run directory says \
                 what it looks for; {{SERVICE.pid}} in its command names a process. (For an agent \
                 that does not use BPF this is expected.)",
                idle.len(),
                attached.len(),
                arm.id
            ),
        )
        .with("arm", arm.id.as_str())
        .with("attachments", attached.len() as f64)
        .with("attachments_idle", idle.len() as f64),
    )
}

/// Statistics that someone else switched on are on in all windows, including those meant to be
/// without them.
fn timed_throughout(host: &serde_json::Value) -> Option<Warning> {
    let setting = host["bpf_stats_enabled"].as_i64();
    let setting = setting.filter(|setting| *setting != 0)?;
    Some(
        Warning::new(
            WarningCode::BpfStatisticsAlwaysOn,
            "The kernel timed every run of a BPF program throughout (kernel.bpf_stats_enabled was \
             on when the run began): all windows with agents paid for two clock reads per run, and \
             the cost of the statistics reads as zero. Switch it off (`sysctl -w \
             kernel.bpf_stats_enabled=0`) and run again: Windage switches it on itself, only in \
             separate stretches.",
        )
        .with("bpf_stats_enabled", setting as f64),
    )
}

/// Each attachment draws agent luck anew, as each round draws launch luck. With few rounds there is
/// a warning about that already.
fn few(arm: &ManifestArm, attached: &[&AgentCycle], records: &Records) -> Option<Warning> {
    let count = attached.len();
    let rounds_are_few = records.windows.launches.len() == 2;
    let times = match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    };
    (count < FEW && !rounds_are_few && !records.launches.is_empty()).then(|| {
        Warning::new(
            WarningCode::FewRounds,
            format!(
                "The agents of {} were attached {times}: the intervals of what they use are wide \
                 for that reason, or missing. More `design.rounds` attach them more often; six are \
                 enough.",
                arm.id
            ),
        )
        .with("arm", arm.id.as_str())
        .with("attachments", count as f64)
    })
}

fn ordinal(number: usize) -> String {
    let ending = match (number % 10, number % 100) {
        (1, of) if of != 11 => "st",
        (2, of) if of != 12 => "nd",
        (3, of) if of != 13 => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}
