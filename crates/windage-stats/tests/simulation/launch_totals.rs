//! What disturbs the totals of a launch: the machine, the luck of each process, and lumpy costs.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use windage_stats::PairedTotals;

use crate::noise::{Drift, Regime, SLOW_REGIME, SOJOURN_S, normal};

/// The baseline's cost in microseconds.
const BASELINE_US: f64 = 200.0;

/// Interleaved load of a launch, and the time from its end to the next launch's.
const LAUNCH_S: f64 = 5.0;
const BETWEEN_LAUNCHES_S: f64 = 3.0;
/// Requests of an arm in a launch: a fifth of 2,000 per second.
const REQUESTS: u32 = 2000;

/// Luck of a process, and scatter of its totals within a launch: 12 launches give half-widths of
/// 0.7 %, as recorded with the prototype.
const LUCK: f64 = 0.005;
const WITHIN: f64 = 0.007;
/// Both on a quiet machine.
const QUIET: f64 = 0.002;

/// The machine's state from launch to launch, the same for both arms.
const MACHINE: f64 = 0.05;

/// How often a process has a slow launch, and by how much.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slow {
    pub(crate) share: f64,
    pub(crate) by: f64,
}

/// What may be lumpy or skewed in an arm, beyond its plain cost.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lumps {
    None,
    /// One request in a hundred costs 50 times as much.
    Requests,
    /// One stretch of 100 ms in ten costs half as much again.
    Stretches,
    /// A collection every 2 s, 2 % of the cost on average.
    Collections,
    /// A log-normal part with this deviation of its logarithm, in this proportion to the rest.
    LogNormal {
        part: f64,
        deviation: f64,
    },
}

/// What happens to an arm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arm {
    /// Its plain cost over the baseline's, less one.
    pub(crate) effect: f64,
    pub(crate) slow: Option<Slow>,
    pub(crate) lumps: Lumps,
}

impl Arm {
    pub(crate) const PLAIN: Arm = Arm {
        effect: 0.0,
        slow: None,
        lumps: Lumps::None,
    };

    /// The expected cost, in units of the baseline's plain one.
    fn expected(self) -> f64 {
        let slow = self.slow.map_or(1.0, |slow| 1.0 + slow.share * slow.by);
        let lumps = match self.lumps {
            Lumps::None => 1.0,
            Lumps::Requests => 1.49,
            Lumps::Stretches => 1.05,
            Lumps::Collections => 1.02,
            Lumps::LogNormal { part, deviation } => {
                1.0 + part * (deviation * deviation / 2.0).exp()
            }
        };
        (1.0 + self.effect) * slow * lumps
    }

    /// The cost of one launch on a machine in its mean state.
    fn cost(self, own_scatter: f64, random: &mut ChaCha8Rng) -> f64 {
        let is_slow = |slow: &Slow| random.random::<f64>() < slow.share;
        let slow = self.slow.filter(is_slow).map_or(1.0, |slow| 1.0 + slow.by);
        let lumps = match self.lumps {
            Lumps::None => 1.0,
            Lumps::Requests => {
                1.0 + 49.0 * f64::from(hits(REQUESTS, 0.01, random)) / f64::from(REQUESTS)
            }
            Lumps::Stretches => 1.0 + 0.5 * f64::from(hits(50, 0.1, random)) / 50.0,
            Lumps::Collections => {
                // One every 2 s, from a random phase on.
                1.0 + 0.02 * (LAUNCH_S / 2.0 + random.random::<f64>()).floor() / (LAUNCH_S / 2.0)
            }
            Lumps::LogNormal { part, deviation } => 1.0 + part * (deviation * normal(random)).exp(),
        };
        (1.0 + self.effect) * slow * lumps * (1.0 + own_scatter * normal(random))
    }
}

/// What the machine does from launch to launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Machine {
    /// It scatters by 5 %, and the totals of each arm by 0.9 % more.
    Usual,
    /// Nearly nothing happens: 1 %, and 0.2 %.
    Quiet,
    /// As usual, and the totals of each arm scatter by 6 %.
    Noisy,
    /// Two speeds, 1 and 0.7, each for 10 to 30 s on average.
    Regimes,
    /// A drift of 5 % with a coefficient of 0.8 from launch to launch.
    Drifts,
}

impl Machine {
    /// Whether its state lasts longer than a launch, so that launches are not independent.
    pub(crate) fn outlasts_a_launch(self) -> bool {
        matches!(self, Machine::Regimes | Machine::Drifts)
    }

    fn own_scatter(self) -> f64 {
        match self {
            Machine::Quiet => QUIET,
            Machine::Noisy => 0.06,
            _ => LUCK.hypot(WITHIN),
        }
    }

    /// The expected cost, in units of that of the undisturbed machine.
    fn expected(self) -> f64 {
        match self {
            Machine::Regimes => f64::midpoint(1.0, 1.0 / SLOW_REGIME),
            _ => 1.0,
        }
    }

    /// Its state in each launch.
    fn states(self, launches: usize, random: &mut ChaCha8Rng) -> Vec<f64> {
        match self {
            Machine::Usual | Machine::Noisy => scattered(MACHINE, launches, random),
            Machine::Quiet => scattered(0.01, launches, random),
            Machine::Drifts => {
                let mut drift = Drift::new(0.8, MACHINE, random);
                (0..launches).map(|_| 1.0 + drift.next(random)).collect()
            }
            Machine::Regimes => {
                let sojourn_s = random.random_range(SOJOURN_S.0..SOJOURN_S.1);
                let mut regime = Regime::new(sojourn_s, random);
                let mut of_a_launch = || {
                    let steps = 10;
                    let step_s = LAUNCH_S / f64::from(steps);
                    let costs: f64 = (0..steps)
                        .map(|_| 1.0 / regime.mean_speed(step_s, random))
                        .sum();
                    regime.mean_speed(BETWEEN_LAUNCHES_S, random);
                    costs / f64::from(steps)
                };
                (0..launches).map(|_| of_a_launch()).collect()
            }
        }
    }
}

fn scattered(deviation: f64, launches: usize, random: &mut ChaCha8Rng) -> Vec<f64> {
    let state = |_| 1.0 + deviation * normal(random);
    (0..launches).map(state).collect()
}

/// How many of so many are hit.
fn hits(of: u32, probability: f64, random: &mut ChaCha8Rng) -> u32 {
    // Gaps are geometric, which is quick for rare hits.
    let (mut hits, mut at) = (0, 0.0);
    loop {
        at += ((1.0 - random.random::<f64>()).ln() / (-probability).ln_1p()).floor() + 1.0;
        if at > f64::from(of) {
            return hits;
        }
        hits += 1;
    }
}

/// Two arms on a machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparison {
    pub(crate) machine: Machine,
    pub(crate) baseline: Arm,
    pub(crate) arm: Arm,
}

/// The launches of a run, with the state of the machine in each.
pub(crate) struct Run {
    pub(crate) launches: Vec<PairedTotals>,
    states: Vec<f64>,
}

impl Run {
    /// The machine's mean state over the first launches.
    pub(crate) fn mean_state(&self, launches: usize) -> f64 {
        self.states[..launches].iter().sum::<f64>() / launches as f64
    }
}

impl Comparison {
    /// The true relative effect: a ratio of expected totals, less one.
    pub(crate) fn relative(self) -> f64 {
        self.arm.expected() / self.baseline.expected() - 1.0
    }

    /// The true difference, in microseconds, on a machine in this state.
    pub(crate) fn difference_us(self, state: f64) -> f64 {
        (self.arm.expected() - self.baseline.expected()) * BASELINE_US * state
    }

    /// The same over all states that the machine may be in.
    pub(crate) fn expected_difference_us(self) -> f64 {
        self.difference_us(self.machine.expected())
    }

    pub(crate) fn run(self, launches: usize, random: &mut ChaCha8Rng) -> Run {
        let states = self.machine.states(launches, random);
        let own_scatter = self.machine.own_scatter();
        let mut launch = |state: &f64| PairedTotals {
            baseline: BASELINE_US * state * self.baseline.cost(own_scatter, random),
            arm: BASELINE_US * state * self.arm.cost(own_scatter, random),
        };
        Run {
            launches: states.iter().map(&mut launch).collect(),
            states,
        }
    }
}
