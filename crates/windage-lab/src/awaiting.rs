//! Until a service is ready, with an eye on all that are up.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use regex_lite::Regex;
use windage_keeper::Exit;
use windage_plan::{ReadyCheck, Service};

use crate::LabError;
use crate::command_line::describe;
use crate::instance::{Ground, Instance, Running};
use crate::names::Names;
use crate::ready::{Check, Found};

/// How often a service is looked at until it is ready; also the grain of the start-up time.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Waits for the service of a set that was started last.
///
/// # Errors
/// When it does not become ready in time, and when anything ends meanwhile that should be up.
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
        if ground.interrupted.load(Ordering::Relaxed) {
            return Err(LabError::Interrupted);
        }
        for exit in ground.keeper.poll()? {
            expected(&exit, ground.up, instance, running)?;
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
            return Err(LabError::NotReady(
                running.trouble(instance.whose(), trouble),
            ));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Whether an exit is none of a service that should be up. The keeper tells of each exit once, so
/// that those of other sets are looked for as well: what one takes with it is not the cause.
fn expected(
    exit: &Exit,
    up: &[&Instance],
    instance: &Instance,
    launched: &Running,
) -> Result<(), LabError> {
    let mut sets = up.iter().copied().chain([instance]);
    let Some((set, running)) = sets.find_map(|set| Some((set, set.ended(exit)?))) else {
        return Ok(());
    };
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
