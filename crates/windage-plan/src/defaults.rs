//! What a plan means where it is silent. The only place where defaults stand.

use std::time::Duration;

pub(crate) const BUILD_WITHIN: Duration = Duration::from_mins(10);
pub(crate) const READY_WITHIN: Duration = Duration::from_secs(30);
pub(crate) const STOP_WITHIN: Duration = Duration::from_secs(5);

pub(crate) const CONNECTIONS: u32 = 8;
pub(crate) const STREAMS: u32 = 1;
pub(crate) const THREADS: u32 = 1;
pub(crate) const WEIGHT: u32 = 1;
pub(crate) const THINK: Duration = Duration::ZERO;
pub(crate) const COUNTER_STEP: u64 = 1;
pub(crate) const TIMEOUT: Duration = Duration::from_secs(5);
pub(crate) const ITERATIONS: u64 = 1;

pub(crate) const WINDOW: Duration = Duration::from_millis(100);
pub(crate) const SETTLE: Duration = Duration::from_millis(10);
pub(crate) const ROUNDS: u32 = 3;
pub(crate) const MEASURING_TIME: Duration = Duration::from_secs(60);
pub(crate) const WARMUP: Duration = Duration::from_secs(1);
pub(crate) const DRAIN: Duration = Duration::from_secs(1);
pub(crate) const IDLE: Duration = Duration::from_millis(500);
pub(crate) const SEED: u64 = 1;
pub(crate) const INTEREST: f64 = 0.005;
