//! Cells of a study: each noise in each design, with many reproducible experiments.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::experiment::Design;
use crate::noise::Kind;

/// Experiments per cell: a rate of 95 % has a standard error of 0.5 %.
const EXPERIMENTS: u32 = 2000;
/// True log ratios, alternating.
const TRUTHS: [f64; 2] = [0.0, 0.01];

/// One kind of noise in one design.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) kind: Kind,
    pub(crate) design: Design,
}

impl Cell {
    /// Its name in a table and in a failure.
    pub(crate) fn name(self) -> String {
        let Design { launches, blocks } = self.design;
        format!("{:<14} {launches} x {blocks:<4}", self.kind.as_str())
    }
}

/// All cells of these designs.
pub(crate) fn cells(designs: &[Design]) -> Vec<Cell> {
    let of_kind = |kind| {
        designs
            .iter()
            .filter(move |design| design.can_face(kind))
            .map(move |&design| Cell { kind, design })
    };
    Kind::ALL.into_iter().flat_map(of_kind).collect()
}

/// Runs every experiment of every cell, on all cores. `experiment` gets the cell, the true log
/// ratio and a source of randomness.
pub(crate) fn carry_out<C: Copy + Send + Sync, R: Send>(
    cells: &[C],
    experiment: impl Fn(C, f64, &mut ChaCha8Rng) -> R + Sync,
) -> Vec<(C, Vec<R>)> {
    carry_out_times(EXPERIMENTS, cells, experiment)
}

/// The same with so many experiments per cell.
pub(crate) fn carry_out_times<C: Copy + Send + Sync, R: Send>(
    experiments: u32,
    cells: &[C],
    experiment: impl Fn(C, f64, &mut ChaCha8Rng) -> R + Sync,
) -> Vec<(C, Vec<R>)> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(&cell) = cells.get(index) else {
                break;
            };
            let results = (0..experiments)
                .map(|number| {
                    let seed = index as u64 * u64::from(experiments) + u64::from(number);
                    let truth = TRUTHS[number as usize % TRUTHS.len()];
                    experiment(cell, truth, &mut ChaCha8Rng::seed_from_u64(seed))
                })
                .collect();
            done.lock().unwrap().push((index, (cell, results)));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut done: Vec<(usize, (C, Vec<R>))> = done.into_inner().unwrap();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, of_cell)| of_cell).collect()
}

/// The share of results for which something holds.
pub(crate) fn share<R>(results: &[R], holds: impl Fn(&R) -> bool) -> f64 {
    results.iter().filter(|r| holds(r)).count() as f64 / results.len() as f64
}

/// The median of a figure over results.
pub(crate) fn median<R>(results: &[R], read: impl Fn(&R) -> f64) -> f64 {
    let mut values: Vec<f64> = results.iter().map(read).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The root mean square of a figure over results.
pub(crate) fn root_mean_square<R>(results: &[R], read: impl Fn(&R) -> f64) -> f64 {
    let squares: f64 = results.iter().map(|r| read(r).powi(2)).sum();
    (squares / results.len() as f64).sqrt()
}
