//! Stored forms of batch programs, and of what processes hold.

use windage_model::{ArmIndex, Held, Phase, PhaseSpent, Place, ProcessTimes};

use super::stored::{Store, stored};
use crate::{HeldAt, SelfReport};

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

stored!(HeldAt as StoredHeldAt {
    place: Place,
    at_ns: u64,
    services: Option<Held>,
    agents: Option<Held>,
});

stored!(Held as StoredHeld {
    threads: u64,
    descriptors: Option<u64>,
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
