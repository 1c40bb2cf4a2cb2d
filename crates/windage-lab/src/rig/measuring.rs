//! One window: switch, settle, read, load, read.

use windage_load::{LoadFacts, SubjectCpu, monotonic_ns};
use windage_model::{Activity, Beside, CpuSource, Place, Warning, WarningCode, Window};

use super::batch::note_process;
use super::launched::RealLaunched;
use super::services::Services;
use crate::LabError;
use crate::conduct::Measured;
use crate::drive::Driven;
use crate::error::ServiceTrouble;
use crate::readings::{Reading, beside, bill};
use crate::stretch::Stretch;
use crate::warnings;

impl RealLaunched<'_, '_> {
    pub(super) fn measure_window(&mut self, place: Place) -> Result<Measured, LabError> {
        let (setting, arm) = (self.services.setting, place.arm);
        let own = setting.set_of(arm);
        self.list_anew(place.block)?;
        let agents_warning = self.agents.attend(&mut self.services, place)?;
        let switch_warning = self.services.switch(arm)?;
        // The arms of a block get the same arrivals.
        let design = &setting.plan.design;
        let seed = design.seed.rotate_left(32) ^ u64::from(place.block);
        let settle = self
            .services
            .drive_unmeasured(arm, design.settle, seed ^ 1)?;
        let taken = self.take(place, seed)?;
        let settled = settle.report.exchanges.completed;
        let mut window = self.window(own, place, &taken);
        let services = &mut self.services;
        window.exchanges.settle_completed =
            settled + std::mem::take(&mut services.unmeasured[arm.get()]);
        window.exchanges.reopened +=
            settle.reopened + settle.report.exchanges.reopened + taken.driven.reopened;
        place_in_time(&mut window, services, &taken.driven);
        // Without its agents, nothing watched these requests.
        if agents_warning.is_none() {
            services.completed[arm.get()] += window.exchanges.completed + settled;
        }
        let Taken {
            driven,
            end,
            is_machine_known,
            ..
        } = taken;
        services.last = end;
        services.book_delivered(arm);
        self.agents.notice_deaths(services)?;
        let counted = services.probe(arm).source() != CpuSource::None;
        let facts = load_facts(services, &driven, &window, is_machine_known);
        window.warnings = warnings::of_window(&window, &facts, counted);
        window.warnings.extend(agents_warning);
        window.warnings.extend(self.agents.note_death());
        window.warnings.extend(switch_warning);
        window
            .warnings
            .extend(note_process(services.findings, place, &driven));
        window.warnings.extend(services.death(own).map(died));
        Ok(Measured {
            window,
            response_time: services.recording.response_time.clone(),
            service_time: services.recording.service_time.clone(),
        })
    }

    /// Lists the arms' processes and the kernel's threads anew, once per block.
    fn list_anew(&mut self, block: u32) -> Result<(), LabError> {
        if self.listed == Some(block) {
            return Ok(());
        }
        self.listed = Some(block);
        for instance in &mut self.services.instances {
            instance.probe.refresh_tasks()?;
        }
        if let Some(threads) = &mut self.services.meters.kernel_threads {
            threads.refresh()?;
        }
        Ok(())
    }

    /// The measured load, between two readings of everything.
    fn take(&mut self, place: Place, seed: u64) -> Result<Taken, LabError> {
        let (services, arm) = (&mut self.services, place.arm);
        let before = services.probe(arm).activity().ok();
        services.enter(arm, Stretch::measured(place));
        let start = services.read(self.agents.probe())?;
        let started_ns = services.setting.clock.now_ns();
        let lasts = services.setting.plan.design.window;
        let driven = services.drive(arm, lasts, seed, false)?;
        // What a program does after its last answer is part of the window's work.
        services.flush_window(arm)?;
        services.quiet(arm);
        let end = services.read(self.agents.probe())?;
        services.enter(arm, Stretch::unmeasured(arm));
        let activity = services.probe(arm).activity().ok();
        Ok(Taken {
            started_ns,
            driven,
            is_machine_known: start.machine.is_some() && end.machine.is_some(),
            start,
            end,
            activity: activity.zip(before).map(|(end, start)| end.since(&start)),
        })
    }

    /// The window, from its load and its readings.
    fn window(&mut self, own: usize, place: Place, taken: &Taken) -> Window {
        let services = &mut self.services;
        let Taken {
            driven, start, end, ..
        } = taken;
        let mut cpu = bill(
            [&services.last, start, end],
            own,
            &services.credit,
            &driven.report,
        );
        let rusage_ns = driven.exit.as_ref().map(|exit| exit.cpu_ns());
        cpu.in_window_ns = cpu.in_window_ns.or(rusage_ns);
        let machine = start.machine.as_ref().zip(end.machine.as_ref());
        let machine = machine.map(|(start, end)| end.delta(start));
        let memory = services.instances[own].probe.memory().ok();
        Window {
            place,
            started_ns: taken.started_ns,
            duration_ns: driven.report.duration_ns,
            stretch_ns: end.at_ns.saturating_sub(services.last.at_ns),
            exchanges: driven.report.exchanges,
            cpu,
            machine: machine.unwrap_or_default(),
            beside: Beside {
                agent_rss_bytes: self.agents.rss_bytes(),
                ..beside(start, end)
            },
            rss_bytes: memory.map(|m| m.rss_bytes).filter(|b| *b > 0),
            activity: taken.activity,
            warnings: Vec::new(),
            outliers: Vec::new(),
        }
    }
}

/// A window's load and readings.
struct Taken {
    /// Since the run began.
    started_ns: u64,
    driven: Driven,
    start: Reading,
    end: Reading,
    is_machine_known: bool,
    activity: Option<Activity>,
}

/// Converts what the generator timed by its own clock to the run's clock.
fn place_in_time(window: &mut Window, services: &Services<'_, '_>, driven: &Driven) {
    if driven.report.exchanges.completed == 0 {
        return;
    }
    let (here_ns, there_ns) = (monotonic_ns(), services.setting.clock.now_ns());
    let slowest = services.recording.outliers.slowest();
    let moved = slowest.iter().map(|o| o.on_clock(here_ns, there_ns));
    window.outliers = moved.collect();
    // The load begins a little after the window: dead connections are reopened in between.
    let load_ago_ns = here_ns.saturating_sub(driven.report.started_ns);
    let until_load_ns = there_ns
        .saturating_sub(load_ago_ns)
        .saturating_sub(window.started_ns);
    if window.exchanges.longest_stall_ns > 0 {
        window.exchanges.longest_stall_at_ns += until_load_ns;
    }
}

fn load_facts(
    services: &Services<'_, '_>,
    driven: &Driven,
    window: &Window,
    is_machine_known: bool,
) -> LoadFacts {
    let load = services.load;
    LoadFacts {
        steal_ns: is_machine_known.then_some(window.machine.steal_ns),
        subject: window.cpu.in_window_ns.map(|used_ns| SubjectCpu {
            used_ns,
            cores: f64::from(services.setting.run.manifest().design.subject_cores),
        }),
        threads: load.threads,
        ..LoadFacts::of(
            &driven.report,
            &services.recording,
            load.model,
            load.connections_max.saturating_mul(load.streams),
        )
    }
}

/// The warning about the arm quotes the end of the log, once for all windows.
fn died(death: &ServiceTrouble) -> Warning {
    Warning::new(WarningCode::ServiceDied, death.what_happened())
        .with("service", death.service.as_str())
        .with("how", death.trouble.as_str())
}
