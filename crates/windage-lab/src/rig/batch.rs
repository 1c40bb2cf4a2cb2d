//! Batch programs: resident ones, and those that run once per window.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use windage_keeper::Keeper;
use windage_model::{
    ArmIndex, Event, Phase, PhaseSpent, Place, ProcessTimes, Warning, WarningCode,
};
use windage_plan::{FlushWhen, Iterations, Origin, Service};
use windage_probe::ArmProbe;
use windage_record::{Entry, SelfReport};

use super::{Live, QUIET, RealRig};
use crate::LabError;
use crate::clock::whole_ns;
use crate::drive::{Driven, Driver, Residents, drive_process, iterate, iterate_for, no_socket};
use crate::error::ServiceTrouble;
use crate::instance::Instance;
use crate::pace::Pace;
use crate::preparation::{Prepared, prepare};
use crate::process::{Running, trouble};
use crate::resident::self_report::About;
use crate::resident::{Patience, Resident};
use crate::sleep::until_asleep;

/// How many self-reported items are recorded per arm and launch. A program that starts for each
/// window could report something new every time.
const SAID_AT_MOST: usize = 200;

impl<'a> RealRig<'a> {
    /// Starts the program of every set; it stays for the launch.
    pub(super) fn start_residents(
        &mut self,
        number: u32,
        instances: &mut [Instance],
    ) -> Result<Residents, LabError> {
        let mut programs: Vec<Option<Resident>> = instances.iter().map(|_| None).collect();
        for index in self.setting.order_of_launch(number) {
            let instance = &mut instances[index];
            match self.start_resident(number, index, instance) {
                Ok(program) => programs[index] = Some(program),
                Err(error) => instance.leave_out(self.setting.plan, &mut self.keeper, error)?,
            }
        }
        let design = &self.setting.plan.design;
        let pace = Pace::new(self.load.iterations, design.window, self.load.timeout);
        Ok(Residents {
            programs,
            paces: vec![pace; self.setting.plan.arms.len()],
        })
    }

    fn start_resident(
        &mut self,
        number: u32,
        index: usize,
        instance: &mut Instance,
    ) -> Result<Resident, LabError> {
        let (mut resident, inherit) = Resident::pair().map_err(no_socket)?;
        let (prepared, service) = self.prepare_program(number, index, instance)?;
        let padding = prepared.padding.map(|padding| padding.said(None));
        instance.said.extend(padding);
        let mut spawn = prepared.spawn;
        spawn.inherit = Some(inherit);
        let (name, log) = (service.name.to_string(), spawn.log.clone());
        let is_grouped = self.groups[index].is_some();
        // Per-process clocks start with the process.
        let cpu_before_ns = match is_grouped {
            true => instance.probe.cpu_ns().ok(),
            false => Some(0),
        };
        let began = Instant::now();
        let child = self.keeper.spawn(spawn)?;
        if !is_grouped {
            instance.probe = ArmProbe::processes(&[child.pid])?;
        }
        let pid = format!("{name}.pid");
        instance.names.set(&pid, child.pid.to_string());
        instance.adopt(name, log, child, &service.stop);
        let about = self.await_ready(&mut resident, instance, service)?;
        instance.startup_ns = Some(whole_ns(began.elapsed()));
        instance.said.extend(about);
        instance.probe.refresh_tasks()?;
        until_asleep(&mut instance.probe);
        instance.startup_cpu_ns = cpu_before_ns
            .zip(instance.probe.cpu_ns().ok())
            .map(|(before, after)| after.saturating_sub(before));
        Ok(resident)
    }

    fn await_ready(
        &mut self,
        resident: &mut Resident,
        instance: &Instance,
        service: &Service,
    ) -> Result<Vec<About>, LabError> {
        let program = instance.services.last();
        let mut in_vain = || in_vain(&mut self.keeper, program, &self.setting.interrupted);
        let ready = resident.await_ready(&mut Patience {
            within: service.ready.within,
            in_vain: &mut in_vain,
        });
        ready.map_err(|why| match program {
            _ if self.setting.is_interrupted() => LabError::Interrupted,
            Some(running) => LabError::Resident(running.trouble(instance.whose(), why)),
            None => LabError::Unsupported(why),
        })
    }

    /// Prepares to start the one program of a batch plan for an arm.
    pub(super) fn prepare_program(
        &mut self,
        number: u32,
        index: usize,
        instance: &Instance,
    ) -> Result<(Prepared, &'a Service), LabError> {
        let plan = self.setting.plan;
        let own: Vec<&Service> = plan.services.iter().filter(|s| !s.shared).collect();
        let [service] = own[..] else {
            return Err(LabError::Unsupported(
                "a batch load has exactly one service that is not shared: its program".into(),
            ));
        };
        if matches!(service.origin, Origin::Attach(_)) {
            return Err(LabError::Unsupported(
                "a batch load can't attach: its program is launched".into(),
            ));
        }
        let arm = instance.arms.first().map(|a| &plan.arms[a.get()]);
        let log = self
            .setting
            .run
            .log_path(number, &instance.name, service.name.as_str());
        let group = self.groups[index].as_ref();
        let ground = self.setting.ground(&mut self.keeper, number, &[]);
        let prepared = prepare(&ground, instance, service, arm, group, &log)?;
        Ok((prepared, service))
    }

    /// Iterations of a resident program: a window's number of them, or as many as fit into
    /// `unmeasured`. A program that breaks the protocol counts as dead for the rest of the launch.
    pub(super) fn drive_resident(
        &mut self,
        live: &mut Live,
        arm: ArmIndex,
        unmeasured: Option<Duration>,
    ) -> Result<Driven, LabError> {
        let set = self.setting.set_of(arm);
        let Driver::Resident(residents) = &mut live.driver else {
            return Ok(Driven::default());
        };
        let instance = &mut live.instances[set];
        let program = instance.services.last();
        let mut in_vain = || in_vain(&mut self.keeper, program, &self.setting.interrupted);
        let mut patience = Patience {
            within: self.load.timeout,
            in_vain: &mut in_vain,
        };
        let resident = residents.programs[set].as_mut();
        let pace = &mut residents.paces[arm.get()];
        let driven = match unmeasured {
            Some(lasts) if lasts.is_zero() && !pace.is_sought() => return Ok(Driven::default()),
            Some(lasts) => iterate_for(
                resident,
                pace,
                lasts,
                &mut patience,
                &self.setting.interrupted,
            ),
            None => iterate(resident, pace.iterations(), &mut patience),
        };
        if let Some(why) = &driven.trouble {
            self.give_up(live, set, why)?;
        }
        Ok(driven)
    }

    /// Ends a program that broke the protocol; it counts as dead for the rest of the launch.
    fn give_up(&mut self, live: &mut Live, set: usize, why: &str) -> Result<(), LabError> {
        let Driver::Resident(residents) = &mut live.driver else {
            return Ok(());
        };
        if self.setting.is_interrupted() {
            return Ok(());
        }
        let instance = &mut live.instances[set];
        let death = instance
            .services
            .last()
            .map(|running| running.trouble(instance.whose(), why.to_owned()));
        instance.death = instance.death.take().or(death);
        // It would go on working during other arms' windows.
        residents.programs[set] = None;
        instance.stop(&mut self.keeper)
    }

    /// If the plan asks for it, makes the program flush, so that the next reading covers all work
    /// of the window.
    pub(super) fn flush_window(&mut self, live: &mut Live, arm: ArmIndex) -> Result<(), LabError> {
        let set = self.setting.set_of(arm);
        let Driver::Resident(residents) = &mut live.driver else {
            return Ok(());
        };
        let Some(resident) = residents.programs[set]
            .as_mut()
            .filter(|_| self.load.flush == FlushWhen::Window)
        else {
            return Ok(());
        };
        let program = live.instances[set].services.last();
        let mut in_vain = || in_vain(&mut self.keeper, program, &self.setting.interrupted);
        let flushed = resident.flush(&mut Patience {
            within: self.load.timeout,
            in_vain: &mut in_vain,
        });
        match flushed {
            Ok(_) => Ok(()),
            Err(why) => self.give_up(live, set, &why),
        }
    }

    /// Whether the number of iterations per window is still unknown.
    pub(super) fn seeks_pace(live: &Live, arm: ArmIndex) -> bool {
        match &live.driver {
            Driver::Resident(residents) => residents.paces[arm.get()].is_sought(),
            _ => false,
        }
    }

    /// The warm-up settles the number of iterations per window.
    pub(super) fn keep_pace(live: &mut Live, arm: ArmIndex) {
        if let Driver::Resident(residents) = &mut live.driver {
            residents.paces[arm.get()].keep();
        }
    }

    /// A process that is a window.
    pub(super) fn drive_process(
        &mut self,
        live: &mut Live,
        arm: ArmIndex,
    ) -> Result<Driven, LabError> {
        let set = self.setting.set_of(arm);
        let (prepared, service) = self.prepare_program(live.number, set, &live.instances[set])?;
        let padding = prepared.padding.map(|padding| padding.said(None));
        let (spawn, rendered) = (prepared.spawn, prepared.rendered);
        let log = spawn.log.clone();
        let iterations = match self.load.iterations {
            Iterations::Fixed(number) => number,
            // Only a resident program can be asked for more iterations.
            Iterations::Auto => 1,
        };
        let driven = drive_process(
            &mut self.keeper,
            spawn,
            iterations,
            self.load.timeout,
            &self.setting.interrupted,
        )?;
        let instance = &mut live.instances[set];
        // A signal ends the program as well, which is not the program's failure.
        if let (Some(why), false) = (&driven.trouble, self.setting.is_interrupted()) {
            let name = service.name.as_str();
            instance.death = Some(trouble(
                name,
                instance.whose(),
                why.clone(),
                &log,
                &rendered,
            ));
        }
        let about = padding.into_iter();
        let about: Vec<About> = about.chain(driven.told.about.iter().cloned()).collect();
        self.note_said(live, set, about);
        Ok(driven)
    }

    /// Records what a process that was a window used and reported. A report that breaks the
    /// protocol becomes a warning of the window.
    pub(super) fn note_process(&mut self, place: Place, driven: &Driven) -> Option<Warning> {
        let exit = driven.exit.as_ref()?;
        self.findings.push(Entry::Process(ProcessTimes {
            place,
            wall_ns: driven.report.duration_ns,
            user_ns: exit.user_ns,
            system_ns: exit.system_ns,
        }));
        let phases = driven.told.phases.iter().map(|told| {
            Entry::Phase(PhaseSpent {
                launch: place.launch,
                arm: place.arm,
                phase: told.phase,
                wall_ns: told.wall_ns,
                cpu_ns: Some(told.cpu_ns),
            })
        });
        self.findings.extend(phases);
        let broken = driven.told.broken.as_ref().filter(|_| !driven.told.waits)?;
        let text = format!(
            "The program {broken}. The phases that it reported in this window are not used."
        );
        Some(Warning::new(WarningCode::ProtocolViolation, text).with("message", broken.as_str()))
    }

    /// Records what a set's programs reported about themselves, each item once per launch.
    pub(super) fn note_said(&mut self, live: &mut Live, set: usize, about: Vec<About>) {
        for &arm in &live.instances[set].arms {
            for About { name, text } in &about {
                let heard = &mut live.heard[arm.get()];
                if heard.contains(name) || heard.len() >= SAID_AT_MOST {
                    continue;
                }
                heard.insert(name.clone());
                self.findings.push(Entry::SelfReport(SelfReport {
                    launch: live.number,
                    arm,
                    name: name.clone(),
                    text: text.clone(),
                }));
            }
        }
    }

    /// Waits until a set sleeps after its last answer.
    pub(super) fn quiet(&self, live: &mut Live, set: usize) {
        match live.driver {
            Driver::Resident(_) => until_asleep(&mut live.instances[set].probe),
            _ => std::thread::sleep(QUIET),
        }
    }

    /// Makes every program that supports it flush.
    pub(super) fn flush(&mut self, live: &mut Live) {
        for set in 0..live.instances.len() {
            if live.death(set).is_none() && !self.setting.is_interrupted() {
                self.flush_one(live, set);
            }
        }
    }

    fn flush_one(&mut self, live: &mut Live, set: usize) {
        let Driver::Resident(residents) = &mut live.driver else {
            return;
        };
        let instance = &mut live.instances[set];
        let (Some(resident), Some(running)) =
            (&mut residents.programs[set], instance.services.last())
        else {
            return;
        };
        let arm = live.credit[set];
        let mut in_vain = || in_vain(&mut self.keeper, Some(running), &self.setting.interrupted);
        let mut patience = Patience {
            within: running.stop_within,
            in_vain: &mut in_vain,
        };
        until_asleep(&mut instance.probe);
        let before_ns = instance.probe.cpu_ns().ok();
        let began = Instant::now();
        let flushed = resident.flush(&mut patience);
        let wall_ns = whole_ns(began.elapsed());
        let is_flushed = match flushed {
            Ok(is_flushed) => is_flushed,
            Err(_) if self.setting.is_interrupted() => return,
            Err(why) => {
                let trouble = running.trouble(instance.whose(), why);
                return self.warning_flush(arm, &trouble);
            }
        };
        until_asleep(&mut instance.probe);
        let after_ns = instance.probe.cpu_ns().ok();
        if is_flushed {
            self.findings.push(Entry::Phase(PhaseSpent {
                launch: live.number,
                arm,
                phase: Phase::Flush,
                wall_ns,
                cpu_ns: after_ns
                    .zip(before_ns)
                    .and_then(|(after, before)| after.checked_sub(before)),
            }));
        }
    }

    /// All windows are over, so a failed flush is not a death. Telemetry may be missing, though.
    fn warning_flush(&mut self, arm: ArmIndex, trouble: &ServiceTrouble) {
        let id = self.setting.plan.arms[arm.get()].id.as_str();
        let what = trouble.what_happened();
        let text = format!("the last flush of {id} failed: {trouble}");
        (self.setting.emit)(Event::Note { text });
        let warning = format!(
            "{what}. Its last flush is not measured, and telemetry may be missing. Raise \
             `stop.within` if it only needs more time."
        );
        self.findings.push(Entry::Warning(
            Warning::new(WarningCode::FlushIncomplete, warning)
                .with("arm", id)
                .with("last_words", trouble.log_tail.trim()),
        ));
    }
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
