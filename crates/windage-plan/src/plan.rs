//! The plan as the other crates see it: checked, with every default filled in.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use windage_model::{ArmId, Facility, LevelValue, Order, Role};

use crate::words::words;
use crate::{
    ArmBackend, Drops, Endpoint, Load, PlanError, Problems, RECEIVER_PLACEHOLDERS, SinkPlan, Stop,
    Switch, Template, print, resolve, wire,
};

/// A checked plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Names the run; letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// A sentence for the report.
    pub about: Option<String>,
    /// The plan's folder, absolute; relative paths start there.
    pub folder: PathBuf,
    /// The text as given.
    pub source: String,
    /// What is done before anything is launched.
    pub build: Build,
    /// In the order of launch; at least one is not shared.
    pub services: Vec<Service>,
    /// What runs beside the services, attached for some arms and gone for all others.
    pub agents: Vec<Agent>,
    /// What is asked of the subject.
    pub load: Load,
    /// Further loads under which the same arms are measured, in rounds of their own. They differ
    /// from the first in how much they ask for.
    pub other_loads: Vec<Load>,
    /// What is done with telemetry; `None` when no arm names a receiver.
    pub sink: Option<SinkPlan>,
    /// The baseline, its control, then the treatments in file order with sweeps expanded.
    pub arms: Vec<Arm>,
    /// How it is measured.
    pub design: Design,
    /// How it is found out where the time goes, after everything was measured; `None` when it is
    /// not asked.
    pub profile: Option<Profile>,
}

impl Plan {
    /// Reads and checks a plan file.
    ///
    /// # Errors
    ///
    /// When the file can't be read, or holds anything that `docs/FORMAT.md` doesn't allow.
    pub fn load(path: &Path, depth: Depth) -> Result<Plan, PlanError> {
        let unreadable = |source| PlanError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let absolute = std::path::absolute(path).map_err(unreadable)?;
        let text = std::fs::read_to_string(&absolute).map_err(unreadable)?;
        let folder = absolute.parent().unwrap_or(Path::new("/"));
        Plan::parse_for(depth, &text, &path.display().to_string(), folder)
    }

    /// Checks a plan's text. The templates, bodies, CSV files and recordings that it names are
    /// read from `folder`.
    ///
    /// # Errors
    ///
    /// When the text holds anything that `docs/FORMAT.md` doesn't allow; `file_name` is how the
    /// errors call it.
    pub fn parse(text: &str, file_name: &str, folder: &Path) -> Result<Plan, PlanError> {
        Plan::parse_for(Depth::Usual, text, file_name, folder)
    }

    /// The same for a run of some depth.
    ///
    /// # Errors
    ///
    /// As for [`parse`](Plan::parse).
    pub fn parse_for(
        depth: Depth,
        text: &str,
        file_name: &str,
        folder: &Path,
    ) -> Result<Plan, PlanError> {
        let folder = std::path::absolute(folder).map_err(|source| PlanError::Unreadable {
            path: folder.to_owned(),
            source,
        })?;
        wire::read(text)
            .map_err(|problem| vec![problem])
            .and_then(|file| resolve::resolve(&file, text, &folder, depth))
            .map_err(|list| PlanError::Invalid(Problems::new(file_name, text, list)))
    }

    /// The plan as TOML with every default spelled out and sweeps expanded, for the run
    /// directory. Parsed again in the same folder it gives an equal plan but for
    /// [`source`](Plan::source). What comes from the environment stays `$NAME`.
    #[must_use]
    pub fn to_resolved_toml(&self) -> String {
        print::resolved_toml(self)
    }

    /// All its loads, the first of them the plan's own.
    pub fn loads(&self) -> impl Iterator<Item = &Load> {
        std::iter::once(&self.load).chain(&self.other_loads)
    }

    /// The load of a round: the loads take turns.
    #[must_use]
    pub fn load_of_round(&self, round: u32) -> &Load {
        let turn = round as usize % (1 + self.other_loads.len());
        self.loads().nth(turn).unwrap_or(&self.load)
    }

    /// Those of [`RECEIVER_PLACEHOLDERS`] that the plan names, whole or by their port.
    pub fn receivers(&self) -> impl Iterator<Item = &'static str> {
        RECEIVER_PLACEHOLDERS.into_iter().filter(|name| {
            self.uses_placeholder(name) || self.uses_placeholder(&format!("{name}.port"))
        })
    }

    /// Whether any command, environment, file, switch or request names `{name}`.
    #[must_use]
    pub fn uses_placeholder(&self, name: &str) -> bool {
        let services = self.services.iter().flat_map(Service::templates);
        let arms = self.arms.iter().flat_map(Arm::templates);
        let agents = self
            .agents
            .iter()
            .flat_map(|agent| agent.service.templates());
        services
            .chain(agents)
            .chain(arms)
            .chain(self.load.templates())
            .any(|t| t.placeholders().any(|p| p == name))
    }
}

/// How much of a plan is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Depth {
    /// What `[design]` says.
    #[default]
    Usual,
    /// What `[design.thorough]` says, and under loads that are only for this.
    Thorough,
}

/// What is done before anything is launched.
#[derive(Clone, Debug, PartialEq)]
pub struct Build {
    /// Run one after another by `sh -c` in the plan's folder.
    pub commands: Vec<String>,
    /// The bound for each of them.
    pub within: Duration,
    /// What is measured → a command that prints its version, run like the others after them.
    pub versions: BTreeMap<String, String>,
}

/// A service's name, of `[a-z][a-z0-9_]*`; also the placeholder for its address.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServiceName(String);

impl ServiceName {
    /// The name, or `None` if it is not of `[a-z][a-z0-9_]*`.
    #[must_use]
    pub fn new(name: &str) -> Option<ServiceName> {
        let starts = name.starts_with(|c: char| c.is_ascii_lowercase());
        let goes_on = name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        (starts && goes_on).then(|| ServiceName(name.to_owned()))
    }

    /// A name that was reported as bad, so that what refers to it isn't reported as well.
    pub(crate) fn unchecked(name: &str) -> ServiceName {
        ServiceName(name.to_owned())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServiceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for ServiceName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// One service of the subject, or one that all arms share.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    /// Its name.
    pub name: ServiceName,
    /// Launched, or already running.
    pub origin: Origin,
    /// A fixed address; `None` means a free port on 127.0.0.1 (or that of [`Attach::Url`]).
    pub listen: Option<SocketAddr>,
    /// Names of TCP ports on 127.0.0.1 besides its own, `[a-z][a-z0-9_]*` each; which they are is
    /// found at each launch.
    pub ports: Vec<String>,
    /// The working directory; `None` means the plan's folder.
    pub cwd: Option<Template>,
    /// Added to the environment.
    pub env: BTreeMap<String, Template>,
    /// Rendered before launch.
    pub files: Vec<TemplateFile>,
    /// Program and arguments that look its configuration over before each launch; empty when
    /// nothing does.
    pub check: Vec<Template>,
    /// The cores that it is pinned to; `None` means all.
    pub cpus: Option<Vec<u32>>,
    /// One instance for all arms, not part of the subject's bill.
    pub shared: bool,
    /// When it counts as up.
    pub ready: Ready,
    /// How it is asked to end.
    pub stop: StopPolicy,
    /// The URL at which its metrics are read, if any are.
    pub metrics: Option<Template>,
    /// How it says itself what telemetry it dropped.
    pub drops: Vec<Drops>,
    /// Whether it needs an address: a placeholder, a readiness check or `listen` speaks of one.
    pub addressed: bool,
}

impl Service {
    fn templates(&self) -> impl Iterator<Item = &Template> {
        let command = match &self.origin {
            Origin::Command(words) => words.as_slice(),
            Origin::Attach(_) => &[],
        };
        let ready = match &self.ready.check {
            ReadyCheck::Http { path } => Some(path),
            _ => None,
        };
        let files = self.files.iter().map(|file| &file.text);
        command
            .iter()
            .chain(&self.check)
            .chain(&self.cwd)
            .chain(self.env.values())
            .chain(files)
            .chain(ready)
            .chain(&self.metrics)
    }
}

/// A program beside the services that watches them, such as an eBPF agent: started for the arms that
/// name it, and ended again.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// How it is launched, found ready and ended; never shared, never attached to.
    pub service: Service,
    /// What it needs of the kernel, looked at before anything is launched.
    pub needs: Vec<Facility>,
}

/// Where a service comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// Launched: program and arguments, no shell; at least the program.
    Command(Vec<Template>),
    /// Already running.
    Attach(Attach),
}

/// How a service that is already running is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attach {
    /// By its process.
    Pid(u32),
    /// By its control group's directory.
    Cgroup(PathBuf),
    /// By its systemd unit.
    Unit(String),
    /// By its address alone; its CPU and memory are out of reach.
    Url(Endpoint),
}

/// A file rendered before launch.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateFile {
    /// The template's path as the plan names it, relative to the plan's folder.
    pub template: PathBuf,
    /// Its text, read with the plan.
    pub text: Template,
    /// Where the rendered file goes, relative to the service's `{dir}`; never leads out of it.
    pub to: PathBuf,
}

/// When a service counts as up.
#[derive(Clone, Debug, PartialEq)]
pub struct Ready {
    /// What is looked at.
    pub check: ReadyCheck,
    /// For how long at most.
    pub within: Duration,
}

/// What tells that a service is up.
#[derive(Clone, Debug, PartialEq)]
pub enum ReadyCheck {
    /// Any status below 500 for this path.
    Http {
        /// Starts with `/`.
        path: Template,
    },
    /// It accepts TCP.
    Tcp,
    /// A line of its own log matches.
    Log {
        /// A valid regular expression of `regex-lite`.
        pattern: String,
    },
    /// A counter or gauge at `metrics` is above zero.
    Metric {
        /// The name of its samples; all its label sets are added up.
        name: String,
    },
    /// So much time has passed.
    Delay(Duration),
    /// Nothing: up at once.
    None,
}

/// How a service is asked to end before it is killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopPolicy {
    /// The signal sent first.
    pub signal: StopSignal,
    /// The time it has to end.
    pub within: Duration,
}

words! {
    /// A signal that asks a process to end.
    StopSignal {
        /// SIGTERM.
        Term = "TERM",
        /// SIGINT.
        Int = "INT",
        /// SIGQUIT.
        Quit = "QUIT",
        /// SIGHUP.
        Hup = "HUP",
        /// SIGKILL: it isn't asked.
        Kill = "KILL",
    }
    /// What takes profiles.
    Profiler {
        /// py-spy: Python.
        PySpy = "py-spy",
        /// Linux perf, by the software clock: whatever has frame pointers or a map of its own.
        Perf = "perf",
    }
    /// What is done when a service dies in a window.
    OnDeath {
        /// The run ends.
        End = "end",
        /// The other arms are still measured.
        Continue = "continue",
    }
}

/// One combination of levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// Unique within the plan; safe as a file name.
    pub id: ArmId,
    /// For people; levels of a sweep are part of it.
    pub name: String,
    /// For the report.
    pub about: Option<String>,
    /// Baseline, control or treatment.
    pub role: Role,
    /// The level of each factor, in file order. Whole numbers written without a point are
    /// [`LevelValue::Text`], so that `1024` reaches a command line as `1024`.
    pub levels: Vec<(String, LevelValue)>,
    /// Added to the environment of every service that is not shared.
    pub env: BTreeMap<String, Template>,
    /// Arguments added to a service's command.
    pub args: BTreeMap<ServiceName, Vec<Template>>,
    /// Commands that replace a service's own.
    pub command: BTreeMap<ServiceName, Vec<Template>>,
    /// The set of processes that it runs on; arms with the same one are told apart by `switch`.
    pub instance: String,
    /// What brings it about on processes that are up, one after another, before it gets load.
    pub switch: Vec<Switch>,
    /// How its receivers behave; `None` when it names none.
    pub backend: Option<ArmBackend>,
    /// The telemetry that should arrive.
    pub expect: Option<Expect>,
    /// The arm to which it adds a stage: what that stage costs is told.
    pub adds_to: Option<ArmId>,
    /// The agents that are attached while it gets load.
    pub agents: Vec<ServiceName>,
    /// The arm whose agents are attached, watching that arm's processes, while this one gets load.
    pub bystander_of: Option<ArmId>,
    /// The arm that it is once more, with processes and windows of its own: the sum of the stages
    /// that lead there is held against it.
    pub same_as: Option<ArmId>,
}

impl Arm {
    /// The value that `{factor}` stands for in this arm.
    #[must_use]
    pub fn level(&self, factor: &str) -> Option<&LevelValue> {
        self.levels
            .iter()
            .find(|(name, _)| name == factor)
            .map(|(_, level)| level)
    }

    fn templates(&self) -> impl Iterator<Item = &Template> {
        let words = self.args.values().chain(self.command.values()).flatten();
        let switch = self.switch.iter().flat_map(Switch::templates);
        self.env.values().chain(words).chain(switch)
    }
}

/// The telemetry that an arm should deliver; at least one is there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expect {
    /// Traces a request.
    pub traces_per_request: Option<f64>,
    /// Spans a request.
    pub spans_per_request: Option<f64>,
    /// Events on spans per request.
    pub events_per_request: Option<f64>,
}

/// How it is found out where the time goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// What takes the profiles.
    pub with: Profiler,
    /// Its program; with a `/` looked up from the plan's folder, else in `PATH`.
    pub program: String,
    /// How long each arm is profiled.
    pub lasts: Duration,
    /// Samples a second.
    pub rate_hz: u32,
}

/// How it is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// How long one arm is measured at a stretch.
    pub window: Duration,
    /// Load that is not measured, before each window.
    pub settle: Duration,
    /// How often all processes are launched afresh, under each load.
    pub rounds: u32,
    /// How much is measured; with a stop, at most.
    pub length: Length,
    /// When the run ends before that.
    pub stop: Option<Stop>,
    /// How long agents stay attached in each half of a block, attaching and warming up left out.
    pub agent_stretch: Duration,
    /// Load with the agents attached, before their first window.
    pub agent_warmup: Duration,
    /// How long the kernel times the agents' BPF programs in each block; zero: not at all.
    pub bpf_statistics: Duration,
    /// Load on each arm before a round's first window.
    pub warmup: Duration,
    /// After a round's last window: what is deferred still comes.
    pub drain: Duration,
    /// After the drain: what an arm uses when it has long had nothing to do.
    pub idle: Duration,
    /// The order of the windows.
    pub order: Order,
    /// Of the run order.
    pub seed: u64,
    /// Differences below this share do not matter.
    pub margin: f64,
    /// What is done when a service dies in a window.
    pub on_death: OnDeath,
}

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Blocks in each round.
    Blocks(u32),
    /// Measuring time over all rounds, from which the number of blocks follows.
    MeasuringTime(Duration),
}
