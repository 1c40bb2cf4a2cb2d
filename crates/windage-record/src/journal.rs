//! Reads a journal: every entry up to the last complete block, wherever the file was cut, except
//! blocks that are damaged.

mod losses;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

pub use self::losses::Loss;
use self::losses::Losses;
use crate::frame::{self, Frames, Header, Step};
use crate::wire::{self, BlockMark, Decoded};
use crate::{Ending, Entry, RecordError, RunDir, manifest};

/// The journal's name in the run directory.
pub(crate) const FILE_NAME: &str = "journal.bin";

/// What was left out at a journal's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Its start, in bytes from the start of the file.
    pub at_byte: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// The reason.
    pub cause: CutCause,
}

/// Why the end of a journal was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutCause {
    /// The file ends within a record: the run was killed while writing, or the file was shortened.
    Torn,
    /// A record does not match its checksum, and no intact one follows, or none that ends a block.
    Damaged,
    /// Windows or turns of a block that has no commit mark.
    UnfinishedBlock,
}

/// A whole journal in memory. A window takes about half a kilobyte; use [`Journal`] to stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The entries, in the order of writing.
    pub entries: Vec<Entry>,
    /// What was left out before the end because it is damaged.
    pub losses: Vec<Loss>,
    /// What was left out at the end, if anything.
    pub cut: Option<Cut>,
    /// How the run ended; `None` when it is still in progress or was killed.
    pub ending: Option<Ending>,
}

/// The entries of a journal, in the order of writing.
///
/// Windows are returned once their block's commit mark has been read; at most one block waits in
/// memory. Behind damage it is read on from the next intact record: only blocks of which a part is
/// damaged are left out. After an error there is nothing more.
pub struct Journal {
    /// The format in its header; the newest of a file without one.
    format: u32,
    frames: Frames<io::Take<BufReader<File>>>,
    path: PathBuf,
    windage: String,
    file_bytes: u64,
    done: bool,
    ready: VecDeque<Entry>,
    /// Starts at the first window without a commit mark.
    uncommitted: Vec<Entry>,
    committed_bytes: u64,
    histogram_bytes: [u64; 2],
    /// The block that the next commit mark is expected to end.
    next_block: u32,
    losses: Losses,
    cut_cause: CutCause,
    ending: Option<Ending>,
}

impl Journal {
    /// Opens the journal of a run. Entries that a run in progress writes later appear only after
    /// [`Journal::read_on`].
    ///
    /// # Errors
    /// When the file cannot be read, is not a journal, or has another format.
    pub fn open(run: &RunDir) -> Result<Journal, RecordError> {
        let path = run.path().join(FILE_NAME);
        let (mut input, file_bytes) = input(&path, 0)?;
        let mut first = Vec::with_capacity(frame::HEADER_BYTES);
        (&mut input)
            .take(frame::HEADER_BYTES as u64)
            .read_to_end(&mut first)
            .map_err(RecordError::io("read", &path))?;
        let windage = run.manifest().windage.clone();
        let (torn, format) = match frame::read_header(&first) {
            Header::Format(format) if manifest::is_readable(format) => (false, format),
            Header::Torn => (true, manifest::FORMAT),
            Header::Format(found) => {
                return Err(RecordError::OtherFormat {
                    path,
                    found,
                    known: manifest::READABLE,
                    windage,
                });
            }
            Header::Foreign => {
                let why = "it does not begin like a journal".to_owned();
                return Err(RecordError::Damaged { path, why });
            }
        };
        Ok(Journal {
            format,
            frames: Frames::new(input, frame::HEADER_BYTES as u64),
            path,
            windage,
            file_bytes,
            done: torn,
            ready: VecDeque::new(),
            uncommitted: Vec::new(),
            committed_bytes: if torn { 0 } else { frame::HEADER_BYTES as u64 },
            histogram_bytes: [0; 2],
            next_block: 0,
            losses: Losses::default(),
            cut_cause: CutCause::Torn,
            ending: None,
        })
    }

    /// Whether records of this version may be added.
    ///
    /// # Errors
    /// When it has an older format, whose readers would not know them.
    pub(crate) fn may_grow(&self) -> Result<(), RecordError> {
        match self.format {
            manifest::FORMAT => Ok(()),
            found => Err(RecordError::Older {
                path: self.path.clone(),
                found,
                windage: self.windage.clone(),
            }),
        }
    }

    /// Continues after the last complete block, once the iterator is exhausted, with everything
    /// committed since. Returns whether there is anything to read.
    ///
    /// # Errors
    /// As for [`Journal::open`].
    pub fn read_on(&mut self, run: &RunDir) -> Result<bool, RecordError> {
        if self.committed_bytes == 0 {
            // Even its header was missing.
            *self = Journal::open(run)?;
            return Ok(!self.done);
        }
        let (input, file_bytes) = input(&self.path, self.committed_bytes)?;
        self.frames = Frames::new(input, self.committed_bytes);
        self.file_bytes = file_bytes;
        self.done = false;
        self.uncommitted.clear();
        self.losses.go_back();
        self.cut_cause = CutCause::Torn;
        Ok(file_bytes > self.committed_bytes)
    }

    /// Reads the whole journal of a run.
    ///
    /// # Errors
    /// As for [`Journal::open`], and when a record is intact but unknown.
    pub fn read(run: &RunDir) -> Result<Recorded, RecordError> {
        let mut journal = Journal::open(run)?;
        let entries = journal.by_ref().collect::<Result<Vec<_>, _>>()?;
        Ok(Recorded {
            entries,
            losses: journal.losses(),
            cut: journal.cut(),
            ending: journal.ending,
        })
    }

    /// What was left out at the end; known once the iterator is exhausted.
    #[must_use]
    pub fn cut(&self) -> Option<Cut> {
        let bytes = self.file_bytes.saturating_sub(self.committed_bytes);
        (self.done && bytes > 0).then_some(Cut {
            at_byte: self.committed_bytes,
            bytes,
            cause: self.cut_cause,
        })
    }

    /// What was left out before the end because it is damaged, as far as was read.
    #[must_use]
    pub fn losses(&self) -> Vec<Loss> {
        self.losses.committed()
    }

    /// The block after the last commit mark that was read.
    pub(crate) fn next_block(&self) -> u32 {
        self.next_block
    }

    /// How the run ended, as far as was read: `None` until an ending was read that no other entry
    /// follows.
    #[must_use]
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// The end of the committed part, as far as was read.
    pub(crate) fn committed_bytes(&self) -> u64 {
        self.committed_bytes
    }

    /// Lengths of the histogram logs, in bytes, at the last commit mark that was read: response
    /// times, then service times.
    #[must_use]
    pub fn histogram_bytes(&self) -> [u64; 2] {
        self.histogram_bytes
    }

    /// Reads one frame.
    fn advance(&mut self) -> Result<(), RecordError> {
        let step = self
            .frames
            .step()
            .map_err(RecordError::io("read", &self.path))?;
        match step {
            Step::Frame {
                start,
                end,
                kind,
                payload,
            } => {
                let decoded = wire::decode(kind, payload).map_err(|why| {
                    let (path, windage) = (self.path.clone(), self.windage.clone());
                    RecordError::Undecodable {
                        path,
                        offset: start,
                        kind,
                        why,
                        windage,
                    }
                })?;
                self.accept(decoded, end);
            }
            Step::End => self.finish(CutCause::UnfinishedBlock),
            Step::Torn => self.pass_damage(CutCause::Torn)?,
            Step::Damaged => self.pass_damage(CutCause::Damaged)?,
        }
        Ok(())
    }

    /// Reads on behind a frame that can't be read; if nothing follows, it is the journal's end.
    fn pass_damage(&mut self, cause: CutCause) -> Result<(), RecordError> {
        let at_byte = self.frames.position();
        let is_record = |kind, payload: &[u8]| wire::decode(kind, payload).is_ok();
        let passed = self
            .frames
            .resync(is_record)
            .map_err(RecordError::io("read", &self.path))?;
        let Some(bytes) = passed else {
            self.finish(cause);
            return Ok(());
        };
        // A part of their block is missing, or its mark.
        let blocks = self.uncommitted.iter().filter_map(Entry::block);
        let end = blocks.map(|block| block.saturating_add(1)).max();
        self.drop_blocks();
        let lost = self.next_block..end.unwrap_or(self.next_block);
        self.losses.add(at_byte, bytes, lost);
        Ok(())
    }

    fn finish(&mut self, cause: CutCause) {
        self.done = true;
        self.cut_cause = match self.losses.is_uncommitted() {
            true => CutCause::Damaged,
            false => cause,
        };
        // Entries that still wait will not get a commit mark.
        self.uncommitted.clear();
    }

    fn accept(&mut self, decoded: Decoded, end: u64) {
        match decoded {
            Decoded::Entry(entry) => {
                let is_of_a_block = |entry: &Entry| entry.block().is_some();
                let waits = is_of_a_block(&entry) || self.uncommitted.iter().any(is_of_a_block);
                self.uncommitted.push(entry);
                if !waits {
                    self.commit(end);
                }
            }
            Decoded::BlockDone(mark) => self.end_block(mark, end),
        }
    }

    /// Commits a block, unless a part of it may be damaged.
    fn end_block(&mut self, mark: BlockMark, end: u64) {
        let next_block = mark.block.saturating_add(1);
        let is_whole = !self.losses.is_open() || self.has_beginning_of(mark.block);
        if is_whole {
            let block = mark.block;
            self.uncommitted.push(Entry::BlockDone { block });
            self.losses.close(self.next_block..block);
        } else {
            self.drop_blocks();
            self.losses.close(self.next_block..next_block);
        }
        self.next_block = next_block;
        self.histogram_bytes = mark.histogram_bytes;
        self.commit(end);
    }

    /// Whether what waits of blocks begins with the first record of this one: all damage before it
    /// is then of earlier blocks, because entries before the damage don't wait any more.
    fn has_beginning_of(&self, block: u32) -> bool {
        let of_blocks = self
            .uncommitted
            .iter()
            .find(|entry| entry.block().is_some());
        of_blocks.is_some_and(|entry| match entry {
            Entry::Window(window) => window.place.block == block && window.place.position == 0,
            Entry::Turns(turns) => turns.block == block,
            _ => false,
        })
    }

    fn drop_blocks(&mut self) {
        self.uncommitted.retain(|entry| entry.block().is_none());
    }

    /// Hands over everything that waits.
    fn commit(&mut self, end: u64) {
        for entry in self.uncommitted.drain(..) {
            self.ending = match &entry {
                Entry::RunEnded(ending) => Some(ending.clone()),
                // A resumed run continues after an ending.
                _ => None,
            };
            self.ready.push_back(entry);
        }
        self.losses.commit();
        self.committed_bytes = end;
    }
}

/// The current bytes of the journal from an offset on, and its total length.
fn input(path: &Path, from: u64) -> Result<(io::Take<BufReader<File>>, u64), RecordError> {
    let opened = match windage_files::open(path) {
        // A run killed before its first commit has no journal yet.
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => File::open("/dev/null"),
        opened => opened,
    };
    let mut file = opened.map_err(RecordError::io("open", path))?;
    let file_bytes = file
        .metadata()
        .map_err(RecordError::io("read", path))?
        .len();
    file.seek(SeekFrom::Start(from))
        .map_err(RecordError::io("read", path))?;
    let left = file_bytes.saturating_sub(from);
    Ok((
        BufReader::with_capacity(1 << 18, file).take(left),
        file_bytes,
    ))
}

impl Iterator for Journal {
    type Item = Result<Entry, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                return Some(Ok(entry));
            }
            if self.done {
                return None;
            }
            if let Err(error) = self.advance() {
                self.done = true;
                return Some(Err(error));
            }
        }
    }
}
