//! Entries read back as written.

use proptest::collection::vec;
use proptest::prelude::*;
use windage_record::{Ending, Entry, Journal, JournalWriter};

use crate::{arbitrary, samples};

/// What a journal of these entries must yield: windows, turns, and what processes used, wait for the
/// commit mark of their block; those that never get one do not count.
fn as_read(pushed: &[Entry]) -> Vec<Entry> {
    let (mut read, mut open) = (Vec::new(), Vec::new());
    for entry in pushed {
        match entry {
            Entry::Window(_) | Entry::Turns(_) | Entry::Process(_) => open.push(entry.clone()),
            Entry::BlockDone { .. } => {
                read.append(&mut open);
                read.push(entry.clone());
            }
            _ => read.push(entry.clone()),
        }
    }
    read
}

proptest! {
    // Each case saves to disk.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn entries_round_trip(entries in vec(arbitrary::any_entry(), 0..24)) {
        let dir = tempfile::tempdir().unwrap();
        let run = samples::create(dir.path());
        let mut writer = JournalWriter::create(&run).unwrap();
        for entry in &entries {
            writer.push(entry).unwrap();
        }
        writer.commit().unwrap();

        let recorded = Journal::read(&run).unwrap();
        prop_assert_eq!(&recorded.entries, &as_read(&entries));
        prop_assert_eq!(recorded.cut, None);
    }
}

#[test]
fn only_a_final_ending_counts() {
    let ended = |ending| Entry::RunEnded(ending);
    let launched = || Entry::LaunchStarted(samples::launch(1));
    let table = [
        ("killed", vec![launched()], None),
        (
            "complete",
            vec![launched(), ended(Ending::Complete)],
            Some(Ending::Complete),
        ),
        (
            "resumed and killed",
            vec![ended(Ending::Interrupted), launched()],
            None,
        ),
        (
            "resumed and complete",
            vec![
                ended(Ending::Interrupted),
                launched(),
                ended(Ending::Complete),
            ],
            Some(Ending::Complete),
        ),
    ];
    for (what, entries, expected) in table {
        let dir = tempfile::tempdir().unwrap();
        let run = samples::create(dir.path());
        let mut writer = JournalWriter::create(&run).unwrap();
        for entry in &entries {
            writer.push(entry).unwrap();
        }
        writer.commit().unwrap();
        assert_eq!(Journal::read(&run).unwrap().ending, expected, "{what}");
    }
}

#[test]
fn a_typical_window_stays_small() {
    let dir = tempfile::tempdir().unwrap();
    let run = samples::create(dir.path());
    let mut writer = JournalWriter::create(&run).unwrap();
    let path = run.path().join("journal.bin");
    let before_bytes = std::fs::metadata(&path).unwrap().len();
    let windows: u32 = 1_000;
    for position in 0..windows {
        writer
            .push(&Entry::Window(samples::window(1_000, position, 2)))
            .unwrap();
    }
    writer.commit_block(1_000).unwrap();
    let bytes = std::fs::metadata(&path).unwrap().len() - before_bytes;
    assert!(
        bytes < 250 * u64::from(windows),
        "{bytes} bytes for {windows} windows"
    );
}
