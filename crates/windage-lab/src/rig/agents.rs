//! Agents beside the process: attached for their arm's windows, and gone for all others.

mod detached;
mod statistics;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use windage_model::{AgentCycle, ArmIndex, BpfProgram, Event, Place, Warning, WarningCode};
use windage_probe::bpf::{Bpf, Objects};
use windage_record::Entry;

use super::{Live, RealRig};
use crate::LabError;
use crate::clock::whole_ns;
use crate::error::ServiceTrouble;
use crate::instance::{Instance, Part, beside, launch, note_exits};
use crate::losses::{Losses, Lost};
use crate::stretch::Stretch;

/// Load after agents went, before the next window: what they left in caches and on run queues.
const WITHOUT: Duration = Duration::from_millis(300);
/// As many logs are kept of an agent in one launch: a long one attaches thousands of times.
const KEPT_LOGS: u32 = 10;

/// Agents that are attached.
pub(super) struct Attached<'a> {
    /// Whose they are.
    pub(super) owner: ArmIndex,
    pub(super) instance: Instance,
    /// What the kernel had before them; `None` when it does not let that be listed.
    before: Option<Objects>,
    /// CPU of their group when they were warm.
    warm: Option<u64>,
    warm_since: Instant,
    /// Requests that the arm had completed by then.
    warm_requests: u64,
    losses: Losses<'a>,
    cycle: AgentCycle,
}

/// What the attachments of a launch came to besides their records.
#[derive(Default)]
pub(super) struct Tally {
    /// How the agents of an arm failed, by arm.
    deaths: Vec<(ArmIndex, Box<ServiceTrouble>)>,
    /// What agents said that they dropped, by arm.
    pub(super) drops: Vec<(ArmIndex, Lost)>,
    /// Attachments so far.
    cycles: u32,
    /// Sets of which what came of their warm-up is forgotten.
    forgotten: BTreeSet<usize>,
}

impl Tally {
    pub(super) fn death(&self, arm: ArmIndex) -> Option<&ServiceTrouble> {
        let found = self.deaths.iter().find(|(of, _)| *of == arm);
        found.map(|(_, death)| &**death)
    }
}

impl<'a> RealRig<'a> {
    /// What attaching adds to a block, launches of the agents apart.
    pub(crate) fn attaching(&self) -> Duration {
        if self.plan.agents.is_empty() {
            return Duration::ZERO;
        }
        let design = &self.plan.design;
        design.agent_warmup + design.bpf_statistics * 2 + WITHOUT
    }

    /// The arm whose agents are attached while an arm is measured.
    pub(super) fn owner_of(&self, arm: ArmIndex) -> Option<ArmIndex> {
        let planned = &self.plan.arms[arm.get()];
        match &planned.bystander_of {
            Some(watched) => {
                let found = self.plan.arms.iter().position(|other| other.id == *watched);
                found.and_then(|at| u16::try_from(at).ok()).map(ArmIndex)
            }
            None => (!planned.agents.is_empty()).then_some(arm),
        }
    }

    /// Sees to it that the agents of an arm, and no others, are there. A warning when they can't be
    /// had and the run goes on without them.
    pub(super) fn attend(
        &mut self,
        live: &mut Live<'a>,
        place: Place,
    ) -> Result<Option<Warning>, LabError> {
        let wanted = self.owner_of(place.arm);
        let present = live.attached.as_ref().map(|attached| attached.owner);
        if wanted == present {
            return Ok(None);
        }
        self.detach(live, true)?;
        let warning = match wanted {
            Some(owner) => self.attach(live, owner, place)?,
            None => {
                // Where it fails, the window says so.
                let _ = self.switch(live, place.arm)?;
                self.load_unmeasured(live, place.arm, WITHOUT)?;
                None
            }
        };
        Ok(warning)
    }

    fn attach(
        &mut self,
        live: &mut Live<'a>,
        owner: ArmIndex,
        place: Place,
    ) -> Result<Option<Warning>, LabError> {
        let arm = &self.plan.arms[owner.get()];
        (self.emit)(Event::Attaching {
            arm: arm.id.clone(),
        });
        // What it watches is in the arm's state before it comes; where that fails, the window says so.
        let _ = self.switch(live, owner)?;
        let before = self.bpf.objects().ok();
        self.keep_logs(live, owner);
        live.tally.cycles += 1;
        let cycle = AgentCycle {
            launch: place.launch,
            block: place.block,
            arm: owner,
            ..AgentCycle::default()
        };
        let instance = match self.launch_agents(live, owner) {
            Ok(instance) => instance,
            Err(error) => {
                // What failed may be a service that another arm has, which says nothing of these agents.
                let is_own = error
                    .whose()
                    .is_some_and(|whose| whose == beside(arm.id.as_str()));
                let why = is_own.then(|| what_failed(&error));
                self.without_agents(cycle, before, why)?;
                return Err(error);
            }
        };
        let set = self.instance_of(owner);
        if let Some(death) = instance.death.clone() {
            let warning = died(&death);
            live.tally.deaths.push((owner, death));
            self.without_agents(cycle, before, Some(warning.text.clone()))?;
            self.book_outside(live, set)?;
            return Ok(Some(warning));
        }
        self.attached(live, instance, before, cycle)?;
        self.book_outside(live, set)?;
        self.forget_warm_up(live, set);
        self.load_unmeasured(live, owner, self.plan.design.agent_warmup)?;
        self.pace_bystanders(live, owner)?;
        let requests = live.completed[owner.get()];
        if let Some(attached) = &mut live.attached {
            // What it started since it was ready is its own as well.
            let _ = attached.instance.probe.refresh_tasks();
            attached.warm = attached.instance.probe.cpu_ns().ok();
            attached.warm_since = Instant::now();
            attached.warm_requests = requests;
        }
        Ok(None)
    }

    /// How many iterations make a window of a bystander is found beside the agents, once a launch: what
    /// they attach to may be its program as well, and make it slower by far.
    fn pace_bystanders(&mut self, live: &mut Live<'a>, owner: ArmIndex) -> Result<(), LabError> {
        let arms = (0u16..).map(ArmIndex).take(self.plan.arms.len());
        for arm in arms.filter(|arm| *arm != owner) {
            if self.owner_of(arm) == Some(owner) && Self::seeks_pace(live, arm) {
                // Where it fails, the window says so.
                let _ = self.switch(live, arm)?;
                self.load_unmeasured(live, arm, self.plan.design.agent_warmup)?;
            }
        }
        Ok(())
    }

    /// Takes note of agents that are ready.
    fn attached(
        &mut self,
        live: &mut Live<'a>,
        mut instance: Instance,
        before: Option<Objects>,
        cycle: AgentCycle,
    ) -> Result<(), LabError> {
        let owner = cycle.arm;
        let losses = Losses::of_agents(self.plan, self.run, live.number, owner, &instance)?;
        losses.scrape()?;
        let processes: Vec<u32> = instance.probe.process_ids().collect();
        let come = before
            .as_ref()
            .and_then(|before| self.come_since(before, &processes));
        let cycle = AgentCycle {
            attach_ns: instance.startup_ns.unwrap_or_default(),
            attach_cpu_ns: instance.startup_cpu_ns,
            attach_rss_peak_bytes: instance.probe.rss_peak_bytes().ok().filter(|b| *b > 0),
            ..cycle
        };
        (self.emit)(Event::Attached {
            arm: self.plan.arms[owner.get()].id.clone(),
            after: Duration::from_nanos(cycle.attach_ns),
            programs: come.map(|come| come.programs.len()),
        });
        live.attached = Some(Attached {
            owner,
            instance,
            before,
            warm: None,
            warm_since: Instant::now(),
            warm_requests: 0,
            losses,
            cycle,
        });
        Ok(())
    }

    fn launch_agents(
        &mut self,
        live: &mut Live<'a>,
        owner: ArmIndex,
    ) -> Result<Instance, LabError> {
        let watched = &live.instances[self.instance_of(owner)];
        let names = watched.names.clone().with_arm(&self.plan.arms[owner.get()]);
        let group = self.agent_group.take();
        let up: Vec<&Instance> = std::iter::once(&live.shared)
            .chain(&live.instances)
            .collect();
        let mut ground = self.ground(live.number, &up);
        let launched = launch(&mut ground, Part::Agents, &[owner], group.as_ref(), names);
        let ended = std::mem::take(&mut ground.ended);
        note_exits(live.instances.iter_mut(), &ended);
        self.agent_group = group;
        launched
    }

    /// Agents that did not come up, and were ended: nothing may be left of them. Without a reason it was
    /// none of theirs, and nothing is put down but what they left behind.
    fn without_agents(
        &mut self,
        mut cycle: AgentCycle,
        before: Option<Objects>,
        why: Option<String>,
    ) -> Result<(), LabError> {
        let is_told = why.is_some();
        cycle.failed = why.map(|why| format!("{why}."));
        cycle.left_behind = self.alive_in_group();
        if let Some(before) = before {
            cycle.note_left(self.left_since(&before));
        }
        if is_told || !cycle.left_behind.is_empty() {
            return self.put_down(cycle);
        }
        Ok(())
    }

    /// Puts an attachment down.
    ///
    /// # Errors
    /// When it left something behind.
    fn put_down(&mut self, cycle: AgentCycle) -> Result<(), LabError> {
        let (owner, left) = (cycle.arm, cycle.left_behind.clone());
        // One that was cut short says nothing of what agents use.
        if !self.is_interrupted() || !left.is_empty() {
            self.findings.push(Entry::Agent(cycle));
        }
        self.nothing_left(owner, &left)
    }

    /// Before the first agents of a set come, only the warm-up had load there, of which they have seen
    /// nothing. What its services tell of it themselves has come by now for the most part.
    pub(super) fn forget_warm_up(&mut self, live: &mut Live<'a>, set: usize) {
        let is_watched = |arm: &ArmIndex| self.owner_of(*arm).is_some();
        let always = self.sets[set].iter().all(is_watched);
        if let Some(receiving) = self.receiving.as_mut().filter(|_| always)
            && live.tally.forgotten.insert(set)
        {
            receiving.forget(set);
        }
    }

    /// Ends whatever agents are attached, and waits until nothing is left of them. With statistics,
    /// the kernel times their programs first.
    pub(super) fn detach(&mut self, live: &mut Live<'a>, statistics: bool) -> Result<(), LabError> {
        self.notice_deaths(live)?;
        let Some(mut attached) = live.attached.take() else {
            return Ok(());
        };
        let owner = attached.owner;
        let _ = attached.instance.probe.refresh_tasks();
        attached.close_books(live.completed[owner.get()]);
        let processes: Vec<u32> = attached.instance.probe.process_ids().collect();
        let before = attached.before.as_ref();
        let come = before.and_then(|before| self.come_since(before, &processes));
        if let Some(come) = &come {
            attached.cycle.take_objects(come);
        }
        let is_up = |rig: &Self, attached: &Attached<'_>, live: &Live<'_>| {
            let watched = live.death(rig.instance_of(owner));
            attached.instance.death.is_none() && watched.is_none() && !rig.is_interrupted()
        };
        if statistics && is_up(self, &attached, live) {
            self.take_statistics(live, &mut attached)?;
        }
        if is_up(self, &attached, live) {
            attached.losses.scrape()?;
        }
        self.end(&mut attached, come.as_ref())?;
        self.book_delivered(live, owner);
        let is_over = || self.is_interrupted();
        let lost = attached.losses.lost(owner, &is_over, self.emit);
        live.tally.drops.push((owner, lost));
        (self.emit)(Event::Detached {
            arm: self.plan.arms[owner.get()].id.clone(),
            after: Duration::from_nanos(attached.cycle.detach_ns),
        });
        self.put_down(attached.cycle)?;
        self.book_outside(live, self.instance_of(owner))
    }

    /// Load on an arm that no window is of; how many requests it completed.
    fn load_unmeasured(
        &mut self,
        live: &mut Live<'a>,
        arm: ArmIndex,
        lasts: Duration,
    ) -> Result<u64, LabError> {
        if lasts.is_zero() && !Self::seeks_pace(live, arm) {
            return Ok(0);
        }
        let set = self.instance_of(arm);
        self.enter(set, Stretch::unmeasured(arm));
        let driven = self.drive(live, arm, lasts, 0, true)?;
        self.flush_window(live, arm)?;
        Self::keep_pace(live, arm);
        self.quiet(live, set);
        let completed = driven.report.exchanges.completed;
        live.completed[arm.get()] += completed;
        live.unmeasured[arm.get()] += completed;
        self.book_delivered(live, arm);
        self.book_outside(live, set)?;
        Ok(completed)
    }

    /// What came until now is the arm's.
    pub(super) fn book_delivered(&mut self, live: &mut Live<'a>, arm: ArmIndex) {
        let set = self.instance_of(arm);
        live.credit[set] = arm;
        if let Some(receiving) = &mut self.receiving {
            receiving.credit(set, arm);
        }
    }

    /// An earlier attachment of the same launch has logs of the same name: the latest are kept
    /// beside.
    fn keep_logs(&self, live: &Live<'a>, owner: ArmIndex) {
        let arm = &self.plan.arms[owner.get()];
        for agent in &arm.agents {
            let log = self
                .run
                .log_path(live.number, arm.id.as_str(), agent.as_str());
            let kept = log.with_extension(format!("{}.log", live.tally.cycles % KEPT_LOGS));
            // The first attachment finds none.
            let _ = std::fs::rename(&log, kept);
        }
    }

    /// The warning about a window in which an agent ended. The arm is not measured further.
    pub(super) fn note_agent_death(&self, live: &mut Live<'a>) -> Option<Warning> {
        let attached = live.attached.as_ref()?;
        let death = attached.instance.death.clone()?;
        let warning = died(&death);
        if live.tally.death(attached.owner).is_none() {
            live.tally.deaths.push((attached.owner, death));
        }
        Some(warning)
    }
}

impl Attached<'_> {
    /// What the agents used from the end of their warm-up until now, when the arm has completed so
    /// many requests.
    fn close_books(&mut self, completed: u64) {
        let cycle = &mut self.cycle;
        cycle.up_ns = whole_ns(self.warm_since.elapsed());
        cycle.up_cpu_ns = self
            .warm
            .zip(self.instance.probe.cpu_ns().ok())
            .map(|(before, now)| now.saturating_sub(before));
        cycle.requests = completed.saturating_sub(self.warm_requests);
        let memory = self.instance.probe.memory().ok();
        cycle.rss_steady_bytes = memory.map(|m| m.rss_bytes).filter(|b| *b > 0);
        self.note_death();
    }

    fn note_death(&mut self) {
        if let Some(death) = &self.instance.death {
            self.cycle.failed = Some(format!("{}.", death.what_happened()));
        }
    }
}

/// What is put down in the record of an attachment.
trait Booking {
    /// What the kernel has of the agents.
    fn take_objects(&mut self, come: &Objects);
    /// What was left when they were gone; `None` when that could not be found out, so that it is not
    /// known of any program.
    fn note_left(&mut self, left: Option<Vec<String>>);
}

impl Booking for AgentCycle {
    fn take_objects(&mut self, come: &Objects) {
        let programs = come.programs.iter().map(|program| BpfProgram {
            id: program.id,
            name: program.name.clone(),
            kind: program.kind.clone(),
            runs: 0,
            run_ns: 0,
        });
        self.programs = Some(programs.collect());
        self.links = u32::try_from(come.links.len()).unwrap_or(u32::MAX);
        self.bpf_memory_bytes = come.memory_bytes();
    }

    fn note_left(&mut self, left: Option<Vec<String>>) {
        match left {
            Some(mut left) => self.left_behind.append(&mut left),
            None => self.programs = None,
        }
    }
}

/// Why agents did not come up, without anybody's last words.
fn what_failed(error: &LabError) -> String {
    match error {
        LabError::ServiceDied(death) | LabError::NotReady(death) => death.what_happened(),
        error => error.to_string(),
    }
}

fn died(death: &ServiceTrouble) -> Warning {
    Warning::new(WarningCode::AgentDied, death.what_happened())
        .with("agent", death.service.as_str())
        .with("how", death.trouble.as_str())
}
