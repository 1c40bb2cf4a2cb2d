//! What speaks against a run, found from its records: one function a doubt.

use std::collections::BTreeMap;

use windage_model::{
    ArmIndex, Doubt, DoubtCode, Interval, LoadModel, Order, Role, Soundness, Validity,
};
use windage_record::{Ending, ManifestArm};

use crate::agents::of_attachments;
use crate::ledger::{Ledger, Ledgers};
use crate::records::Records;
use crate::windows::OfArm;

/// Windows in doubt beyond this share make the run suspect.
const BAD_WINDOWS_SHARE: f64 = 0.2;
/// A kind of doubt is worth a line of its own beyond this share of windows.
const DOUBT_SHARE: f64 = 0.05;
/// An open load that completes less than this share of its rate has met a ceiling.
const RATE_SHARE: f64 = 0.98;
/// An arm that uses so much more than the baseline after the drain was not done yet.
const STILL_BUSY_CORES: f64 = 0.05;
/// Failed requests beyond this share are worth a word.
const ERROR_SHARE: f64 = 0.001;

/// Everything that speaks against the run as a whole.
pub(crate) fn of_run(records: &Records, control_at_99: Option<&Interval>) -> Validity {
    let mut validity = Validity {
        reasons: records.doubts.clone(),
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
    validity.reasons.extend(windows_in_doubt(records));
    validity.reasons.extend(of_attachments(records));
    validity
}

fn no_windows(records: &Records) -> Option<Doubt> {
    (records.windows.usable == 0).then(|| {
        Doubt::new(
            DoubtCode::NoWindows,
            "No window was measured that could be used. The services' logs in the run directory \
             may say why.",
        )
        .with("windows", records.windows.count as f64)
    })
}

fn arm_void(records: &Records) -> Option<Doubt> {
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
        DoubtCode::ArmMissing
    } else {
        DoubtCode::ArmVoid
    };
    let ids: Vec<&str> = void.iter().map(|(arm, _)| arm.id.as_str()).collect();
    let text = format!("Nothing usable was measured of: {}.", ids.join(", "));
    Some(Doubt::new(code, text).with("arms", ids.join(", ")))
}

fn incomplete(records: &Records) -> Option<Doubt> {
    let text = match &records.ending {
        Some(Ending::Complete | Ending::StoppedEarly { .. }) => return None,
        Some(Ending::Interrupted) => "The run was interrupted. `windage run --resume RUN` goes on with it.".into(),
        Some(Ending::Died { text }) => {
            let text = told(records, text).unwrap_or(text);
            format!("The run ended before its plan did: {text}")
        }
        None => "The run's end is not recorded: it still goes on, or windage was killed. If it was, `windage run --resume RUN` goes on with it.".into(),
    };
    Some(Doubt::new(DoubtCode::RunIncomplete, text))
}

/// The doubt about an arm's death with which an account of the end begins: the last words that
/// follow in the account stand there.
fn told<'a>(records: &'a Records, account: &str) -> Option<&'a str> {
    let deaths = records
        .doubts
        .iter()
        .filter(|d| d.code == DoubtCode::ArmDied);
    let mut told = deaths.map(|death| death.text.as_str());
    told.find(|told| account.starts_with(told))
}

/// The interval is as wide as it is, and honest; but it is not what was asked for.
fn stop_not_reached(records: &Records) -> Option<Doubt> {
    let stop = records.manifest.design.stop?;
    (records.ending == Some(Ending::Complete)).then(|| {
        Doubt::new(
            DoubtCode::StopNotReached,
            "The measuring time was over before the interval was as narrow as `design.stop` asks. \
             A longer `within` or a greater `half_width` would do.",
        )
        .with("metric", stop.metric.as_str())
        .with("half_width", stop.half_width)
        .with("within_s", stop.within_ns as f64 / 1e9)
    })
}

fn journal_cut(records: &Records) -> Option<Doubt> {
    (records.cut_bytes > 0).then(|| {
        Doubt::new(
            DoubtCode::JournalCut,
            "The end of the journal was damaged; what could not be read was left out.",
        )
        .with("cut_bytes", records.cut_bytes as f64)
    })
}

fn rounds(records: &Records) -> Option<Doubt> {
    let measured = records.windows.launches.len();
    let count = measured as f64;
    match measured {
        1 => Some(
            Doubt::new(
                DoubtCode::SingleRound,
                "A single round: the intervals hold for this launch of the processes alone. \
                 Several rounds tell overhead from luck of the launch.",
            )
            .with("rounds", count),
        ),
        2 => Some(
            Doubt::new(
                DoubtCode::FewRounds,
                "Two rounds: the intervals are wide for that reason (t with one degree of \
                 freedom is 12.7). Four and more serve better than longer ones.",
            )
            .with("rounds", count),
        ),
        _ => None,
    }
}

fn sequential(records: &Records) -> Option<Doubt> {
    (records.manifest.design.order == Order::Sequential).then(|| {
        Doubt::new(
            DoubtCode::SequentialOrder,
            "One arm was measured after another: what the machine drifts in between reads as \
             overhead, and the intervals do not know of it. Use order = \"mirrored\" for an answer.",
        )
    })
}

fn control(at_99: Option<&Interval>) -> Option<Doubt> {
    let interval = at_99.filter(|interval| interval.excludes_nil())?;
    Some(
        Doubt::new(
            DoubtCode::ControlNotNil,
            "The control, a second and identical baseline, differs from the baseline: something \
             besides telemetry differs between the arms' processes.",
        )
        .with("relative_low", interval.low)
        .with("relative_high", interval.high)
        .with("confidence", interval.confidence),
    )
}

fn errors(records: &Records) -> Option<Doubt> {
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
        Doubt::new(
            DoubtCode::Errors,
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

fn rate_not_reached(records: &Records) -> Option<Doubt> {
    if records.manifest.load.model != LoadModel::Open {
        return None;
    }
    let (intended, completed) = (records.windows.intended, records.windows.completed);
    let share = completed as f64 / intended.max(1) as f64;
    (intended > 0 && share < RATE_SHARE).then(|| {
        Doubt::new(
            DoubtCode::RateNotReached,
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

fn coarse_clock(records: &Records) -> Option<Doubt> {
    let grain_ns = records
        .launches
        .iter()
        .flat_map(|l| &l.arms)
        .map(|a| a.cpu_grain_ns)
        .max()?;
    let shortest_ns = records.windows.least_cpu_ns?;
    (grain_ns.saturating_mul(100) > shortest_ns && grain_ns > 1000).then(|| {
        Doubt::new(
            DoubtCode::CoarseCpuClock,
            "The CPU counter's grains are coarse for windows of this length. Longer windows, or \
             a cgroup of their own for the arms (run as root), make them fine.",
        )
        .with("grain_ns", grain_ns as f64)
        .with("smallest_cpu_ns_in_a_window", shortest_ns as f64)
    })
}

/// Doubts about windows, gathered: one line a kind.
fn windows_in_doubt(records: &Records) -> Vec<Doubt> {
    let count = records.windows.count;
    if count == 0 {
        return Vec::new();
    }
    let mut found = gather(records.windows.doubts.iter(), count);
    let bad = records.windows.in_doubt;
    if share(bad, count) > BAD_WINDOWS_SHARE {
        found.push(
            Doubt::new(
                DoubtCode::ManyBadWindows,
                format!("{bad} of {count} windows are in doubt."),
            )
            .with("windows_in_doubt", bad as f64)
            .with("windows", count as f64),
        );
    }
    found
}

/// What speaks against an arm's times alone: the generator's own lateness is in them and in
/// nothing else.
pub(crate) fn of_times(arm: &OfArm) -> Vec<Doubt> {
    of_code(arm, DoubtCode::SendLag)
}

/// What speaks against an arm's service times alone: with more connections the subject would have
/// met more requests at a time. Response times hold the wait for a connection and are true.
pub(crate) fn of_service_times(arm: &OfArm) -> Vec<Doubt> {
    of_code(arm, DoubtCode::ConnectionsBusy)
}

fn of_code(arm: &OfArm, wanted: DoubtCode) -> Vec<Doubt> {
    let doubts = arm.doubts.iter().filter(|(code, ..)| *code == wanted);
    gather(doubts, arm.usable)
}

/// What speaks against an arm's CPU a request, deferred cost included.
pub(crate) fn of_cpu(ledgers: &Ledgers, arm: ArmIndex) -> Vec<Doubt> {
    let launches = ledgers.by_launch(arm, |_| Some(1.0)).len();
    let known = ledgers
        .by_launch(arm, Ledger::deferred_per_request_ns)
        .len();
    let mut found = Vec::new();
    if known < launches {
        found.push(
            Doubt::new(
                DoubtCode::DeferredUnknown,
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
            Doubt::new(
                DoubtCode::NotDrained,
                "The arm was still at work when its deferred cost was closed. A longer \
                 `design.drain` lets it finish; if it never rests, this is its idle cost.",
            )
            .with("idle_cores", idle)
            .with("baseline_idle_cores", baseline),
        );
    }
    found
}

/// One doubt for each kind that enough windows share, with the first one's words and evidence.
fn gather<'a>(
    kinds: impl Iterator<Item = (DoubtCode, usize, &'a Doubt)>,
    count: usize,
) -> Vec<Doubt> {
    kinds
        .filter(|(code, times, _)| {
            share(*times, count) > DOUBT_SHARE || code.soundness() == Soundness::Void
        })
        .map(|(code, times, first)| {
            let text = format!("In {times} of {count} windows: {}", first.text);
            let mut doubt = Doubt {
                code: gathered(code),
                text,
                evidence: first.evidence.clone(),
            };
            doubt
                .evidence
                .insert("windows".into(), (times as f64).into());
            doubt
        })
        .collect()
}

fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// A window's doubt voids the window, not the run.
fn gathered(code: DoubtCode) -> DoubtCode {
    match code.soundness() {
        Soundness::Void => DoubtCode::WindowsVoid,
        _ => code,
    }
}
