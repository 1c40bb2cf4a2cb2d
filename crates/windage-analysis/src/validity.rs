//! Warnings about a run, found from its records: one function per warning.

use windage_model::{
    ArmIndex, IncompleteEnding, Interval, LoadModel, Order, RATE_SHARE, Reason, Role, Soundness,
    Stretches, Until, Validity, Warning, WarningCode, WindowShare,
};
use windage_record::{Ending, Loss, ManifestArm};

use crate::agents::of_attachments;
use crate::ledger::{Ledger, Ledgers};
use crate::records::Records;
use crate::run::Run;
use crate::timers::timer_longer_than_round;
use crate::totals;
use crate::windows::OfArm;

/// A larger share of windows with warnings makes the run suspect.
const BAD_WINDOWS_SHARE: f64 = 0.2;
/// A kind of warning is reported for the run when it affects a larger share of windows.
const WARNING_SHARE: f64 = 0.05;
/// An arm that uses so much more than the baseline after the drain was not drained.
const STILL_BUSY_CORES: f64 = 0.05;
/// A subject that keeps at least this share of its cores busy is saturated.
const SATURATED_SHARE: f64 = 0.9;
/// An arm whose generator waited for a core in a larger share of its windows was paced by it.
const PACED_SHARE: f64 = 0.5;
/// A larger share of failed requests is a warning.
const ERROR_SHARE: f64 = 0.001;

/// All warnings about the run as a whole.
pub(crate) fn of_run(records: &Records, control_at_99: Option<&Interval>) -> Validity {
    let found = [
        no_windows(records),
        arm_void(records),
        incomplete(records),
        stop_not_reached(records),
        journal_cut(records),
        Loss::warning(&records.losses),
        rounds(records),
        sequential(records),
        control(control_at_99),
        errors(records),
        starts_not_completed(records),
        coarse_clock(records),
        timer_longer_than_round(records),
    ];
    let mut reasons: Vec<Reason> = noted(records)
        .into_iter()
        .chain(found.into_iter().flatten())
        .map(Reason::from)
        .collect();
    reasons.extend(windows_with_warnings(records));
    reasons.extend(of_attachments(records).into_iter().map(Reason::from));
    Validity { reasons }
}

/// What was noted during the run. Logs are shortened and metrics scraped in each launch anew, which
/// is one warning for each service.
fn noted(records: &Records) -> Vec<Warning> {
    let mut noted: Vec<Warning> = Vec::new();
    for warning in &records.warnings {
        if !noted.iter_mut().any(|known| noted_again(known, warning)) {
            noted.push(warning.clone());
        }
    }
    noted
}

/// Adds what was left out of the logs of the same service in another launch, or its scrapes that
/// failed there; false if `more` is about something else.
fn noted_again(known: &mut Warning, more: &Warning) -> bool {
    match (known, more) {
        (
            Warning::LogCut {
                service,
                arms,
                left_out_bytes,
                ..
            },
            Warning::LogCut {
                service: again,
                arms: more_arms,
                left_out_bytes: more_bytes,
                ..
            },
        ) if service == again => {
            *left_out_bytes += more_bytes;
            let known = arms.clone();
            arms.extend(more_arms.iter().filter(|arm| !known.contains(arm)).cloned());
            true
        }
        (
            Warning::ScrapesFailed {
                arm,
                service,
                failed,
                scrapes,
                reason,
            },
            Warning::ScrapesFailed {
                arm: arm_again,
                service: again,
                failed: more_failed,
                scrapes: more_scrapes,
                reason: last,
            },
        ) if arm == arm_again && service == again => {
            *failed += more_failed;
            *scrapes += more_scrapes;
            reason.clone_from(last);
            true
        }
        _ => false,
    }
}

fn no_windows(records: &Records) -> Option<Warning> {
    (records.windows.usable == 0 && records.turns.usable == 0).then_some(Warning::NoWindows {
        windows: records.windows.count as u64,
    })
}

fn arm_void(records: &Records) -> Option<Warning> {
    if records.windows.count == 0 && records.turns.is_empty() {
        return None;
    }
    let arms = records.manifest.arms.iter().zip(&records.windows.arms);
    let is_void = |(arm, kept): &(&ManifestArm, &OfArm)| {
        kept.usable == 0 && records.turns.usable_of(arm.index) == 0
    };
    let (void, usable): (Vec<_>, Vec<_>) = arms.partition(is_void);
    if void.is_empty() || usable.is_empty() {
        return None;
    }
    let is_treatment = |arm: &ManifestArm| arm.role == Role::Treatment;
    let stands = usable.iter().any(|(arm, _)| is_treatment(arm))
        && void.iter().all(|(arm, _)| is_treatment(arm));
    let arms = void.iter().map(|(arm, _)| arm.id.to_string()).collect();
    Some(if stands {
        Warning::ArmMissing { arms }
    } else {
        Warning::ArmVoid { arms }
    })
}

fn incomplete(records: &Records) -> Option<Warning> {
    let (ending, reason) = match &records.ending {
        Some(Ending::Complete | Ending::StoppedEarly { .. }) => return None,
        Some(Ending::Interrupted) => (IncompleteEnding::Interrupted, None),
        Some(Ending::Died { text }) => {
            let reason = death_in(records, text).unwrap_or_else(|| text.clone());
            (IncompleteEnding::Died, Some(reason))
        }
        None => (IncompleteEnding::Unrecorded, None),
    };
    Some(Warning::RunIncomplete { ending, reason })
}

/// The arm's death with which an account of the run's end begins. The last words that follow it in
/// the account are already in that warning.
fn death_in(records: &Records, account: &str) -> Option<String> {
    let mut deaths = records.warnings.iter().filter_map(|warning| match warning {
        Warning::ArmDied {
            service,
            whose,
            how,
            ..
        } => Some(format!("service `{service}` {whose} {how}")),
        _ => None,
    });
    deaths.find(|death| account.starts_with(death))
}

/// The interval is valid, but wider than the plan asks for.
fn stop_not_reached(records: &Records) -> Option<Warning> {
    let stop = records.manifest.design.stop?;
    // A budget that is undecided says so itself.
    let Until::Known { metric, half_width } = stop.until else {
        return None;
    };
    (records.ending == Some(Ending::Complete)).then(|| Warning::StopNotReached {
        metric: metric.as_str().to_owned(),
        half_width,
        within_s: stop.within_ns as f64 / 1e9,
    })
}

fn journal_cut(records: &Records) -> Option<Warning> {
    let cut_bytes = records.cut_bytes;
    (cut_bytes > 0).then_some(Warning::JournalCut { cut_bytes })
}

fn rounds(records: &Records) -> Option<Warning> {
    match records.measured_launches() {
        1 => Some(Warning::SingleRound),
        2 => Some(Warning::FewRounds { rounds: 2 }),
        _ => None,
    }
}

fn sequential(records: &Records) -> Option<Warning> {
    (records.manifest.design.order == Order::Sequential).then_some(Warning::SequentialOrder)
}

fn control(at_99: Option<&Interval>) -> Option<Warning> {
    let interval = at_99.filter(|interval| interval.excludes_zero())?;
    Some(Warning::ControlDiffers {
        relative_low: interval.low,
        relative_high: interval.high,
        confidence: interval.confidence,
    })
}

/// The arm with the largest share of failed requests.
fn errors(records: &Records) -> Option<Warning> {
    let arms = records.manifest.arms.iter().zip(&records.windows.arms);
    let counts = arms.map(|(arm, kept)| {
        let exchanges = &kept.load.exchanges;
        let (failed, sent) = records.turns.failed_and_sent(arm.index);
        let failed = exchanges.failed().saturating_add(failed);
        (arm, failed, exchanges.sent.saturating_add(sent))
    });
    let share = |failed: u64, sent: u64| failed as f64 / sent.max(1) as f64;
    let (arm, failed, sent) = counts.max_by(|a, b| share(a.1, a.2).total_cmp(&share(b.1, b.2)))?;
    (share(failed, sent) > ERROR_SHARE).then(|| Warning::ArmErrors {
        arm: arm.id.to_string(),
        failed,
        sent,
    })
}

fn starts_not_completed(records: &Records) -> Option<Warning> {
    if records.manifest.load.model != LoadModel::Open {
        return None;
    }
    let (windows, turns) = (&records.windows, &records.turns);
    let intended = windows.intended.saturating_add(turns.intended);
    let completed = windows.completed.saturating_add(turns.completed);
    let share = completed as f64 / intended.max(1) as f64;
    let mut named = windows.bottlenecks.clone();
    for (bottleneck, blocks) in &turns.bottlenecks {
        *named.entry(*bottleneck).or_default() += blocks;
    }
    let most = named.into_iter().max_by_key(|(_, times)| *times);
    (intended > 0 && share < RATE_SHARE).then_some(Warning::StartsNotCompleted {
        intended,
        completed,
        bottleneck: most.map(|(bottleneck, _)| bottleneck),
    })
}

fn coarse_clock(records: &Records) -> Option<Warning> {
    let resolution_ns = records
        .launches
        .iter()
        .flat_map(|l| &l.arms)
        .map(|a| a.cpu_resolution_ns)
        .max()?;
    let shortest_ns = records.windows.least_cpu_ns?;
    let is_coarse = resolution_ns.saturating_mul(100) > shortest_ns && resolution_ns > 1000;
    is_coarse.then_some(Warning::CoarseCpuClock {
        resolution_ns,
        smallest_cpu_ns_in_a_window: shortest_ns,
    })
}

/// Warnings about windows and blocks of turns, one per kind.
///
/// Deferred work of other arms disturbs windows, but not turns: where arms took turns, it counts
/// against the figures of windows alone.
fn windows_with_warnings(records: &Records) -> Vec<Reason> {
    let (windows, turns) = (&records.windows, &records.turns);
    let has_turns = !turns.is_empty();
    let counts = |(code, ..): &(WarningCode, usize, &Warning)| {
        *code != WarningCode::ClockStepped || are_spans_timed(records)
    };
    let of_run = windows
        .warnings
        .iter()
        .filter(|(code, ..)| !has_turns || *code != WarningCode::OtherArmActive);
    let mut found = gather(of_run.filter(counts), windows.count, Stretches::Windows);
    let starved = windows.arms.iter().filter(|of| is_starved(of));
    let worst = starved.max_by_key(|of| of.usable);
    found.extend(worst.into_iter().flat_map(of_pace));
    let of_turns = turns.warnings.iter().filter(counts);
    found.extend(gather(of_turns, turns.count, Stretches::Blocks));
    let bad = match has_turns {
        true => windows.with_own_warnings + turns.with_warnings,
        false => windows.with_warnings,
    };
    let count = windows.count + turns.count;
    if share(bad, count) > BAD_WINDOWS_SHARE {
        let many = Warning::ManyBadWindows {
            windows_with_warnings: bad as u64,
            windows: count as u64,
        };
        found.push(many.into());
    }
    found
}

/// Warnings about an arm's figures of windows alone, in a run in which arms also took turns.
pub(crate) fn of_isolated(records: &Records, arm: &OfArm) -> Vec<Reason> {
    match records.turns.is_empty() {
        true => Vec::new(),
        false => of_code(arm, WarningCode::OtherArmActive),
    }
}

/// Warnings about an arm's times alone: the generator's lateness affects times and nothing else.
pub(crate) fn of_times(arm: &OfArm) -> Vec<Reason> {
    of_code(arm, WarningCode::SendLag)
}

/// Warnings about an arm's service times alone: with more connections the subject's concurrency
/// would have been higher. Response times include the wait for a connection and are correct.
pub(crate) fn of_service_times(arm: &OfArm) -> Vec<Reason> {
    of_code(arm, WarningCode::ConnectionsBusy)
}

/// Warnings about an arm's throughput and times alone, in a closed loop: a generator that waits for
/// a core slows both. Of other figures, only the idle part of CPU per request depends on its rate.
pub(crate) fn of_pace(arm: &OfArm) -> Vec<Reason> {
    of_code(arm, WarningCode::GeneratorStarved)
}

/// Whether an arm kept its cores busy.
pub(crate) fn is_saturated(run: &Run<'_>, arm: ArmIndex) -> bool {
    let windows = &run.records.windows.arms[arm.get()];
    let busy_cores = match windows.duration_ns > 0.0 {
        true => Some(windows.cpu_ns / windows.duration_ns),
        false => totals::cores_alone(run, arm),
    };
    let most = SATURATED_SHARE * f64::from(run.records.manifest.design.subject_cores);
    busy_cores.is_some_and(|busy| busy >= most)
}

/// Whether the throughput of an arm or of the baseline is that of a waiting generator, and not of a
/// subject that kept its cores busy all the same.
pub(crate) fn is_throughput_of_generator(run: &Run<'_>, arm: ArmIndex) -> bool {
    let both = [arm, ArmIndex::BASELINE];
    is_paced_by_generator(run.records, arm) && !both.iter().all(|arm| is_saturated(run, *arm))
}

/// Whether the generator waited for a core in most windows of an arm or of the baseline: then its
/// times are those of the generator.
pub(crate) fn is_paced_by_generator(records: &Records, arm: ArmIndex) -> bool {
    let mut arms = [arm, ArmIndex::BASELINE].into_iter();
    arms.any(|arm| is_starved(&records.windows.arms[arm.get()]))
}

/// Whether the generator waited for a core in most of an arm's windows.
fn is_starved(arm: &OfArm) -> bool {
    let mut warnings = arm.warnings.iter();
    warnings.any(|(code, times, _)| {
        code == WarningCode::GeneratorStarved && share(times, arm.usable) > PACED_SHARE
    })
}

fn of_code(arm: &OfArm, wanted: WarningCode) -> Vec<Reason> {
    let warnings = arm.warnings.iter().filter(|(code, ..)| *code == wanted);
    gather(warnings, arm.usable, Stretches::Windows)
}

/// A warning about an arm's CPU per request where its totals are known in some launches only, of
/// those in which it was measured.
pub(crate) fn deferred_unknown(launches: usize, known: usize) -> Option<Warning> {
    (known < launches).then_some(Warning::DeferredUnknown {
        rounds: launches as u64,
        rounds_known: known as u64,
    })
}

/// The same for CPU per request in isolated windows.
pub(crate) fn deferred_of_windows(ledgers: &Ledgers, arm: ArmIndex) -> Option<Warning> {
    let launches = ledgers.by_launch(arm, |_| Some(1.0)).len();
    let known = ledgers.by_launch(arm, Ledger::deferred_per_request_ns);
    deferred_unknown(launches, known.len())
}

/// A warning about an arm that uses much more idle CPU than the baseline.
pub(crate) fn not_drained(ledgers: &Ledgers, arm: ArmIndex) -> Option<Warning> {
    let idle_cores = |arm| {
        let cores = ledgers.by_launch(arm, Ledger::idle_cores);
        cores.values().sum::<f64>() / cores.len().max(1) as f64
    };
    let (idle, baseline) = (idle_cores(arm), idle_cores(ArmIndex::BASELINE));
    (idle - baseline > STILL_BUSY_CORES).then_some(Warning::NotDrained {
        idle_cores: idle,
        baseline_idle_cores: baseline,
    })
}

/// Whether spans arrived that say when they ended: only they depend on the wall clock.
fn are_spans_timed(records: &Records) -> bool {
    let mut delivered = records.delivered.iter();
    delivered.any(|of| of.delay.is_some())
}

/// One reason per kind of warning that enough windows share, with the first one's evidence. What
/// voids a window, or affects spans of all later ones, is always told.
fn gather<'a>(
    kinds: impl Iterator<Item = (WarningCode, usize, &'a Warning)>,
    count: usize,
    unit: Stretches,
) -> Vec<Reason> {
    kinds
        .filter(|(code, times, _)| {
            share(*times, count) > WARNING_SHARE
                || code.soundness() == Soundness::Void
                || *code == WarningCode::ClockStepped
        })
        .map(|(_, times, first)| Reason {
            warning: first.clone(),
            windows: Some(WindowShare {
                affected: times as u64,
                of: count as u64,
                unit,
            }),
        })
        .collect()
}

fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}
