//! One window: switch, settle, read, load, read.

use windage_load::{LoadFacts, SubjectCpu, monotonic_ns};
use windage_model::{Activity, ArmIndex, Beside, CpuSource, Place, Warning, WarningCode, Window};

use super::batch::note_process;
use super::{Live, RealRig};
use crate::LabError;
use crate::conduct::Measured;
use crate::drive::Driven;
use crate::error::ServiceTrouble;
use crate::readings::{Reading, beside, bill};
use crate::stretch::Stretch;
use crate::warnings;

impl<'a> RealRig<'a> {
    pub(super) fn measure_window(
        &mut self,
        live: &mut Live<'a>,
        place: Place,
    ) -> Result<Measured, LabError> {
        let arm = place.arm;
        let own = self.setting.set_of(arm);
        self.list_anew(live, place.block)?;
        let agents_warning = self.attend(live, place)?;
        let switch_warning = self.switch(live, arm)?;
        // The arms of a block get the same arrivals.
        let seed = self.setting.plan.design.seed.rotate_left(32) ^ u64::from(place.block);
        let settle = self.settle(live, arm, seed)?;
        let taken = self.take(live, place, seed)?;
        let settled = settle.report.exchanges.completed;
        let mut window = window(live, own, place, &taken);
        window.exchanges.settle_completed =
            settled + std::mem::take(&mut live.unmeasured[arm.get()]);
        window.exchanges.reopened +=
            settle.reopened + settle.report.exchanges.reopened + taken.driven.reopened;
        self.place_in_time(&mut window, live, &taken.driven);
        // Without its agents, nothing watched these requests.
        if agents_warning.is_none() {
            live.completed[arm.get()] += window.exchanges.completed + settled;
        }
        let Taken {
            driven,
            end,
            is_machine_known,
            ..
        } = taken;
        live.last = end;
        self.book_delivered(live, arm);
        self.notice_deaths(live)?;
        let counted = live.instances[own].probe.source() != CpuSource::None;
        let facts = self.load_facts(live, &driven, &window, is_machine_known);
        window.warnings = warnings::of_window(&window, &facts, counted);
        window.warnings.extend(agents_warning);
        window.warnings.extend(self.note_agent_death(live));
        window.warnings.extend(switch_warning);
        window
            .warnings
            .extend(note_process(&mut self.findings, place, &driven));
        window.warnings.extend(live.death(own).map(died));
        Ok(Measured {
            window,
            response_time: live.recording.response_time.clone(),
            service_time: live.recording.service_time.clone(),
        })
    }

    /// Lists the arms' processes and the kernel's threads anew, once per block.
    fn list_anew(&mut self, live: &mut Live, block: u32) -> Result<(), LabError> {
        if live.refreshed == Some(block) {
            return Ok(());
        }
        live.refreshed = Some(block);
        for instance in &mut live.instances {
            instance.probe.refresh_tasks()?;
        }
        if let Some(threads) = &mut self.meters.kernel_threads {
            threads.refresh()?;
        }
        Ok(())
    }

    /// Load until the arm has settled.
    fn settle(&mut self, live: &mut Live, arm: ArmIndex, seed: u64) -> Result<Driven, LabError> {
        let own = self.setting.set_of(arm);
        self.enter(own, Stretch::unmeasured(arm));
        let settle = self.drive(live, arm, self.setting.plan.design.settle, seed ^ 1, true)?;
        self.flush_window(live, arm)?;
        self.quiet(live, own);
        Ok(settle)
    }

    /// The measured load, between two readings of everything.
    fn take(&mut self, live: &mut Live, place: Place, seed: u64) -> Result<Taken, LabError> {
        let arm = place.arm;
        let own = self.setting.set_of(arm);
        let before = live.instances[own].probe.activity().ok();
        self.enter(own, Stretch::measured(place));
        let start = self.read_all(live)?;
        let started_ns = self.setting.clock.now_ns();
        let driven = self.drive(live, arm, self.setting.plan.design.window, seed, false)?;
        // What a program does after its last answer is part of the window's work.
        self.flush_window(live, arm)?;
        self.quiet(live, own);
        let end = self.read_all(live)?;
        self.enter(own, Stretch::unmeasured(arm));
        let activity = live.instances[own].probe.activity().ok();
        Ok(Taken {
            started_ns,
            driven,
            is_machine_known: start.machine.is_some() && end.machine.is_some(),
            start,
            end,
            activity: activity.zip(before).map(|(end, start)| end.since(&start)),
        })
    }

    /// Reads every counter, including those of attached agents.
    fn read_all(&mut self, live: &mut Live) -> Result<Reading, LabError> {
        let agents = live.attached.as_mut();
        let agents = agents.map(|attached| &mut attached.instance.probe);
        let receiving = self.receiving.as_ref();
        Ok(self.meters.read(&mut live.instances, receiving, agents)?)
    }

    /// Converts what the generator timed by its own clock to the run's clock.
    fn place_in_time(&self, window: &mut Window, live: &Live, driven: &Driven) {
        if driven.report.exchanges.completed == 0 {
            return;
        }
        let (here_ns, there_ns) = (monotonic_ns(), self.setting.clock.now_ns());
        let slowest = live.recording.outliers.slowest();
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
        &self,
        live: &Live,
        driven: &Driven,
        window: &Window,
        is_machine_known: bool,
    ) -> LoadFacts {
        let load = self.load;
        LoadFacts {
            steal_ns: is_machine_known.then_some(window.machine.steal_ns),
            subject: window.cpu.in_window_ns.map(|used_ns| SubjectCpu {
                used_ns,
                cores: f64::from(self.setting.run.manifest().design.subject_cores),
            }),
            threads: load.threads,
            ..LoadFacts::of(
                &driven.report,
                &live.recording,
                load.model,
                load.connections_max.saturating_mul(load.streams),
            )
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

/// The window, from its load and its readings.
fn window(live: &mut Live, own: usize, place: Place, taken: &Taken) -> Window {
    let Taken {
        driven, start, end, ..
    } = taken;
    let mut cpu = bill([&live.last, start, end], own, &live.credit, &driven.report);
    let rusage_ns = driven.exit.as_ref().map(|exit| exit.cpu_ns());
    cpu.in_window_ns = cpu.in_window_ns.or(rusage_ns);
    let machine = start.machine.as_ref().zip(end.machine.as_ref());
    let machine = machine.map(|(start, end)| end.delta(start));
    let memory = live.instances[own].probe.memory().ok();
    Window {
        place,
        started_ns: taken.started_ns,
        duration_ns: driven.report.duration_ns,
        stretch_ns: end.at_ns.saturating_sub(live.last.at_ns),
        exchanges: driven.report.exchanges,
        cpu,
        machine: machine.unwrap_or_default(),
        beside: Beside {
            agent_rss_bytes: agent_rss_bytes(live),
            ..beside(start, end)
        },
        rss_bytes: memory.map(|m| m.rss_bytes).filter(|b| *b > 0),
        activity: taken.activity,
        warnings: Vec::new(),
        outliers: Vec::new(),
    }
}

fn agent_rss_bytes(live: &mut Live) -> Option<u64> {
    let probe = &mut live.attached.as_mut()?.instance.probe;
    let memory = probe.memory().ok()?;
    (memory.rss_bytes > 0).then_some(memory.rss_bytes)
}

/// The warning about the arm quotes the end of the log, once for all windows.
fn died(death: &ServiceTrouble) -> Warning {
    Warning::new(WarningCode::ServiceDied, death.what_happened())
        .with("service", death.service.as_str())
        .with("how", death.trouble.as_str())
}
