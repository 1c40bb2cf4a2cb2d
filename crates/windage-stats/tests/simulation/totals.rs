//! Intervals of the effect on a total, by launch.

use std::ops::Range;

use rand_chacha::ChaCha8Rng;
use windage_stats::totals::{
    FEWEST_LAUNCHES, FEWEST_LAUNCHES_IF_BIMODAL, FEWEST_LAUNCHES_TO_STOP, difference, relative,
};
use windage_stats::{Confidence, Effect, PairedTotals, TotalsError};

use crate::cells::{carry_out, carry_out_times, median, share};
use crate::launch_totals::{Arm, Comparison, Lumps, Machine, Run, Slow};

/// Experiments per cell: a rate of 93 % has a standard error of 0.26 %.
const EXPERIMENTS: u32 = 10_000;

/// The smallest coverage of 95 % intervals, and two standard errors of tolerance for chance.
const COVERAGE: f64 = 0.93 - 0.005;

/// How often *negligible* may be wrong when the truth lies at the margin: 5 % by design, more where
/// launches have a tail that a few of them may not show. Plus a tolerance for chance.
const WRONGLY_NEGLIGIBLE: f64 = 0.05 + 0.007;
const WRONGLY_NEGLIGIBLE_WITH_A_TAIL: f64 = 0.08 + 0.005;

/// Launches scatter by 5.5 %, with a skewness of 1.75.
const SKEWED: Arm = lumpy(Lumps::LogNormal {
    part: 0.1,
    deviation: 0.5,
});
/// A skewness of 6.2: the third moment of a few launches shows nothing of it.
const VERY_SKEWED: Arm = lumpy(Lumps::LogNormal {
    part: 0.1,
    deviation: 1.0,
});

const SOME: Slow = Slow {
    share: 0.2,
    by: 0.05,
};
const RARE: Slow = Slow {
    share: 0.05,
    by: 0.2,
};

/// How many launches an experiment has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Length {
    /// As many as the figure demands for its interval.
    Demanded,
    /// As many, whatever is demanded.
    Fixed(usize),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) name: &'static str,
    pub(crate) of: Comparison,
    length: Length,
}

const fn cell(name: &'static str, machine: Machine, baseline: Arm, arm: Arm) -> Cell {
    Cell {
        name,
        of: Comparison {
            machine,
            baseline,
            arm,
        },
        length: Length::Demanded,
    }
}

const fn costs(effect: f64) -> Arm {
    Arm {
        effect,
        ..Arm::PLAIN
    }
}

const fn slow(slow: Slow, effect: f64) -> Arm {
    Arm {
        effect,
        slow: Some(slow),
        lumps: Lumps::None,
    }
}

const fn lumpy(lumps: Lumps) -> Arm {
    Arm {
        lumps,
        ..Arm::PLAIN
    }
}

/// Cells in which both arms have the same kind of launches.
pub(crate) const BOTH_ARMS: [Cell; 18] = {
    use Machine::{Drifts, Noisy, Quiet, Regimes, Usual};
    const PLAIN: Arm = Arm::PLAIN;
    [
        cell("no effect", Usual, PLAIN, PLAIN),
        cell("+8 %", Usual, PLAIN, costs(0.08)),
        cell("1 % of requests x50", Usual, PLAIN, lumpy(Lumps::Requests)),
        cell("stretches +50 %", Usual, PLAIN, lumpy(Lumps::Stretches)),
        cell("collections", Usual, PLAIN, lumpy(Lumps::Collections)),
        cell("20 % slow by 5 %", Usual, slow(SOME, 0.0), slow(SOME, 0.08)),
        cell(
            "  on a quiet machine",
            Quiet,
            slow(SOME, 0.0),
            slow(SOME, 0.0),
        ),
        cell("  quiet, +100 %", Quiet, slow(SOME, 0.0), slow(SOME, 1.0)),
        cell("  +1800 %", Usual, slow(SOME, 0.0), slow(SOME, 18.0)),
        cell("5 % slow by 20 %", Usual, slow(RARE, 0.0), slow(RARE, 0.08)),
        cell("skewed", Usual, SKEWED, SKEWED),
        cell("+100 %, noisy", Noisy, PLAIN, costs(1.0)),
        cell("+1800 %, noisy", Noisy, PLAIN, costs(18.0)),
        cell("drift, +8 %", Drifts, PLAIN, costs(0.08)),
        cell("regimes, no effect", Regimes, PLAIN, PLAIN),
        cell("regimes, +8 %", Regimes, PLAIN, costs(0.08)),
        cell("regimes, +100 %", Regimes, PLAIN, costs(1.0)),
        cell("regimes, +1800 %", Regimes, PLAIN, costs(18.0)),
    ]
};

/// Cells with a tail in one arm alone, or with a very long one.
pub(crate) const TAILS: [Cell; 5] = [
    cell(
        "20 % slow by 5 %, arm",
        Machine::Usual,
        Arm::PLAIN,
        slow(SOME, 0.0),
    ),
    cell(
        "  baseline alone",
        Machine::Usual,
        slow(SOME, 0.0),
        Arm::PLAIN,
    ),
    cell(
        "  arm, quiet machine",
        Machine::Quiet,
        Arm::PLAIN,
        slow(SOME, 0.0),
    ),
    cell("skewed, arm", Machine::Usual, Arm::PLAIN, SKEWED),
    cell("very skewed", Machine::Usual, VERY_SKEWED, VERY_SKEWED),
];

/// One figure of one experiment.
struct Figure {
    launches: usize,
    error: f64,
    half_width: f64,
    covers: bool,
    /// Whether the 90 % interval lies below the truth, or above it: at the margin, a wrong verdict.
    below: bool,
    above: bool,
}

type Estimate = fn(&[PairedTotals]) -> Result<Effect, TotalsError>;

impl Figure {
    fn new(run: &Run, length: Length, estimate: Estimate, truth: impl Fn(usize) -> f64) -> Figure {
        let of = |launches: usize| estimate(&run.launches[..launches]).unwrap();
        let effect = match length {
            Length::Fixed(launches) => of(launches),
            Length::Demanded => {
                let first = of(FEWEST_LAUNCHES);
                let needed = first.launches_needed();
                if first.has_enough_launches() {
                    first
                } else {
                    of(needed)
                }
            }
        };
        let truth = truth(effect.launches());
        let (low, high) = effect.ends(Confidence::P95);
        let (low_at_90, high_at_90) = effect.ends(Confidence::P90);
        Figure {
            launches: effect.launches(),
            error: effect.estimate - truth,
            half_width: (high - low) / 2.0,
            covers: low <= truth && truth <= high,
            below: high_at_90 < truth,
            above: low_at_90 > truth,
        }
    }
}

/// Both figures of one experiment.
struct Outcome {
    /// The machine's state taken as it was in the run.
    us: Figure,
    /// The machine's state taken as random.
    us_of_any_run: bool,
    relative: Figure,
}

impl Outcome {
    fn new(cell: Cell, random: &mut ChaCha8Rng) -> Outcome {
        let of = cell.of;
        let most = match cell.length {
            Length::Fixed(launches) => launches,
            Length::Demanded => FEWEST_LAUNCHES_IF_BIMODAL,
        };
        let run = of.run(most, random);
        let of_any_run = |_| of.expected_difference_us();
        let of_this_run = |launches: usize| {
            if of.machine.outlasts_a_launch() {
                of.difference_us(run.mean_state(launches))
            } else {
                of.expected_difference_us()
            }
        };
        Outcome {
            us: Figure::new(&run, cell.length, difference, of_this_run),
            us_of_any_run: Figure::new(&run, cell.length, difference, of_any_run).covers,
            relative: Figure::new(&run, cell.length, relative, |_| of.relative()),
        }
    }
}

/// What a cell's row shows.
struct Row {
    text: String,
    covered: [f64; 2],
    wrongly_negligible: f64,
    bias: Range<f64>,
}

fn row(cell: &Cell, outcomes: &[Outcome]) -> Row {
    let count = outcomes.len() as f64;
    let covered_us = share(outcomes, |o| o.us.covers);
    let covered = share(outcomes, |o| o.relative.covers);
    let bias = outcomes.iter().map(|o| o.relative.error).sum::<f64>() / count;
    let squares: f64 = outcomes.iter().map(|o| o.relative.error.powi(2)).sum();
    let error = 1.96 * (squares / count - bias * bias).sqrt() / count.sqrt();
    let above = share(outcomes, |o| o.relative.above);
    let below = share(outcomes, |o| o.relative.below);
    let launches = outcomes.iter().map(|o| o.relative.launches).sum::<usize>() as f64 / count;
    let text = format!(
        "{:<22} {launches:5.1}  {:5.1} %  {:8.2} µs  {:5.1} %  {:5.1} %  {:7.2} %  {:+7.3} ± {:.3} %  {:4.1} %",
        cell.name,
        covered_us * 100.0,
        median(outcomes, |o| o.us.half_width),
        share(outcomes, |o| o.us_of_any_run) * 100.0,
        covered * 100.0,
        median(outcomes, |o| o.relative.half_width) * 100.0,
        bias * 100.0,
        error * 100.0,
        above.max(below) * 100.0,
    );
    println!("{text}");
    Row {
        text,
        covered: [covered_us, covered],
        wrongly_negligible: above.max(below),
        bias: bias - error..bias + error,
    }
}

fn print_heading(of: &str) {
    println!("\n{of}");
    println!(
        "                                 in µs     half-width  any run  relative  half-width        bias         wrongly negligible"
    );
}

fn rows(cells: &[Cell]) -> Vec<(Cell, Row)> {
    let experiment = |cell: Cell, _, random: &mut ChaCha8Rng| Outcome::new(cell, random);
    carry_out_times(EXPERIMENTS, cells, experiment)
        .into_iter()
        .map(|(cell, outcomes)| (cell, row(&cell, &outcomes)))
        .collect()
}

fn failed(rows: &[(Cell, Row)], may_be_wrong: f64) -> Vec<&str> {
    let fails = |row: &Row| {
        row.covered.iter().any(|c| *c < COVERAGE) || row.wrongly_negligible > may_be_wrong
    };
    rows.iter()
        .filter(|(_, row)| fails(row))
        .map(|(_, row)| row.text.as_str())
        .collect()
}

#[test]
fn intervals_cover_with_the_launches_that_they_demand() {
    print_heading("totals by launch, intervals of 95 % at the launches demanded");
    let both = rows(&BOTH_ARMS);
    let tails = rows(&TAILS);
    let failed = [
        failed(&both, WRONGLY_NEGLIGIBLE),
        failed(&tails, WRONGLY_NEGLIGIBLE_WITH_A_TAIL),
    ]
    .concat();
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Verdicts are withheld there, but figures are shown.
#[test]
fn without_a_tail_six_launches_are_enough_for_coverage() {
    let cells = [
        cell("+8 %", Machine::Usual, Arm::PLAIN, costs(0.08)),
        cell("+100 %, noisy", Machine::Noisy, Arm::PLAIN, costs(1.0)),
        cell("+1800 %, noisy", Machine::Noisy, Arm::PLAIN, costs(18.0)),
        cell(
            "stretches +50 %",
            Machine::Usual,
            Arm::PLAIN,
            lumpy(Lumps::Stretches),
        ),
    ]
    .map(|cell| Cell {
        length: Length::Fixed(6),
        ..cell
    });
    print_heading("six launches");
    let rows = rows(&cells);
    let failed = failed(&rows, WRONGLY_NEGLIGIBLE);
    assert!(failed.is_empty(), "{failed:#?}");
}

/// What no run of a usual length can see: printed, so that the documentation can say it.
#[test]
fn rare_tails_of_one_arm_take_more_launches() {
    let rare = cell(
        "5 % slow by 20 %, arm",
        Machine::Usual,
        Arm::PLAIN,
        slow(RARE, 0.0),
    );
    let heavy = cell("very skewed, arm", Machine::Usual, Arm::PLAIN, VERY_SKEWED);
    // launches, whether that is enough
    let cells = [(rare, 13), (rare, 20), (rare, 60), (heavy, 13), (heavy, 26)];
    let cells = cells.map(|(cell, launches)| Cell {
        length: Length::Fixed(launches),
        ..cell
    });
    print_heading("limits: tails of one arm that few launches do not show");
    let rows = rows(&cells);
    for (at, enough) in [false, false, true, false, true].into_iter().enumerate() {
        let row = &rows[at].1;
        let covers = row.covered.iter().all(|c| *c >= COVERAGE);
        assert_eq!(covers, enough, "{}", row.text);
    }
}

/// Sharing a core may change the arms themselves. That is a bias, which no interval over launches
/// can cover: the plan has to measure it.
#[test]
fn interference_is_a_bias() {
    let disturbed = |name, baseline, arm| cell(name, Machine::Usual, costs(baseline), costs(arm));
    // The true effect is 8 %; the baseline pays 2 % for the arm's cold caches, or the arm 1 % for
    // what its predecessor left behind.
    let cells = [
        disturbed("interference", 0.02, 0.08),
        disturbed("carry-over", 0.0, 0.08 + 0.01),
    ];
    print_heading("biases: the error counts from the effect in the block");
    for ((cell, row), expected) in rows(&cells).into_iter().zip([-0.0212, 0.01]) {
        let bias = cell.of.relative() - 0.08;
        let (low, high) = (row.bias.start + bias, row.bias.end + bias);
        println!(
            "{:<22} bias against a true 8 %: {:+.2} to {:+.2} %",
            cell.name,
            low * 100.0,
            high * 100.0
        );
        assert!(
            low < expected + 1e-3 && high > expected - 1e-3,
            "{}",
            row.text
        );
        assert!(
            row.bias.contains(&0.0) || row.bias.start.abs() < 1e-4,
            "{}",
            row.text
        );
    }
}

/// The longest run that may stop, in launches.
const LONGEST: usize = 40;

#[test]
fn sequences_hold_from_the_launch_at_which_stopping_is_allowed() {
    let cells: Vec<Cell> = BOTH_ARMS
        .into_iter()
        .filter(|cell| !cell.of.machine.outlasts_a_launch())
        .chain(TAILS)
        .collect();
    let experiment = |cell: Cell, _, random: &mut ChaCha8Rng| {
        let run = cell.of.run(LONGEST, random);
        let ever_misses = |estimate: Estimate, truth: f64| {
            (FEWEST_LAUNCHES_TO_STOP..=LONGEST).any(|launches| {
                let effect = estimate(&run.launches[..launches]).unwrap();
                let ends = effect.sequence_ends(Confidence::P95);
                ends.is_some_and(|(low, high)| truth < low || high < truth)
            })
        };
        [
            ever_misses(difference, cell.of.expected_difference_us()),
            ever_misses(relative, cell.of.relative()),
        ]
    };
    println!("\nsequences of 95 %, looked at after each launch from {FEWEST_LAUNCHES_TO_STOP} on");
    println!("                        ever missed: µs, relative");
    let mut failed = Vec::new();
    for (cell, missed) in carry_out(&cells, experiment) {
        let rates = [0, 1].map(|figure| share(&missed, |m| m[figure]));
        let row = format!(
            "{:<22}  {:5.2} %  {:5.2} %",
            cell.name,
            rates[0] * 100.0,
            rates[1] * 100.0
        );
        println!("{row}");
        if rates.iter().any(|rate| *rate > 0.06) {
            failed.push(row);
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
