//! Stored forms of launches and of the run's end.

use serde::{Deserialize, Serialize};
use windage_model::{ArmIndex, CpuSource};

use crate::{Ending, Launch, LaunchArmEnd, LaunchEnd, LaunchedArm};

#[derive(Serialize, Deserialize)]
pub(super) struct StoredLaunch {
    launch: u32,
    round: u32,
    started_ns: u64,
    arms: Vec<StoredLaunchedArm>,
}

#[derive(Serialize, Deserialize)]
struct StoredLaunchedArm {
    arm: u16,
    instance: u16,
    startup_ns: Option<u64>,
    cpu_source: StoredCpuSource,
    cpu_grain_ns: u64,
    startup_cpu_ns: Option<u64>,
    warmup_completed: u64,
    warmup_outside_ns: u64,
    warmup_outside_time_ns: u64,
}

/// Stored by position: new sources are added at the end.
#[derive(Serialize, Deserialize)]
enum StoredCpuSource {
    CgroupV1,
    CgroupV2,
    ProcessClock,
    Rusage,
    None,
}

impl From<&Launch> for StoredLaunch {
    fn from(launch: &Launch) -> Self {
        let Launch {
            launch,
            round,
            started_ns,
            ref arms,
        } = *launch;
        StoredLaunch {
            launch,
            round,
            started_ns,
            arms: arms.iter().map(Into::into).collect(),
        }
    }
}

impl From<StoredLaunch> for Launch {
    fn from(stored: StoredLaunch) -> Self {
        let StoredLaunch {
            launch,
            round,
            started_ns,
            arms,
        } = stored;
        Launch {
            launch,
            round,
            started_ns,
            arms: arms.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<&LaunchedArm> for StoredLaunchedArm {
    fn from(launched: &LaunchedArm) -> Self {
        let LaunchedArm {
            arm,
            instance,
            startup_ns,
            cpu_source,
            cpu_grain_ns,
            startup_cpu_ns,
            warmup_completed,
            warmup_outside_ns,
            warmup_outside_time_ns,
        } = *launched;
        let cpu_source = match cpu_source {
            CpuSource::CgroupV1 => StoredCpuSource::CgroupV1,
            CpuSource::CgroupV2 => StoredCpuSource::CgroupV2,
            CpuSource::ProcessClock => StoredCpuSource::ProcessClock,
            CpuSource::Rusage => StoredCpuSource::Rusage,
            CpuSource::None => StoredCpuSource::None,
        };
        StoredLaunchedArm {
            arm: arm.0,
            instance,
            startup_ns,
            cpu_source,
            cpu_grain_ns,
            startup_cpu_ns,
            warmup_completed,
            warmup_outside_ns,
            warmup_outside_time_ns,
        }
    }
}

impl From<StoredLaunchedArm> for LaunchedArm {
    fn from(stored: StoredLaunchedArm) -> Self {
        let StoredLaunchedArm {
            arm,
            instance,
            startup_ns,
            cpu_source,
            cpu_grain_ns,
            startup_cpu_ns,
            warmup_completed,
            warmup_outside_ns,
            warmup_outside_time_ns,
        } = stored;
        let cpu_source = match cpu_source {
            StoredCpuSource::CgroupV1 => CpuSource::CgroupV1,
            StoredCpuSource::CgroupV2 => CpuSource::CgroupV2,
            StoredCpuSource::ProcessClock => CpuSource::ProcessClock,
            StoredCpuSource::Rusage => CpuSource::Rusage,
            StoredCpuSource::None => CpuSource::None,
        };
        LaunchedArm {
            arm: ArmIndex(arm),
            instance,
            startup_ns,
            cpu_source,
            cpu_grain_ns,
            startup_cpu_ns,
            warmup_completed,
            warmup_outside_ns,
            warmup_outside_time_ns,
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredLaunchEnd {
    launch: u32,
    arms: Vec<StoredLaunchArmEnd>,
}

#[derive(Serialize, Deserialize)]
struct StoredLaunchArmEnd {
    arm: u16,
    after_last_window_ns: Option<u64>,
    drain_ns: u64,
    idle_cpu_ns: Option<u64>,
    idle_ns: u64,
    rss_peak_bytes: Option<u64>,
    pss_bytes: Option<u64>,
}

impl From<&LaunchEnd> for StoredLaunchEnd {
    fn from(end: &LaunchEnd) -> Self {
        StoredLaunchEnd {
            launch: end.launch,
            arms: end.arms.iter().map(Into::into).collect(),
        }
    }
}

impl From<StoredLaunchEnd> for LaunchEnd {
    fn from(stored: StoredLaunchEnd) -> Self {
        let StoredLaunchEnd { launch, arms } = stored;
        LaunchEnd {
            launch,
            arms: arms.into_iter().map(Into::into).collect(),
            own_rss_bytes: None,
        }
    }
}

impl From<&LaunchArmEnd> for StoredLaunchArmEnd {
    fn from(end: &LaunchArmEnd) -> Self {
        let LaunchArmEnd {
            arm,
            after_last_window_ns,
            drain_ns,
            idle_cpu_ns,
            idle_ns,
            rss_peak_bytes,
            pss_bytes,
            // Behind all arms, in `StoredMore`.
            hidden_ns: _,
            unmeasured: _,
        } = *end;
        StoredLaunchArmEnd {
            arm: arm.0,
            after_last_window_ns,
            drain_ns,
            idle_cpu_ns,
            idle_ns,
            rss_peak_bytes,
            pss_bytes,
        }
    }
}

impl From<StoredLaunchArmEnd> for LaunchArmEnd {
    fn from(stored: StoredLaunchArmEnd) -> Self {
        let StoredLaunchArmEnd {
            arm,
            after_last_window_ns,
            drain_ns,
            idle_cpu_ns,
            idle_ns,
            rss_peak_bytes,
            pss_bytes,
        } = stored;
        LaunchArmEnd {
            arm: ArmIndex(arm),
            after_last_window_ns,
            drain_ns,
            idle_cpu_ns,
            idle_ns,
            rss_peak_bytes,
            pss_bytes,
            ..LaunchArmEnd::default()
        }
    }
}

/// What version 2 of a launch's end has behind the fields of version 1.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredMore {
    /// Of each arm, in their order: the hidden time and the requests of load that is not measured.
    arms: Vec<(u64, u64)>,
}

impl From<&LaunchEnd> for StoredMore {
    fn from(end: &LaunchEnd) -> Self {
        let of = |arm: &LaunchArmEnd| (arm.hidden_ns, arm.unmeasured);
        StoredMore {
            arms: end.arms.iter().map(of).collect(),
        }
    }
}

impl StoredMore {
    /// Fills in what the first version has no place for.
    pub(super) fn complete(self, end: &mut LaunchEnd) {
        for (arm, (hidden_ns, unmeasured)) in end.arms.iter_mut().zip(self.arms) {
            arm.hidden_ns = hidden_ns;
            arm.unmeasured = unmeasured;
        }
    }
}

/// Stored by position: new endings are added at the end.
#[derive(Serialize, Deserialize)]
pub(super) enum StoredEnding {
    Complete,
    StoppedEarly(String),
    Interrupted,
    Died(String),
}

impl From<&Ending> for StoredEnding {
    fn from(ending: &Ending) -> Self {
        match ending {
            Ending::Complete => StoredEnding::Complete,
            Ending::StoppedEarly { reason } => StoredEnding::StoppedEarly(reason.clone()),
            Ending::Interrupted => StoredEnding::Interrupted,
            Ending::Died { text } => StoredEnding::Died(text.clone()),
        }
    }
}

impl From<StoredEnding> for Ending {
    fn from(stored: StoredEnding) -> Self {
        match stored {
            StoredEnding::Complete => Ending::Complete,
            StoredEnding::StoppedEarly(reason) => Ending::StoppedEarly { reason },
            StoredEnding::Interrupted => Ending::Interrupted,
            StoredEnding::Died(text) => Ending::Died { text },
        }
    }
}
