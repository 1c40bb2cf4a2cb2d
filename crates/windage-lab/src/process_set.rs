//! A set of processes: watched and ended.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use windage_cluster::Placed;
use windage_keeper::{Child, Exit, Keeper, KeeperError};
use windage_model::{ArmIndex, CpuSource, Event};
use windage_plan::{OnDeath, Plan, StopPolicy};
use windage_probe::{ArmProbe, cgroup::ArmCgroup};
use windage_record::RunDir;

use crate::LabError;
use crate::command_line::describe;
use crate::error::ServiceTrouble;
use crate::instance::Part;
use crate::leftovers::{end_all, end_its_group};
use crate::names::Names;
use crate::pods::Node;
use crate::process::Running;
use crate::resident::self_report::About;

/// What a launch needs in addition to the plan.
pub(crate) struct Ground<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) keeper: &'a mut Keeper,
    /// The sets of processes that are already running.
    pub(crate) up: &'a [&'a Instance],
    pub(crate) run: &'a RunDir,
    pub(crate) launch: u32,
    /// The running executable.
    pub(crate) executable: &'a Path,
    /// Where pods are made.
    pub(crate) node: Option<&'a Node>,
    pub(crate) interrupted: &'a AtomicBool,
    pub(crate) emit: &'a dyn Fn(Event),
    /// Exits in those sets that the run can survive. The keeper reports each exit once.
    pub(crate) ended: Vec<Exit>,
}

/// A set of processes that belongs to one arm, or that several arms share by a switch.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) name: String,
    pub(crate) arms: Vec<ArmIndex>,
    /// Whether these are an arm's agents rather than its services.
    pub(crate) are_agents: bool,
    pub(crate) services: Vec<Running>,
    /// Its pods, in the order of its services.
    pub(crate) pods: Vec<Placed>,
    pub(crate) names: Names,
    pub(crate) probe: ArmProbe,
    pub(crate) startup_ns: Option<u64>,
    pub(crate) startup_cpu_ns: Option<u64>,
    /// Requests that readiness checks had answered.
    pub(crate) answered: u64,
    /// What its programs reported about themselves, and the lab about their launch.
    pub(crate) said: Vec<About>,
    /// The first service that ended while it should be running.
    pub(crate) death: Option<Box<ServiceTrouble>>,
}

/// Which arm agents belong to, in words.
pub(crate) fn beside(arm: &str) -> String {
    format!("beside arm `{arm}`")
}

/// Makes every set record the exits of its services.
pub(crate) fn note_exits<'i>(instances: impl Iterator<Item = &'i mut Instance>, exits: &[Exit]) {
    for instance in instances {
        exits.iter().for_each(|exit| instance.note_exit(exit));
    }
}

impl Instance {
    /// A set in which nothing is launched yet and which belongs to no arm.
    pub(crate) fn unlaunched(name: String, names: Names, probe: ArmProbe) -> Instance {
        Instance {
            name,
            arms: Vec::new(),
            are_agents: false,
            services: Vec::new(),
            pods: Vec::new(),
            names,
            probe,
            startup_ns: None,
            startup_cpu_ns: None,
            answered: 0,
            said: Vec::new(),
            death: None,
        }
    }

    /// Marks a set that failed before its first window as dead, if the run can go on without it.
    /// Agents are ended in any case, so that their kernel objects go with them.
    ///
    /// # Errors
    /// The given error, if the run can't go on, or if it is not a failure of this set.
    pub(crate) fn leave_out(
        &mut self,
        plan: &Plan,
        keeper: &mut Keeper,
        error: LabError,
    ) -> Result<(), LabError> {
        let death = match error {
            LabError::ServiceDied(death)
            | LabError::NotReady(death)
            | LabError::Resident(death)
                if self.is_dispensable(plan) && death.whose == self.whose() =>
            {
                death
            }
            error if self.are_agents => {
                // If the keeper has ended, so have they, and that is the error to report.
                let _ = self.end(keeper);
                return Err(error);
            }
            error => return Err(error),
        };
        self.death = Some(death);
        self.end(keeper)?;
        Ok(())
    }

    /// Ends its services and what they started, which must not run beside the others. Names the
    /// processes that survive. Processes of services that left their process groups on purpose live
    /// until everything is ended.
    pub(crate) fn end(&mut self, keeper: &mut Keeper) -> Result<Vec<String>, LabError> {
        let pids: Vec<u32> = self.pids().collect();
        self.stop(keeper)?;
        pids.into_iter().for_each(end_its_group);
        Ok(if self.are_agents {
            end_all(&mut self.probe)
        } else {
            Vec::new()
        })
    }

    /// Puts a probe on the agents started so far, so that all of them can be ended.
    pub(crate) fn find_processes(&mut self, group: Option<&ArmCgroup>) {
        if !self.are_agents || self.probe.source() != CpuSource::None {
            return;
        }
        let pids: Vec<u32> = self.pids().collect();
        let probe = match group {
            Some(group) => group.probe(),
            None => ArmProbe::processes(&pids),
        };
        if let Ok(mut probe) = probe {
            let _ = probe.refresh_tasks();
            self.probe = probe;
        }
    }

    /// Whether the plan lets a round go on without it.
    pub(crate) fn is_dispensable(&self, plan: &Plan) -> bool {
        let is_needed = |arm: &ArmIndex| [ArmIndex::BASELINE, ArmIndex::CONTROL].contains(arm);
        plan.design.on_death == OnDeath::Continue
            && !self.arms.is_empty()
            && !self.arms.iter().any(is_needed)
    }

    /// Which arm its services belong to, in words.
    pub(crate) fn whose(&self) -> String {
        if self.arms.is_empty() {
            "that all arms share".to_owned()
        } else if self.are_agents {
            beside(&self.name)
        } else {
            format!("of arm `{}`", self.name)
        }
    }

    /// Which services of the plan it has.
    pub(crate) fn part(&self) -> Part {
        match (self.arms.is_empty(), self.are_agents) {
            (true, _) => Part::Shared,
            (false, false) => Part::Own,
            (false, true) => Part::Agents,
        }
    }

    /// Records an exit if it belongs to one of this instance's services.
    fn note_exit(&mut self, exit: &Exit) {
        if let Some(running) = self.ended(exit).filter(|_| self.death.is_none()) {
            self.death = Some(running.trouble(self.whose(), describe(exit.status)));
        }
    }

    /// The service whose exit it is.
    pub(crate) fn ended(&self, exit: &Exit) -> Option<&Running> {
        self.services.iter().find(|running| running.is(exit))
    }

    /// The processes that were started for its services, and have not been ended.
    pub(crate) fn pids(&self) -> impl Iterator<Item = u32> {
        self.services.iter().filter_map(Running::pid)
    }

    /// Adds a process that was started outside the launch in order.
    pub(crate) fn adopt(&mut self, name: String, log: PathBuf, child: Child, stop: &StopPolicy) {
        let mut running = Running::new(name, log, stop);
        running.child = Some(child);
        self.services.push(running);
    }

    /// Asks every service to end, all at once, and waits for each; kills those that exceed their
    /// time.
    pub(crate) fn stop(&mut self, keeper: &mut Keeper) -> Result<(), LabError> {
        for running in self.services.iter().rev() {
            if let Some(child) = &running.child {
                match keeper.signal(child, running.stop_signal) {
                    // It has already ended.
                    Ok(()) | Err(KeeperError::Ended { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        for running in self.services.iter_mut().rev() {
            let Some(child) = running.child.take() else {
                continue;
            };
            // Asked once only: at a second signal, many programs discard unsent data.
            if keeper.wait(&child, running.stop_within)?.is_none() {
                keeper.stop(&child, libc::SIGKILL, Duration::ZERO)?;
            }
        }
        Ok(())
    }
}
