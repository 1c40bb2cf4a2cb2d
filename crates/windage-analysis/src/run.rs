//! A run's records, arranged for comparison.

use windage_model::{ArmIndex, LoadModel, Metric};
use windage_record::{LostLines, RecordError, RunDir, Timing};

use crate::blocks::Blocks;
use crate::compare::Rules;
use crate::parallel::joined;
use crate::quantiles::{self, Finished, RESPONSE_TIME, SERVICE_TIME, Timed};
use crate::records::{Records, Streamed};
use crate::scatter::Pace;

/// A run's records, arranged for comparison.
pub(crate) struct Run<'a> {
    pub(crate) records: &'a Records,
    pub(crate) rules: Rules,
    pub(crate) blocks: Blocks<'a>,
    pub(crate) response_times: Finished,
    pub(crate) service_times: Finished,
    /// What could not be read of the histogram logs.
    pub(crate) lost_lines: Vec<(Timing, LostLines)>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        records: &'a Records,
        response_times: Finished,
        service_times: Finished,
    ) -> Run<'a> {
        let design = &records.manifest.design;
        let blocks = Blocks::index(&records.windows.measured, records.manifest.arms.len());
        Run {
            records,
            rules: Rules {
                order: design.order,
                margin: design.margin,
                sequence: design.stop.is_some(),
                pace: Pace::of(records, blocks.count()),
            },
            blocks,
            response_times,
            service_times,
            lost_lines: Vec::new(),
        }
    }

    /// With the histograms of the records' run directory, and quantiles compared in addition to the
    /// reported ones.
    pub(crate) fn read(
        run: &RunDir,
        records: &'a Records,
        further: &[f64],
    ) -> Result<Run<'a>, RecordError> {
        let arms = records.manifest.arms.iter();
        let arms = arms.map(|arm| (arm.id.to_string(), arm.index)).collect();
        let (bytes, windows) = (records.histogram_bytes, &records.windows);
        let open = |timing| Streamed::open(run, timing, bytes, &arms, windows);
        let mut response_times = open(Timing::ResponseTime)?;
        let mut service_times = open(Timing::ServiceTime)?;
        let times = (response_times.by_ref(), service_times.by_ref());
        let gathered = Run::gathered(records, times.0, times.1, further);
        let lost_lines = vec![
            (Timing::ResponseTime, response_times.lost()),
            (Timing::ServiceTime, service_times.lost()),
        ];
        Ok(Run {
            lost_lines,
            ..gathered
        })
    }

    pub(crate) fn gathered(
        records: &'a Records,
        response_times: impl Iterator<Item = Timed> + Send,
        service_times: impl Iterator<Item = Timed> + Send,
        further: &[f64],
    ) -> Run<'a> {
        let arms = records.manifest.arms.len();
        let order = records.manifest.design.order;
        let (response_times, service_times) = std::thread::scope(|scope| {
            let response_times = scope
                .spawn(|| quantiles::gather(arms, RESPONSE_TIME, further, order, response_times));
            let service_times =
                quantiles::gather(arms, SERVICE_TIME, further, order, service_times);
            (joined(response_times), service_times)
        });
        Run::new(records, response_times, service_times)
    }

    /// Usable windows of an arm.
    pub(crate) fn usable_windows(&self, arm: ArmIndex) -> usize {
        self.records.windows.arms[arm.get()].usable
    }

    /// The CPU metric of the load: per request or per iteration.
    pub(crate) fn cpu_metric(&self) -> Metric {
        match self.records.manifest.load.model {
            LoadModel::Batch => Metric::CpuPerIteration,
            LoadModel::Open | LoadModel::Closed => Metric::CpuPerRequest,
        }
    }
}
