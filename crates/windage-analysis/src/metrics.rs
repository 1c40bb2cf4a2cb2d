//! Every metric of an arm, from windows, launches and histograms to comparisons.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, LoadModel, Metric, RATE_SHARE};
use windage_record::LaunchArmEnd;

use crate::agents::of_agents;
use crate::blocks::Reading;
use crate::compare::{Comparison, Counts, Scale, by_launch, by_window};
use crate::fidelity;
use crate::growth::OF_SERVICES;
use crate::ledger::Ledger;
use crate::phases::starts_and_ends;
use crate::run::Run;
use crate::totals;
use crate::validity;
use crate::windows::Windows;

pub(crate) fn comparisons(run: &Run<'_>, arm: ArmIndex) -> Vec<(Metric, Comparison)> {
    let mut found = cpu(run, arm);
    found.extend(pace(run, arm));
    found.extend(per_launch(run, arm));
    found.extend(of_agents(run, arm));
    let windows = run.usable_windows(arm);
    if run.records.manifest.load.model != LoadModel::Batch {
        found.extend(run.response_times.comparisons(arm, windows));
        found.extend(run.service_times.comparisons(arm, windows));
    }
    found
}

fn cpu(run: &Run<'_>, arm: ArmIndex) -> Vec<(Metric, Comparison)> {
    let deferred = |of: ArmIndex| {
        run.records
            .ledgers
            .by_launch(of, |l| Some(l.deferred_per_request_ns()? / 1e3))
    };
    let idle = |of: ArmIndex| run.records.ledgers.by_launch(of, Ledger::idle_cores);
    let windows = run.usable_windows(arm);
    let base = ArmIndex::BASELINE;
    let mut found = totals::comparisons(run, arm);
    if run.records.manifest.load.model != LoadModel::Batch {
        found.push((Metric::TypicalCpuPerRequest, totals::typical_cpu(run, arm)));
    }
    found.extend([
        (Metric::CpuInWindow, of_reading(run, arm, Reading::CpuUs)),
        (
            Metric::CpuDeferred,
            by_launch(&deferred(arm), &deferred(base), Scale::Difference, windows),
        ),
        (
            Metric::CpuIdle,
            by_launch(&idle(arm), &idle(base), Scale::Difference, windows),
        ),
    ]);
    found
}

/// The deferred cost of an arm and of the arm it is compared with, by launch, as a log ratio.
pub(crate) fn deferred_offset(
    run: &Run<'_>,
    arm: ArmIndex,
    against: ArmIndex,
) -> impl Fn(u32) -> f64 {
    let deferred = |launch: u32, of: ArmIndex| {
        let ledger = run.records.ledgers.get(launch, of)?;
        ledger.deferred_log_share()
    };
    // Both must be known, otherwise one side's deferred cost would be compared with nothing.
    let of_both = move |launch| Some(deferred(launch, arm)? - deferred(launch, against)?);
    let mut launches = run.records.launches.iter();
    let is_ever_known = launches.any(|l| of_both(l.launch).is_some());
    // A launch that was cut short does not have it. Where other launches do, it is excluded,
    // because in-window cost alone is a different figure; where none do, all are in-window
    // cost.
    let unknown = if is_ever_known { f64::NAN } else { 0.0 };
    move |launch| of_both(launch).unwrap_or(unknown)
}

/// An arm's in-window cost plus deferred cost per request, in microseconds.
pub(crate) fn with_deferred(run: &Run<'_>, of: ArmIndex, in_window: Option<f64>) -> Option<f64> {
    let ledgers = &run.records.ledgers;
    let deferred = ledgers.by_launch(of, |l| Some(l.deferred_per_request_ns()? / 1e3));
    let mean = deferred.values().sum::<f64>() / deferred.len().max(1) as f64;
    in_window.map(|in_window| in_window + mean)
}

fn pace(run: &Run<'_>, arm: ArmIndex) -> Vec<(Metric, Comparison)> {
    let compare = |reading| of_reading(run, arm, reading);
    match run.records.manifest.load.model {
        LoadModel::Batch => vec![(Metric::WallPerIteration, compare(Reading::WallUs))],
        LoadModel::Open | LoadModel::Closed => [
            (Metric::Throughput, compare(Reading::PerSecond)),
            (Metric::MachineCpuPerRequest, compare(Reading::MachineCpuUs)),
            (
                Metric::GeneratorCpuPerRequest,
                compare(Reading::GeneratorCpuUs),
            ),
            (Metric::ErrorsPerRequest, errors(run, arm)),
            (
                Metric::ContextSwitchesPerRequest,
                summed_by_launch(run, arm, Windows::context_switches_per_request),
            ),
            (
                Metric::PageFaultsPerRequest,
                summed_by_launch(run, arm, Windows::page_faults_per_request),
            ),
        ]
        .into_iter()
        .filter(|(metric, _)| *metric != Metric::Throughput || !is_rate_reached(run, arm))
        .collect(),
    }
}

/// Whether the schedule fixed the throughput of an arm and of the baseline: then it is the plan's
/// rate, and no measurement.
fn is_rate_reached(run: &Run<'_>, arm: ArmIndex) -> bool {
    let completes_all = |of: ArmIndex| {
        let load = &run.records.windows.arms[of.get()].load.exchanges;
        load.completed as f64 >= RATE_SHARE * load.intended as f64
    };
    let is_open = run.records.manifest.load.model == LoadModel::Open;
    is_open && completes_all(arm) && completes_all(ArmIndex::BASELINE)
}

/// A metric that is computed per window; `None` for any other.
pub(crate) fn of_windows(run: &Run<'_>, metric: Metric, arm: ArmIndex) -> Option<Comparison> {
    let reading = match metric {
        Metric::CpuPerRequest | Metric::CpuPerIteration => {
            return Some(totals::whole_cpu(run, arm));
        }
        Metric::CpuInWindow => Reading::CpuUs,
        Metric::MachineCpuPerRequest => Reading::MachineCpuUs,
        Metric::GeneratorCpuPerRequest => Reading::GeneratorCpuUs,
        Metric::Throughput => Reading::PerSecond,
        Metric::WallPerIteration => Reading::WallUs,
        _ => return None,
    };
    Some(of_reading(run, arm, reading))
}

fn of_reading(run: &Run<'_>, arm: ArmIndex, reading: Reading) -> Comparison {
    let mut found = by_window(&run.blocks, arm, run.rules, reading, |_| 0.0);
    if reading == Reading::PerSecond && validity::is_throughput_of_generator(run, arm) {
        found.leave_out();
    }
    found
}

fn errors(run: &Run<'_>, arm: ArmIndex) -> Comparison {
    let counts = |of| run.records.windows.failed(of);
    Comparison {
        counts: Some(Counts {
            arm: counts(arm),
            baseline: Some(counts(ArmIndex::BASELINE)),
        }),
        ..summed_by_launch(run, arm, Windows::failed_share)
    }
}

/// A metric from sums over the windows of a launch; the baseline's may be zero.
fn summed_by_launch(
    run: &Run<'_>,
    arm: ArmIndex,
    values: fn(&Windows, ArmIndex) -> BTreeMap<u32, f64>,
) -> Comparison {
    let values = |of| values(&run.records.windows, of);
    let windows = run.usable_windows(arm);
    by_launch(
        &values(arm),
        &values(ArmIndex::BASELINE),
        Scale::Difference,
        windows,
    )
}

fn per_launch(run: &Run<'_>, arm: ArmIndex) -> Vec<(Metric, Comparison)> {
    let windows = run.usable_windows(arm);
    let base = ArmIndex::BASELINE;
    let compare = |value: &dyn Fn(ArmIndex) -> BTreeMap<u32, f64>, scale| {
        by_launch(&value(arm), &value(base), scale, windows)
    };
    let ended = |value: fn(&LaunchArmEnd) -> Option<u64>| {
        move |of: ArmIndex| -> BTreeMap<u32, f64> {
            let ends = run.records.ends.iter();
            ends.filter_map(|end| {
                let arm = end.arms.iter().find(|a| a.arm == of)?;
                Some((end.launch, value(arm)? as f64))
            })
            .collect()
        }
    };
    let wire_bytes = (
        Metric::WireBytesPerRequest,
        compare(&|of| wire_bytes_per_request(run, of), Scale::Difference),
    );
    let mut metrics = vec![wire_bytes];
    metrics.extend(fidelity::lost(run, arm).map(|lost| (Metric::TelemetryLost, lost)));
    if run.records.ledgers.shares_with_baseline(arm) {
        // The same processes have the same memory and were started once.
        return metrics;
    }
    metrics.extend([
        (
            Metric::RssSteady,
            compare(&|of| run.records.windows.rss_bytes(of), Scale::LogRatio),
        ),
        (
            Metric::RssPeak,
            compare(&ended(|a| a.rss_peak_bytes), Scale::LogRatio),
        ),
        (
            Metric::Pss,
            compare(&ended(|a| a.pss_bytes), Scale::LogRatio),
        ),
    ]);
    for metric in OF_SERVICES {
        let growth = |of| run.records.windows.growth.per_hour(metric, of);
        if !growth(arm).is_empty() {
            metrics.push((metric, compare(&growth, Scale::Difference)));
        }
    }
    metrics.extend(starts_and_ends(run, arm));
    metrics
}

fn wire_bytes_per_request(run: &Run<'_>, of: ArmIndex) -> BTreeMap<u32, f64> {
    run.records
        .delivered
        .iter()
        .filter(|d| d.arm == of && d.completed_requests > 0)
        .map(|d| (d.launch, d.wire_bytes as f64 / d.completed_requests as f64))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::fixture;
    use crate::quantiles::Finished;

    /// Plans refuse a limit in per cent of a baseline that may be zero.
    #[test]
    fn metrics_are_compared_by_differences_where_there_is_no_ratio() {
        let mut run = fixture::records(4);
        run.manifest.arms[2].expected = Some(windage_model::Expected {
            spans_per_request: Some(1.0),
            ..windage_model::Expected::default()
        });
        let records = run.gathered();
        let run = Run::new(&records, Finished::nothing(), Finished::nothing());
        let compared = comparisons(&run, ArmIndex(2));
        let by_difference = |of: &Comparison| of.scale == Scale::Difference;
        for (metric, of) in &compared {
            assert_eq!(
                by_difference(of),
                metric.has_no_ratio(),
                "{}",
                metric.as_str()
            );
        }
        let seen: BTreeSet<Metric> = compared.iter().map(|(metric, _)| *metric).collect();
        assert!(seen.contains(&Metric::ErrorsPerRequest), "{seen:?}");
    }
}
