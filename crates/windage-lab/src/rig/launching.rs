//! Launching: instances, connections or resident programs, warm-up.

use std::time::Duration;

use windage_model::{ArmIndex, CpuSource, Event, LoadModel};
use windage_plan::{Load, Service};
use windage_probe::ArmProbe;
use windage_probe::cgroup::ArmCgroup;
use windage_record::LaunchedArm;

use super::RealRig;
use super::batch::prepare_program;
use super::driver::Driver;
use super::outside_windows::Outside;
use super::services::Services;
use crate::LabError;
use crate::attached::check_cpu;
use crate::instance::{Part, launch};
use crate::losses::Losses;
use crate::names::Names;
use crate::process_set::{Instance, note_exits};
use crate::readings::Reading;
use crate::scraping::Scraping;
use crate::settling::{PIECES, PIECES_MAX, Settling};
use crate::warnings::what_failed;

/// Services that are ready and connected.
pub(super) struct Started<'a> {
    pub(super) shared: Instance,
    pub(super) instances: Vec<Instance>,
    pub(super) driver: Driver<'a>,
    pub(super) losses: Losses<'a>,
    pub(super) scraping: Scraping,
    pub(super) reading: Reading,
}

impl<'a> RealRig<'a> {
    /// Starts the services of a launch, and connects to them.
    pub(super) fn start(&mut self, number: u32, load: &'a Load) -> Result<Started<'a>, LabError> {
        let setting = self.setting;
        if let Some(receiving) = &mut self.receiving {
            receiving.launch(setting.plan);
        }
        let mut shared = self.launch_shared(number)?;
        let mut instances = self.launch_instances(number, load, &shared)?;
        let losses = Losses::of(setting.plan, setting.run, number, &instances)?;
        losses.scrape()?;
        let mut phases = setting.scrape_phases(number, 0);
        let receiving = self.receiving.as_ref();
        let scraping = Scraping::of(setting.plan, receiving, &instances, &mut phases)?;
        let mut ground = setting.ground(&mut self.keeper, number, &[]);
        let driver = Driver::start(setting, load, &mut ground, &self.groups, &mut instances)?;
        Ok(Started {
            reading: self
                .meters
                .read((&mut instances, &mut shared), receiving, None)?,
            shared,
            instances,
            driver,
            losses,
            scraping,
        })
    }

    fn launch_shared(&mut self, number: u32) -> Result<Instance, LabError> {
        let mut names = self.setting.names.clone();
        names.set("launch", number.to_string());
        let mut ground = self.setting.ground(&mut self.keeper, number, &[]);
        launch(&mut ground, Part::Shared, &[], None, names)
    }

    /// Launches every instance, in an order drawn anew for each launch.
    fn launch_instances(
        &mut self,
        number: u32,
        load: &Load,
        shared: &Instance,
    ) -> Result<Vec<Instance>, LabError> {
        let mut instances: Vec<(usize, Instance)> = Vec::with_capacity(self.setting.sets.len());
        for index in self.setting.order_of_launch(number) {
            let arms = self.setting.sets[index].clone();
            let mut names = shared.names.clone();
            if let Some(first) = arms.first() {
                names = names.with_arm(&self.setting.plan.arms[first.get()]);
            }
            if let Some(receiving) = &self.receiving {
                receiving.name(index, &mut names);
            }
            let group = self.groups[index].as_ref();
            let instance = if load.model == LoadModel::Batch {
                let instance = self.unlaunched(&arms, names, group)?;
                self.check_program(number, index, &instance)?;
                instance
            } else {
                let earlier = instances.iter().map(|(_, instance)| instance);
                let up: Vec<&Instance> = std::iter::once(shared).chain(earlier).collect();
                let mut ground = self.setting.ground(&mut self.keeper, number, &up);
                let launched = launch(&mut ground, Part::Own, &arms, group, names);
                let ended = std::mem::take(&mut ground.ended);
                note_exits(instances.iter_mut().map(|(_, instance)| instance), &ended);
                launched?
            };
            instances.push((index, instance));
        }
        instances.sort_by_key(|(index, _)| *index);
        let instances = instances.into_iter().map(|(_, instance)| instance);
        Ok(instances.collect())
    }

    /// An instance whose only program is started by the driver.
    fn unlaunched(
        &self,
        arms: &[ArmIndex],
        names: Names,
        group: Option<&ArmCgroup>,
    ) -> Result<Instance, LabError> {
        let probe = group.map_or_else(|| Ok(ArmProbe::none()), ArmCgroup::probe)?;
        let first = arms.first().map(|a| &self.setting.plan.arms[a.get()]);
        let name = first.map_or_else(String::new, |arm| arm.id.to_string());
        Ok(Instance {
            arms: arms.to_vec(),
            ..Instance::unlaunched(name, names, probe)
        })
    }

    /// Checks the configuration of a batch plan's program, if the plan has a check.
    fn check_program(
        &mut self,
        number: u32,
        index: usize,
        instance: &Instance,
    ) -> Result<(), LabError> {
        let is_checked = |s: &Service| !s.shared && !s.check.is_empty();
        if !self.setting.plan.services.iter().any(is_checked) {
            return Ok(());
        }
        let mut ground = self.setting.ground(&mut self.keeper, number, &[]);
        let group = self.groups[index].as_ref();
        let (mut prepared, service) = prepare_program(&ground, instance, group)?;
        prepared.check(&mut ground, instance, service)
    }
}

impl Services<'_, '_> {
    /// Warms every arm up. Returns what is known of each arm's start, and what it used while the
    /// others were warmed up.
    pub(super) fn warm_up(&mut self) -> Result<Vec<LaunchedArm>, LabError> {
        self.arrange_restoring()?;
        let mut launched = self.launched_arms();
        for set in 0..self.instances.len() {
            let said = std::mem::take(&mut self.instances[set].said);
            self.note_said(set, said);
        }
        let setting = self.setting;
        let lasts = setting.plan.design.warmup;
        let is_warmed_up = !lasts.is_zero() && !matches!(self.driver, Driver::Process);
        if is_warmed_up {
            (setting.emit)(Event::WarmingUp {
                lasts: lasts * setting.arms_warmed_up(),
            });
        }
        let rate_per_s = setting.plan.design.warmup_rate_per_s;
        self.warmup_load = rate_per_s.map(|rate_per_s| self.load.at_rate(rate_per_s));
        for arm in setting.arms() {
            if setting.is_interrupted() {
                return Err(LabError::Interrupted);
            }
            if !setting.is_warmed_by_another(arm) {
                launched[arm.get()].warmup_completed += self.warm_up_arm(arm, lasts)?;
            }
        }
        self.warmup_load = None;
        if is_warmed_up && setting.has_windows() {
            // What the warm-up deferred is none of the windows' cost.
            self.last = self.drain()?;
        }
        self.by_service.refresh(&mut self.last);
        self.by_service.forget();
        let outside = Outside::nothing(launched.len());
        let outside = std::mem::replace(&mut self.outside, outside);
        for entry in &mut launched {
            let spent = outside.of(entry.arm);
            entry.warmup_outside_ns = spent.cpu_ns.unwrap_or(0);
            entry.warmup_outside_time_ns = spent.time_ns;
        }
        Ok(launched)
    }

    fn launched_arms(&mut self) -> Vec<LaunchedArm> {
        let mut launched = Vec::new();
        for arm in self.setting.arms() {
            let set = self.setting.set_of(arm);
            let instance = &self.instances[set];
            launched.push(LaunchedArm {
                arm,
                instance: u16::try_from(set).unwrap_or(u16::MAX),
                startup_ns: instance.startup_ns,
                cpu_source: match (&self.driver, instance.probe.source()) {
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
                self.completed[arm.get()] += instance.answered;
            }
        }
        launched
    }

    /// Unmeasured load on an arm; returns how many requests it completed.
    fn warm_up_arm(&mut self, arm: ArmIndex, lasts: Duration) -> Result<u64, LabError> {
        let own = self.setting.set_of(arm);
        if self.instances[own].death.is_some() {
            return self.must_live(own).map(|()| 0);
        }
        if let Some(warning) = self.switch(arm)? {
            self.must_live(own)?;
            return Err(LabError::Switch(what_failed(&warning)));
        }
        let completed = self.load_until_warm(arm, lasts)?;
        self.driver.keep_pace(arm);
        if self.setting.owner_of(arm).is_none() {
            self.completed[arm.get()] += completed;
        }
        self.book_delivered(arm);
        self.book_outside(arm)?;
        self.must_live(own)?;
        Ok(completed)
    }

    /// Load on an arm for the planned time, and on until its CPU per request has settled; returns how
    /// many requests it completed.
    fn load_until_warm(&mut self, arm: ArmIndex, lasts: Duration) -> Result<u64, LabError> {
        if lasts.is_zero() || !self.driver.repeats_load() {
            let driven = self.drive_unmeasured(arm, lasts, 0)?;
            return Ok(driven.report.exchanges.completed);
        }
        let (mut settling, mut completed) = (Settling::default(), 0);
        let at_start_ns = self.probe(arm).cpu_ns().ok();
        for piece in 0..PIECES_MAX {
            let before = self.probe(arm).cpu_ns().ok();
            let driven = self.drive_unmeasured(arm, lasts / PIECES, u64::from(piece))?;
            let requests = driven.report.exchanges.completed;
            completed += requests;
            let cpu_ns = before.zip(self.probe(arm).cpu_ns().ok());
            let cpu_ns = cpu_ns.and_then(|(before, after)| after.checked_sub(before));
            if settling.take(cpu_ns, requests) || self.setting.is_interrupted() {
                break;
            }
        }
        // Workers that came under this load have used its CPU.
        let probe = &mut self.instances[self.setting.set_of(arm)].probe;
        let at_end_ns = probe.refresh_tasks().and_then(|_| probe.cpu_ns()).ok();
        let used_ns = at_start_ns.zip(at_end_ns);
        let used_ns = used_ns.and_then(|(start, end)| end.checked_sub(start));
        check_cpu(self.setting.plan, used_ns, completed)?;
        Ok(completed)
    }

    /// An error if the set has died, unless the run can go on without it.
    fn must_live(&mut self, set: usize) -> Result<(), LabError> {
        self.notice_deaths(None)?;
        if let Some(death) = &self.shared.death {
            return Err(LabError::ServiceDied(death.clone()));
        }
        let instance = &mut self.instances[set];
        match instance.death.take() {
            Some(death) => {
                let error = LabError::ServiceDied(death);
                instance.leave_out(self.setting.plan, self.keeper, error)
            }
            None => Ok(()),
        }
    }
}
