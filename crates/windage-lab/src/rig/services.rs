//! The services of a launch under load, and what they have used so far.

use std::time::Duration;

use windage_model::ArmIndex;
use windage_record::{Entry, SelfReport};

use super::batch::run_window;
use super::driver::Driver;
use super::{Live, QUIET, RealRig};
use crate::LabError;
use crate::drive::Driven;
use crate::resident::self_report::About;
use crate::sleep::until_asleep;
use crate::stretch::Stretch;

/// How many self-reported items are recorded per arm and launch. A program that starts for each
/// window could report something new every time.
const SAID_AT_MOST: usize = 200;

impl RealRig<'_> {
    /// Load on an arm.
    pub(super) fn drive(
        &mut self,
        live: &mut Live,
        arm: ArmIndex,
        lasts: Duration,
        seed: u64,
        unmeasured: bool,
    ) -> Result<Driven, LabError> {
        let set = self.setting.set_of(arm);
        let instance = &mut live.instances[set];
        let recording = if unmeasured {
            &mut live.scratch
        } else {
            &mut live.recording
        };
        match &mut live.driver {
            Driver::Http(http) => http.drive(self.load, arm.get(), lasts, seed, recording),
            Driver::Resident(residents) => {
                let unmeasured = unmeasured.then_some(lasts);
                residents.drive(&mut self.keeper, (set, instance), arm, unmeasured)
            }
            Driver::Process if unmeasured => Ok(Driven::default()),
            Driver::Process => {
                let mut ground = self.setting.ground(&mut self.keeper, live.number, &[]);
                let group = self.groups[set].as_ref();
                let (driven, about) = run_window(&mut ground, self.load, instance, group)?;
                self.note_said(live, set, about);
                Ok(driven)
            }
        }
    }

    /// From now on, spans of a set of processes count for this stretch.
    pub(super) fn enter(&mut self, set: usize, stretch: Stretch) {
        if let Some(receiving) = &mut self.receiving {
            receiving.enter(set, stretch);
        }
    }

    /// Unmeasured load on an arm; returns how many requests it completed.
    pub(super) fn load_unmeasured(
        &mut self,
        live: &mut Live,
        arm: ArmIndex,
        lasts: Duration,
    ) -> Result<u64, LabError> {
        if lasts.is_zero() && !live.driver.seeks_pace(arm) {
            return Ok(0);
        }
        let set = self.setting.set_of(arm);
        self.enter(set, Stretch::unmeasured(arm));
        let driven = self.drive(live, arm, lasts, 0, true)?;
        self.flush_window(live, arm)?;
        live.driver.keep_pace(arm);
        self.quiet(live, set);
        let completed = driven.report.exchanges.completed;
        live.completed[arm.get()] += completed;
        live.unmeasured[arm.get()] += completed;
        self.book_delivered(live, arm);
        self.book_outside(live, set)?;
        Ok(completed)
    }

    /// Credits the arm with the telemetry that has arrived so far.
    pub(super) fn book_delivered(&mut self, live: &mut Live, arm: ArmIndex) {
        let set = self.setting.set_of(arm);
        live.credit[set] = arm;
        if let Some(receiving) = &mut self.receiving {
            receiving.credit(set, arm);
        }
    }

    /// Books what all sets except `own` have used since the last reading, and reads anew. What
    /// `own` used comes from unmeasured load, or from attaching and detaching its agents; only its
    /// time is booked.
    pub(super) fn book_outside(&mut self, live: &mut Live, own: usize) -> Result<(), LabError> {
        let receiving = self.receiving.as_ref();
        let now = self.meters.read(&mut live.instances, receiving, None)?;
        live.outside
            .pass([&live.last, &now], &live.credit, Some(own));
        live.last = now;
        Ok(())
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

    /// If the plan asks for it, makes an arm's resident program flush, so that the next reading
    /// covers all work of the window.
    pub(super) fn flush_window(&mut self, live: &mut Live, arm: ArmIndex) -> Result<(), LabError> {
        let set = self.setting.set_of(arm);
        match &mut live.driver {
            Driver::Resident(residents) => {
                residents.flush_window(&mut self.keeper, (set, &mut live.instances[set]))
            }
            _ => Ok(()),
        }
    }

    /// Waits until a set sleeps after its last answer.
    pub(super) fn quiet(&self, live: &mut Live, set: usize) {
        match live.driver {
            Driver::Resident(_) => until_asleep(&mut live.instances[set].probe),
            _ => std::thread::sleep(QUIET),
        }
    }

    /// Makes every resident program that supports it flush.
    pub(super) fn flush(&mut self, live: &mut Live) {
        for set in 0..live.instances.len() {
            if live.death(set).is_some() || self.setting.is_interrupted() {
                continue;
            }
            if let Driver::Resident(residents) = &mut live.driver {
                let instance = (set, &mut live.instances[set]);
                let arm = live.credit[set];
                let flushed = residents.flush(&mut self.keeper, instance, live.number, arm);
                self.findings.extend(flushed);
            }
        }
    }
}
