//! Stretches: where arms differ by agents that attach and detach, a block is a stretch without any
//! agent and a stretch with the agents of one arm, then both backwards.

use std::time::Duration;

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use windage_model::ArmIndex;
use windage_plan::{Arm, Design, Plan};

use super::{OVERHEAD, between_baselines, times};

/// Which arms are measured without agents, and which with the agents of which arm.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stretches {
    /// Arms that are measured without agents, except the baseline and the control.
    gone: Vec<ArmIndex>,
    /// For each arm with agents: the arm and its bystanders.
    attached: Vec<Vec<ArmIndex>>,
    has_control: bool,
    windows: usize,
}

impl Stretches {
    /// The stretches of a plan; `None` when no arm has agents.
    pub(super) fn of(plan: &Plan) -> Option<Stretches> {
        let arms = || (0u16..).map(ArmIndex).zip(&plan.arms);
        let attached: Vec<Vec<ArmIndex>> = arms()
            .filter(|(_, arm)| !arm.agents.is_empty())
            .map(|(index, owner)| {
                let bystanders =
                    arms().filter(|(_, arm)| arm.bystander_of.as_ref() == Some(&owner.id));
                std::iter::once(index)
                    .chain(bystanders.map(|(index, _)| index))
                    .collect()
            })
            .collect();
        let is_without = |arm: &Arm| arm.agents.is_empty() && arm.bystander_of.is_none();
        let gone = arms()
            .filter(|(index, arm)| *index > ArmIndex::CONTROL && is_without(arm))
            .map(|(index, _)| index)
            .collect();
        (!attached.is_empty()).then(|| Stretches {
            gone,
            attached,
            has_control: plan.arms.len() > ArmIndex::CONTROL.get(),
            windows: windows_in(plan.design.agent_stretch, &plan.design),
        })
    }

    /// The number of blocks in which each arm with agents has one stretch.
    pub(super) fn cycle(&self) -> u32 {
        u32::try_from(self.attached.len()).unwrap_or(u32::MAX)
    }

    /// Windows of one block, on average.
    pub(super) fn block_length(&self) -> usize {
        let with = self.attached.iter().map(|group| self.windows_of(group));
        2 * (self.without(None).len() + with.sum::<usize>() / self.attached.len())
    }

    /// One block. `at` is its number in the cycle; `order` draws for the whole cycle, `within` for
    /// the block.
    pub(super) fn block(
        &self,
        at: u32,
        mut order: ChaCha8Rng,
        mut within: ChaCha8Rng,
    ) -> Vec<ArmIndex> {
        let mut owners: Vec<usize> = (0..self.attached.len()).collect();
        owners.shuffle(&mut order);
        let owner = owners[at as usize % owners.len()];
        let mut half = self.without(Some(&mut within));
        let mut group = self.attached[owner].clone();
        let windows = self.windows_of(&group);
        let mut with = Vec::with_capacity(windows);
        while with.len() < windows {
            group.shuffle(&mut within);
            with.extend_from_slice(&group);
        }
        half.append(&mut with);
        let back: Vec<ArmIndex> = half.iter().rev().copied().collect();
        half.extend(back);
        half
    }

    /// Windows of a stretch with agents: equally many for each arm that they are attached for.
    fn windows_of(&self, group: &[ArmIndex]) -> usize {
        self.windows.next_multiple_of(group.len())
    }

    /// The windows of a stretch without agents.
    fn without(&self, mut random: Option<&mut ChaCha8Rng>) -> Vec<ArmIndex> {
        let mut others = self.gone.clone();
        if self.has_control {
            others.push(ArmIndex::CONTROL);
        }
        let mut windows = Vec::with_capacity(self.windows);
        loop {
            if let Some(random) = &mut random {
                others.shuffle(*random);
            }
            windows.append(&mut between_baselines(&others));
            if windows.len() >= self.windows {
                return windows;
            }
        }
    }
}

fn windows_in(agent_stretch: Duration, design: &Design) -> usize {
    times(agent_stretch, design.window + design.settle + OVERHEAD) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use windage_plan::Plan;

    use super::*;
    use crate::order::RunOrder;

    const OFF: ArmIndex = ArmIndex::BASELINE;
    const SDK: ArmIndex = ArmIndex(2);
    const AGENT: ArmIndex = ArmIndex(3);
    const DEBUG: ArmIndex = ArmIndex(4);
    const BYSTANDER: ArmIndex = ArmIndex(5);

    /// An SDK arm, two arms with agents, and a bystander of the first of these.
    fn order(design: &str) -> RunOrder {
        let text = format!(
            r#"
            name = "agents"
            [[service]]
            name = "app"
            command = ["bin/app", "{{listen}}"]
            [[agent]]
            name = "otel"
            command = ["bin/agent", "-target-pid", "{{app.pid}}"]
            [load]
            model = "closed"
            request = "GET http://{{app}}/"
            [[arm]]
            name = "off"
            baseline = true
            [[arm]]
            name = "sdk"
            env = {{ TELEMETRY = "otel" }}
            [[arm]]
            name = "agent"
            agents = ["otel"]
            [[arm]]
            name = "debug"
            agents = ["otel"]
            args = {{ otel = ["-debug"] }}
            [[arm]]
            name = "bystander"
            bystander_of = "agent"
            [design]
            window = "98ms"
            settle = "0s"
            {design}
            "#
        );
        let plan = Plan::parse(&text, "plan.toml", Path::new("/")).unwrap();
        RunOrder::of(&plan)
    }

    fn counts(windows: &[ArmIndex]) -> BTreeMap<ArmIndex, usize> {
        let mut counts = BTreeMap::new();
        for arm in windows {
            *counts.entry(*arm).or_default() += 1;
        }
        counts
    }

    #[test]
    fn agents_are_attached_once_per_block_and_detached_at_both_ends() {
        let order = order("agent_stretch = \"1s\"\nblocks = 4");
        for block in 0..order.blocks_per_round() * order.rounds() {
            let windows = order.block(block);
            let with = |arm: &ArmIndex| [AGENT, DEBUG, BYSTANDER].contains(arm);
            let first = windows.iter().position(with).unwrap();
            let last = windows.iter().rposition(with).unwrap();
            assert!(
                windows[first..=last].iter().all(with),
                "{block}: one stretch"
            );
            assert_eq!(first, windows.len() - 1 - last, "{block}: in the middle");
            let of_debug = windows.contains(&DEBUG);
            assert_ne!(
                of_debug,
                windows.contains(&AGENT),
                "{block}: agents of one arm"
            );
            assert_eq!(of_debug, !windows.contains(&BYSTANDER), "{block}");
            let back: Vec<ArmIndex> = windows.iter().rev().copied().collect();
            assert_eq!(windows, back, "{block}: mirrored");
        }
    }

    #[test]
    fn every_arm_has_a_stretch_in_every_round() {
        let order = order("agent_stretch = \"1s\"\nblocks = 3\nrounds = 2");
        assert_eq!(
            order.blocks_per_round(),
            4,
            "two arms with agents, twice each"
        );
        for round in 0..2 {
            let windows: Vec<ArmIndex> =
                (0..4).flat_map(|at| order.block(round * 4 + at)).collect();
            let counts = counts(&windows);
            // Ten windows per stretch, two stretches per block, two blocks.
            assert_eq!(counts[&DEBUG], 40);
            assert_eq!((counts[&AGENT], counts[&BYSTANDER]), (20, 20));
            assert_eq!(counts[&SDK], counts[&ArmIndex::CONTROL]);
            assert!(counts[&OFF] >= counts[&SDK], "{counts:?}");
        }
    }

    #[test]
    fn measuring_time_is_filled_with_whole_stretches() {
        for (design, blocks) in [
            ("agent_stretch = \"1s\"\nfor = \"1s\"\nrounds = 2", 2),
            ("agent_stretch = \"1s\"\nfor = \"40s\"\nrounds = 1", 10),
            ("agent_stretch = \"5s\"\nfor = \"40s\"\nrounds = 1", 2),
        ] {
            assert_eq!(order(design).blocks_per_round(), blocks, "{design}");
        }
    }
}
