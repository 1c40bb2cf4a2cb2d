//! Journals damaged at every byte: what is read, and what a resumed run does.

use std::fs;
use std::path::Path;

use windage_record::{
    CutCause, Ending, Entry, Journal, JournalWriter, Recorded, RunDir, Timing, read_histograms,
};

use crate::cuts::{is_of_whole_blocks, sample};
use crate::samples;

const HEADER_BYTES: usize = 16;
const JOURNAL: &str = "journal.bin";
const LOGS: [&str; 2] = ["response_time.hlog", "service_time.hlog"];

/// Whether all entries are among `all`, in the same order.
pub(crate) fn is_part_of(entries: &[Entry], all: &[Entry]) -> bool {
    let mut rest = all.iter();
    entries.iter().all(|entry| rest.any(|other| other == entry))
}

/// The block of an entry, its mark included.
fn block_of(entry: &Entry) -> Option<u32> {
    match entry {
        Entry::Window(window) => Some(window.place.block),
        Entry::Turns(turns) => Some(turns.block),
        Entry::BlockDone { block } => Some(*block),
        _ => None,
    }
}

/// The entries of `all` that were not read.
fn missing<'a>(read: &[Entry], all: &'a [Entry]) -> Vec<&'a Entry> {
    all.iter().filter(|entry| !read.contains(entry)).collect()
}

/// Each byte of a journal with one bit flipped.
fn flipped(whole: &[u8]) -> impl Iterator<Item = (usize, Vec<u8>)> {
    (0..whole.len()).map(|at| {
        let mut bytes = whole.to_vec();
        bytes[at] ^= 1 << (at % 8);
        (at, bytes)
    })
}

/// Checks that nothing but the damaged record and its block is missing, and that it is reported.
fn check(recorded: &Recorded, all: &[Entry], context: &str) {
    let entries = &recorded.entries;
    assert!(is_part_of(entries, all), "{context}: a wrong record");
    assert!(
        is_of_whole_blocks(entries),
        "{context}: an incomplete block"
    );
    let missing = missing(entries, all);
    let is_of_first = |entry: &&&Entry| block_of(entry) == block_of(missing[0]);
    assert_eq!(missing.iter().filter(is_of_first).count(), missing.len());
    let block = block_of(missing[0]);
    if block.is_none() {
        assert_eq!(missing.len(), 1, "{context}: {missing:?}");
    }
    let Some(loss) = recorded.losses.first() else {
        let cut = recorded
            .cut
            .unwrap_or_else(|| panic!("{context}: unnoticed"));
        assert!(missing[0] == all.last().unwrap(), "{context}: {cut:?}");
        return;
    };
    assert_eq!(recorded.losses.len(), 1, "{context}");
    assert_eq!(loss.blocks.clone().next(), block, "{context}: {loss:?}");
    assert!(loss.blocks.len() <= 1, "{context}: {loss:?}");
    assert_eq!(recorded.cut, None, "{context}");
}

#[test]
fn a_flipped_bit_loses_one_block_at_most_and_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let run = sample(dir.path());
    let path = run.path().join(JOURNAL);
    let whole = fs::read(&path).unwrap();
    let all = Journal::read(&run).unwrap().entries;
    for (at, bytes) in flipped(&whole) {
        fs::write(&path, bytes).unwrap();
        match Journal::read(&run) {
            Ok(recorded) => check(&recorded, &all, &format!("byte {at}")),
            Err(error) => assert!(at < HEADER_BYTES, "byte {at}: {error}"),
        }
    }
}

#[test]
fn several_damaged_places_lose_their_own_blocks() {
    let dir = tempfile::tempdir().unwrap();
    let run = sample(dir.path());
    let path = run.path().join(JOURNAL);
    let mut bytes = fs::read(&path).unwrap();
    let all = Journal::read(&run).unwrap().entries;
    // The first window of each block, by a time that is found in no other.
    let starts: Vec<usize> = [(0, 1), (2, 3)]
        .map(|(block, position)| place_of(&run, &bytes, block, position))
        .into();
    for at in starts {
        bytes[at] ^= 4;
    }
    fs::write(&path, &bytes).unwrap();
    let recorded = Journal::read(&run).unwrap();
    let lost: Vec<_> = recorded
        .losses
        .iter()
        .map(|loss| loss.blocks.clone())
        .collect();
    assert_eq!(lost, [0..1, 2..3]);
    let blocks = recorded.entries.iter().filter_map(|entry| match entry {
        Entry::BlockDone { block } => Some(*block),
        _ => None,
    });
    assert_eq!(Vec::from_iter(blocks), [1, 3, 4]);
    assert!(is_part_of(&recorded.entries, &all));
    assert_eq!(recorded.ending, Some(Ending::Complete));
}

/// A byte within the record of a window: journals that end before and after it differ in it.
fn place_of(run: &RunDir, bytes: &[u8], block: u32, position: u32) -> usize {
    let path = run.path().join(JOURNAL);
    let windows_before = block * 4 + position;
    let is_behind = |length: usize| {
        fs::write(&path, &bytes[..length]).unwrap();
        let mut journal = Journal::open(run).unwrap();
        journal.by_ref().for_each(drop);
        let cut = journal.cut();
        cut.is_some_and(|cut| cut.cause == CutCause::UnfinishedBlock)
    };
    // After each window of a block, but after the first ones of all blocks before as well.
    let ends: Vec<usize> = (0..bytes.len())
        .filter(|length| is_behind(*length))
        .collect();
    fs::write(&path, bytes).unwrap();
    ends[windows_before as usize] - 20
}

#[test]
fn a_growing_damaged_journal_can_be_read_on() {
    let dir = tempfile::tempdir().unwrap();
    let run = sample(dir.path());
    let path = run.path().join(JOURNAL);
    let whole = fs::read(&path).unwrap();
    for (at, bytes) in flipped(&whole).skip(HEADER_BYTES).step_by(29) {
        fs::write(&path, &bytes).unwrap();
        let at_once = Journal::read(&run).unwrap();
        fs::write(&path, []).unwrap();
        let mut journal = Journal::open(&run).unwrap();
        let mut read = Vec::new();
        for length in (0..bytes.len()).step_by(211).chain([bytes.len()]) {
            fs::write(&path, &bytes[..length]).unwrap();
            journal.read_on(&run).unwrap();
            read.extend(journal.by_ref().map(Result::unwrap));
            assert!(is_of_whole_blocks(&read), "byte {at}, grown to {length}");
        }
        assert_eq!(read, at_once.entries, "byte {at}");
        assert_eq!(journal.losses(), at_once.losses, "byte {at}");
        assert_eq!(journal.cut(), at_once.cut, "byte {at}");
    }
}

fn files(directory: &Path) -> Vec<Vec<u8>> {
    let names = [JOURNAL, LOGS[0], LOGS[1]];
    names
        .map(|name| fs::read(directory.join(name)).unwrap())
        .into()
}

/// Ends a resumed run with a block, and reads it.
fn end(run: &RunDir, mut writer: JournalWriter, launch: u32, block: u32) -> Recorded {
    let started = Entry::LaunchStarted(samples::launch(launch));
    writer.push(&started).unwrap();
    samples::write_block(&mut writer, block, 4);
    drop(writer);
    Journal::read(run).unwrap()
}

#[test]
fn a_resumed_run_keeps_what_is_behind_damage_and_copies_the_files_first() {
    let dir = tempfile::tempdir().unwrap();
    let run = sample(dir.path());
    let whole = files(run.path());
    let all = Journal::read(&run).unwrap().entries;
    let lines = read_histograms(&run, Timing::ServiceTime).unwrap().count();
    // Each step saves some ten times; another test reads at every byte.
    for (at, bytes) in flipped(&whole[0]).step_by(5) {
        for (name, bytes) in LOGS.iter().zip(&whole[1..]) {
            fs::write(run.path().join(name), bytes).unwrap();
        }
        fs::write(run.path().join(JOURNAL), &bytes).unwrap();
        let (writer, resumed) = match JournalWriter::append_to(&run) {
            Ok(resumed) => resumed,
            Err(error) => {
                assert!(at < HEADER_BYTES, "byte {at}: {error}");
                let unchanged = [bytes, whole[1].clone(), whole[2].clone()];
                assert_eq!(files(run.path()), unchanged, "byte {at}");
                assert!(!run.path().join("journal.damaged-1").exists());
                continue;
            }
        };
        let context = format!("byte {at}");
        assert_eq!(resumed.next_launch, 1, "{context}");
        let recorded = end(&run, writer, 1, resumed.next_block);
        let before = recorded.entries.len() - 6;
        let before = Recorded {
            entries: recorded.entries[..before].to_vec(),
            losses: resumed.losses.clone(),
            cut: resumed.cut,
            ..recorded.clone()
        };
        check(&before, &all, &context);
        assert_eq!(recorded.cut, None, "{context}");
        // A block whose mark is damaged is measured again, all others are kept.
        let kept = read_histograms(&run, Timing::ServiceTime).unwrap().count();
        assert_eq!(kept, lines + 4, "{context}");

        if resumed.copies.is_empty() {
            // Longer than the file: as a kill leaves it.
            assert_eq!(resumed.cut.unwrap().cause, CutCause::Torn, "{context}");
            continue;
        }
        let names = ["journal", "response_time", "service_time"];
        let expected = names.map(|name| run.path().join(format!("{name}.damaged-1")));
        assert_eq!(resumed.copies, expected, "{context}");
        let copied = [&bytes, &whole[1], &whole[2]];
        for (copy, bytes) in resumed.copies.iter().zip(copied) {
            assert_eq!(&fs::read(copy).unwrap(), bytes, "{context}");
            fs::remove_file(copy).unwrap();
        }
    }
}

#[test]
fn a_damaged_manifest_is_an_error_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let run = sample(dir.path());
    let path = run.path().join("manifest.json");
    let mut json = fs::read(&path).unwrap();
    json[0] ^= 1;
    fs::write(&path, &json).unwrap();
    let before = files(dir.path());
    let error = RunDir::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("manifest.json"), "{error}");
    assert_eq!(files(dir.path()), before);
}
