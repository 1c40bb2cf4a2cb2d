//! Journals cut at every byte.

use std::fs;

use proptest::prelude::*;
use windage_record::{Cut, CutCause, Delivered, Ending, Entry, Journal, JournalWriter, RunDir};

use crate::damage::is_part_of;
use crate::samples;

/// A run of three blocks of windows and two of turns, with other entries around them.
pub(crate) fn sample(path: &std::path::Path) -> RunDir {
    let run = samples::create(path);
    let mut writer = JournalWriter::create(&run).unwrap();
    writer
        .push(&Entry::LaunchStarted(samples::launch(0)))
        .unwrap();
    for block in 0..3 {
        samples::write_block(&mut writer, block, 4);
    }
    for block in 3..5 {
        samples::write_turns(&mut writer, block);
    }
    writer
        .push(&Entry::Delivered(Delivered::default()))
        .unwrap();
    writer.push(&Entry::RunEnded(Ending::Complete)).unwrap();
    writer.commit().unwrap();
    run
}

fn blocks(entries: &[Entry]) -> usize {
    entries
        .iter()
        .filter(|e| matches!(e, Entry::BlockDone { .. }))
        .count()
}

/// Whether all windows and turns belong to a block that is whole: four windows, or turns.
pub(crate) fn is_of_whole_blocks(entries: &[Entry]) -> bool {
    let (mut windows, mut turns) = (0, 0);
    for entry in entries {
        match entry {
            Entry::Window(_) => windows += 1,
            Entry::Turns(_) => turns += 1,
            Entry::BlockDone { .. } if [(4, 0), (0, 1)].contains(&(windows, turns)) => {
                (windows, turns) = (0, 0);
            }
            Entry::BlockDone { .. } => return false,
            _ => {}
        }
    }
    (windows, turns) == (0, 0)
}

#[test]
fn a_cut_at_any_byte_loses_at_most_the_last_block() {
    let dir = tempfile::tempdir().unwrap();
    let run = sample(dir.path());
    let path = run.path().join("journal.bin");
    let whole = fs::read(&path).unwrap();
    let all = Journal::read(&run).unwrap().entries;
    assert_eq!((blocks(&all), is_of_whole_blocks(&all)), (5, true));

    let mut longest = 0;
    for length in 0..=whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let recorded = Journal::read(&run).unwrap();
        let entries = &recorded.entries;
        assert!(all.starts_with(entries), "cut to {length}: not a prefix");
        assert!(
            entries.len() >= longest,
            "cut to {length}: fewer entries than cut shorter"
        );
        assert!(
            is_of_whole_blocks(entries),
            "cut to {length}: an incomplete block"
        );
        let kept = length as u64 - recorded.cut.map_or(0, |cut| cut.bytes);
        if let Some(cut) = recorded.cut {
            assert_eq!(cut.at_byte, kept, "cut to {length}");
            let unfinished = cut.cause == CutCause::UnfinishedBlock;
            assert!(
                unfinished || cut.cause == CutCause::Torn,
                "cut to {length}: {cut:?}"
            );
        }
        // The kept part reads the same without the cut part.
        fs::write(&path, &whole[..usize::try_from(kept).unwrap()]).unwrap();
        let again = Journal::read(&run).unwrap();
        assert_eq!(
            (&again.entries, again.cut),
            (entries, None),
            "cut to {length}"
        );
        longest = entries.len();
    }
    assert_eq!(longest, all.len(), "the whole file has every entry");
}

#[test]
fn a_growing_journal_can_be_read_on_at_any_byte() {
    let dir = tempfile::tempdir().unwrap();
    let run = sample(dir.path());
    let path = run.path().join("journal.bin");
    let whole = fs::read(&path).unwrap();
    let all = Journal::read(&run).unwrap().entries;
    for step in [7, 100] {
        fs::write(&path, []).unwrap();
        let mut journal = Journal::open(&run).unwrap();
        let mut read = Vec::new();
        for length in (0..whole.len()).step_by(step).chain([whole.len()]) {
            fs::write(&path, &whole[..length]).unwrap();
            let is_more = journal.read_on(&run).unwrap();
            let before = read.len();
            read.extend(journal.by_ref().map(Result::unwrap));
            assert!(is_more || read.len() == before, "{length}");
            assert!(all.starts_with(&read), "grown to {length}");
            assert!(is_of_whole_blocks(&read), "grown to {length}");
        }
        assert_eq!(read, all);
        assert_eq!(journal.ending(), Some(&Ending::Complete));
        assert!(!journal.read_on(&run).unwrap(), "nothing more");
        assert_eq!((journal.next().is_none(), journal.cut()), (true, None));
    }
}

#[test]
fn windows_and_turns_without_a_mark_are_an_unfinished_block() {
    let dir = tempfile::tempdir().unwrap();
    let run = sample(dir.path());
    let path = run.path().join("journal.bin");
    let whole = fs::read(&path).unwrap();
    let mut causes: Vec<CutCause> = (0..whole.len())
        .filter_map(|length| {
            fs::write(&path, &whole[..length]).unwrap();
            Journal::read(&run).unwrap().cut.map(|cut| cut.cause)
        })
        .filter(|cause| *cause == CutCause::UnfinishedBlock)
        .collect();
    // Once after each of the twelve windows, and after both blocks of turns.
    assert_eq!(causes.len(), 14);
    causes.dedup();
    assert_eq!(causes, [CutCause::UnfinishedBlock]);
}

#[test]
fn a_tail_of_zeros_is_cut() {
    let dir = tempfile::tempdir().unwrap();
    let run = sample(dir.path());
    let path = run.path().join("journal.bin");
    let mut bytes = fs::read(&path).unwrap();
    let at_byte = bytes.len() as u64;
    let entries = Journal::read(&run).unwrap().entries;
    bytes.extend([0; 4096]);
    fs::write(&path, &bytes).unwrap();
    let recorded = Journal::read(&run).unwrap();
    assert_eq!(recorded.entries, entries);
    assert_eq!(
        recorded.cut,
        Some(Cut {
            at_byte,
            bytes: 4096,
            cause: CutCause::Damaged
        })
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_bytes_make_a_reader_panic(
        noise in prop::collection::vec(any::<u8>(), 0..400),
        with_header: bool,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let run = samples::create(dir.path());
        let mut writer = JournalWriter::create(&run).unwrap();
        samples::write_block(&mut writer, 0, 2);
        let committed = Journal::read(&run).unwrap().entries;

        let path = run.path().join("journal.bin");
        let mut bytes = if with_header { fs::read(&path).unwrap() } else { Vec::new() };
        bytes.extend(noise);
        fs::write(&path, &bytes).unwrap();
        match Journal::read(&run) {
            Ok(recorded) if with_header => prop_assert_eq!(recorded.entries, committed.clone()),
            Ok(recorded) => prop_assert_eq!(recorded.entries, vec![]),
            Err(_) => prop_assert!(!with_header),
        }
        for (at, byte) in flips {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        fs::write(&path, &bytes).unwrap();
        if let Ok(recorded) = Journal::read(&run) {
            prop_assert!(is_part_of(&recorded.entries, &committed));
        }
    }
}
