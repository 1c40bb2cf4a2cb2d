//! The plan as the other crates see it: checked, with every default filled in.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use windage_model::{ArmId, Budget, Claim, Expected, Facility, LevelValue, Order, Revisions, Role};

use crate::words::words;
use crate::{
    ArmBackend, Drops, Endpoint, Load, RECEIVER_PLACEHOLDERS, SinkPlan, Stop, Switch, Template,
    Value,
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
    /// The plan's text.
    pub source: String,
    /// The steps before anything is launched.
    pub build: Build,
    /// The services in launch order; at least one is not shared.
    pub services: Vec<Service>,
    /// Where services that are pods are made.
    pub cluster: ClusterPlace,
    /// Programs that watch the services, attached for some arms and detached for all others.
    pub agents: Vec<Agent>,
    /// The load on the subject.
    pub load: Load,
    /// Other loads under which the same arms are measured, in separate rounds. They send the same
    /// requests at another rate or concurrency.
    pub other_loads: Vec<Load>,
    /// The receivers of telemetry; `None` when no arm names one.
    pub sink: Option<SinkPlan>,
    /// The baseline, its control, then the treatments in file order with sweeps expanded.
    pub arms: Vec<Arm>,
    /// The most that arms may cost.
    pub budgets: Vec<Budget>,
    /// What was published about arms.
    pub claims: Vec<Claim>,
    /// How the arms are measured.
    pub design: Design,
    /// How the arms are profiled after the measurement; `None` for no profiles.
    pub profile: Option<Profile>,
    /// The revisions that it compares; `None` for the usual plan, which measures its own folder.
    pub revisions: Option<Revisions>,
    /// The commit of its folder, recorded with the versions of components; `None` without a repository,
    /// and for plans that are built in.
    pub commit: Option<String>,
}

impl Plan {
    /// All loads; the first is `[load]`.
    pub fn loads(&self) -> impl Iterator<Item = &Load> {
        std::iter::once(&self.load).chain(&self.other_loads)
    }

    /// The load of a round: the loads alternate by round.
    #[must_use]
    pub fn load_of_round(&self, round: u32) -> &Load {
        let turn = round as usize % (1 + self.other_loads.len());
        self.loads().nth(turn).unwrap_or(&self.load)
    }

    /// The folders in which the build runs: the plan's own, or one for each revision.
    #[must_use]
    pub fn build_folders(&self) -> Vec<&Path> {
        let checkouts = self.arms.iter().filter_map(|arm| arm.checkout.as_ref());
        let mut folders: Vec<&Path> = checkouts.map(|of| of.folder.as_path()).collect();
        folders.sort_unstable();
        folders.dedup();
        match folders.is_empty() {
            true => vec![&self.folder],
            false => folders,
        }
    }

    /// Those of [`RECEIVER_PLACEHOLDERS`] that the plan names, directly or by their port.
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
    /// What `[design.thorough]` says, including loads that only thorough runs have.
    Thorough,
}

/// The steps before anything is launched.
#[derive(Clone, Debug, PartialEq)]
pub struct Build {
    /// Run one after another by `sh -c` in the plan's folder.
    pub commands: Vec<String>,
    /// The time limit for each of them.
    pub within: Duration,
    /// Component → command that prints its version, run after the other commands.
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

    /// A name that was reported as bad; keeping it avoids reports of references to it.
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
    /// The pod that is launched in place of a process, whose command is then empty; `None` for a process.
    pub pod: Option<PodSource>,
    /// A fixed address; `None` means a free port on 127.0.0.1 (or that of [`Attach::Url`]).
    pub listen: Option<SocketAddr>,
    /// Names of further TCP ports on 127.0.0.1, each `[a-z][a-z0-9_]*`. The numbers are picked at
    /// each launch.
    pub ports: Vec<String>,
    /// The working directory; `None` means the plan's folder.
    pub cwd: Option<Template>,
    /// Added to the environment.
    pub env: BTreeMap<String, Value>,
    /// Whether it gets only a few variables of Windage's environment; otherwise it gets all.
    pub clean_env: bool,
    /// The name or number of the user that it runs as; `None` for the one who invoked Windage. An
    /// agent always runs as Windage does.
    pub user: Option<String>,
    /// Rendered before launch.
    pub files: Vec<TemplateFile>,
    /// Program and arguments of the check of its configuration before each launch; empty for none.
    pub check: Vec<Template>,
    /// The cores to which it is pinned; `None` means all.
    pub cpus: Option<Vec<u32>>,
    /// Whether it has one instance for all arms and is not part of the subject's bill.
    pub shared: bool,
    /// When it is up.
    pub ready: Ready,
    /// How it is stopped.
    pub stop: StopPolicy,
    /// The URL of its metrics, if any are read.
    pub metrics: Option<Template>,
    /// Where it reports telemetry that it dropped.
    pub drops: Vec<Drops>,
    /// Whether it needs an address: a placeholder, a readiness check or `listen` uses one.
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
            .chain(self.env.values().filter_map(Value::template))
            .chain(files)
            .chain(ready)
            .chain(&self.metrics)
    }
}

/// A program that watches the services, such as an eBPF agent. It is started for the arms that name
/// it, and ended again.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// How it is launched, checked for readiness and ended. It is never shared or already running.
    pub service: Service,
    /// The kernel features that it needs, checked before anything is launched.
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

/// Where pods are made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterPlace {
    /// The context of the kubeconfig; `None` for its current one.
    pub context: Option<String>,
    /// The namespace; `None` for that of the context.
    pub namespace: Option<String>,
    /// The node that Windage runs on, and all pods; `None` for one with the machine's name, or, with an image, for
    /// one that the scheduler chooses.
    pub node: Option<String>,
    /// The image of Windage, if it is to run in a pod as well.
    pub image: Option<String>,
    /// The Secret with which that image is pulled.
    pub pull_secret: Option<String>,
}

/// What a pod is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodSource {
    /// A pod, or what has a template of one, such as a Deployment.
    pub manifest: ManifestFile,
    /// The container that gets environment and arguments; `None` for the first.
    pub container: Option<String>,
    /// The port on which it listens.
    pub port: u16,
}

/// A manifest or a patch of one, read with the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestFile {
    /// As the plan names it, relative to the plan's folder.
    pub path: PathBuf,
    /// What is in it.
    pub text: String,
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
    /// By its address alone; its CPU and memory can't be read.
    Url(Endpoint),
}

/// A file rendered before launch.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateFile {
    /// The template's path as the plan names it, relative to the plan's folder.
    pub template: PathBuf,
    /// Its text, read with the plan.
    pub text: Template,
    /// The path of the rendered file, relative to the service's `{dir}` and inside it.
    pub to: PathBuf,
}

/// When a service is up.
#[derive(Clone, Debug, PartialEq)]
pub struct Ready {
    /// The check.
    pub check: ReadyCheck,
    /// The time limit.
    pub within: Duration,
}

/// How to find out that a service is up.
#[derive(Clone, Debug, PartialEq)]
pub enum ReadyCheck {
    /// Any status below 500 for this path.
    Http {
        /// Starts with `/`.
        path: Template,
    },
    /// It accepts TCP.
    Tcp,
    /// A line of its log matches.
    Log {
        /// A valid regular expression of `regex-lite`.
        pattern: String,
    },
    /// A counter or gauge at `metrics` is above zero.
    Metric {
        /// The metric's name; all label sets are summed.
        name: String,
    },
    /// This much time has passed.
    Delay(Duration),
    /// No check: up at once.
    None,
}

/// How a service is stopped before it is killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopPolicy {
    /// The signal sent first.
    pub signal: StopSignal,
    /// The time limit, after which it is killed.
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
        /// SIGKILL: no chance to shut down.
        Kill = "KILL",
    }
    /// The profiler.
    Profiler {
        /// py-spy: Python.
        PySpy = "py-spy",
        /// Linux perf with the software clock: programs with frame pointers or a perf map.
        Perf = "perf",
    }
    /// What happens when a service dies in a window.
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
    /// Its name in reports; includes the levels of a sweep.
    pub name: String,
    /// A sentence for the report.
    pub about: Option<String>,
    /// Baseline, control or treatment.
    pub role: Role,
    /// The level of each factor, in file order. Whole numbers written without a point are
    /// [`LevelValue::Text`], so that `1024` reaches a command line as `1024`.
    pub levels: Vec<(String, LevelValue)>,
    /// Environment variables added to every service that is not shared.
    pub env: BTreeMap<String, Value>,
    /// Arguments added to a service's or agent's command.
    pub args: BTreeMap<ServiceName, Vec<Template>>,
    /// Commands that replace those of services or agents.
    pub command: BTreeMap<ServiceName, Vec<Template>>,
    /// Patches of services that are pods.
    pub patch: BTreeMap<ServiceName, ManifestFile>,
    /// Services and agents whose metrics are scraped, and how often.
    pub scrape: BTreeMap<ServiceName, Duration>,
    /// The set of processes that it runs on. Arms with the same set differ by `switch`, requests,
    /// backend or agents.
    pub instance: String,
    /// Steps that bring running processes into its state before it gets load.
    pub switch: Vec<Switch>,
    /// For the baseline: steps that bring a service that runs already back into its state at the end
    /// of a run. Empty for its `switch`.
    pub restore: Vec<Switch>,
    /// How its receivers behave; `None` when it names no receiver.
    pub backend: Option<ArmBackend>,
    /// The telemetry that should arrive.
    pub expect: Option<Expected>,
    /// The arm to which it adds a stage; the report shows the cost of that stage.
    pub adds_to: Option<ArmId>,
    /// The agents that are attached while it gets load.
    pub agents: Vec<ServiceName>,
    /// The arm whose agents are attached, watching that arm's processes, while this one gets load.
    pub bystander_of: Option<ArmId>,
    /// The last arm of a chain that this arm repeats end to end, with its own processes and
    /// windows. The sum of the chain's stages is compared with it.
    pub same_as: Option<ArmId>,
    /// In a plan that compares revisions, where its services are from.
    pub checkout: Option<Checkout>,
}

/// A revision of the services, checked out.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkout {
    /// The plan's folder in it.
    pub folder: PathBuf,
    /// The services, with the templates of this revision.
    pub services: Vec<Service>,
    /// For an arm of the head revision: the same arm of the base.
    pub at_base: Option<ArmId>,
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

    /// The folder in which its relative paths start.
    #[must_use]
    pub fn folder<'a>(&'a self, plan: &'a Plan) -> &'a Path {
        let checkout = self.checkout.as_ref();
        checkout.map_or(&plan.folder, |checkout| &checkout.folder)
    }

    /// A service of the plan as this arm launches it.
    #[must_use]
    pub fn at_its_revision<'a>(&'a self, service: &'a Service) -> &'a Service {
        let services = self.checkout.iter().flat_map(|of| &of.services);
        let mut own = services.filter(|of| of.name == service.name);
        own.next().unwrap_or(service)
    }

    fn templates(&self) -> impl Iterator<Item = &Template> {
        let words = self.args.values().chain(self.command.values()).flatten();
        let steps = self.switch.iter().chain(&self.restore);
        let switch = steps.flat_map(Switch::templates);
        let env = self.env.values().filter_map(Value::template);
        env.chain(words).chain(switch)
    }
}

/// How arms are profiled.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The profiler.
    pub with: Profiler,
    /// Its program; with a `/` relative to the plan's folder, otherwise looked up in `PATH`.
    pub program: String,
    /// How long each arm is profiled.
    pub lasts: Duration,
    /// Samples per second.
    pub rate_hz: u32,
}

/// How the arms are measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// How arms take turns under interleaved load; `None` if all load is isolated.
    pub interleaving: Option<Interleaving>,
    /// The length of a window.
    pub window: Duration,
    /// Unmeasured load before each window.
    pub settle: Duration,
    /// How many times all processes are launched afresh, under each load.
    pub rounds: u32,
    /// The length of the run; with a stop, its maximum.
    pub length: Length,
    /// When the run may end earlier.
    pub stop: Option<Stop>,
    /// How long agents stay attached in each half of a block, without attaching and warm-up.
    pub agent_stretch: Duration,
    /// Load with the agents attached before their first window.
    pub agent_warmup: Duration,
    /// How long the kernel times the agents' BPF programs in each block; zero for not at all.
    pub bpf_statistics: Duration,
    /// Load on each arm before a round's first window.
    pub warmup: Duration,
    /// Starts per second in it, at a constant rate; `None` for those of the load.
    pub warmup_rate_per_s: Option<f64>,
    /// The wait after a round's last window, in which deferred work still happens.
    pub drain: Duration,
    /// The stretch after the drain, in which idle CPU is read.
    pub idle: Duration,
    /// The order of the windows.
    pub order: Order,
    /// The seed of the run order.
    pub seed: u64,
    /// The equivalence margin: relative differences below this share do not matter.
    pub margin: f64,
    /// What happens when a service dies in a window.
    pub on_death: OnDeath,
}

/// How arms take turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interleaving {
    /// The length of a turn.
    pub turn: Turn,
    /// The length of a block: counters are read at its ends.
    pub block: Duration,
    /// The share of the measuring time that goes to isolated windows instead; at least 0 and below
    /// 1.
    pub isolated: f64,
}

/// The length of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// As many requests or iterations as the baseline gets in this time, but enough requests for warm
    /// caches.
    Time(Duration),
    /// So many requests or iterations.
    Requests(u32),
}

/// The length of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Blocks of isolated windows in each round. Where arms take turns, blocks of turns follow, for
    /// as long as [`Interleaving::isolated`] leaves to them. If it leaves all, these are the blocks
    /// of turns.
    Blocks(u32),
    /// Measuring time over all rounds, isolated and in turns; the number of blocks follows from it.
    MeasuringTime(Duration),
}
