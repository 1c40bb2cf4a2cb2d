//! What a picture needs beyond the figures of an [`Analysis`]: the run over time and times by
//! percentile, thinned to what can be drawn.

mod bins;
mod latency;
mod series;
mod steps;
mod sums;
#[cfg(test)]
mod tests;
mod timeline;

pub use latency::{ArmLatency, Latency, QuantileDifference, QuantileDifferences};
pub use series::{AgentSeries, ArmSeries, MachineSeries, RoundStretch, Series, WindowStretch};

use windage_record::{RecordError, RunDir, RunState};

use self::timeline::Timeline;
use crate::Analysis;
use crate::analyse::of_all_loads;
use crate::loads::Reading;
use crate::quantiles::FURTHER;

/// An analysis with what pictures need besides.
#[derive(Clone, Debug, PartialEq)]
pub struct Detailed {
    /// What was concluded.
    pub analysis: Analysis,
    /// Whether more may come.
    pub state: RunState,
    /// For each load of the plan, in the order of [`Analysis::regimes`].
    pub loads: Vec<Detail>,
}

/// What the pictures of one load need.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detail {
    /// The run over time; `None` when no window was measured.
    pub series: Option<Series>,
    /// Response times and then service times by percentile; none for a batch load, nor where
    /// no time was recorded.
    pub latency: Vec<Latency>,
}

/// As [`crate::of_run_directory`], with what pictures need besides, and of the same reading: the
/// journal is read once, and of the histogram logs every line is unpacked once.
///
/// # Errors
/// As for [`crate::of_run_directory`].
pub fn detailed(run: &RunDir) -> Result<Detailed, RecordError> {
    let (manifest, host) = (run.manifest(), run.host()?);
    let mut timelines = vec![Timeline::new(manifest.arms.len(), &host); manifest.loads()];
    let reading = Reading::begin(run, &host, |load, window| {
        timelines[load].take(window);
    })?;
    let (mut analyses, mut loads) = (Vec::new(), Vec::new());
    let mut timelines = timelines.into_iter();
    reading.each_load(&FURTHER, |of_load| {
        analyses.push(of_load.analysis());
        loads.push(Detail {
            series: timelines.next().and_then(Timeline::series),
            latency: latency::of(of_load),
        });
    })?;
    Ok(Detailed {
        analysis: of_all_loads(run, analyses)?,
        state: reading.state,
        loads,
    })
}
