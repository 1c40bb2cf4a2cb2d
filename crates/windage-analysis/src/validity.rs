//! Warnings about a run, found from its records: one function per warning.

use std::collections::BTreeMap;

use windage_model::{
    ArmIndex, Interval, LoadModel, Order, Role, Soundness, Validity, Warning, WarningCode,
};
use windage_record::{Ending, ManifestArm};

use crate::agents::of_attachments;
use crate::ledger::{Ledger, Ledgers};
use crate::records::Records;
use crate::windows::OfArm;

/// A larger share of windows with warnings makes the run suspect.
const BAD_WINDOWS_SHARE: f64 = 0.2;
/// A kind of warning is reported for the run when it affects a larger share of windows.
const WARNING_SHARE: f64 = 0.05;
/// An open loop that completes less than this share of its rate has met a bottleneck.
const RATE_SHARE: f64 = 0.98;
/// An arm that uses so much more than the baseline after the drain was not drained.
const STILL_BUSY_CORES: f64 = 0.05;
/// A larger share of failed requests is a warning.
const ERROR_SHARE: f64 = 0.001;

/// All warnings about the run as a whole.
pub(crate) fn of_run(records: &Records, control_at_99: Option<&Interval>) -> Validity {
    let mut validity = Validity {
        reasons: records.warnings.clone(),
    };
    let found = [
        no_windows(records),
        arm_void(records),
        incomplete(records),
        stop_not_reached(records),
        journal_cut(records),
        rounds(records),
        sequential(records),
        control(control_at_99),
        errors(records),
        rate_not_reached(records),
        coarse_clock(records),
    ];
    validity.reasons.extend(found.into_iter().flatten());
    validity.reasons.extend(windows_with_warnings(records));
    validity.reasons.extend(of_attachments(records));
    validity
}

fn no_windows(records: &Records) -> Option<Warning> {
    (records.windows.usable == 0).then(|| {
        Warning::new(
            WarningCode::NoWindows,
            "No window could be used. See the services' logs in the run directory.",
        )
        .with("windows", records.windows.count as f64)
    })
}

fn arm_void(records: &Records) -> Option<Warning> {
    if records.windows.count == 0 {
        return None;
    }
    let arms = records.manifest.arms.iter().zip(&records.windows.arms);
    let (void, usable): (Vec<_>, Vec<_>) = arms.partition(|(_, kept)| kept.usable == 0);
    if void.is_empty() || usable.is_empty() {
        return None;
    }
    let is_treatment = |arm: &ManifestArm| arm.role == Role::Treatment;
    let stands = usable.iter().any(|(arm, _)| is_treatment(arm))
        && void.iter().all(|(arm, _)| is_treatment(arm));
    let code = if stands {
        WarningCode::ArmMissing
    } else {
        WarningCode::ArmVoid
    };
    let ids: Vec<&str> = void.iter().map(|(arm, _)| arm.id.as_str()).collect();
    let text = format!("No usable window of: {}.", ids.join(", "));
    Some(Warning::new(code, text).with("arms", ids.join(", ")))
}

fn incomplete(records: &Records) -> Option<Warning> {
    let text = match &records.ending {
        Some(Ending::Complete | Ending::StoppedEarly { .. }) => return None,
        Some(Ending::Interrupted) => {
            "The run was interrupted. `windage run --resume RUN` continues it.".into()
        }
        Some(Ending::Died { text }) => {
            let text = death_in(records, text).unwrap_or(text);
            format!("The run ended before its plan did: {text}")
        }
        None => "The run's end is not recorded: it is in progress, or windage was killed. In that \
                 case `windage run --resume RUN` continues it."
            .into(),
    };
    Some(Warning::new(WarningCode::RunIncomplete, text))
}

/// The text of the arm's death with which an account of the run's end begins. The last words that
/// follow it in the account are already in that warning.
fn death_in<'a>(records: &'a Records, account: &str) -> Option<&'a str> {
    let deaths = records
        .warnings
        .iter()
        .filter(|d| d.code == WarningCode::ArmDied);
    let mut texts = deaths.map(|death| death.text.as_str());
    texts.find(|text| account.starts_with(text))
}

/// The interval is valid, but wider than the plan asks for.
fn stop_not_reached(records: &Records) -> Option<Warning> {
    let stop = records.manifest.design.stop?;
    (records.ending == Some(Ending::Complete)).then(|| {
        Warning::new(
            WarningCode::StopNotReached,
            "The run reached its limit on measuring time before the interval was as narrow as \
             `design.stop` asks. Use a longer `within` or a larger `half_width`.",
        )
        .with("metric", stop.metric.as_str())
        .with("half_width", stop.half_width)
        .with("within_s", stop.within_ns as f64 / 1e9)
    })
}

fn journal_cut(records: &Records) -> Option<Warning> {
    (records.cut_bytes > 0).then(|| {
        Warning::new(
            WarningCode::JournalCut,
            "The end of the journal was damaged; the unreadable part was left out.",
        )
        .with("cut_bytes", records.cut_bytes as f64)
    })
}

fn rounds(records: &Records) -> Option<Warning> {
    let measured = records.windows.launches.len();
    let count = measured as f64;
    match measured {
        1 => Some(
            Warning::new(
                WarningCode::SingleRound,
                "A single round: the intervals hold for this launch of the processes alone. \
                 Several rounds distinguish overhead from launch luck.",
            )
            .with("rounds", count),
        ),
        2 => Some(
            Warning::new(
                WarningCode::FewRounds,
                "Two rounds: the intervals are wide for that reason (t with one degree of freedom \
                 is 12.7). Four or more rounds help more than longer ones.",
            )
            .with("rounds", count),
        ),
        _ => None,
    }
}

fn sequential(records: &Records) -> Option<Warning> {
    (records.manifest.design.order == Order::Sequential).then(|| {
        Warning::new(
            WarningCode::SequentialOrder,
            "Arms were measured one after another: drift of the machine looks like overhead, and \
             the intervals do not account for it. Use order = \"mirrored\" for a reliable result.",
        )
    })
}

fn control(at_99: Option<&Interval>) -> Option<Warning> {
    let interval = at_99.filter(|interval| interval.excludes_zero())?;
    Some(
        Warning::new(
            WarningCode::ControlDiffers,
            "A/A control: the second, identical baseline differs significantly from the baseline. \
             Something other than telemetry differs between the arms' processes.",
        )
        .with("relative_low", interval.low)
        .with("relative_high", interval.high)
        .with("confidence", interval.confidence),
    )
}

fn errors(records: &Records) -> Option<Warning> {
    let arms = records.manifest.arms.iter().zip(&records.windows.arms);
    let failed: BTreeMap<&str, (u64, u64)> = arms
        .map(|(arm, kept)| (arm.id.as_str(), &kept.load.exchanges))
        .map(|(arm, exchanges)| (arm, (exchanges.failed(), exchanges.sent)))
        .collect();
    let share = |(failed, sent): (u64, u64)| failed as f64 / (sent.max(1)) as f64;
    let (arm, counts) = failed
        .into_iter()
        .max_by(|a, b| share(a.1).total_cmp(&share(b.1)))?;
    (share(counts) > ERROR_SHARE).then(|| {
        Warning::new(
            WarningCode::Errors,
            format!(
                "{:.1} % of the requests to {arm} failed or got an error status: its figures \
                 partly measure failures.",
                100.0 * share(counts)
            ),
        )
        .with("failed", counts.0 as f64)
        .with("sent", counts.1 as f64)
    })
}

fn rate_not_reached(records: &Records) -> Option<Warning> {
    if records.manifest.load.model != LoadModel::Open {
        return None;
    }
    let (intended, completed) = (records.windows.intended, records.windows.completed);
    let share = completed as f64 / intended.max(1) as f64;
    (intended > 0 && share < RATE_SHARE).then(|| {
        Warning::new(
            WarningCode::RateNotReached,
            format!(
                "Only {:.1} % of the intended starts were completed: {}. Lower `rate` or allow \
                 more connections.",
                100.0 * share,
                bottleneck(records)
            ),
        )
        .with("intended", intended as f64)
        .with("completed", completed as f64)
    })
}

/// The bottleneck that most windows below their rate name.
fn bottleneck(records: &Records) -> String {
    let named = records.windows.bottlenecks.iter();
    let most = named.max_by_key(|(_, windows)| **windows);
    most.map_or_else(
        || "the subject, the connections or the generator are the bottleneck".to_owned(),
        |(bottleneck, _)| format!("the bottleneck in most windows was: {bottleneck}"),
    )
}

fn coarse_clock(records: &Records) -> Option<Warning> {
    let resolution_ns = records
        .launches
        .iter()
        .flat_map(|l| &l.arms)
        .map(|a| a.cpu_resolution_ns)
        .max()?;
    let shortest_ns = records.windows.least_cpu_ns?;
    (resolution_ns.saturating_mul(100) > shortest_ns && resolution_ns > 1000).then(|| {
        Warning::new(
            WarningCode::CoarseCpuClock,
            "The resolution of the CPU counter is too coarse for windows of this length. Use \
             longer windows, or run as root so that each arm has a cgroup.",
        )
        .with("resolution_ns", resolution_ns as f64)
        .with("smallest_cpu_ns_in_a_window", shortest_ns as f64)
    })
}

/// Warnings about windows, one per kind.
fn windows_with_warnings(records: &Records) -> Vec<Warning> {
    let count = records.windows.count;
    if count == 0 {
        return Vec::new();
    }
    let mut found = gather(records.windows.warnings.iter(), count);
    let bad = records.windows.with_warnings;
    if share(bad, count) > BAD_WINDOWS_SHARE {
        found.push(
            Warning::new(
                WarningCode::ManyBadWindows,
                format!("{bad} of {count} windows have warnings."),
            )
            .with("windows_with_warnings", bad as f64)
            .with("windows", count as f64),
        );
    }
    found
}

/// Warnings about an arm's times alone: the generator's lateness affects times and nothing else.
pub(crate) fn of_times(arm: &OfArm) -> Vec<Warning> {
    of_code(arm, WarningCode::SendLag)
}

/// Warnings about an arm's service times alone: with more connections the subject's concurrency
/// would have been higher. Response times include the wait for a connection and are correct.
pub(crate) fn of_service_times(arm: &OfArm) -> Vec<Warning> {
    of_code(arm, WarningCode::ConnectionsBusy)
}

fn of_code(arm: &OfArm, wanted: WarningCode) -> Vec<Warning> {
    let warnings = arm.warnings.iter().filter(|(code, ..)| *code == wanted);
    gather(warnings, arm.usable)
}

/// Warnings about an arm's CPU per request, deferred cost included.
pub(crate) fn of_cpu(ledgers: &Ledgers, arm: ArmIndex) -> Vec<Warning> {
    let launches = ledgers.by_launch(arm, |_| Some(1.0)).len();
    let known = ledgers
        .by_launch(arm, Ledger::deferred_per_request_ns)
        .len();
    let mut found = Vec::new();
    if known < launches {
        found.push(
            Warning::new(
                WarningCode::DeferredUnknown,
                "The arm's deferred cost is unknown, so this is its in-window cost alone. Set \
                 `design.idle` in the plan and let rounds end normally.",
            )
            .with("rounds", launches as f64)
            .with("rounds_known", known as f64),
        );
    }
    let idle_cores = |arm| {
        let cores = ledgers.by_launch(arm, Ledger::idle_cores);
        cores.values().sum::<f64>() / cores.len().max(1) as f64
    };
    let (idle, baseline) = (idle_cores(arm), idle_cores(ArmIndex::BASELINE));
    if idle - baseline > STILL_BUSY_CORES {
        found.push(
            Warning::new(
                WarningCode::NotDrained,
                "The arm was still using CPU when its deferred cost was read. Use a longer \
                 `design.drain`; if the CPU use never ends, it is the arm's idle cost.",
            )
            .with("idle_cores", idle)
            .with("baseline_idle_cores", baseline),
        );
    }
    found
}

/// One warning per kind that enough windows share, with the first one's text and evidence.
fn gather<'a>(
    kinds: impl Iterator<Item = (WarningCode, usize, &'a Warning)>,
    count: usize,
) -> Vec<Warning> {
    kinds
        .filter(|(code, times, _)| {
            share(*times, count) > WARNING_SHARE || code.soundness() == Soundness::Void
        })
        .map(|(code, times, first)| {
            let text = format!("In {times} of {count} windows: {}", first.text);
            let mut warning = Warning {
                code: gathered(code),
                text,
                evidence: first.evidence.clone(),
            };
            warning
                .evidence
                .insert("windows".into(), (times as f64).into());
            warning
        })
        .collect()
}

fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// A void window does not void the run.
fn gathered(code: WarningCode) -> WarningCode {
    match code.soundness() {
        Soundness::Void => WarningCode::WindowsVoid,
        _ => code,
    }
}
