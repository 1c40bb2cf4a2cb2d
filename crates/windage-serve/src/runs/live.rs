//! Runs that browsers watch: each is read once for all watchers, and not too often.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use windage_record::RecordError;

use super::progress::{Following, Progress};
use super::snapshot::is_being_written;
use super::stamps::Stamps;
use crate::locked;
use crate::low_priority::{cpu_of, due_after};
use crate::run_watcher::COUNTS_AFTER;

/// Every watched run.
#[derive(Debug, Default)]
pub(crate) struct Live {
    watched: Mutex<BTreeMap<String, Weak<Watched>>>,
}

/// One watched run.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    latest: Arc<tokio::sync::Mutex<Latest>>,
}

#[derive(Default)]
struct Latest {
    snapshot: Option<Arc<Snapshot>>,
    following: Option<Following>,
    /// When the journal may be read on.
    due: Option<Instant>,
}

/// What was seen of a run.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) stamps: Stamps,
    pub(crate) progress: Progress,
    is_written: bool,
}

impl Live {
    /// The run of that name, watched as long as the result is held.
    pub(crate) fn watch(&self, name: &str) -> Arc<Watched> {
        let mut watched = locked(&self.watched);
        if let Some(run) = watched.get(name).and_then(Weak::upgrade) {
            return run;
        }
        watched.retain(|_, run| run.strong_count() > 0);
        let run = Arc::default();
        watched.insert(name.to_owned(), Arc::downgrade(&run));
        run
    }
}

impl Watched {
    /// The present state, or the last one if a new look is not due; `None` when the run was removed
    /// or can't be read.
    pub(crate) async fn look(&self, path: &Path) -> Option<Arc<Snapshot>> {
        let mut latest = Arc::clone(&self.latest).lock_owned().await;
        let path = path.to_owned();
        let seen = tokio::task::spawn_blocking(move || latest.look(&path)).await;
        seen.ok().flatten()
    }
}

impl Latest {
    /// Reads the journal on if it changed and that is due, and in any case when the run has ended.
    fn look(&mut self, path: &Path) -> Option<Arc<Snapshot>> {
        let stamps = Stamps::of(path)?;
        // Checked before the journal is read: otherwise a run that ends in between would look
        // broken off.
        let is_written = is_being_written(path);
        let before = self.snapshot.take().filter(|seen| {
            let rests = self.due.is_some_and(|due| due > Instant::now());
            seen.is_written == is_written && (rests || seen.stamps == stamps)
        });
        self.snapshot = before.or_else(|| {
            let (progress, took) = cpu_of(|| self.read_on(path, is_written));
            self.due = Some(due_after(took, COUNTS_AFTER));
            let progress = progress.ok()?;
            Some(Arc::new(Snapshot {
                stamps,
                progress,
                is_written,
            }))
        });
        self.snapshot.clone()
    }

    fn read_on(&mut self, path: &Path, is_written: bool) -> Result<Progress, RecordError> {
        let mut following = match self.following.take() {
            Some(following) => following,
            None => Following::open(path)?,
        };
        let progress = following.read_on(is_written)?;
        self.following = Some(following);
        Ok(progress)
    }
}

impl fmt::Debug for Latest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Latest")
            .field("snapshot", &self.snapshot)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_held_as_long_as_it_is_watched() {
        let live = Live::default();
        let (first, second) = (live.watch("a"), live.watch("a"));
        assert!(Arc::ptr_eq(&first, &second));
        let held = Arc::downgrade(&first.latest);
        drop(first);
        assert_eq!(held.strong_count(), 1);
        drop(second);
        assert_eq!(held.strong_count(), 0, "its journal is closed");
        let _b = live.watch("b");
        let watched = live.watched.lock().unwrap();
        assert_eq!(watched.keys().collect::<Vec<_>>(), ["b"]);
    }
}
