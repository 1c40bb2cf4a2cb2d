//! What just happened. Events go to displays and nowhere else: nothing is computed from them.

use std::time::Duration;

use crate::{ArmId, Doubt};

/// Something that a display may show.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A command of the plan's build step starts.
    Building {
        /// As it stands in the plan.
        command: String,
    },
    /// A short run before the run starts.
    Piloting {
        /// How long it will take, launches apart.
        lasts: Duration,
    },
    /// The run starts.
    Planned {
        /// How long it will take in all, launches apart.
        lasts: Duration,
        /// Whether it may end before that.
        at_most: bool,
    },
    /// A round starts.
    RoundStarted {
        /// From 0.
        round: u32,
        /// In all.
        rounds: u32,
    },
    /// A service is up.
    ServiceReady {
        /// The arm it belongs to.
        arm: ArmId,
        /// Its name in the plan.
        service: String,
        /// From launch until ready.
        after: Duration,
    },
    /// Arms get load that is not measured.
    WarmingUp {
        /// For how long in all.
        lasts: Duration,
    },
    /// A block was measured and is on disk.
    BlockDone {
        /// Blocks done, over the whole run.
        done: u32,
        /// Blocks in all.
        blocks: u32,
        /// Time left until everything is taken down, as far as can be told.
        left: Duration,
        /// Whether the run may end before that and it can't be told yet when.
        at_most: bool,
    },
    /// Something speaks against a window.
    Doubted {
        /// The window's arm.
        arm: ArmId,
        /// What.
        doubt: Doubt,
    },
    /// The last window of a round is over; deferred work is waited for.
    Draining {
        /// For how long.
        lasts: Duration,
    },
    /// The services of a round are being ended.
    TakingDown,
    /// Something worth a line that stops nothing.
    Note {
        /// The line.
        text: String,
    },
}
