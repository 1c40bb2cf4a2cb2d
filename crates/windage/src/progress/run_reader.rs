//! Reads running estimates from the run directory, on a separate thread of the lowest priority.
//!
//! It shows what a report would say at that moment. Nothing is computed on the lab's thread. After
//! each look the thread rests two hundred times as long as the look took, so it takes at most 0.5 %
//! of a core, however large the run.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use windage_analysis::{Following, Running};
use windage_record::{RecordError, RunDir};
use windage_serve::{be_nice, cpu_of_this_thread};

/// A look is followed by a rest of this many times its CPU time …
const REST: u32 = 200;
/// … and at least this long.
const REST_AT_LEAST: Duration = Duration::from_secs(1);

/// Handle to the thread, which ends when this is dropped.
pub(super) struct Looking {
    latest: Latest,
    /// Nothing is ever sent; dropping it ends the thread.
    _end: Sender<()>,
}

/// The latest estimates, until they are fetched.
type Latest = Arc<Mutex<Option<Running>>>;

impl Looking {
    /// Starts to look at the run directory that will be made there; `None` if no thread can be
    /// started.
    pub(super) fn at(directory: PathBuf) -> Option<Looking> {
        let (end, ended) = channel();
        let latest = Latest::default();
        let mut look = Look {
            directory,
            following: None,
            latest: Arc::clone(&latest),
        };
        // The thread is not joined, because a look at a long run takes time.
        std::thread::Builder::new()
            .name("windage-running".to_owned())
            .spawn(move || {
                be_nice();
                look_and_rest(
                    || look.take(),
                    cpu_of_this_thread,
                    |rest| sleep(&ended, rest),
                );
            })
            .ok()?;
        Some(Looking { latest, _end: end })
    }

    /// The estimates, if there are new ones since the last call.
    pub(super) fn news(&self) -> Option<Running> {
        self.latest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

/// Whether to go on after this rest.
fn sleep(ended: &Receiver<()>, rest: Duration) -> bool {
    ended.recv_timeout(rest) == Err(RecvTimeoutError::Timeout)
}

/// Rests, looks, and rests according to what the look took, until either closure ends it.
fn look_and_rest(
    mut look: impl FnMut() -> ControlFlow<()>,
    mut cpu: impl FnMut() -> Duration,
    mut sleep: impl FnMut(Duration) -> bool,
) {
    let mut rest = REST_AT_LEAST;
    while sleep(rest) {
        let before = cpu();
        if look().is_break() {
            return;
        }
        let took = cpu().saturating_sub(before);
        rest = took.saturating_mul(REST).max(REST_AT_LEAST);
    }
}

/// The state of the reading thread.
struct Look {
    directory: PathBuf,
    /// `None` until the run directory exists.
    following: Option<Following>,
    latest: Latest,
}

impl Look {
    /// Errors are not shown; the analysis reports them at the end.
    fn take(&mut self) -> ControlFlow<()> {
        match self.try_take() {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    fn try_take(&mut self) -> Result<(), RecordError> {
        if self.following.is_none() {
            match RunDir::open(&self.directory) {
                // It does not exist yet.
                Err(RecordError::NotARun { .. }) => return Ok(()),
                opened => self.following = Some(Following::of(opened?)?),
            }
        }
        if let Some(following) = &mut self.following
            && following.read_on()?
            && let Some(running) = following.running()
        {
            let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
            *latest = Some(running);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// The rests taken after looks of this CPU time; the last look ends the loop.
    fn rests(costs_ms: &[u64], ends: bool) -> Vec<u64> {
        let now = Cell::new(Duration::ZERO);
        let mut looks = costs_ms.iter();
        let mut rests = Vec::new();
        look_and_rest(
            || match looks.next() {
                Some(ms) => {
                    now.set(now.get() + Duration::from_millis(*ms));
                    ControlFlow::Continue(())
                }
                None => ControlFlow::Break(()),
            },
            || now.get(),
            |rest| {
                rests.push(u64::try_from(rest.as_millis()).unwrap());
                !ends || rests.len() <= costs_ms.len()
            },
        );
        rests
    }

    #[test]
    fn a_rest_is_two_hundred_times_the_look_and_at_least_a_second() {
        let table: &[(&[u64], &[u64])] = &[
            (&[], &[1000]),
            (&[0, 1, 5], &[1000, 1000, 1000, 1000]),
            (&[6, 100, 1], &[1000, 1200, 20_000, 1000]),
        ];
        for (costs_ms, expected) in table {
            assert_eq!(rests(costs_ms, false), *expected, "{costs_ms:?}");
            assert_eq!(
                rests(costs_ms, true),
                *expected,
                "{costs_ms:?}, ended while resting"
            );
        }
    }

    #[test]
    fn a_missing_run_is_waited_for_and_an_unreadable_one_is_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let mut look = Look {
            directory: dir.path().join("run"),
            following: None,
            latest: Latest::default(),
        };
        assert!(look.take().is_continue());
        std::fs::create_dir(dir.path().join("run")).unwrap();
        std::fs::write(dir.path().join("run/manifest.json"), "{}").unwrap();
        assert!(look.take().is_break());
        assert_eq!(*look.latest.lock().unwrap(), None);
    }
}
