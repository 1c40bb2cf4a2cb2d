//! The run over time.

use windage_model::{ArmIndex, Soundness};

/// A run over time, thinned to what can be drawn. Times are in seconds since the run began.
///
/// Up to 600 windows are drawn one by one. A longer run is cut into 120 to 240 stretches of equal
/// length, or fewer where all lines together would exceed 20 000 points (from 83 arms on); an arm
/// without a window in a stretch has no point there. Void windows are in the strip of windows and
/// in the machine's figures, which often explain them, but not in the arms' figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// From the run's beginning to the end of its last window.
    pub lasts_s: f64,
    /// Figures are means over stretches of this length; `None` where each point is one window.
    pub bin_s: Option<f64>,
    /// From the first window of each launch to the end of its last; empty when there are more than
    /// 400.
    pub rounds: Vec<RoundStretch>,
    /// By arm, in the order of the plan.
    pub arms: Vec<ArmSeries>,
    /// The machine as a whole.
    pub machine: MachineSeries,
    /// The first windows, at most 400, in the order in which they were measured.
    pub windows: Vec<WindowStretch>,
    /// How many windows the run has.
    pub windows_in_all: usize,
}

/// The time span of the windows of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundStretch {
    /// The round, from 0.
    pub round: u32,
    /// The start of its first window.
    pub from_s: f64,
    /// The end of its last window.
    pub to_s: f64,
}

/// One arm over time, in windows that are not void. All lists have the same length; `None` where
/// unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArmSeries {
    /// The arm.
    pub arm: ArmIndex,
    /// The middle of the window; for a stretch, the mean of its windows' middles.
    pub at_s: Vec<f64>,
    /// CPU of the subject in the window, in microseconds per completed request or iteration.
    pub cpu_us_per_request: Vec<Option<f64>>,
    /// Requests or iterations completed per second.
    pub rate_per_s: Vec<Option<f64>>,
    /// Resident memory at the ends of windows, in bytes.
    pub rss_bytes: Vec<Option<f64>>,
    /// What the attached agents used; `None` where none was attached or it was never read.
    pub agents: Option<AgentSeries>,
}

/// The agents of an arm over time, at the times of its [`ArmSeries`]; in windows of a bystander,
/// the agents that watch another arm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentSeries {
    /// Cores that they kept busy.
    pub cores: Vec<Option<f64>>,
    /// Their resident memory at the ends of windows, in bytes.
    pub rss_bytes: Vec<Option<f64>>,
}

/// The machine over time, in all windows. All lists have the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineSeries {
    /// The middle of the window; for a stretch, the mean of its windows' middles.
    pub at_s: Vec<f64>,
    /// Steal as a share of the time of all online cores; as a share of one core's time where the
    /// number of cores was not recorded.
    pub steal: Vec<f64>,
    /// The share of time in which some task waited for a core, over about ten seconds, because the
    /// kernel updates it in lumps; `None` without PSI, and where windows are too short.
    pub pressure: Vec<Option<f64>>,
    /// Busy cores, at most the online cores where known; `None` where unreadable, and where windows
    /// are too short.
    pub busy_cores: Vec<Option<f64>>,
}

/// One window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowStretch {
    /// Its arm.
    pub arm: ArmIndex,
    /// Its start.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
    /// Its validity.
    pub soundness: Soundness,
}
