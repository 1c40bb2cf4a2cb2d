//! Reads the run directory on request, on its own thread, and not too often.
//!
//! The run directory is the only source: a run publishes what its report would say at that moment,
//! whether it is a run of this process or of another. Counts are read on from where the journal
//! ended; estimates are computed afresh over the whole run. To keep both a small part of the
//! machine's load, each rests for a hundred times the CPU that it took.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use axum::body::Bytes;
use tokio::sync::watch;
use windage_analysis::of_run_directory;
use windage_record::{RecordError, RunDir};

use crate::concluded::{self, Stage};
use crate::exposition;
use crate::families::{self, Samples};
use crate::journal_reader::Growing;
use crate::locked;
use crate::low_priority::{be_nice, cpu_of, due_after};
use crate::tally::{self, Tally};

/// The least age of counts, and of estimates, before they are read again.
pub(crate) const COUNTS_AFTER: Duration = Duration::from_secs(1);
pub(crate) const ESTIMATES_AFTER: Duration = Duration::from_secs(5);
/// How long an answer waits for a requested look before it uses the last one.
const WAIT: Duration = Duration::from_secs(2);

/// What was seen in a run directory.
#[derive(Debug)]
struct Look {
    run: PathBuf,
    /// The OpenMetrics text, or why nothing could be read.
    text: Result<Bytes, String>,
    /// When the next look is allowed.
    due: Instant,
}

/// `None` before the first look.
type Latest = Option<Arc<Look>>;

/// Requests looks from the watching thread.
#[derive(Debug)]
pub(crate) struct Looking {
    /// `None` before there is a run to follow.
    run: Mutex<Option<PathBuf>>,
    ask: SyncSender<PathBuf>,
    looks: watch::Receiver<Latest>,
}

impl Looking {
    pub(crate) fn start() -> std::io::Result<Looking> {
        let (ask, asked) = sync_channel(1);
        let (publish, looks) = watch::channel(None);
        // The thread ends with the last requester. Nothing waits for it, because analysing a long
        // run takes time.
        std::thread::Builder::new()
            .name("windage-looking".to_owned())
            .spawn(move || look_when_asked(&asked, &publish))?;
        Ok(Looking {
            run: Mutex::default(),
            ask,
            looks,
        })
    }

    pub(crate) fn follow(&self, run: &Path) {
        *locked(&self.run) = Some(run.to_owned());
    }

    /// The OpenMetrics text of the latest look, a new one if it is due; or why there is none.
    pub(crate) async fn latest(&self) -> Result<Bytes, String> {
        let Some(run) = locked(&self.run).clone() else {
            return Err("no run has been started yet".to_owned());
        };
        let mut looks = self.looks.clone();
        if is_due(&looks.borrow_and_update(), &run) {
            // If a look has been requested already, that one will do.
            let _ = self.ask.try_send(run.clone());
            // Without a new look the last one is used, if there is one.
            let _ = tokio::time::timeout(WAIT, looks.changed()).await;
        }
        if looks.has_changed().is_err() {
            return Err("the thread that reads the run directory has ended".to_owned());
        }
        match &*looks.borrow() {
            Some(look) if look.run == run => look.text.clone(),
            _ => Err("the run directory is still being read".to_owned()),
        }
    }
}

fn is_due(latest: &Latest, run: &Path) -> bool {
    let is_of_now = |look: &Look| look.run == run && look.due > Instant::now();
    !latest.as_deref().is_some_and(is_of_now)
}

fn look_when_asked(asked: &Receiver<PathBuf>, publish: &watch::Sender<Latest>) {
    be_nice();
    let mut followed = Followed::default();
    for run in asked {
        // Requests made during the last look are served by it.
        if !is_due(&publish.borrow(), &run) {
            continue;
        }
        if followed.path != run {
            followed = Followed::at(&run);
        }
        publish.send_replace(Some(Arc::new(followed.look())));
    }
}

/// A run, and what was read of it so far.
#[derive(Default)]
struct Followed {
    path: PathBuf,
    /// `None` before it can be read.
    counted: Option<Growing<Tally>>,
    estimates: Estimates,
}

/// The last estimates.
struct Estimates {
    /// Or why there are none.
    made: Result<Samples, String>,
    /// When they may be computed again; `None` means at once.
    due: Option<Instant>,
}

impl Followed {
    fn at(path: &Path) -> Followed {
        Followed {
            path: path.to_owned(),
            ..Followed::default()
        }
    }

    fn look(&mut self) -> Look {
        let (counts, counting) = cpu_of(|| self.counts());
        // Estimates rest for their own CPU; counts continue meanwhile.
        let samples = counts
            .map_err(|error| error.to_string())
            .and_then(|counts| self.with_estimates(counts));
        let (text, writing) = cpu_of(|| {
            let text = samples.map(exposition::text)?;
            text.map(Bytes::from).map_err(|error| error.to_string())
        });
        Look {
            run: self.path.clone(),
            text,
            due: due_after(counting + writing, COUNTS_AFTER),
        }
    }

    fn counts(&mut self) -> Result<Samples, RecordError> {
        let began = Instant::now();
        let mut samples = Samples::default();
        // After an error the run is read from the beginning next time.
        let mut counted = match self.counted.take() {
            Some(counted) => counted,
            None => match RunDir::open(&self.path) {
                // The run does not exist yet.
                Err(RecordError::NotARun { .. }) => {
                    tally::put_starting(&mut samples);
                    return Ok(samples);
                }
                opened => Growing::of(opened?)?,
            },
        };
        counted.read_on()?;
        counted.sum().put(&mut samples);
        put_reading("counts", began, &mut samples);
        self.counted = Some(counted);
        Ok(samples)
    }

    fn with_estimates(&mut self, mut samples: Samples) -> Result<Samples, String> {
        if let Some(counted) = &self.counted {
            let estimates = self.estimates.current(counted)?;
            samples.0.extend_from_slice(&estimates.0);
        }
        Ok(samples)
    }
}

impl Default for Estimates {
    fn default() -> Estimates {
        Estimates {
            made: Ok(Samples::default()),
            due: None,
        }
    }
}

impl Estimates {
    /// The last estimates, or new ones if they are due.
    fn current(&mut self, counted: &Growing<Tally>) -> Result<&Samples, String> {
        if self.due.is_none_or(|due| due <= Instant::now()) {
            let (made, took) = cpu_of(|| estimates(counted));
            self.made = made.map_err(|error| error.to_string());
            self.due = Some(due_after(took, ESTIMATES_AFTER));
        }
        self.made.as_ref().map_err(Clone::clone)
    }
}

/// As `windage report` would compute them now.
fn estimates(counted: &Growing<Tally>) -> Result<Samples, RecordError> {
    let began = Instant::now();
    let stage = match counted.ending() {
        Some(_) => Stage::Ended,
        None => Stage::GoingOn,
    };
    let mut samples = Samples::default();
    concluded::put(&of_run_directory(counted.run())?, stage, &mut samples);
    let now = SystemTime::UNIX_EPOCH.elapsed();
    // A clock set before 1970 gives no usable time.
    let now_s = now.ok().map(|since| since.as_secs_f64());
    samples.put(families::ESTIMATED, now_s, &[]);
    put_reading("estimates", began, &mut samples);
    Ok(samples)
}

fn put_reading(of: &str, began: Instant, samples: &mut Samples) {
    let took_s = began.elapsed().as_secs_f64();
    samples.put(families::READING, took_s, &[("of", of)]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{launch, manifest, window};
    use std::fs::OpenOptions;
    use std::os::unix::fs::FileExt;
    use windage_record::{Entry, JournalWriter};

    fn begun(directory: &Path) -> JournalWriter {
        let run = RunDir::create(directory, &manifest(), "", "", &serde_json::json!({}));
        let mut writer = JournalWriter::create(&run.unwrap()).unwrap();
        writer.push(&Entry::LaunchStarted(launch(0, 0))).unwrap();
        writer
    }

    fn block(writer: &mut JournalWriter, block: u32) {
        writer.push(&Entry::Window(window(0, block, 2))).unwrap();
        writer.commit_block(block).unwrap();
    }

    fn blocks(look: &Look) -> Option<f64> {
        let text = str::from_utf8(look.text.as_ref().unwrap()).unwrap();
        let mut lines = text.lines();
        lines.find_map(|line| line.strip_prefix("windage_blocks_total ")?.parse().ok())
    }

    #[test]
    fn counts_continue_where_the_journal_ended() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run");
        let mut followed = Followed::at(&path);
        assert_eq!(blocks(&followed.look()), None, "the run does not exist yet");
        let mut writer = begun(&path);
        block(&mut writer, 0);
        assert_eq!(blocks(&followed.look()), Some(1.0));
        // A reader that starts over would find nothing any more.
        let journal = OpenOptions::new()
            .write(true)
            .open(path.join("journal.bin"));
        let journal = journal.unwrap();
        journal.write_all_at(&[0; 40], 20).unwrap();
        block(&mut writer, 1);
        assert_eq!(blocks(&followed.look()), Some(2.0));
    }

    #[test]
    fn an_unreadable_run_is_reported_and_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run");
        drop(begun(&path));
        let journal = path.join("journal.bin");
        let kept = std::fs::read(&journal).unwrap();
        std::fs::write(&journal, "<!DOCTYPE html>\n").unwrap();
        let mut followed = Followed::at(&path);
        let why = followed.look().text.unwrap_err();
        assert!(why.contains("does not begin like a journal"), "{why}");
        std::fs::write(&journal, kept).unwrap();
        assert_eq!(blocks(&followed.look()), Some(0.0));
    }
}
