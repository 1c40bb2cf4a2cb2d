//! One window: switch, settle, read, load, read.

use windage_load::{LoadFacts, SubjectCpu, monotonic_ns};
use windage_model::{Beside, CpuSource, Place, Soundness, Warning, Window};
use windage_record::{Entry, HeldAt};

use super::batch::note_process;
use super::by_service::Account;
use super::launched::RealLaunched;
use super::services::Services;
use crate::LabError;
use crate::conduct::Measured;
use crate::drive::Driven;
use crate::error::ServiceTrouble;
use crate::readings::{beside, bill};
use crate::stretch::Stretch;
use crate::warnings;

/// Growth is computed from readings of half a minute, and listing descriptors takes time.
const HELD_EVERY_NS: u64 = 10_000_000_000;

impl RealLaunched<'_, '_> {
    /// Measures one window.
    pub(super) fn measure_window(&mut self, place: Place) -> Result<Measured, LabError> {
        let (setting, arm) = (self.services.setting, place.arm);
        let own = setting.set_of(arm);
        self.list_anew(place.block)?;
        let agents_warning = self.agents.attend(&mut self.services, place)?;
        let switch_warning = self.services.switch(arm)?;
        // The arms of a block get the same arrivals.
        let design = &setting.plan.design;
        let seed = design.seed.rotate_left(32) ^ u64::from(place.block);
        let (services, settle) = (&mut self.services, design.settle);
        let settle = services.drive_unmeasured(arm, settle, seed ^ 1)?;
        let (mut window, driven, is_machine_known) = self.take(place, seed)?;
        let settled = settle.report.exchanges.completed;
        let services = &mut self.services;
        window.exchanges.settle_completed =
            settled + std::mem::take(&mut services.unmeasured[arm.get()]);
        window.exchanges.reopened +=
            settle.reopened + settle.report.exchanges.reopened + driven.reopened;
        place_in_time(&mut window, services, &driven);
        // Without its agents, nothing watched these requests.
        if agents_warning.is_none() {
            services.completed[arm.get()] += window.exchanges.completed + settled;
        }
        services.book_delivered(arm);
        self.agents.notice_deaths(services)?;
        let counted = services.probe(arm).source() != CpuSource::None;
        let facts = load_facts(services, &driven, &window, is_machine_known);
        let disturbances = std::mem::take(&mut window.warnings);
        window.warnings = warnings::of_window(&window, &facts, counted);
        window.warnings.extend(disturbances);
        window.warnings.extend(agents_warning);
        window.warnings.extend(self.agents.note_death());
        window.warnings.extend(switch_warning);
        let of_process = note_process(services.findings, place, &driven);
        window.warnings.extend(of_process);
        window.warnings.extend(services.death(own).map(died));
        let measured = Measured {
            window,
            response_time: services.recording.response_time.clone(),
            service_time: services.recording.service_time.clone(),
        };
        if measured.window.soundness() != Soundness::Void {
            self.note_held(place);
        }
        Ok(measured)
    }

    /// Counts threads and open descriptors of the arm's processes, if the last time is long enough
    /// ago.
    fn note_held(&mut self, place: Place) {
        let at_ns = self.services.setting.clock.now_ns();
        let last_ns = self.held_at.get(&place.arm);
        if last_ns.is_some_and(|last_ns| at_ns.saturating_sub(*last_ns) < HELD_EVERY_NS) {
            return;
        }
        self.held_at.insert(place.arm, at_ns);
        let services = self.services.probe(place.arm).held().ok();
        let agents = self.agents.probe().and_then(|probe| probe.held().ok());
        // A process that was a window has ended.
        let [services, agents] = [services, agents].map(|of| of.filter(|held| held.threads > 0));
        if services.is_some() || agents.is_some() {
            self.services.findings.push(Entry::Held(HeldAt {
                place,
                at_ns,
                services,
                agents,
            }));
        }
    }

    /// Lists the processes of arms and shared services, the kernel's threads and all other programs
    /// anew, and looks at logs, once per block.
    pub(super) fn list_anew(&mut self, block: u32) -> Result<(), LabError> {
        if self.listed == Some(block) {
            return Ok(());
        }
        self.listed = Some(block);
        self.services.limit_logs();
        self.agents.limit_logs(&mut self.services);
        for instance in &mut self.services.instances {
            instance.probe.refresh_tasks()?;
        }
        if let Some(threads) = &mut self.services.meters.kernel_threads {
            threads.refresh()?;
        }
        let services = &mut self.services;
        services.by_service.refresh(&mut services.last);
        // They only tell what runs beside the arms.
        let _ = self.services.shared.probe.refresh_tasks();
        self.services.meters.outside_load.look();
        Ok(())
    }

    /// The window, from the measured load between two readings of everything. Also returns the
    /// load, and whether the machine's counters are known.
    fn take(&mut self, place: Place, seed: u64) -> Result<(Window, Driven, bool), LabError> {
        let (services, arm) = (&mut self.services, place.arm);
        let own = services.setting.set_of(arm);
        // A switch or the load before may have replaced some: nginx replaces its workers.
        services.list_without_cgroups(&[own]);
        if services.instances[own].arms.len() > 1 {
            services.by_service.refresh(&mut services.last);
        }
        let changes = services.process_changes(&[own]);
        let throttled_ns = services.throttled_ns(&[own]);
        let before = services.probe(arm).activity().ok();
        services.enter(arm, Stretch::measured(place));
        let start = services.read(self.agents.probe())?;
        let started_ns = services.setting.clock.now_ns();
        let lasts = services.setting.plan.design.window;
        let driven = services.drive(arm, lasts, seed, false)?;
        services.note_rate(arm, &driven);
        // What a program does after its last answer is part of the window's work.
        services.flush_window(arm)?;
        services.quiet(arm);
        services.list_without_cgroups(&[own]);
        let end = services.read(self.agents.probe())?;
        services.enter(arm, Stretch::unmeasured(arm));
        let by_service = &mut services.by_service;
        by_service.book(Account::Window, arm, own, [&start, &end]);
        by_service.outside(&services.credit, Some(own), [&services.last, &end]);
        let activity = services.probe(arm).activity().ok();
        let readings = [&services.last, &start, &end];
        let mut cpu = bill(readings, own, &services.credit, &driven.report);
        let rusage_ns = driven.exit.as_ref().map(|exit| exit.cpu_ns());
        cpu.in_window_ns = cpu.in_window_ns.or(rusage_ns);
        let machine = start.machine.as_ref().zip(end.machine.as_ref());
        let machine = machine.map(|(start, end)| end.delta(start));
        let memory = services.probe(arm).memory().ok();
        let window = Window {
            place,
            started_ns,
            duration_ns: driven.report.duration_ns,
            stretch_ns: end.at_ns.saturating_sub(services.last.at_ns),
            exchanges: driven.report.exchanges,
            cpu,
            machine: machine.unwrap_or_default(),
            beside: Beside {
                agent_rss_bytes: self.agents.rss_bytes(),
                ..beside(&start, &end)
            },
            rss_bytes: memory.map(|m| m.rss_bytes).filter(|b| *b > 0),
            activity: activity.zip(before).map(|(end, start)| end.since(&start)),
            warnings: services.disturbances([&start, &end], &[own], changes, throttled_ns),
            outliers: Vec::new(),
        };
        services.last = end;
        Ok((window, driven, machine.is_some()))
    }
}

/// Converts what the generator timed by its own clock to the run's clock.
fn place_in_time(window: &mut Window, services: &Services, driven: &Driven) {
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
    services: &Services,
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
pub(super) fn died(death: &ServiceTrouble) -> Warning {
    Warning::ServiceDied {
        service: death.service.clone(),
        whose: death.whose.clone(),
        how: death.trouble.clone(),
    }
}
