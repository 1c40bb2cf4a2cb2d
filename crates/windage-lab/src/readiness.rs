//! Waits until a service is ready, and watches all that are running.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use regex_lite::Regex;
use windage_cluster::Placed;
use windage_keeper::Exit;
use windage_plan::{ReadyCheck, Service};

use crate::LabError;
use crate::command_line::describe;
use crate::names::Names;
use crate::pods;
use crate::process::Running;
use crate::process_set::{Ground, Instance};
use crate::ready::{Check, Found, MetricCheck};

/// The interval between readiness checks; also the resolution of the start-up time.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Waits until the pod of a set that was ordered last runs.
///
/// # Errors
/// As [`await_ready`].
pub(crate) fn await_placed(
    ground: &mut Ground<'_>,
    instance: &Instance,
    service: &Service,
) -> Result<Placed, LabError> {
    let folder = pods::folder(ground, instance, service);
    let Some(running) = instance.services.last() else {
        return Err(LabError::Interrupted);
    };
    let deadline = Instant::now() + service.ready.within;
    loop {
        look_at_others(ground, instance, running)?;
        if let Some(placed) = pods::placed(&folder)? {
            return Ok(placed);
        }
        if Instant::now() >= deadline {
            let trouble = format!(
                "did not run within {:?} (`ready.within`)",
                service.ready.within
            );
            return Err(LabError::NotReady(
                running.trouble(instance.whose(), trouble),
            ));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Waits for the service of a set that was started last.
///
/// # Errors
/// When it does not become ready in time, or any process ends meanwhile that should be running.
pub(crate) fn await_ready(
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
        look_at_others(ground, instance, running)?;
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
            return Err(LabError::NotReady(
                running.trouble(instance.whose(), trouble),
            ));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Ends the wait for a service when it is interrupted, or in vain.
fn look_at_others(
    ground: &mut Ground<'_>,
    instance: &Instance,
    running: &Running,
) -> Result<(), LabError> {
    if ground.interrupted.load(Ordering::Relaxed) {
        return Err(LabError::Interrupted);
    }
    for exit in ground.keeper.poll()? {
        let is_of_others = expected(&exit, ground, instance, running)?;
        ground.ended.extend(is_of_others.then_some(exit));
    }
    Ok(())
}

/// Whether an exit belongs to another set, without which the run can go on. Ignores an exit of no
/// service. The keeper reports each exit once, so exits of other sets are checked here as well:
/// their failure may be the cause of this set's.
///
/// # Errors
/// When it belongs to a service that should be running.
fn expected(
    exit: &Exit,
    ground: &Ground<'_>,
    instance: &Instance,
    launched: &Running,
) -> Result<bool, LabError> {
    let mut sets = ground.up.iter().copied().chain([instance]);
    let Some((set, running)) = sets.find_map(|set| Some((set, set.ended(exit)?))) else {
        return Ok(false);
    };
    if !std::ptr::eq(set, instance) && set.is_dispensable(ground.plan) {
        return Ok(true);
    }
    let when = if std::ptr::eq(running, launched) {
        "before it was ready".to_owned()
    } else {
        format!(
            "while `{}` {} was launched",
            launched.name,
            instance.whose()
        )
    };
    let trouble = format!("{} {when}", describe(exit.status));
    Err(LabError::ServiceDied(running.trouble(set.whose(), trouble)))
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
                "service `{}` has a readiness check but no address; add `listen`",
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
        ReadyCheck::Metric { name } => {
            let url = service.metrics.as_ref().ok_or_else(|| {
                LabError::Unsupported(format!(
                    "service `{}` waits for a metric but has no `metrics`",
                    service.name
                ))
            })?;
            let url = names.fill(url, service.name.as_str(), of)?;
            Check::Metric(MetricCheck::new(&url, name)?)
        }
        ReadyCheck::Delay(delay) => Check::Delay {
            until: Instant::now() + *delay,
        },
        ReadyCheck::None => Check::None,
    })
}
