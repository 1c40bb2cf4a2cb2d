//! Writes a journal and its histogram logs, block by block.

mod aside;
mod tail;

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use hdrhistogram::Histogram;
use windage_model::{ArmId, Warning, Window};

use self::aside::copy_aside;
use self::tail::Tail;
use crate::disk::{Opening, sync_directory};
use crate::histograms::{self, LineEncoder, Timing};
use crate::journal::{Cut, CutCause, FILE_NAME, Journal, Loss};
use crate::{Ending, Entry, RecordError, RunDir, frame, manifest, wire};

/// What may wait between two commits. A block is some ten windows of a few kilobytes each, so only
/// a run that doesn't commit reaches this.
const MAX_WAITING_BYTES: usize = 64 << 20;
/// The files that a run appends to.
const FILES: [&str; 3] = [
    FILE_NAME,
    Timing::ResponseTime.file_name(),
    Timing::ServiceTime.file_name(),
];

/// Writes the journal and the histogram logs of a run, and holds the run's lock.
///
/// Entries wait in memory until a commit; only a commit touches the disk, so nothing is written
/// between windows. Windows wait until their block is done; an unfinished block leaves no trace. A
/// failed commit can be retried and loses nothing.
pub struct JournalWriter {
    run_path: PathBuf,
    arms: Vec<ArmId>,
    journal: Tail,
    logs: [Tail; 2],
    encoder: LineEncoder,
    sealed_block: Option<u32>,
    saved_block: Option<u32>,
    /// Keeps the lock while this value lives.
    _lock: File,
}

/// Where a resumed run continues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resumed {
    /// The next launch, counted over the whole run.
    pub next_launch: u32,
    /// The next block, counted over the whole run.
    pub next_block: u32,
    /// The round of the last launch; `None` when there was none.
    pub last_round: Option<u32>,
    /// The end of the last window or turn kept, in nanoseconds since the run began.
    pub measured_until_ns: u64,
    /// How the run ended before; `None` when it was killed.
    pub ending: Option<Ending>,
    /// What was cut off the journal, if anything.
    pub cut: Option<Cut>,
    /// What is left out because it is damaged.
    pub losses: Vec<Loss>,
    /// Copies of the damaged files as they were found; none without damage.
    pub copies: Vec<PathBuf>,
}

impl JournalWriter {
    /// Begins the journal and the histogram logs of a new run.
    ///
    /// # Errors
    /// When another process writes to the run, or the files exist or can't be written.
    pub fn create(run: &RunDir) -> Result<JournalWriter, RecordError> {
        let lock = run.lock()?;
        let mut writer = JournalWriter::open(run, lock, Opening::New, [0; 3])?;
        writer.begin_files(run)?;
        sync_directory(run.disk(), run.path())?;
        Ok(writer)
    }

    /// Continues a run: cuts torn data and incomplete blocks off the journal and the histogram
    /// logs, and keeps the rest. Damaged files are copied first.
    ///
    /// # Errors
    /// When another process writes to the run, the journal can't be understood, a histogram log is
    /// shorter than the journal says, or damaged files can't be copied; the files are then
    /// unchanged.
    pub fn append_to(run: &RunDir) -> Result<(JournalWriter, Resumed), RecordError> {
        let lock = run.lock()?;
        let mut journal = Journal::open(run)?;
        journal.may_grow()?;
        let mut resumed = Resumed::default();
        for entry in journal.by_ref() {
            resumed.note(&entry?);
        }
        resumed.cut = journal.cut();
        resumed.losses = journal.losses();
        resumed.next_block = journal.next_block();
        resumed.ending = journal.ending().cloned();

        check_lengths(run, journal.histogram_bytes())?;
        if !resumed.damage().is_empty() {
            resumed.copies = copy_aside(run.disk(), run.path(), &FILES)?;
        }
        let [response_bytes, service_bytes] = journal.histogram_bytes();
        let kept_bytes = [journal.committed_bytes(), response_bytes, service_bytes];
        let mut writer = JournalWriter::open(run, lock, Opening::Kept, kept_bytes)?;
        for tail in writer.tails() {
            tail.shorten()?;
        }
        writer.saved_block = resumed.next_block.checked_sub(1);
        writer.begin_files(run)?;
        sync_directory(run.disk(), run.path())?;
        Ok((writer, resumed))
    }

    /// Takes an entry without writing it. A window, and what its process used, wait for the
    /// [`Entry::BlockDone`] of their block; anything else waits for the next commit.
    ///
    /// # Errors
    /// When too much is waiting already, or the entry is too long.
    pub fn push(&mut self, entry: &Entry) -> Result<(), RecordError> {
        if self.waiting_bytes() > MAX_WAITING_BYTES {
            return Err(RecordError::BufferFull {
                limit_bytes: MAX_WAITING_BYTES,
            });
        }
        match entry {
            Entry::Window(_) | Entry::Turns(_) | Entry::Process(_) => {
                wire::append(&mut self.journal.open, entry, [0; 2])
            }
            Entry::BlockDone { block } => {
                self.tails().for_each(Tail::seal);
                let histogram_bytes = self.logs.each_ref().map(Tail::sealed_end);
                self.sealed_block = Some(*block);
                wire::append(&mut self.journal.sealed, entry, histogram_bytes)
            }
            _ => wire::append(&mut self.journal.sealed, entry, [0; 2]),
        }
    }

    /// Takes a window together with its histograms, both in nanoseconds.
    ///
    /// # Errors
    /// As for [`JournalWriter::push`], and when the window's arm is not in the manifest.
    pub fn window(
        &mut self,
        window: &Window,
        response_time: &Histogram<u32>,
        service_time: &Histogram<u32>,
    ) -> Result<(), RecordError> {
        let arm = window.place.arm;
        let id = self
            .arms
            .get(arm.get())
            .ok_or(RecordError::UnknownArm { arm })?
            .clone();
        self.push(&Entry::Window(window.clone()))?;
        for (log, histogram) in self.logs.iter_mut().zip([response_time, service_time]) {
            self.encoder.append(&mut log.open, &id, window, histogram)?;
        }
        Ok(())
    }

    /// Ends a block and saves everything: when this returns, the block is on disk.
    ///
    /// # Errors
    /// When a file can't be written; the error says what is safe.
    pub fn commit_block(&mut self, block: u32) -> Result<(), RecordError> {
        self.push(&Entry::BlockDone { block })?;
        self.commit()
    }

    /// Saves everything except the windows of an unfinished block.
    ///
    /// # Errors
    /// When a file can't be written; the error says what is safe. It can be retried.
    pub fn commit(&mut self) -> Result<(), RecordError> {
        let safe = match self.saved_block {
            Some(block) => {
                format!(
                    "all blocks up to {block} are safe in {}",
                    self.run_path.display()
                )
            }
            None => "no block has been saved yet".to_owned(),
        };
        // The logs go first: a commit mark on disk vouches for the log lengths it stores.
        for tail in self.logs.iter_mut().chain([&mut self.journal]) {
            tail.save().map_err(|cause| RecordError::Commit {
                path: tail.path.clone(),
                safe: safe.clone(),
                cause,
            })?;
        }
        self.saved_block = self.sealed_block.or(self.saved_block);
        Ok(())
    }

    fn open(
        run: &RunDir,
        lock: File,
        how: Opening,
        [journal_bytes, response_bytes, service_bytes]: [u64; 3],
    ) -> Result<JournalWriter, RecordError> {
        let [response, service] = Timing::ALL.map(Timing::file_name);
        let tail = |name: &str, saved_bytes| {
            let path = run.path().join(name);
            let opened = run.disk().open(&path, how);
            let file = opened.map_err(RecordError::io("open", &path))?;
            Ok(Tail::after(saved_bytes, file, path))
        };
        Ok(JournalWriter {
            run_path: run.path().to_owned(),
            arms: arms_by_index(run)?,
            journal: tail(FILE_NAME, journal_bytes)?,
            logs: [
                tail(response, response_bytes)?,
                tail(service, service_bytes)?,
            ],
            encoder: LineEncoder::default(),
            sealed_block: None,
            saved_block: None,
            _lock: lock,
        })
    }

    /// Writes the header of every empty file.
    fn begin_files(&mut self, run: &RunDir) -> Result<(), RecordError> {
        if self.journal.saved_bytes == 0 {
            self.journal.sealed.extend(frame::header(manifest::FORMAT));
        }
        for (log, timing) in self.logs.iter_mut().zip(Timing::ALL) {
            if log.saved_bytes == 0 {
                log.sealed
                    .extend(histograms::header(run.manifest(), timing));
            }
        }
        self.commit()
    }

    fn tails(&mut self) -> impl Iterator<Item = &mut Tail> {
        self.logs.iter_mut().chain([&mut self.journal])
    }

    fn waiting_bytes(&self) -> usize {
        let tails = self.logs.iter().chain([&self.journal]);
        tails.map(Tail::waiting_bytes).sum()
    }
}

impl Resumed {
    /// What is lost by damage; nothing where the end of the journal is torn or unfinished, as a kill
    /// leaves it.
    #[must_use]
    pub fn damage(&self) -> Vec<Warning> {
        let damaged = self.cut.filter(|cut| cut.cause == CutCause::Damaged);
        let cut = damaged.map(|cut| Warning::JournalCut {
            cut_bytes: cut.bytes,
        });
        Loss::warning(&self.losses).into_iter().chain(cut).collect()
    }

    fn note(&mut self, entry: &Entry) {
        // Not only of its start, which may be damaged.
        if let Some(launch) = entry.launch() {
            self.next_launch = self.next_launch.max(launch.saturating_add(1));
        }
        self.last_round = entry.round().or(self.last_round);
        match entry {
            Entry::Window(window) => {
                let end_ns = window.started_ns.saturating_add(window.duration_ns);
                self.measured_until_ns = self.measured_until_ns.max(end_ns);
            }
            Entry::Turns(turns) => {
                let end_ns = turns.started_ns.saturating_add(turns.lasted_ns);
                self.measured_until_ns = self.measured_until_ns.max(end_ns);
            }
            _ => {}
        }
    }
}

/// Checks that the histogram logs have what the journal's last commit mark vouches for.
fn check_lengths(run: &RunDir, histogram_bytes: [u64; 2]) -> Result<(), RecordError> {
    for (timing, expected_bytes) in Timing::ALL.into_iter().zip(histogram_bytes) {
        let path = run.path().join(timing.file_name());
        let found_bytes = match fs::metadata(&path) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => 0,
            found => found.map_err(RecordError::io("read", &path))?.len(),
        };
        if found_bytes < expected_bytes {
            return Err(RecordError::HistogramsShort {
                path,
                expected_bytes,
                found_bytes,
            });
        }
    }
    Ok(())
}

/// The arms' ids, each at its index.
fn arms_by_index(run: &RunDir) -> Result<Vec<ArmId>, RecordError> {
    let mut arms: Vec<_> = run.manifest().arms.iter().collect();
    arms.sort_by_key(|arm| arm.index);
    for (place, arm) in arms.iter().enumerate() {
        if arm.index.get() != place {
            return Err(RecordError::UnknownArm { arm: arm.index });
        }
    }
    Ok(arms.into_iter().map(|arm| arm.id.clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::DiskFile;
    use crate::{Manifest, fixtures};
    use std::fs::OpenOptions;

    fn run(directory: &std::path::Path) -> RunDir {
        let manifest = Manifest {
            arms: Vec::new(),
            ..fixtures::manifest()
        };
        RunDir::create(directory, &manifest, "", "", &serde_json::Value::Null).unwrap()
    }

    /// Every write to this device fails as on a full disk.
    fn full() -> Box<dyn DiskFile> {
        Box::new(OpenOptions::new().write(true).open("/dev/full").unwrap())
    }

    #[test]
    fn a_full_disk_names_the_remedy_and_loses_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let run = run(dir.path());
        let mut writer = JournalWriter::create(&run).unwrap();

        let disk = std::mem::replace(&mut writer.journal.file, full());
        let first = writer.commit_block(0).unwrap_err().to_string();
        assert!(
            first.contains("journal.bin") && first.contains("No space left"),
            "{first}"
        );
        assert!(first.contains("no block has been saved yet"), "{first}");
        assert!(
            first.contains("free some space") && first.contains("--resume"),
            "{first}"
        );

        writer.journal.file = disk;
        writer.commit().unwrap();
        let disk = std::mem::replace(&mut writer.journal.file, full());
        let second = writer.commit_block(1).unwrap_err().to_string();
        assert!(
            second.contains("all blocks up to 0 are safe in"),
            "{second}"
        );

        // Space was freed, but the bytes of the failed write are still there.
        disk.write_all_at(b"torn", writer.journal.saved_bytes)
            .unwrap();
        writer.journal.file = disk;
        writer.commit_block(2).unwrap();
        let recorded = Journal::read(&run).unwrap();
        let expected = [0, 1, 2].map(|block| Entry::BlockDone { block });
        assert_eq!((&recorded.entries[..], recorded.cut), (&expected[..], None));
    }

    #[test]
    fn no_mark_is_written_when_a_histogram_log_is_full() {
        let dir = tempfile::tempdir().unwrap();
        let run = run(dir.path());
        let mut writer = JournalWriter::create(&run).unwrap();
        writer.logs[1].open.extend(b"an interval\n");
        writer.logs[1].file = full();
        let text = writer.commit_block(0).unwrap_err().to_string();
        assert!(text.contains("service_time.hlog"), "{text}");
        assert_eq!(Journal::read(&run).unwrap().entries, []);
    }
}
