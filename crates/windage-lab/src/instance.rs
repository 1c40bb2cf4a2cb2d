//! One set of processes: launched in order, found ready, watched, ended.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use windage_keeper::{Child, Exit, Keeper, KeeperError};
use windage_model::{ArmIndex, Event};
use windage_plan::{Arm, Attach, OnDeath, Origin, Plan, Service, StopPolicy, StopSignal};
use windage_probe::{ArmProbe, cgroup::ArmCgroup};
use windage_record::RunDir;

use crate::LabError;
use crate::addresses::{Allotted, allot};
use crate::awaiting::await_ready;
use crate::command_line::describe;
use crate::error::ServiceTrouble;
use crate::log_tail::{log_tail, read_end};
use crate::names::Names;
use crate::preparing::{Prepared, prepare};
use crate::rendered::Rendered;
use crate::resident::telling::About;

/// What launching needs besides the plan.
pub(crate) struct Ground<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) keeper: &'a mut Keeper,
    /// The sets of processes that are up already.
    pub(crate) up: &'a [&'a Instance],
    pub(crate) run: &'a RunDir,
    pub(crate) launch: u32,
    pub(crate) interrupted: &'a AtomicBool,
    pub(crate) emit: &'a dyn Fn(Event),
}

/// A service that is up.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) name: String,
    pub(crate) log: PathBuf,
    rendered: Rendered,
    child: Option<Child>,
    stop_signal: i32,
    stop_within: Duration,
}

/// A set of processes that one arm has for itself or several share by a switch.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) name: String,
    pub(crate) arms: Vec<ArmIndex>,
    pub(crate) services: Vec<Running>,
    pub(crate) names: Names,
    pub(crate) probe: ArmProbe,
    pub(crate) startup_ns: Option<u64>,
    pub(crate) startup_cpu_ns: Option<u64>,
    /// Requests that readiness checks had answered.
    pub(crate) answered: u64,
    /// What its programs said about themselves, and the lab about how it launched them.
    pub(crate) said: Vec<About>,
    /// The first service that ended although it should be up.
    pub(crate) death: Option<Box<ServiceTrouble>>,
}

/// Which services of a plan belong to a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Shared,
    Own,
}

/// Launches a set of services, one after another, each when the one before it is ready.
///
/// `names` holds what is known before: the run, the arm, shared services, receivers.
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
        Part::Own => arms.first().map(|a| &plan.arms[a.get()]),
    };
    let name = arm.map_or_else(|| "shared".to_owned(), |arm| arm.id.to_string());
    let services: Vec<&Service> = plan
        .services
        .iter()
        .filter(|s| s.shared == (part == Part::Shared))
        .collect();
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
        ..Instance::unlaunched(name, names, ArmProbe::none())
    };
    let mut to_start = Vec::with_capacity(services.len());
    for (service, allotted) in services.iter().zip(allotted) {
        let prepared = prepared(ground, &instance, service, arm, group)?;
        to_start.push((*service, allotted, prepared));
    }
    match start_all(ground, &mut instance, arm, group, to_start) {
        Ok(()) => {}
        Err(error) => instance.leave_out(plan, ground.keeper, error)?,
    }
    Ok(instance)
}

/// Starts what was prepared, one service after another, and puts a probe on all of them.
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
        allotted.look_again(service, &instance.whose())?;
        let started = Instant::now();
        let running = start(ground, instance, service, prepared)?;
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

/// What a service is launched from, its configuration checked; `None` for one that runs already.
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
    let mut running = Running {
        name: service.name.to_string(),
        log,
        rendered: Rendered::default(),
        child: None,
        stop_signal: number(service.stop.signal),
        stop_within: service.stop.within,
    };
    if let Some(prepared) = prepared {
        // A launch that failed may have left the log of the same number: an old line must not make
        // this one ready.
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
            "a plan can attach to one service; its other services must be `shared`".into(),
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
    /// One of which nothing was launched yet, and which is no arm's.
    pub(crate) fn unlaunched(name: String, names: Names, probe: ArmProbe) -> Instance {
        Instance {
            name,
            arms: Vec::new(),
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

    /// Has a set that failed before its first window die there and then, if the others can go on
    /// without it.
    ///
    /// # Errors
    /// The error given, if they can't, or if it is not a failure of this set.
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
            error => return Err(error),
        };
        self.death = Some(death);
        self.stop(keeper)
    }

    /// Whether the plan lets a round go on without it.
    fn is_dispensable(&self, plan: &Plan) -> bool {
        let is_needed = |arm: &ArmIndex| [ArmIndex::BASELINE, ArmIndex::CONTROL].contains(arm);
        plan.design.on_death == OnDeath::GoOn
            && !self.arms.is_empty()
            && !self.arms.iter().any(is_needed)
    }

    /// Whose its services are, in words.
    pub(crate) fn whose(&self) -> String {
        if self.arms.is_empty() {
            "that all arms share".to_owned()
        } else {
            format!("of arm `{}`", self.name)
        }
    }

    /// Takes note of an exit if it is one of this instance's services.
    pub(crate) fn note_exit(&mut self, exit: &Exit) {
        if let Some(running) = self.ended(exit).filter(|_| self.death.is_none()) {
            self.death = Some(running.trouble(self.whose(), describe(exit.status)));
        }
    }

    /// The service whose exit it is.
    pub(crate) fn ended(&self, exit: &Exit) -> Option<&Running> {
        self.services.iter().find(|running| running.is(exit))
    }

    /// Takes a process in that was started outside the launch in order.
    pub(crate) fn adopt(&mut self, name: String, log: PathBuf, child: Child, stop: &StopPolicy) {
        self.services.push(Running {
            name,
            log,
            rendered: Rendered::default(),
            child: Some(child),
            stop_signal: number(stop.signal),
            stop_within: stop.within,
        });
    }

    /// Asks every service to end, all at once, and waits for each; none outlives its time.
    pub(crate) fn stop(&mut self, keeper: &mut Keeper) -> Result<(), LabError> {
        for running in self.services.iter().rev() {
            if let Some(child) = &running.child {
                match keeper.signal(child, running.stop_signal) {
                    // One that has ended already needs no asking.
                    Ok(()) | Err(KeeperError::Ended { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        for running in self.services.iter_mut().rev() {
            if let Some(child) = running.child.take() {
                keeper.stop(&child, running.stop_signal, running.stop_within)?;
            }
        }
        Ok(())
    }
}

impl Running {
    /// What it has to end when it is asked to.
    pub(crate) fn stop_within(&self) -> Duration {
        self.stop_within
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(|child| child.pid)
    }

    fn is(&self, exit: &Exit) -> bool {
        self.child
            .as_ref()
            .is_some_and(|child| child.id == exit.child)
    }

    /// How it ended, in words; `None` while it lives.
    pub(crate) fn end(&self, keeper: &mut Keeper) -> Option<String> {
        let child = self.child.as_ref()?;
        match keeper.wait(child, Duration::ZERO) {
            Ok(exit) => exit.map(|exit| describe(exit.status)),
            Err(error) => Some(format!("can't be waited for ({error})")),
        }
    }

    /// The service with what is wrong with it, and its last words.
    pub(crate) fn trouble(&self, whose: String, why: String) -> Box<ServiceTrouble> {
        trouble(&self.name, whose, why, &self.log, &self.rendered)
    }
}

/// A service with what is wrong with it and the end of its log, which may name rendered lines.
pub(crate) fn trouble(
    service: &str,
    whose: String,
    why: String,
    log: &Path,
    rendered: &Rendered,
) -> Box<ServiceTrouble> {
    let named = rendered.lines_named_in(&read_end(log).unwrap_or_default());
    Box::new(ServiceTrouble {
        service: service.to_owned(),
        whose,
        trouble: why,
        log: log.to_owned(),
        log_tail: log_tail(log) + &named,
    })
}

fn number(signal: StopSignal) -> i32 {
    match signal {
        StopSignal::Term => libc::SIGTERM,
        StopSignal::Int => libc::SIGINT,
        StopSignal::Quit => libc::SIGQUIT,
        StopSignal::Hup => libc::SIGHUP,
        StopSignal::Kill => libc::SIGKILL,
    }
}
