//! Batch programs that run once per window, and how any batch program is launched.

use std::sync::atomic::Ordering;

use windage_model::{PhaseSpent, Place, ProcessTimes, Warning};
use windage_plan::{Iterations, Load, Origin, Service};
use windage_probe::cgroup::ArmCgroup;
use windage_record::Entry;

use crate::LabError;
use crate::drive::{Driven, drive_process};
use crate::preparation::{Prepared, prepare};
use crate::process::trouble;
use crate::process_set::{Ground, Instance};
use crate::resident::self_report::About;

/// Prepares to start the one program of a batch plan for an arm.
pub(super) fn prepare_program<'p>(
    ground: &Ground<'p>,
    instance: &Instance,
    group: Option<&ArmCgroup>,
) -> Result<(Prepared, &'p Service), LabError> {
    let plan = ground.plan;
    let own: Vec<&Service> = plan.services.iter().filter(|s| !s.shared).collect();
    let [service] = own[..] else {
        return Err(LabError::Unsupported(
            "a batch load has exactly one service that is not shared: its program".into(),
        ));
    };
    if matches!(service.origin, Origin::Attach(_)) {
        return Err(LabError::Unsupported(
            "a batch load can't attach: its program is launched".into(),
        ));
    }
    let arm = instance.arms.first().map(|a| &plan.arms[a.get()]);
    let name = service.name.as_str();
    let log = ground.run.log_path(ground.launch, &instance.name, name);
    let prepared = prepare(ground, instance, service, arm, group, &log)?;
    Ok((prepared, service))
}

/// Runs a program to its end, which is a window; returns also what is reported about it.
pub(super) fn run_window(
    ground: &mut Ground,
    load: &Load,
    instance: &mut Instance,
    group: Option<&ArmCgroup>,
) -> Result<(Driven, Vec<About>), LabError> {
    let (prepared, service) = prepare_program(ground, instance, group)?;
    let padding = prepared.padding.map(|padding| padding.said(None));
    let (spawn, rendered) = (prepared.spawn, prepared.rendered);
    let log = spawn.log.clone();
    let iterations = match load.iterations {
        Iterations::Fixed(number) => number,
        // Only a resident program can be asked for more iterations.
        Iterations::Auto => 1,
    };
    let (within, interrupted) = (load.timeout, ground.interrupted);
    let driven = drive_process(ground.keeper, spawn, iterations, within, interrupted)?;
    // A signal ends the program as well, which is not the program's failure.
    if let (Some(why), false) = (&driven.trouble, interrupted.load(Ordering::Relaxed)) {
        let (name, whose) = (service.name.as_str(), instance.whose());
        instance.death = Some(trouble(name, whose, why.clone(), &log, &rendered));
    }
    let about = padding.into_iter().chain(driven.told.about.clone());
    Ok((driven, about.collect()))
}

/// Records what a process that was a window used and reported. A report that breaks the
/// protocol becomes a warning of the window.
pub(super) fn note_process(
    findings: &mut Vec<Entry>,
    place: Place,
    driven: &Driven,
) -> Option<Warning> {
    let exit = driven.exit.as_ref()?;
    findings.push(Entry::Process(ProcessTimes {
        place,
        wall_ns: driven.report.duration_ns,
        user_ns: exit.user_ns,
        system_ns: exit.system_ns,
    }));
    let phases = driven.told.phases.iter().map(|told| {
        Entry::Phase(PhaseSpent {
            launch: place.launch,
            arm: place.arm,
            phase: told.phase,
            wall_ns: told.wall_ns,
            cpu_ns: Some(told.cpu_ns),
        })
    });
    findings.extend(phases);
    let broken = driven.told.broken.as_ref().filter(|_| !driven.told.waits)?;
    Some(Warning::ProtocolViolation {
        message: broken.clone(),
    })
}
