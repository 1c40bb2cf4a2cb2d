//! Where a comparison's scatter comes from.

use windage_model::ArmIndex;
use windage_stats::{Advice, Costs, Launches, advice, components, robust_sd};

use crate::VarianceComponents;
use crate::blocks::{Blocks, Logs, Reading};
use crate::records::Records;

/// Durations of a run's parts, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pace {
    /// The cost of a launch and of a block; `None` without a second launch to estimate them from.
    pub(crate) costs: Option<Costs>,
    /// The whole run so far; `None` while nothing was measured.
    pub(crate) whole_s: Option<f64>,
}

impl Pace {
    /// Computed from when launches began and how long their windows and turns took, settle and
    /// readings included. A block is one of windows.
    pub(crate) fn of(records: &Records, blocks: u32) -> Pace {
        let launches = &records.launches;
        let windows_s = |launch: u32| records.ledgers.stretches_ns(launch) as f64 / 1e9;
        let measured_s = |launch: u32| windows_s(launch) + records.turns.lasted_s(launch);
        let around: Vec<f64> = launches
            .windows(2)
            .map(|pair| {
                let between_ns = pair[1].started_ns.saturating_sub(pair[0].started_ns);
                (between_ns as f64 / 1e9 - measured_s(pair[0].launch)).max(0.0)
            })
            .collect();
        let launch_s = around.iter().sum::<f64>() / around.len().max(1) as f64;
        let sum_s = |of: &dyn Fn(u32) -> f64| launches.iter().map(|l| of(l.launch)).sum::<f64>();
        let (all_s, of_windows_s) = (sum_s(&measured_s), sum_s(&windows_s));
        Pace {
            costs: (!around.is_empty() && blocks > 0 && launch_s > 0.0).then(|| Costs {
                launch_s,
                block_s: of_windows_s / f64::from(blocks),
            }),
            whole_s: (all_s > 0.0).then_some(all_s + launch_s * launches.len() as f64),
        }
    }
}

/// The scatter of log ratios by source.
pub(crate) fn of(
    launches: &Launches,
    blocks: &Blocks<'_>,
    arm: ArmIndex,
    reading: Reading,
    pace: Pace,
) -> Option<VarianceComponents> {
    let ratios = launches.blocks();
    let found = components(launches, window_variance(blocks, arm, reading))?;
    let rounds = launches.len();
    // Costs and advice are in blocks of the run, each of which gives two ratios for every arm in
    // it.
    let of_a_block = ratios as f64 / f64::from(blocks.count().max(1));
    let costs = pace.costs.filter(|_| rounds > 1).map(|costs| Costs {
        block_s: costs.block_s / of_a_block,
        ..costs
    });
    let advised = costs.map(|costs| advice(&found, costs, rounds, ratios / rounds.max(1)));
    Some(VarianceComponents {
        launch_sd: found.launch_sd,
        block_sd: found.block_sd,
        window_sd: found.window_sd,
        advice: advised.map(|advice| in_blocks(advice, of_a_block)),
    })
}

fn in_blocks(advice: Advice, ratios_of_a_block: f64) -> Advice {
    let blocks = |ratios: usize| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a positive number of blocks"
        )]
        let blocks = (ratios as f64 / ratios_of_a_block).ceil() as usize;
        blocks.max(1)
    };
    match advice {
        Advice::MoreRounds { blocks_per_round } => Advice::MoreRounds {
            blocks_per_round: blocks(blocks_per_round),
        },
        Advice::MoreBlocks { blocks_per_round } => Advice::MoreBlocks {
            blocks_per_round: blocks_per_round.map(blocks),
        },
        Advice::Balanced | Advice::LaunchesUnknown => advice,
    }
}

/// The variance of a log ratio that windows explain, from the differences between windows of one
/// arm within a block. It is estimated robustly, as the location of ratios is.
fn window_variance(blocks: &Blocks<'_>, arm: ArmIndex, reading: Reading) -> Option<f64> {
    let mut deviations = Vec::new();
    let (mut shares, mut pairs) = (0.0, 0u32);
    for pair in blocks.pairs(arm) {
        deviations.extend(deviations_of(pair.arm, reading));
        deviations.extend(deviations_of(pair.against, reading));
        let ratios = if pair.is_whole { 2.0 } else { 1.0 };
        shares += ratios / pair.arm.len() as f64 + ratios / pair.against.len() as f64;
        pairs += 1;
    }
    let of_a_window = robust_sd(&deviations)?.powi(2);
    Some(of_a_window * shares / f64::from(pairs))
}

/// The deviations of the logarithms of an arm's windows in a block from their mean, scaled up to
/// their scatter about the true mean.
fn deviations_of(windows: &[Logs], reading: Reading) -> impl Iterator<Item = f64> + '_ {
    let logs = move || windows.iter().filter_map(move |w| w.get(reading));
    let count = logs().count() as f64;
    let mean = logs().sum::<f64>() / count;
    let widened = (count / (count - 1.0)).sqrt();
    logs()
        .filter(move |_| count > 1.0)
        .map(move |log| (log - mean) * widened)
}
