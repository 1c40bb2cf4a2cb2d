//! What is kept of a run's windows: a few figures of each, and sums of the rest.
//!
//! A run may have a million windows. They are processed one by one as they are read, and none is
//! kept whole.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

use windage_model::{Activity, ArmIndex, Bottleneck, Soundness, Warning, WarningCode, Window};

use crate::growth::Growth;
use crate::load::{LoadTally, Slowest};

/// Warnings about windows that affect throughput and times alone, not the run.
const ABOUT_LOAD: [WarningCode; 3] = [
    WarningCode::SendLag,
    WarningCode::ConnectionsBusy,
    WarningCode::GeneratorStarved,
];

/// The figures of a usable window that are compared. 64 bytes: with a million windows each
/// additional eight-byte field costs 8 MB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    pub(crate) launch: u32,
    pub(crate) block: u32,
    pub(crate) arm: ArmIndex,
    pub(crate) duration_ns: u64,
    pub(crate) completed: u64,
    /// CPU of the arm; `None` when it was unreadable or did not move.
    pub(crate) cpu_ns: Option<NonZeroU64>,
    /// CPU of the whole machine; `None` when it was unreadable or did not move.
    pub(crate) machine_cpu_ns: Option<NonZeroU64>,
    /// CPU of the generator; `None` when it did not move.
    pub(crate) generator_cpu_ns: Option<NonZeroU64>,
    /// CPU of Windage's other threads.
    pub(crate) windage_cpu: Rough,
    /// CPU of the attached agents; none when no agent was attached or it was unreadable.
    pub(crate) agent_cpu: Rough,
    /// CPU of the kernel's own threads; none when not read.
    pub(crate) kernel_threads_cpu: Rough,
}

/// Nanoseconds to seven digits, in half the space; negative where absent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rough(f32);

impl Rough {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "seven digits of a time are enough"
    )]
    fn new(ns: Option<u64>) -> Rough {
        Rough(ns.map_or(-1.0, |ns| ns as f64 as f32))
    }

    /// The nanoseconds; `None` when absent.
    pub(crate) fn ns(self) -> Option<f64> {
        (self.0 >= 0.0).then(|| f64::from(self.0))
    }
}

impl From<&Window> for Measured {
    fn from(window: &Window) -> Self {
        Measured {
            launch: window.place.launch,
            block: window.place.block,
            arm: window.place.arm,
            duration_ns: window.duration_ns,
            completed: window.exchanges.completed,
            cpu_ns: window.cpu.in_window_ns.and_then(NonZeroU64::new),
            machine_cpu_ns: window.machine.busy_ns.and_then(NonZeroU64::new),
            generator_cpu_ns: NonZeroU64::new(window.cpu.generator_ns),
            windage_cpu: Rough::new(Some(
                window
                    .cpu
                    .windage_ns
                    .saturating_sub(window.cpu.generator_ns),
            )),
            agent_cpu: Rough::new(window.beside.agent_ns),
            kernel_threads_cpu: Rough::new(window.beside.kernel_threads_ns),
        }
    }
}

/// Everything that is kept of a run's windows. "Usable" windows are those that are not void.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Windows {
    /// The usable windows of arms in the manifest, by block and then by arm.
    pub(crate) measured: Vec<Measured>,
    /// By arm.
    pub(crate) arms: Vec<OfArm>,
    /// Sums over the windows of an arm in a launch.
    of_launch: BTreeMap<(ArmIndex, u32), OfLaunch>,
    /// What agents used in the windows of an arm in a launch and block.
    agents: BTreeMap<(ArmIndex, u32, u32), AgentsBeside>,
    /// The places of void windows: launch, block and position.
    pub(crate) void: BTreeSet<(u32, u32, u32)>,
    /// Launches in which a window was measured, usable or not.
    pub(crate) launches: BTreeSet<u32>,
    /// All windows.
    pub(crate) count: usize,
    /// Usable windows.
    pub(crate) usable: usize,
    /// Starts that the schedule asked for in usable windows.
    pub(crate) intended: u64,
    /// Requests completed in usable windows.
    pub(crate) completed: u64,
    /// Length of all windows together.
    pub(crate) duration_ns: u64,
    /// Memory, threads and descriptors over time.
    pub(crate) growth: Growth,
    /// CPU of Windage in all windows.
    pub(crate) own: OwnCpu,
    /// The smallest CPU that an arm used in a window, if any.
    pub(crate) least_cpu_ns: Option<u64>,
    /// The slowest exchanges.
    pub(crate) slowest: Slowest,
    /// Warnings about windows that count against the run.
    pub(crate) warnings: Noted,
    /// Windows with such a warning.
    pub(crate) with_warnings: usize,
    /// Windows with such a warning, apart from another arm's CPU.
    pub(crate) with_own_warnings: usize,
    /// How many windows below their rate name each bottleneck.
    pub(crate) bottlenecks: BTreeMap<Bottleneck, usize>,
}

/// What is kept of all windows of one arm.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OfArm {
    /// Usable windows.
    pub(crate) usable: usize,
    /// CPU of the arm in usable windows.
    pub(crate) cpu_ns: f64,
    /// Length of the usable windows.
    pub(crate) duration_ns: f64,
    /// What the generator did, void windows included.
    pub(crate) load: LoadTally,
    /// Warnings about usable windows.
    pub(crate) warnings: Noted,
}

/// Sums over the windows of an arm in a launch; over usable ones unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct OfLaunch {
    /// Requests completed in all windows, void ones included, because their spans are exported as
    /// well.
    pub(crate) completed: u64,
    failed: u64,
    sent: u64,
    rss_bytes: f64,
    rss_readings: f64,
    activity: Activity,
    /// Requests completed in the windows in which activity was read.
    active_completed: u64,
}

/// CPU of the attached agents in an arm's windows of one block, where it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct AgentsBeside {
    /// In all windows, void ones included, in nanoseconds.
    pub(crate) all_ns: f64,
    /// In usable windows.
    pub(crate) usable_ns: f64,
    /// The length of the usable windows, from reading to reading.
    pub(crate) lasted_ns: f64,
}

/// CPU of Windage itself, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct OwnCpu {
    pub(crate) generator_ns: f64,
    pub(crate) sink_ns: f64,
    pub(crate) all_ns: f64,
    /// The time that the sink's CPU and all CPU cover; the generator's covers the load alone.
    pub(crate) read_over_ns: f64,
}

/// Warnings of one kind: their number, and the first one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Noted(BTreeMap<WarningCode, (usize, Warning)>);

impl Noted {
    pub(crate) fn note(&mut self, warning: &Warning) {
        let kind = self.0.entry(warning.code());
        kind.or_insert_with(|| (0, warning.clone())).0 += 1;
    }

    /// Each kind with its number and the first warning.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (WarningCode, usize, &Warning)> {
        let kinds = self.0.iter();
        kinds.map(|(&code, (times, first))| (code, *times, first))
    }
}

impl Windows {
    /// Empty, for so many arms.
    pub(crate) fn of_arms(arms: usize) -> Windows {
        Windows {
            arms: vec![OfArm::default(); arms],
            ..Windows::default()
        }
    }

    /// Adds a window.
    pub(crate) fn take(&mut self, window: &Window) {
        let place = window.place;
        let is_void = window.soundness() == Soundness::Void;
        self.count += 1;
        self.launches.insert(place.launch);
        self.duration_ns = self.duration_ns.saturating_add(window.duration_ns);
        self.own.generator_ns += window.cpu.generator_ns as f64;
        self.own.sink_ns += window.cpu.sink_ns as f64;
        self.own.all_ns += window.cpu.windage_ns as f64;
        self.own.read_over_ns += window.read_over_ns() as f64;
        let cpu_ns = window.cpu.in_window_ns.filter(|ns| *ns > 0);
        self.least_cpu_ns = self.least_cpu_ns.into_iter().chain(cpu_ns).min();
        self.note_warnings(window);
        if is_void {
            self.void
                .insert((place.launch, place.block, place.position));
        } else {
            self.usable += 1;
            self.intended += window.exchanges.intended;
            self.completed += window.exchanges.completed;
            self.slowest.take(window);
        }
        let Some(of_arm) = self.arms.get_mut(place.arm.get()) else {
            return;
        };
        of_arm.load.take(window);
        let of_launch = self.of_launch.entry((place.arm, place.launch)).or_default();
        of_launch.completed = of_launch
            .completed
            .saturating_add(window.exchanges.completed);
        if let Some(ns) = window.beside.agent_ns {
            let place = (place.arm, place.launch, place.block);
            self.agents.entry(place).or_default().take(window, ns);
        }
        if is_void {
            return;
        }
        of_arm.usable += 1;
        of_arm.cpu_ns += cpu_ns.unwrap_or(0) as f64;
        of_arm.duration_ns += window.duration_ns as f64;
        for warning in &window.warnings {
            of_arm.warnings.note(warning);
        }
        of_launch.take(window);
        self.growth.take(window);
        self.measured.push(window.into());
    }

    fn note_warnings(&mut self, window: &Window) {
        let about_run = |warning: &&Warning| !ABOUT_LOAD.contains(&warning.code());
        let mut of_run = window.warnings.iter().filter(about_run).peekable();
        self.with_warnings += usize::from(of_run.peek().is_some());
        let is_own = |warning: &Warning| warning.code() != WarningCode::OtherArmActive;
        self.with_own_warnings += usize::from(of_run.any(is_own));
        for warning in window.warnings.iter().filter(about_run) {
            self.warnings.note(warning);
        }
        for warning in &window.warnings {
            if let Warning::RateNotReached { bottleneck, .. } = warning {
                *self.bottlenecks.entry(*bottleneck).or_default() += 1;
            }
        }
    }

    /// Sorts the windows after all were added, and releases spare memory.
    pub(crate) fn close(&mut self) {
        self.put_in_order();
        self.measured.shrink_to_fit();
    }

    /// Sorts by block, then by arm, then by arrival; more may be added afterwards.
    pub(crate) fn put_in_order(&mut self) {
        // They arrive block by block, so there is little to sort.
        self.measured.sort_by_key(|w| (w.launch, w.block));
        let same_block = |a: &Measured, b: &Measured| (a.launch, a.block) == (b.launch, b.block);
        for block in self.measured.chunk_by_mut(same_block) {
            block.sort_by_key(|w| w.arm);
        }
    }

    /// Whether an arm has a usable window in a block, once all windows are in order.
    pub(crate) fn has(&self, launch: u32, block: u32, arm: ArmIndex) -> bool {
        let place = (launch, block, arm);
        let found = self
            .measured
            .binary_search_by_key(&place, |w| (w.launch, w.block, w.arm));
        found.is_ok()
    }

    /// The blocks of a launch with a window, usable or not.
    pub(crate) fn blocks_of(&self, launch: u32) -> BTreeSet<u32> {
        let usable = self.measured.iter().rev();
        let usable = usable.skip_while(|w| w.launch != launch);
        let usable = usable.take_while(|w| w.launch == launch).map(|w| w.block);
        let void = self
            .void
            .range((launch, 0, 0)..=(launch, u32::MAX, u32::MAX));
        usable.chain(void.map(|(_, block, _)| *block)).collect()
    }

    /// The sums of an arm's windows in a launch; `None` when it had none.
    pub(crate) fn of_launch(&self, arm: ArmIndex, launch: u32) -> Option<&OfLaunch> {
        self.of_launch.get(&(arm, launch))
    }

    /// What agents used in an arm's windows of a block; zero where it was never read.
    pub(crate) fn agents_beside(&self, arm: ArmIndex, launch: u32, block: u32) -> AgentsBeside {
        let found = self.agents.get(&(arm, launch, block));
        found.copied().unwrap_or_default()
    }

    /// Failed requests of an arm, as a share of those sent, by launch.
    pub(crate) fn failed_share(&self, arm: ArmIndex) -> BTreeMap<u32, f64> {
        self.by_launch(arm, |l| {
            (l.sent > 0).then(|| l.failed as f64 / l.sent as f64)
        })
    }

    /// Failed requests of an arm, and how many were sent.
    pub(crate) fn failed(&self, arm: ArmIndex) -> [u64; 2] {
        let launches = self.of_launch.range((arm, 0)..=(arm, u32::MAX));
        launches.fold([0, 0], |[failed, sent], (_, of)| {
            [
                failed.saturating_add(of.failed),
                sent.saturating_add(of.sent),
            ]
        })
    }

    /// The mean resident memory of an arm, in bytes, by launch.
    pub(crate) fn rss_bytes(&self, arm: ArmIndex) -> BTreeMap<u32, f64> {
        self.by_launch(arm, |l| {
            (l.rss_readings > 0.0).then(|| l.rss_bytes / l.rss_readings)
        })
    }

    /// Page faults of an arm per completed request, by launch.
    pub(crate) fn page_faults_per_request(&self, arm: ArmIndex) -> BTreeMap<u32, f64> {
        self.by_launch(arm, |l| l.per_request(l.activity.page_faults))
    }

    /// Context switches of an arm per completed request, by launch.
    pub(crate) fn context_switches_per_request(&self, arm: ArmIndex) -> BTreeMap<u32, f64> {
        self.by_launch(arm, |l| l.per_request(l.activity.context_switches))
    }

    fn by_launch(
        &self,
        arm: ArmIndex,
        value: impl Fn(&OfLaunch) -> Option<f64>,
    ) -> BTreeMap<u32, f64> {
        let launches = self.of_launch.range((arm, 0)..=(arm, u32::MAX));
        launches
            .filter_map(|(&(_, launch), sums)| Some((launch, value(sums)?)))
            .collect()
    }
}

impl AgentsBeside {
    fn take(&mut self, window: &Window, agent_ns: u64) {
        self.all_ns += agent_ns as f64;
        if window.soundness() != Soundness::Void {
            self.usable_ns += agent_ns as f64;
            self.lasted_ns += window.read_over_ns() as f64;
        }
    }
}

impl OfLaunch {
    fn per_request(&self, count: u64) -> Option<f64> {
        (self.active_completed > 0).then(|| count as f64 / self.active_completed as f64)
    }

    fn take(&mut self, window: &Window) {
        self.failed += window.exchanges.failed();
        self.sent += window.exchanges.sent;
        if let Some(bytes) = window.rss_bytes {
            self.rss_bytes += bytes as f64;
            self.rss_readings += 1.0;
        }
        if let Some(activity) = window.activity {
            self.activity += activity;
            self.active_completed += window.exchanges.completed;
        }
    }
}
