//! Whole processes of a batch program, as the shell's `time` shows them.

use windage_model::{ArmIndex, Interval, Method, Phase, PhaseSpent, ProcessTimes};
use windage_stats::{Confidence, Launches, two_level};

use crate::Records;
use crate::phases::{cpu_ns, of_phase, wall_ns};

/// What an arm's program used from start to exit, with one process per window.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// Iterations per process; `None` when they were not the same for all.
    pub iterations: Option<u64>,
    /// Processes, without those of void windows.
    pub runs: usize,
    /// Elapsed time, in seconds.
    pub real_s: Averaged,
    /// CPU in user space, in seconds.
    pub user_s: Averaged,
    /// CPU in the kernel, in seconds.
    pub system_s: Averaged,
    /// The phases that processes report, in order of time; those of void windows are included.
    pub phases: Vec<ScriptPhase>,
}

/// One phase of whole processes.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptPhase {
    /// The phase.
    pub phase: Phase,
    /// Processes that reported it.
    pub runs: usize,
    /// Elapsed time, in seconds.
    pub wall_s: Averaged,
    /// CPU, in seconds; `None` where no process could read it.
    pub cpu_s: Option<Averaged>,
}

/// A mean over processes. It describes this arm alone and does not correct for drift of the
/// machine; comparisons are made within blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Averaged {
    /// The mean.
    pub mean: f64,
    /// Its 95 % interval, from the scatter over processes; `None` for fewer than three.
    pub interval: Option<Interval>,
}

/// With two processes there is scatter, but the interval would be twelve times as wide and begin
/// below zero.
const FEWEST_RUNS: usize = 3;

impl Averaged {
    /// `None` without a value.
    fn of(values: impl Iterator<Item = f64>) -> Option<Averaged> {
        let values: Vec<f64> = values.collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let mut runs = Launches::default();
        for value in &values {
            runs.push(vec![*value], 0.0);
        }
        let enough = (values.len() >= FEWEST_RUNS).then_some(());
        let interval = enough.and_then(|()| two_level(&runs).ok()).map(|location| {
            let (low, high) = location.ends(Confidence::P95);
            Interval {
                estimate: mean,
                low,
                high,
                confidence: Confidence::P95.get(),
                method: Method::MeanByProcess,
            }
        });
        (!values.is_empty()).then_some(Averaged { mean, interval })
    }

    fn of_ns(values: impl Iterator<Item = u64>) -> Option<Averaged> {
        Averaged::of(values.map(|ns| ns as f64 / 1e9))
    }
}

/// Whether each window was a whole process.
pub(crate) fn is_by_process(records: &Records) -> bool {
    !records.processes.is_empty()
}

/// The whole-process figures of an arm; `None` where its windows were not whole processes.
pub(crate) fn of_arm(records: &Records, arm: ArmIndex) -> Option<Script> {
    let usable: Vec<&ProcessTimes> = usable(records, arm).collect();
    let mean = |value_ns: fn(&ProcessTimes) -> u64| {
        Averaged::of_ns(usable.iter().map(|times| value_ns(times)))
    };
    Some(Script {
        iterations: records.manifest.load.iterations,
        runs: usable.len(),
        real_s: mean(|times| times.wall_ns)?,
        user_s: mean(|times| times.user_ns)?,
        system_s: mean(|times| times.system_ns)?,
        phases: Phase::ALL
            .into_iter()
            .filter_map(|phase| of_reported(records, arm, phase))
            .collect(),
    })
}

/// Processes of an arm's windows that were committed and are not void.
fn usable(records: &Records, arm: ArmIndex) -> impl Iterator<Item = &ProcessTimes> {
    let windows = &records.windows;
    records.processes.iter().filter(move |times| {
        let place = times.place;
        let is_committed = windows.has(place.launch, place.block, arm);
        let window = (place.launch, place.block, place.position);
        place.arm == arm && is_committed && !windows.void.contains(&window)
    })
}

fn of_reported(records: &Records, arm: ArmIndex, phase: Phase) -> Option<ScriptPhase> {
    let reported: Vec<&PhaseSpent> = of_phase(records, arm, phase).collect();
    let mean = |value_ns: fn(&PhaseSpent) -> Option<u64>| {
        Averaged::of_ns(reported.iter().filter_map(|spent| value_ns(spent)))
    };
    Some(ScriptPhase {
        phase,
        runs: reported.len(),
        wall_s: mean(wall_ns)?,
        cpu_s: mean(cpu_ns),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use windage_model::{LoadModel, Place, WarningCode, fixtures};
    use windage_record::Entry;

    /// The process of a window of the fixture.
    fn process(place: Place, wall_ms: u64) -> Entry {
        Entry::Process(ProcessTimes {
            place,
            wall_ns: wall_ms * 1_000_000,
            user_ns: wall_ms * 900_000,
            system_ns: wall_ms * 50_000,
        })
    }

    /// Two rounds of ten blocks; every second process of the treatment takes 120 ms, the others
    /// 100.
    fn run() -> fixture::Recorded {
        let mut run = fixture::records(2);
        run.manifest.load.model = LoadModel::Batch;
        run.manifest.load.iterations = Some(1000);
        let places: Vec<Place> = run.windows.iter().map(|window| window.place).collect();
        for place in places {
            let wall_ms = if place.position == 2 { 120 } else { 100 };
            run.reported.push(process(place, wall_ms));
        }
        run
    }

    fn script(run: &fixture::Recorded, arm: u16) -> Option<Script> {
        of_arm(&run.gathered(), ArmIndex(arm))
    }

    #[test]
    fn times_are_means_over_processes_with_the_interval_of_their_scatter() {
        let found = script(&run(), 2).unwrap();
        assert_eq!((found.iterations, found.runs), (Some(1000), 40));
        // Twenty of 100 ms and twenty of 120: s = 10 ms · √(40/39), t of 39 degrees 2.0227.
        let half_s = 2.022_690_9 * 0.01 / 39.0f64.sqrt();
        let table = [
            ("real", &found.real_s, 0.11, half_s),
            ("user", &found.user_s, 0.099, half_s * 0.9),
            ("sys", &found.system_s, 0.0055, half_s * 0.05),
        ];
        for (what, averaged, mean, half_s) in table {
            assert!((averaged.mean - mean).abs() < 1e-12, "{what}: {averaged:?}");
            let interval = averaged.interval.as_ref().unwrap();
            let width = interval.half_width();
            assert!((width / half_s - 1.0).abs() < 1e-6, "{what}: {width}");
        }
        assert_eq!(found.phases, []);
    }

    #[test]
    fn one_process_has_no_interval_and_none_has_no_script() {
        let mut run = run();
        run.reported.truncate(1);
        let found = script(&run, 0).unwrap();
        let expected = Averaged {
            mean: 0.1,
            interval: None,
        };
        assert_eq!((found.runs, found.real_s), (1, expected));
        assert_eq!(script(&run, 2), None, "it has windows but no process");
        assert!(is_by_process(&run.gathered()));
        assert!(!is_by_process(&fixture::records(1).gathered()));
    }

    #[test]
    fn void_windows_and_blocks_that_were_not_committed_are_left_out() {
        let mut run = run();
        let void = run.windows.iter_mut().find(|w| w.place.arm == ArmIndex(2));
        let void = void.unwrap();
        void.warnings
            .push(fixtures::warning(WarningCode::ServiceDied));
        let mut uncommitted = void.place;
        uncommitted.block = 10;
        assert_eq!(uncommitted.launch, 0, "whose last block is 9");
        run.reported.push(process(uncommitted, 9000));
        let found = script(&run, 2).unwrap();
        assert_eq!(found.runs, 39);
        assert!(found.real_s.mean < 0.12);
    }

    #[test]
    fn phases_are_there_where_reported() {
        let mut run = run();
        let spent = |phase, wall_ns, cpu_ns| {
            Entry::Phase(PhaseSpent {
                launch: 0,
                arm: ArmIndex(2),
                phase,
                wall_ns,
                cpu_ns,
            })
        };
        run.reported.extend([
            spent(Phase::Flush, 4_000_000, None),
            spent(Phase::Setup, 30_000_000, Some(20_000_000)),
            spent(Phase::Setup, 50_000_000, None),
        ]);
        let phases = script(&run, 2).unwrap().phases;
        let reported = |phase: &ScriptPhase| {
            let cpu_s = phase.cpu_s.as_ref().map(|cpu| cpu.mean);
            (phase.phase, phase.runs, phase.wall_s.mean, cpu_s)
        };
        let reported: Vec<_> = phases.iter().map(reported).collect();
        let expected = [
            (Phase::Setup, 2, 0.04, Some(0.02)),
            (Phase::Flush, 1, 0.004, None),
        ];
        assert_eq!(reported, expected);
    }
}
