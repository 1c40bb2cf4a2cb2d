use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use windage_plan::{Design, Interleaving, OnDeath, Turn};

pub(super) fn design(order: Order, length: Length, seed: u64) -> Design {
    Design {
        interleaving: None,
        window: Duration::from_millis(100),
        settle: Duration::from_millis(10),
        rounds: 3,
        length,
        stop: None,
        warmup: Duration::ZERO,
        warmup_rate_per_s: None,
        drain: Duration::ZERO,
        idle: Duration::ZERO,
        order,
        seed,
        margin: 0.005,
        on_death: OnDeath::End,
        agent_stretch: Duration::from_secs(4),
        agent_warmup: Duration::ZERO,
        bpf_statistics: Duration::ZERO,
    }
}

fn mirrored(arms: u16, seed: u64) -> RunOrder {
    RunOrder::new(&design(Order::Mirrored, Length::Blocks(12), seed), arms, 1)
}

#[test]
fn time_becomes_blocks() {
    let minute = Length::MeasuringTime(Duration::from_secs(60));
    // Baseline and control: windows of 112 ms, four in a block, three rounds.
    let order = RunOrder::new(&design(Order::Mirrored, minute, 1), 2, 1);
    assert_eq!((order.block(0).len(), order.blocks_per_round()), (4, 44));
    // A time shorter than a block still gives one block.
    let instant = Length::MeasuringTime(Duration::from_millis(1));
    assert_eq!(
        RunOrder::new(&design(Order::Mirrored, instant, 1), 9, 1).blocks_per_round(),
        1
    );
}

#[test]
fn loads_take_turns_by_round_and_share_the_time() {
    let minute = design(
        Order::Mirrored,
        Length::MeasuringTime(Duration::from_secs(60)),
        1,
    );
    let (one, two) = (RunOrder::new(&minute, 2, 1), RunOrder::new(&minute, 2, 2));
    assert_eq!((one.rounds(), one.blocks_per_round()), (3, 44));
    assert_eq!((two.rounds(), two.blocks_per_round()), (6, 22));
}

/// An order whose rounds have two blocks of windows, with this share of the time for them.
fn interleaved(isolated: f64) -> RunOrder {
    let mut design = design(Order::Mirrored, Length::Blocks(2), 1);
    // Baseline and control: two blocks of four windows last 896 ms.
    design.interleaving = Some(Interleaving {
        turn: Turn::Time(Duration::from_millis(10)),
        block: Duration::from_millis(300),
        isolated,
    });
    RunOrder::new(&design, 2, 1)
}

#[test]
fn blocks_of_turns_follow_those_of_windows() {
    // In each round: blocks of windows, then blocks of turns.
    let table = [
        (0.5, 2, 3, "as long in turns"),
        (0.25, 2, 9, "three times as long"),
        (0.9, 2, 1, "at least one block of turns"),
        (0.0, 0, 2, "turns alone: the plan's number"),
    ];
    for (isolated, windows, turns, why) in table {
        let order = interleaved(isolated);
        assert_eq!(order.turn_blocks_per_round(), turns, "{why}");
        assert_eq!(order.blocks_per_round(), windows + turns, "{why}");
        for block in 0..3 * (windows + turns) {
            let is_of_turns = block % (windows + turns) >= windows;
            assert_eq!(order.is_of_turns(block), is_of_turns, "{why}: {block}");
            assert_eq!(order.turns(block).is_some(), is_of_turns, "{why}: {block}");
            assert_eq!(order.block(block).is_empty(), is_of_turns, "{why}: {block}");
        }
    }
}

#[test]
fn the_rest_of_a_round_is_counted_by_kind() {
    let blocks = |windows, first_turns, turns| Blocks {
        windows,
        first_turns,
        turns,
    };
    let order = interleaved(0.5);
    assert_eq!(order.in_a_round(), blocks(2, 1, 2));
    let left = [
        (5, blocks(0, 0, 0), "a round is over"),
        (6, blocks(1, 1, 2), "one block of windows is done"),
        (7, blocks(0, 1, 2), "turns are next"),
        (8, blocks(0, 0, 2), "the first turns are done"),
        (9, blocks(0, 0, 1), "the last block"),
        (10, blocks(0, 0, 0), "another round is over"),
    ];
    for (done, expected, why) in left {
        assert_eq!(order.left_in_round(done), expected, "{why}");
    }
    let order = interleaved(0.0);
    assert_eq!(order.in_a_round(), blocks(0, 1, 1));
    assert_eq!(order.left_in_round(3), blocks(0, 0, 1), "turns alone");
    let order = mirrored(3, 1);
    assert_eq!(order.in_a_round(), blocks(12, 0, 0));
    assert_eq!(order.left_in_round(13), blocks(11, 0, 0), "windows alone");
}

#[test]
fn each_load_has_the_order_of_a_run_with_that_load_alone() {
    for (arms, blocks) in [(4, 1), (9, 1), (9, 5), (20, 2)] {
        let design = design(Order::Mirrored, Length::Blocks(blocks), 7);
        let alone = RunOrder::new(&design, arms, 1);
        let whole = RunOrder::new(&design, arms, 3);
        for round in 0..alone.rounds() {
            for load in 0..3 {
                for block in 0..blocks {
                    let in_whole = (round * 3 + load) * blocks + block;
                    assert_eq!(
                        whole.block(in_whole),
                        alone.block(round * blocks + block),
                        "{arms} arms, {blocks} blocks, round {round}, load {load}"
                    );
                }
            }
        }
    }
}

#[test]
fn sequential_measures_one_arm_after_another() {
    let order = RunOrder::new(&design(Order::Sequential, Length::Blocks(6), 1), 3, 1);
    let round = |round: u32| -> Vec<u16> {
        let first = round * order.blocks_per_round();
        (first..first + order.blocks_per_round())
            .flat_map(|block| order.block(block))
            .map(|arm| arm.0)
            .collect()
    };
    assert_eq!(round(0), [[0; 12], [1; 12], [2; 12]].concat());
    assert_eq!(round(1), round(0));
}

#[test]
fn the_baseline_is_repeated_about_as_the_root_of_the_others() {
    for (others, baselines) in [(1u16, 1), (4, 2), (6, 2), (7, 3)] {
        let block = mirrored(others + 1, 5).block(0);
        let count = block.iter().filter(|&&a| a == ArmIndex::BASELINE).count();
        assert_eq!(count, 2 * baselines, "{others} others");
    }
}

proptest! {
    #[test]
    fn blocks_are_mirrored_and_fair(arms in 2u16..40, seed: u64) {
        let order = mirrored(arms, seed);
        let cycle = order.parts();
        let mut seen: BTreeMap<ArmIndex, usize> = BTreeMap::new();
        for block in 0..cycle {
            let windows = order.block(block);
            let backwards: Vec<_> = windows.iter().rev().copied().collect();
            prop_assert_eq!(&windows, &backwards);
            prop_assert!(windows.contains(&ArmIndex::BASELINE));
            prop_assert!(windows.contains(&ArmIndex::CONTROL));
            for arm in windows {
                *seen.entry(arm).or_default() += 1;
            }
        }
        for arm in 2..arms {
            prop_assert_eq!(seen.get(&ArmIndex(arm)), Some(&2), "each treatment twice per cycle");
        }
    }

    #[test]
    fn the_seed_decides(arms in 3u16..20, seed: u64, block in 0u32..1000) {
        prop_assert_eq!(mirrored(arms, seed).block(block), mirrored(arms, seed).block(block));
    }
}

#[test]
fn in_a_square_every_arm_takes_every_position_by_its_share() {
    // Baseline and control; then treatments: with five other arms, the baseline comes twice.
    for (arms, windows) in [(2u16, 2usize), (3, 3), (5, 6), (6, 7), (8, 10)] {
        for seed in 0..20 {
            let order = mirrored(arms, seed);
            assert_eq!(order.square() as usize, windows, "{arms} arms");
            let blocks: Vec<_> = (0..order.square()).map(|b| order.block(b)).collect();
            let share = |arm: u16| blocks[0].iter().filter(|a| a.0 == arm).count() / 2;
            for place in 0..windows {
                for arm in 0..arms {
                    let there = blocks.iter().filter(|b| b[place].0 == arm).count();
                    assert_eq!(there, share(arm), "arm {arm} of {arms} at {place}");
                }
            }
        }
    }
}

#[test]
fn blocks_differ_from_one_another() {
    let order = mirrored(6, 3);
    let different = (0..20)
        .filter(|&b| order.block(b) != order.block(b + 1))
        .count();
    assert!(different > 10, "{different} of 20");
}
