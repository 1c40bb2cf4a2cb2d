//! Stored forms of batch programs.

use windage_model::{ArmIndex, Phase, PhaseSpent, Place, ProcessTimes};

use super::stored::{Store, stored};
use crate::SelfReport;

stored!(PhaseSpent as StoredPhaseSpent {
    launch: u32,
    arm: ArmIndex,
    phase: Phase,
    wall_ns: u64,
    cpu_ns: Option<u64>,
});

stored!(ProcessTimes as StoredProcess {
    place: Place,
    wall_ns: u64,
    user_ns: u64,
    system_ns: u64,
});

stored!(SelfReport as StoredSaid {
    launch: u32,
    arm: ArmIndex,
    name: String,
    text: String,
});

impl Store for Phase {
    type Stored = String;

    fn store(&self) -> String {
        self.as_str().to_owned()
    }

    fn restore(stored: String) -> Result<Phase, String> {
        Phase::from_name(&stored).ok_or_else(|| format!("`{stored}` is not a phase"))
    }
}
