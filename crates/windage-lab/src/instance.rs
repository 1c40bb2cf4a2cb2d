//! Launches a set of processes in order, each when the one before it is ready.

use std::path::PathBuf;
use std::time::Instant;

use windage_model::{ArmIndex, Event};
use windage_plan::{Arm, Attach, Origin, Plan, Service};
use windage_probe::{ArmProbe, cgroup::ArmCgroup};

use crate::LabError;
use crate::addresses::{Allotted, allot};
use crate::attached;
use crate::names::Names;
use crate::pods;
use crate::preparation::{Prepared, prepare};
use crate::process::Running;
use crate::process_set::{Ground, Instance};
use crate::readiness::{await_placed, await_ready};

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
    let services = services_of(plan, part, arms.first().copied());
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

/// The services of a part, in the order in which they are launched.
pub(crate) fn services_of(plan: &Plan, part: Part, arm: Option<ArmIndex>) -> Vec<&Service> {
    let services = plan.services.iter();
    match part {
        Part::Shared => services.filter(|s| s.shared).collect(),
        Part::Own => services.filter(|s| !s.shared).collect(),
        Part::Agents => {
            let named = arm.map_or(&[][..], |arm| &plan.arms[arm.get()].agents);
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
    let is_launched = |service: &&&Service| matches!(service.origin, Origin::Command(_));
    let launched = services.iter().filter(is_launched).count();
    let cpu_before_ns = group
        .and_then(|g| g.probe().ok())
        .and_then(|mut p| p.cpu_ns().ok());
    let began = Instant::now();
    for (service, mut allotted, mut prepared) in to_start {
        let service = arm.map_or(service, |arm| arm.at_its_revision(service));
        if let Some(pod) = &service.pod {
            // Its order is written last, so that it has the names of everything that already runs.
            let log = log_of(ground, instance, service);
            prepared = Some(pods::prepare(ground, instance, service, pod, arm, &log)?);
        }
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
        if let Some(pod) = &service.pod {
            let placed = await_placed(ground, instance, service)?;
            let address = pods::address(&placed, pod);
            instance.names.add_pod(service.name.as_str(), address);
            instance.pods.push(placed);
            allotted.address = Some(address);
        }
        await_ready(ground, instance, service, allotted.address)?;
        if let Some(arm) = arm {
            (ground.emit)(Event::ServiceReady {
                arm: arm.id.clone(),
                service: service.name.to_string(),
                after: started.elapsed(),
            });
        }
    }
    instance.probe = probe(ground.plan, instance, &services, group)?;
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
    if service.pod.is_some() || matches!(service.origin, Origin::Attach(_)) {
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
    if service.pod.is_some() {
        running.stop_within += pods::GONE_WITHIN;
    }
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
    plan: &Plan,
    instance: &Instance,
    services: &[&Service],
    group: Option<&ArmCgroup>,
) -> Result<ArmProbe, LabError> {
    if let Some(pod) = services.iter().zip(&instance.pods).next() {
        return pods::probe(pod.0, pod.1);
    }
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
    attached::probe(plan, service, attach)
}
