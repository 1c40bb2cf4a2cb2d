//! Trials whose outcome a test sets.

use std::collections::BTreeMap;
use std::io;

use super::{Event, ProgramType, Trials};

/// A kernel that has everything except what a test removes.
#[derive(Clone, Debug, Default)]
pub struct FakeTrials {
    programs: BTreeMap<ProgramType, Option<i32>>,
    events: BTreeMap<Event, i32>,
    processes: Option<Option<i32>>,
}

impl FakeTrials {
    /// A kernel that has everything.
    #[must_use]
    pub fn new() -> FakeTrials {
        FakeTrials::default()
    }

    /// A kernel without programs of this type.
    #[must_use]
    pub fn without(mut self, program: ProgramType) -> FakeTrials {
        self.programs.insert(program, None);
        self
    }

    /// A kernel where loading a program of this type fails with this error number.
    #[must_use]
    pub fn failing(mut self, program: ProgramType, errno: i32) -> FakeTrials {
        self.programs.insert(program, Some(errno));
        self
    }

    /// A kernel that accepts no programs that write to processes.
    #[must_use]
    pub fn protecting_processes(mut self) -> FakeTrials {
        self.processes = Some(None);
        self
    }

    /// A kernel where loading such a program fails with this error number.
    #[must_use]
    pub fn guarding_processes(mut self, errno: i32) -> FakeTrials {
        self.processes = Some(Some(errno));
        self
    }

    /// A kernel where opening this event fails with this error number.
    #[must_use]
    pub fn closed(mut self, event: Event, errno: i32) -> FakeTrials {
        self.events.insert(event, errno);
        self
    }
}

impl Trials for FakeTrials {
    fn load(&self, program: ProgramType) -> io::Result<bool> {
        outcome(self.programs.get(&program).copied())
    }

    fn writes_to_processes(&self) -> io::Result<bool> {
        outcome(self.processes)
    }

    fn open(&self, event: Event) -> io::Result<()> {
        match self.events.get(&event) {
            None => Ok(()),
            Some(&errno) => Err(io::Error::from_raw_os_error(errno)),
        }
    }
}

/// What a test removed: nothing, the facility itself, or the permission.
fn outcome(taken: Option<Option<i32>>) -> io::Result<bool> {
    match taken {
        None => Ok(true),
        Some(None) => Ok(false),
        Some(Some(errno)) => Err(io::Error::from_raw_os_error(errno)),
    }
}
