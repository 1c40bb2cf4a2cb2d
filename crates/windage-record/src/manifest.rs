//! The manifest of a run, written once when it starts.

mod stored;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};
use windage_model::{
    ArmId, ArmIndex, Backend, Budget, Claim, Expected, LevelValue, LoadModel, Order, Revisions,
    Role, Until,
};

/// The format of a run directory, stored in its manifest and in its journal.
pub(crate) const FORMAT: u32 = 7;
/// The oldest format that is read. Later ones have further kinds of records, and nothing else.
const OLDEST: u32 = 5;

/// The formats that are read, in words.
pub(crate) const READABLE: &str = "formats 5 to 7";

/// Whether a run directory of this format can be read.
pub(crate) fn is_readable(format: u32) -> bool {
    (OLDEST..=FORMAT).contains(&format)
}

/// The manifest of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The version of Windage that wrote the run.
    pub windage: String,
    /// The run's id.
    pub run: String,
    /// The plan's name.
    pub plan: String,
    /// The plan's description of itself.
    pub about: Option<String>,
    /// The plan's folder, used again when the run is resumed.
    pub plan_folder: PathBuf,
    /// The [hash](Manifest::hash_of) of the resolved plan; `None` if the run was made by a version
    /// that did not record it.
    pub resolved_sha256: Option<String>,
    /// The command line that started the run, with secrets removed.
    pub command: String,
    /// When the run began, in nanoseconds since 1970 (UTC).
    pub started_unix_ns: u64,
    /// The seed of the run order.
    pub seed: u64,
    /// Every arm of the resolved plan, by index.
    pub arms: Vec<ManifestArm>,
    /// The load, which is the scope of every result; the first if there are several.
    pub load: LoadScope,
    /// Further loads: rounds take turns with all loads, beginning with the first.
    pub other_loads: Vec<LoadScope>,
    /// The most that arms may cost.
    pub budgets: Vec<Budget>,
    /// What was published about arms.
    pub claims: Vec<Claim>,
    /// The revisions that the run compares; `None` for most runs.
    pub revisions: Option<Revisions>,
    /// How the run measures.
    pub design: DesignScope,
}

/// An arm, as reports show it.
#[derive(Clone, Debug, PartialEq)]
pub struct ManifestArm {
    /// Its index in the resolved plan.
    pub index: ArmIndex,
    /// Its name for files.
    pub id: ArmId,
    /// Its name for people.
    pub name: String,
    /// The plan's description of it.
    pub about: Option<String>,
    /// Its role.
    pub role: Role,
    /// Levels of the plan's factors.
    pub levels: BTreeMap<String, LevelValue>,
    /// Expected telemetry; `None` when the plan has no `expect`.
    pub expected: Option<Expected>,
    /// How the receiver of its telemetry behaves.
    pub backend: Backend,
    /// The arm to which it adds a stage, if any.
    pub adds_to: Option<ArmIndex>,
    /// The arm that it repeats with processes and windows of its own, if any.
    pub same_as: Option<ArmIndex>,
    /// The agents attached for it, by their names in the plan; empty for most arms.
    pub agents: Vec<String>,
    /// Whether one of its agents says that it needs something of the kernel, such as BPF. Others may
    /// be any program.
    pub agents_have_needs: bool,
    /// The arm whose agents are attached, without watching this one, while it gets load, if any.
    pub bystander_of: Option<ArmIndex>,
    /// For an arm of the head revision, the same arm of the base.
    pub at_base: Option<ArmIndex>,
}

/// The load under which a result was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadScope {
    /// Its name among the run's loads; `None` if there is only one.
    pub regime: Option<String>,
    /// The load model.
    pub model: LoadModel,
    /// Intended starts per second (open loop).
    pub rate_per_s: Option<f64>,
    /// Connections per arm; 0 for a batch load.
    pub connections: u32,
    /// The request, such as `GET http://{app}/`; `None` for a batch load.
    pub request: Option<String>,
    /// Iterations per window (batch load); `None` when they are chosen per arm to give a window its
    /// length.
    pub iterations: Option<u64>,
}

/// How a run measures.
#[derive(Clone, Debug, PartialEq)]
pub struct DesignScope {
    /// The length of a window, in nanoseconds.
    pub window_ns: u64,
    /// Load before each window that is not measured, in nanoseconds.
    pub settle_ns: u64,
    /// Planned launches, under all loads together.
    pub rounds: u32,
    /// Planned blocks per round, of windows and of turns.
    pub blocks_per_round: u32,
    /// How arms take turns; `None` when all load is isolated.
    pub turns: Option<TurnScope>,
    /// Load on each arm before a round's first window, in nanoseconds.
    pub warmup_ns: u64,
    /// The wait for deferred work after a round's last window, in nanoseconds.
    pub drain_ns: u64,
    /// The idle stretch after the drain, in nanoseconds.
    pub idle_ns: u64,
    /// The order of arms.
    pub order: Order,
    /// The equivalence margin, a relative difference such as 0.005.
    pub margin: f64,
    /// Cores that an arm may keep busy at once.
    pub subject_cores: u32,
    /// The cores that the plan gives to each part.
    pub placement: Vec<Placed>,
    /// The stop rule, if any.
    pub stop: Option<StopScope>,
}

/// How arms take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnScope {
    /// Planned blocks of turns per round, after its blocks of windows.
    pub blocks_per_round: u32,
    /// The planned length of a block, in nanoseconds.
    pub block_ns: u64,
    /// The planned length of a turn, in nanoseconds; `None` for a turn of a number of requests.
    pub turn_ns: Option<u64>,
    /// The planned length of a turn in requests or iterations; `None` for a turn of a length in
    /// time.
    pub turn_requests: Option<u32>,
}

/// A part of a run, and its cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The part.
    pub part: RunPart,
    /// The cores, by number; `None` if the scheduler chooses.
    pub cpus: Option<Vec<u32>>,
}

/// A part of a run that can have cores of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunPart {
    /// The service with that name, in every arm.
    Service(String),
    /// The agent with that name.
    Agent(String),
    /// The generator's thread and the sink's.
    Generator,
    /// The sink in a batch run, which has no generator.
    Receiver,
}

impl RunPart {
    /// The kind of part, as written in files.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            RunPart::Service(_) => "service",
            RunPart::Agent(_) => "agent",
            RunPart::Generator => "generator",
            RunPart::Receiver => "receiver",
        }
    }

    /// Its name within its kind.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            RunPart::Service(name) | RunPart::Agent(name) => Some(name),
            RunPart::Generator | RunPart::Receiver => None,
        }
    }
}

/// A stop rule: the run ends once it has measured enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StopScope {
    /// When that is.
    pub until: Until,
    /// Maximum measuring time, in nanoseconds.
    pub within_ns: u64,
}

impl Manifest {
    /// The SHA-256 of a resolved plan, in hexadecimal digits.
    #[must_use]
    pub fn hash_of(resolved_text: &str) -> String {
        let digest = Sha256::digest(resolved_text);
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The number of loads that rounds take turns with.
    #[must_use]
    pub fn loads(&self) -> usize {
        1 + self.other_loads.len()
    }

    /// The run under one of its loads, as if there were no other. The first is 0.
    #[must_use]
    pub fn under_load(&self, index: usize) -> Manifest {
        let mut own = self.clone();
        let rounds = self.design.rounds / u32::try_from(self.loads()).unwrap_or(u32::MAX);
        own.design.rounds = rounds;
        own.other_loads.clear();
        if let Some(load) = index.checked_sub(1).and_then(|i| self.other_loads.get(i)) {
            own.load = load.clone();
        }
        own
    }

    /// When the run began, RFC 3339, UTC, to the second.
    #[must_use]
    pub fn started_rfc3339(&self) -> String {
        humantime::format_rfc3339_seconds(self.started()).to_string()
    }

    /// When the run began.
    #[must_use]
    pub fn started(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(self.started_unix_ns)
    }
}
