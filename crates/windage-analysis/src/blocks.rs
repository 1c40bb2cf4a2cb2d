//! Windows, found by block and arm.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Soundness, Window};

/// Windows of one block, by arm; void ones are left out.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) launch: u32,
    by_arm: Vec<Vec<u32>>,
}

impl Block {
    /// Usable windows of an arm, as indices into the run's windows.
    pub(crate) fn of(&self, arm: ArmIndex) -> &[u32] {
        self.by_arm.get(arm.get()).map_or(&[], Vec::as_slice)
    }
}

/// The blocks of a run in the order in which they were measured.
#[derive(Debug)]
pub(crate) struct Blocks<'a> {
    pub(crate) windows: &'a [Window],
    pub(crate) blocks: Vec<Block>,
}

impl<'a> Blocks<'a> {
    pub(crate) fn index(windows: &'a [Window], arms: usize) -> Blocks<'a> {
        let mut found: BTreeMap<(u32, u32), Vec<Vec<u32>>> = BTreeMap::new();
        for (index, window) in (0u32..).zip(windows) {
            let arm = window.place.arm.get();
            if window.soundness() == Soundness::Void || arm >= arms {
                continue;
            }
            let by_arm = found
                .entry((window.place.launch, window.place.block))
                .or_insert_with(|| vec![Vec::new(); arms]);
            by_arm[arm].push(index);
        }
        let blocks = found
            .into_iter()
            .map(|((launch, _), by_arm)| Block { launch, by_arm })
            .collect();
        Blocks { windows, blocks }
    }

    /// Usable windows of an arm over the whole run.
    pub(crate) fn windows_of(&self, arm: ArmIndex) -> impl Iterator<Item = &'a Window> + '_ {
        self.blocks
            .iter()
            .flat_map(move |block| block.of(arm))
            .map(|&i| &self.windows[i as usize])
    }

    /// A value of each usable window of an arm in a block; those that have none are left out.
    pub(crate) fn values(
        &self,
        block: &Block,
        arm: ArmIndex,
        value: impl Fn(&Window) -> Option<f64>,
    ) -> Vec<f64> {
        block
            .of(arm)
            .iter()
            .filter_map(|&i| value(&self.windows[i as usize]))
            .filter(|v| v.is_finite())
            .collect()
    }
}
