//! Every metric of an arm, from windows, launches and histograms to comparisons.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Difference, Interval, LoadModel, Metric, Window};
use windage_record::{LaunchArmEnd, LaunchedArm};

use crate::MetricAnalysis;
use crate::analyse::Run;
use crate::compare::{Comparison, Scale, by_launch, by_window};
use crate::ledger::Ledger;

impl Run<'_> {
    pub(crate) fn comparisons(&self, arm: ArmIndex) -> Vec<(Metric, Comparison)> {
        let mut found = self.cpu(arm);
        found.extend(self.pace(arm));
        found.extend(self.per_launch(arm));
        let windows = self.blocks.windows_of(arm).count();
        if self.records.manifest.load.model != LoadModel::Batch {
            found.extend(self.response_times.comparisons(arm, windows));
            found.extend(self.service_times.comparisons(arm, windows));
        }
        found
    }

    fn cpu(&self, arm: ArmIndex) -> Vec<(Metric, Comparison)> {
        let whole = match self.records.manifest.load.model {
            LoadModel::Batch => Metric::CpuPerIteration,
            LoadModel::Open | LoadModel::Closed => Metric::CpuPerRequest,
        };
        let deferred = |of: ArmIndex| {
            self.ledgers
                .by_launch(of, |l| Some(l.deferred_per_request_ns()? / 1e3))
        };
        let idle = |of: ArmIndex| self.ledgers.by_launch(of, Ledger::idle_cores);
        let windows = self.blocks.windows_of(arm).count();
        let base = ArmIndex::BASELINE;
        vec![
            (whole, self.whole_cpu(arm)),
            (
                Metric::CpuInWindow,
                by_window(&self.blocks, arm, self.rules, cpu_in_window_us, |_| 0.0),
            ),
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

    /// In-window and deferred together: log ratios within blocks, moved in each launch by what
    /// both sides deferred.
    pub(crate) fn whole_cpu(&self, arm: ArmIndex) -> Comparison {
        let deferred = |launch: u32, of: ArmIndex| {
            let ledger = self.ledgers.get(launch, of)?;
            ledger.deferred_log_share()
        };
        // What is known of one side alone would be held against the other.
        let offset = |launch| {
            let (of_arm, of_baseline) =
                (deferred(launch, arm), deferred(launch, ArmIndex::BASELINE));
            of_arm
                .zip(of_baseline)
                .map_or(0.0, |(arm, baseline)| arm - baseline)
        };
        let in_window = by_window(&self.blocks, arm, self.rules, cpu_in_window_us, offset);
        let with_deferred = |of: ArmIndex, figure: Option<f64>| {
            let deferred = self
                .ledgers
                .by_launch(of, |l| Some(l.deferred_per_request_ns()? / 1e3));
            let mean = deferred.values().sum::<f64>() / deferred.len().max(1) as f64;
            figure.map(|in_window| in_window + mean)
        };
        Comparison {
            baseline: with_deferred(ArmIndex::BASELINE, in_window.baseline),
            arm: with_deferred(arm, in_window.arm),
            ..in_window
        }
    }

    fn pace(&self, arm: ArmIndex) -> Vec<(Metric, Comparison)> {
        let compare = |value: fn(&Window) -> Option<f64>| {
            by_window(&self.blocks, arm, self.rules, value, |_| 0.0)
        };
        match self.records.manifest.load.model {
            LoadModel::Batch => vec![(Metric::WallPerIteration, compare(wall_per_iteration_us))],
            LoadModel::Open | LoadModel::Closed => vec![
                (Metric::Throughput, compare(Window::throughput_per_s)),
                (Metric::MachineCpuPerRequest, compare(machine_cpu_us)),
                (Metric::GeneratorCpuPerRequest, compare(generator_cpu_us)),
                (Metric::ErrorsPerRequest, self.errors(arm)),
            ],
        }
    }

    fn errors(&self, arm: ArmIndex) -> Comparison {
        let shares = |of: ArmIndex| {
            let mut counts: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
            for window in self.blocks.windows_of(of) {
                let entry = counts.entry(window.place.launch).or_default();
                entry.0 += window.exchanges.errors.total() + window.exchanges.status.errors();
                entry.1 += window.exchanges.sent;
            }
            counts
                .into_iter()
                .filter(|(_, (_, sent))| *sent > 0)
                .map(|(launch, (failed, sent))| (launch, failed as f64 / sent as f64))
                .collect()
        };
        let windows = self.blocks.windows_of(arm).count();
        by_launch(
            &shares(arm),
            &shares(ArmIndex::BASELINE),
            Scale::Difference,
            windows,
        )
    }

    fn per_launch(&self, arm: ArmIndex) -> Vec<(Metric, Comparison)> {
        let windows = self.blocks.windows_of(arm).count();
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
        if self.ledgers.shares_with_baseline(arm) {
            // The same processes have the same memory and were started once.
            return vec![wire_bytes];
        }
        vec![
            wire_bytes,
            (
                Metric::RssSteady,
                compare(&|of| self.rss_steady(of), Scale::LogRatio),
            ),
            (
                Metric::RssPeak,
                compare(&ended(|a| a.rss_peak_bytes), Scale::LogRatio),
            ),
            (
                Metric::Pss,
                compare(&ended(|a| a.pss_bytes), Scale::LogRatio),
            ),
            (
                Metric::StartupTime,
                compare(&|of| self.startup_s(of), Scale::LogRatio),
            ),
        ]
    }

    fn rss_steady(&self, of: ArmIndex) -> BTreeMap<u32, f64> {
        let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
        for window in self.blocks.windows_of(of) {
            if let Some(bytes) = window.rss_bytes {
                let entry = sums.entry(window.place.launch).or_default();
                entry.0 += bytes as f64;
                entry.1 += 1.0;
            }
        }
        sums.into_iter()
            .map(|(launch, (sum, count))| (launch, sum / count))
            .collect()
    }

    fn startup_s(&self, of: ArmIndex) -> BTreeMap<u32, f64> {
        let startup = |arm: &LaunchedArm| Some(arm.startup_ns? as f64 / 1e9);
        self.records
            .launches
            .iter()
            .filter_map(|l| Some((l.launch, startup(l.arms.iter().find(|a| a.arm == of)?)?)))
            .collect()
    }

    fn wire_bytes_per_request(&self, of: ArmIndex) -> BTreeMap<u32, f64> {
        self.records
            .delivered
            .iter()
            .filter(|d| d.arm == of && d.completed_requests > 0)
            .map(|d| (d.launch, d.wire_bytes as f64 / d.completed_requests as f64))
            .collect()
    }

    /// The arm's difference in CPU a request, divided by the spans that a request delivered.
    pub(crate) fn cpu_per_span(
        &self,
        arm: ArmIndex,
        metrics: &mut BTreeMap<Metric, MetricAnalysis>,
    ) {
        let delivered = || self.records.delivered.iter().filter(|d| d.arm == arm);
        let spans: u64 = delivered().map(|d| d.spans).sum();
        let requests: u64 = delivered().map(|d| d.completed_requests).sum();
        let of_request = metrics
            .get(&Metric::CpuPerRequest)
            .or_else(|| metrics.get(&Metric::CpuPerIteration));
        let Some(of_request) = of_request.filter(|_| spans > 0 && requests > 0) else {
            return;
        };
        let Ok(difference) = &of_request.difference else {
            return;
        };
        let requests_per_span = requests as f64 / spans as f64;
        let absolute = Interval {
            method: "difference of CPU a request / spans delivered a request".to_owned(),
            ..difference.absolute.map(|us| us * requests_per_span)
        };
        let of_span = MetricAnalysis {
            baseline: None,
            arm: Some(absolute.estimate),
            difference: Ok(Difference {
                absolute,
                relative: None,
                relative_90: None,
                within_launch_half_width: None,
                smallest_visible: None,
            }),
            verdict: None,
            ..of_request.clone()
        };
        metrics.insert(Metric::CpuPerSpan, of_span);
    }
}

fn cpu_in_window_us(window: &Window) -> Option<f64> {
    per_completed_us(window, window.cpu.in_window_ns?)
}

fn machine_cpu_us(window: &Window) -> Option<f64> {
    per_completed_us(window, window.machine.busy_ns?)
}

fn generator_cpu_us(window: &Window) -> Option<f64> {
    per_completed_us(window, window.cpu.generator_ns)
}

fn wall_per_iteration_us(window: &Window) -> Option<f64> {
    per_completed_us(window, window.duration_ns)
}

fn per_completed_us(window: &Window, ns: u64) -> Option<f64> {
    let completed = window.exchanges.completed;
    (completed > 0 && ns > 0).then(|| ns as f64 / 1e3 / completed as f64)
}
