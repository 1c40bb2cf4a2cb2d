//! One simulated experiment: an arm compared with the baseline, with a known true difference.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use windage_stats::Launches;

use crate::noise::{Kind, Machine};

const BASELINE: usize = 0;
const ARM: usize = 1;

/// The layout of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Design {
    pub(crate) launches: usize,
    /// Blocks per launch, each with two windows per arm.
    pub(crate) blocks: usize,
}

impl Design {
    /// From a single short launch to many launches: half a minute to four minutes.
    pub(crate) const ALL: [Design; 5] = [
        Design::new(1, 25),
        Design::new(1, 134),
        Design::new(3, 45),
        Design::new(8, 17),
        Design::new(8, 60),
    ];

    pub(crate) const fn new(launches: usize, blocks: usize) -> Design {
        Design { launches, blocks }
    }

    /// Whether this noise applies. The interval of a single launch holds for that launch alone, so
    /// launch luck is not something that it could miss.
    pub(crate) fn can_face(self, kind: Kind) -> bool {
        self.launches > 1 || !kind.is_of_launches()
    }
}

/// Values of each launch in mirrored order, as the analysis computes them: in each half of a block
/// the logarithm of the arm less that of the baseline.
pub(crate) fn mirrored(
    design: Design,
    kind: Kind,
    truth: f64,
    random: &mut ChaCha8Rng,
) -> Launches {
    let mut launches = Launches::default();
    for _ in 0..design.launches {
        launches.push(halves_of_a_launch(design.blocks, kind, truth, random), 0.0);
    }
    launches
}

/// Two values per block of one launch.
pub(crate) fn halves_of_a_launch(
    blocks: usize,
    kind: Kind,
    truth: f64,
    random: &mut ChaCha8Rng,
) -> Vec<f64> {
    let outer: Vec<usize> = (0..blocks).map(|_| random.random_range(0..2)).collect();
    let mut machine = Machine::new(kind, random);
    let mut half = |arms: [usize; 2]| {
        let mut logs = [0.0; 2];
        for arm in arms {
            logs[arm] = machine.window(arm);
        }
        truth + logs[ARM] - logs[BASELINE]
    };
    let mut values = Vec::with_capacity(2 * blocks);
    for outer in outer {
        values.push(half([outer, 1 - outer]));
        values.push(half([1 - outer, outer]));
    }
    values
}

/// Logarithms of the arm's windows and of as many of the baseline's, measured one arm after the
/// other, as in published overhead tables.
pub(crate) fn sequential(
    design: Design,
    kind: Kind,
    truth: f64,
    random: &mut ChaCha8Rng,
) -> (Vec<f64>, Vec<f64>) {
    let windows = 2 * design.launches * design.blocks;
    let mut machine = Machine::new(kind, random);
    let baseline = (0..windows).map(|_| machine.window(BASELINE)).collect();
    let arm = (0..windows).map(|_| truth + machine.window(ARM)).collect();
    (arm, baseline)
}
