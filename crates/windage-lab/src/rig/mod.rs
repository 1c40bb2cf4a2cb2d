//! The real rig of a run: processes, connections and counters behind the [`Rig`] trait.

mod agents;
mod batch;
mod driver;
mod launched;
mod launching;
mod measuring;
mod outside_windows;
mod profiling;
mod residents;
mod services;
mod sets;
mod setting;
mod switching;

use std::collections::BTreeSet;
use std::time::Duration;

use windage_keeper::Keeper;
use windage_load::Recording;
use windage_model::{ArmIndex, CpuSource, Event};
use windage_plan::Load;
use windage_probe::bpf::KernelBpf;
use windage_probe::cgroup::ArmCgroup;
use windage_probe::{KernelThreadsProbe, Linux, MachineProbe, SelfProbe};
use windage_record::{Entry, Launch, LaunchedArm};

pub(crate) use self::agents::attaching;
use self::agents::{Attached, Tally};
use self::driver::Driver;
use self::launched::RealLaunched;
use self::outside_windows::Outside;
pub(crate) use self::profiling::profile;
pub(crate) use self::sets::sets_of;
pub(crate) use self::setting::Setting;
use crate::LabError;
use crate::conduct::Rig;

use crate::error::ServiceTrouble;
use crate::instance::{Instance, note_exits};
use crate::losses::Losses;
use crate::readings::{Credit, Meters, Reading};
use crate::receiving::Receiving;

/// How long a service has after its last answer to go to sleep before its counters are read.
const QUIET: Duration = Duration::from_micros(500);

/// The real rig.
pub(crate) struct RealRig<'a> {
    setting: &'a Setting<'a>,
    /// The load of this round.
    load: &'a Load,
    keeper: Keeper,
    receiving: Option<Receiving>,
    groups: Vec<Option<ArmCgroup>>,
    /// The cgroup of agents, whichever arm's agents are attached.
    agent_group: Option<ArmCgroup>,
    bpf: KernelBpf,
    meters: Meters,
    /// What programs reported and used, kept until the conductor collects it.
    findings: Vec<Entry>,
}

/// The processes of this launch.
struct Live<'a> {
    number: u32,
    shared: Instance,
    instances: Vec<Instance>,
    driver: Driver<'a>,
    last: Reading,
    credit: Credit,
    /// Requests completed per arm since launch, measured or not.
    completed: Vec<u64>,
    /// Of these, the requests of unmeasured load since the arm's last window.
    unmeasured: Vec<u64>,
    /// What arms used outside windows.
    outside: Outside,
    /// The block in which the arms' processes were last listed.
    refreshed: Option<u32>,
    /// The arm that each instance was last switched to.
    switched: Vec<Option<ArmIndex>>,
    losses: Losses<'a>,
    attached: Option<Attached<'a>>,
    tally: Tally,
    /// The self-reported items that were recorded for each arm.
    heard: Vec<BTreeSet<String>>,
    recording: Recording,
    scratch: Recording,
}

impl Live<'_> {
    /// How a set of processes died: through its own service or a shared one.
    fn death(&self, set: usize) -> Option<&ServiceTrouble> {
        let own = self.instances[set].death.as_deref();
        own.or(self.shared.death.as_deref())
    }
}

impl<'a> RealRig<'a> {
    pub(crate) fn new(
        setting: &'a Setting<'a>,
        mut keeper: Keeper,
    ) -> Result<RealRig<'a>, LabError> {
        let Setting {
            plan, sets, emit, ..
        } = setting;
        let receiving = Receiving::start(plan, setting.run, sets)?;
        let groups = sets::groups(sets, plan, &mut keeper, emit)?;
        let agent_group = sets::agent_group(plan, &groups, &mut keeper, emit)?;
        let kernel_threads = if plan.agents.is_empty() {
            None
        } else {
            kernel_threads(emit)
        };
        Ok(RealRig {
            setting,
            load: &plan.load,
            keeper,
            receiving,
            groups,
            agent_group,
            bpf: KernelBpf,
            meters: Meters {
                machine: MachineProbe::new(&Linux)?,
                own: SelfProbe::new(&Linux)?,
                kernel_threads,
            },
            findings: Vec::new(),
        })
    }

    /// Ends everything in order; what does not end is killed.
    pub(crate) fn close(self) -> Result<(), LabError> {
        self.keeper.shut_down()?;
        if let Some(receiving) = self.receiving {
            receiving.shut_down();
        }
        Ok(())
    }

    fn bring_up(&mut self, number: u32, round: u32) -> Result<(Launch, Live<'a>), LabError> {
        let started_ns = self.setting.clock.now_ns();
        self.load = self.setting.plan.load_of_round(round);
        if let Some(receiving) = &mut self.receiving {
            receiving.launch(self.setting.plan);
        }
        let shared = self.launch_shared(number)?;
        let mut instances = self.launch_instances(number, &shared)?;
        let losses = Losses::of(self.setting.plan, self.setting.run, number, &instances)?;
        losses.scrape()?;
        let driver = Driver::start(
            self.setting,
            self.load,
            number,
            &mut instances,
            &mut self.keeper,
            &self.groups,
        )?;
        let arms = self.setting.plan.arms.len();
        let mut live = Live {
            number,
            shared,
            driver,
            last: self
                .meters
                .read(&mut instances, self.receiving.as_ref(), None)?,
            credit: instances
                .iter()
                .map(|i| i.arms.first().copied().unwrap_or_default())
                .collect(),
            completed: vec![0; arms],
            unmeasured: vec![0; arms],
            outside: Outside::nothing(arms),
            refreshed: None,
            switched: vec![None; instances.len()],
            instances,
            losses,
            attached: None,
            tally: Tally::default(),
            heard: vec![BTreeSet::new(); arms],
            recording: Recording::new(),
            scratch: Recording::new(),
        };
        let mut launched: Vec<LaunchedArm> = Vec::with_capacity(arms);
        for arm in (0u16..).map(ArmIndex).take(arms) {
            let instance = &live.instances[self.setting.set_of(arm)];
            launched.push(LaunchedArm {
                arm,
                instance: instance_index(self.setting.set_of(arm)),
                startup_ns: instance.startup_ns,
                cpu_source: match (&live.driver, instance.probe.source()) {
                    (Driver::Process, CpuSource::None) => CpuSource::Rusage,
                    (_, source) => source,
                },
                cpu_resolution_ns: instance.probe.resolution_ns(),
                startup_cpu_ns: instance.startup_cpu_ns,
                warmup_completed: 0,
                warmup_outside_ns: 0,
                warmup_outside_time_ns: 0,
            });
            // Readiness requests went to the instance, so its first arm's receiver counts their
            // telemetry.
            if instance.arms.first() == Some(&arm) && self.setting.owner_of(arm).is_none() {
                live.completed[arm.get()] += instance.answered;
            }
        }
        for set in 0..live.instances.len() {
            let said = std::mem::take(&mut live.instances[set].said);
            self.note_said(&mut live, set, said);
        }
        self.warm_up(&mut live, &mut launched)?;
        let launch = Launch {
            launch: number,
            round,
            started_ns,
            arms: launched,
        };
        Ok((launch, live))
    }

    fn notice_deaths(&mut self, live: &mut Live) -> Result<(), LabError> {
        let agents = live.attached.as_mut();
        let agents = agents.map(|attached| &mut attached.instance);
        let services = live.instances.iter_mut().chain([&mut live.shared]);
        note_exits(services.chain(agents), &self.keeper.poll()?);
        Ok(())
    }

    /// The real cause: a keeper that is killed takes every service with it, and the errors that
    /// follow (a refused connection, a missing counter) are not the cause.
    fn cause_of(&mut self, error: LabError) -> LabError {
        match self.keeper.poll() {
            Err(gone) => gone.into(),
            Ok(_) => error,
        }
    }
}

impl<'a> Rig for RealRig<'a> {
    type Launched<'r>
        = RealLaunched<'r, 'a>
    where
        Self: 'r;

    fn launch(
        &mut self,
        number: u32,
        round: u32,
    ) -> Result<(Launch, RealLaunched<'_, 'a>), LabError> {
        let up = self.bring_up(number, round);
        let (launch, live) = up.map_err(|error| self.cause_of(error))?;
        Ok((launch, RealLaunched { rig: self, live }))
    }

    fn findings(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.findings)
    }
}

/// The kernel's own threads; `None` where they can't be seen, which a note reports once.
fn kernel_threads(emit: &dyn Fn(Event)) -> Option<KernelThreadsProbe> {
    let found = KernelThreadsProbe::new(&Linux);
    if let Err(error) = &found {
        let text = format!("the machine's CPU has no row for kernel threads: {error}");
        emit(Event::Note { text });
    }
    found.ok()
}

/// The number of a set of processes in the journal.
fn instance_index(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}
