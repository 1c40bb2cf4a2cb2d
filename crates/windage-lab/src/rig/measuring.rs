//! One window: switch, settle, read, load, read.

use std::time::Duration;

use windage_load::{LoadFacts, SubjectCpu, monotonic_ns};
use windage_model::{ArmIndex, CpuSource, Doubt, DoubtCode, Place, Window};

use super::{Live, RealRig};
use crate::LabError;
use crate::conduct::Measured;
use crate::doubts;
use crate::drive::{Driven, Driver};
use crate::error::ServiceTrouble;
use crate::readings::bill;
use crate::stretch::Stretch;

impl RealRig<'_> {
    pub(super) fn drive(
        &mut self,
        live: &mut Live,
        arm: ArmIndex,
        lasts: Duration,
        seed: u64,
        unmeasured: bool,
    ) -> Result<Driven, LabError> {
        let load = self.load;
        let recording = if unmeasured {
            &mut live.scratch
        } else {
            &mut live.recording
        };
        match &mut live.driver {
            Driver::Http(http) => http.drive(load, arm.get(), lasts, seed, recording),
            Driver::Resident(_) => self.drive_resident(live, arm, unmeasured.then_some(lasts)),
            Driver::Process if unmeasured => Ok(Driven::default()),
            Driver::Process => self.drive_process(live, arm),
        }
    }

    /// From now on spans of a set of processes end in this stretch.
    pub(super) fn enter(&mut self, set: usize, stretch: Stretch) {
        if let Some(receiving) = &mut self.receiving {
            receiving.enter(set, stretch);
        }
    }

    pub(super) fn measure_window(
        &mut self,
        live: &mut Live,
        place: Place,
    ) -> Result<Measured, LabError> {
        let (arm, design) = (place.arm, &self.plan.design);
        let own = self.instance_of(arm);
        if live.refreshed != Some(place.block) {
            live.refreshed = Some(place.block);
            for instance in &mut live.instances {
                instance.probe.refresh_tasks()?;
            }
        }
        let switch_doubt = self.switch(live, arm)?;
        self.enter(own, Stretch::unmeasured(arm));
        // The arms of a block meet the same arrivals.
        let seed = self.plan.design.seed.rotate_left(32) ^ u64::from(place.block);
        let settle = self.drive(live, arm, design.settle, seed ^ 1, true)?;
        self.flush_window(live, arm)?;
        self.quiet(live, own);
        let before_activity = live.instances[own].probe.activity().unwrap_or_default();
        self.enter(own, Stretch::measured(place));
        let start = self
            .meters
            .read(&mut live.instances, self.receiving.as_ref())?;
        let started_ns = self.clock.now_ns();
        let driven = self.drive(live, arm, design.window, seed, false)?;
        // What a program does after its last answer is work for the window's iterations.
        self.flush_window(live, arm)?;
        self.quiet(live, own);
        let end = self
            .meters
            .read(&mut live.instances, self.receiving.as_ref())?;
        self.enter(own, Stretch::unmeasured(arm));
        let activity = live.instances[own]
            .probe
            .activity()
            .unwrap_or_default()
            .since(&before_activity);
        let mut cpu = bill(
            [&live.last, &start, &end],
            own,
            &live.credit,
            &driven.report,
        );
        let rusage_ns = driven.exit.map(|exit| exit.cpu_ns());
        cpu.in_window_ns = cpu.in_window_ns.or(rusage_ns);
        let machine = start.machine.as_ref().zip(end.machine.as_ref());
        let machine = machine.map(|(start, end)| end.delta(start));
        let mut exchanges = driven.report.exchanges;
        exchanges.reopened += settle.reopened + settle.report.exchanges.reopened + driven.reopened;
        exchanges.settle_completed = settle.report.exchanges.completed;
        let mut window = Window {
            place,
            started_ns,
            duration_ns: driven.report.duration_ns,
            stretch_ns: end.at_ns.saturating_sub(live.last.at_ns),
            exchanges,
            cpu,
            machine: machine.unwrap_or_default(),
            rss_bytes: live.instances[own]
                .probe
                .memory()
                .ok()
                .map(|m| m.rss_bytes)
                .filter(|b| *b > 0),
            page_faults: activity.page_faults,
            arm_context_switches: activity.context_switches,
            doubts: Vec::new(),
            outliers: Vec::new(),
        };
        self.place_in_time(&mut window, live, &driven);
        live.completed[arm.get()] += exchanges.completed + exchanges.settle_completed;
        live.last = end;
        live.credit[own] = arm;
        if let Some(receiving) = &mut self.receiving {
            receiving.credit(own, arm);
        }
        self.notice_deaths(live)?;
        let counted = live.instances[own].probe.source() != CpuSource::None;
        let facts = self.load_facts(live, &driven, &window, machine.is_some());
        window.doubts = doubts::of_window(&window, &facts, counted);
        window.doubts.extend(switch_doubt);
        window.doubts.extend(self.note_process(place, &driven));
        window.doubts.extend(live.death(own).map(died));
        Ok(Measured {
            window,
            response_time: live.recording.response_time.clone(),
            service_time: live.recording.service_time.clone(),
        })
    }

    /// Puts what the generator timed by its own clock on the run's.
    fn place_in_time(&self, window: &mut Window, live: &Live, driven: &Driven) {
        if driven.report.exchanges.completed == 0 {
            return;
        }
        let (here_ns, there_ns) = (monotonic_ns(), self.clock.now_ns());
        let slowest = live.recording.outliers.slowest();
        let moved = slowest.iter().map(|o| o.on_clock(here_ns, there_ns));
        window.outliers = moved.collect();
        // The load began a little after the window: dead connections are opened in between.
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
                cores: self.subject_cores,
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

/// Its last words stand in the doubt about the arm, once for all windows.
fn died(death: &ServiceTrouble) -> Doubt {
    Doubt::new(DoubtCode::ServiceDied, death.what_happened())
        .with("service", death.service.as_str())
        .with("how", death.trouble.as_str())
}
