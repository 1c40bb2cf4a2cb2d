//! Agents beside the process: attached for their arm's windows, detached for all others.

mod detached;
mod statistics;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use windage_model::{AgentCycle, ArmIndex, BpfProgram, Event, Place, Warning};
use windage_plan::Plan;
use windage_probe::ArmProbe;
use windage_probe::bpf::{Bpf, KernelBpf, Objects};
use windage_probe::cgroup::ArmCgroup;
use windage_record::Entry;

use super::services::Services;
use super::setting::Setting;
use crate::LabError;
use crate::clock::whole_ns;
use crate::error::ServiceTrouble;
use crate::instance::{Part, launch};
use crate::losses::{Losses, Lost};
use crate::process_set::{Instance, beside, note_exits};
use crate::receiving::Receiving;
use crate::scraping::{Scraped, Scraping};
use detached::Footprint;
use statistics::take_statistics;

/// Load between detaching agents and the next window, to clear their traces from caches.
const WITHOUT: Duration = Duration::from_millis(300);
/// How many logs of an agent are kept per launch. A long launch attaches thousands of times.
const KEPT_LOGS: u32 = 10;

/// Agents that are attached.
struct Attached<'a> {
    /// The arm that has them.
    owner: ArmIndex,
    instance: Instance,
    /// The kernel's objects before they attached; `None` when the kernel does not list them.
    before: Option<Objects>,
    /// CPU of their group at the end of their warm-up.
    warm: Option<u64>,
    warm_since: Instant,
    /// Requests that the arm had completed by the end of the warm-up.
    warm_requests: u64,
    losses: Losses<'a>,
    scraping: Scraping,
    cycle: AgentCycle,
}

/// The agents of a launch, of which one arm's are attached at a time.
pub(super) struct Agents<'r, 'a> {
    setting: &'a Setting<'a>,
    footprint: Footprint<'r>,
    attached: Option<Attached<'a>>,
    /// How agents failed, by arm.
    deaths: BTreeMap<ArmIndex, Box<ServiceTrouble>>,
    /// Losses that agents reported, by arm.
    drops: Vec<(ArmIndex, Lost)>,
    /// What was scraped of them.
    pub(super) scraped: Vec<Scraped>,
    /// Attachments so far.
    cycles: u32,
    /// Sets whose telemetry from the warm-up is discarded.
    forgotten: BTreeSet<usize>,
}

/// The time that attaching adds to a block, without the agents' own launch.
pub(crate) fn attaching(plan: &Plan) -> Duration {
    if plan.agents.is_empty() {
        return Duration::ZERO;
    }
    let design = &plan.design;
    // Programs of agents without needs are timed as well, if they have any after all.
    let have_needs = plan.agents.iter().any(|agent| !agent.needs.is_empty());
    let statistics = if have_needs {
        design.bpf_statistics * 2
    } else {
        Duration::ZERO
    };
    design.agent_warmup + statistics + WITHOUT
}

impl<'r, 'a> Agents<'r, 'a> {
    /// The agents of all arms share a group.
    pub(super) fn new(setting: &'a Setting<'a>, group: Option<&'r ArmCgroup>) -> Agents<'r, 'a> {
        Agents {
            setting,
            footprint: Footprint { group },
            attached: None,
            deaths: BTreeMap::new(),
            drops: Vec::new(),
            scraped: Vec::new(),
            cycles: 0,
            forgotten: BTreeSet::new(),
        }
    }

    /// How the agents of an arm failed.
    pub(super) fn death(&self, arm: ArmIndex) -> Option<&ServiceTrouble> {
        let owner = self.setting.owner_of(arm)?;
        self.deaths.get(&owner).map(|death| &**death)
    }

    /// Adds what the agents of an arm lost.
    pub(super) fn add_losses(&self, arm: ArmIndex, lost: &mut Lost) {
        let own = self.drops.iter().filter(|(of, _)| *of == arm);
        own.for_each(|(_, more)| lost.add_all(more));
    }

    /// The counters of the agents that are attached.
    pub(super) fn probe(&mut self) -> Option<&mut ArmProbe> {
        let attached = self.attached.as_mut();
        attached.map(|attached| &mut attached.instance.probe)
    }

    /// The memory of the agents that are attached.
    pub(super) fn rss_bytes(&mut self) -> Option<u64> {
        let memory = self.probe()?.memory().ok()?;
        (memory.rss_bytes > 0).then_some(memory.rss_bytes)
    }

    /// Shortens logs of the agents that are attached, if they have become too long.
    pub(super) fn limit_logs(&self, services: &mut Services) {
        if let Some(attached) = &self.attached {
            attached.limit_logs(services);
        }
    }

    /// Notes which services have ended, and which of the agents that are attached.
    pub(super) fn notice_deaths(&mut self, services: &mut Services) -> Result<(), LabError> {
        let attached = self.attached.as_mut();
        services.notice_deaths(attached.map(|attached| &mut attached.instance))
    }

    /// Makes the agents of an arm, and no others, attached. Returns a warning when they can't be
    /// attached and the run goes on without them.
    pub(super) fn attend(
        &mut self,
        services: &mut Services,
        place: Place,
    ) -> Result<Option<Warning>, LabError> {
        let wanted = self.setting.owner_of(place.arm);
        let present = self.attached.as_ref().map(|attached| attached.owner);
        if wanted == present {
            return Ok(None);
        }
        self.detach(services, true)?;
        if let Some(owner) = wanted {
            return self.attach(services, owner, place);
        }
        // If it fails, the window has the warning.
        let _ = services.switch(place.arm)?;
        services.load_unmeasured(place.arm, WITHOUT)?;
        Ok(None)
    }

    fn attach(
        &mut self,
        services: &mut Services,
        owner: ArmIndex,
        place: Place,
    ) -> Result<Option<Warning>, LabError> {
        let arm = &self.setting.plan.arms[owner.get()];
        (self.setting.emit)(Event::Attaching {
            arm: arm.id.clone(),
        });
        // The watched service is in the arm's state before the agents attach. If the switch fails,
        // the window has the warning.
        let _ = services.switch(owner)?;
        let before = KernelBpf.objects().ok();
        self.keep_logs(services.number, owner);
        self.cycles += 1;
        let cycle = AgentCycle {
            launch: place.launch,
            block: place.block,
            arm: owner,
            ..AgentCycle::default()
        };
        let instance = match self.launch_agents(services, owner) {
            Ok(instance) => instance,
            Err(error) => {
                // A service of another arm may have failed, which says nothing about these agents.
                let own = beside(arm.id.as_str());
                let is_own = error.whose().is_some_and(|whose| whose == own);
                let why = is_own.then(|| what_failed(&error));
                self.without_agents(services, cycle, before, why)?;
                return Err(error);
            }
        };
        if let Some(death) = instance.death.clone() {
            let (warning, why) = (died(&death), death.what_happened());
            self.deaths.entry(owner).or_insert(death);
            self.without_agents(services, cycle, before, Some(why))?;
            services.book_outside(owner)?;
            return Ok(Some(warning));
        }
        self.attached(services, instance, before, cycle)?;
        services.book_outside(owner)?;
        self.forget_warm_up(services.receiving, self.setting.set_of(owner));
        services.load_unmeasured(owner, self.setting.plan.design.agent_warmup)?;
        self.pace_bystanders(services, owner)?;
        let requests = services.completed[owner.get()];
        if let Some(attached) = &mut self.attached {
            // Processes that the agent started since it was ready belong to it too.
            let _ = attached.instance.probe.refresh_tasks();
            attached.warm = attached.instance.probe.cpu_ns().ok();
            attached.warm_since = Instant::now();
            attached.warm_requests = requests;
        }
        Ok(None)
    }

    /// Finds the number of iterations per window for a bystander while the agents are attached,
    /// once per launch. The agents may attach to its program as well and slow it down a lot.
    fn pace_bystanders(
        &mut self,
        services: &mut Services,
        owner: ArmIndex,
    ) -> Result<(), LabError> {
        for arm in self.setting.arms().filter(|arm| *arm != owner) {
            if self.setting.owner_of(arm) == Some(owner) && services.driver.seeks_pace(arm) {
                // If it fails, the window has the warning.
                let _ = services.switch(arm)?;
                services.load_unmeasured(arm, self.setting.plan.design.agent_warmup)?;
            }
        }
        Ok(())
    }

    /// Records agents that are ready.
    fn attached(
        &mut self,
        services: &mut Services,
        mut instance: Instance,
        before: Option<Objects>,
        cycle: AgentCycle,
    ) -> Result<(), LabError> {
        let owner = cycle.arm;
        let (plan, run) = (self.setting.plan, self.setting.run);
        let losses = Losses::of_agents(plan, run, services.number, owner, &instance)?;
        losses.scrape()?;
        let mut phases = self.setting.scrape_phases(services.number, self.cycles);
        let receiving = services.receiving.as_ref();
        let scraping = Scraping::of_agents(plan, receiving, owner, &instance, &mut phases)?;
        let processes: Vec<u32> = instance.probe.process_ids().collect();
        let come = before.as_ref();
        let come = come.and_then(|before| self.footprint.come_since(before, &processes));
        let cycle = AgentCycle {
            attach_ns: instance.startup_ns.unwrap_or_default(),
            attach_cpu_ns: instance.startup_cpu_ns,
            attach_rss_peak_bytes: instance.probe.rss_peak_bytes().ok().filter(|b| *b > 0),
            ..cycle
        };
        (self.setting.emit)(Event::Attached {
            arm: plan.arms[owner.get()].id.clone(),
            after: Duration::from_nanos(cycle.attach_ns),
            programs: come.map(|come| come.programs.len()),
        });
        self.attached = Some(Attached {
            owner,
            instance,
            before,
            warm: None,
            warm_since: Instant::now(),
            warm_requests: 0,
            losses,
            scraping,
            cycle,
        });
        Ok(())
    }

    fn launch_agents(
        &mut self,
        services: &mut Services,
        owner: ArmIndex,
    ) -> Result<Instance, LabError> {
        let arm = &self.setting.plan.arms[owner.get()];
        let names = &services.instances[self.setting.set_of(owner)].names;
        let names = names.clone().with_arm(arm);
        let up = [&services.shared].into_iter().chain(&services.instances);
        let up: Vec<&Instance> = up.collect();
        let mut ground = self.setting.ground(services.keeper, services.number, &up);
        let group = self.footprint.group;
        let launched = launch(&mut ground, Part::Agents, &[owner], group, names);
        let ended = std::mem::take(&mut ground.ended);
        note_exits(services.instances.iter_mut(), &ended);
        launched
    }

    /// Ends agents that did not come up and checks that nothing is left of them. Without a reason,
    /// the failure was not theirs, and only what they left behind is recorded.
    fn without_agents(
        &self,
        services: &mut Services,
        mut cycle: AgentCycle,
        before: Option<Objects>,
        why: Option<String>,
    ) -> Result<(), LabError> {
        let has_reason = why.is_some();
        cycle.failed = why.map(|why| format!("{why}."));
        cycle.left_behind = self.footprint.alive_in_group();
        if let Some(before) = before {
            note_left(&mut cycle, self.footprint.left_since(&before));
        }
        if has_reason || !cycle.left_behind.is_empty() {
            return self.record_cycle(services.findings, cycle);
        }
        Ok(())
    }

    /// Records an attachment.
    ///
    /// # Errors
    /// When it left something behind.
    fn record_cycle(&self, findings: &mut Vec<Entry>, cycle: AgentCycle) -> Result<(), LabError> {
        let (owner, left) = (cycle.arm, cycle.left_behind.clone());
        // An attachment that was cut short says nothing about what agents use.
        if !self.setting.is_interrupted() || !left.is_empty() {
            findings.push(Entry::Agent(cycle));
        }
        if left.is_empty() {
            return Ok(());
        }
        Err(LabError::LeftBehind {
            arm: self.setting.plan.arms[owner.get()].id.to_string(),
            objects: left.join(", "),
        })
    }

    /// Discards the telemetry of a set's warm-up. Before its first agents attach, only the warm-up
    /// had load, and the agents saw none of it. Most of what the services themselves export has
    /// arrived by now.
    pub(super) fn forget_warm_up(&mut self, receiving: &mut Option<Receiving>, set: usize) {
        let is_watched = |arm: &ArmIndex| self.setting.owner_of(*arm).is_some();
        let always = self.setting.sets[set].iter().all(is_watched);
        if let Some(receiving) = receiving.as_mut().filter(|_| always)
            && self.forgotten.insert(set)
        {
            receiving.forget(set);
        }
    }

    /// Ends the agents that are attached, and waits until nothing is left of them. With
    /// `statistics`, the kernel times their programs first.
    pub(super) fn detach(
        &mut self,
        services: &mut Services,
        statistics: bool,
    ) -> Result<(), LabError> {
        self.notice_deaths(services)?;
        let Some(mut attached) = self.attached.take() else {
            return Ok(());
        };
        let (owner, setting) = (attached.owner, self.setting);
        let _ = attached.instance.probe.refresh_tasks();
        attached.close_books(services.completed[owner.get()]);
        let processes: Vec<u32> = attached.instance.probe.process_ids().collect();
        let before = attached.before.as_ref();
        let come = before.and_then(|before| self.footprint.come_since(before, &processes));
        if let Some(come) = &come {
            take_objects(&mut attached.cycle, come);
        }
        let is_up = |attached: &Attached, services: &Services| {
            let watched = services.death(setting.set_of(owner));
            attached.instance.death.is_none() && watched.is_none() && !setting.is_interrupted()
        };
        if statistics && is_up(&attached, services) {
            take_statistics(services, &mut attached)?;
        }
        if is_up(&attached, services) {
            attached.losses.scrape()?;
        }
        let scraped = std::mem::take(&mut attached.scraping).end();
        scraped.for_each(|of| of.join(&mut self.scraped));
        let keeper = &mut *services.keeper;
        self.footprint.end(keeper, &mut attached, come.as_ref())?;
        services.book_delivered(owner);
        let is_over = || setting.is_interrupted();
        let lost = attached.losses.lost(owner, &is_over, setting.emit);
        self.drops.push((owner, lost));
        attached.limit_logs(services);
        (setting.emit)(Event::Detached {
            arm: setting.plan.arms[owner.get()].id.clone(),
            after: Duration::from_nanos(attached.cycle.detach_ns),
        });
        self.record_cycle(services.findings, attached.cycle)?;
        services.book_outside(owner)
    }

    /// An earlier attachment of the same launch has logs of the same name: keeps the latest of them
    /// under other names.
    fn keep_logs(&self, launch: u32, owner: ArmIndex) {
        let (run, arm) = (self.setting.run, &self.setting.plan.arms[owner.get()]);
        for agent in &arm.agents {
            let log = run.log_path(launch, arm.id.as_str(), agent.as_str());
            let kept = log.with_extension(format!("{}.log", self.cycles % KEPT_LOGS));
            // The first attachment finds no earlier log.
            let _ = std::fs::rename(&log, kept);
        }
    }

    /// The warning about a window in which an agent ended. The arm is not measured further.
    pub(super) fn note_death(&mut self) -> Option<Warning> {
        let attached = self.attached.as_ref()?;
        let death = attached.instance.death.clone()?;
        let warning = died(&death);
        self.deaths.entry(attached.owner).or_insert(death);
        Some(warning)
    }
}

impl Attached<'_> {
    /// Closes the account of the agents: what they used from the end of their warm-up until now.
    /// `completed` counts the arm's requests.
    fn close_books(&mut self, completed: u64) {
        let cycle = &mut self.cycle;
        cycle.up_ns = whole_ns(self.warm_since.elapsed());
        let cpu_ns = self.warm.zip(self.instance.probe.cpu_ns().ok());
        cycle.up_cpu_ns = cpu_ns.map(|(before, now)| now.saturating_sub(before));
        cycle.requests = completed.saturating_sub(self.warm_requests);
        let memory = self.instance.probe.memory().ok();
        cycle.rss_steady_bytes = memory.map(|m| m.rss_bytes).filter(|b| *b > 0);
        self.note_death();
    }

    fn limit_logs(&self, services: &mut Services) {
        let (setting, launch) = (services.setting, services.number);
        services.log_limit.look(setting, launch, &self.instance);
    }

    fn note_death(&mut self) {
        if let Some(death) = &self.instance.death {
            self.cycle.failed = Some(format!("{}.", death.what_happened()));
        }
    }
}

/// Records the kernel's objects of the agents.
fn take_objects(cycle: &mut AgentCycle, come: &Objects) {
    let programs = come.programs.iter().map(|program| BpfProgram {
        id: program.id,
        name: program.name.clone(),
        kind: program.kind.clone(),
        runs: 0,
        run_ns: 0,
    });
    cycle.programs = Some(programs.collect());
    cycle.links = u32::try_from(come.links.len()).unwrap_or(u32::MAX);
    cycle.bpf_memory_bytes = come.memory_bytes();
}

/// Records what was left after they ended. `None`: it could not be found out, so no program is
/// known.
fn note_left(cycle: &mut AgentCycle, left: Option<Vec<String>>) {
    match left {
        Some(mut left) => cycle.left_behind.append(&mut left),
        None => cycle.programs = None,
    }
}

/// Why agents did not come up, without the end of a log.
fn what_failed(error: &LabError) -> String {
    match error {
        LabError::ServiceDied(death) | LabError::NotReady(death) => death.what_happened(),
        error => error.to_string(),
    }
}

fn died(death: &ServiceTrouble) -> Warning {
    Warning::AgentDied {
        agent: death.service.clone(),
        whose: death.whose.clone(),
        how: death.trouble.clone(),
    }
}
