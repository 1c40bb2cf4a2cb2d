//! Blocks of turns that are special on purpose, compared with their ordinary neighbours.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Interval, Method, TurnOrder};
use windage_stats::{Confidence, Launches, two_level};

use crate::compare::mean;
use crate::turns::{KeptBlock, Turns};

/// The fewest special blocks from which a change is estimated.
const FEWEST_BLOCKS: usize = 4;

/// How much larger a value is in special blocks than in the ordinary blocks of the same launch
/// before and after them. A drift cancels where both are there. The sample is launches, as blocks of
/// a launch have their luck in common.
///
/// `None` with too few special blocks, or in a single launch.
pub(crate) fn less_neighbours(
    turns: &Turns,
    special: TurnOrder,
    at: Confidence,
    value: impl Fn(u32, &KeptBlock) -> Option<f64>,
) -> Option<Interval> {
    let mut launches = Launches::default();
    let mut compared = 0;
    let is_of_heaviest = special == TurnOrder::WithoutHeaviest;
    for (launch, blocks) in turns.by_launch() {
        let usable = |at: usize| {
            let block = &blocks[at];
            let is_usable = !block.is_void && (is_of_heaviest || !follows_one_without(blocks, at));
            value(launch, block).filter(|_| is_usable)
        };
        let values: Vec<Option<f64>> = (0..blocks.len()).map(usable).collect();
        let of_order = |at: usize, order| {
            let is_of_order = blocks.get(at).is_some_and(|block| block.order == order);
            values.get(at).copied().flatten().filter(|_| is_of_order)
        };
        let change = |at: usize| {
            let ordinary = |at| of_order(at, TurnOrder::Random);
            let neighbours = [at.checked_sub(1).and_then(ordinary), ordinary(at + 1)];
            Some(of_order(at, special)? - mean(neighbours.into_iter().flatten())?)
        };
        let changes: Vec<f64> = (0..blocks.len()).filter_map(change).collect();
        if let Some(change) = mean(changes.iter().copied()) {
            compared += changes.len();
            launches.push(vec![change], 0.0);
        }
    }
    let found = two_level(&launches).ok()?;
    let (low, high) = found.ends(at);
    (compared >= FEWEST_BLOCKS).then_some(Interval {
        estimate: found.estimate,
        low,
        high,
        confidence: at.get(),
        method: Method::MeanByLaunch,
    })
}

/// Whether the heaviest arm had no turns in the block before: what it had deferred was done there, so
/// it uses less in this one.
fn follows_one_without(blocks: &[KeptBlock], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| blocks.get(before));
    before.is_some_and(|block| block.order == TurnOrder::WithoutHeaviest)
}

/// The logarithm of an arm's CPU per request in a block, without its idle CPU: what a special block
/// changes in the number of its requests is no change of their cost. `None` when unknown.
pub(crate) fn log_cpu(
    block: &KeptBlock,
    arm: ArmIndex,
    launch: u32,
    idle_cores: &BTreeMap<u32, f64>,
) -> Option<f64> {
    let of = block.totals(arm)?;
    let idle_ns = idle_cores.get(&launch)? * of.time_ns;
    let per_request_ns = (of.cpu_ns - idle_ns) / of.requests;
    // Infinite without a request.
    (per_request_ns > 0.0 && per_request_ns.is_finite()).then(|| per_request_ns.ln())
}
