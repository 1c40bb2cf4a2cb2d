//! What speaks against a run, found from its records: one function a warning.

use std::collections::BTreeMap;

use windage_model::{
    ArmIndex, Interval, LoadModel, Order, Role, Soundness, Validity, Warning, WarningCode,
};
use windage_record::{Ending, ManifestArm};

use crate::agents::of_attachments;
use crate::ledger::{Ledger, Ledgers};
use crate::records::Records;
use crate::windows::OfArm;

/// Windows in warning beyond this share make the run suspect.
const BAD_WINDOWS_SHARE: f64 = 0.2;
/// A kind of warning is worth a line of its own beyond this share of windows.
const WARNING_SHARE: f64 = 0.05;
/// An open load that completes less than this share of its rate has met a ceiling.
const RATE_SHARE: f64 = 0.98;
/// An arm that uses so much more than the baseline after the drain was not done yet.
const STILL_BUSY_CORES: f64 = 0.05;
/// Failed requests beyond this share are worth a word.
const ERROR_SHARE: f64 = 0.001;

/// Everything that speaks against the run as a whole.
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
            "No window was measured that could be used. The services' logs in the run directory \
             may say why.",
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
    let text = format!("Nothing usable was measured of: {}.", ids.join(", "));
    Some(Warning::new(code, text).with("arms", ids.join(", ")))
}

fn incomplete(records: &Records) -> Option<Warning> {
    let text = match &records.ending {
        Some(Ending::Complete | Ending::StoppedEarly { .. }) => return None,
        Some(Ending::Interrupted) => "The run was interrupted. `windage run --resume RUN` goes on with it.".into(),
        Some(Ending::Died { text }) => {
            let text = told(records, text).unwrap_or(text);
            format!("The run ended before its plan did: {text}")
        }
        None => "The run's end is not recorded: it still goes on, or windage was killed. If it was, `windage run --resume RUN` goes on with it.".into(),
    };
    Some(Warning::new(WarningCode::RunIncomplete, text))
}

/// The warning about an arm's death with which an account of the end begins: the last words that
/// follow in the account stand there.
fn told<'a>(records: &'a Records, account: &str) -> Option<&'a str> {
    let deaths = records
        .warnings
        .iter()
        .filter(|d| d.code == WarningCode::ArmDied);
    let mut told = deaths.map(|death| death.text.as_str());
    told.find(|told| account.starts_with(told))
}

/// The interval is as wide as it is, and honest; but it is not what was asked for.
fn stop_not_reached(records: &Records) -> Option<Warning> {
    let stop = records.manifest.design.stop?;
    (records.ending == Some(Ending::Complete)).then(|| {
        Warning::new(
            WarningCode::StopNotReached,
            "The measuring time was over before the interval was as narrow as `design.stop` asks. \
             A longer `within` or a greater `half_width` would do.",
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
            "The end of the journal was damaged; what could not be read was left out.",
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
                 Several rounds tell overhead from luck of the launch.",
            )
            .with("rounds", count),
        ),
        2 => Some(
            Warning::new(
                WarningCode::FewRounds,
                "Two rounds: the intervals are wide for that reason (t with one degree of \
                 freedom is 12.7). Four and more serve better than longer ones.",
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
            "One arm was measured after another: what the machine drifts in between reads as \
             overhead, and the intervals do not know of it. Use order = \"mirrored\" for an answer.",
        )
    })
}

fn control(at_99: Option<&Interval>) -> Option<Warning> {
    let interval = at_99.filter(|interval| interval.excludes_zero())?;
    Some(
        Warning::new(
            WarningCode::ControlDiffers,
            "The control, a second and identical baseline, differs from the baseline: something \
             besides telemetry differs between the arms' processes.",
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
                "{:.1} % of the requests to {arm} failed or were answered with an error: its \
                 figures are those of failing, in part.",
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
                ceiling(records)
            ),
        )
        .with("intended", intended as f64)
        .with("completed", completed as f64)
    })
}

/// What most of the windows that did not reach their rate name as the reason.
fn ceiling(records: &Records) -> String {
    let named = records.windows.ceilings.iter();
    let most = named.max_by_key(|(_, windows)| **windows);
    most.map_or_else(
        || "the subject, the connections or the generator are the ceiling".to_owned(),
        |(ceiling, _)| format!("by what most windows say, the ceiling was: {ceiling}"),
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
            "The CPU counter's grains are coarse for windows of this length. Longer windows, or \
             a cgroup of their own for the arms (run as root), make them fine.",
        )
        .with("resolution_ns", resolution_ns as f64)
        .with("smallest_cpu_ns_in_a_window", shortest_ns as f64)
    })
}

/// Warnings about windows, gathered: one line a kind.
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
                format!("{bad} of {count} windows are in warning."),
            )
            .with("windows_with_warnings", bad as f64)
            .with("windows", count as f64),
        );
    }
    found
}

/// What speaks against an arm's times alone: the generator's own lateness is in them and in
/// nothing else.
pub(crate) fn of_times(arm: &OfArm) -> Vec<Warning> {
    of_code(arm, WarningCode::SendLag)
}

/// What speaks against an arm's service times alone: with more connections the subject would have
/// met more requests at a time. Response times hold the wait for a connection and are true.
pub(crate) fn of_service_times(arm: &OfArm) -> Vec<Warning> {
    of_code(arm, WarningCode::ConnectionsBusy)
}

fn of_code(arm: &OfArm, wanted: WarningCode) -> Vec<Warning> {
    let warnings = arm.warnings.iter().filter(|(code, ..)| *code == wanted);
    gather(warnings, arm.usable)
}

/// What speaks against an arm's CPU per request, deferred cost included.
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
                "What the arm does later for its requests is not known, so that this is the cost \
                 in the windows alone. Give the plan a `design.idle` and let rounds end in order.",
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
                "The arm was still at work when its deferred cost was closed. A longer \
                 `design.drain` lets it finish; if it never rests, this is its idle cost.",
            )
            .with("idle_cores", idle)
            .with("baseline_idle_cores", baseline),
        );
    }
    found
}

/// One warning for each kind that enough windows share, with the first one's words and evidence.
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

/// A window's warning voids the window, not the run.
fn gathered(code: WarningCode) -> WarningCode {
    match code.soundness() {
        Soundness::Void => WarningCode::WindowsVoid,
        _ => code,
    }
}
