//! Runs that browsers watch: each is read once for all watchers, and not too often.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use windage_record::RecordError;

use super::progress::{Following, Progress};
use super::snapshot::is_being_written;
use super::stamps::Stamps;
use crate::locked;
use crate::low_priority::{cpu_of, due_after};
use crate::run_watcher::COUNTS_AFTER;

/// How long a run is kept open after somebody looked at it.
const WATCHED_FOR: Duration = Duration::from_secs(30);
/// Runs that are kept open.
const WATCHED_MAX: usize = 64;

/// Every run that was watched a moment ago.
#[derive(Debug, Default)]
pub(crate) struct Live {
    /// Each with its last look.
    watched: Mutex<BTreeMap<String, (Instant, Arc<Watched>)>>,
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
    /// The run of that name, which is kept open for a while.
    pub(crate) fn watch(&self, name: &str) -> Arc<Watched> {
        self.watch_at(name, Instant::now())
    }

    fn watch_at(&self, name: &str, now: Instant) -> Arc<Watched> {
        let mut watched = locked(&self.watched);
        watched.retain(|_, (last, _)| now.saturating_duration_since(*last) < WATCHED_FOR);
        if watched.len() >= WATCHED_MAX && !watched.contains_key(name) {
            let oldest = watched.iter().min_by_key(|(_, (last, _))| *last);
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                watched.remove(&oldest);
            }
        }
        let (last, run) = watched
            .entry(name.to_owned())
            .or_insert_with(|| (now, Arc::default()));
        *last = now;
        Arc::clone(run)
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
    fn a_run_is_kept_open_while_it_is_watched() {
        let live = Live::default();
        let began = Instant::now();
        let at = |s| began + Duration::from_secs(s);
        let first = live.watch_at("a", at(0));
        assert!(Arc::ptr_eq(&first, &live.watch_at("a", at(20))));
        assert!(Arc::ptr_eq(&first, &live.watch_at("a", at(40))));
        live.watch_at("b", at(100));
        let names = || {
            live.watched
                .lock()
                .unwrap()
                .keys()
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(names(), ["b"], "the journal of the other is closed");
        for run in 0..WATCHED_MAX {
            live.watch_at(&format!("run-{run}"), at(101));
        }
        assert_eq!(names().len(), WATCHED_MAX);
        assert!(!names().contains(&"b".to_owned()), "it was watched first");
    }
}
