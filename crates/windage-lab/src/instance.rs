//! One set of processes: launched in order, found ready, watched, ended.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use regex_lite::Regex;
use windage_keeper::{Child, Exit, Keeper, KeeperError, Spawn};
use windage_model::{ArmIndex, Event};
use windage_plan::{Arm, Attach, Origin, Plan, ReadyCheck, Service, StopPolicy, StopSignal};
use windage_probe::{ArmProbe, cgroup::ArmCgroup};
use windage_record::RunDir;

use crate::LabError;
use crate::command_line::describe;
use crate::error::ServiceTrouble;
use crate::log_tail::log_tail;
use crate::names::Names;
use crate::ready::{Check, Found};
use crate::target::resolve;

/// How often a service is looked at until it is ready; also the grain of the start-up time.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// What launching needs besides the plan.
pub(crate) struct Ground<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) keeper: &'a mut Keeper,
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
    let addresses = allot(&services)?;
    for (service, address) in services.iter().zip(&addresses) {
        if let Some(address) = address {
            names.add_service(service.name.as_str(), *address);
        }
    }
    let cpu_before_ns = group
        .and_then(|g| g.probe().ok())
        .and_then(|mut p| p.cpu_ns().ok());
    let mut instance = Instance {
        name,
        arms: arms.to_vec(),
        services: Vec::new(),
        names,
        probe: ArmProbe::none(),
        startup_ns: None,
        startup_cpu_ns: None,
        answered: 0,
        death: None,
    };
    let began = Instant::now();
    let mut launched_any = false;
    for (service, address) in services.iter().zip(addresses) {
        launched_any |= matches!(service.origin, Origin::Command(_));
        let started = Instant::now();
        let running = start(ground, &instance, service, arm, address, group)?;
        instance.services.push(running);
        await_ready(ground, &mut instance, service, address)?;
        if let Some(arm) = arm {
            (ground.emit)(Event::ServiceReady {
                arm: arm.id.clone(),
                service: service.name.to_string(),
                after: started.elapsed(),
            });
        }
    }
    instance.probe = probe(&instance, &services, group)?;
    instance.probe.refresh_tasks()?;
    if launched_any {
        instance.startup_ns = Some(crate::clock::whole_ns(began.elapsed()));
        instance.startup_cpu_ns = cpu_before_ns
            .zip(instance.probe.cpu_ns().ok())
            .map(|(before, after)| after.saturating_sub(before));
    }
    Ok(instance)
}

/// An address for every service that is addressed: the fixed one, or a free port. All free
/// ports are held until each is known, so that no two are the same.
fn allot(services: &[&Service]) -> Result<Vec<Option<SocketAddr>>, LabError> {
    let mut held = Vec::new();
    let mut addresses = Vec::with_capacity(services.len());
    for service in services {
        addresses.push(match (&service.origin, service.listen) {
            (Origin::Attach(Attach::Url(endpoint)), None) => {
                Some(resolve(endpoint).map_err(|why| LabError::Attach {
                    service: service.name.to_string(),
                    why,
                })?)
            }
            (Origin::Attach(_), listen) => listen,
            (Origin::Command(_), Some(address)) => {
                let listener = TcpListener::bind(address).map_err(|source| LabError::Address {
                    service: service.name.to_string(),
                    address,
                    source,
                })?;
                held.push(listener);
                Some(address)
            }
            (Origin::Command(_), None) if service.addressed => {
                let listener =
                    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(LabError::NoPort)?;
                let address = listener.local_addr().map_err(LabError::NoPort)?;
                held.push(listener);
                Some(address)
            }
            (Origin::Command(_), None) => None,
        });
    }
    Ok(addresses)
}

fn start(
    ground: &mut Ground<'_>,
    instance: &Instance,
    service: &Service,
    arm: Option<&Arm>,
    address: Option<SocketAddr>,
    group: Option<&ArmCgroup>,
) -> Result<Running, LabError> {
    let name = service.name.as_str();
    let log = ground.run.log_path(ground.launch, &instance.name, name);
    let child = match &service.origin {
        Origin::Attach(_) => None,
        Origin::Command(_) => {
            let spawn = prepare(ground, instance, service, arm, address, group, &log)?;
            // A launch that failed may have left the log of the same number: an old line must
            // not make this one ready.
            let _ = std::fs::remove_file(&log);
            let child = ground.keeper.spawn(spawn);
            Some(child.map_err(|source| LabError::Launch {
                service: name.to_owned(),
                arm: instance.name.clone(),
                source,
            })?)
        }
    };
    Ok(Running {
        name: name.to_owned(),
        log,
        child,
        stop_signal: number(service.stop.signal),
        stop_within: service.stop.within,
    })
}

/// What the keeper is asked to start for a service: files rendered, placeholders filled.
pub(crate) fn prepare(
    ground: &Ground<'_>,
    instance: &Instance,
    service: &Service,
    arm: Option<&Arm>,
    address: Option<SocketAddr>,
    group: Option<&ArmCgroup>,
    log: &Path,
) -> Result<Spawn, LabError> {
    let (name, of) = (service.name.as_str(), instance.name.as_str());
    let dir = ground.run.work_dir(ground.launch, of, name);
    make_dir(&dir)?;
    // A service may have another working directory than windage.
    let dir = std::path::absolute(&dir).map_err(|source| LabError::Write { path: dir, source })?;
    if let Some(parent) = log.parent() {
        make_dir(parent)?;
    }
    let names = instance.names.clone().for_service(address, &dir);
    for file in &service.files {
        let path = dir.join(&file.to);
        if let Some(parent) = path.parent() {
            make_dir(parent)?;
        }
        let text = names.fill(&file.text, name, of)?;
        std::fs::write(&path, text).map_err(|source| LabError::Write { path, source })?;
    }
    let words = words(service, arm, &names, of)?;
    let (program, args) = words
        .split_first()
        .ok_or_else(|| LabError::Unsupported(format!("service `{name}` has an empty command")))?;
    let cwd = match &service.cwd {
        Some(template) => ground.plan.folder.join(names.fill(template, name, of)?),
        None => ground.plan.folder.clone(),
    };
    Ok(Spawn {
        program: locate(program, &ground.plan.folder),
        args: args.iter().map(OsString::from).collect(),
        env: environment(service, arm, &names, of)?,
        cwd,
        log: log.to_owned(),
        cgroups: group.map(|g| g.dirs.clone()).unwrap_or_default(),
        cpus: service.cpus.clone(),
        inherit: None,
    })
}

/// A program with a `/` is looked up from the plan's folder, any other in `PATH`.
fn locate(program: &str, folder: &Path) -> PathBuf {
    if program.contains('/') {
        folder.join(program)
    } else {
        PathBuf::from(program)
    }
}

fn words(
    service: &Service,
    arm: Option<&Arm>,
    names: &Names,
    of: &str,
) -> Result<Vec<String>, LabError> {
    let replaced = arm.and_then(|arm| arm.command.get(&service.name));
    let own = match &service.origin {
        Origin::Command(words) => words.as_slice(),
        Origin::Attach(_) => &[],
    };
    let added = arm
        .and_then(|arm| arm.args.get(&service.name))
        .map_or(&[][..], Vec::as_slice);
    let templates = replaced.map_or(own, Vec::as_slice).iter().chain(added);
    templates
        .map(|word| names.fill(word, service.name.as_str(), of))
        .collect()
}

/// Windage's own environment, then the service's, then the arm's; the later wins.
fn environment(
    service: &Service,
    arm: Option<&Arm>,
    names: &Names,
    of: &str,
) -> Result<Vec<(OsString, OsString)>, LabError> {
    let mut environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    let of_arm = arm.into_iter().flat_map(|arm| &arm.env);
    for (variable, template) in service.env.iter().chain(of_arm) {
        let value = names.fill(template, service.name.as_str(), of)?;
        environment.insert(variable.into(), value.into());
    }
    Ok(environment.into_iter().collect())
}

fn await_ready(
    ground: &mut Ground<'_>,
    instance: &mut Instance,
    service: &Service,
    address: Option<SocketAddr>,
) -> Result<(), LabError> {
    let Some(running) = instance.services.last() else {
        return Ok(());
    };
    let check = check(service, running, address, &instance.names, &instance.name)?;
    let deadline = Instant::now() + service.ready.within;
    loop {
        if ground.interrupted.load(Ordering::Relaxed) {
            return Err(LabError::Interrupted);
        }
        for exit in ground.keeper.poll()? {
            if running.is(&exit) {
                let trouble = format!("{} before it was ready", describe(exit.status));
                return Err(LabError::ServiceDied(
                    running.trouble(&instance.name, trouble),
                ));
            }
        }
        match check.look() {
            Found::NotYet => {}
            Found::Ready => return Ok(()),
            Found::Answered => {
                instance.answered += 1;
                return Ok(());
            }
        }
        if Instant::now() >= deadline {
            let trouble = format!(
                "was not ready within {:?}: waited for {}",
                service.ready.within,
                check.waits_for()
            );
            return Err(LabError::NotReady(running.trouble(&instance.name, trouble)));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn check(
    service: &Service,
    running: &Running,
    address: Option<SocketAddr>,
    names: &Names,
    of: &str,
) -> Result<Check, LabError> {
    let address_of = || {
        address.ok_or_else(|| {
            LabError::Unsupported(format!(
                "service `{}` has a readiness check and no address; give it `listen`",
                service.name
            ))
        })
    };
    Ok(match &service.ready.check {
        ReadyCheck::Http { path } => Check::Http {
            address: address_of()?,
            path: names.fill(path, service.name.as_str(), of)?,
        },
        ReadyCheck::Tcp => Check::Tcp {
            address: address_of()?,
        },
        ReadyCheck::Log { pattern } => Check::Log {
            path: running.log.clone(),
            pattern: Regex::new(pattern).map_err(|error| {
                LabError::Unsupported(format!("`ready.log` of `{}`: {error}", service.name))
            })?,
        },
        ReadyCheck::Delay(delay) => Check::Delay {
            until: Instant::now() + *delay,
        },
        ReadyCheck::None => Check::None,
    })
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
    /// Takes note of an exit if it is one of this instance's services.
    pub(crate) fn note_exit(&mut self, exit: &Exit) {
        if let Some(running) = self.services.iter().find(|r| r.is(exit)) {
            self.death = Some(running.trouble(&self.name, describe(exit.status)));
        }
    }

    /// Takes a process in that was started outside the launch in order.
    pub(crate) fn adopt(&mut self, name: String, log: PathBuf, child: Child, stop: &StopPolicy) {
        self.services.push(Running {
            name,
            log,
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
    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(|child| child.pid)
    }

    fn is(&self, exit: &Exit) -> bool {
        self.child
            .as_ref()
            .is_some_and(|child| child.id == exit.child)
    }

    /// The service with what is wrong with it and the end of its log.
    pub(crate) fn trouble(&self, arm: &str, why: String) -> Box<ServiceTrouble> {
        trouble(&self.name, arm, why, &self.log)
    }
}

/// A service with what is wrong with it and the end of its log.
pub(crate) fn trouble(service: &str, arm: &str, why: String, log: &Path) -> Box<ServiceTrouble> {
    Box::new(ServiceTrouble {
        service: service.to_owned(),
        arm: arm.to_owned(),
        trouble: why,
        log: log.to_owned(),
        log_tail: log_tail(log),
    })
}

fn make_dir(dir: &Path) -> Result<(), LabError> {
    std::fs::create_dir_all(dir).map_err(|source| LabError::Write {
        path: dir.to_owned(),
        source,
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
