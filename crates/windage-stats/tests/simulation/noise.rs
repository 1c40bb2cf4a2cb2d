//! What disturbs a window of 100 ms on a shared machine.

use std::f64::consts::TAU;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// A window's length.
const WINDOW_S: f64 = 0.100;
/// From the end of a window to the start of the next: settling and reading counters.
const PAUSE_S: f64 = 0.012;

/// The scatter of each window by itself on a quiet dedicated machine.
const QUIET_DEVIATION: f64 = 0.01;

// Drift, scatter and outliers are those of nginx compared with itself, 240 s on two shared cores,
// 2026-11-21: `cargo run --locked --release -p windage-analysis --example estimators`, and the correlation
// of all its 2140 windows. CPU per request had a standard deviation of 7.1 %; windows 1, 2, 4, 6
// and 10 apart had correlations of 0.68, 0.53, 0.40, 0.33 and 0.22, the same within an arm and
// between arms. About 55 % of the variance drifts with a coefficient of 0.8 between windows; the
// part slower than a block cancels.

/// The machine's drift: autoregressive of order one, from window to window.
const DRIFT_COEFFICIENT: f64 = 0.8;
const DRIFT_DEVIATION: f64 = 0.052;

/// The scatter of each window by itself, with normal and with heavy tails: chosen so that block
/// values scatter by 3.8 %, as recorded.
const WINDOW_DEVIATION: f64 = 0.030;

/// Windows with a disturbance, and the factor by which they cost more. One throughput in a hundred
/// was below 0.83 of the typical one, one in a thousand below 0.65.
const OUTLIER_SHARE: f64 = 0.01;
const OUTLIER_FACTOR: (f64, f64) = (1.2, 2.0);

/// The speed of the slow regime, relative to the other: a neighbour takes a share of the core. The
/// recording has none in its four minutes.
pub(crate) const SLOW_REGIME: f64 = 0.7;
/// The range from which a regime's mean duration is drawn for each launch.
pub(crate) const SOJOURN_S: (f64, f64) = (10.0, 30.0);

/// Launch luck of an arm: it turns intervals of 0.29 % within a launch into 0.72 % over six
/// launches, as `experiments/aa-nginx` recorded.
const LAUNCH_DEVIATION: f64 = 0.005;

/// Drift of one arm that the other does not share, as fast as the machine's. The mean of the
/// recording's 535 block values has 1.25 times the variance of independent ones, by its 128 slowest
/// cosines; so does the mean here.
const OWN_DRIFT_COEFFICIENT: f64 = DRIFT_COEFFICIENT;
const OWN_DRIFT_DEVIATION: f64 = 0.0094;

/// A kind of noise, added to the normal scatter of each window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Little scatter, nothing else.
    Quiet,
    /// The machine drifts.
    Drift,
    /// The windows' own scatter has the tails of Student's t with three degrees of freedom.
    HeavyTails,
    /// The machine switches between two speeds.
    Regimes,
    /// One window in a hundred is far off.
    Outliers,
    /// Each arm drifts by itself.
    OwnDrift,
    /// Each launch of an arm has a speed of its own.
    LaunchOffsets,
    /// All of these at once.
    All,
}

impl Kind {
    pub(crate) const ALL: [Kind; 8] = [
        Kind::Quiet,
        Kind::Drift,
        Kind::HeavyTails,
        Kind::Regimes,
        Kind::Outliers,
        Kind::OwnDrift,
        Kind::LaunchOffsets,
        Kind::All,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Kind::Quiet => "quiet",
            Kind::Drift => "drift",
            Kind::HeavyTails => "heavy tails",
            Kind::Regimes => "regimes",
            Kind::Outliers => "outliers",
            Kind::OwnDrift => "arms drift",
            Kind::LaunchOffsets => "launch offsets",
            Kind::All => "all",
        }
    }

    /// Whether the noise has a part that differs between launches but not within.
    pub(crate) fn is_of_launches(self) -> bool {
        self.has(Kind::LaunchOffsets)
    }

    fn has(self, part: Kind) -> bool {
        self == part || self == Kind::All
    }
}

/// Machine and arms over one launch: returns the deviation of the logarithm of one window after
/// another.
pub(crate) struct Machine<'a> {
    kind: Kind,
    regime: Regime,
    drift: Drift,
    arms: [Arm; 2],
    random: &'a mut ChaCha8Rng,
}

struct Arm {
    luck: f64,
    drift: Drift,
}

impl<'a> Machine<'a> {
    /// A launch, at a random moment.
    pub(crate) fn new(kind: Kind, random: &'a mut ChaCha8Rng) -> Machine<'a> {
        let sojourn_s = random.random_range(SOJOURN_S.0..SOJOURN_S.1);
        let luck = if kind.has(Kind::LaunchOffsets) {
            LAUNCH_DEVIATION
        } else {
            0.0
        };
        Machine {
            kind,
            regime: Regime::new(sojourn_s, random),
            drift: Drift::new(DRIFT_COEFFICIENT, DRIFT_DEVIATION, random),
            arms: std::array::from_fn(|_| Arm {
                luck: luck * normal(random),
                drift: Drift::new(OWN_DRIFT_COEFFICIENT, OWN_DRIFT_DEVIATION, random),
            }),
            random,
        }
    }

    /// Advances by a window of an arm: the logarithm of the cost per request in it, relative to an
    /// undisturbed machine.
    pub(crate) fn window(&mut self, arm: usize) -> f64 {
        let mut log_cost = self.arms[arm].luck + self.own_scatter();
        if self.kind.has(Kind::Drift) {
            log_cost += self.drift.next(self.random);
        }
        if self.kind.has(Kind::OwnDrift) {
            let drifts = self.arms.each_mut().map(|a| a.drift.next(self.random));
            log_cost += drifts[arm];
        }
        if self.kind.has(Kind::Regimes) {
            log_cost -= self.regime.mean_speed(WINDOW_S, self.random).ln();
            self.regime.mean_speed(PAUSE_S, self.random);
        }
        if self.kind.has(Kind::Outliers) && self.random.random::<f64>() < OUTLIER_SHARE {
            let factor: f64 = self.random.random_range(OUTLIER_FACTOR.0..OUTLIER_FACTOR.1);
            log_cost += factor.ln();
        }
        log_cost
    }

    fn own_scatter(&mut self) -> f64 {
        if self.kind == Kind::Quiet {
            QUIET_DEVIATION * normal(self.random)
        } else if self.kind.has(Kind::HeavyTails) {
            // Student's t with three degrees of freedom has a variance of 3.
            WINDOW_DEVIATION / 3f64.sqrt() * student_of_three(self.random)
        } else {
            WINDOW_DEVIATION * normal(self.random)
        }
    }
}

/// An autoregressive series of order one.
pub(crate) struct Drift {
    coefficient: f64,
    deviation: f64,
    value: f64,
}

impl Drift {
    pub(crate) fn new(coefficient: f64, deviation: f64, random: &mut ChaCha8Rng) -> Drift {
        Drift {
            coefficient,
            deviation,
            value: deviation * normal(random),
        }
    }

    pub(crate) fn next(&mut self, random: &mut ChaCha8Rng) -> f64 {
        let fresh = (1.0 - self.coefficient.powi(2)).sqrt() * self.deviation;
        self.value = self.coefficient * self.value + fresh * normal(random);
        self.value
    }
}

/// Alternates between two speeds, each for an exponentially distributed time.
pub(crate) struct Regime {
    slow: bool,
    left_s: f64,
    sojourn_s: f64,
}

impl Regime {
    pub(crate) fn new(sojourn_s: f64, random: &mut ChaCha8Rng) -> Regime {
        Regime {
            slow: random.random(),
            left_s: sojourn_s * exponential(random),
            sojourn_s,
        }
    }

    /// The mean speed over the next stretch.
    pub(crate) fn mean_speed(&mut self, stretch_s: f64, random: &mut ChaCha8Rng) -> f64 {
        let (mut to_go_s, mut distance) = (stretch_s, 0.0);
        while self.left_s < to_go_s {
            distance += self.left_s * self.speed();
            to_go_s -= self.left_s;
            self.slow = !self.slow;
            self.left_s = self.sojourn_s * exponential(random);
        }
        self.left_s -= to_go_s;
        (distance + to_go_s * self.speed()) / stretch_s
    }

    fn speed(&self) -> f64 {
        if self.slow { SLOW_REGIME } else { 1.0 }
    }
}

/// Standard normal (Box & Muller 1958).
pub(crate) fn normal(random: &mut ChaCha8Rng) -> f64 {
    (2.0 * exponential(random)).sqrt() * (TAU * random.random::<f64>()).cos()
}

fn exponential(random: &mut ChaCha8Rng) -> f64 {
    -(1.0 - random.random::<f64>()).ln()
}

fn student_of_three(random: &mut ChaCha8Rng) -> f64 {
    let squares: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
    normal(random) / (squares / 3.0).sqrt()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use windage_stats::location::sample_variance;

    use super::*;
    use crate::experiment::halves_of_a_launch;

    const BLOCKS: usize = 100_000;

    /// One value of each block: the mean over its halves.
    fn blocks(kind: Kind) -> Vec<f64> {
        let random = &mut ChaCha8Rng::seed_from_u64(1);
        let halves = halves_of_a_launch(BLOCKS, kind, 0.0, random);
        halves
            .chunks_exact(2)
            .map(|of| f64::midpoint(of[0], of[1]))
            .collect()
    }

    #[test]
    fn blocks_scatter_as_in_the_recording() {
        let deviation = sample_variance(&blocks(Kind::Drift)).sqrt();
        assert!((deviation - 0.038).abs() < 0.001, "{deviation}");
    }

    #[test]
    fn blocks_are_correlated_as_in_the_recording() {
        let blocks = blocks(Kind::OwnDrift);
        let stretch = 100;
        let means: Vec<f64> = blocks
            .chunks(stretch)
            .map(|c| c.iter().sum::<f64>() / stretch as f64)
            .collect();
        let of_independent = sample_variance(&blocks) / stretch as f64;
        let inflation = sample_variance(&means) / of_independent;
        assert!((inflation - 1.25).abs() < 0.1, "{inflation}");
    }
}
