//! Compares an arm with the baseline in one metric: from windows and launches to a location with
//! its scatter. `conclude` draws the conclusions.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Interval, Order, Warning};
use windage_stats::{
    Confidence, Launches, TwoLevel, TwoLevelError, UnitKind, mean_error, proportion,
    proportion_difference, two_level, unpaired,
};

use crate::blocks::{Blocks, Logs, Pair, Reading};
use crate::scatter::{self, Pace};
use crate::totals::TotalEffect;

/// What all comparisons of a run share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) order: Order,
    pub(crate) margin: f64,
    /// Whether the run could stop early: then only intervals that hold at every look are valid.
    pub(crate) sequence: bool,
    /// How long launches and blocks took.
    pub(crate) pace: Pace,
}

/// Figures of both sides, and the material for the interval of their difference.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// The baseline's own figure, descriptive.
    pub(crate) baseline: Option<f64>,
    /// The arm's own figure, descriptive.
    pub(crate) arm: Option<f64>,
    /// The arm's own figure over launches; `None` where it is not known by launch.
    pub(crate) own: Option<TwoLevel>,
    /// The location of log ratios (or of plain differences) with its scatter.
    pub(crate) location: Result<TwoLevel, TwoLevelError>,
    /// Whether `location` is of log ratios.
    pub(crate) scale: Scale,
    /// The location of differences in the metric's unit, over launches; `None` for a single launch,
    /// and where `location` is of differences itself.
    pub(crate) absolute: Option<TwoLevel>,
    /// The counts of which the metric is a share: its interval is no narrower than theirs, because
    /// equal counts in several launches do not make a share exact.
    pub(crate) counts: Option<Counts>,
    /// The effect on totals by launch, where the metric is one: then intervals come from it.
    pub(crate) totals: Option<TotalEffect>,
    /// Windows of the arm that were used.
    pub(crate) windows: usize,
    /// Launches that were used.
    pub(crate) rounds: usize,
    /// Where the scatter comes from; `None` for values that exist once per launch.
    pub(crate) scatter: Option<crate::VarianceComponents>,
    /// The values behind the location; empty for values that exist once per launch.
    pub(crate) ratios: Ratios,
    /// Warnings about this comparison in particular.
    pub(crate) warnings: Vec<Warning>,
}

impl Comparison {
    /// Leaves out its figures: no window is usable for it.
    pub(crate) fn leave_out(&mut self) {
        *self = Comparison {
            baseline: None,
            arm: None,
            own: None,
            location: Err(TwoLevelError::NoValues),
            scale: self.scale,
            absolute: None,
            counts: None,
            totals: None,
            windows: 0,
            rounds: 0,
            scatter: None,
            ratios: Ratios::new(),
            warnings: Vec::new(),
        };
    }
}

/// How often something happened to an arm and to the baseline, and out of how many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub(crate) arm: [u64; 2],
    /// `None` where it can't happen to the baseline.
    pub(crate) baseline: Option<[u64; 2]>,
}

impl Counts {
    /// For the arm's own share.
    pub(crate) fn of_arm_alone(self) -> Counts {
        Counts {
            baseline: None,
            ..self
        }
    }

    /// The interval, widened to that of the counts.
    pub(crate) fn widened(self, found: Interval) -> Interval {
        let at = Confidence::of(found.confidence).unwrap_or(Confidence::P95);
        match self.extent(at) {
            Some((below, above)) => Interval {
                low: found.low.min(found.estimate - below),
                high: found.high.max(found.estimate + above),
                ..found
            },
            None => found,
        }
    }

    /// How far the difference extends below and above its estimate.
    fn extent(self, at: Confidence) -> Option<(f64, f64)> {
        let [hits, of] = self.arm;
        if let Some(baseline) = self.baseline {
            return proportion_difference(self.arm, baseline, at);
        }
        let (low, high) = proportion(hits, of, at)?;
        let share = hits as f64 / of as f64;
        // Of nothing at all, Wilson's upper end is somewhat too low: this one is exact.
        let beyond = (1.0 - at.get()) / 2.0;
        let above_nothing = 1.0 - beyond.powf(1.0 / of as f64);
        let high = if hits == 0 {
            high.max(above_nothing)
        } else {
            high
        };
        Some((share - low, high - share))
    }
}

/// The scale of a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// ln(arm / baseline).
    LogRatio,
    /// arm − baseline, in the metric's unit: for metrics whose baseline may be zero.
    Difference,
}

/// Compares a value that every window has, within blocks.
///
/// `offset` gives, per launch, what is known beyond its windows, as a log ratio.
pub(crate) fn by_window(
    blocks: &Blocks<'_>,
    arm: ArmIndex,
    rules: Rules,
    reading: Reading,
    offset: impl Fn(u32) -> f64,
) -> Comparison {
    let of_both = Comparison {
        baseline: blocks.mean(ArmIndex::BASELINE, reading),
        arm: blocks.mean(arm, reading),
        own: own(&blocks.by_launch(arm, reading)),
        location: Err(TwoLevelError::NoValues),
        scale: Scale::LogRatio,
        absolute: None,
        counts: None,
        totals: None,
        windows: blocks.windows_with(arm, reading),
        rounds: 0,
        scatter: None,
        ratios: Ratios::new(),
        warnings: Vec::new(),
    };
    match rules.order {
        Order::Mirrored => {
            let ratios = ratios(blocks.halves(arm), reading);
            let launches = launches(&ratios, offset);
            let location = two_level(&launches);
            let baselines = blocks.by_launch(ArmIndex::BASELINE, reading);
            Comparison {
                absolute: in_unit(location.as_ref().ok(), ratios.keys(), &baselines),
                location,
                rounds: launches.len(),
                scatter: scatter::of(&launches, blocks, arm, reading, rules.pace),
                ratios,
                ..of_both
            }
        }
        Order::Sequential => {
            let (location, rounds) = one_after_another(blocks, arm, reading, offset);
            Comparison {
                location,
                rounds,
                ..of_both
            }
        }
    }
}

/// Log ratios of an arm to the arm it is compared with, by launch, in time order: two per mirrored
/// block.
pub(crate) type Ratios = BTreeMap<u32, Vec<f64>>;

/// A mirrored block has every arm once in each half. The halves are compared separately: a change
/// of regime within the block then spoils one ratio, not the block, and a robust location excludes
/// it. A drift raises one half and lowers the other; the long-run variance accounts for that. A
/// block that lost a window is compared as a whole.
pub(crate) fn ratios<'a>(halves: impl Iterator<Item = Pair<'a>>, reading: Reading) -> Ratios {
    let mut ratios = Ratios::new();
    for half in halves {
        if let Some(ratio) = log_ratio(&half, reading) {
            ratios.entry(half.launch).or_default().push(ratio);
        }
    }
    ratios
}

/// ln(arm / the arm it is compared with) from the means of logarithms; `None` when a side has no
/// value.
fn log_ratio(half: &Pair<'_>, reading: Reading) -> Option<f64> {
    Some(mean_log(half.arm, reading)? - mean_log(half.against, reading)?)
}

pub(crate) fn launches(ratios: &Ratios, offset: impl Fn(u32) -> f64) -> Launches {
    let mut launches = Launches::default();
    for (&launch, ratios) in ratios {
        launches.push(ratios.clone(), offset(launch));
    }
    launches
}

/// Sequential order: no block has both arms, as in published measurements. The interval is the one
/// that such a measurement would print.
fn one_after_another(
    blocks: &Blocks<'_>,
    arm: ArmIndex,
    reading: Reading,
    offset: impl Fn(u32) -> f64,
) -> (Result<TwoLevel, TwoLevelError>, usize) {
    let mut logs: BTreeMap<u32, [Vec<f64>; 2]> = BTreeMap::new();
    for (side, of) in [arm, ArmIndex::BASELINE].into_iter().enumerate() {
        for window in blocks.windows_of(of) {
            let log = reading.of(window).map(f64::ln);
            logs.entry(window.launch).or_default()[side].extend(log);
        }
    }
    let mut launches = Launches::default();
    let mut alone = Err(TwoLevelError::NoValues);
    for (launch, [of_arm, of_baseline]) in logs {
        match unpaired(&of_arm, &of_baseline) {
            Ok(mut difference) => {
                difference.estimate += offset(launch);
                launches.push(vec![difference.estimate], 0.0);
                alone = Ok(difference);
            }
            Err(why) if launches.is_empty() => alone = Err(why),
            Err(_) => {}
        }
    }
    let rounds = launches.len();
    (
        if rounds > 1 {
            two_level(&launches)
        } else {
            alone
        },
        rounds,
    )
}

/// Compares a value that exists once per launch, keyed by launch.
pub(crate) fn by_launch(
    arm: &BTreeMap<u32, f64>,
    baseline: &BTreeMap<u32, f64>,
    scale: Scale,
    windows: usize,
) -> Comparison {
    let (mut launches, mut differences) = (Launches::default(), Launches::default());
    for (launch, &of_arm) in arm {
        let Some(&of_baseline) = baseline.get(launch) else {
            continue;
        };
        match scale {
            Scale::LogRatio if of_arm > 0.0 && of_baseline > 0.0 => {
                launches.push(vec![(of_arm / of_baseline).ln()], 0.0);
                differences.push(vec![of_arm - of_baseline], 0.0);
            }
            Scale::LogRatio => {}
            Scale::Difference => launches.push(vec![of_arm - of_baseline], 0.0),
        }
    }
    Comparison {
        baseline: mean(baseline.values().copied()),
        arm: mean(arm.values().copied()),
        own: own(arm),
        rounds: launches.len(),
        location: two_level(&launches),
        absolute: match scale {
            Scale::LogRatio => two_level(&differences).ok().filter(|of| of.launches > 1),
            Scale::Difference => None,
        },
        counts: None,
        totals: None,
        scale,
        windows,
        scatter: None,
        ratios: Ratios::new(),
        warnings: Vec::new(),
    }
}

/// The mean of an arm's own figures, of which there is one a launch; `None` with fewer than two.
pub(crate) fn own(by_launch: &BTreeMap<u32, f64>) -> Option<TwoLevel> {
    let mut launches = Launches::default();
    for &figure in by_launch.values() {
        launches.push(vec![figure], 0.0);
    }
    two_level(&launches).ok().filter(|of| of.launches > 1)
}

/// The location of differences in the metric's unit: each launch's ratio, times the baseline's mean
/// in that launch. The baseline's own scatter between launches is then part of the interval. `None`
/// for a single launch, which has no such scatter.
pub(crate) fn in_unit<'a>(
    ratios: Option<&TwoLevel>,
    launches: impl ExactSizeIterator<Item = &'a u32>,
    baselines: &BTreeMap<u32, f64>,
) -> Option<TwoLevel> {
    let ratios = ratios.filter(|of| of.units.kind == UnitKind::Launches)?;
    // A launch without a usable value has no location: then it is unknown which one is missing.
    if launches.len() != ratios.units.values.len() {
        return None;
    }
    let mut differences = Launches::default();
    for (launch, log) in launches.zip(&ratios.units.values) {
        differences.push(vec![log.exp_m1() * baselines.get(launch)?], 0.0);
    }
    two_level(&differences).ok()
}

/// The plain mean of values by launch: over launches, each with the same weight, or over the values
/// of the only launch. A trimmed mean would be narrower, but with plain means the differences of
/// parts add up to the difference of the whole.
pub(crate) fn mean_by_launch(values: &BTreeMap<u32, Vec<f64>>) -> Result<TwoLevel, TwoLevelError> {
    let mut launches = Launches::default();
    let mut all = values.values();
    if let (Some(only), None) = (all.next(), all.next())
        && let Some(error) = mean_error(only)
    {
        launches.push(only.clone(), 0.0);
        return Ok(TwoLevel {
            estimate: only.iter().sum::<f64>() / only.len() as f64,
            standard_error: error.standard_error,
            degrees_of_freedom: error.degrees_of_freedom,
            within_launch_standard_error: Some(error.standard_error),
            within_launch_degrees_of_freedom: error.degrees_of_freedom,
            ..two_level(&launches)?
        });
    }
    for of_launch in values.values() {
        launches.push(mean(of_launch.iter().copied()).into_iter().collect(), 0.0);
    }
    two_level(&launches)
}

fn mean_log(windows: &[Logs], reading: Reading) -> Option<f64> {
    mean(windows.iter().filter_map(|w| w.get(reading)))
}

pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0u64);
    for value in values.filter(|v| v.is_finite()) {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / count as f64)
}
