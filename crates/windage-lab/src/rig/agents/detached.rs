//! Checks that agents are detached: neither their processes nor their BPF programs are left.

use std::time::{Duration, Instant};

use windage_keeper::Keeper;
use windage_model::CpuSource;
use windage_probe::ArmProbe;
use windage_probe::bpf::{Bpf, Held, KernelBpf, Objects};
use windage_probe::cgroup::ArmCgroup;

use super::{Attached, note_left};
use crate::LabError;
use crate::clock::whole_ns;
use crate::leftovers::end_all;

/// How long the kernel may take to free the programs of an agent that has ended. It frees a program
/// when no CPU can still be running it.
const GONE_WITHIN: Duration = Duration::from_secs(5);
/// The interval between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What agents put into the kernel and into their group.
pub(super) struct Footprint<'r> {
    /// The cgroup of agents, whichever arm's agents are attached.
    pub(super) group: Option<&'r ArmCgroup>,
}

impl Footprint<'_> {
    /// Ends the agents that brought these objects, and waits until nothing is left of them.
    pub(super) fn end(
        &self,
        keeper: &mut Keeper,
        attached: &mut Attached,
        come: Option<&Objects>,
    ) -> Result<(), LabError> {
        let asked = Instant::now();
        let cpu_ns = outliving_cpu_ns(&mut attached.instance.probe);
        let peak = attached.instance.probe.rss_peak_bytes().ok();
        attached.cycle.rss_peak_bytes = peak.filter(|b| *b > 0);
        attached.cycle.left_behind = attached.instance.end(keeper)?;
        let cpu_ns = cpu_ns.zip(outliving_cpu_ns(&mut attached.instance.probe));
        if let Some(come) = come {
            let left = await_gone(GONE_WITHIN, || Some(KernelBpf.objects().ok()?.among(come)));
            note_left(&mut attached.cycle, left);
        }
        attached.cycle.detach_ns = whole_ns(asked.elapsed());
        attached.cycle.detach_cpu_ns = cpu_ns.map(|(before, after)| after.saturating_sub(before));
        Ok(())
    }

    /// Kills processes that agents which did not come up left in their group, and names those that
    /// survive. Without a group, only processes that were found while the agents lived have been
    /// killed.
    pub(super) fn alive_in_group(&self) -> Vec<String> {
        let probe = self.group.and_then(|group| group.probe().ok());
        probe.map_or_else(Vec::new, |mut probe| end_all(&mut probe))
    }

    /// Objects that appeared since `before` and belong to the agents; `None` when they can't be
    /// listed. The agents' processes are those of their group, or `processes` where there is no
    /// group.
    pub(super) fn come_since(&self, before: &Objects, processes: &[u32]) -> Option<Objects> {
        come_since(&KernelBpf, before, || {
            let of_group: Vec<u32> = match self.group.and_then(|group| group.probe().ok()) {
                Some(mut group) => {
                    let _ = group.refresh_tasks();
                    group.process_ids().collect()
                }
                None => Vec::new(),
            };
            Held::by_others_than(|pid| of_group.contains(&pid) || processes.contains(&pid))
        })
    }

    /// Objects of ended agents that the kernel still has after a while, in words; `None` when they
    /// can no longer be listed.
    pub(super) fn left_since(&self, before: &Objects) -> Option<Vec<String>> {
        await_gone(GONE_WITHIN, || self.come_since(before, &[]))
    }
}

/// Objects that appeared since `before` and that no other process holds. Other processes are looked
/// at only if something appeared. `None` when objects can't be listed.
fn come_since(
    bpf: &dyn Bpf,
    before: &Objects,
    held_by_others: impl FnOnce() -> Held,
) -> Option<Objects> {
    let come = bpf.objects().ok()?.since(before);
    if come.describe().is_empty() {
        return Some(come);
    }
    Some(come.not_held(&held_by_others()))
}

/// What is left after a while, in words; `None` when it can no longer be listed.
fn await_gone(within: Duration, left: impl Fn() -> Option<Objects>) -> Option<Vec<String>> {
    let deadline = Instant::now() + within;
    loop {
        let left = left().map(|left| left.describe());
        if left.as_ref().is_some_and(Vec::is_empty) || Instant::now() >= deadline {
            return left;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// CPU from a counter that outlives the processes. Their own counters vanish when they end.
fn outliving_cpu_ns(probe: &mut ArmProbe) -> Option<u64> {
    match probe.source() {
        CpuSource::CgroupV1 | CpuSource::CgroupV2 => probe.cpu_ns().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
