//! Stored form of a block of turns.

use serde::{Deserialize, Serialize};
use windage_model::{ArmIndex, ArmTurns, Exchanges, MachineDelta, TurnBlock, TurnOrder, Warning};

use super::stored::{Store, stored};

stored!(TurnBlock as StoredTurnBlock {
    launch: u32,
    round: u32,
    block: u32,
    order: TurnOrder,
    started_ns: u64,
    lasted_ns: u64,
    load_ns: u64,
    turn: u64,
    arms: Vec<ArmTurns>,
    exchanges: Exchanges,
    generator_ns: u64,
    sink_ns: u64,
    windage_ns: u64,
    machine: MachineDelta,
    warnings: Vec<Warning>,
});

stored!(ArmTurns as StoredArmTurns {
    arm: ArmIndex,
    turns: u32,
    cpu_ns: Option<u64>,
    is_awake: bool,
    exchanges: Exchanges,
});

#[derive(Serialize, Deserialize)]
pub(super) enum StoredTurnOrder {
    Random,
    /// No longer written: all groups of a block had the same order.
    Fixed,
    WithoutHeaviest,
    ShortTurns,
}

impl Store for TurnOrder {
    type Stored = StoredTurnOrder;

    fn store(&self) -> StoredTurnOrder {
        match self {
            TurnOrder::Random => StoredTurnOrder::Random,
            TurnOrder::WithoutHeaviest => StoredTurnOrder::WithoutHeaviest,
            TurnOrder::ShortTurns => StoredTurnOrder::ShortTurns,
        }
    }

    fn restore(stored: StoredTurnOrder) -> Result<TurnOrder, String> {
        Ok(match stored {
            StoredTurnOrder::Random | StoredTurnOrder::Fixed => TurnOrder::Random,
            StoredTurnOrder::WithoutHeaviest => TurnOrder::WithoutHeaviest,
            StoredTurnOrder::ShortTurns => TurnOrder::ShortTurns,
        })
    }
}
