//! An arm of the file, and the arms that it expands to.

use std::collections::BTreeSet;
use std::ops::Range;

use windage_model::LevelValue;

use crate::plan::Arm;
use crate::wire;

/// More arms than that can't be measured close in time.
pub(super) const MAX_ARMS: usize = 64;
/// The id and the set of processes that the control takes.
pub(super) const CONTROL: &str = "control";

/// One level of each factor, in file order.
pub(super) type Levels = Vec<(String, LevelValue)>;

/// One `[[arm]]` of the file and the arms that it expands to.
pub(super) struct FileArm {
    pub(super) arms: Vec<Arm>,
    pub(super) name_span: Range<usize>,
    pub(super) instance_span: Option<Range<usize>>,
    /// Each factor and where its name stands.
    pub(super) factors: Vec<(String, Range<usize>)>,
    /// Variables that it sets, which hide those of a service.
    pub(super) variables: BTreeSet<String>,
    /// Services and agents whose command it replaces.
    pub(super) replaces: BTreeSet<usize>,
    /// The agents that are attached for it.
    pub(super) agents: BTreeSet<usize>,
    /// Whether every agent that it names exists.
    pub(super) agents_known: bool,
}

impl FileArm {
    pub(super) fn is_bystander(&self) -> bool {
        self.arms.iter().any(|arm| arm.bystander_of.is_some())
    }
}

/// Whether the file calls it the baseline.
pub(super) fn is_baseline(arm: &wire::Arm) -> bool {
    arm.baseline.as_ref().is_some_and(|b| *b.get_ref())
}
