//! Start-up and flush of an arm's processes: from launch until ready, and from the request to flush
//! until it is done.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Metric, Phase, PhaseSpent};
use windage_record::LaunchedArm;

use crate::Records;
use crate::compare::{Comparison, Scale, by_launch};
use crate::run::Run;

/// Start-up and flush of an arm with its own processes.
pub(crate) fn starts_and_ends(run: &Run<'_>, arm: ArmIndex) -> Vec<(Metric, Comparison)> {
    use Scale::{Difference, LogRatio};
    type OfArm = fn(&Records, ArmIndex) -> BTreeMap<u32, f64>;
    let all: [(Metric, OfArm, Scale); 4] = [
        (Metric::StartupTime, startup_s, LogRatio),
        (Metric::StartupCpu, startup_cpu_s, LogRatio),
        // A program without telemetry has nothing to flush.
        (Metric::FlushTime, flush_s, Difference),
        (Metric::FlushCpu, flush_cpu_s, Difference),
    ];
    let windows = run.usable_windows(arm);
    let compare = |(metric, of, scale): (Metric, OfArm, Scale)| {
        let of_arm = of(run.records, arm);
        let of_baseline = of(run.records, ArmIndex::BASELINE);
        let compared = by_launch(&of_arm, &of_baseline, scale, windows);
        (metric, compared)
    };
    all.into_iter().map(compare).collect()
}

fn startup_s(records: &Records, of: ArmIndex) -> BTreeMap<u32, f64> {
    let launched = launched_s(records, of, |arm| arm.startup_ns);
    or_reported(launched, || phase_s(records, of, Phase::Setup, wall_ns))
}

fn startup_cpu_s(records: &Records, of: ArmIndex) -> BTreeMap<u32, f64> {
    let launched = launched_s(records, of, |arm| arm.startup_cpu_ns);
    or_reported(launched, || phase_s(records, of, Phase::Setup, cpu_ns))
}

fn flush_s(records: &Records, of: ArmIndex) -> BTreeMap<u32, f64> {
    phase_s(records, of, Phase::Flush, wall_ns)
}

fn flush_cpu_s(records: &Records, of: ArmIndex) -> BTreeMap<u32, f64> {
    phase_s(records, of, Phase::Flush, cpu_ns)
}

/// A program that is started for each window is not launched with its round: only what it reports
/// itself is known.
fn or_reported(
    launched: BTreeMap<u32, f64>,
    reported: impl FnOnce() -> BTreeMap<u32, f64>,
) -> BTreeMap<u32, f64> {
    if launched.is_empty() {
        reported()
    } else {
        launched
    }
}

fn launched_s(
    records: &Records,
    of: ArmIndex,
    value_ns: fn(&LaunchedArm) -> Option<u64>,
) -> BTreeMap<u32, f64> {
    let launches = records.launches.iter();
    launches
        .filter_map(|launch| {
            let arm = launch.arms.iter().find(|arm| arm.arm == of)?;
            Some((launch.launch, value_ns(arm)? as f64 / 1e9))
        })
        .collect()
}

/// A phase of an arm by launch, in seconds: the mean where a launch had it several times.
fn phase_s(
    records: &Records,
    of: ArmIndex,
    phase: Phase,
    value_ns: fn(&PhaseSpent) -> Option<u64>,
) -> BTreeMap<u32, f64> {
    let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for spent in of_phase(records, of, phase) {
        if let Some(ns) = value_ns(spent) {
            let (sum_s, count) = sums.entry(spent.launch).or_default();
            *sum_s += ns as f64 / 1e9;
            *count += 1.0;
        }
    }
    sums.into_iter()
        .map(|(launch, (sum_s, count))| (launch, sum_s / count))
        .collect()
}

/// The records of a phase of an arm.
pub(crate) fn of_phase(
    records: &Records,
    of: ArmIndex,
    phase: Phase,
) -> impl Iterator<Item = &PhaseSpent> {
    let all = records.phases.iter();
    all.filter(move |spent| spent.arm == of && spent.phase == phase)
}

pub(crate) fn wall_ns(spent: &PhaseSpent) -> Option<u64> {
    Some(spent.wall_ns)
}

pub(crate) fn cpu_ns(spent: &PhaseSpent) -> Option<u64> {
    spent.cpu_ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Analysis, MetricAnalysis, MissingCode, analyse, fixture};
    use windage_model::LoadModel;
    use windage_record::Entry;

    fn analysed(run: &fixture::Recorded) -> Analysis {
        analyse(&run.gathered(), std::iter::empty(), std::iter::empty())
    }

    fn batch(rounds: u32) -> fixture::Recorded {
        let mut run = fixture::records(rounds);
        run.manifest.load.model = LoadModel::Batch;
        run
    }

    fn spent(launch: u32, arm: u16, phase: Phase, wall_ms: u64, cpu_ms: Option<u64>) -> Entry {
        Entry::Phase(PhaseSpent {
            launch,
            arm: ArmIndex(arm),
            phase,
            wall_ns: wall_ms * 1_000_000,
            cpu_ns: cpu_ms.map(|ms| ms * 1_000_000),
        })
    }

    fn of(analysis: &Analysis, metric: Metric) -> &MetricAnalysis {
        &analysis.arms[2].metrics[&metric]
    }

    #[test]
    fn startup_cpu_is_compared_like_startup_time() {
        let mut run = fixture::records(4);
        for launch in &mut run.launches {
            launch.arms[2].startup_cpu_ns = Some(25_000_000);
        }
        let analysis = analysed(&run);
        let startup = of(&analysis, Metric::StartupCpu);
        assert_eq!((startup.baseline, startup.arm), (Some(0.01), Some(0.025)));
        let relative = startup
            .difference
            .as_ref()
            .unwrap()
            .relative
            .as_ref()
            .unwrap();
        assert!((relative.estimate - 1.5).abs() < 1e-9);
        assert_eq!(startup.rounds, 4);
        assert!(!analysis.arms[2].metrics.contains_key(&Metric::FlushTime));
    }

    #[test]
    fn a_flush_is_compared_by_launch_also_where_the_baseline_is_zero() {
        let mut run = batch(3);
        for launch in 0..3 {
            let held_ms = 40 + 10 * u64::from(launch);
            run.reported.extend([
                spent(launch, 0, Phase::Flush, 1, Some(0)),
                spent(launch, 2, Phase::Flush, held_ms, Some(held_ms / 2)),
            ]);
        }
        let analysis = analysed(&run);
        let (time, cpu) = (
            of(&analysis, Metric::FlushTime),
            of(&analysis, Metric::FlushCpu),
        );
        let table = [(time, 0.049), (cpu, 0.025)];
        for (result, expected_s) in table {
            let found = result.difference.as_ref().unwrap();
            assert!((found.absolute.estimate - expected_s).abs() < 1e-12);
            assert_eq!((found.relative.as_ref(), result.verdict), (None, None));
            assert_eq!(result.exceeds_zero(), Some(true));
        }
        // The control reported nothing.
        let control = &analysis.arms[1].metrics[&Metric::FlushTime];
        assert_eq!(
            (control.arm, control.difference.as_ref().unwrap_err().code()),
            (None, MissingCode::TooFew)
        );
    }

    #[test]
    fn with_a_process_per_window_startup_is_the_mean_reported() {
        let mut run = batch(2);
        for launch in &mut run.launches {
            for arm in &mut launch.arms {
                (arm.startup_ns, arm.startup_cpu_ns) = (None, None);
            }
        }
        for launch in 0..2 {
            run.reported.extend([
                spent(launch, 0, Phase::Setup, 100, Some(90)),
                spent(launch, 0, Phase::Setup, 200, None),
                spent(launch, 2, Phase::Setup, 300, Some(180)),
                // Other phases are not start-up.
                spent(launch, 2, Phase::Iterations, 900, Some(900)),
            ]);
        }
        let analysis = analysed(&run);
        let table = [
            (Metric::StartupTime, 0.15, 0.3),
            (Metric::StartupCpu, 0.09, 0.18),
        ];
        for (metric, baseline, arm) in table {
            let result = of(&analysis, metric);
            assert!((result.baseline.unwrap() - baseline).abs() < 1e-12);
            assert!((result.arm.unwrap() - arm).abs() < 1e-12);
            let relative = result.difference.as_ref().unwrap().relative.as_ref();
            assert!((relative.unwrap().estimate - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn a_measured_startup_takes_precedence_over_a_reported_one() {
        let mut run = batch(2);
        run.reported.push(spent(0, 2, Phase::Setup, 900, Some(900)));
        assert_eq!(of(&analysed(&run), Metric::StartupTime).arm, Some(0.02));
    }
}
