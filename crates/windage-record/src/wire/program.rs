//! Stored forms of what is known of batch programs.

use serde::{Deserialize, Serialize};
use windage_model::{ArmIndex, Phase, PhaseSpent, ProcessTimes};

use super::window::StoredPlace;
use crate::Said;

#[derive(Serialize, Deserialize)]
pub(super) struct StoredPhase {
    launch: u32,
    arm: u16,
    phase: String,
    wall_ns: u64,
    cpu_ns: Option<u64>,
}

impl From<&PhaseSpent> for StoredPhase {
    fn from(spent: &PhaseSpent) -> Self {
        let PhaseSpent {
            launch,
            arm,
            phase,
            wall_ns,
            cpu_ns,
        } = *spent;
        StoredPhase {
            launch,
            arm: arm.0,
            phase: phase.as_str().to_owned(),
            wall_ns,
            cpu_ns,
        }
    }
}

impl TryFrom<StoredPhase> for PhaseSpent {
    type Error = String;

    fn try_from(stored: StoredPhase) -> Result<Self, String> {
        let phase = Phase::from_name(&stored.phase);
        Ok(PhaseSpent {
            launch: stored.launch,
            arm: ArmIndex(stored.arm),
            phase: phase.ok_or_else(|| format!("`{}` is no phase", stored.phase))?,
            wall_ns: stored.wall_ns,
            cpu_ns: stored.cpu_ns,
        })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredProcess {
    place: StoredPlace,
    wall_ns: u64,
    user_ns: u64,
    system_ns: u64,
}

impl From<&ProcessTimes> for StoredProcess {
    fn from(times: &ProcessTimes) -> Self {
        let ProcessTimes {
            place,
            wall_ns,
            user_ns,
            system_ns,
        } = *times;
        StoredProcess {
            place: place.into(),
            wall_ns,
            user_ns,
            system_ns,
        }
    }
}

impl From<StoredProcess> for ProcessTimes {
    fn from(stored: StoredProcess) -> Self {
        let StoredProcess {
            place,
            wall_ns,
            user_ns,
            system_ns,
        } = stored;
        ProcessTimes {
            place: place.into(),
            wall_ns,
            user_ns,
            system_ns,
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredSaid {
    launch: u32,
    arm: u16,
    name: String,
    text: String,
}

impl From<&Said> for StoredSaid {
    fn from(said: &Said) -> Self {
        StoredSaid {
            launch: said.launch,
            arm: said.arm.0,
            name: said.name.clone(),
            text: said.text.clone(),
        }
    }
}

impl From<StoredSaid> for Said {
    fn from(stored: StoredSaid) -> Self {
        let StoredSaid {
            launch,
            arm,
            name,
            text,
        } = stored;
        Said {
            launch,
            arm: ArmIndex(arm),
            name,
            text,
        }
    }
}
