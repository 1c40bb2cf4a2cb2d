//! Every metric of an arm, from windows, launches and histograms to comparisons.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, LoadModel, Metric};
use windage_record::LaunchArmEnd;

use crate::analyse::Run;
use crate::blocks::Reading;
use crate::compare::{Comparison, Scale, by_launch, by_window};
use crate::ledger::Ledger;
use crate::windows::Windows;

impl Run<'_> {
    pub(crate) fn comparisons(&self, arm: ArmIndex) -> Vec<(Metric, Comparison)> {
        let mut found = self.cpu(arm);
        found.extend(self.pace(arm));
        found.extend(self.per_launch(arm));
        found.extend(self.of_agents(arm));
        let windows = self.usable_windows(arm);
        if self.records.manifest.load.model != LoadModel::Batch {
            found.extend(self.response_times.comparisons(arm, windows));
            found.extend(self.service_times.comparisons(arm, windows));
        }
        found
    }

    /// The CPU metric of the load: per request or per iteration.
    pub(crate) fn cpu_metric(&self) -> Metric {
        match self.records.manifest.load.model {
            LoadModel::Batch => Metric::CpuPerIteration,
            LoadModel::Open | LoadModel::Closed => Metric::CpuPerRequest,
        }
    }

    fn cpu(&self, arm: ArmIndex) -> Vec<(Metric, Comparison)> {
        let deferred = |of: ArmIndex| {
            self.records
                .ledgers
                .by_launch(of, |l| Some(l.deferred_per_request_ns()? / 1e3))
        };
        let idle = |of: ArmIndex| self.records.ledgers.by_launch(of, Ledger::idle_cores);
        let windows = self.usable_windows(arm);
        let base = ArmIndex::BASELINE;
        vec![
            (self.cpu_metric(), self.whole_cpu(arm)),
            (Metric::CpuInWindow, self.of_reading(arm, Reading::CpuUs)),
            (
                Metric::CpuDeferred,
                by_launch(&deferred(arm), &deferred(base), Scale::Difference, windows),
            ),
            (
                Metric::CpuIdle,
                by_launch(&idle(arm), &idle(base), Scale::Difference, windows),
            ),
        ]
    }

    /// In-window and deferred cost together: log ratios within blocks, shifted in each launch by
    /// the deferred cost of both sides.
    pub(crate) fn whole_cpu(&self, arm: ArmIndex) -> Comparison {
        let offset = self.deferred_offset(arm, ArmIndex::BASELINE);
        let in_window = by_window(&self.blocks, arm, self.rules, Reading::CpuUs, &offset);
        Comparison {
            baseline: self.with_deferred(ArmIndex::BASELINE, in_window.baseline),
            arm: self.with_deferred(arm, in_window.arm),
            ..in_window
        }
    }

    /// The deferred cost of an arm and of the arm it is compared with, by launch, as a log ratio.
    pub(crate) fn deferred_offset(
        &self,
        arm: ArmIndex,
        against: ArmIndex,
    ) -> impl Fn(u32) -> f64 + '_ {
        let deferred = |launch: u32, of: ArmIndex| {
            let ledger = self.records.ledgers.get(launch, of)?;
            ledger.deferred_log_share()
        };
        // Both must be known, otherwise one side's deferred cost would be compared with nothing.
        let of_both = move |launch| Some(deferred(launch, arm)? - deferred(launch, against)?);
        let mut launches = self.records.launches.iter();
        let is_ever_known = launches.any(|l| of_both(l.launch).is_some());
        // A launch that was cut short does not have it. Where other launches do, it is excluded,
        // because in-window cost alone is a different figure; where none do, all are in-window
        // cost.
        let unknown = if is_ever_known { f64::NAN } else { 0.0 };
        move |launch| of_both(launch).unwrap_or(unknown)
    }

    /// An arm's in-window cost plus deferred cost per request, in microseconds.
    pub(crate) fn with_deferred(&self, of: ArmIndex, in_window: Option<f64>) -> Option<f64> {
        let ledgers = &self.records.ledgers;
        let deferred = ledgers.by_launch(of, |l| Some(l.deferred_per_request_ns()? / 1e3));
        let mean = deferred.values().sum::<f64>() / deferred.len().max(1) as f64;
        in_window.map(|in_window| in_window + mean)
    }

    fn pace(&self, arm: ArmIndex) -> Vec<(Metric, Comparison)> {
        let compare = |reading| self.of_reading(arm, reading);
        match self.records.manifest.load.model {
            LoadModel::Batch => vec![(Metric::WallPerIteration, compare(Reading::WallUs))],
            LoadModel::Open | LoadModel::Closed => vec![
                (Metric::Throughput, compare(Reading::PerSecond)),
                (Metric::MachineCpuPerRequest, compare(Reading::MachineCpuUs)),
                (
                    Metric::GeneratorCpuPerRequest,
                    compare(Reading::GeneratorCpuUs),
                ),
                (
                    Metric::ErrorsPerRequest,
                    self.summed_by_launch(arm, Windows::failed_share),
                ),
                (
                    Metric::ContextSwitchesPerRequest,
                    self.summed_by_launch(arm, Windows::context_switches_per_request),
                ),
                (
                    Metric::PageFaultsPerRequest,
                    self.summed_by_launch(arm, Windows::page_faults_per_request),
                ),
            ],
        }
    }

    /// A metric that is computed per window; `None` for any other.
    pub(crate) fn of_windows(&self, metric: Metric, arm: ArmIndex) -> Option<Comparison> {
        let reading = match metric {
            Metric::CpuPerRequest | Metric::CpuPerIteration => return Some(self.whole_cpu(arm)),
            Metric::CpuInWindow => Reading::CpuUs,
            Metric::MachineCpuPerRequest => Reading::MachineCpuUs,
            Metric::GeneratorCpuPerRequest => Reading::GeneratorCpuUs,
            Metric::Throughput => Reading::PerSecond,
            Metric::WallPerIteration => Reading::WallUs,
            _ => return None,
        };
        Some(self.of_reading(arm, reading))
    }

    fn of_reading(&self, arm: ArmIndex, reading: Reading) -> Comparison {
        by_window(&self.blocks, arm, self.rules, reading, |_| 0.0)
    }

    /// A metric from sums over the windows of a launch; the baseline's may be zero.
    fn summed_by_launch(
        &self,
        arm: ArmIndex,
        values: fn(&Windows, ArmIndex) -> BTreeMap<u32, f64>,
    ) -> Comparison {
        let values = |of| values(&self.records.windows, of);
        let windows = self.usable_windows(arm);
        by_launch(
            &values(arm),
            &values(ArmIndex::BASELINE),
            Scale::Difference,
            windows,
        )
    }

    fn per_launch(&self, arm: ArmIndex) -> Vec<(Metric, Comparison)> {
        let windows = self.usable_windows(arm);
        let base = ArmIndex::BASELINE;
        let compare = |value: &dyn Fn(ArmIndex) -> BTreeMap<u32, f64>, scale| {
            by_launch(&value(arm), &value(base), scale, windows)
        };
        let ended = |value: fn(&LaunchArmEnd) -> Option<u64>| {
            move |of: ArmIndex| -> BTreeMap<u32, f64> {
                let ends = self.records.ends.iter();
                ends.filter_map(|end| {
                    let arm = end.arms.iter().find(|a| a.arm == of)?;
                    Some((end.launch, value(arm)? as f64))
                })
                .collect()
            }
        };
        let wire_bytes = (
            Metric::WireBytesPerRequest,
            compare(&|of| self.wire_bytes_per_request(of), Scale::Difference),
        );
        if self.records.ledgers.shares_with_baseline(arm) {
            // The same processes have the same memory and were started once.
            return vec![wire_bytes];
        }
        let mut metrics = vec![
            wire_bytes,
            (
                Metric::RssSteady,
                compare(&|of| self.records.windows.rss_bytes(of), Scale::LogRatio),
            ),
            (
                Metric::RssPeak,
                compare(&ended(|a| a.rss_peak_bytes), Scale::LogRatio),
            ),
            (
                Metric::Pss,
                compare(&ended(|a| a.pss_bytes), Scale::LogRatio),
            ),
        ];
        metrics.extend(self.starts_and_ends(arm));
        metrics
    }

    fn wire_bytes_per_request(&self, of: ArmIndex) -> BTreeMap<u32, f64> {
        self.records
            .delivered
            .iter()
            .filter(|d| d.arm == of && d.completed_requests > 0)
            .map(|d| (d.launch, d.wire_bytes as f64 / d.completed_requests as f64))
            .collect()
    }
}
