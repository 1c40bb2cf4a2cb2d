//! The real rig of a run: processes, connections and counters behind the [`Rig`] trait.

mod agents;
mod batch;
mod by_service;
mod disturbances;
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
mod turns;

use std::collections::{BTreeMap, BTreeSet};

use windage_keeper::Keeper;
use windage_load::Recording;
use windage_model::Event;
use windage_probe::cgroup::ArmCgroup;
use windage_probe::{KernelThreadsProbe, Linux, MachineProbe, SelfProbe};
use windage_record::{Entry, Launch, Restored};

use self::agents::Agents;
pub(crate) use self::agents::attaching;
use self::by_service::ByService;
use self::launched::RealLaunched;
use self::outside_windows::Outside;
pub(crate) use self::profiling::profile;
use self::services::Services;
pub(crate) use self::sets::sets_of;
pub(crate) use self::setting::{Setting, warm_up};
use self::turns::TurnsSoFar;
use crate::LabError;
use crate::conduct::Rig;
use crate::log_limit::LogLimit;
use crate::outside_load::OutsideLoad;
use crate::pods;
use crate::readings::Meters;
use crate::receiving::Receiving;
use crate::restore::Orders;

/// The real rig.
pub(crate) struct RealRig<'a> {
    setting: &'a Setting<'a>,
    keeper: Keeper,
    receiving: Option<Receiving>,
    groups: Vec<Option<ArmCgroup>>,
    /// The cgroup of agents, whichever arm's agents are attached.
    agent_group: Option<ArmCgroup>,
    meters: Meters,
    /// What programs reported and used, kept until the conductor collects it.
    findings: Vec<Entry>,
    /// By load.
    turns: Vec<TurnsSoFar>,
    /// How a service that runs on is switched back; `None` before the first switch.
    orders: Option<Orders>,
}

impl<'a> RealRig<'a> {
    pub(crate) fn new(setting: &'a Setting<'a>, mut keeper: Keeper) -> Result<Self, LabError> {
        let (plan, emit) = (setting.plan, setting.emit);
        pods::delete_at_end(setting, &mut keeper)?;
        let roots = [std::process::id(), keeper.keeper_pid()];
        let receiving = Receiving::start(plan, setting.run, &setting.sets, setting.node.as_ref())?;
        let groups = sets::groups(&setting.sets, plan, &mut keeper, emit)?;
        let agent_group = sets::agent_group(plan, &groups, &mut keeper, emit)?;
        let are_read = !plan.agents.is_empty();
        let kernel_threads = are_read.then(|| kernel_threads(emit)).flatten();
        Ok(RealRig {
            setting,
            keeper,
            receiving,
            groups,
            agent_group,
            meters: Meters {
                machine: MachineProbe::new(&Linux)?,
                own: SelfProbe::new(&Linux)?,
                kernel_threads,
                outside_load: OutsideLoad::new(&Linux, plan, roots),
            },
            findings: Vec::new(),
            turns: vec![TurnsSoFar::default(); plan.loads().count()],
            orders: None,
        })
    }

    /// Ends everything in order; what does not end is killed. A service that runs on is then switched
    /// back to the baseline.
    pub(crate) fn close(self) -> Result<(), LabError> {
        let ended = self.keeper.shut_down();
        if let Some(orders) = &self.orders {
            let text = restored(&orders.conclude(self.setting.run)?);
            (self.setting.emit)(Event::Note { text });
        }
        ended?;
        if let Some(receiving) = self.receiving {
            receiving.shut_down();
        }
        Ok(())
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
        let setting = self.setting;
        let started_ns = setting.clock.now_ns();
        let load = setting.plan.load_of_round(round);
        let turn_of_load = round as usize % self.turns.len();
        let started = self.start(number, load);
        let started = started.map_err(|error| cause_of(&mut self.keeper, error))?;
        let arms = setting.plan.arms.len();
        let firsts = setting.sets.iter().map(|set| set.first().copied());
        let mut services = Services {
            setting,
            keeper: &mut self.keeper,
            receiving: &mut self.receiving,
            groups: &self.groups,
            meters: &mut self.meters,
            findings: &mut self.findings,
            number,
            load,
            warmup_load: None,
            shared: started.shared,
            by_service: ByService::of(&started.instances, arms),
            instances: started.instances,
            driver: started.driver,
            last: started.reading,
            credit: firsts.map(Option::unwrap_or_default).collect(),
            completed: vec![0; arms],
            unmeasured: vec![0; arms],
            outside: Outside::nothing(arms),
            switched: vec![None; setting.sets.len()],
            heard: vec![BTreeSet::new(); arms],
            recording: Recording::new(),
            scratch: Recording::new(),
            achieved_per_s: vec![0.0; arms],
            log_limit: LogLimit::default(),
            turns: &mut self.turns[turn_of_load],
            orders: &mut self.orders,
        };
        let arms = services.warm_up();
        let launch = Launch {
            launch: number,
            round,
            started_ns,
            arms: arms.map_err(|error| cause_of(services.keeper, error))?,
        };
        let launched = RealLaunched {
            services,
            agents: Agents::new(setting, self.agent_group.as_ref()),
            losses: started.losses,
            scraping: started.scraping,
            listed: None,
            held_at: BTreeMap::new(),
            after_windows: None,
            has_turns: false,
        };
        Ok((launch, launched))
    }

    fn findings(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.findings)
    }
}

/// A sentence for the user, who may have to act.
fn restored(of: &Restored) -> String {
    let Restored { service, failed } = of;
    match failed {
        None => format!("service `{service}` was switched back to the baseline"),
        Some(how) => format!(
            "service `{service}` could not be switched back to the baseline and may still be in \
             another arm's state. {how}"
        ),
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

/// The real cause: a keeper that is killed takes every service with it, and the errors that follow
/// (a refused connection, a missing counter) are not the cause.
fn cause_of(keeper: &mut Keeper, error: LabError) -> LabError {
    match keeper.poll() {
        Err(gone) => gone.into(),
        Ok(_) => error,
    }
}
