//! Resident batch programs: started once per launch, then asked for iterations.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use windage_keeper::Keeper;
use windage_model::{ArmIndex, Event, Phase, PhaseSpent, Warning};
use windage_plan::{FlushWhen, Load, Service};
use windage_probe::ArmProbe;
use windage_probe::cgroup::ArmCgroup;
use windage_record::Entry;

use super::batch::prepare_program;
use super::setting::Setting;
use crate::LabError;
use crate::clock::whole_ns;
use crate::drive::{Driven, iterate, iterate_for, no_socket};
use crate::error::ServiceTrouble;
use crate::pace::Pace;
use crate::process::Running;
use crate::process_set::{Ground, Instance};
use crate::resident::self_report::About;
use crate::resident::{Patience, Resident};
use crate::sleep::until_asleep;

/// Resident programs, and how many iterations each is asked for.
pub(super) struct Residents<'a> {
    setting: &'a Setting<'a>,
    load: &'a Load,
    /// By set of processes; `None` for one that is not running.
    programs: Vec<Option<Resident>>,
    /// By arm.
    pub(super) paces: Vec<Pace>,
}

impl<'a> Residents<'a> {
    /// Starts the program of every set; it stays for the launch.
    pub(super) fn start(
        setting: &'a Setting<'a>,
        load: &'a Load,
        ground: &mut Ground,
        groups: &[Option<ArmCgroup>],
        instances: &mut [Instance],
    ) -> Result<Residents<'a>, LabError> {
        let mut programs: Vec<Option<Resident>> = instances.iter().map(|_| None).collect();
        for set in setting.order_of_launch(ground.launch) {
            let instance = &mut instances[set];
            match start(ground, groups[set].as_ref(), instance) {
                Ok(program) => programs[set] = Some(program),
                Err(error) => instance.leave_out(setting.plan, ground.keeper, error)?,
            }
        }
        let pace = Pace::new(load.iterations, setting.plan.design.window, load.timeout);
        Ok(Residents {
            setting,
            load,
            programs,
            paces: vec![pace; setting.plan.arms.len()],
        })
    }

    /// Iterations of a set's program: a window's number of them, or as many as fit into
    /// `unmeasured`. A program that breaks the protocol counts as dead for the rest of the launch.
    pub(super) fn drive(
        &mut self,
        keeper: &mut Keeper,
        (set, instance): (usize, &mut Instance),
        arm: ArmIndex,
        unmeasured: Option<Duration>,
    ) -> Result<Driven, LabError> {
        let (program, interrupted) = (instance.services.last(), &self.setting.interrupted);
        let mut in_vain = || in_vain(keeper, program, interrupted);
        let mut patience = patience(self.load.timeout, &mut in_vain);
        let resident = self.programs[set].as_mut();
        let pace = &mut self.paces[arm.get()];
        let driven = match unmeasured {
            Some(lasts) if lasts.is_zero() && !pace.is_sought() => return Ok(Driven::default()),
            Some(lasts) => iterate_for(resident, pace, lasts, &mut patience, interrupted),
            None => iterate(resident, pace.iterations(), &mut patience),
        };
        if let Some(why) = &driven.trouble {
            self.give_up(keeper, (set, instance), why)?;
        }
        Ok(driven)
    }

    /// Iterations of a set's program in one of its turns.
    pub(super) fn iterate(
        &mut self,
        keeper: &mut Keeper,
        (set, instance): (usize, &mut Instance),
        iterations: u64,
    ) -> Result<Driven, LabError> {
        let (program, interrupted) = (instance.services.last(), &self.setting.interrupted);
        let mut in_vain = || in_vain(keeper, program, interrupted);
        let mut patience = patience(self.load.timeout, &mut in_vain);
        let driven = iterate(self.programs[set].as_mut(), iterations, &mut patience);
        if let Some(why) = &driven.trouble {
            self.give_up(keeper, (set, instance), why)?;
        }
        Ok(driven)
    }

    /// Ends a program that broke the protocol; it counts as dead for the rest of the launch.
    fn give_up(
        &mut self,
        keeper: &mut Keeper,
        (set, instance): (usize, &mut Instance),
        why: &str,
    ) -> Result<(), LabError> {
        if self.setting.is_interrupted() {
            return Ok(());
        }
        let program = instance.services.last();
        let death = program.map(|running| running.trouble(instance.whose(), why.to_owned()));
        instance.death = instance.death.take().or(death);
        // It would go on working during other arms' windows.
        self.programs[set] = None;
        instance.stop(keeper)
    }

    /// If the plan asks for it, makes the program flush, so that the next reading covers all work
    /// of the window.
    pub(super) fn flush_window(
        &mut self,
        keeper: &mut Keeper,
        (set, instance): (usize, &mut Instance),
    ) -> Result<(), LabError> {
        let resident = self.programs[set].as_mut();
        let Some(resident) = resident.filter(|_| self.load.flush == FlushWhen::Window) else {
            return Ok(());
        };
        let (program, interrupted) = (instance.services.last(), &self.setting.interrupted);
        let mut in_vain = || in_vain(keeper, program, interrupted);
        match resident.flush(&mut patience(self.load.timeout, &mut in_vain)) {
            Ok(_) => Ok(()),
            Err(why) => self.give_up(keeper, (set, instance), &why),
        }
    }

    /// Makes the program of a set flush after all windows, if it supports that; returns what is
    /// recorded of it.
    pub(super) fn flush(
        &mut self,
        keeper: &mut Keeper,
        (set, instance): (usize, &mut Instance),
        launch: u32,
        arm: ArmIndex,
    ) -> Option<Entry> {
        let resident = self.programs[set].as_mut()?;
        let running = instance.services.last()?;
        let interrupted = &self.setting.interrupted;
        let mut in_vain = || in_vain(keeper, Some(running), interrupted);
        let mut patience = patience(running.stop_within, &mut in_vain);
        until_asleep(&mut instance.probe);
        let before_ns = instance.probe.cpu_ns().ok();
        let began = Instant::now();
        let flushed = resident.flush(&mut patience);
        let wall_ns = whole_ns(began.elapsed());
        let is_flushed = match flushed {
            Ok(is_flushed) => is_flushed,
            Err(_) if self.setting.is_interrupted() => return None,
            Err(why) => {
                let trouble = running.trouble(instance.whose(), why);
                return Some(self.warning_flush(arm, &trouble));
            }
        };
        until_asleep(&mut instance.probe);
        let cpu_ns = before_ns.zip(instance.probe.cpu_ns().ok());
        let spent = PhaseSpent {
            launch,
            arm,
            phase: Phase::Flush,
            wall_ns,
            cpu_ns: cpu_ns.and_then(|(before, after)| after.checked_sub(before)),
        };
        is_flushed.then_some(Entry::Phase(spent))
    }

    /// All windows are over, so a failed flush is not a death. Telemetry may be missing, though.
    fn warning_flush(&self, arm: ArmIndex, trouble: &ServiceTrouble) -> Entry {
        let id = self.setting.plan.arms[arm.get()].id.as_str();
        let text = format!("the last flush of {id} failed: {trouble}");
        (self.setting.emit)(Event::Note { text });
        Entry::Warning(Warning::FlushIncomplete {
            arm: id.to_owned(),
            service: trouble.service.clone(),
            whose: trouble.whose.clone(),
            how: trouble.trouble.clone(),
            last_words: trouble.log_tail.trim().to_owned(),
        })
    }
}

fn start(
    ground: &mut Ground,
    group: Option<&ArmCgroup>,
    instance: &mut Instance,
) -> Result<Resident, LabError> {
    let (mut resident, inherit) = Resident::pair().map_err(no_socket)?;
    let (prepared, service) = prepare_program(ground, instance, group)?;
    let padding = prepared.padding.map(|padding| padding.said(None));
    instance.said.extend(padding);
    let mut spawn = prepared.spawn;
    spawn.inherit = Some(inherit);
    let (name, log) = (service.name.to_string(), spawn.log.clone());
    // Per-process clocks start with the process.
    let cpu_before_ns = match group {
        Some(_) => instance.probe.cpu_ns().ok(),
        None => Some(0),
    };
    let began = Instant::now();
    let child = ground.keeper.spawn(spawn)?;
    if group.is_none() {
        instance.probe = ArmProbe::processes(&[child.pid])?;
    }
    let pid = format!("{name}.pid");
    instance.names.set(&pid, child.pid.to_string());
    instance.adopt(name, log, child, &service.stop);
    let about = await_ready(ground, &mut resident, instance, service)?;
    instance.startup_ns = Some(whole_ns(began.elapsed()));
    instance.said.extend(about);
    instance.probe.refresh_tasks()?;
    until_asleep(&mut instance.probe);
    let cpu_ns = cpu_before_ns.zip(instance.probe.cpu_ns().ok());
    instance.startup_cpu_ns = cpu_ns.map(|(before, after)| after.saturating_sub(before));
    Ok(resident)
}

fn await_ready(
    ground: &mut Ground,
    resident: &mut Resident,
    instance: &Instance,
    service: &Service,
) -> Result<Vec<About>, LabError> {
    let program = instance.services.last();
    let mut in_vain = || in_vain(ground.keeper, program, ground.interrupted);
    let ready = resident.await_ready(&mut patience(service.ready.within, &mut in_vain));
    ready.map_err(|why| match program {
        _ if ground.interrupted.load(Ordering::Relaxed) => LabError::Interrupted,
        Some(running) => LabError::Resident(running.trouble(instance.whose(), why)),
        None => LabError::Unsupported(why),
    })
}

fn patience(within: Duration, in_vain: &mut dyn FnMut() -> Option<String>) -> Patience<'_> {
    Patience { within, in_vain }
}

/// Why waiting for a program is useless, if it is.
fn in_vain(
    keeper: &mut Keeper,
    program: Option<&Running>,
    interrupted: &AtomicBool,
) -> Option<String> {
    if interrupted.load(Ordering::Relaxed) {
        return Some("was interrupted".to_owned());
    }
    program?.end(keeper)
}
