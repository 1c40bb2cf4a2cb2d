//! Programs outside the run: what they used while arms were measured, and their names.

use std::collections::BTreeMap;

use windage_load::monotonic_ns;
use windage_model::Warning;
use windage_plan::{Origin, Plan};
use windage_probe::{ProgramUse, Programs, ProgramsProbe, System};

use crate::readings::{Reading, used};

/// Outside programs may use this many cores.
const CORES_MAX: f64 = 0.1;
/// Less is within the age of counters: a tick of each core at either end.
const OUTSIDE_NS_MIN: u64 = 10_000_000;
/// Outside programs may use this share of a core that the plan gives to the subject or the generator.
const PINNED_SHARE_MAX: f64 = 0.02;
/// What a program used is known in steps of 10 ms: fewer say nothing about a core.
const PINNED_NS_MIN: u64 = 30_000_000;
/// How many programs a warning names.
const NAMES_MAX: usize = 3;
/// Programs that used less are not named.
const NAMED_CORES_MIN: f64 = 0.005;

/// What programs outside the run used between two readings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OutsideUse {
    pub(crate) outside_ns: u64,
    pub(crate) lasted_ns: u64,
    /// Whether CPU of the kernel's own threads is in it.
    pub(crate) has_kernel_threads: bool,
}

impl OutsideUse {
    /// The machine's busy time, without interrupts, that belongs neither to the subject nor to
    /// Windage. `None` when any part of it can't be read: then it may be the run's own.
    pub(crate) fn between(from: &Reading, to: &Reading) -> Option<OutsideUse> {
        let difference = |before: Option<u64>, after: Option<u64>| after?.checked_sub(before?);
        let (before, after) = (from.machine.as_ref()?, to.machine.as_ref()?);
        let busy_ns = difference(before.busy_ns, after.busy_ns)?;
        let interrupts_ns = after.interrupts_ns.saturating_sub(before.interrupts_ns);
        let sets = 0..to.instances_ns.len();
        let arms_ns: u64 = sets.map(|set| used(from, to, set)).sum::<Option<u64>>()?;
        let kernel_threads_ns = difference(from.kernel_threads_ns, to.kernel_threads_ns);
        let agents_ns = match (from.agents_ns, to.agents_ns) {
            (None, None) => Some(0),
            (before, after) => difference(before, after),
        };
        let own_ns = [
            interrupts_ns,
            arms_ns,
            difference(from.shared_ns, to.shared_ns)?,
            agents_ns?,
            // The generator and the sink are threads of Windage.
            to.windage_ns.saturating_sub(from.windage_ns),
            kernel_threads_ns.unwrap_or(0),
        ];
        Some(OutsideUse {
            outside_ns: busy_ns.saturating_sub(own_ns.iter().sum()),
            lasted_ns: to.at_ns.saturating_sub(from.at_ns),
            has_kernel_threads: kernel_threads_ns.is_none(),
        })
    }
}

/// Watches for programs outside the run.
pub(crate) struct OutsideLoad {
    probe: ProgramsProbe,
    /// The processes of the run descend from these.
    roots: Vec<u32>,
    /// The cores that the plan gives to the subject or the generator.
    pinned: Vec<u32>,
    /// Whether the CPU of all services that arms share can be read.
    is_shared_counted: bool,
    /// The look before the block, and when it was taken.
    before: Option<(Programs, u64)>,
}

impl OutsideLoad {
    pub(crate) fn new(system: &dyn System, plan: &Plan, roots: [u32; 2]) -> OutsideLoad {
        let shared = || plan.services.iter().filter(|service| service.shared);
        let is_attached = shared().any(|service| matches!(service.origin, Origin::Attach(_)));
        let own = plan.services.iter().filter(|service| !service.shared);
        let pinned = own
            .filter_map(|service| service.cpus.as_deref())
            .chain(plan.load.cpus.as_deref());
        OutsideLoad {
            probe: ProgramsProbe::new(system),
            roots: roots.to_vec(),
            pinned: pinned.flatten().copied().collect(),
            // The counters of a shared set that is attached are those of one service.
            is_shared_counted: !is_attached || shared().count() == 1,
            before: None,
        }
    }

    /// Looks at all programs before a block. Takes some milliseconds on a machine with many
    /// processes: between windows only.
    pub(crate) fn look(&mut self) {
        let now = self.probe.look().ok();
        self.before = now.map(|found| (found, monotonic_ns()));
    }

    /// The warning about a stretch, if outside programs used too much. `attached` are processes of
    /// the run that Windage did not start. Looks at all programs again only if they may have.
    pub(crate) fn warning(
        &mut self,
        of: Option<OutsideUse>,
        busy_error_ns: u64,
        attached: impl FnOnce() -> Vec<u32>,
    ) -> Option<Warning> {
        let of = of.filter(|of| self.is_shared_counted && of.lasted_ns > 0)?;
        let at_least = match self.pinned.is_empty() {
            true => CORES_MAX,
            false => PINNED_SHARE_MAX,
        };
        if of.outside_ns <= OUTSIDE_NS_MIN {
            return None;
        }
        if cores_beyond(of.outside_ns, of.lasted_ns, busy_error_ns) <= at_least {
            return None;
        }
        let mut roots = attached();
        roots.extend(&self.roots);
        let found = self.before.as_ref().and_then(|(before, at_ns)| {
            let now = self.probe.look().ok()?;
            let lasted_ns = monotonic_ns().saturating_sub(*at_ns);
            Some((now.used_since(before, &roots), lasted_ns))
        });
        let (programs, looked_ns) = found.unwrap_or_default();
        judge(of, busy_error_ns, &programs, looked_ns, &self.pinned)
    }
}

/// What is certain of a figure, in cores.
fn cores_beyond(used_ns: u64, lasted_ns: u64, error_ns: u64) -> f64 {
    used_ns.saturating_sub(error_ns) as f64 / lasted_ns.max(1) as f64
}

/// The warning about a stretch, given what programs used in a longer one around it.
fn judge(
    of: OutsideUse,
    busy_error_ns: u64,
    programs: &[ProgramUse],
    looked_ns: u64,
    pinned: &[u32],
) -> Option<Warning> {
    let cores = |used_ns: u64| used_ns as f64 / looked_ns.max(1) as f64;
    let (kernel, others): (Vec<&ProgramUse>, Vec<&ProgramUse>) = programs
        .iter()
        .partition(|program| program.is_kernel_thread);
    let kernel_cores = match of.has_kernel_threads {
        true => cores(kernel.iter().map(|program| program.cpu_ns).sum()),
        false => 0.0,
    };
    let certain = cores_beyond(of.outside_ns, of.lasted_ns, busy_error_ns) - kernel_cores;
    let named = |used_ns: &dyn Fn(&ProgramUse) -> u64| -> Vec<String> {
        let mut by_use: Vec<(f64, &str)> = others
            .iter()
            .map(|program| (cores(used_ns(program)), program.name.as_str()))
            .filter(|(used, _)| *used >= NAMED_CORES_MIN)
            .collect();
        by_use.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let most = by_use.iter().take(NAMES_MAX);
        most.map(|(used, name)| format!("{name} ({used:.2} cores)"))
            .collect()
    };
    if certain > CORES_MAX {
        return Some(Warning::OutsideLoad {
            cores: of.outside_ns as f64 / of.lasted_ns as f64 - kernel_cores,
            pinned_core: None,
            programs: named(&|program| program.cpu_ns),
        });
    }
    let mut by_core_ns: BTreeMap<u32, u64> = BTreeMap::new();
    for (core, used_ns) in others.iter().flat_map(|program| &program.by_core_ns) {
        *by_core_ns.entry(*core).or_default() += used_ns;
    }
    let of_pinned = by_core_ns.iter().filter(|(core, _)| pinned.contains(core));
    let (core, used_ns) = of_pinned.max_by_key(|(_, used_ns)| **used_ns)?;
    let is_too_much = *used_ns > PINNED_NS_MIN && cores(*used_ns) > PINNED_SHARE_MAX;
    is_too_much.then(|| Warning::OutsideLoad {
        cores: cores(*used_ns),
        pinned_core: Some(u64::from(*core)),
        programs: named(&|program| program.by_core_ns.get(core).copied().unwrap_or(0)),
    })
}

#[cfg(test)]
mod tests;
