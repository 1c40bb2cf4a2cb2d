//! Warnings about a run with agents: one function per warning.

use windage_model::{AgentCycle, IdleAgent, Warning};
use windage_record::ManifestArm;

use crate::records::Records;

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
        if !has_died(records, arm.id.as_str()) {
            found.extend(failed(arm, &cycles));
        }
        let attached: Vec<&AgentCycle> = cycles
            .into_iter()
            .filter(|cycle| cycle.failed.is_none())
            .collect();
        found.extend(detach_unverified(arm, &attached));
        // Any other program may have no BPF program, or none that ever runs.
        if arm.agents_have_needs {
            found.extend(idle(arm, &attached));
        }
        found.extend(few(arm, &attached, records));
    }
    // An agent without BPF has no program that the statistics slow down.
    let may_have_bpf = |of: &AgentCycle| of.programs.as_ref().is_none_or(|all| !all.is_empty());
    let has_bpf = records.cycles.iter().any(may_have_bpf);
    found.extend(timed_throughout(&records.host).filter(|_| has_bpf));
    found
}

/// Whether the run has noted that the arm is no longer measured because its agents died.
fn has_died(records: &Records, id: &str) -> bool {
    let names_it = |arms: &[String]| arms.iter().any(|arm| arm == id);
    let mut noted = records.warnings.iter();
    noted.any(|warning| matches!(warning, Warning::ArmDied { arms, .. } if names_it(arms)))
}

fn left_behind(arm: &ManifestArm, cycles: &[&AgentCycle]) -> Option<Warning> {
    let left_some = |cycle: &AgentCycle| !cycle.left_behind.is_empty();
    let index = cycles.iter().position(|cycle| left_some(cycle))?;
    let (first, times) = (
        cycles[index],
        cycles.iter().filter(|cycle| left_some(cycle)),
    );
    Some(Warning::AgentLeftBehind {
        arm: arm.id.to_string(),
        attachment: index as u64 + 1,
        launch: first.launch.into(),
        block: first.block.into(),
        attachments_that_left_some: times.count() as u64,
        objects: first.left_behind.clone(),
    })
}

/// A window of a dead agent is void by itself; the run relies on the remaining attachments.
fn failed(arm: &ManifestArm, cycles: &[&AgentCycle]) -> Option<Warning> {
    let failures: Vec<&String> = cycles
        .iter()
        .filter_map(|cycle| cycle.failed.as_ref())
        .collect();
    Some(Warning::AgentsFailed {
        arm: arm.id.to_string(),
        attachments: cycles.len() as u64,
        failed: failures.len() as u64,
        first_failure: (*failures.first()?).clone(),
    })
}

fn detach_unverified(arm: &ManifestArm, attached: &[&AgentCycle]) -> Option<Warning> {
    let unknown = attached.iter().filter(|cycle| cycle.programs.is_none());
    let unknown = unknown.count();
    (unknown > 0).then(|| Warning::DetachUnverified {
        arm: arm.id.to_string(),
        attachments: attached.len() as u64,
        attachments_unknown: unknown as u64,
    })
}

/// How an attachment was idle, as far as the kernel shows; `None` for one that was not, and when
/// unknown.
fn idle_attachment(cycle: &AgentCycle) -> Option<IdleAgent> {
    if cycle.programs.as_ref()?.is_empty() {
        return Some(IdleAgent::WithoutPrograms);
    }
    let (statistics, runs, _) = super::metrics::bpf(cycle)?;
    (statistics.requests > 0 && runs == 0).then_some(IdleAgent::WithoutRuns)
}

/// Each attachment by itself: an agent may find its target in one and miss it in the next.
fn idle(arm: &ManifestArm, attached: &[&AgentCycle]) -> Option<Warning> {
    let found = attached.iter().filter_map(|of| idle_attachment(of));
    let found: Vec<IdleAgent> = found.collect();
    let first = *found.first()?;
    let is_same = found.iter().all(|kind| *kind == first);
    Some(Warning::AgentIdle {
        arm: arm.id.to_string(),
        attachments: attached.len() as u64,
        attachments_idle: found.len() as u64,
        idle: if is_same { first } else { IdleAgent::Either },
    })
}

/// Statistics that someone else switched on are on in all windows, including those meant to be
/// without them.
fn timed_throughout(host: &serde_json::Value) -> Option<Warning> {
    let setting = host["bpf_stats_enabled"].as_i64();
    let setting = setting.filter(|setting| *setting != 0)?;
    Some(Warning::BpfStatisticsAlwaysOn {
        bpf_stats_enabled: setting.unsigned_abs(),
    })
}

/// Each attachment draws agent luck anew, as each round draws launch luck. With few rounds there is
/// a warning about that already.
fn few(arm: &ManifestArm, attached: &[&AgentCycle], records: &Records) -> Option<Warning> {
    let count = attached.len();
    let rounds_are_few = records.windows.launches.len() == 2;
    let is_few = count < FEW && !rounds_are_few && !records.launches.is_empty();
    is_few.then(|| Warning::FewAttachments {
        arm: arm.id.to_string(),
        attachments: count as u64,
    })
}
