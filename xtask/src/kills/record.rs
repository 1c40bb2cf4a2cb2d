//! What a run directory holds: committed entries, and the histograms that they vouch for.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use windage_record::{Ending, Entry, Journal, RecordError, RunDir, Timing};

use super::Phase;

/// What was committed.
pub(super) struct Kept {
    entries: Vec<Entry>,
    /// The histogram logs as far as the last commit mark vouches for them.
    logs: [Vec<u8>; 2],
    pub(super) blocks_per_round: u32,
    pub(super) rounds: u32,
    ending: Option<Ending>,
}

/// Reads a run directory; `None` as long as it has no manifest.
pub(super) fn read(directory: &Path) -> Result<Option<Kept>> {
    let run = match RunDir::open(directory) {
        Err(RecordError::NotARun { .. }) => return Ok(None),
        opened => opened?,
    };
    let mut journal = Journal::open(&run)?;
    let entries = journal.by_ref().collect::<Result<Vec<Entry>, _>>()?;
    let log = |place: usize| {
        let path = directory.join(Timing::ALL[place].file_name());
        let bytes = usize::try_from(journal.histogram_bytes()[place])?;
        let mut log = fs::read(&path).or_else(|error| match bytes {
            0 => Ok(Vec::new()),
            _ => Err(error),
        })?;
        let is_whole = log.len() >= bytes;
        log.truncate(bytes);
        is_whole
            .then_some(log)
            .with_context(|| format!("{} is shorter than the journal says", path.display()))
    };
    let design = &run.manifest().design;
    Ok(Some(Kept {
        logs: [log(0)?, log(1)?],
        blocks_per_round: design.blocks_per_round,
        rounds: design.rounds,
        ending: journal.ending().cloned(),
        entries,
    }))
}

/// Whether there is a run, and what it holds is so.
pub(super) fn holds(directory: &Path, is_so: impl Fn(&Kept) -> bool) -> bool {
    read(directory).is_ok_and(|kept| kept.as_ref().is_some_and(is_so))
}

impl Kept {
    /// Blocks with a commit mark.
    pub(super) fn blocks(&self) -> u32 {
        let marks = self.entries.iter();
        let marks = marks.filter(|entry| matches!(entry, Entry::BlockDone { .. }));
        u32::try_from(marks.count()).unwrap_or(u32::MAX)
    }

    pub(super) fn planned(&self) -> u32 {
        self.rounds * self.blocks_per_round
    }

    /// Whether a round has some of its blocks, but not all.
    pub(super) fn is_within_a_round(&self) -> bool {
        !self.blocks().is_multiple_of(self.blocks_per_round)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ending.is_some()
    }

    pub(super) fn is_complete(&self) -> bool {
        self.ending == Some(Ending::Complete)
    }

    /// What is missing here of what was committed earlier, in words.
    pub(super) fn lost_since(&self, earlier: &Kept) -> Option<String> {
        let is_same = |(now, then): (&Entry, &Entry)| now == then;
        let same = self.entries.iter().zip(&earlier.entries);
        let same = same.take_while(|pair| is_same(*pair)).count();
        let is_kept = |(now, then): (&Vec<u8>, &Vec<u8>)| now.starts_with(then);
        let mut logs = self.logs.iter().zip(&earlier.logs);
        if same < earlier.entries.len() {
            let (all, entry) = (earlier.entries.len(), &earlier.entries[same]);
            return Some(format!(
                "entry {same} of {all} is lost or changed: {entry:?}"
            ));
        }
        (!logs.all(is_kept)).then(|| "committed histograms are lost or changed".to_owned())
    }
}

/// Blocks that must have been committed before Windage wrote these lines: all of earlier rounds.
pub(super) fn announced(stderr: &str, blocks_per_round: u32) -> u32 {
    let rounds = stderr.lines().filter_map(round_of);
    rounds.max().unwrap_or(1).saturating_sub(1) * blocks_per_round
}

/// The number of a line such as `round 2 of 2: launching`, counted from 1.
fn round_of(line: &str) -> Option<u32> {
    let (number, _) = line.strip_prefix("round ")?.split_once(" of ")?;
    number.parse().ok()
}

/// What a run was doing, by the lines that it had written and by what was committed.
pub(super) fn phase(stderr: &str, kept: Option<&Kept>) -> Phase {
    let mut lines = stderr.lines().filter(|line| round_of(line).is_some());
    let (Some(last), Some(kept)) = (lines.next_back(), kept) else {
        return Phase::Start;
    };
    let before = announced(stderr, kept.blocks_per_round);
    match kept.blocks().saturating_sub(before) {
        _ if kept.has_ended() => Phase::Report,
        0 if last.contains(": launching") => Phase::Launch,
        0 => Phase::WarmUp,
        done if done < kept.blocks_per_round => Phase::Blocks,
        _ => Phase::TakeDown,
    }
}
