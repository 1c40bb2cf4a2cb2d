//! Which arms form a chain of stages, from the plan.

use windage_model::ArmIndex;
use windage_record::ManifestArm;

/// Arms each of which adds a stage to the previous one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chain {
    /// The arm that the first stage is added to.
    pub(super) from: ArmIndex,
    /// The arms that add a stage, in order; at least one.
    pub(super) stages: Vec<ArmIndex>,
    /// End-to-end arms: the same as one of these, measured again.
    pub(super) twins: Vec<Twin>,
}

/// An arm that is the same as another, with its own processes and windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Twin {
    pub(super) arm: ArmIndex,
    pub(super) same_as: ArmIndex,
}

impl Chain {
    /// Each stage with the arm below it.
    pub(super) fn links(&self) -> impl Iterator<Item = (ArmIndex, ArmIndex)> + '_ {
        let below = std::iter::once(&self.from).chain(&self.stages);
        self.stages
            .iter()
            .zip(below)
            .map(|(arm, below)| (*arm, *below))
    }

    /// The last arm: all stages together.
    pub(super) fn last(&self) -> ArmIndex {
        self.stages.last().copied().unwrap_or(self.from)
    }

    /// All arms of the chain.
    pub(super) fn members(&self) -> impl Iterator<Item = ArmIndex> + '_ {
        let twins = self.twins.iter().map(|twin| twin.arm);
        std::iter::once(self.from)
            .chain(self.stages.iter().copied())
            .chain(twins)
    }
}

/// A chain for each arm that no other arm adds to, in the plan's order.
pub(super) fn chains(arms: &[ManifestArm]) -> Vec<Chain> {
    let is_added_to = |arm: &ManifestArm| {
        let mut others = arms.iter();
        others.any(|other| other.adds_to == Some(arm.index))
    };
    let ends = arms.iter().filter(|arm| !is_added_to(arm));
    ends.filter_map(|end| chain_to(end, arms)).collect()
}

/// `None` for an arm that adds to none; also when following `adds_to` never ends or leads to a
/// missing arm, which no valid plan has.
fn chain_to(end: &ManifestArm, arms: &[ManifestArm]) -> Option<Chain> {
    let mut stages = vec![end.index];
    let mut from = end.adds_to?;
    while let Some(below) = arms.get(from.get())?.adds_to {
        if stages.len() >= arms.len() {
            return None;
        }
        stages.push(from);
        from = below;
    }
    stages.reverse();
    let twins = arms.iter().filter_map(|arm| {
        let same_as = arm.same_as.filter(|of| stages.contains(of))?;
        Some(Twin {
            arm: arm.index,
            same_as,
        })
    });
    Some(Chain {
        from,
        twins: twins.collect(),
        stages,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use windage_record::fixtures;

    /// Arms by what each adds to and is the same as.
    fn arms(of: &[(Option<u16>, Option<u16>)]) -> Vec<ManifestArm> {
        let arms = (0u16..)
            .zip(of)
            .map(|(index, (adds_to, same_as))| ManifestArm {
                adds_to: adds_to.map(ArmIndex),
                same_as: same_as.map(ArmIndex),
                ..fixtures::arm(index, "any")
            });
        arms.collect()
    }

    #[test]
    fn chains_end_at_arms_that_nothing_adds_to() {
        let no = (None, None);
        let adds = |to| (Some(to), None);
        let same = |of| (None, Some(of));
        // first arm, stages, twins of each chain
        type Found = Vec<(u16, Vec<u16>, Vec<(u16, u16)>)>;
        let table: [(&str, Vec<_>, Found); 7] = [
            ("no stages", vec![no, no, no], vec![]),
            (
                "two stages and an end-to-end arm",
                vec![no, no, adds(0), adds(2), same(3)],
                vec![(0, vec![2, 3], vec![(4, 3)])],
            ),
            (
                "from an arm that is not the baseline, in another order",
                vec![no, no, adds(3), no],
                vec![(3, vec![2], vec![])],
            ),
            (
                "two chains share their lower stages",
                vec![no, no, adds(0), adds(2), adds(2)],
                vec![(0, vec![2, 3], vec![]), (0, vec![2, 4], vec![])],
            ),
            (
                "a twin of an arm in the middle, and one of the baseline",
                vec![no, no, adds(0), adds(2), same(2), same(0)],
                vec![(0, vec![2, 3], vec![(4, 2)])],
            ),
            (
                "a cycle, with and without an end",
                vec![no, no, adds(3), adds(2), adds(3)],
                vec![],
            ),
            ("an arm that is not there", vec![no, no, adds(9)], vec![]),
        ];
        for (what, of, expected) in table {
            let found: Found = chains(&arms(&of))
                .into_iter()
                .map(|chain| {
                    let stages = chain.stages.iter().map(|arm| arm.0).collect();
                    let twins = chain.twins.iter().map(|t| (t.arm.0, t.same_as.0));
                    (chain.from.0, stages, twins.collect())
                })
                .collect();
            assert_eq!(found, expected, "{what}");
        }
    }

    #[test]
    fn links_lead_from_the_first_arm_to_the_last() {
        let chain = Chain {
            from: ArmIndex(0),
            stages: [2, 3, 4].map(ArmIndex).into(),
            twins: vec![],
        };
        let links: Vec<_> = chain.links().map(|(arm, below)| (arm.0, below.0)).collect();
        assert_eq!(links, [(2, 0), (3, 2), (4, 3)]);
        assert_eq!(chain.last(), ArmIndex(4));
    }
}
