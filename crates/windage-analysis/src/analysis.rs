//! The results of a run. Renderers show them; `wire` writes them as `analysis.json`.

use std::collections::{BTreeMap, BTreeSet};

use windage_model::{
    ArmId, Budget, BudgetVerdict, Claim, ClaimVerdict, CpuSource, Difference, Exchanges, Interval,
    LevelValue, LoadModel, Metric, Order, Outlier, Place, Revisions, Role, Until, Validity,
    Verdict,
};
use windage_record::{Placed, Restored};

use crate::{
    AgentUse, ArmProfile, Bill, Bystander, Curve, Fidelity, FidelityPoint, Inference, Item,
    Measured, Missing, Planning, Script, ServiceAnalysis, Stages,
};

/// All results of one run; for a run under several loads, from its windows under one of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// The name of the load; `None` where the plan has only one.
    pub regime: Option<String>,
    /// The run's id, which is also its directory's name.
    pub run: String,
    /// The name by which commands find it from where they are called: its id below `windage-runs`,
    /// else its path.
    pub found_at: String,
    /// The plan's name.
    pub plan: String,
    /// The plan's sentence about itself.
    pub about: Option<String>,
    /// The command that made the run.
    pub command: String,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// The version of windage that measured.
    pub windage: String,
    /// Facts about the machine, as recorded.
    pub host: serde_json::Value,
    /// Versions as the measured programs report them.
    pub versions: BTreeMap<String, String>,
    /// How it was measured.
    pub design: DesignFacts,
    /// How far the run as a whole can be trusted.
    pub validity: Validity,
    /// The metric that answers "what does it cost?".
    pub primary: Metric,
    /// Baseline, control and treatments, in the plan's order.
    pub arms: Vec<ArmAnalysis>,
    /// What windage itself used.
    pub own_cost: OwnCost,
    /// The slowest exchanges of the run, slowest first; at most one per window.
    pub outliers: Vec<SlowExchange>,
    /// Overheads over swept factors.
    pub curves: Vec<Curve>,
    /// What arms add to each other, for each chain of arms in the plan.
    pub stages: Vec<Stages>,
    /// Where the arms' CPU time went; empty without a profiler.
    pub profiles: Vec<ArmProfile>,
    /// Delivered compared with expected telemetry under each load, by rate, closed loops last;
    /// empty without several loads or without `expect`.
    pub fidelity_curve: Vec<FidelityPoint>,
    /// The revisions that it compares; `None` for most runs.
    pub revisions: Option<Revisions>,
    /// How a service that runs on was left; `None` where there was nothing to switch back.
    pub restored: Option<Restored>,
    /// The same arms under the plan's further loads, in its order. These have no further loads
    /// themselves.
    pub other_loads: Vec<Analysis>,
}

impl Analysis {
    /// How a CPU metric was measured; `None` for other metrics.
    #[must_use]
    pub fn measured(&self, metric: Metric) -> Option<Measured> {
        use Metric::{
            CpuInWindow, CpuOfRequests, CpuPerEvent, CpuPerIteration, CpuPerIterationIsolated,
            CpuPerRecord, CpuPerRequest, CpuPerRequestIsolated, CpuPerSpan, TypicalCpuPerRequest,
        };
        match metric {
            CpuPerRequest | CpuPerIteration | CpuOfRequests | CpuPerSpan | CpuPerEvent
            | CpuPerRecord => Some(match self.design.turns {
                Some(_) => Measured::Interleaved,
                None => Measured::Isolated,
            }),
            CpuInWindow
            | CpuPerRequestIsolated
            | CpuPerIterationIsolated
            | TypicalCpuPerRequest => Some(Measured::Isolated),
            _ => None,
        }
    }

    /// The worst verdict on a budget, under any load; `None` for a plan without budgets.
    #[must_use]
    pub fn worst_budget(&self) -> Option<BudgetVerdict> {
        let arms = self.regimes().flat_map(|of| &of.arms);
        let budgets = arms.flat_map(|arm| &arm.budgets);
        budgets.map(|budget| budget.verdict).max()
    }

    /// The places of budgets that are exceeded: the number of the load, of the arm, and of the budget
    /// among those of the arm.
    #[must_use]
    pub fn exceeded_budgets(&self) -> BTreeSet<[usize; 3]> {
        let of_arm = |place: [usize; 2], arm: &ArmAnalysis| {
            let budgets = arm.budgets.iter().enumerate();
            let exceeded = budgets.filter(|(_, of)| of.verdict == BudgetVerdict::Exceeded);
            let places = exceeded.map(move |(number, _)| [place[0], place[1], number]);
            places.collect::<Vec<_>>()
        };
        let loads = self.regimes().enumerate();
        let arms = loads.flat_map(|(load, of)| {
            let arms = of.arms.iter().enumerate();
            arms.map(move |(arm, of)| ([load, arm], of))
        });
        arms.flat_map(|(place, arm)| of_arm(place, arm)).collect()
    }

    /// Under each load of the plan, this one first.
    pub fn regimes(&self) -> impl Iterator<Item = &Analysis> {
        std::iter::once(self).chain(&self.other_loads)
    }

    /// The arm without telemetry.
    #[must_use]
    pub fn baseline(&self) -> Option<&ArmAnalysis> {
        self.arms.iter().find(|arm| arm.role == Role::Baseline)
    }

    /// The second, identical baseline.
    #[must_use]
    pub fn control(&self) -> Option<&ArmAnalysis> {
        self.arms.iter().find(|arm| arm.role == Role::Control)
    }
}

/// How a run was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct DesignFacts {
    /// The order of windows.
    pub order: Order,
    /// The kind of load.
    pub load: LoadModel,
    /// Intended starts per second (open loop).
    pub rate_per_s: Option<f64>,
    /// Connections for each arm.
    pub connections: u32,
    /// The request, such as `GET http://{app}/`, or the first of several and how many more; `None`
    /// for a batch load.
    pub request: Option<String>,
    /// Length of a window, in seconds.
    pub window_s: f64,
    /// Load before each window that is not measured, in seconds.
    pub settle_s: f64,
    /// The wait for deferred work after a round's last window, in seconds.
    pub drain_s: f64,
    /// The idle stretch after it, in seconds; without one, deferred cost is unknown.
    pub idle_s: f64,
    /// Planned rounds.
    pub rounds_planned: u32,
    /// Rounds with measurements.
    pub rounds: u32,
    /// Blocks measured.
    pub blocks: u32,
    /// Time inside measured windows, in seconds.
    pub measured_s: f64,
    /// Seed of the run order.
    pub seed: u64,
    /// Equivalence margin: relative differences below it do not matter.
    pub margin: f64,
    /// Where the subject's CPU figures come from.
    pub cpu_source: CpuSource,
    /// The cores that the plan gives to each part; empty for runs of older versions.
    pub placement: Vec<Placed>,
    /// The stop rule and its outcome; `None` when the length was fixed.
    pub stop: Option<StopOutcome>,
    /// How arms took turns; `None` when all load was isolated.
    pub turns: Option<TurnFacts>,
    /// What windows contained (batch load); `None` when nothing was measured.
    pub batch: Option<BatchFacts>,
}

/// What the windows of a batch load contained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchFacts {
    /// Whether each window is known to be a whole process, from start to exit.
    pub whole_processes: bool,
    /// Whether iterations were chosen for each arm to fit the window's length.
    pub iterations_chosen: bool,
    /// The fewest iterations of a window.
    pub iterations_fewest: u64,
    /// The most iterations of a window.
    pub iterations_most: u64,
}

/// A stop rule and its outcome.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StopOutcome {
    /// The stop rule.
    pub until: Until,
    /// The limit on measuring time, in seconds.
    pub within_s: f64,
    /// Whether the run ended because it had measured enough.
    pub is_reached: bool,
}

/// What Windage itself used: CPU during windows, in cores, and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OwnCost {
    /// The load generator.
    pub generator_cores: f64,
    /// The sink.
    pub sink_cores: f64,
    /// The rest of Windage: probes, journal, display.
    pub rest_cores: f64,
    /// Resident memory of all of Windage at the end of a launch, in bytes: the maximum over
    /// launches; `None` when never read.
    pub rss_bytes: Option<u64>,
}

/// One arm.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmAnalysis {
    /// Its id in files.
    pub id: ArmId,
    /// Its name for people.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Its levels, in the order of the plan's factors.
    pub levels: Vec<(String, LevelValue)>,
    /// Its metrics, in the order of [`Metric::ALL`]; those that the load can't have are absent.
    pub metrics: BTreeMap<Metric, MetricAnalysis>,
    /// Delivered compared with expected telemetry; `None` when none was received or expected.
    pub fidelity: Option<Fidelity>,
    /// What the load was; `None` for a batch load and when nothing was measured.
    pub load: Option<ArmLoad>,
    /// How much of its telemetry fits into a given CPU time; `None` when none was delivered or it
    /// cost nothing.
    pub planning: Option<Planning>,
    /// What whole processes used; `None` where windows were not whole processes.
    pub script: Option<Script>,
    /// What its agents did and used; `None` for an arm without agents.
    pub agent: Option<AgentUse>,
    /// The effect on CPU per request in isolated windows less that in turns, as a share of the
    /// baseline; `None` for the baseline, and without both.
    pub isolated_less_interleaved: Option<Interval>,
    /// How much larger the share of changeovers in its CPU per request is than in the baseline's;
    /// `None` for the baseline, and while there are too few blocks of short turns.
    pub carry_over: Option<Interval>,
    /// Where the machine's CPU for its requests went; `None` for a batch load, and when the
    /// machine's CPU was not read.
    pub bill: Option<Bill>,
    /// The arm whose agents are attached in this arm's windows without watching it. That makes this
    /// arm a bystander, not a treatment; `None` for all others.
    pub bystander_of: Option<ArmId>,
    /// The same arm at the base, for an arm of the head revision.
    pub at_base: Option<ArmId>,
    /// What it pays for them; `None` for all arms but bystanders, and without a control.
    pub bystander: Option<Bystander>,
    /// Whether it is within its budgets, in the plan's order; empty for most arms.
    pub budgets: Vec<BudgetAnalysis>,
    /// What claims about it come to, in the plan's order; empty for most arms.
    pub claims: Vec<ClaimAnalysis>,
    /// Where its CPU per request was spent, by service; empty without several services.
    pub services: Vec<ServiceAnalysis>,
    /// What its program reports about itself, by name; texts that differ between launches are
    /// listed one after another.
    pub self_reported: BTreeMap<String, String>,
}

/// Whether an arm is within a budget.
#[derive(Clone, Debug, PartialEq)]
pub struct BudgetAnalysis {
    /// The budget.
    pub budget: Budget,
    /// What it costs, as a share of the baseline or in the metric's unit, as the limit; less than
    /// zero if it saves. Or the arm's own figure. Its ends are bounds of that confidence on one side each.
    pub cost: Result<Interval, Missing>,
    /// The verdict.
    pub verdict: BudgetVerdict,
    /// Whether the lower bound is above the limit from which on there is a warning, and the budget is
    /// not exceeded.
    pub warns: bool,
    /// The number of launches that a verdict needs; `None` when there are as many.
    pub launches_needed: Option<usize>,
    /// Further measuring time until it is decided, in seconds; `None` when it is, and when the cost
    /// lies too near the limit or more time is not what it lacks.
    pub time_needed_s: Option<f64>,
}

/// Whether a claim is true of an arm.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimAnalysis {
    /// The claim.
    pub claim: Claim,
    /// What the arm costs, as of a budget.
    pub cost: Result<Interval, Missing>,
    /// The verdict.
    pub verdict: ClaimVerdict,
    /// The number of launches that a verdict needs; `None` when there are as many.
    pub launches_needed: Option<usize>,
}

/// The load on one arm in all its windows, void ones included.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmLoad {
    /// Counts of all windows together; the worst lateness and stall.
    pub exchanges: Exchanges,
    /// Starts per second that the schedule asked for; `None` in a closed loop.
    pub intended_per_s: Option<f64>,
    /// Requests sent per second; `None` for a duration of zero.
    pub offered_per_s: Option<f64>,
    /// Requests completed per second, including those completed after the schedule's end; `None`
    /// for a duration of zero.
    pub achieved_per_s: Option<f64>,
    /// Mean response time, in microseconds, in windows that are not void; `None` where none was
    /// recorded.
    pub mean_response_time_us: Option<f64>,
}

/// One of the slowest exchanges, and what else happened at the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowExchange {
    /// Its window.
    pub place: Place,
    /// Its times, since the run began.
    pub at: Outlier,
    /// What, other than the subject, may have made it slow.
    pub coincided: Coincidence,
}

/// What happened to generator and machine around an exchange. Everything except the stall is for
/// the whole window, so it may have been at a different moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Coincidence {
    /// The generator's longest stall in the window, in nanoseconds, if it overlaps the exchange.
    pub stall_ns: Option<u64>,
    /// How often the generator's core was taken from it; `None` when unknown.
    pub generator_preemptions: Option<u64>,
    /// Time that the generator waited for a core, in nanoseconds; `None` when unknown.
    pub generator_run_queue_ns: Option<u64>,
    /// Time that the hypervisor took away, in nanoseconds.
    pub steal_ns: u64,
    /// Time in which some task waited for a core, in nanoseconds; `None` without PSI.
    pub cpu_pressure_ns: Option<u64>,
}

/// One metric of one arm.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricAnalysis {
    /// The baseline's own figure, descriptive.
    pub baseline: Option<f64>,
    /// The arm's own figure, descriptive.
    pub arm: Option<f64>,
    /// The difference, or why there is none. For the baseline it is always missing.
    pub difference: Result<Difference, Missing>,
    /// The verdict; `None` where there is no relative difference to judge.
    pub verdict: Option<Verdict>,
    /// Whether the subject was saturated.
    pub saturated: bool,
    /// Windows of the arm that were used.
    pub windows: usize,
    /// Launches that were used.
    pub rounds: usize,
    /// Warnings about this metric in particular.
    pub validity: Validity,
    /// How firm the result is.
    pub inference: Inference,
}

/// How arms took turns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TurnFacts {
    /// Blocks measured.
    pub blocks: u32,
    /// The planned length of a block, in seconds.
    pub block_s: f64,
    /// The planned length of a turn, in seconds; `None` for a turn of a number of requests.
    pub turn_s: Option<f64>,
    /// Requests of a turn; the time of a turn in nanoseconds for a batch load, if turns have
    /// different numbers of iterations.
    pub turn: u64,
    /// The length of the load, in seconds.
    pub measured_s: f64,
    /// What the heaviest arm changes in the baseline's CPU per request, as a share; `None` while
    /// there are too few blocks without it.
    pub change_by_heaviest: Option<Interval>,
    /// The share of changeovers between arms in the baseline's CPU per request; `None` while there are
    /// too few blocks of short turns.
    pub changeover_share: Option<Interval>,
    /// The same in µs of CPU per changeover.
    pub changeover_us: Option<f64>,
}

impl MetricAnalysis {
    /// Why the difference or its ratio is missing; `None` when there are both.
    #[must_use]
    pub fn missing(&self, metric: Metric) -> Option<Missing> {
        match (&self.difference, metric) {
            (Err(missing), _) => Some(missing.clone()),
            (Ok(difference), _) if difference.relative.is_some() => None,
            (Ok(_), Metric::CpuPerSpan) => Some(Missing::NoBaselinePer(Item::Span)),
            (Ok(_), Metric::CpuPerEvent) => Some(Missing::NoBaselinePer(Item::Event)),
            (Ok(_), Metric::CpuPerRecord) => Some(Missing::NoBaselinePer(Item::Record)),
            (Ok(_), _) => Some(Missing::NoRatio),
        }
    }

    /// Whether the 95 % interval excludes zero; `None` without an interval.
    #[must_use]
    pub fn exceeds_zero(&self) -> Option<bool> {
        let difference = self.difference.as_ref().ok()?;
        let interval = difference.relative.as_ref().unwrap_or(&difference.absolute);
        Some(interval.excludes_zero())
    }
}
