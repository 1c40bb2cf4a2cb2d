//! `quantiles.bin`: what was gathered of a run's histogram logs, kept beside them.
//!
//! ```text
//! magic (8 bytes) | format u32 | what follows, in postcard | crc32 of all before
//! ```
//!
//! Unpacking the histograms of a long run takes longer than all the rest of its report. The file
//! is worth something only where it is right without a doubt: unless format, version and the
//! checksums of all that it was made from are what they were, it is as if it were not there.

mod stored;

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::thread;

use self::stored::{StoredHead, StoredTimes};
use crate::{Committed, RecordError, RunDir, Timing, journal, run_dir, whole_file};

const FILE_NAME: &str = "quantiles.bin";
const MAGIC: [u8; 8] = *b"WNDGQNTL";
/// To be raised when what is stored changes, or what is gathered, while the version stays.
const FORMAT: u32 = 1;
const HEADER_BYTES: usize = 12;
const CHECKSUM_BYTES: usize = 4;
/// How much longer than the logs a file may be, for those of a few windows.
const BEYOND_LOGS_BYTES: u64 = 1 << 16;
const WINDAGE: &str = env!("CARGO_PKG_VERSION");
const PIECE_BYTES: usize = 1 << 18;

/// What was gathered of the histogram logs of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// How much of the run it was gathered of.
    pub committed: Committed,
    /// Under each of the run's loads, of response times and of service times.
    pub loads: Vec<[KeptTimes; 2]>,
}

/// What was gathered of one kind of time under one load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeptTimes {
    /// The quantiles at which arms were compared.
    pub tracks: Vec<KeptTrack>,
    /// By arm, the counters of all its times that are not nil: which of the counters (by rising
    /// number), and how many times it has.
    pub whole: Vec<Vec<(u32, u64)>>,
}

/// The comparisons at one quantile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeptTrack {
    /// The quantile, from 0 to 1.
    pub quantile: f64,
    /// By arm, for each launch by rising number the logarithms of the arm's quantile over the
    /// baseline's, stretch by stretch.
    pub ratios: Vec<Vec<(u32, Vec<f64>)>>,
}

impl RunDir {
    /// What is kept of this run's histograms; `None` where nothing is, and where it was made from
    /// other bytes than those that are there, by another version, or is damaged. Whoever uses it
    /// has yet to see that no more was committed since.
    #[must_use]
    pub fn kept(&self) -> Option<Kept> {
        let bytes = read(&self.path().join(FILE_NAME), self.most_bytes()).ok()??;
        let mut rest = payload(&bytes)?;
        let head: StoredHead = take(&mut rest)?;
        let is_of_this = head.windage == WINDAGE && head.loads == self.manifest().loads() as u64;
        if !is_of_this || head.checksums != self.checksums(head.committed()).ok()? {
            return None;
        }
        let mut loads = Vec::new();
        for _ in 0..head.loads {
            let mut of_kind = || Some(take::<StoredTimes>(&mut rest)?.into());
            loads.push([of_kind()?, of_kind()?]);
        }
        rest.is_empty().then_some(Kept {
            committed: head.committed(),
            loads,
        })
    }

    /// Keeps what was gathered of this run's histograms in the run directory.
    ///
    /// # Errors
    /// When the files that it was gathered of can't be read, or the directory can't be written to.
    pub fn keep(&self, kept: Kept) -> Result<(), RecordError> {
        let checksums = self.checksums(kept.committed)?;
        self.keep_under(kept, checksums)
    }

    /// The same for whoever knows the checksums of what was committed of the journal and of both logs.
    pub(crate) fn keep_of(
        &self,
        kept: Kept,
        [journal, response_times, service_times]: [u32; 3],
    ) -> Result<(), RecordError> {
        let manifest = self.checksum_of(run_dir::MANIFEST, u64::MAX)?;
        self.keep_under(kept, [manifest, journal, response_times, service_times])
    }

    fn keep_under(&self, kept: Kept, checksums: [u32; 4]) -> Result<(), RecordError> {
        let head = StoredHead::new(WINDAGE, &kept.committed, checksums, kept.loads.len());
        let mut bytes = [&MAGIC[..], &FORMAT.to_le_bytes()].concat();
        bytes = append(bytes, &head)?;
        for of_kind in kept.loads.into_iter().flatten() {
            bytes = append(bytes, &StoredTimes::from(of_kind))?;
        }
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        let most_bytes = self.most_bytes();
        if bytes.len() as u64 > most_bytes {
            let why = format!("it would be longer than its logs, which allow {most_bytes} bytes");
            return Err(RecordError::Unstorable { why });
        }
        // It has a checksum, and what it was made from is there: nobody waits for the disk.
        whole_file::write_unsaved(self.path(), FILE_NAME, &bytes)
    }

    /// A longer file is none of ours: it would be of no use, for reading the logs takes as long.
    fn most_bytes(&self) -> u64 {
        let of_log = |timing: &Timing| fs::metadata(self.path().join(timing.file_name()));
        let of_logs = Timing::ALL.iter().filter_map(|timing| of_log(timing).ok());
        let bytes = of_logs.fold(0, |sum: u64, log| sum.saturating_add(log.len()));
        bytes.saturating_add(BEYOND_LOGS_BYTES)
    }

    /// The checksums of what was committed, as far as it is there: of the manifest, the journal and
    /// both logs.
    fn checksums(&self, committed: Committed) -> Result<[u32; 4], RecordError> {
        let [response_bytes, service_bytes] = committed.histogram_bytes;
        let of_log = |timing: Timing, bytes| self.checksum_of(timing.file_name(), bytes);
        thread::scope(|scope| {
            let response_times = scope.spawn(|| of_log(Timing::ResponseTime, response_bytes));
            let service_times = of_log(Timing::ServiceTime, service_bytes)?;
            let response_times = response_times.join();
            Ok([
                self.checksum_of(run_dir::MANIFEST, u64::MAX)?,
                self.checksum_of(journal::FILE_NAME, committed.journal_bytes)?,
                response_times.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?,
                service_times,
            ])
        })
    }

    /// Of the first bytes of one of the run's files.
    fn checksum_of(&self, name: &str, bytes: u64) -> Result<u32, RecordError> {
        let path = self.path().join(name);
        checksum(&path, bytes).map_err(RecordError::io("read", &path))
    }
}

/// The whole file, unless it is too long.
fn read(path: &Path, most_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    let file = File::open(path)?;
    let expected = file.metadata()?.len();
    if expected > most_bytes {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
    file.take(most_bytes).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// What is between header and checksum, if these are right.
fn payload(file: &[u8]) -> Option<&[u8]> {
    let (before, checksum) = file.split_last_chunk::<CHECKSUM_BYTES>()?;
    let (header, payload) = before.split_first_chunk::<HEADER_BYTES>()?;
    let is_ours = header[..8] == MAGIC && header[8..] == FORMAT.to_le_bytes();
    let is_whole = is_ours && crc32fast::hash(before).to_le_bytes() == *checksum;
    is_whole.then_some(payload)
}

fn take<'a, T: serde::Deserialize<'a>>(rest: &mut &'a [u8]) -> Option<T> {
    let (value, after) = postcard::take_from_bytes(rest).ok()?;
    *rest = after;
    Some(value)
}

fn append(bytes: Vec<u8>, value: &impl serde::Serialize) -> Result<Vec<u8>, RecordError> {
    postcard::to_extend(value, bytes).map_err(|cause| RecordError::Unstorable {
        why: cause.to_string(),
    })
}

/// The CRC-32 of the first bytes of a file, of fewer where it has no more.
fn checksum(path: &Path, bytes: u64) -> io::Result<u32> {
    let mut hasher = crc32fast::Hasher::new();
    let mut file = File::open(path)?.take(bytes);
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(hasher.finalize()),
            Ok(read) => hasher.update(&piece[..read]),
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
}
