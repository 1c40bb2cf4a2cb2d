//! One set of processes: launched in order, checked for readiness, watched, ended.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use windage_keeper::{Child, Exit, Keeper, KeeperError};
use windage_model::{ArmIndex, CpuSource, Event};
use windage_plan::{Arm, Attach, OnDeath, Origin, Plan, Service, StopPolicy};
use windage_probe::{ArmProbe, cgroup::ArmCgroup};
use windage_record::RunDir;

use crate::LabError;
use crate::addresses::{Allotted, allot};
use crate::command_line::describe;
use crate::error::ServiceTrouble;
use crate::leftovers::{end_all, end_its_group};
use crate::names::Names;
use crate::preparation::{Prepared, prepare};
use crate::process::Running;
use crate::readiness::await_ready;
use crate::resident::self_report::About;

/// What a launch needs in addition to the plan.
pub(crate) struct Ground<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) keeper: &'a mut Keeper,
    /// The sets of processes that are already running.
    pub(crate) up: &'a [&'a Instance],
    pub(crate) run: &'a RunDir,
    pub(crate) launch: u32,
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

/// Which services of a plan belong to a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Shared,
    Own,
    /// The agents of the arm.
    Agents,
}

/// Launches a set of services one after another, each when the one before it is ready.
///
/// `names` holds what is already known: the run, the arm, shared services, receivers.
pub(crate) fn launch(
    ground: &mut Ground<'_>,
    part: Part,
    arms: &[ArmIndex],
    group: Option<&ArmCgroup>,
    mut names: Names,
) -> Result<Instance, LabError> {
    let plan = ground.plan;
    let arm = match part {
        Part::Shared => None,
        Part::Own | Part::Agents => arms.first().map(|a| &plan.arms[a.get()]),
    };
    let name = arm.map_or_else(|| "shared".to_owned(), |arm| arm.id.to_string());
    let services = services_of(plan, part, arm);
    let allotted = allot(&services)?;
    for (service, allotted) in services.iter().zip(&allotted) {
        let name = service.name.as_str();
        if let Some(address) = allotted.address {
            names.add_service(name, address);
        }
        for (port, number) in &allotted.ports {
            names.add_port(name, port, *number);
        }
    }
    let mut instance = Instance {
        arms: arms.to_vec(),
        are_agents: part == Part::Agents,
        ..Instance::unlaunched(name, names, ArmProbe::none())
    };
    let mut to_start = Vec::with_capacity(services.len());
    for (service, allotted) in services.iter().zip(allotted) {
        let prepared = prepared(ground, &instance, service, arm, group)?;
        to_start.push((*service, allotted, prepared));
    }
    if let Err(error) = start_all(ground, &mut instance, arm, group, to_start) {
        instance.find_processes(group);
        instance.leave_out(plan, ground.keeper, error)?;
    }
    Ok(instance)
}

/// Which arm agents belong to, in words.
pub(crate) fn beside(arm: &str) -> String {
    format!("beside arm `{arm}`")
}

/// The services of a part, in the order in which they are launched.
fn services_of<'p>(plan: &'p Plan, part: Part, arm: Option<&Arm>) -> Vec<&'p Service> {
    let services = plan.services.iter();
    match part {
        Part::Shared => services.filter(|s| s.shared).collect(),
        Part::Own => services.filter(|s| !s.shared).collect(),
        Part::Agents => {
            let named = arm.map_or(&[][..], |arm| arm.agents.as_slice());
            let agents = plan.agents.iter().map(|agent| &agent.service);
            agents.filter(|agent| named.contains(&agent.name)).collect()
        }
    }
}

/// Starts prepared services one after another, and puts a probe on all of them.
fn start_all(
    ground: &mut Ground<'_>,
    instance: &mut Instance,
    arm: Option<&Arm>,
    group: Option<&ArmCgroup>,
    to_start: Vec<(&Service, Allotted, Option<Prepared>)>,
) -> Result<(), LabError> {
    let services: Vec<&Service> = to_start.iter().map(|(service, ..)| *service).collect();
    let launched = to_start.iter().filter(|(.., prepared)| prepared.is_some());
    let launched = launched.count();
    let cpu_before_ns = group
        .and_then(|g| g.probe().ok())
        .and_then(|mut p| p.cpu_ns().ok());
    let began = Instant::now();
    for (service, allotted, prepared) in to_start {
        if let Some(padding) = prepared.as_ref().and_then(|p| p.padding) {
            let of = Some(service.name.as_str()).filter(|_| launched > 1);
            instance.said.push(padding.said(of));
        }
        if let Some(arm) = arm {
            (ground.emit)(Event::Launching {
                arm: arm.id.clone(),
                service: service.name.to_string(),
            });
        }
        allotted.look_again(service, &instance.whose())?;
        let started = Instant::now();
        let running = start(ground, instance, service, prepared)?;
        if let Some(pid) = pid(&running, service) {
            instance
                .names
                .set(&format!("{}.pid", service.name), pid.to_string());
        }
        instance.services.push(running);
        await_ready(ground, instance, service, allotted.address)?;
        if let Some(arm) = arm {
            (ground.emit)(Event::ServiceReady {
                arm: arm.id.clone(),
                service: service.name.to_string(),
                after: started.elapsed(),
            });
        }
    }
    instance.probe = probe(instance, &services, group)?;
    instance.probe.refresh_tasks()?;
    if launched > 0 {
        instance.startup_ns = Some(crate::clock::whole_ns(began.elapsed()));
        instance.startup_cpu_ns = cpu_before_ns
            .zip(instance.probe.cpu_ns().ok())
            .map(|(before, after)| after.saturating_sub(before));
    }
    Ok(())
}

/// What a service is launched from, its configuration checked; `None` if it is already running.
fn prepared(
    ground: &mut Ground<'_>,
    instance: &Instance,
    service: &Service,
    arm: Option<&Arm>,
    group: Option<&ArmCgroup>,
) -> Result<Option<Prepared>, LabError> {
    if matches!(service.origin, Origin::Attach(_)) {
        return Ok(None);
    }
    let log = log_of(ground, instance, service);
    let mut prepared = prepare(ground, instance, service, arm, group, &log)?;
    prepared.check(ground, instance, service)?;
    Ok(Some(prepared))
}

/// The process of a service, or the first of several.
fn pid(running: &Running, service: &Service) -> Option<u32> {
    match service.origin {
        Origin::Attach(Attach::Pid(pid)) => Some(pid),
        _ => running.pid(),
    }
}

fn log_of(ground: &Ground<'_>, instance: &Instance, service: &Service) -> PathBuf {
    let name = service.name.as_str();
    ground.run.log_path(ground.launch, &instance.name, name)
}

fn start(
    ground: &mut Ground<'_>,
    instance: &Instance,
    service: &Service,
    prepared: Option<Prepared>,
) -> Result<Running, LabError> {
    let log = log_of(ground, instance, service);
    let mut running = Running::new(service.name.to_string(), log, &service.stop);
    if let Some(prepared) = prepared {
        // A failed launch may have left a log with the same number; an old line must not make this
        // service ready.
        let _ = std::fs::remove_file(&running.log);
        let child = ground.keeper.spawn(prepared.spawn);
        running.rendered = prepared.rendered;
        running.child = Some(child.map_err(|source| LabError::Launch {
            service: running.name.clone(),
            whose: instance.whose(),
            source,
        })?);
    }
    Ok(running)
}

fn probe(
    instance: &Instance,
    services: &[&Service],
    group: Option<&ArmCgroup>,
) -> Result<ArmProbe, LabError> {
    let attached: Vec<(&Service, &Attach)> = services
        .iter()
        .filter_map(|service| match &service.origin {
            Origin::Attach(attach) => Some((*service, attach)),
            Origin::Command(_) => None,
        })
        .collect();
    if attached.is_empty() {
        let pids: Vec<u32> = instance.services.iter().filter_map(Running::pid).collect();
        return Ok(match group {
            Some(group) => group.probe()?,
            None => ArmProbe::processes(&pids)?,
        });
    }
    let [(service, attach)] = attached[..] else {
        return Err(LabError::Unsupported(
            "a plan can attach to one service only; make its other services `shared`".into(),
        ));
    };
    let cannot = |why: String| LabError::Attach {
        service: service.name.to_string(),
        why,
    };
    match attach {
        Attach::Pid(pid) if Path::new(&format!("/proc/{pid}")).exists() => {
            Ok(ArmProbe::processes(&[*pid])?)
        }
        Attach::Pid(pid) => Err(cannot(format!("there is no process {pid}"))),
        Attach::Cgroup(dir) => probe_group(dir)
            .ok_or_else(|| cannot(format!("{} is not a cgroup that counts CPU", dir.display()))),
        Attach::Unit(unit) => unit_groups(unit)
            .iter()
            .find_map(|dir| probe_group(dir))
            .ok_or_else(|| {
                cannot(format!(
                    "no cgroup of a running unit `{unit}` below /sys/fs/cgroup/*/system.slice"
                ))
            }),
        Attach::Url(_) => Ok(ArmProbe::none()),
    }
}

/// Makes every set record the exits of its services.
pub(crate) fn note_exits<'i>(instances: impl Iterator<Item = &'i mut Instance>, exits: &[Exit]) {
    for instance in instances {
        exits.iter().for_each(|exit| instance.note_exit(exit));
    }
}

fn probe_group(dir: &Path) -> Option<ArmProbe> {
    if dir.join("cpuacct.usage").exists() {
        ArmProbe::cgroup_v1(dir, None).ok()
    } else if dir.join("cpu.stat").exists() {
        ArmProbe::cgroup_v2(dir).ok()
    } else {
        None
    }
}

fn unit_groups(unit: &str) -> [PathBuf; 3] {
    [
        "/sys/fs/cgroup/cpuacct",
        "/sys/fs/cgroup",
        "/sys/fs/cgroup/unified",
    ]
    .map(|root| Path::new(root).join("system.slice").join(unit))
}

impl Instance {
    /// A set in which nothing is launched yet and which belongs to no arm.
    pub(crate) fn unlaunched(name: String, names: Names, probe: ArmProbe) -> Instance {
        Instance {
            name,
            arms: Vec::new(),
            are_agents: false,
            services: Vec::new(),
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
    fn find_processes(&mut self, group: Option<&ArmCgroup>) {
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
