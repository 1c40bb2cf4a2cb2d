//! The runs of the directory, and what is known of each.
//!
//! The directory is scanned on request. New and changed runs are read on a thread, the newest
//! first, and kept in the index; the list shows what is known by then.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use serde::Serialize;
use windage_record::RunState;

use super::index::{Index, Known};
use super::row::Row;
use super::scan::{self, Found};
use super::snapshot::is_being_written;
use super::stamps::{Seen, Stamps};
use crate::locked;
use crate::low_priority::{be_nice, cpu_of, due_after};
use crate::run_watcher::{COUNTS_AFTER, ESTIMATES_AFTER};

/// How long an answer waits for a scan before it uses the last one.
const WAIT: Duration = Duration::from_secs(2);
/// When an unreadable run is tried again although nothing in it changed.
const TRIED_AGAIN_AFTER: Duration = Duration::from_mins(1);
/// The most notes that are kept until they are taken.
const NOTES_MAX: usize = 16;

/// The runs of a directory.
#[derive(Debug)]
pub(crate) struct Catalog {
    directory: PathBuf,
    /// The directory as given.
    shown: String,
    runs: Mutex<Runs>,
    index: Mutex<Index>,
    /// When the next scan is allowed; `None` means at once. Held during a scan.
    scan_due: Mutex<Option<Instant>>,
    notes: Mutex<Vec<String>>,
    wake: SyncSender<()>,
    /// Counts changes of the list.
    version: AtomicU64,
}

#[derive(Debug, Default)]
struct Runs {
    by_name: BTreeMap<String, Run>,
    /// Why the directory can't be listed.
    failure: Option<String>,
}

#[derive(Debug)]
struct Run {
    path: PathBuf,
    stamps: Stamps,
    is_changed: bool,
    read: Option<(Seen, Arc<Row>)>,
    /// When it may be read again; `None` means at once.
    due: Option<Instant>,
}

/// `GET /api/runs`.
#[derive(Serialize)]
pub(crate) struct List<'a> {
    runs: Vec<Listed<'a>>,
    reading: usize,
    directory: &'a str,
}

#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    #[serde(flatten)]
    row: &'a Row,
}

impl Listed<'_> {
    /// Unreadable runs have no start time and sort as the newest, because they need attention.
    fn age_key(&self) -> (bool, Option<&str>, &str) {
        let started = self.row.started.as_deref();
        (started.is_none(), started, self.name)
    }
}

/// Rows of runs by name.
type Rows = Vec<(String, Arc<Row>)>;

/// A run that is due for reading.
struct Job {
    name: String,
    path: PathBuf,
    stamps: Stamps,
}

impl Catalog {
    /// Takes what the index knows of the directory, and begins to read the rest.
    ///
    /// # Errors
    /// When the thread can't be started.
    pub(crate) fn start(directory: &Path, shown: &str) -> std::io::Result<Arc<Catalog>> {
        // A run's own directory gets no index.
        let (index, known, note) = match Stamps::of(directory) {
            Some(_) => (Index::none(), Vec::new(), None),
            None => Index::open(directory),
        };
        let (wake, woken) = sync_channel(1);
        let catalog = Arc::new(Catalog {
            directory: directory.to_owned(),
            shown: shown.to_owned(),
            runs: Mutex::default(),
            index: Mutex::new(index),
            scan_due: Mutex::default(),
            notes: Mutex::new(note.into_iter().collect()),
            wake,
            version: AtomicU64::new(0),
        });
        let ((), took) = cpu_of(|| catalog.scan_with(known));
        *locked(&catalog.scan_due) = Some(due_after(took, COUNTS_AFTER));
        let reading = Arc::downgrade(&catalog);
        // The thread ends with the catalog. Nothing waits for it, because analysing a long run
        // takes time.
        std::thread::Builder::new()
            .name("windage-reading".to_owned())
            .spawn(move || read_when_woken(&woken, &reading))?;
        catalog.wake();
        Ok(catalog)
    }

    /// Scans for changes, unless that was done a moment ago.
    pub(crate) async fn refresh(self: &Arc<Catalog>) {
        // If another scan is in progress, its result will do.
        if self.scan_due.try_lock().is_ok_and(|due| is_due(*due)) {
            let catalog = Arc::clone(self);
            let scan = tokio::task::spawn_blocking(move || catalog.scan());
            // Without a new scan the last list is used.
            let _ = tokio::time::timeout(WAIT, scan).await;
        }
    }

    /// The list as JSON, the newest first; or why the directory can't be listed.
    pub(crate) fn list(&self) -> Result<String, String> {
        let (known, reading) = self.known()?;
        let listed = known.iter().map(|(name, row)| Listed { name, row });
        let mut listed: Vec<_> = listed.collect();
        listed.sort_by(|a, b| b.age_key().cmp(&a.age_key()));
        let list = List {
            runs: listed,
            reading,
            directory: &self.shown,
        };
        serde_json::to_string(&list).map_err(|error| error.to_string())
    }

    /// What is known of each run, and how many are still to be read.
    fn known(&self) -> Result<(Rows, usize), String> {
        let runs = self.runs();
        if let Some(failure) = &runs.failure {
            return Err(failure.clone());
        }
        let known = runs.by_name.iter().filter_map(|(name, run)| {
            let (_, row) = run.read.as_ref()?;
            Some((name.clone(), Arc::clone(row)))
        });
        let reading = runs.by_name.values().filter(|run| run.is_behind()).count();
        Ok((known.collect(), reading))
    }

    /// Where that run is; `None` for a name that was not found in the directory.
    pub(crate) fn path_of(&self, name: &str) -> Option<PathBuf> {
        self.runs().by_name.get(name).map(|run| run.path.clone())
    }

    /// Rises with every change of the list.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    /// Notes for the user who started the server, since the last call.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *locked(&self.notes))
    }

    fn runs(&self) -> MutexGuard<'_, Runs> {
        locked(&self.runs)
    }

    fn scan(&self) {
        let mut due = locked(&self.scan_due);
        if !is_due(*due) {
            return;
        }
        let ((), took) = cpu_of(|| self.scan_with(Vec::new()));
        *due = Some(due_after(took, COUNTS_AFTER));
        self.wake();
    }

    /// Records which runs exist, changed or were removed.
    fn scan_with(&self, known: Vec<Known>) {
        let found = match scan::scan(&self.directory) {
            Ok(found) => found,
            Err(error) => {
                let shown = &self.shown;
                self.runs().failure = Some(format!(
                    "{shown} can't be listed: {error}; check that it exists"
                ));
                return;
            }
        };
        let mut known: BTreeMap<_, _> = known.into_iter().map(|k| (k.name.clone(), k)).collect();
        let over = self.over(&found, &known);
        // Every request waits for this lock, so no file is touched while it is held.
        let mut runs = self.runs();
        runs.failure = None;
        let mut before = std::mem::take(&mut runs.by_name);
        let mut is_other = false;
        for found in found {
            let run = before.remove(&found.name);
            is_other |= run.is_none();
            let known = known.remove(&found.name);
            let is_over = over.contains(&found.name);
            runs.by_name
                .insert(found.name.clone(), Run::found(found, run, known, is_over));
        }
        is_other |= !before.is_empty();
        drop(runs);
        let gone: Vec<_> = before.into_keys().chain(known.into_keys()).collect();
        if !gone.is_empty() {
            let removed = locked(&self.index).remove(&gone);
            self.note(removed);
        }
        if is_other {
            self.tell();
        }
    }

    /// Runs that were in progress when they were read, and that no process writes any more.
    fn over(&self, found: &[Found], known: &BTreeMap<String, Known>) -> BTreeSet<String> {
        let went_on = |seen: &Seen| seen.state == RunState::GoingOn;
        let indexed = known.values().filter(|known| went_on(&known.seen));
        let mut over: BTreeSet<String> = indexed.map(|known| known.name.clone()).collect();
        for (name, run) in &self.runs().by_name {
            if run.read.as_ref().is_some_and(|(seen, _)| went_on(seen)) {
                over.insert(name.clone());
            }
        }
        let is_written = |name: &str| {
            let mut found = found.iter().filter(|found| found.name == name);
            found.any(|found| is_being_written(&found.path))
        };
        over.retain(|name| !is_written(name));
        over
    }

    /// The newest run that is due for reading.
    fn next(&self) -> Option<Job> {
        let runs = self.runs();
        let wanting = runs.by_name.iter().filter(|(_, run)| run.wants_reading());
        let (name, run) = wanting.max_by_key(|(_, run)| run.stamps.age_key())?;
        Some(Job {
            name: name.clone(),
            path: run.path.clone(),
            stamps: run.stamps,
        })
    }

    fn put(&self, job: Job, row: Row, took: Duration) {
        let known = Known {
            seen: Seen {
                stamps: job.stamps.text(),
                state: row.state.into(),
            },
            name: job.name,
            row,
        };
        // The cause of an unreadable run may disappear without a trace in its files.
        let mut index = locked(&self.index);
        let written = match known.row.problem {
            None => index.put(&known),
            Some(_) => index.remove(std::slice::from_ref(&known.name)),
        };
        drop(index);
        self.note(written);
        let is_other = match self.runs().by_name.get_mut(&known.name) {
            Some(run) => run.take(known, job.stamps, took),
            // It has been removed meanwhile.
            None => false,
        };
        if is_other {
            self.tell();
        }
    }

    fn tell(&self) {
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    fn note(&self, written: Result<(), String>) {
        let mut notes = locked(&self.notes);
        if let (Err(note), true) = (written, notes.len() < NOTES_MAX) {
            notes.push(note);
        }
    }

    fn wake(&self) {
        // If the thread was woken already, it will see this too.
        let _ = self.wake.try_send(());
    }
}

impl Run {
    /// A run that was found, with what was known of it before or from the index, and whether it was
    /// in progress then and has ended since.
    fn found(found: Found, before: Option<Run>, known: Option<Known>, is_over: bool) -> Run {
        let (read, due) = match (before, known) {
            (Some(before), _) => (before.read, before.due),
            (None, Some(known)) => (Some((known.seen, Arc::new(known.row))), None),
            (None, None) => (None, None),
        };
        let is_changed = match &read {
            Some((seen, _)) => is_over || seen.stamps != found.stamps.text(),
            None => true,
        };
        Run {
            is_changed,
            read,
            // How it ended is read at once.
            due: due.filter(|_| !is_over),
            path: found.path,
            stamps: found.stamps,
        }
    }

    /// Records what was read of a run with these stamps. Returns whether it changed.
    fn take(&mut self, known: Known, of: Stamps, took: Duration) -> bool {
        let after = match (&known.row.problem, self.stamps == of) {
            (Some(_), true) => TRIED_AGAIN_AFTER,
            _ => ESTIMATES_AFTER,
        };
        let before = self.read.replace((known.seen, Arc::new(known.row)));
        let was_changed = std::mem::replace(&mut self.is_changed, self.stamps != of);
        self.due = Some(due_after(took, after));
        was_changed || before != self.read
    }

    /// Whether the run has changed since it was read and may be read again: a run in progress is
    /// not read all the time.
    fn is_behind(&self) -> bool {
        self.is_changed && is_due(self.due)
    }

    /// Whether it is due for reading, or for another try.
    fn wants_reading(&self) -> bool {
        let read = self.read.as_ref();
        let has_failed = read.is_some_and(|(_, row)| row.problem.is_some());
        (self.is_changed || has_failed) && is_due(self.due)
    }
}

fn is_due(due: Option<Instant>) -> bool {
    due.is_none_or(|due| due <= Instant::now())
}

fn read_when_woken(woken: &Receiver<()>, catalog: &Weak<Catalog>) {
    be_nice();
    for () in woken {
        while let Some(job) = catalog.upgrade().and_then(|catalog| catalog.next()) {
            let (row, took) = cpu_of(|| Row::read(&job.path));
            if let Some(catalog) = catalog.upgrade() {
                catalog.put(job, row, took);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(problem: Option<&str>) -> Known {
        let row = Row {
            problem: problem.map(str::to_owned),
            ..Row::default()
        };
        Known {
            name: "a".to_owned(),
            seen: Seen {
                stamps: Stamps::default().text(),
                state: RunState::BrokenOff,
            },
            row,
        }
    }

    fn run(known: Known) -> Run {
        let found = Found {
            name: "a".to_owned(),
            path: PathBuf::from("a"),
            stamps: Stamps::default(),
        };
        Run::found(found, None, Some(known), false)
    }

    #[test]
    fn an_unreadable_run_is_tried_again() {
        assert!(!run(known(None)).wants_reading());
        let mut run = run(known(Some("too many open files")));
        assert!(run.wants_reading() && !run.is_behind());
        let stamps = run.stamps;
        let again = known(Some("too many open files"));
        assert!(!run.take(again, stamps, Duration::ZERO), "nothing new");
        assert!(!run.wants_reading(), "not all the time");
        run.due = Some(Instant::now());
        assert!(run.wants_reading());
        assert!(
            run.take(known(None), stamps, Duration::ZERO),
            "it can be read"
        );
        run.due = Some(Instant::now());
        assert!(!run.wants_reading());
    }
}
