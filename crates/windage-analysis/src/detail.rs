//! What pictures need beyond the figures of an [`Analysis`]: the run over time, and times by
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
use crate::analyse::{analysis, of_all_loads};
use crate::loads::Reading;
use crate::quantiles::FURTHER;

/// An analysis with the data for its pictures.
#[derive(Clone, Debug, PartialEq)]
pub struct Detailed {
    /// The results.
    pub analysis: Analysis,
    /// The state of the run, such as whether it still goes on.
    pub state: RunState,
    /// For each load of the plan, in the order of [`Analysis::regimes`].
    pub loads: Vec<Detail>,
}

/// The data for one load's pictures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detail {
    /// The run over time; `None` when no window was measured.
    pub series: Option<Series>,
    /// Response times and then service times by percentile; empty for a batch load, and where no
    /// time was recorded.
    pub latency: Vec<Latency>,
}

/// As [`crate::of_run_directory`], with the data for pictures from the same reading: the journal is
/// read once, and every line of the histogram logs is unpacked once.
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
        analyses.push(analysis(of_load));
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
