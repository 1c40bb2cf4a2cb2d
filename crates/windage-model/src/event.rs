//! What just happened. Events go to displays only: nothing is computed from them.

use std::path::PathBuf;
use std::time::Duration;

use crate::{ArmId, Warning};

/// Something that a display may show.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A command of the plan's build step starts.
    Building {
        /// As it stands in the plan.
        command: String,
    },
    /// The run starts.
    Planned {
        /// Expected duration, without launches.
        lasts: Duration,
        /// Whether it may end earlier.
        at_most: bool,
    },
    /// A round starts.
    RoundStarted {
        /// From 0.
        round: u32,
        /// In all.
        rounds: u32,
    },
    /// A service is started or, if already running, looked for.
    Launching {
        /// The arm it belongs to.
        arm: ArmId,
        /// Its name in the plan.
        service: String,
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
    /// The agents of an arm are started.
    Attaching {
        /// The arm.
        arm: ArmId,
    },
    /// They are ready.
    Attached {
        /// The arm.
        arm: ArmId,
        /// From their start until ready.
        after: Duration,
        /// BPF programs that came with them; `None` when they can't be listed.
        programs: Option<usize>,
    },
    /// The agents are detached.
    Detached {
        /// The arm.
        arm: ArmId,
        /// Since they were asked to stop.
        after: Duration,
    },
    /// Arms get load that is not measured.
    WarmingUp {
        /// For how long in all.
        lasts: Duration,
    },
    /// Every arm is up and warm: blocks follow.
    Measuring,
    /// A block was measured and is on disk.
    BlockDone {
        /// Blocks done, over the whole run.
        done: u32,
        /// Blocks in all.
        blocks: u32,
        /// Estimated time until everything is taken down.
        left: Duration,
        /// Whether the run may end earlier, at a time not yet known.
        at_most: bool,
    },
    /// A window or a block of turns has a warning: it is void, or the hypervisor took its core away.
    Warned {
        /// The window's arm; `None` for a block of turns, which all arms share.
        arm: Option<ArmId>,
        /// What.
        warning: Warning,
    },
    /// In the last windows tasks waited for a core much longer than usual.
    PressureSpike {
        /// The share of time in which some task waited for a core.
        share: f64,
        /// The same share in the windows before.
        usual: f64,
    },
    /// The last window of a round is over; waiting for deferred work.
    Draining {
        /// For how long.
        lasts: Duration,
    },
    /// A profiler watches an arm, in a launch of its own after the last round.
    Profiling {
        /// The arm.
        arm: ArmId,
        /// The profiler.
        with: String,
        /// For how long.
        lasts: Duration,
    },
    /// The services of a round are being ended.
    TakingDown,
    /// A resumed run found its record damaged. Shown even where nothing else is.
    RecordDamaged {
        /// What is lost.
        warnings: Vec<Warning>,
        /// Copies of the damaged files, made before anything was written.
        copies: Vec<PathBuf>,
    },
    /// Worth reporting, but nothing is stopped.
    Note {
        /// The line.
        text: String,
    },
}
