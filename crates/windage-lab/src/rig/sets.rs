//! Which arms share processes, and the cgroup of each set of processes.

use windage_keeper::Keeper;
use windage_model::{ArmIndex, Event};
use windage_plan::Plan;
use windage_probe::Linux;
use windage_probe::cgroup::{ArmCgroup, CgroupTree};

use crate::LabError;
use crate::attached::attached;

/// The name of the agents' cgroup. Arm ids have no capitals, so it can't clash with one.
const AGENTS: &str = "Agents";

/// Which arms share a set of processes. Services that Windage attaches to exist once, for all arms.
pub(crate) fn sets_of(plan: &Plan) -> Vec<Vec<ArmIndex>> {
    let is_attached = attached(plan).is_some();
    let mut names: Vec<&str> = Vec::new();
    let mut sets: Vec<Vec<ArmIndex>> = Vec::new();
    for (index, arm) in (0u16..).zip(&plan.arms) {
        let name = if is_attached {
            "attached"
        } else {
            arm.instance.as_str()
        };
        match names.iter().position(|known| *known == name) {
            Some(set) => sets[set].push(ArmIndex(index)),
            None => {
                names.push(name);
                sets.push(vec![ArmIndex(index)]);
            }
        }
    }
    sets
}

/// A cgroup for each set of processes that is launched, removed however the run ends. Where cgroups
/// can't be created, CPU is read per process; a note says so once, and the run records it as the
/// source.
pub(super) fn groups(
    sets: &[Vec<ArmIndex>],
    plan: &Plan,
    keeper: &mut Keeper,
    emit: &dyn Fn(Event),
) -> Result<Vec<Option<ArmCgroup>>, LabError> {
    let none = || sets.iter().map(|_| None).collect();
    if attached(plan).is_some() {
        return Ok(none());
    }
    let has_pods = plan.services.iter().any(|service| service.pod.is_some());
    let by_process = |why: &str| {
        // Pods have control groups of their own.
        if has_pods {
            return;
        }
        let text = format!("no cgroup per arm ({why}): CPU is read from the processes' clocks");
        emit(Event::Note { text });
    };
    let movable = [std::process::id(), keeper.keeper_pid()];
    let found = CgroupTree::detect_or_enter_scope(&Linux, &movable);
    if let Some(scope) = found.scope {
        let text = format!("Windage runs in {scope}, where it may create a cgroup for each arm");
        emit(Event::Note { text });
    }
    let Some(tree) = found.tree else {
        by_process("no hierarchy that counts CPU is mounted");
        return Ok(none());
    };
    tree.sweep_stale();
    let mut groups = Vec::with_capacity(sets.len());
    for set in sets {
        let name = set
            .first()
            .map_or("none", |arm| plan.arms[arm.get()].id.as_str());
        match tree.create(name) {
            Ok(group) => groups.push(Some(group)),
            // All arms or none: arms that are compared must be counted in the same way.
            Err(error) => {
                by_process(&error.to_string());
                return Ok(none());
            }
        }
    }
    for dir in groups.iter().flatten().flat_map(|group| &group.dirs) {
        keeper.remove_at_end(dir.clone())?;
    }
    Ok(groups)
}

/// One cgroup for the agents of all arms. Where the sets of processes have no cgroups, agents have
/// none either: figures that are added up must be counted in the same way.
pub(super) fn agent_group(
    plan: &Plan,
    groups: &[Option<ArmCgroup>],
    keeper: &mut Keeper,
    emit: &dyn Fn(Event),
) -> Result<Option<ArmCgroup>, LabError> {
    let is_grouped = groups.iter().any(Option::is_some) || attached(plan).is_some();
    if plan.agents.is_empty() || !is_grouped {
        return Ok(None);
    }
    let by_process = |why: &str| {
        let text =
            format!("no cgroup for agents ({why}): their CPU is read from the processes' clocks");
        emit(Event::Note { text });
        Ok(None)
    };
    let Some(tree) = CgroupTree::detect(&Linux) else {
        return by_process("no hierarchy that counts CPU is mounted");
    };
    match tree.create(AGENTS) {
        Ok(group) => {
            let mut dirs = group.dirs.iter();
            dirs.try_for_each(|dir| keeper.remove_at_end(dir.clone()))?;
            Ok(Some(group))
        }
        Err(error) => by_process(&error.to_string()),
    }
}
