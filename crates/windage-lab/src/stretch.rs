//! Labels that tell the sink in which stretch of a run a span ended.

use windage_model::{ArmIndex, Place};

/// A stretch of a launch. What a service does in it counts for the arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) arm: ArmIndex,
    /// The block and the position in it of a measured window; `None` for everything else:
    /// readiness, warm-up, settle, the time between windows, drain.
    pub(crate) window: Option<(u32, u32)>,
}

/// From the lowest bit: the position, the block, the arm, and whether it is measured.
const BLOCK_SHIFT: u32 = 15;
const ARM_SHIFT: u32 = 47;
const MEASURED: u64 = 1 << 63;
/// A block has at most two windows for each of 65 arms, plus one.
const POSITIONS: u64 = 1 << BLOCK_SHIFT;

impl Stretch {
    pub(crate) fn unmeasured(arm: ArmIndex) -> Stretch {
        Stretch { arm, window: None }
    }

    pub(crate) fn measured(place: Place) -> Stretch {
        Stretch {
            arm: place.arm,
            window: Some((place.block, place.position)),
        }
    }

    /// Its label; [`of_label`](Stretch::of_label) is the inverse.
    pub(crate) fn label(self) -> u64 {
        let arm = u64::from(self.arm.0) << ARM_SHIFT;
        match self.window {
            None => arm,
            Some((block, position)) => {
                let position = u64::from(position) % POSITIONS;
                MEASURED | arm | u64::from(block) << BLOCK_SHIFT | position
            }
        }
    }

    pub(crate) fn of_label(label: u64) -> Stretch {
        let low = |bits: u64, width: u32| bits & ((1 << width) - 1);
        let block = low(label >> BLOCK_SHIFT, 32);
        let window = (
            u32::try_from(block).unwrap_or(u32::MAX),
            u32::try_from(label % POSITIONS).unwrap_or(u32::MAX),
        );
        let arm = low(label >> ARM_SHIFT, 16);
        Stretch {
            arm: ArmIndex(u16::try_from(arm).unwrap_or(u16::MAX)),
            window: (label & MEASURED != 0).then_some(window),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_convert_back_to_stretches() {
        let arms = [0, 1, 64, u16::MAX];
        let windows = [
            None,
            Some((0, 0)),
            Some((0, 130)),
            Some((7, 0)),
            Some((u32::MAX, 32_767)),
        ];
        let mut labels = Vec::new();
        for arm in arms {
            for window in windows {
                let arm = ArmIndex(arm);
                let stretch = Stretch { arm, window };
                assert_eq!(Stretch::of_label(stretch.label()), stretch);
                labels.push(stretch.label());
            }
        }
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(
            labels.len(),
            arms.len() * windows.len(),
            "labels are unique"
        );
    }
}
