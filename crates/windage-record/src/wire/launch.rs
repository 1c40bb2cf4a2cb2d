//! Stored forms of launches and of the run's end.

use serde::{Deserialize, Serialize};
use windage_model::{ArmIndex, CpuSource};

use super::stored::{Store, stored};
use crate::{
    CpuUsed, Ending, Launch, LaunchArmEnd, LaunchEnd, LaunchedArm, ServiceUsed, ServicesUsed,
};

stored!(Launch as StoredLaunch {
    launch: u32,
    round: u32,
    started_ns: u64,
    arms: Vec<LaunchedArm>,
});

stored!(LaunchedArm as StoredLaunchedArm {
    arm: ArmIndex,
    instance: u16,
    startup_ns: Option<u64>,
    cpu_source: CpuSource,
    cpu_resolution_ns: u64,
    startup_cpu_ns: Option<u64>,
    warmup_completed: u64,
    warmup_outside_ns: u64,
    warmup_outside_time_ns: u64,
});

stored!(LaunchEnd as StoredLaunchEnd {
    launch: u32,
    arms: Vec<LaunchArmEnd>,
    own_rss_bytes: Option<u64>,
});

stored!(LaunchArmEnd as StoredLaunchArmEnd {
    arm: ArmIndex,
    after_last_window_ns: Option<u64>,
    drain_ns: u64,
    idle_cpu_ns: Option<u64>,
    idle_ns: u64,
    after_turns_ns: Option<u64>,
    turns_drain_ns: u64,
    rss_peak_bytes: Option<u64>,
    pss_bytes: Option<u64>,
    hidden_ns: u64,
    unmeasured: u64,
});

stored!(ServicesUsed as StoredServicesUsed {
    launch: u32,
    arm: ArmIndex,
    outside_time_ns: u64,
    turns_time_ns: u64,
    idle_time_ns: u64,
    whole: CpuUsed,
    services: Vec<ServiceUsed>,
});

stored!(ServiceUsed as StoredServiceUsed {
    service: String,
    cpu: CpuUsed,
});

stored!(CpuUsed as StoredCpuUsed {
    windows_ns: u64,
    outside_ns: u64,
    turns_ns: u64,
    idle_ns: u64,
});

#[derive(Serialize, Deserialize)]
pub(super) enum StoredCpuSource {
    CgroupV1,
    CgroupV2,
    ProcessClock,
    Rusage,
    None,
}

impl Store for CpuSource {
    type Stored = StoredCpuSource;

    fn store(&self) -> StoredCpuSource {
        match self {
            CpuSource::CgroupV1 => StoredCpuSource::CgroupV1,
            CpuSource::CgroupV2 => StoredCpuSource::CgroupV2,
            CpuSource::ProcessClock => StoredCpuSource::ProcessClock,
            CpuSource::Rusage => StoredCpuSource::Rusage,
            CpuSource::None => StoredCpuSource::None,
        }
    }

    fn restore(stored: StoredCpuSource) -> Result<CpuSource, String> {
        Ok(match stored {
            StoredCpuSource::CgroupV1 => CpuSource::CgroupV1,
            StoredCpuSource::CgroupV2 => CpuSource::CgroupV2,
            StoredCpuSource::ProcessClock => CpuSource::ProcessClock,
            StoredCpuSource::Rusage => CpuSource::Rusage,
            StoredCpuSource::None => CpuSource::None,
        })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) enum StoredEnding {
    Complete,
    StoppedEarly(String),
    Interrupted,
    Died(String),
}

impl Store for Ending {
    type Stored = StoredEnding;

    fn store(&self) -> StoredEnding {
        match self {
            Ending::Complete => StoredEnding::Complete,
            Ending::StoppedEarly { reason } => StoredEnding::StoppedEarly(reason.clone()),
            Ending::Interrupted => StoredEnding::Interrupted,
            Ending::Died { text } => StoredEnding::Died(text.clone()),
        }
    }

    fn restore(stored: StoredEnding) -> Result<Ending, String> {
        Ok(match stored {
            StoredEnding::Complete => Ending::Complete,
            StoredEnding::StoppedEarly(reason) => Ending::StoppedEarly { reason },
            StoredEnding::Interrupted => Ending::Interrupted,
            StoredEnding::Died(text) => Ending::Died { text },
        })
    }
}
