//! All defaults of plans.

use std::time::Duration;

use crate::{FlushWhen, Iterations, SinkDetail, Stop, Turn};

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
pub(crate) const FLUSH: FlushWhen = FlushWhen::Launch;
pub(crate) const ITERATIONS: Iterations = Iterations::Fixed(1);

/// Enough samples for functions that take 1 % of the time, and short enough that profiling all arms
/// doesn't take longer than measuring them.
pub(crate) const PROFILED_FOR: Duration = Duration::from_secs(5);
pub(crate) const PROFILE_RATE_HZ: u32 = 250;

pub(crate) const CLIENT_DROP_P0S: bool = false;
pub(crate) const SINK_DETAIL: SinkDetail = SinkDetail::Full;

pub(crate) const WINDOW: Duration = Duration::from_millis(100);
pub(crate) const SETTLE: Duration = Duration::from_millis(10);
/// Launches are the sample, so there are many short rounds. A verdict needs 13 of them, because with
/// fewer, intervals don't keep their coverage (`docs/METHODOLOGY.md`, "CPU per request"). One more
/// is to spare: a launch that fails costs no verdict.
pub(crate) const ROUNDS: u32 = 14;
/// Long enough that a switch between arms (cold caches) costs little, short compared with the
/// machine's noise, which is correlated over 100 to 300 ms.
pub(crate) const TURN: Turn = Turn::Time(Duration::from_millis(10));
/// Long compared with the drain at its end, short compared with the machine's speed regimes.
pub(crate) const BLOCK: Duration = Duration::from_secs(1);
/// The share of the measuring time that goes to isolated windows.
pub(crate) const ISOLATED: f64 = 1.0 / 3.0;
pub(crate) const MEASURING_TIME: Duration = Duration::from_secs(60);
/// Long compared with attaching, short compared with the machine's drift.
pub(crate) const AGENT_STRETCH: Duration = Duration::from_secs(4);
pub(crate) const AGENT_WARMUP: Duration = Duration::from_secs(1);
pub(crate) const BPF_STATISTICS: Duration = Duration::from_secs(1);
/// As many as without agents, for the same reason.
pub(crate) const ROUNDS_WITH_AGENTS: u32 = 14;

pub(crate) const WARMUP: Duration = Duration::from_millis(500);
pub(crate) const DRAIN: Duration = Duration::from_secs(1);
pub(crate) const IDLE: Duration = Duration::from_millis(500);
pub(crate) const SEED: u64 = 1;
pub(crate) const MARGIN: f64 = 0.005;
/// Of a budget: the bound on one side that decides.
pub(crate) const BUDGET_CONFIDENCE: f64 = 0.95;
/// How many times longer a thorough run is if the plan has no `[design.thorough]`.
pub(crate) const THOROUGH_TIMES: u32 = 4;

/// The longest log of a service in a launch. Enough for a line of 100 bytes for each of 600,000
/// requests, and little enough that the logs of a hundred launches fit on a disk.
pub const LOG_BYTES_MAX: u64 = 64_000_000;

/// The free disk that a round needs at least: some logs of full length and the raw data.
pub const FREE_DISK_BYTES_MIN: u64 = 256_000_000;

/// Rounds of a run that may be stopped: few enough that launches don't take most of the time, and
/// some more than the first look needs ([`Stop::FEWEST_ROUNDS`]), so that several looks follow.
pub(crate) fn rounds_within(time: Duration) -> u32 {
    const A_ROUND: Duration = Duration::from_secs(10);
    let rounds = time.as_secs() / A_ROUND.as_secs();
    let rounds = u32::try_from(rounds).unwrap_or(u32::MAX);
    rounds.clamp(Stop::FEWEST_ROUNDS + 4, 64)
}
