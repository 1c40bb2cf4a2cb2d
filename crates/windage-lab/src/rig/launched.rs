//! A launch in progress: its windows, and its end.

use std::collections::BTreeMap;

use windage_model::{ArmId, ArmIndex, Place, TurnBlock, Warning};
use windage_record::{Delivered, Entry, LaunchArmEnd, LaunchEnd};

use super::agents::Agents;
use super::by_service::Account;
use super::cause_of;
use super::services::Services;
use crate::LabError;
use crate::awake::Awake;
use crate::conduct::{Launched, Measured, TurnPlace};
use crate::error::ServiceTrouble;
use crate::losses::Losses;
use crate::order::TurnDraw;
use crate::readings::{Reading, used};
use crate::scraping::{Scraped, Scraping};

/// A launch in progress: its services, and the agents that attach to them.
pub(crate) struct RealLaunched<'r, 'a> {
    pub(super) services: Services<'r, 'a>,
    pub(super) agents: Agents<'r, 'a>,
    pub(super) losses: Losses<'a>,
    pub(super) scraping: Scraping,
    /// The block in which the arms' processes were last listed.
    pub(super) listed: Option<u32>,
    /// When threads and descriptors of each arm were last counted, in nanoseconds of the run's
    /// clock.
    pub(super) held_at: BTreeMap<ArmIndex, u64>,
    /// The readings after the last window; `None` while windows may follow.
    pub(super) after_windows: Option<AfterWindows>,
    /// Whether arms have taken turns.
    pub(super) has_turns: bool,
}

/// The readings after the last window: once deferred work is done, and after the idle stretch.
pub(super) struct AfterWindows {
    drained: Reading,
    idle: Reading,
}

impl Launched for RealLaunched<'_, '_> {
    fn measure(&mut self, place: Place) -> Result<Measured, LabError> {
        let measured = self.measure_window(place);
        measured.map_err(|error| cause_of(self.services.keeper, error))
    }

    fn take_turns(&mut self, place: TurnPlace, draw: TurnDraw) -> Result<TurnBlock, LabError> {
        let turns = self.turns_of_block(place, draw);
        turns.map_err(|error| cause_of(self.services.keeper, error))
    }

    fn findings(&mut self) -> Vec<Entry> {
        std::mem::take(self.services.findings)
    }

    fn death(&self, arm: ArmIndex) -> Option<Box<ServiceTrouble>> {
        let own = self.services.death(self.services.setting.set_of(arm));
        let death = own.or_else(|| self.agents.death(arm))?;
        Some(Box::new(death.clone()))
    }

    fn explain_errors(&mut self, arm: ArmIndex) -> Result<(Option<String>, String), LabError> {
        let services = &mut self.services;
        let log = services.log_tail(arm);
        let is_in_its_state = services.switch(arm)?.is_none();
        let answer = is_in_its_state.then(|| services.error_answer(arm));
        // Without an answer the run ends all the same.
        Ok((answer.and_then(Result::ok).flatten(), log))
    }

    fn finish(&mut self) -> Result<LaunchEnd, LabError> {
        self.end_windows()?;
        let after_turns = match self.has_turns {
            true => Some(self.drain()?),
            false => None,
        };
        let services = &mut self.services;
        if let Some(drained) = &after_turns {
            let last = services.last.clone();
            services.book_turns([&last, drained]);
        }
        let setting = services.setting;
        let mut arms: Vec<LaunchArmEnd> = Vec::new();
        for arm in setting.arms() {
            let index = setting.set_of(arm);
            let instance = &mut services.instances[index];
            let _ = instance.probe.refresh_tasks();
            let outside = services.outside.of(arm);
            let idle = self.after_windows.as_ref();
            let idle_ns = idle.map_or(0, |of| of.idle.at_ns.saturating_sub(of.drained.at_ns));
            let drained = after_turns.as_ref();
            arms.push(LaunchArmEnd {
                arm,
                after_last_window_ns: outside.cpu_ns,
                drain_ns: outside.time_ns,
                // Without an idle stretch there is no rate.
                idle_cpu_ns: idle
                    .and_then(|of| used(&of.drained, &of.idle, index))
                    .filter(|_| !setting.plan.design.idle.is_zero()),
                idle_ns,
                after_turns_ns: drained.and_then(|end| used(&services.last, end, index)),
                turns_drain_ns: drained
                    .map_or(0, |end| end.at_ns.saturating_sub(services.last.at_ns)),
                rss_peak_bytes: instance.probe.rss_peak_bytes().ok().filter(|b| *b > 0),
                pss_bytes: instance.probe.pss_bytes().ok().filter(|b| *b > 0),
                hidden_ns: outside.hidden_ns,
                unmeasured: services.unmeasured[arm.get()],
            });
        }
        let by_service = services.by_service.entries(services.number);
        services.findings.extend(by_service);
        Ok(LaunchEnd {
            launch: services.number,
            arms,
            own_rss_bytes: services.meters.own.rss_bytes().ok(),
        })
    }

    fn take_down(self) -> Result<Vec<Delivered>, LabError> {
        let (mut services, mut agents) = (self.services, self.agents);
        let setting = services.setting;
        agents.detach(&mut services, false)?;
        if !setting.is_interrupted() {
            self.losses.scrape()?;
        }
        let scraped: Vec<Scraped> = self
            .scraping
            .end()
            .chain(agents.scraped.drain(..))
            .collect();
        // Of a service or agent that died, every further scrape failed.
        let is_dead = |arm: ArmIndex| {
            services.death(setting.set_of(arm)).is_some() || agents.death(arm).is_some()
        };
        let alive = scraped.iter().filter(|of| !of.arm.is_some_and(is_dead));
        let failed: Vec<Warning> = alive.filter_map(Scraped::failed).collect();
        services
            .findings
            .extend(failed.into_iter().map(Entry::Warning));
        services.stop()?;
        // In sets whose agents never attached, all telemetry is from the warm-up.
        for set in 0..setting.sets.len() {
            agents.forget_warm_up(services.receiving, set);
        }
        let mut delivered = match services.receiving.as_mut() {
            Some(receiving) => receiving.finish(services.number, &services.credit),
            None => Vec::new(),
        };
        for delivered in &mut delivered {
            delivered.completed_requests = services.completed[delivered.arm.get()];
            let arm = Some(delivered.arm);
            let own = scraped.iter().filter(|of| of.arm == arm);
            own.for_each(|of| of.add_to(delivered));
            if !setting.is_interrupted() {
                let is_over = || setting.is_interrupted();
                let mut lost = self.losses.lost(delivered.arm, &is_over, setting.emit);
                agents.add_losses(delivered.arm, &mut lost);
                delivered.drops = lost.known();
            }
        }
        // What is left out of a log is no longer counted, so logs are shortened last.
        services.limit_logs();
        let arms: Vec<ArmId> = setting.plan.arms.iter().map(|arm| arm.id.clone()).collect();
        let cut = std::mem::take(&mut services.log_limit).warnings(&arms);
        services.findings.extend(cut.map(Entry::Warning));
        Ok(delivered)
    }
}

impl RealLaunched<'_, '_> {
    /// Waits until the work that windows deferred is done, then reads idle CPU. No window may follow.
    pub(super) fn end_windows(&mut self) -> Result<(), LabError> {
        if self.after_windows.is_some() {
            return Ok(());
        }
        self.agents.detach(&mut self.services, false)?;
        let drained = self.drain()?;
        let services = &mut self.services;
        // In a shared set, the deferred work is that of the arm that had load last.
        services
            .outside
            .pass([&services.last, &drained], &services.credit, None);
        services
            .by_service
            .outside(&services.credit, None, [&services.last, &drained]);
        let setting = services.setting;
        let _awake = Awake::of(setting.plan);
        setting.rest(setting.pause_before_idle(services.number));
        services.by_service.refresh(&mut services.last);
        let before = services.read(None)?;
        setting.rest(setting.plan.design.idle);
        let idle = services.read(None)?;
        for arm in setting.arms() {
            let set = setting.set_of(arm);
            let idle = [&before, &idle];
            services.by_service.book(Account::Idle, arm, set, idle);
        }
        services.last = idle.clone();
        self.after_windows = Some(AfterWindows {
            drained: before,
            idle,
        });
        Ok(())
    }

    /// Waits for the work that the load before deferred, and reads what it used.
    fn drain(&mut self) -> Result<Reading, LabError> {
        // What a flush exports was made under that load: it is deferred cost, as with an export on a
        // timer.
        self.services.flush();
        self.services.drain()
    }
}
