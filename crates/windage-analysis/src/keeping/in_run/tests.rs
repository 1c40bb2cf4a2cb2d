use std::fs;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use windage_record::{Ending, Entry, JournalWriter, RunDir};

use super::*;
use crate::analyse;
use crate::fixture::Recorded;
use crate::fixture::written::{Written, of_every_kind, times, under_loads, written_by};
use crate::reading::Leave;

const ANY: RangeInclusive<usize> = 0..=usize::MAX;

fn file(run: &RunDir) -> PathBuf {
    run.path().join("quantiles.bin")
}

fn recorded_within(
    recorded: &Recorded,
    is_timed: bool,
    within: RangeInclusive<usize>,
) -> (Written, JournalWriter) {
    written_by(recorded, is_timed, |run| {
        let gathering = Gathering::within(within, run.manifest());
        JournalWriter::create_gathering(run, Box::new(gathering))
    })
}

/// What the first report leaves where the run left nothing.
fn as_read(run: &RunDir) -> Vec<u8> {
    fs::remove_file(file(run)).unwrap();
    analyse::concluded(run, Leave::GatheredFrom(0)).unwrap();
    fs::read(file(run)).unwrap()
}

#[test]
fn what_a_run_gathers_is_what_is_read_of_it() {
    for (recorded, is_timed, why) in of_every_kind() {
        let (Written { run, _folder }, mut writer) = recorded_within(&recorded, is_timed, ANY);
        assert!(!file(&run).exists(), "{why}: not before it ends");
        writer.keep_gathered(&run).unwrap();
        drop(writer);
        let kept = fs::read(file(&run)).unwrap();
        assert!(kept == as_read(&run), "{why}");
    }
}

/// The windows of a block that is never done are in no log.
#[test]
fn a_block_that_was_cut_short_does_not_count() {
    let recorded = under_loads(1);
    let (Written { run, _folder }, mut writer) = recorded_within(&recorded, true, ANY);
    for window in recorded.windows.iter().rev().take(3) {
        let times = times(window, 1_000);
        writer.window(window, &times, &times).unwrap();
    }
    let ending = Entry::RunEnded(Ending::Interrupted);
    writer.push(&ending).unwrap();
    writer.keep_gathered(&run).unwrap();
    drop(writer);
    let kept = fs::read(file(&run)).unwrap();
    assert!(kept == as_read(&run));
}

#[test]
fn runs_that_are_short_or_too_long_for_memory_keep_nothing() {
    // The run has 240 windows.
    let table = [
        (241..=usize::MAX, false, "too short"),
        (240..=240, true, "just long enough, and not too long"),
        (0..=239, false, "too long at its end"),
        (0..=6, false, "too long from the second block on"),
    ];
    for (within, expected, why) in table {
        let (Written { run, _folder }, mut writer) = recorded_within(&under_loads(1), true, within);
        writer.keep_gathered(&run).unwrap();
        assert_eq!(file(&run).exists(), expected, "{why}");
    }
    let (Written { run, _folder }, mut writer) = written_by(&under_loads(1), true, |run| {
        JournalWriter::create_gathering(run, gathering(run.manifest()))
    });
    writer.keep_gathered(&run).unwrap();
    assert!(
        !file(&run).exists(),
        "as short runs are left by their readers"
    );
}

#[test]
fn a_run_that_is_gone_on_with_keeps_nothing() {
    let (Written { run, _folder }, mut writer) = recorded_within(&under_loads(1), true, ANY);
    writer.keep_gathered(&run).unwrap();
    let kept = fs::read(file(&run)).unwrap();
    drop(writer);
    let (mut writer, _) = JournalWriter::append_to(&run).unwrap();
    let again = Entry::RunEnded(Ending::Complete);
    writer.push(&again).unwrap();
    writer.keep_gathered(&run).unwrap();
    drop(writer);
    assert_eq!(fs::read(file(&run)).unwrap(), kept, "of the part before");
    assert!(kept != as_read(&run));
}
