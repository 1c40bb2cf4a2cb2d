//! Launching: instances, connections or resident programs, warm-up.

use windage_model::{ArmIndex, Event, LoadModel};
use windage_plan::Service;
use windage_probe::ArmProbe;
use windage_probe::cgroup::ArmCgroup;
use windage_record::LaunchedArm;

use super::batch::prepare_program;
use super::driver::Driver;
use super::outside_windows::Outside;
use super::{Live, RealRig};
use crate::LabError;
use crate::instance::{Instance, Part, launch, note_exits};
use crate::names::Names;
use crate::stretch::Stretch;

impl<'a> RealRig<'a> {
    pub(super) fn launch_shared(&mut self, number: u32) -> Result<Instance, LabError> {
        let mut names = self.setting.names.clone();
        names.set("launch", number.to_string());
        launch(
            &mut self.setting.ground(&mut self.keeper, number, &[]),
            Part::Shared,
            &[],
            None,
            names,
        )
    }

    /// Launches every instance, in an order drawn anew for each launch.
    pub(super) fn launch_instances(
        &mut self,
        number: u32,
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
            let instance = if self.starts_processes_by_window() {
                self.unlaunched(&arms, names, group)
            } else {
                let earlier = instances.iter().map(|(_, instance)| instance);
                let up: Vec<&Instance> = std::iter::once(shared).chain(earlier).collect();
                let mut ground = self.setting.ground(&mut self.keeper, number, &up);
                let launched = launch(&mut ground, Part::Own, &arms, group, names);
                let ended = std::mem::take(&mut ground.ended);
                note_exits(instances.iter_mut().map(|(_, instance)| instance), &ended);
                launched
            };
            let instance = instance?;
            if self.starts_processes_by_window() {
                self.check_program(number, index, &instance)?;
            }
            instances.push((index, instance));
        }
        instances.sort_by_key(|(index, _)| *index);
        Ok(instances
            .into_iter()
            .map(|(_, instance)| instance)
            .collect())
    }

    fn starts_processes_by_window(&self) -> bool {
        self.load.model == LoadModel::Batch
    }

    /// An instance whose only program is started by the driver.
    fn unlaunched(
        &self,
        arms: &[ArmIndex],
        names: Names,
        group: Option<&ArmCgroup>,
    ) -> Result<Instance, LabError> {
        let probe = match group {
            Some(group) => group.probe()?,
            None => ArmProbe::none(),
        };
        let name = arms.first().map_or_else(String::new, |a| {
            self.setting.plan.arms[a.get()].id.to_string()
        });
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

    /// Unmeasured load on each arm, and what the other arms used meanwhile.
    pub(super) fn warm_up(
        &mut self,
        live: &mut Live,
        launched: &mut [LaunchedArm],
    ) -> Result<(), LabError> {
        let lasts = self.setting.plan.design.warmup;
        if !lasts.is_zero() && !matches!(live.driver, Driver::Process) {
            let arms = self.setting.arms_warmed_up();
            (self.setting.emit)(Event::WarmingUp {
                lasts: lasts * arms,
            });
        }
        for arm in self.setting.arms() {
            if self.setting.is_interrupted() {
                return Err(LabError::Interrupted);
            }
            let own = self.setting.set_of(arm);
            if self.setting.is_warmed_by_another(arm) {
                continue;
            }
            if live.instances[own].death.is_some() {
                self.must_live(live, own)?;
                continue;
            }
            if let Some(warning) = self.switch(live, arm)? {
                self.must_live(live, own)?;
                return Err(LabError::Switch(warning.text));
            }
            self.enter(own, Stretch::unmeasured(arm));
            let driven = self.drive(live, arm, lasts, 0, true)?;
            self.flush_window(live, arm)?;
            live.driver.keep_pace(arm);
            self.quiet(live, own);
            if self.setting.owner_of(arm).is_none() {
                live.completed[arm.get()] += driven.report.exchanges.completed;
            }
            launched[arm.get()].warmup_completed += driven.report.exchanges.completed;
            live.credit[own] = arm;
            if let Some(receiving) = &mut self.receiving {
                receiving.credit(own, arm);
            }
            self.book_outside(live, own)?;
            self.must_live(live, own)?;
        }
        let outside = Outside::nothing(launched.len());
        let outside = std::mem::replace(&mut live.outside, outside);
        for entry in launched {
            let spent = outside.of(entry.arm);
            entry.warmup_outside_ns = spent.cpu_ns.unwrap_or(0);
            entry.warmup_outside_time_ns = spent.time_ns;
        }
        Ok(())
    }

    /// An error if the set has died, unless the run can go on without it.
    fn must_live(&mut self, live: &mut Live, set: usize) -> Result<(), LabError> {
        self.notice_deaths(live)?;
        if let Some(death) = &live.shared.death {
            return Err(LabError::ServiceDied(death.clone()));
        }
        match live.instances[set].death.take() {
            Some(death) => {
                let error = LabError::ServiceDied(death);
                live.instances[set].leave_out(self.setting.plan, &mut self.keeper, error)
            }
            None => Ok(()),
        }
    }
}
