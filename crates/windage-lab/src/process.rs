//! A running service.

use std::path::{Path, PathBuf};
use std::time::Duration;

use windage_keeper::{Child, Exit, Keeper};
use windage_plan::{StopPolicy, StopSignal};

use crate::command_line::describe;
use crate::error::ServiceTrouble;
use crate::log_tail::{log_tail, read_end};
use crate::rendered::Rendered;

/// A running service.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) name: String,
    pub(crate) log: PathBuf,
    pub(crate) rendered: Rendered,
    /// `None` for one that Windage attached to, or that was ended.
    pub(crate) child: Option<Child>,
    pub(crate) stop_signal: i32,
    pub(crate) stop_within: Duration,
}

impl Running {
    /// A service that has no process yet.
    pub(crate) fn new(name: String, log: PathBuf, stop: &StopPolicy) -> Running {
        Running {
            name,
            log,
            rendered: Rendered::default(),
            child: None,
            stop_signal: number(stop.signal),
            stop_within: stop.within,
        }
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(|child| child.pid)
    }

    pub(crate) fn is(&self, exit: &Exit) -> bool {
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

    /// The trouble of this service, with the end of its log.
    pub(crate) fn trouble(&self, whose: String, why: String) -> Box<ServiceTrouble> {
        trouble(&self.name, whose, why, &self.log, &self.rendered)
    }
}

/// The trouble of a service, with the end of its log, which may name rendered lines.
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
