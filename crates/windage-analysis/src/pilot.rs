//! What a pilot says of the design: how long windows should be, how long an arm needs load before
//! it is like itself, how often it flushes what it defers.
//!
//! A pilot measures each arm in turns of many short windows. Windows in a row are put together to
//! longer ones, so that one pilot answers for every length.

use std::collections::BTreeMap;
use std::time::Duration;

use windage_model::{ArmIndex, Soundness, Window};
use windage_record::{Entry, Journal, RunDir};
use windage_stats::robust_sd;

/// What suits the subject on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PilotFindings {
    /// How long one arm is best measured at a stretch.
    pub window: Duration,
    /// How long an arm needs load before it is like itself.
    pub settle: Duration,
    /// How often the subject does what it had deferred; `None` when nothing regular was seen.
    pub flush_period: Option<Duration>,
    /// Why, in sentences.
    pub reasons: Vec<String>,
}

/// Lengths that are thought of, in ms. Shorter ones leave too few answers for a quantile, longer
/// ones put a block's ends seconds apart.
const LENGTHS_MS: [u64; 5] = [40, 60, 100, 200, 400];
/// What is taken where others are hardly better: what other runs have.
const USUAL_MS: u64 = 100;
/// A length has to be better than the usual one by this share to be taken.
const BETTER: f64 = 0.10;
/// Contrasts of a length without which their scatter is a guess.
const FEWEST_CONTRASTS: usize = 8;
/// Around each window: waiting for the service to sleep, and reading.
const AROUND: Duration = Duration::from_millis(2);
/// Settle at least; connections and caches are touched in this time.
const LEAST_SETTLE: Duration = Duration::from_millis(10);
/// CPU a request that is off by less than this just after a switch is near enough.
const NEAR: f64 = 0.005;
/// An idle arm that uses this much in one stretch, in nanoseconds, does something.
const SPIKE_NS: f64 = 100_000.0;
/// How far the times between flushes may be from a multiple of the period, as a share of it.
const REGULAR: f64 = 0.2;

/// Reads a pilot's records; `None` where they allow no choice, because too little was measured.
#[must_use]
pub fn choose(run: &RunDir) -> Option<PilotFindings> {
    let window_ns = run.manifest().design.window_ns;
    let entries = Journal::open(run).ok()?;
    let windows: Vec<Window> = entries
        .filter_map(|entry| match entry {
            Ok(Entry::Window(window)) => Some(window),
            _ => None,
        })
        .collect();
    of_windows(&windows, Duration::from_nanos(window_ns))
}

fn of_windows(windows: &[Window], short: Duration) -> Option<PilotFindings> {
    let turns = turns(windows);
    let (settle, why_settle) = settle(&turns, short);
    let (window, why_window) = window(&turns, short, settle)?;
    let flush_period = flush_period(windows);
    let mut reasons = vec![why_window, why_settle];
    reasons.extend(flush_period.map(|period| {
        format!(
            "Idle arms use CPU about every {:.1} s: what they had deferred. `design.drain` has to \
             be longer than that.",
            period.as_secs_f64()
        )
    }));
    Some(PilotFindings {
        window,
        settle,
        flush_period,
        reasons,
    })
}

/// Logarithms of CPU a request (of the time a request where CPU is out of reach), window by
/// window, for each stretch of windows of the same arm.
fn turns(windows: &[Window]) -> Vec<Vec<f64>> {
    let same = |a: &Window, b: &Window| a.place.arm == b.place.arm;
    windows
        .chunk_by(same)
        .map(|turn| turn.iter().filter_map(cost).collect())
        .collect()
}

fn cost(window: &Window) -> Option<f64> {
    let completed = window.exchanges.completed;
    if completed == 0 || window.soundness() == Soundness::Void {
        return None;
    }
    let ns = window.cpu.in_window_ns.unwrap_or(window.duration_ns);
    (ns > 0).then(|| (ns as f64 / completed as f64).ln())
}

/// The length with which a second of measuring gives the narrowest interval: for each, the
/// scatter of a mirrored contrast of one arm with itself, times the root of what it takes.
fn window(turns: &[Vec<f64>], short: Duration, settle: Duration) -> Option<(Duration, String)> {
    let short_ms = u64::try_from(short.as_millis()).ok()?.max(1);
    let judged: BTreeMap<u64, f64> = LENGTHS_MS
        .into_iter()
        .filter_map(|length_ms| {
            let together = usize::try_from(length_ms / short_ms).ok()?.max(1);
            let contrasts: Vec<f64> = turns.iter().flat_map(|t| contrasts(t, together)).collect();
            let scatter =
                (contrasts.len() >= FEWEST_CONTRASTS).then(|| robust_sd(&contrasts))??;
            let takes = Duration::from_millis(length_ms) + settle + AROUND;
            Some((length_ms, scatter * (4.0 * takes.as_secs_f64()).sqrt()))
        })
        .collect();
    let best = judged.iter().min_by(|a, b| a.1.total_cmp(b.1))?;
    let usual = judged.get(&USUAL_MS);
    let length_ms = match usual {
        Some(usual) if *best.1 >= usual * (1.0 - BETTER) => USUAL_MS,
        _ => *best.0,
    };
    let error_of = |length_ms: u64| judged[&length_ms] * 100.0;
    let all: Vec<String> = judged
        .keys()
        .map(|&ms| format!("{:.2} % with {ms} ms", error_of(ms)))
        .collect();
    let why = format!(
        "Drift and noise leave an error of {} after a second of measuring.",
        all.join(", ")
    );
    Some((Duration::from_millis(length_ms), why))
}

/// Contrasts of four groups of windows in a row, the outer against the inner ones, as a mirrored
/// block of two arms has them.
fn contrasts(turn: &[f64], together: usize) -> impl Iterator<Item = f64> + '_ {
    let mean = |group: &[f64]| group.iter().sum::<f64>() / group.len() as f64;
    turn.chunks_exact(4 * together).map(move |block| {
        let groups: Vec<f64> = block.chunks_exact(together).map(mean).collect();
        (groups[0] + groups[3] - groups[1] - groups[2]) / 2.0
    })
}

/// How long after a switch the cost of a request is what it is later in the same turn.
fn settle(turns: &[Vec<f64>], short: Duration) -> (Duration, String) {
    let longest = turns.iter().map(Vec::len).max().unwrap_or(0);
    let excess: Vec<f64> = (0..longest / 2)
        .map(|at| excess_after_switch(turns, at))
        .collect();
    let settled = excess
        .iter()
        .rposition(|e| *e > NEAR)
        .map_or(0, |last| last + 1);
    let whole = u32::try_from(settled).unwrap_or(u32::MAX);
    let settle = LEAST_SETTLE.max(short.saturating_mul(whole));
    let first = excess.first().copied().unwrap_or(0.0);
    let why = format!(
        "In the first {} ms after a switch CPU a request is off by {:.1} % beyond chance.",
        short.as_millis(),
        first * 100.0
    );
    (settle, why)
}

/// How far the windows at that place after a switch are from the second half of their turn,
/// less what chance explains (two standard errors); 0 if chance explains it all.
fn excess_after_switch(turns: &[Vec<f64>], at: usize) -> f64 {
    let deviations: Vec<f64> = turns
        .iter()
        .filter_map(|turn| {
            let later = &turn[turn.len() / 2..];
            let steady = later.iter().sum::<f64>() / later.len() as f64;
            Some(turn.get(at)? - steady).filter(|d| d.is_finite())
        })
        .collect();
    let Some(scatter) = robust_sd(&deviations).filter(|_| deviations.len() > 2) else {
        return 0.0;
    };
    let count = deviations.len() as f64;
    let mean = deviations.iter().sum::<f64>() / count;
    (mean.abs() - 2.0 * scatter / count.sqrt()).max(0.0)
}

/// The longest period with which an arm uses CPU while others have the load.
fn flush_period(windows: &[Window]) -> Option<Duration> {
    let mut spikes_ns: BTreeMap<ArmIndex, Vec<u64>> = BTreeMap::new();
    for window in windows {
        let others = window.cpu.others_in_window.iter();
        for other in others.chain(&window.cpu.others_before) {
            if other.cpu_ns as f64 > SPIKE_NS {
                let spikes = spikes_ns.entry(other.arm).or_default();
                spikes.push(window.started_ns);
            }
        }
    }
    let periods_ns = spikes_ns.values().filter_map(|spikes| period_ns(spikes));
    periods_ns.max().map(Duration::from_nanos)
}

/// The period of events, some of which may have gone unseen: the shortest distance, if all others
/// are about multiples of it.
fn period_ns(events_ns: &[u64]) -> Option<u64> {
    // What goes on from one window to the next is one event.
    let distances: Vec<f64> = events_ns
        .windows(2)
        .map(|pair| pair[1].saturating_sub(pair[0]) as f64)
        .filter(|distance| *distance > 5e7)
        .collect();
    if distances.len() < 2 {
        return None;
    }
    let shortest = distances.iter().copied().fold(f64::INFINITY, f64::min);
    let is_multiple = |distance: &f64| {
        let times = distance / shortest;
        (times - times.round()).abs() < REGULAR
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a distance between two u64"
    )]
    let shortest_ns = shortest as u64;
    distances.iter().all(is_multiple).then_some(shortest_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use windage_model::ArmCpu;

    const SHORT: Duration = Duration::from_millis(20);

    fn noise(i: u32) -> f64 {
        let share = (f64::from(i) * 0.618_033_988_75 * 997.0).fract();
        2.0 * share - 1.0
    }

    /// Twelve turns of forty windows of two arms in turn; the cost of a request by the number of
    /// the window and its place in its turn.
    fn windows(cost: impl Fn(u32, u32) -> f64) -> Vec<Window> {
        (0..12u32)
            .flat_map(|turn| (0..40u32).map(move |at| (turn, at)))
            .map(|(turn, at)| {
                let number = turn * 40 + at;
                let mut window = fixture::window(0, turn / 4, u16::from(turn % 2 == 1));
                window.started_ns = u64::from(number) * 22_000_000;
                window.cpu.in_window_ns = Some((1e7 * cost(number, at)) as u64);
                window
            })
            .collect()
    }

    #[test]
    fn plain_noise_leaves_the_usual_window() {
        let found = of_windows(&windows(|i, _| 1.0 + 0.01 * noise(i)), SHORT).unwrap();
        assert_eq!(found.settle, LEAST_SETTLE);
        assert_eq!(found.flush_period, None);
        assert!(found.window >= Duration::from_millis(100), "{found:?}");
        assert_eq!(found.reasons.len(), 2);
    }

    #[test]
    fn swinging_speed_asks_for_short_windows() {
        // Up and down within 400 ms: longer windows meet it whole, and a block does not hold still.
        let swings = |i: u32, _| 1.0 + 0.2 * (f64::from(i) / 2.7).sin() + 0.0005 * noise(i);
        let found = of_windows(&windows(swings), SHORT).unwrap();
        assert!(found.window <= Duration::from_millis(60), "{found:?}");
    }

    #[test]
    fn what_a_switch_costs_is_left_to_settle() {
        let cold = |i: u32, at: u32| 1.0 + 0.002 * noise(i) + if at < 3 { 0.05 } else { 0.0 };
        let found = of_windows(&windows(cold), SHORT).unwrap();
        assert_eq!(found.settle, Duration::from_millis(60));
    }

    #[test]
    fn flushes_are_found_though_some_are_hidden() {
        let mut all = windows(|i, _| 1.0 + 0.01 * noise(i));
        for number in [0usize, 45, 91, 182, 228] {
            all[number].cpu.others_in_window.push(ArmCpu {
                arm: ArmIndex(2),
                cpu_ns: 3_000_000,
            });
        }
        let found = of_windows(&all, SHORT).unwrap();
        let period = found.flush_period.unwrap().as_secs_f64();
        assert!((period - 1.0).abs() < 0.02, "{period}");
        assert!(found.reasons[2].contains("about every 1.0 s"));
    }

    #[test]
    fn too_little_allows_no_choice() {
        assert_eq!(of_windows(&[], SHORT), None);
        let few: Vec<Window> = windows(|_, _| 1.0).drain(..20).collect();
        assert_eq!(of_windows(&few, SHORT), None);
    }
}
