//! Windows by block and arm.

use std::collections::BTreeMap;
use std::ops::Range;

use windage_model::ArmIndex;

use crate::windows::Measured;

/// A value that each window has by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// CPU of the arm per completed request, in microseconds.
    CpuUs,
    /// CPU of the whole machine per completed request, in microseconds.
    MachineCpuUs,
    /// CPU of the generator per completed request, in microseconds.
    GeneratorCpuUs,
    /// Time per completed iteration, in microseconds.
    WallUs,
    /// Completed requests per second.
    PerSecond,
}

impl Reading {
    const ALL: [Reading; 5] = [
        Reading::CpuUs,
        Reading::MachineCpuUs,
        Reading::GeneratorCpuUs,
        Reading::WallUs,
        Reading::PerSecond,
    ];

    /// The value, always positive; `None` when the window has none, such as a time per request
    /// without requests.
    pub(crate) fn of(self, window: &Measured) -> Option<f64> {
        let (completed, duration_ns) = (window.completed as f64, window.duration_ns as f64);
        let for_each = |ns: f64| ns / 1e3 / completed;
        let value = match self {
            Reading::CpuUs => for_each(window.cpu_ns?.get() as f64),
            Reading::MachineCpuUs => for_each(window.machine_cpu_ns?.get() as f64),
            Reading::GeneratorCpuUs => for_each(window.generator_cpu_ns?.get() as f64),
            Reading::WallUs => for_each(duration_ns),
            Reading::PerSecond => completed * 1e9 / duration_ns,
        };
        (value.is_finite() && value > 0.0).then_some(value)
    }
}

/// A range of the run's windows. Half the size of one with `usize`; there are as many ranges as
/// blocks times arms per block.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    from: u32,
    to: u32,
}

impl Stretch {
    fn windows(self) -> Range<usize> {
        self.from as usize..self.to as usize
    }
}

/// The usable windows of one arm in one block, and the baseline's in the same block, of which there
/// may be none.
#[derive(Clone, Copy, Debug)]
struct Cell {
    arm: Stretch,
    baseline: Stretch,
}

/// The mean of a reading over an arm's usable windows.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    windows: usize,
}

/// The logarithms of a window's readings; NaN where there is no value. Every comparison of the
/// window's arm uses them, and every comparison uses the baseline's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Logs([f64; Reading::ALL.len()]);

impl Logs {
    fn of(window: &Measured) -> Logs {
        Logs(Reading::ALL.map(|reading| reading.of(window).map_or(f64::NAN, f64::ln)))
    }

    /// The logarithm of a reading; `None` when the window has none.
    pub(crate) fn get(&self, reading: Reading) -> Option<f64> {
        let log = self.0[reading as usize];
        (!log.is_nan()).then_some(log)
    }
}

/// The blocks of a run in the order in which they were measured.
#[derive(Debug)]
pub(crate) struct Blocks<'a> {
    windows: &'a [Measured],
    logs: Vec<Logs>,
    /// By arm, in the order of blocks.
    cells: Vec<Vec<Cell>>,
    /// By arm: the number of its windows in a complete block.
    windows_of_a_block: Vec<u32>,
    /// By arm and reading. Cached because every comparison uses the baseline's.
    means: Vec<[Mean; Reading::ALL.len()]>,
    count: u32,
}

/// An arm and the arm it is compared with, usually the baseline, in the same block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair<'a> {
    pub(crate) launch: u32,
    pub(crate) arm: &'a [Logs],
    pub(crate) against: &'a [Logs],
    /// The windows of `arm`, with their logarithms.
    pub(crate) arm_windows: &'a [Measured],
    /// The same for `against`.
    pub(crate) against_windows: &'a [Measured],
    /// Whether neither lost a window. Then the first half of each lies in the first half of the
    /// mirrored block.
    pub(crate) is_whole: bool,
}

impl<'a> Pair<'a> {
    /// The halves of a mirrored block; one that lost a window is a single piece.
    fn halves(self) -> impl Iterator<Item = Pair<'a>> {
        let (there, back) = if self.is_whole {
            let (of_arm, of_against) = (self.arm.len() / 2, self.against.len() / 2);
            let there = Pair {
                arm: &self.arm[..of_arm],
                against: &self.against[..of_against],
                arm_windows: &self.arm_windows[..of_arm],
                against_windows: &self.against_windows[..of_against],
                ..self
            };
            let back = Pair {
                arm: &self.arm[of_arm..],
                against: &self.against[of_against..],
                arm_windows: &self.arm_windows[of_arm..],
                against_windows: &self.against_windows[of_against..],
                ..self
            };
            (there, Some(back))
        } else {
            (self, None)
        };
        std::iter::once(there).chain(back)
    }
}

impl<'a> Blocks<'a> {
    /// Finds the blocks in windows that are in order of block, then of arm.
    pub(crate) fn index(windows: &'a [Measured], arms: usize) -> Blocks<'a> {
        let mut blocks = Blocks {
            windows,
            logs: windows.iter().map(Logs::of).collect(),
            cells: vec![Vec::new(); arms],
            windows_of_a_block: vec![0; arms],
            means: vec![Default::default(); arms],
            count: 0,
        };
        let mut from = 0;
        let mut last = None;
        let mut baseline = Stretch::default();
        let same_cell =
            |a: &Measured, b: &Measured| (a.launch, a.block, a.arm) == (b.launch, b.block, b.arm);
        for cell in windows.chunk_by(same_cell) {
            let of_block = (cell[0].launch, cell[0].block);
            if last.replace(of_block) != Some(of_block) {
                blocks.count += 1;
                baseline = Stretch::default();
            }
            // More windows than that would not fit in memory.
            let to = from + u32::try_from(cell.len()).unwrap_or(u32::MAX - from);
            let stretch = Stretch { from, to };
            // The first of its block, because it is the first of all arms.
            if cell[0].arm == ArmIndex::BASELINE {
                baseline = stretch;
            }
            let arm = cell[0].arm.get();
            let most = &mut blocks.windows_of_a_block[arm];
            *most = (*most).max(to - from);
            blocks.cells[arm].push(Cell {
                arm: stretch,
                baseline,
            });
            for (mean, reading) in blocks.means[arm].iter_mut().zip(Reading::ALL) {
                for value in cell.iter().filter_map(|w| reading.of(w)) {
                    mean.sum += value;
                    mean.windows += 1;
                }
            }
            from = to;
        }
        blocks
    }

    /// How many blocks have a usable window.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Usable windows of an arm over the whole run.
    pub(crate) fn windows_of(&self, arm: ArmIndex) -> impl Iterator<Item = &'a Measured> + '_ {
        let cells = self.cells.get(arm.get()).into_iter().flatten();
        cells.flat_map(|cell| &self.windows[cell.arm.windows()])
    }

    /// How many of an arm's usable windows have a value for a reading.
    pub(crate) fn windows_with(&self, arm: ArmIndex, reading: Reading) -> usize {
        self.mean_and_count(arm, reading).windows
    }

    /// The mean of an arm's values over the whole run; `None` without any.
    pub(crate) fn mean(&self, arm: ArmIndex, reading: Reading) -> Option<f64> {
        let Mean { sum, windows } = self.mean_and_count(arm, reading);
        (windows > 0).then(|| sum / windows as f64)
    }

    /// The mean of an arm's values in each launch.
    pub(crate) fn by_launch(&self, arm: ArmIndex, reading: Reading) -> BTreeMap<u32, f64> {
        let mut sums: BTreeMap<u32, Mean> = BTreeMap::new();
        for window in self.windows_of(arm) {
            if let Some(value) = reading.of(window) {
                let mean = sums.entry(window.launch).or_default();
                mean.sum += value;
                mean.windows += 1;
            }
        }
        let means = sums.into_iter();
        means
            .map(|(launch, mean)| (launch, mean.sum / mean.windows as f64))
            .collect()
    }

    fn mean_and_count(&self, arm: ArmIndex, reading: Reading) -> Mean {
        let of_arm = self.means.get(arm.get());
        of_arm.map_or(Mean::default(), |means| means[reading as usize])
    }

    /// The halves of mirrored blocks that have usable windows of both an arm and the baseline, in
    /// order; a block that lost a window is a single piece.
    pub(crate) fn halves(&self, arm: ArmIndex) -> impl Iterator<Item = Pair<'_>> + '_ {
        self.pairs(arm).flat_map(Pair::halves)
    }

    /// The same for any two arms.
    pub(crate) fn halves_of(
        &self,
        arm: ArmIndex,
        against: ArmIndex,
    ) -> impl Iterator<Item = Pair<'_>> + '_ {
        let mut others = self.stretches(against).peekable();
        let both = self.stretches(arm).filter_map(move |of_arm| {
            let block = self.block_of(of_arm);
            while others
                .next_if(|other| self.block_of(*other) < block)
                .is_some()
            {}
            let other = others.next_if(|other| self.block_of(*other) == block)?;
            Some((of_arm, other))
        });
        both.filter_map(|(of_arm, other)| self.pair(of_arm, other))
            .flat_map(Pair::halves)
    }

    /// The blocks that have usable windows of both an arm and the baseline, in order.
    pub(crate) fn pairs(&self, arm: ArmIndex) -> impl Iterator<Item = Pair<'_>> + '_ {
        let cells = self.cells.get(arm.get()).into_iter().flatten();
        cells.filter_map(|cell| self.pair(cell.arm, cell.baseline))
    }

    /// `None` when a side has no window.
    fn pair(&self, arm: Stretch, against: Stretch) -> Option<Pair<'_>> {
        let launch = self.windows[against.windows()].first()?.launch;
        Some(Pair {
            launch,
            is_whole: self.is_whole(arm) && self.is_whole(against),
            arm: &self.logs[arm.windows()],
            against: &self.logs[against.windows()],
            arm_windows: &self.windows[arm.windows()],
            against_windows: &self.windows[against.windows()],
        })
    }

    /// Where an arm has usable windows: one stretch per block, in order.
    fn stretches(&self, arm: ArmIndex) -> impl Iterator<Item = Stretch> + '_ {
        let cells = self.cells.get(arm.get()).into_iter().flatten();
        cells.map(|cell| cell.arm)
    }

    /// The launch and block of a stretch, which order it.
    fn block_of(&self, stretch: Stretch) -> Option<(u32, u32)> {
        let first = self.windows[stretch.windows()].first()?;
        Some((first.launch, first.block))
    }

    fn is_whole(&self, stretch: Stretch) -> bool {
        let count = stretch.to - stretch.from;
        let arm = self.windows[stretch.windows()].first().map(|w| w.arm);
        count.is_multiple_of(2)
            && arm.is_some_and(|arm| count == self.windows_of_a_block[arm.get()])
    }
}
