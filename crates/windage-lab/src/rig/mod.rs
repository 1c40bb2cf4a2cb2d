//! The real world of a run: processes, connections and counters behind the [`Rig`] trait.

mod batch;
mod launching;
mod measuring;
mod profiling;
mod sets;
mod switching;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use windage_keeper::Keeper;
use windage_load::Recording;
use windage_model::{ArmIndex, CpuSource, Event, Place};
use windage_plan::{Load, Plan};
use windage_probe::cgroup::ArmCgroup;
use windage_probe::{Linux, MachineProbe, SelfProbe};
use windage_record::{Delivered, Entry, Launch, LaunchArmEnd, LaunchEnd, LaunchedArm, RunDir};

use crate::LabError;
use crate::clock::RunClock;
use crate::conduct::{Measured, Rig};
use crate::drive::Driver;
use crate::error::ServiceTrouble;
use crate::instance::{Ground, Instance};
use crate::losses::Losses;
use crate::names::Names;
use crate::readings::{Credit, Meters, Reading, used};
use crate::receiving::Receiving;

/// After the last answer, the time a service has to go to sleep before its counters are read.
const QUIET: Duration = Duration::from_micros(500);
/// Sleeps are cut into such pieces so that Ctrl-C is heard.
const NAP: Duration = Duration::from_millis(50);

/// The real rig.
pub(crate) struct RealRig<'a> {
    plan: &'a Plan,
    /// The load of the present round.
    load: &'a Load,
    run: &'a RunDir,
    keeper: Keeper,
    receiving: Option<Receiving>,
    /// Arms by instance.
    sets: Vec<Vec<ArmIndex>>,
    groups: Vec<Option<ArmCgroup>>,
    meters: Meters,
    clock: RunClock,
    names: Names,
    subject_cores: f64,
    interrupted: Arc<AtomicBool>,
    emit: &'a dyn Fn(Event),
    live: Option<Live<'a>>,
    /// What programs said and used, until the course asks for it.
    findings: Vec<Entry>,
}

/// The processes of the present launch.
struct Live<'a> {
    number: u32,
    shared: Instance,
    instances: Vec<Instance>,
    driver: Driver,
    last: Reading,
    credit: Credit,
    /// Requests completed by arm since launch, whatever for.
    completed: Vec<u64>,
    /// The block for which the arms' processes were last listed.
    refreshed: Option<u32>,
    /// The arm that each instance was last switched to.
    switched: Vec<Option<ArmIndex>>,
    losses: Losses<'a>,
    /// What each arm's programs have spoken of.
    heard: Vec<BTreeSet<String>>,
    recording: Recording,
    scratch: Recording,
}

impl Live<'_> {
    /// How a set of processes died: a service of its own, or one that all share.
    fn death(&self, set: usize) -> Option<&ServiceTrouble> {
        let own = self.instances[set].death.as_deref();
        own.or(self.shared.death.as_deref())
    }
}

/// What a rig is built from.
pub(crate) struct RigParts<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) run: &'a RunDir,
    pub(crate) keeper: Keeper,
    pub(crate) clock: RunClock,
    pub(crate) names: Names,
    pub(crate) subject_cores: u32,
    pub(crate) interrupted: Arc<AtomicBool>,
    pub(crate) emit: &'a dyn Fn(Event),
}

impl<'a> RealRig<'a> {
    pub(crate) fn new(parts: RigParts<'a>) -> Result<RealRig<'a>, LabError> {
        let RigParts {
            plan,
            run,
            mut keeper,
            clock,
            names,
            subject_cores,
            interrupted,
            emit,
        } = parts;
        let sets = sets::sets(plan);
        let receiving = Receiving::start(plan, run, &sets)?;
        let groups = sets::groups(&sets, plan, &mut keeper, emit)?;
        Ok(RealRig {
            plan,
            load: &plan.load,
            run,
            keeper,
            receiving,
            sets,
            groups,
            meters: Meters {
                machine: MachineProbe::new(&Linux)?,
                own: SelfProbe::new(&Linux)?,
            },
            clock,
            names,
            subject_cores: f64::from(subject_cores),
            interrupted,
            emit,
            live: None,
            findings: Vec::new(),
        })
    }

    /// Ends everything in order; what is left is killed.
    pub(crate) fn close(mut self) -> Result<(), LabError> {
        self.live = None;
        self.keeper.shut_down()?;
        if let Some(receiving) = self.receiving {
            receiving.shut_down();
        }
        Ok(())
    }

    fn bring_up(&mut self, number: u32, round: u32) -> Result<Launch, LabError> {
        let started_ns = self.clock.now_ns();
        self.load = self.plan.load_of_round(round);
        if let Some(receiving) = &mut self.receiving {
            receiving.launch(self.plan);
        }
        let shared = self.launch_shared(number)?;
        let mut instances = self.launch_instances(number, &shared)?;
        let losses = Losses::of(self.plan, self.run, number, &instances)?;
        losses.scrape()?;
        let driver = self.driver(number, &mut instances)?;
        let arms = self.plan.arms.len();
        let mut live = Live {
            number,
            shared,
            driver,
            last: self.meters.read(&mut instances, self.receiving.as_ref())?,
            credit: instances
                .iter()
                .map(|i| i.arms.first().copied().unwrap_or_default())
                .collect(),
            completed: vec![0; arms],
            refreshed: None,
            switched: vec![None; instances.len()],
            instances,
            losses,
            heard: vec![BTreeSet::new(); arms],
            recording: Recording::new(),
            scratch: Recording::new(),
        };
        let mut launched: Vec<LaunchedArm> = Vec::with_capacity(arms);
        for arm in (0u16..).map(ArmIndex).take(arms) {
            let instance = &live.instances[self.instance_of(arm)];
            launched.push(LaunchedArm {
                arm,
                instance: instance_index(self.instance_of(arm)),
                startup_ns: instance.startup_ns,
                cpu_source: match (&live.driver, instance.probe.source()) {
                    (Driver::Process, CpuSource::None) => CpuSource::Rusage,
                    (_, source) => source,
                },
                cpu_grain_ns: instance.probe.grain_ns(),
                startup_cpu_ns: instance.startup_cpu_ns,
                warmup_completed: 0,
                warmup_outside_ns: 0,
                warmup_outside_time_ns: 0,
            });
            // Readiness was asked of the instance: its first arm's receiver sees what it brought.
            if instance.arms.first() == Some(&arm) {
                live.completed[arm.get()] += instance.answered;
            }
        }
        for set in 0..live.instances.len() {
            let said = std::mem::take(&mut live.instances[set].said);
            self.note_said(&mut live, set, said);
        }
        self.warm_up(&mut live, &mut launched)?;
        self.live = Some(live);
        Ok(Launch {
            launch: number,
            round,
            started_ns,
            arms: launched,
        })
    }

    fn ground<'g>(&'g mut self, number: u32, up: &'g [&'g Instance]) -> Ground<'g> {
        Ground {
            plan: self.plan,
            keeper: &mut self.keeper,
            up,
            run: self.run,
            launch: number,
            interrupted: &self.interrupted,
            emit: self.emit,
        }
    }

    fn notice_deaths(&mut self, live: &mut Live) -> Result<(), LabError> {
        for exit in self.keeper.poll()? {
            for instance in live.instances.iter_mut().chain([&mut live.shared]) {
                instance.note_exit(&exit);
            }
        }
        Ok(())
    }

    /// What really happened: a keeper that was killed takes every service with it, and what that
    /// leads to (a refused connection, a counter that is gone) is not the cause.
    fn cause_of(&mut self, error: LabError) -> LabError {
        match self.keeper.poll() {
            Err(gone) => gone.into(),
            Ok(_) => error,
        }
    }

    fn instance_of(&self, arm: ArmIndex) -> usize {
        self.sets
            .iter()
            .position(|set| set.contains(&arm))
            .unwrap_or(0)
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Sleeps unless interrupted; how long it was.
    fn rest(&self, lasts: Duration) -> Duration {
        let began = Instant::now();
        while began.elapsed() < lasts && !self.is_interrupted() {
            std::thread::sleep(NAP.min(lasts.saturating_sub(began.elapsed())));
        }
        began.elapsed()
    }
}

impl Rig for RealRig<'_> {
    fn launch(&mut self, number: u32, round: u32) -> Result<Launch, LabError> {
        self.bring_up(number, round)
            .map_err(|error| self.cause_of(error))
    }

    fn measure(&mut self, place: Place) -> Result<Measured, LabError> {
        let Some(mut live) = self.live.take() else {
            return Err(LabError::Unsupported(
                "a window was asked for before a launch".into(),
            ));
        };
        let measured = self.measure_window(&mut live, place);
        self.live = Some(live);
        measured.map_err(|error| self.cause_of(error))
    }

    fn findings(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.findings)
    }

    fn death(&self, arm: ArmIndex) -> Option<Box<ServiceTrouble>> {
        let death = self.live.as_ref()?.death(self.instance_of(arm))?;
        Some(Box::new(death.clone()))
    }

    fn finish(&mut self, number: u32) -> Result<LaunchEnd, LabError> {
        let Some(mut live) = self.live.take() else {
            return Ok(LaunchEnd {
                launch: number,
                arms: Vec::new(),
            });
        };
        let design = &self.plan.design;
        if !design.drain.is_zero() {
            (self.emit)(Event::Draining {
                lasts: design.drain + design.idle,
            });
        }
        // What it brings out was made in windows: it is deferred as what a timer brings out is.
        self.flush(&mut live);
        self.rest(design.drain);
        let drained = self
            .meters
            .read(&mut live.instances, self.receiving.as_ref())?;
        self.rest(design.idle);
        let idle = self
            .meters
            .read(&mut live.instances, self.receiving.as_ref())?;
        let mut arms: Vec<LaunchArmEnd> = Vec::new();
        for arm in (0u16..).map(ArmIndex).take(self.plan.arms.len()) {
            let index = self.instance_of(arm);
            let instance = &mut live.instances[index];
            let _ = instance.probe.refresh_tasks();
            let credited = live.credit[index] == arm;
            arms.push(LaunchArmEnd {
                arm,
                // Of a shared set, the arm that last had load left the work behind.
                after_last_window_ns: if credited {
                    used(&live.last, &drained, index)
                } else {
                    Some(0)
                },
                drain_ns: if credited {
                    drained.at_ns.saturating_sub(live.last.at_ns)
                } else {
                    0
                },
                // A rate over the instant between two readings would be none.
                idle_cpu_ns: used(&drained, &idle, index).filter(|_| !design.idle.is_zero()),
                idle_ns: idle.at_ns.saturating_sub(drained.at_ns),
                rss_peak_bytes: instance.probe.rss_peak_bytes().ok().filter(|b| *b > 0),
                pss_bytes: instance.probe.pss_bytes().ok().filter(|b| *b > 0),
            });
        }
        self.live = Some(live);
        Ok(LaunchEnd {
            launch: number,
            arms,
        })
    }

    fn take_down(&mut self, number: u32) -> Result<Vec<Delivered>, LabError> {
        let Some(mut live) = self.live.take() else {
            return Ok(Vec::new());
        };
        if !self.is_interrupted() {
            live.losses.scrape()?;
        }
        // Connections close first, so that services that wait for them end at once.
        live.driver = Driver::Process;
        for instance in &mut live.instances {
            instance.stop(&mut self.keeper)?;
        }
        live.shared.stop(&mut self.keeper)?;
        // What services left behind must not live into the next round.
        self.keeper.kill_all()?;
        self.keeper.poll()?;
        let Some(receiving) = &mut self.receiving else {
            return Ok(Vec::new());
        };
        let mut delivered = receiving.finish(number, &live.credit);
        for delivered in &mut delivered {
            delivered.completed_requests = live.completed[delivered.arm.get()];
            if !self.is_interrupted() {
                let is_over = || self.is_interrupted();
                delivered.drops = live.losses.of_arm(delivered.arm, &is_over, self.emit);
            }
        }
        Ok(delivered)
    }
}

/// The number of a set of processes in records.
fn instance_index(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}
