//! A launch in progress: its windows, and its end.

use windage_model::{ArmIndex, Event, Place};
use windage_record::{Delivered, Entry, LaunchArmEnd, LaunchEnd};

use super::driver::Driver;
use super::{Live, RealRig};
use crate::LabError;
use crate::conduct::{Launched, Measured, Rig};
use crate::error::ServiceTrouble;
use crate::readings::used;

/// The processes of a launch, and the rig that launched them.
pub(crate) struct RealLaunched<'r, 'a> {
    pub(super) rig: &'r mut RealRig<'a>,
    pub(super) live: Live<'a>,
}

impl Launched for RealLaunched<'_, '_> {
    fn measure(&mut self, place: Place) -> Result<Measured, LabError> {
        let measured = self.rig.measure_window(&mut self.live, place);
        measured.map_err(|error| self.rig.cause_of(error))
    }

    fn findings(&mut self) -> Vec<Entry> {
        self.rig.findings()
    }

    fn death(&self, arm: ArmIndex) -> Option<Box<ServiceTrouble>> {
        let live = &self.live;
        let agents = self
            .rig
            .setting
            .owner_of(arm)
            .and_then(|owner| live.tally.death(owner));
        let death = live.death(self.rig.setting.set_of(arm)).or(agents)?;
        Some(Box::new(death.clone()))
    }

    fn finish(&mut self) -> Result<LaunchEnd, LabError> {
        let RealLaunched { rig, live } = self;
        rig.detach(live, false)?;
        let design = &rig.setting.plan.design;
        if !design.drain.is_zero() {
            (rig.setting.emit)(Event::Draining {
                lasts: design.drain + design.idle,
            });
        }
        // What a flush exports was made in windows: it is deferred cost, as with an export on a
        // timer.
        rig.flush(live);
        rig.setting.rest(design.drain);
        let drained = rig
            .meters
            .read(&mut live.instances, rig.receiving.as_ref(), None)?;
        rig.setting.rest(design.idle);
        let idle = rig
            .meters
            .read(&mut live.instances, rig.receiving.as_ref(), None)?;
        // In a shared set, the deferred work is that of the arm that had load last.
        live.outside
            .pass([&live.last, &drained], &live.credit, None);
        let mut arms: Vec<LaunchArmEnd> = Vec::new();
        for arm in rig.setting.arms() {
            let index = rig.setting.set_of(arm);
            let instance = &mut live.instances[index];
            let _ = instance.probe.refresh_tasks();
            let outside = live.outside.of(arm);
            arms.push(LaunchArmEnd {
                arm,
                after_last_window_ns: outside.cpu_ns,
                drain_ns: outside.time_ns,
                // Without an idle stretch there is no rate.
                idle_cpu_ns: used(&drained, &idle, index).filter(|_| !design.idle.is_zero()),
                idle_ns: idle.at_ns.saturating_sub(drained.at_ns),
                rss_peak_bytes: instance.probe.rss_peak_bytes().ok().filter(|b| *b > 0),
                pss_bytes: instance.probe.pss_bytes().ok().filter(|b| *b > 0),
                hidden_ns: outside.hidden_ns,
                unmeasured: live.unmeasured[arm.get()],
            });
        }
        Ok(LaunchEnd {
            launch: live.number,
            arms,
            own_rss_bytes: rig.meters.own.rss_bytes().ok(),
        })
    }

    fn take_down(self) -> Result<Vec<Delivered>, LabError> {
        let RealLaunched { rig, mut live } = self;
        rig.detach(&mut live, false)?;
        if !rig.setting.is_interrupted() {
            live.losses.scrape()?;
        }
        // Connections close first, so that services that wait for them end at once.
        live.driver = Driver::Process;
        for instance in &mut live.instances {
            instance.stop(&mut rig.keeper)?;
        }
        live.shared.stop(&mut rig.keeper)?;
        // Processes that services left behind must not live into the next round.
        rig.keeper.kill_all()?;
        rig.keeper.poll()?;
        // In sets whose agents never attached, all telemetry is from the warm-up.
        (0..live.instances.len()).for_each(|set| rig.forget_warm_up(&mut live, set));
        let Some(receiving) = &mut rig.receiving else {
            return Ok(Vec::new());
        };
        let mut delivered = receiving.finish(live.number, &live.credit);
        for delivered in &mut delivered {
            delivered.completed_requests = live.completed[delivered.arm.get()];
            if !rig.setting.is_interrupted() {
                let is_over = || rig.setting.is_interrupted();
                let mut lost = live.losses.lost(delivered.arm, &is_over, rig.setting.emit);
                let of_agents = live.tally.drops.iter();
                for (_, more) in of_agents.filter(|(of, _)| *of == delivered.arm) {
                    lost.add_all(more);
                }
                delivered.drops = lost.known();
            }
        }
        Ok(delivered)
    }
}
