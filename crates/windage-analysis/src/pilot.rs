//! What a pilot says of the design: how long windows should be, how long an arm needs load before
//! it is like itself, how often it flushes what it defers.
//!
//! A pilot measures each arm in turns of many short windows. Windows in a row are put together to
//! longer ones, so that one pilot answers for every length.

use std::collections::BTreeMap;
use std::time::Duration;

use windage_model::{ArmIndex, Soundness, Window};
use windage_record::{Entry, Journal, RunDir};
use windage_stats::{Confidence, Launches, location, robust_sd, two_level};

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
/// Contrasts of a length without which their scatter is a guess.
const FEWEST_CONTRASTS: usize = 12;
/// A robust scatter of *n* contrasts is known to within this over √*n* of itself, nearly always
/// (its relative standard error is 1.17/√(2n)).
const SCATTER_ERROR: f64 = 1.65;
/// Around each window: waiting for the service to sleep, and reading.
const AROUND: Duration = Duration::from_millis(2);
/// Settle at least; connections and caches are touched in this time.
const LEAST_SETTLE: Duration = Duration::from_millis(10);
/// CPU a request that is off by less than this just after a switch is near enough.
const NEAR: f64 = 0.005;
/// An idle arm that uses this much in one stretch, in nanoseconds, does something.
const SPIKE_NS: f64 = 100_000.0;
/// What an arm does so soon after its own load is the end of that, in nanoseconds.
const AFTERMATH_NS: u64 = 100_000_000;
/// How far the times between flushes may be from a multiple of the period, as a share of it.
const REGULAR: f64 = 0.2;
/// Fewer distances between flushes than this are multiples of one by chance too often.
const FEWEST_DISTANCES: usize = 5;

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
/// window, for each stretch of windows of the same arm; NaN for a window without one.
fn turns(windows: &[Window]) -> Vec<Vec<f64>> {
    let same = |a: &Window, b: &Window| a.place.arm == b.place.arm;
    windows
        .chunk_by(same)
        .map(|turn| turn.iter().map(|w| cost(w).unwrap_or(f64::NAN)).collect())
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

/// A length's product of scatter and the root of its time, and how many contrasts it is from.
#[derive(Clone, Copy, Debug)]
struct Judged {
    error: f64,
    contrasts: usize,
}

impl Judged {
    /// How far the error may be off, as a share of it.
    fn uncertainty(self) -> f64 {
        SCATTER_ERROR / (self.contrasts as f64).sqrt()
    }
}

/// The length with which a second of measuring gives the narrowest interval: for each, the
/// scatter of a mirrored contrast of one arm with itself, times the root of what it takes. The usual
/// one stays unless another is better beyond what the scatter of contrasts leaves open.
fn window(turns: &[Vec<f64>], short: Duration, settle: Duration) -> Option<(Duration, String)> {
    let short_ms = u64::try_from(short.as_millis()).ok()?.max(1);
    let judged: BTreeMap<u64, Judged> = LENGTHS_MS
        .into_iter()
        .filter_map(|length_ms| {
            let together = usize::try_from(length_ms / short_ms).ok()?.max(1);
            let contrasts: Vec<f64> = turns.iter().flat_map(|t| contrasts(t, together)).collect();
            let scatter = robust_sd(&contrasts).filter(|_| contrasts.len() >= FEWEST_CONTRASTS)?;
            let takes = Duration::from_millis(length_ms) + settle + AROUND;
            let judged = Judged {
                error: scatter * (4.0 * takes.as_secs_f64()).sqrt(),
                contrasts: contrasts.len(),
            };
            Some((length_ms, judged))
        })
        .collect();
    let best = judged
        .iter()
        .min_by(|a, b| a.1.error.total_cmp(&b.1.error))?;
    let is_better = |best: &Judged, usual: &Judged| {
        best.error * (1.0 + best.uncertainty()) < usual.error * (1.0 - usual.uncertainty())
    };
    let length_ms = match judged.get(&USUAL_MS) {
        Some(usual) if !is_better(best.1, usual) => USUAL_MS,
        _ => *best.0,
    };
    let all: Vec<String> = judged
        .iter()
        .map(|(ms, judged)| format!("{:.2} % with {ms} ms", judged.error * 100.0))
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
    turn.chunks_exact(4 * together)
        .map(move |block| {
            let groups: Vec<f64> = block.chunks_exact(together).map(mean).collect();
            (groups[0] + groups[3] - groups[1] - groups[2]) / 2.0
        })
        .filter(|contrast| contrast.is_finite())
}

/// How long after a switch the cost of a request is what it is later in the same turn: until the
/// first place at which it is near enough. (Of many later places one is always off by chance.)
fn settle(turns: &[Vec<f64>], short: Duration) -> (Duration, String) {
    let longest = turns.iter().map(Vec::len).max().unwrap_or(0);
    let excess = |at: usize| excess_after_switch(turns, at);
    let settled = (0..longest / 2).take_while(|at| excess(*at) > NEAR).count();
    let whole = u32::try_from(settled).unwrap_or(u32::MAX);
    let settle = LEAST_SETTLE.max(short.saturating_mul(whole));
    let why = format!(
        "In the first {} ms after a switch a request is off by {:.1} % beyond chance.",
        short.as_millis(),
        excess(0) * 100.0
    );
    (settle, why)
}

/// How far the windows at that place after a switch are from the second half of their turn, less
/// what chance explains (the half of the 95 % interval of their robust location); 0 if chance
/// explains it all.
fn excess_after_switch(turns: &[Vec<f64>], at: usize) -> f64 {
    let deviations: Vec<f64> = turns
        .iter()
        .filter_map(|turn| {
            let later = location(&turn[turn.len() / 2..])?.estimate;
            Some(turn.get(at)? - later).filter(|d| d.is_finite())
        })
        .collect();
    let mut launches = Launches::default();
    launches.push(deviations, 0.0);
    let Ok(found) = two_level(&launches) else {
        return 0.0;
    };
    let (low, high) = found.ends(Confidence::P95);
    low.max(-high).max(0.0)
}

/// The longest period with which an arm uses CPU while others have the load.
fn flush_period(windows: &[Window]) -> Option<Duration> {
    let mut had_load_ns: BTreeMap<ArmIndex, u64> = BTreeMap::new();
    let mut spikes_ns: BTreeMap<ArmIndex, Vec<u64>> = BTreeMap::new();
    for window in windows {
        let now_ns = window.started_ns;
        let others = window.cpu.others_in_window.iter();
        for other in others.chain(&window.cpu.others_before) {
            let since_load_ns = had_load_ns
                .get(&other.arm)
                .map(|at| now_ns.saturating_sub(*at));
            let is_aftermath = since_load_ns.is_some_and(|ns| ns < AFTERMATH_NS);
            if other.cpu_ns as f64 > SPIKE_NS && !is_aftermath {
                spikes_ns.entry(other.arm).or_default().push(now_ns);
            }
        }
        had_load_ns.insert(window.place.arm, now_ns.saturating_add(window.duration_ns));
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
    if distances.len() < FEWEST_DISTANCES {
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

    /// About normal noise of that standard deviation, of which one in fifty is wild.
    fn wild_noise(seed: u32, i: u32, deviation: f64) -> f64 {
        let of = |k: u32| noise((seed * 1_000 + i) * 12 + k);
        let normal = (0..12).map(of).sum::<f64>() / 2.0;
        let wild = if (i + seed) % 50 == 7 { 0.4 } else { 0.0 };
        (deviation * normal + wild).exp()
    }

    #[test]
    fn plain_noise_leaves_the_usual_window_and_settle() {
        for seed in 0..20 {
            let found = of_windows(&windows(|i, _| wild_noise(seed, i, 0.07)), SHORT).unwrap();
            assert_eq!(
                found.window,
                Duration::from_millis(100),
                "{seed}: {found:?}"
            );
            assert_eq!(found.settle, LEAST_SETTLE, "{seed}: {found:?}");
            assert_eq!(found.flush_period, None);
            assert_eq!(found.reasons.len(), 2);
        }
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
        for number in [9usize, 55, 100, 191, 236, 282, 373] {
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
