//! What speaks against a window: one rule each, with its evidence.

use std::time::Duration;

use windage_load::RunReport;
use windage_model::{Doubt, DoubtCode, LoadModel, Window};

use crate::clock::whole_ns;

/// Send lag at the 99th percentile beyond which an open loop's latency is not the subject's.
const SEND_LAG_NS: u64 = 1_000_000;
/// A generator that is busy for this share of a window was the ceiling.
const GENERATOR_SHARE: f64 = 0.97;
/// Time taken away by the hypervisor, of one core's window.
const STEAL_SHARE: f64 = 0.02;
/// What other arms used, of what the window's own arm used.
const OTHERS_SHARE: f64 = 0.05;
/// Answers may come so long after an open loop's schedule, or for such a part of the window,
/// whichever is longer.
const OVERRUN_NS: u64 = 20_000_000;
const OVERRUN_PART: u64 = 5;
/// Failed requests.
const ERROR_SHARE: f64 = 0.001;

/// Everything that its counters say against a window.
///
/// `counted` says whether the subject's CPU is within reach at all: of a service that is attached
/// by URL it is not, which is no fault of a window.
pub(crate) fn of_window(
    window: &Window,
    model: LoadModel,
    subject_cores: f64,
    counted: bool,
) -> Vec<Doubt> {
    let found = [
        nothing_completed(window),
        errors(window),
        send_lag(window, model),
        generator_saturated(window, subject_cores),
        dropped(window),
        steal(window),
        other_arm_active(window),
        cpu_unreadable(window).filter(|_| counted),
    ];
    found.into_iter().flatten().collect()
}

/// An open loop whose answers go on long after its schedule: the throughput of such a window is
/// the schedule's, not the subject's.
pub(crate) fn overrun(report: &RunReport, window: Duration, model: LoadModel) -> Option<Doubt> {
    let lasted_ns = report.ended_ns.saturating_sub(report.started_ns);
    let overrun_ns = lasted_ns.saturating_sub(whole_ns(window));
    let bound_ns = OVERRUN_NS.max(whole_ns(window) / OVERRUN_PART);
    (model == LoadModel::Open && overrun_ns > bound_ns).then(|| {
        Doubt::new(
            DoubtCode::RateNotReached,
            "The last answers came long after the schedule's end: the rate is more than the \
             subject or the connections can do, or the window is short for answers this slow. \
             Lower `rate`, raise `connections` or lengthen `window`.",
        )
        .with("overrun_us", overrun_ns as f64 / 1e3)
        .with("window_us", window.as_secs_f64() * 1e6)
    })
}

fn share(part: f64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part / whole as f64 }
}

fn nothing_completed(window: &Window) -> Option<Doubt> {
    let exchanges = &window.exchanges;
    (exchanges.completed == 0).then(|| {
        Doubt::new(DoubtCode::NothingCompleted, "Nothing was completed.")
            .with("sent", exchanges.sent as f64)
            .with("timeouts", exchanges.errors.timeout as f64)
            .with("connect_errors", exchanges.errors.connect as f64)
            .with("closed", exchanges.errors.closed as f64)
            .with("protocol_errors", exchanges.errors.protocol as f64)
    })
}

fn errors(window: &Window) -> Option<Doubt> {
    let exchanges = &window.exchanges;
    let failed = exchanges.errors.total() + exchanges.status.errors();
    if exchanges.completed > 0 && exchanges.status.errors() == exchanges.completed {
        return Some(
            Doubt::new(
                DoubtCode::OnlyErrors,
                "Every answer had a status of 400 or above: this measures failing. Look at \
                 `load.request` and at the service's log.",
            )
            .with("answers", exchanges.completed as f64)
            .with("answers_4xx", exchanges.status.0[3] as f64)
            .with("answers_5xx", exchanges.status.0[4] as f64),
        );
    }
    (share(failed as f64, exchanges.sent) > ERROR_SHARE).then(|| {
        Doubt::new(
            DoubtCode::Errors,
            "Requests failed or were answered with an error.",
        )
        .with("failed", failed as f64)
        .with("sent", exchanges.sent as f64)
    })
}

fn send_lag(window: &Window, model: LoadModel) -> Option<Doubt> {
    let lag_ns = window.exchanges.send_lag_ns_p99;
    (model == LoadModel::Open && lag_ns > SEND_LAG_NS).then(|| {
        Doubt::new(
            DoubtCode::SendLag,
            "The generator sent later than intended: its response times hold its own lateness. \
             Give it a core of its own (`load.cpus`).",
        )
        .with("send_lag_us_p99", lag_ns as f64 / 1e3)
        .with(
            "send_lag_us_max",
            window.exchanges.send_lag_ns_max as f64 / 1e3,
        )
    })
}

fn generator_saturated(window: &Window, subject_cores: f64) -> Option<Doubt> {
    let generator = share(window.cpu.generator_ns as f64, window.duration_ns);
    let subject = share(window.cpu.in_window_ns? as f64, window.duration_ns);
    (generator > GENERATOR_SHARE && subject < 0.9 * subject_cores).then(|| {
        Doubt::new(
            DoubtCode::GeneratorSaturated,
            "The generator kept its core busy and the subject did not: the generator was the \
             ceiling, and overhead in throughput is compressed.",
        )
        .with("generator_cores", generator)
        .with("subject_cores", subject)
    })
}

fn dropped(window: &Window) -> Option<Doubt> {
    (window.exchanges.dropped > 0).then(|| {
        Doubt::new(
            DoubtCode::Dropped,
            "Intended starts were dropped for want of a free connection. Raise `connections` or \
             lower `rate`.",
        )
        .with("dropped", window.exchanges.dropped as f64)
        .with("intended", window.exchanges.intended as f64)
    })
}

fn steal(window: &Window) -> Option<Doubt> {
    // Steal is counted in hundredths of a second: a single one is no evidence in a short window.
    let stolen = share(window.machine.steal_ns as f64, window.duration_ns);
    (window.machine.steal_ns > 10_000_000 && stolen > STEAL_SHARE).then(|| {
        Doubt::new(DoubtCode::Steal, "The hypervisor took the processor away.")
            .with("steal_ns", window.machine.steal_ns as f64)
            .with("window_ns", window.duration_ns as f64)
    })
}

fn other_arm_active(window: &Window) -> Option<Doubt> {
    let others_ns: u64 = window
        .cpu
        .others_in_window
        .iter()
        .map(|other| other.cpu_ns)
        .sum();
    let own_ns = window.cpu.in_window_ns?;
    (share(others_ns as f64, own_ns) > OTHERS_SHARE).then(|| {
        Doubt::new(
            DoubtCode::OtherArmActive,
            "Other arms used CPU in this window: work that they had deferred. It is credited to \
             them, and it may have slowed this arm.",
        )
        .with("others_cpu_ns", others_ns as f64)
        .with("own_cpu_ns", own_ns as f64)
    })
}

fn cpu_unreadable(window: &Window) -> Option<Doubt> {
    let completed = window.exchanges.completed > 0;
    (completed && window.cpu.in_window_ns.is_none_or(|ns| ns == 0)).then(|| {
        Doubt::new(
            DoubtCode::CpuUnreadable,
            "The subject's CPU counter did not move or could not be read, although requests were \
             completed: the service may run elsewhere (attached by URL, or left its cgroup).",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use windage_model::{
        ArmCpu, ArmIndex, Exchanges, MachineDelta, Place, StatusClasses, WindowCpu,
    };

    fn sound() -> Window {
        Window {
            place: Place {
                launch: 0,
                round: 0,
                block: 0,
                position: 0,
                arm: ArmIndex(2),
            },
            started_ns: 0,
            duration_ns: 100_000_000,
            stretch_ns: 110_000_000,
            exchanges: Exchanges {
                intended: 1000,
                sent: 1000,
                completed: 1000,
                status: StatusClasses([0, 1000, 0, 0, 0]),
                ..Exchanges::default()
            },
            cpu: WindowCpu {
                in_window_ns: Some(50_000_000),
                generator_ns: 10_000_000,
                ..WindowCpu::default()
            },
            machine: MachineDelta::default(),
            rss_bytes: None,
            page_faults: 0,
            arm_context_switches: 0,
            doubts: Vec::new(),
        }
    }

    #[test]
    fn each_rule_sees_its_own_and_nothing_else() {
        use DoubtCode::*;
        type Spoil = fn(&mut Window);
        let table: &[(Spoil, &[DoubtCode])] = &[
            (|_| {}, &[]),
            (|w| w.exchanges.completed = 0, &[NothingCompleted]),
            (
                |w| w.exchanges.status = StatusClasses([0, 0, 0, 0, 1000]),
                &[OnlyErrors],
            ),
            (
                |w| w.exchanges.status = StatusClasses([0, 990, 0, 10, 0]),
                &[Errors],
            ),
            (|w| w.exchanges.errors.timeout = 5, &[Errors]),
            (|w| w.exchanges.send_lag_ns_p99 = 2_000_000, &[SendLag]),
            (|w| w.cpu.generator_ns = 99_000_000, &[GeneratorSaturated]),
            (|w| w.exchanges.dropped = 1, &[Dropped]),
            (|w| w.machine.steal_ns = 20_000_000, &[Steal]),
            (|w| w.machine.steal_ns = 10_000_000, &[]),
            (|w| w.cpu.in_window_ns = None, &[CpuUnreadable]),
            (
                |w| {
                    w.cpu.others_in_window.push(ArmCpu {
                        arm: ArmIndex(0),
                        cpu_ns: 5_000_000,
                    })
                },
                &[OtherArmActive],
            ),
            (
                |w| {
                    w.cpu.others_in_window.push(ArmCpu {
                        arm: ArmIndex(0),
                        cpu_ns: 500,
                    })
                },
                &[],
            ),
        ];
        for (index, (spoil, expected)) in table.iter().enumerate() {
            let mut window = sound();
            spoil(&mut window);
            let found: Vec<_> = of_window(&window, LoadModel::Open, 1.0, true)
                .iter()
                .map(|d| d.code)
                .collect();
            assert_eq!(&found, expected, "row {index}");
        }
    }

    #[test]
    fn cpu_out_of_reach_is_no_fault_of_a_window() {
        let mut window = sound();
        window.cpu.in_window_ns = None;
        assert_eq!(of_window(&window, LoadModel::Closed, 1.0, false), []);
    }

    #[test]
    fn answers_long_after_the_schedule_are_an_overload() {
        // window, time until the last answer, overload or not
        let table = [
            (100, 105, false),
            (100, 119, false),
            (100, 130, true),
            (1000, 1150, false),
            (1000, 1250, true),
        ];
        for (window_ms, lasted_ms, overload) in table {
            let report = RunReport {
                ended_ns: lasted_ms * 1_000_000,
                ..RunReport::default()
            };
            let window = Duration::from_millis(window_ms);
            let found = overrun(&report, window, LoadModel::Open);
            assert_eq!(found.is_some(), overload, "{window_ms} {lasted_ms}");
            assert_eq!(overrun(&report, window, LoadModel::Closed), None);
        }
    }

    #[test]
    fn a_busy_generator_is_no_ceiling_when_the_subject_is_busy_too() {
        let mut window = sound();
        window.cpu.generator_ns = 99_000_000;
        window.cpu.in_window_ns = Some(98_000_000);
        assert_eq!(of_window(&window, LoadModel::Closed, 1.0, true), []);
    }
}
