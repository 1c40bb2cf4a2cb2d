//! A block in which arms took turns: many turns of a few requests, and one reading of the counters
//! at each end.

use crate::{ArmIndex, Exchanges, MachineDelta, Soundness, Warning};

/// How the turns of a block were drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TurnOrder {
    /// Every group of turns has each arm once, in an order drawn anew.
    Random,
    /// As `Random`, without the arm that uses the most CPU.
    WithoutHeaviest,
    /// As `Random`, in turns of a quarter of the length.
    ShortTurns,
}

impl TurnOrder {
    /// The word used in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            TurnOrder::Random => "random",
            TurnOrder::WithoutHeaviest => "without_heaviest",
            TurnOrder::ShortTurns => "short_turns",
        }
    }
}

/// One arm in a block of turns.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmTurns {
    /// The arm.
    pub arm: ArmIndex,
    /// Its number of turns; 0 for an arm that was left out.
    pub turns: u32,
    /// CPU of its processes between the block's two readings, in nanoseconds; `None` when
    /// unreadable.
    pub cpu_ns: Option<u64>,
    /// Its processes still ran when the load had ended for 20 ms and the counters were read.
    pub is_awake: bool,
    /// What the generator exchanged with it. Lateness and stalls belong to all arms together and are
    /// in the block's own `exchanges`.
    pub exchanges: Exchanges,
}

/// A block in which arms took turns.
///
/// One reading ends a block and begins the next, so nothing falls between the blocks of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnBlock {
    /// The launch, counted from 0 over the whole run.
    pub launch: u32,
    /// The round, from 0.
    pub round: u32,
    /// The block, counted from 0 over the whole run, together with blocks of windows.
    pub block: u32,
    /// How its turns were drawn.
    pub order: TurnOrder,
    /// The reading that begins it, in nanoseconds since the run began.
    pub started_ns: u64,
    /// Between its two readings, in nanoseconds.
    pub lasted_ns: u64,
    /// The length of the load, in nanoseconds.
    pub load_ns: u64,
    /// The requests or iterations of a turn; for a batch load whose turns have the same time, that
    /// time in nanoseconds.
    pub turn: u64,
    /// Every arm of the run; an arm that had died has no turns.
    pub arms: Vec<ArmTurns>,
    /// All arms together, with the generator's lateness and stalls.
    pub exchanges: Exchanges,
    /// CPU of the generator's threads, in nanoseconds.
    pub generator_ns: u64,
    /// CPU of the sink's threads, in nanoseconds.
    pub sink_ns: u64,
    /// CPU of all of Windage, in nanoseconds.
    pub windage_ns: u64,
    /// What the machine did.
    pub machine: MachineDelta,
    /// Its warnings.
    pub warnings: Vec<Warning>,
}

impl TurnBlock {
    /// What the block has of an arm.
    #[must_use]
    pub fn of(&self, arm: ArmIndex) -> Option<&ArmTurns> {
        self.arms.iter().find(|turns| turns.arm == arm)
    }

    /// The block's validity.
    #[must_use]
    pub fn soundness(&self) -> Soundness {
        let of_warnings = self.warnings.iter().map(|w| w.code().soundness());
        of_warnings.max().unwrap_or(Soundness::Valid)
    }
}
