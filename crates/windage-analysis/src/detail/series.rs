//! The run over time.

use windage_model::{ArmIndex, Soundness};

/// A run over time, thinned to what can be drawn. Times are seconds since the run began.
///
/// Up to 600 windows are drawn one by one. A longer run is cut into 120 to 240 stretches of one
/// length, or half as many and fewer where all lines together would have more than 20 000 points (from
/// 83 arms on); an arm that has no window in a stretch has no point there. Void windows are in the
/// strip of windows and in the machine's figures, which they often owe their being void to, and not
/// in the arms'.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// From the run's beginning to the end of its last window.
    pub lasts_s: f64,
    /// Figures are means over stretches of this length; `None` where each stands for one window.
    pub bin_s: Option<f64>,
    /// From the first window of each launch to the end of its last; none when they are more than
    /// 400.
    pub rounds: Vec<RoundStretch>,
    /// By arm, in the order of the plan.
    pub arms: Vec<ArmSeries>,
    /// The machine as a whole.
    pub machine: MachineSeries,
    /// The first 400 windows at most one by one, in the order in which they were measured.
    pub windows: Vec<WindowStretch>,
    /// How many windows there were in all.
    pub windows_in_all: usize,
}

/// When the windows of a launch were.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundStretch {
    /// The round, from 0.
    pub round: u32,
    /// The start of its first window.
    pub from_s: f64,
    /// The end of its last window.
    pub to_s: f64,
}

/// One arm over time, in the windows that are not void. All lists are of one length; `None` where nothing is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArmSeries {
    /// The arm.
    pub arm: ArmIndex,
    /// The middle of the window; of a stretch the mean of its windows' middles.
    pub at_s: Vec<f64>,
    /// CPU of the subject in the window, in microseconds a completed request or iteration.
    pub cpu_us_per_request: Vec<Option<f64>>,
    /// Requests or iterations completed a second.
    pub rate_per_s: Vec<Option<f64>>,
    /// Resident memory at the ends of windows, in bytes.
    pub rss_bytes: Vec<Option<f64>>,
    /// What the agents that were attached used; `None` where none was, or it was never read.
    pub agents: Option<AgentSeries>,
}

/// The agents of an arm over time, at the moments of its [`ArmSeries`]; in the windows of a bystander
/// those that watch another arm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentSeries {
    /// Cores that they kept busy.
    pub cores: Vec<Option<f64>>,
    /// Their resident memory at the ends of windows, in bytes.
    pub rss_bytes: Vec<Option<f64>>,
}

/// The machine over time, in all windows. All lists are of one length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineSeries {
    /// The middle of the window; of a stretch the mean of its windows' middles.
    pub at_s: Vec<f64>,
    /// The share of the time of all online cores that the hypervisor took away; of one core's time
    /// where the record doesn't know how many there were.
    pub steal: Vec<f64>,
    /// The share of the time in which some task waited for a core, over ten seconds about it, since
    /// the kernel adds it up in lumps; `None` without PSI, and where windows are too short to tell.
    pub pressure: Vec<Option<f64>>,
    /// Cores that were busy, of those online where they are known; `None` where it could not be read,
    /// and where windows are too short to tell.
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
    /// How far it may be believed.
    pub soundness: Soundness,
}
