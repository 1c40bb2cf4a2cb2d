//! Who used the machine, by halves of blocks: an arm paired with the baseline.
//!
//! Plain means throughout, so that the parts add up to the machine's CPU.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Order};

use crate::compare::mean;
use crate::run::Run;
use crate::windows::Measured;

/// The parts of the machine's busy time that a window has readings of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Machine,
    Service,
    Agent,
    Generator,
    /// Without the generator's thread.
    Windage,
    KernelThreads,
    /// The machine's less all other known parts.
    Remainder,
}

impl Part {
    const READ: usize = 6;
    const ALL: usize = 7;
    /// The parts that are subtracted to get the remainder.
    const PARTS: std::ops::Range<usize> = Part::Service as usize..Part::Remainder as usize;
}

/// Microseconds per request, by part.
type ByPart = [f64; Part::ALL];

/// Half a block, or a whole one that lost a window: an arm paired with the baseline.
#[derive(Clone, Copy, Debug)]
struct Piece {
    arm: ByPart,
    baseline: ByPart,
}

/// All pieces that an arm and the baseline share.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    by_launch: BTreeMap<u32, Vec<Piece>>,
    /// The parts that both have readings of.
    known: [bool; Part::READ],
}

/// One part over all pieces.
#[derive(Clone, Debug)]
pub(super) struct OfPart {
    /// The mean over launches, each with the same weight.
    pub(super) baseline_us: f64,
    pub(super) arm_us: f64,
    /// Arm − baseline of each piece, by launch.
    pub(super) differences: BTreeMap<u32, Vec<f64>>,
}

impl Pieces {
    /// The launches.
    pub(super) fn launches(&self) -> impl Iterator<Item = u32> + '_ {
        self.by_launch.keys().copied()
    }

    /// A part; `None` when either side has no reading of it.
    pub(super) fn part(&self, part: Part) -> Option<OfPart> {
        let index = part as usize;
        if self.known.get(index) == Some(&false) {
            return None;
        }
        let over_launches = |of: fn(&Piece) -> &ByPart| {
            let launches = self.by_launch.values();
            mean(launches.filter_map(|pieces| mean(pieces.iter().map(|p| of(p)[index]))))
        };
        let difference = |piece: &Piece| piece.arm[index] - piece.baseline[index];
        Some(OfPart {
            baseline_us: over_launches(|piece| &piece.baseline)?,
            arm_us: over_launches(|piece| &piece.arm)?,
            differences: self
                .by_launch
                .iter()
                .map(|(launch, pieces)| (*launch, pieces.iter().map(difference).collect()))
                .collect(),
        })
    }

    /// A part in one launch: the arm's and the baseline's.
    pub(super) fn of_launch(&self, launch: u32, part: Part) -> Option<(f64, f64)> {
        let index = part as usize;
        if self.known.get(index) == Some(&false) {
            return None;
        }
        let pieces = self.by_launch.get(&launch)?;
        let side = |of: fn(&Piece) -> &ByPart| mean(pieces.iter().map(|piece| of(piece)[index]));
        side(|piece| &piece.arm).zip(side(|piece| &piece.baseline))
    }
}

/// The pieces of an arm paired with the baseline; `None` when they share none, and when the
/// machine's CPU was not read.
pub(super) fn pieces(run: &Run<'_>, arm: ArmIndex) -> Option<Pieces> {
    let sides = [arm, ArmIndex::BASELINE].map(|of| Side {
        is_attached: has_agents_beside(run, of),
    });
    let ever = |side: usize, of: ArmIndex, part: usize| {
        let mut windows = run.blocks.windows_of(of);
        windows.any(|window| sides[side].readings(window)[part].is_some())
    };
    let known = std::array::from_fn(|part| ever(0, arm, part) && ever(1, ArmIndex::BASELINE, part));
    let mut by_launch: BTreeMap<u32, Vec<Piece>> = BTreeMap::new();
    let mut take = |launch: u32, windows: [&mut dyn Iterator<Item = &Measured>; 2]| {
        let [of_arm, of_baseline] = windows;
        let arm = sides[0].mean(of_arm, known);
        let both = arm.zip(sides[1].mean(of_baseline, known));
        let piece = both.map(|(arm, baseline)| Piece { arm, baseline });
        by_launch.entry(launch).or_default().extend(piece);
    };
    match run.rules.order {
        Order::Mirrored => {
            for half in run.blocks.halves(arm) {
                let (of_arm, of_baseline) = (half.arm_windows, half.against_windows);
                take(half.launch, [&mut of_arm.iter(), &mut of_baseline.iter()]);
            }
        }
        // No block has both arms: a launch is one piece.
        Order::Sequential => {
            for launch in run.records.windows.launches.iter().copied() {
                let of = |arm| run.blocks.windows_of(arm);
                let of = |arm| of(arm).filter(|window| window.launch == launch);
                take(launch, [&mut of(arm), &mut of(ArmIndex::BASELINE)]);
            }
        }
    }
    by_launch.retain(|_, pieces| !pieces.is_empty());
    let is_known = known[Part::Machine as usize] && !by_launch.is_empty();
    is_known.then_some(Pieces { by_launch, known })
}

/// Whether agents are attached in an arm's windows, its own or those that watch another arm.
fn has_agents_beside(run: &Run<'_>, arm: ArmIndex) -> bool {
    let arm = &run.records.manifest.arms[arm.get()];
    !arm.agents.is_empty() || arm.bystander_of.is_some()
}

/// How one arm's windows are read.
#[derive(Clone, Copy, Debug)]
struct Side {
    is_attached: bool,
}

impl Side {
    /// Microseconds per request, by part; `None` where there is no reading.
    fn readings(self, window: &Measured) -> [Option<f64>; Part::READ] {
        let us = |ns: f64| ns / 1e3 / window.completed as f64;
        let exact = |ns: Option<std::num::NonZeroU64>| ns.map(|ns| us(ns.get() as f64));
        let has_requests = window.completed > 0;
        let agent = match self.is_attached {
            true => window.agent_cpu.ns().map(us),
            false => Some(0.0),
        };
        [
            exact(window.machine_cpu_ns),
            exact(window.cpu_ns),
            agent,
            exact(window.generator_cpu_ns),
            window.windage_cpu.ns().map(us),
            window.kernel_threads_cpu.ns().map(us),
        ]
        .map(|us| us.filter(|_| has_requests))
    }

    /// The means over windows that have a reading of every known part; `None` without any.
    fn mean(
        self,
        windows: &mut dyn Iterator<Item = &Measured>,
        known: [bool; Part::READ],
    ) -> Option<ByPart> {
        let mut sums = [0.0; Part::ALL];
        let mut count = 0.0;
        for window in windows {
            let readings = self.readings(window);
            let mut parts = readings.iter().zip(known);
            if parts.any(|(reading, is_known)| is_known && reading.is_none()) {
                continue;
            }
            for (sum, (reading, is_known)) in sums.iter_mut().zip(readings.iter().zip(known)) {
                *sum += reading.filter(|_| is_known).unwrap_or(0.0);
            }
            count += 1.0;
        }
        sums[Part::Remainder as usize] =
            sums[Part::Machine as usize] - sums[Part::PARTS].iter().sum::<f64>();
        (count > 0.0).then(|| sums.map(|sum| sum / count))
    }
}
