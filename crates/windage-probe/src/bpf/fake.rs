//! A fake of the kernel's BPF for tests, with scripted listings.

use std::collections::VecDeque;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::{Bpf, Objects, Pin};
use crate::ProbeError;

/// BPF objects in memory, which a test sets. Clones share one state.
#[derive(Clone, Debug, Default)]
pub struct FakeBpf {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    listings: VecDeque<Objects>,
    pins: Vec<Pin>,
    failing: Option<i32>,
    /// The other ends of the pipes that keep statistics enabled.
    statistics: Vec<PipeReader>,
}

impl FakeBpf {
    /// A kernel without a BPF program.
    #[must_use]
    pub fn new() -> FakeBpf {
        FakeBpf::default()
    }

    /// Sets the listing from now on.
    pub fn set(&self, objects: Objects) {
        self.script([objects]);
    }

    /// Sets the listings of the next calls; the last one stays.
    pub fn script(&self, listings: impl IntoIterator<Item = Objects>) {
        self.state().listings = listings.into_iter().collect();
    }

    /// Sets the pins from now on.
    pub fn set_pins(&self, pins: Vec<Pin>) {
        self.state().pins = pins;
    }

    /// Makes every call fail with this error number: `EPERM` if not permitted, `ENOSYS` for a
    /// kernel without BPF.
    pub fn fail(&self, errno: i32) {
        self.state().failing = Some(errno);
    }

    /// Whether statistics are still enabled.
    #[must_use]
    pub fn statistics_are_on(&self) -> bool {
        self.state().statistics.iter().any(has_writer)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn check(&self, call: &'static str) -> Result<(), ProbeError> {
        match self.failing {
            Some(errno) => Err(ProbeError::bpf(call, io::Error::from_raw_os_error(errno))),
            None => Ok(()),
        }
    }
}

impl Bpf for FakeBpf {
    fn objects(&self) -> Result<Objects, ProbeError> {
        let mut state = self.state();
        state.check("bpf_prog_get_next_id")?;
        if state.listings.len() > 1 {
            return Ok(state.listings.pop_front().unwrap_or_default());
        }
        Ok(state.listings.front().cloned().unwrap_or_default())
    }

    fn enable_statistics(&self) -> Result<OwnedFd, ProbeError> {
        let mut state = self.state();
        state.check("bpf_enable_stats")?;
        let (reader, writer) =
            io::pipe().map_err(|source| ProbeError::bpf("bpf_enable_stats", source))?;
        state.statistics.push(reader);
        Ok(writer.into())
    }

    fn pins(&self) -> Vec<Pin> {
        self.state().pins.clone()
    }
}

/// A pipe hangs up once its only writer is dropped.
fn has_writer(reader: &PipeReader) -> bool {
    let mut asked = [PollFd::new(reader.as_fd(), PollFlags::POLLIN)];
    poll(&mut asked, PollTimeout::ZERO).is_ok_and(|hung_up| hung_up == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::Link;

    fn with_link(id: u32) -> Objects {
        Objects {
            links: vec![Link { id, program: 1 }],
            ..Objects::default()
        }
    }

    #[test]
    fn listings_follow_the_script_and_then_stay() {
        let bpf = FakeBpf::new();
        assert_eq!(bpf.objects().unwrap(), Objects::default());
        bpf.script([with_link(1), with_link(2)]);
        for expected in [1, 2, 2] {
            assert_eq!(bpf.objects().unwrap(), with_link(expected));
        }
        bpf.clone().set(with_link(9));
        assert_eq!(bpf.objects().unwrap(), with_link(9));
    }

    #[test]
    fn statistics_are_on_while_they_are_held() {
        let bpf = FakeBpf::new();
        let first = bpf.enable_statistics().unwrap();
        let second = bpf.enable_statistics().unwrap();
        drop(first);
        assert!(bpf.statistics_are_on());
        drop(second);
        assert!(!bpf.statistics_are_on());
    }

    #[test]
    fn errors_distinguish_missing_permission_from_missing_bpf() {
        let table = [
            (libc::EPERM, "as root, or with CAP_BPF and CAP_SYS_ADMIN"),
            (libc::ENOSYS, "CONFIG_BPF_SYSCALL"),
            (libc::EINVAL, "bpf_prog_get_next_id"),
        ];
        for (errno, expected) in table {
            let bpf = FakeBpf::new();
            bpf.fail(errno);
            let error = bpf.objects().unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            let told = match error {
                ProbeError::BpfNotPermitted { .. } => libc::EPERM,
                ProbeError::NoBpf => libc::ENOSYS,
                ProbeError::Bpf { .. } => libc::EINVAL,
                other => panic!("{other}"),
            };
            assert_eq!(told, errno);
            assert!(bpf.enable_statistics().is_err());
        }
    }
}
