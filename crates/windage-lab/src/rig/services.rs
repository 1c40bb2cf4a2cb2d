//! The services of a launch under load, and what they have used so far.

use std::collections::BTreeSet;
use std::time::Duration;

use windage_keeper::Keeper;
use windage_load::Recording;
use windage_model::{ArmIndex, Event, Warning};
use windage_plan::{Load, Origin, Request};
use windage_probe::ArmProbe;
use windage_probe::cgroup::ArmCgroup;
use windage_record::{Entry, SelfReport};

use super::batch::run_window;
use super::by_service::ByService;
use super::driver::Driver;
use super::outside_windows::Outside;
use super::setting::Setting;
use super::switching::take_steps;
use super::turns::TurnsSoFar;
use crate::LabError;
use crate::control_request::Message;
use crate::drive::Driven;
use crate::error::ServiceTrouble;
use crate::log_limit::LogLimit;
use crate::log_tail::log_tail;
use crate::process_set::{Instance, note_exits};
use crate::readings::{Credit, Meters, Reading};
use crate::receiving::Receiving;
use crate::resident::self_report::About;
use crate::restore::Orders;
use crate::sleep::until_asleep;
use crate::stretch::Stretch;

/// How long a service has after its last answer to go to sleep before its counters are read.
const QUIET: Duration = Duration::from_micros(500);
/// How many self-reported items are recorded per arm and launch. A program that starts for each
/// window could report something new every time.
const SAID_AT_MOST: usize = 200;

/// The services of a launch, their load, and what they have used so far.
pub(super) struct Services<'r, 'a> {
    pub(super) setting: &'a Setting<'a>,
    pub(super) keeper: &'r mut Keeper,
    pub(super) receiving: &'r mut Option<Receiving>,
    pub(super) groups: &'r [Option<ArmCgroup>],
    pub(super) meters: &'r mut Meters,
    pub(super) findings: &'r mut Vec<Entry>,
    /// The number of the launch.
    pub(super) number: u32,
    pub(super) load: &'a Load,
    /// The load of the warm-up, while it lasts, if the plan gives it a rate of its own.
    pub(super) warmup_load: Option<Load>,
    pub(super) shared: Instance,
    pub(super) instances: Vec<Instance>,
    pub(super) by_service: ByService,
    pub(super) driver: Driver<'a>,
    /// The reading after the latest load.
    pub(super) last: Reading,
    pub(super) credit: Credit,
    /// Requests completed per arm since launch, measured or not.
    pub(super) completed: Vec<u64>,
    /// Of these, the requests of unmeasured load since the arm's last window.
    pub(super) unmeasured: Vec<u64>,
    /// What arms used outside windows.
    pub(super) outside: Outside,
    /// The arm that each instance was last switched to.
    pub(super) switched: Vec<Option<ArmIndex>>,
    /// The self-reported items that were recorded for each arm.
    pub(super) heard: Vec<BTreeSet<String>>,
    /// Of the latest window.
    pub(super) recording: Recording,
    /// Of unmeasured load, and of turns.
    pub(super) scratch: Recording,
    /// Requests or iterations per second in each arm's latest load of its own.
    pub(super) achieved_per_s: Vec<f64>,
    /// What was left out of logs.
    pub(super) log_limit: LogLimit,
    /// What blocks of turns have used.
    pub(super) turns: &'r mut TurnsSoFar,
    /// How a service that runs on is switched back.
    pub(super) orders: &'r mut Option<Orders>,
}

impl Services<'_, '_> {
    /// Brings an arm's instance into its state, unless it is there. Returns a warning when a step
    /// fails.
    pub(super) fn switch(&mut self, arm: ArmIndex) -> Result<Option<Warning>, LabError> {
        let set = self.setting.set_of(arm);
        if self.switched[set] == Some(arm) {
            return Ok(None);
        }
        // Until all steps have succeeded, the instance is in no known state.
        self.switched[set] = None;
        if let Some(receiving) = self.receiving {
            receiving.switch(set, &self.setting.plan.arms[arm.get()]);
        }
        let instance = &self.instances[set];
        let failed = take_steps(self.setting, self.keeper, self.number, instance, arm)?;
        if failed.is_none() {
            self.switched[set] = Some(arm);
        }
        Ok(failed)
    }

    /// Before the first switch of a launch: makes sure that a service that runs on is switched back
    /// to the baseline, however the run ends.
    pub(super) fn arrange_restoring(&mut self) -> Result<(), LabError> {
        let setting = self.setting;
        let (plan, run) = (setting.plan, setting.run);
        let Some(instance) = self.instances.first() else {
            return Ok(());
        };
        let names = setting.names_of(self.number, instance, ArmIndex::BASELINE)?;
        if let Some(orders) = Orders::of(plan, run.path(), &names)? {
            run.forget_restored()?;
            orders.leave_to(self.keeper, &setting.executable)?;
            *self.orders = Some(orders);
        }
        Ok(())
    }

    /// Load on an arm.
    pub(super) fn drive(
        &mut self,
        arm: ArmIndex,
        lasts: Duration,
        seed: u64,
        unmeasured: bool,
    ) -> Result<Driven, LabError> {
        let set = self.setting.set_of(arm);
        let instance = &mut self.instances[set];
        let recording = match unmeasured {
            true => &mut self.scratch,
            false => &mut self.recording,
        };
        match &mut self.driver {
            Driver::Http(http) => {
                let load = self.warmup_load.as_ref().unwrap_or(self.load);
                http.drive(load, arm.get(), lasts, seed, recording)
            }
            Driver::Resident(residents) => {
                let unmeasured = unmeasured.then_some(lasts);
                residents.drive(self.keeper, (set, instance), arm, unmeasured)
            }
            Driver::Process if unmeasured => Ok(Driven::default()),
            Driver::Process => {
                let mut ground = self.setting.ground(self.keeper, self.number, &[]);
                let group = self.groups[set].as_ref();
                let (driven, about) = run_window(&mut ground, self.load, instance, group)?;
                self.note_said(set, about);
                Ok(driven)
            }
        }
    }

    /// Load that belongs to no window, after which the arm sleeps.
    pub(super) fn drive_unmeasured(
        &mut self,
        arm: ArmIndex,
        lasts: Duration,
        seed: u64,
    ) -> Result<Driven, LabError> {
        self.enter(arm, Stretch::unmeasured(arm));
        let driven = self.drive(arm, lasts, seed, true)?;
        self.note_rate(arm, &driven);
        self.flush_window(arm)?;
        self.quiet(arm);
        Ok(driven)
    }

    /// Notes the requests or iterations per second that an arm completes.
    pub(super) fn note_rate(&mut self, arm: ArmIndex, driven: &Driven) {
        let (exchanges, lasted_ns) = (&driven.report.exchanges, driven.report.duration_ns);
        let achieved_per_s = exchanges.achieved_per_s(lasted_ns);
        if let Some(found) = achieved_per_s.filter(|rate| *rate > 0.0) {
            self.achieved_per_s[arm.get()] = found;
        }
    }

    /// Unmeasured load on an arm between windows; returns how many requests it completed.
    pub(super) fn load_unmeasured(
        &mut self,
        arm: ArmIndex,
        lasts: Duration,
    ) -> Result<u64, LabError> {
        if lasts.is_zero() && !self.driver.seeks_pace(arm) {
            return Ok(0);
        }
        let driven = self.drive_unmeasured(arm, lasts, 0)?;
        self.driver.keep_pace(arm);
        let completed = driven.report.exchanges.completed;
        self.completed[arm.get()] += completed;
        self.unmeasured[arm.get()] += completed;
        self.book_delivered(arm);
        self.book_outside(arm)?;
        Ok(completed)
    }

    /// From now on, spans of the arm's set count for this stretch.
    pub(super) fn enter(&mut self, arm: ArmIndex, stretch: Stretch) {
        if let Some(receiving) = self.receiving {
            receiving.enter(self.setting.set_of(arm), stretch);
        }
    }

    /// If the plan asks for it, makes an arm's resident program flush, so that the next reading
    /// covers all work of the window.
    pub(super) fn flush_window(&mut self, arm: ArmIndex) -> Result<(), LabError> {
        let set = self.setting.set_of(arm);
        match &mut self.driver {
            Driver::Resident(residents) => {
                residents.flush_window(self.keeper, (set, &mut self.instances[set]))
            }
            _ => Ok(()),
        }
    }

    /// Waits until an arm's services sleep after their last answer.
    pub(super) fn quiet(&mut self, arm: ArmIndex) {
        match self.driver {
            Driver::Resident(_) => until_asleep(self.probe(arm)),
            _ => std::thread::sleep(QUIET),
        }
    }

    /// The counters of an arm's processes.
    pub(super) fn probe(&mut self, arm: ArmIndex) -> &mut ArmProbe {
        &mut self.instances[self.setting.set_of(arm)].probe
    }

    /// Makes every resident program that supports it flush.
    pub(super) fn flush(&mut self) {
        for set in 0..self.instances.len() {
            if self.death(set).is_some() || self.setting.is_interrupted() {
                continue;
            }
            if let Driver::Resident(residents) = &mut self.driver {
                let instance = (set, &mut self.instances[set]);
                let arm = self.credit[set];
                let flushed = residents.flush(self.keeper, instance, self.number, arm);
                self.findings.extend(flushed);
            }
        }
    }

    /// Waits for deferred work, and reads all counters.
    pub(super) fn drain(&mut self) -> Result<Reading, LabError> {
        let lasts = self.setting.plan.design.drain;
        if !lasts.is_zero() {
            (self.setting.emit)(Event::Draining { lasts });
        }
        self.setting.rest(lasts);
        self.read(None)
    }

    /// Records what a set's programs reported about themselves, each item once per launch.
    pub(super) fn note_said(&mut self, set: usize, about: Vec<About>) {
        for &arm in &self.instances[set].arms {
            for About { name, text } in &about {
                let heard = &mut self.heard[arm.get()];
                if heard.contains(name) || heard.len() >= SAID_AT_MOST {
                    continue;
                }
                heard.insert(name.clone());
                self.findings.push(Entry::SelfReport(SelfReport {
                    launch: self.number,
                    arm,
                    name: name.clone(),
                    text: text.clone(),
                }));
            }
        }
    }

    /// Reads every counter; `agents` are those that are attached.
    pub(super) fn read(&mut self, agents: Option<&mut ArmProbe>) -> Result<Reading, LabError> {
        let receiving = self.receiving.as_ref();
        let sets = (&mut self.instances[..], &mut self.shared);
        let reading = self.meters.read(sets, receiving, agents)?;
        Ok(Reading {
            services_ns: self.by_service.cpu_ns(),
            ..reading
        })
    }

    /// Shortens logs of services that have become too long.
    pub(super) fn limit_logs(&mut self) {
        for instance in self.instances.iter().chain([&self.shared]) {
            self.log_limit.look(self.setting, self.number, instance);
        }
    }

    /// Credits the arm with the telemetry that has arrived so far.
    pub(super) fn book_delivered(&mut self, arm: ArmIndex) {
        let set = self.setting.set_of(arm);
        self.credit[set] = arm;
        if let Some(receiving) = self.receiving {
            receiving.credit(set, arm);
        }
    }

    /// Books what all sets except the arm's own have used since the last reading, and reads anew.
    /// What its own used comes from unmeasured load, or from attaching and detaching its agents;
    /// only its time is booked.
    pub(super) fn book_outside(&mut self, arm: ArmIndex) -> Result<(), LabError> {
        let now = self.read(None)?;
        let own = self.setting.set_of(arm);
        self.outside
            .pass([&self.last, &now], &self.credit, Some(own));
        self.by_service
            .outside(&self.credit, Some(own), [&self.last, &now]);
        self.last = now;
        Ok(())
    }

    /// Notes which services have ended, and which agents.
    pub(super) fn notice_deaths(&mut self, agents: Option<&mut Instance>) -> Result<(), LabError> {
        let services = self.instances.iter_mut().chain([&mut self.shared]);
        note_exits(services.chain(agents), &self.keeper.poll()?);
        Ok(())
    }

    /// How a set of processes died: through its own service or a shared one.
    pub(super) fn death(&self, set: usize) -> Option<&ServiceTrouble> {
        let own = self.instances[set].death.as_deref();
        own.or(self.shared.death.as_deref())
    }

    /// How an arm's service answers one more request, if that is an error. Only a request that
    /// changes nothing is repeated, and only where it is the same as the load's.
    pub(super) fn error_answer(&self, arm: ArmIndex) -> Result<Option<String>, LabError> {
        let (setting, load) = (self.setting, self.load);
        let is_plain = |of: &&Request| of.method == "GET" && of.headers.is_empty();
        let first = load.requests().next().filter(is_plain);
        let Some(request) = first.filter(|_| load.unix.is_none()) else {
            return Ok(None);
        };
        let instance = &self.instances[setting.set_of(arm)];
        let names = setting.names_of(self.number, instance, arm)?;
        // A field of the load has no value here.
        let url = names.fill(&request.url, "load.request", &instance.name);
        let message = url.ok().and_then(|url| Message::request("GET", url).ok());
        match message {
            Some(message) => message.say(None, &setting.interrupted),
            None => Ok(None),
        }
    }

    /// The last lines of the logs of an arm's own services; a service that runs already has none.
    pub(super) fn log_tail(&self, arm: ArmIndex) -> String {
        let setting = self.setting;
        let of = &self.instances[setting.set_of(arm)].name;
        let own = setting
            .plan
            .services
            .iter()
            .filter(|service| !service.shared)
            .filter(|service| matches!(service.origin, Origin::Command(_)));
        let logs = own.map(|service| setting.run.log_path(self.number, of, service.name.as_str()));
        logs.map(|log| log_tail(&log))
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// Ends every service, and what they left behind.
    pub(super) fn stop(&mut self) -> Result<(), LabError> {
        // Connections close first, so that services that wait for them end at once.
        self.driver = Driver::Process;
        for instance in &mut self.instances {
            instance.stop(self.keeper)?;
        }
        self.shared.stop(self.keeper)?;
        // Processes that services left behind must not live into the next round.
        self.keeper.kill_all()?;
        self.keeper.poll()?;
        Ok(())
    }
}
