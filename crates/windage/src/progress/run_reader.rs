//! What is known so far, read from the run directory on a thread of its own, of the lowest priority.
//!
//! What is shown is what a report would say at that moment. Nothing of it is computed on the lab's
//! thread, and after each look the thread rests two hundred times as long as the look took: it takes
//! 0.5 % of a core at most, whatever the run's size.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use windage_analysis::{Following, Running};
use windage_record::{RecordError, RunDir};
use windage_serve::{be_nice, cpu_of_this_thread};

/// A look is followed by so many times the CPU that it took …
const REST: u32 = 200;
/// … and by that at least.
const REST_AT_LEAST: Duration = Duration::from_secs(1);

/// Whoever looks; it ends when this is dropped.
pub(super) struct Looking {
    latest: Latest,
    /// Nothing is ever sent: that it is gone ends the thread.
    _end: Sender<()>,
}

/// What was seen last, until it is fetched.
type Latest = Arc<Mutex<Option<Running>>>;

impl Looking {
    /// Looks into the run directory that is to be made there; `None` where no thread is to be had.
    pub(super) fn at(directory: PathBuf) -> Option<Looking> {
        let (end, ended) = channel();
        let latest = Latest::default();
        let mut look = Look {
            directory,
            following: None,
            latest: Arc::clone(&latest),
        };
        // Nobody waits for its end, because a look at a long run takes its time.
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

    /// What is known, if it is more than when it was asked for last.
    pub(super) fn news(&self) -> Option<Running> {
        self.latest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

/// Whether it is to go on after such a rest.
fn sleep(ended: &Receiver<()>, rest: Duration) -> bool {
    ended.recv_timeout(rest) == Err(RecvTimeoutError::Timeout)
}

/// Rests, looks, and rests according to what that took, until either says that it is enough.
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

/// The state of whoever looks.
struct Look {
    directory: PathBuf,
    /// `None` before the run directory is there.
    following: Option<Following>,
    latest: Latest,
}

impl Look {
    /// What can't be read is not shown; that it can't, the analysis will say at the end.
    fn take(&mut self) -> ControlFlow<()> {
        match self.try_take() {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    fn try_take(&mut self) -> Result<(), RecordError> {
        if self.following.is_none() {
            match RunDir::open(&self.directory) {
                // It is not made yet.
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

    /// The rests that are taken where looks take such CPU; the last look ends it.
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
    fn a_rest_is_two_hundred_times_the_look_and_a_second_at_least() {
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
                "{costs_ms:?}, told to end"
            );
        }
    }

    #[test]
    fn what_is_no_run_yet_is_waited_for_and_what_can_not_be_read_is_left_alone() {
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
