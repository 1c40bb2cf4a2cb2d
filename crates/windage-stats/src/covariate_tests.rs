use super::*;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const FREE: Independence = Independence {
    equal_work: true,
    moved_at_most: 0.0,
};

/// Standard deviation of a block's log ratio.
const BLOCK: f64 = 0.02;

/// Normal noise (Box & Muller 1958).
fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (radius, turn): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * turn).cos()
}

/// Runs whose true difference is nil.
#[derive(Clone, Copy)]
struct Cell {
    launches: usize,
    blocks: usize,
    correlation: f64,
    /// Of a block with the next one, in value and covariate alike.
    autocorrelation: f64,
    /// What the arm does to the covariate, in standard errors of the covariate's location.
    moved: f64,
    /// What is assumed that it does at most, in the same unit.
    bound: f64,
    /// Standard deviations of launch luck.
    covariate_luck: f64,
    value_luck: f64,
    /// Whether some blocks are wild: in both alike, in the covariate alone, in the value alone.
    wild: bool,
}

const CELL: Cell = Cell {
    launches: 1,
    blocks: 130,
    correlation: 0.87,
    autocorrelation: 0.3,
    moved: 0.0,
    bound: 0.0,
    covariate_luck: 0.0,
    value_luck: 0.0,
    wild: false,
};

impl Cell {
    fn error(&self) -> f64 {
        let inflation = (1.0 + self.autocorrelation) / (1.0 - self.autocorrelation);
        BLOCK * (inflation / (self.launches * self.blocks) as f64).sqrt()
    }

    fn launch(&self, random: &mut ChaCha8Rng) -> Vec<Paired> {
        let offset = self.covariate_luck * normal(random) + self.moved * self.error();
        let luck = self.value_luck * normal(random);
        let fresh = (1.0 - self.autocorrelation.powi(2)).sqrt();
        let unshared = (1.0 - self.correlation.powi(2)).sqrt();
        let (mut shared, mut own) = (normal(random), normal(random));
        (0..self.blocks)
            .map(|_| {
                shared = self.autocorrelation * shared + fresh * normal(random);
                own = self.autocorrelation * own + fresh * normal(random);
                let (x, y) =
                    self.spoiled(random, shared, self.correlation * shared + unshared * own);
                Paired {
                    value: luck + BLOCK * y,
                    covariate: offset + BLOCK * x,
                }
            })
            .collect()
    }

    fn spoiled(&self, random: &mut ChaCha8Rng, x: f64, y: f64) -> (f64, f64) {
        let wild = 15.0 * normal(random);
        match random.random_range(0..100) {
            0 | 1 if self.wild => (x + wild, y + wild),
            2 if self.wild => (x + wild, y),
            3 if self.wild => (x, y + wild),
            _ => (x, y),
        }
    }
}

#[derive(Debug, Default)]
struct Rates {
    /// How often the plain interval holds nil.
    plain: f64,
    /// How often the interval does that is reported in the end.
    reported: f64,
    admitted: f64,
    /// Width of reported intervals over that of plain ones.
    width: f64,
    /// Root-mean-square error of reported estimates over that of plain ones.
    error: f64,
    /// Mean of admitted estimates, in standard errors of the plain one.
    bias: f64,
}

fn interval(launches: &[Vec<f64>]) -> (f64, (f64, f64)) {
    let mut all = Launches::default();
    for launch in launches {
        all.push(launch.clone(), 0.0);
    }
    let result = two_level(&all).unwrap();
    (result.estimate, result.ends(Confidence::P95))
}

fn rates(cell: Cell, experiments: u32) -> Rates {
    let mut random = ChaCha8Rng::seed_from_u64(20_261_121);
    let mut rates = Rates::default();
    let (mut plain_width, mut plain_square) = (0.0, 0.0);
    for _ in 0..experiments {
        let launches: Vec<_> = (0..cell.launches)
            .map(|_| cell.launch(&mut random))
            .collect();
        let values: Vec<Vec<f64>> = launches
            .iter()
            .map(|l| l.iter().map(|p| p.value).collect())
            .collect();
        let (plain, plain_ends) = interval(&values);
        let moved_at_most = cell.bound * cell.error();
        let (reported, ends) = match admit(
            &launches,
            Independence {
                equal_work: true,
                moved_at_most,
            },
        ) {
            Ok(adjusted) => {
                let (estimate, ends) = interval(&adjusted.launches);
                rates.admitted += 1.0;
                rates.bias += estimate / cell.error();
                (estimate, adjusted.widened(ends))
            }
            Err(_) => (plain, plain_ends),
        };
        let holds = |(low, high): (f64, f64)| f64::from(u8::from(low <= 0.0 && 0.0 <= high));
        rates.plain += holds(plain_ends);
        rates.reported += holds(ends);
        rates.width += ends.1 - ends.0;
        rates.error += reported * reported;
        plain_width += plain_ends.1 - plain_ends.0;
        plain_square += plain * plain;
    }
    let experiments = f64::from(experiments);
    Rates {
        plain: rates.plain / experiments,
        reported: rates.reported / experiments,
        admitted: rates.admitted / experiments,
        width: rates.width / plain_width,
        error: (rates.error / plain_square).sqrt(),
        bias: rates.bias / rates.admitted.max(1.0),
    }
}

#[test]
fn half_of_the_noise_goes_and_intervals_still_cover() {
    // What correlation 0.87 leaves of a standard deviation is 0.49 of it.
    let rates = rates(
        Cell {
            blocks: 60,
            autocorrelation: 0.0,
            ..CELL
        },
        500,
    );
    assert!(rates.reported > 0.92, "{rates:?}");
    assert!((0.45..0.55).contains(&rates.width), "{rates:?}");
    assert!(rates.bias.abs() < 0.1 && rates.admitted > 0.97, "{rates:?}");
}

#[test]
fn what_an_arm_may_do_to_the_covariate_is_in_the_interval() {
    for moved in [0.0, 0.3] {
        let rates = rates(
            Cell {
                blocks: 60,
                moved,
                bound: 0.3,
                ..CELL
            },
            400,
        );
        assert!(rates.reported > 0.93, "{rates:?}");
        assert!((0.5..0.75).contains(&rates.width), "{rates:?}");
        assert!((rates.bias + 0.87 * moved).abs() < 0.15, "{rates:?}");
    }
}

/// Why the bound has to come from elsewhere: an effect of two standard errors on the covariate is
/// seldom noticed within the run, and moves the estimate by 1.7 of them.
#[test]
fn a_run_cannot_show_by_itself_that_its_arm_leaves_the_covariate_alone() {
    let rates = rates(
        Cell {
            blocks: 60,
            moved: 2.0,
            ..CELL
        },
        300,
    );
    assert!(rates.plain > 0.9 && rates.admitted > 0.5, "{rates:?}");
    assert!(rates.reported < 0.6, "{rates:?}");
}

#[test]
fn launch_luck_of_the_covariate_is_not_put_into_the_value() {
    let cell = Cell {
        launches: 8,
        blocks: 16,
        value_luck: 0.005,
        ..CELL
    };
    let alike = rates(cell, 300);
    assert!(
        alike.width < 0.85 && alike.error < 0.9 && alike.reported > 0.92,
        "{alike:?}"
    );
    let lucky = rates(
        Cell {
            covariate_luck: 0.02,
            ..cell
        },
        300,
    );
    assert!(
        lucky.width < 1.02 && lucky.error < 1.03 && lucky.reported > 0.92,
        "{lucky:?}"
    );
}

#[test]
fn the_coefficient_stands_up_to_wild_values_on_either_side() {
    for wild in [false, true] {
        let cell = Cell {
            blocks: 4000,
            autocorrelation: 0.0,
            wild,
            ..CELL
        };
        let launches = [cell.launch(&mut ChaCha8Rng::seed_from_u64(1))];
        let adjusted = admit(&launches, FREE).unwrap();
        assert!(
            (adjusted.coefficient - 0.87).abs() < 0.04,
            "{}",
            adjusted.coefficient
        );
        assert!((adjusted.gain - 0.507).abs() < 0.03, "{}", adjusted.gain);
        // Values that are wild on one side alone do correlate less, even if they are pulled in.
        assert!(
            wild || (adjusted.correlation - 0.87).abs() < 0.02,
            "{}",
            adjusted.correlation
        );
    }
}

/// Twenty blocks whose value is twice the covariate and a constant.
fn exact() -> Vec<Paired> {
    (0..20)
        .map(|i| {
            let covariate = f64::from(i * 7 % 20) - 9.5;
            Paired {
                value: 3.0 + 2.0 * covariate,
                covariate,
            }
        })
        .collect()
}

#[test]
fn noise_that_the_covariate_explains_wholly_is_gone() {
    let mut blocks = exact();
    blocks.push(Paired {
        value: 5.0,
        covariate: f64::NAN,
    });
    blocks.push(Paired {
        value: f64::INFINITY,
        covariate: 0.0,
    });
    let adjusted = admit(&[vec![], blocks], FREE).unwrap();
    assert!((adjusted.coefficient - 2.0).abs() < 1e-9 && (adjusted.gain - 1.0).abs() < 1e-6);
    assert!(adjusted.launches[0].is_empty() && adjusted.launches[1].len() == 22);
    assert!(
        adjusted.launches[1][..20]
            .iter()
            .all(|v| (v - 3.0).abs() < 1e-9)
    );
    assert!(adjusted.launches[1][20..].iter().all(|v| v.is_nan()));
}

#[test]
fn the_allowance_is_what_the_bound_does_to_the_estimate() {
    let bound = Independence {
        moved_at_most: 0.5,
        ..FREE
    };
    let adjusted = admit(&[exact()], bound).unwrap();
    assert!((adjusted.allowance - 1.0).abs() < 1e-9);
    let (low, high) = adjusted.widened((2.0, 4.0));
    assert!((low - 1.0).abs() < 1e-9 && (high - 5.0).abs() < 1e-9);
}

#[test]
fn refusals() {
    let unequal = Independence {
        equal_work: false,
        ..FREE
    };
    assert_eq!(admit(&[exact()], unequal), Err(Refused::Unequal));
    assert_eq!(admit(&[], FREE), Err(Refused::TooFew { blocks: 0 }));
    assert_eq!(
        admit(&[exact()[..19].to_vec()], FREE),
        Err(Refused::TooFew { blocks: 19 })
    );
    let short = exact()[..3].to_vec();
    assert_eq!(
        admit(&[exact(), short], FREE),
        Err(Refused::TooFew { blocks: 23 })
    );

    let moved = |by: f64| {
        let mut blocks = exact();
        blocks.iter_mut().for_each(|p| p.covariate += by);
        blocks
    };
    assert!(
        matches!(admit(&[moved(20.0)], FREE), Err(Refused::MovedByArm { low, .. }) if low > 0.0)
    );
    assert!(
        matches!(admit(&[moved(-20.0)], FREE), Err(Refused::MovedByArm { high, .. }) if high < 0.0)
    );
    let allowed = Independence {
        moved_at_most: 20.0,
        ..FREE
    };
    assert!(matches!(admit(&[moved(20.0)], allowed), Err(Refused::NoGain { gain }) if gain < 0.0));

    let unrelated = Cell {
        correlation: 0.0,
        ..CELL
    }
    .launch(&mut ChaCha8Rng::seed_from_u64(2));
    assert!(matches!(
        admit(&[unrelated], FREE),
        Err(Refused::NoGain { .. })
    ));
    let still: Vec<Paired> = exact()
        .iter()
        .map(|p| Paired {
            covariate: 0.0,
            ..*p
        })
        .collect();
    assert_eq!(admit(&[still], FREE), Err(Refused::NoGain { gain: 0.0 }));
}

#[test]
fn a_bound_from_many_runs_is_the_far_end_of_their_mean() {
    assert_eq!(moved_at_most(&[0.1]), None);
    // Mean 2, standard error 1, and Student's quantile for one degree of freedom.
    for sign in [1.0, -1.0] {
        let bound = moved_at_most(&[sign, 3.0 * sign]).unwrap();
        assert!((bound - 14.706_205).abs() < 1e-4, "{bound}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn units_of_the_covariate_do_not_matter(seed in 0..1000u64, unit in 0.01..100.0f64, constant in -1.0..1.0f64) {
        let blocks = CELL.launch(&mut ChaCha8Rng::seed_from_u64(seed));
        let other: Vec<Paired> = blocks
            .iter()
            .map(|p| Paired { value: p.value + constant, covariate: p.covariate * unit })
            .collect();
        match (admit(&[blocks], FREE), admit(&[other], FREE)) {
            (Ok(one), Ok(two)) => {
                prop_assert!((one.coefficient - two.coefficient * unit).abs() < 1e-6);
                for (a, b) in one.launches[0].iter().zip(&two.launches[0]) {
                    prop_assert!((a + constant - b).abs() < 1e-9);
                }
            }
            (one, two) => prop_assert_eq!(one.is_ok(), two.is_ok()),
        }
    }
}
