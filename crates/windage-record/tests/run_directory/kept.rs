//! What is kept of histograms beside their logs.

use std::fs::{self, OpenOptions};
use std::io::Write;

use proptest::prelude::*;
use windage_record::{Committed, Journal, JournalWriter, Kept, KeptTimes, KeptTrack, RunDir};

use crate::samples;

const FILE_NAME: &str = "quantiles.bin";
const HEADER_BYTES: usize = 12;
const CHECKSUM_BYTES: usize = 4;

/// A run of two blocks whose writer is done.
fn run() -> (tempfile::TempDir, RunDir) {
    let dir = tempfile::tempdir().unwrap();
    let run = samples::create(dir.path());
    let mut writer = JournalWriter::create(&run).unwrap();
    samples::write_block(&mut writer, 0, 3);
    samples::write_block(&mut writer, 1, 3);
    (dir, run)
}

fn committed(run: &RunDir) -> Committed {
    let mut journal = Journal::open(run).unwrap();
    journal.by_ref().for_each(|entry| drop(entry.unwrap()));
    journal.committed()
}

fn kept(run: &RunDir, of_load: [KeptTimes; 2]) -> Kept {
    Kept {
        committed: committed(run),
        loads: vec![of_load],
    }
}

fn times() -> KeptTimes {
    KeptTimes {
        tracks: vec![KeptTrack {
            quantile: 0.1,
            ratios: vec![
                vec![],
                vec![(0, vec![0.25, -0.0]), (7, vec![f64::MIN_POSITIVE])],
            ],
        }],
        whole: vec![vec![(0, 1), (1, u64::MAX), (56_319, 2)], vec![]],
    }
}

fn any_times() -> impl Strategy<Value = KeptTimes> {
    // Not a number is not equal to itself, and is no ratio either.
    let ratios = prop::collection::vec(any::<f64>().prop_filter("equals", |r| !r.is_nan()), 0..4);
    let of_arm = prop::collection::vec((any::<u32>(), ratios), 0..3);
    let track = (any::<u16>(), prop::collection::vec(of_arm, 0..3)).prop_map(|(at, ratios)| {
        let quantile = f64::from(at) / f64::from(u16::MAX);
        KeptTrack { quantile, ratios }
    });
    let counters = prop::collection::btree_map(any::<u32>(), any::<u64>(), 0..5);
    let counters = counters.prop_map(|counters| counters.into_iter().collect());
    let whole = prop::collection::vec(counters, 0..3);
    let tracks = prop::collection::vec(track, 0..3);
    (tracks, whole).prop_map(|(tracks, whole)| KeptTimes { tracks, whole })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_kept_comes_back_to_the_last_bit(a in any_times(), b in any_times()) {
        let (_dir, run) = run();
        let kept = kept(&run, [a, b]);
        run.keep(kept.clone()).unwrap();
        let found = run.kept().unwrap();
        // Zeros of either sign are equal, and are shown differently.
        prop_assert_eq!(format!("{found:?}"), format!("{kept:?}"));
    }

    /// Damage that no checksum shows: whatever comes of it, it is no panic.
    #[test]
    fn any_bytes_are_read_or_left(
        at in HEADER_BYTES..400,
        bytes in prop::collection::vec(any::<u8>(), 1..12),
    ) {
        let (dir, run) = run();
        run.keep(kept(&run, [times(), times()])).unwrap();
        let path = dir.path().join(FILE_NAME);
        let mut file = fs::read(&path).unwrap();
        let end = file.len() - CHECKSUM_BYTES;
        let at = at.min(end);
        file.splice(at..(at + bytes.len()).min(end), bytes);
        fs::write(&path, sealed(file)).unwrap();
        if let Some(found) = run.kept() {
            prop_assert_eq!(found.loads.len(), 1);
        }
    }
}

/// With the checksum that the bytes before it ask for.
fn sealed(mut file: Vec<u8>) -> Vec<u8> {
    file.truncate(file.len() - CHECKSUM_BYTES);
    let checksum = crc32fast::hash(&file);
    file.extend(checksum.to_le_bytes());
    file
}

#[test]
fn a_cut_or_damaged_file_is_as_none() {
    let (dir, run) = run();
    assert_eq!(run.kept(), None);
    run.keep(kept(&run, [times(), times()])).unwrap();
    let path = dir.path().join(FILE_NAME);
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        fs::write(&path, &whole[..at]).unwrap();
        assert_eq!(run.kept(), None, "cut at byte {at}");
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        fs::write(&path, &damaged).unwrap();
        assert_eq!(run.kept(), None, "byte {at} is another");
    }
    let file = fs::File::create(&path).unwrap();
    file.set_len(1 << 40).unwrap();
    assert_eq!(run.kept(), None, "longer than any memory");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(run.kept(), None, "a directory");
    assert!(run.keep(kept(&run, [times(), times()])).is_err());
}

#[test]
fn another_format_version_or_number_of_loads_is_as_none() {
    let (dir, run) = run();
    run.keep(kept(&run, [times(), times()])).unwrap();
    let path = dir.path().join(FILE_NAME);
    let whole = fs::read(&path).unwrap();
    // The version comes first, behind its length.
    for (at, what) in [(8, "format"), (HEADER_BYTES + 1, "version")] {
        let mut other = whole.clone();
        other[at] += 1;
        fs::write(&path, sealed(other)).unwrap();
        assert_eq!(run.kept(), None, "{what}");
    }
    let mut longer = whole.clone();
    longer.splice(
        whole.len() - CHECKSUM_BYTES..whole.len() - CHECKSUM_BYTES,
        [0],
    );
    fs::write(&path, sealed(longer)).unwrap();
    assert_eq!(run.kept(), None, "bytes that nothing is told of");
    run.keep(Kept {
        loads: Vec::new(),
        ..kept(&run, [times(), times()])
    })
    .unwrap();
    assert_eq!(run.kept(), None, "of no load");
    fs::write(&path, &whole).unwrap();
    assert!(run.kept().is_some());
}

/// Whoever stores it in another form has to say so: files of the same version are read as if they
/// were in this one.
#[test]
fn what_is_stored_has_the_form_of_its_format() {
    let (dir, run) = run();
    let stored = |loads| {
        let committed = committed(&run);
        run.keep(Kept { committed, loads }).unwrap();
        let mut file = fs::read(dir.path().join(FILE_NAME)).unwrap();
        file.truncate(file.len() - CHECKSUM_BYTES);
        file
    };
    // What stands before the times tells of this run, and is as long with one load as with none.
    let head_bytes = stored(vec![]).len();
    let file = stored(vec![[times(), times()]]);
    let format = u32::from_le_bytes(file[8..HEADER_BYTES].try_into().unwrap());
    assert_eq!(
        (format, crc32fast::hash(&file[head_bytes..])),
        (1, 0x2fee_68d2),
        "the form is another: raise FORMAT in kept.rs, and put both here"
    );
}

#[test]
fn what_was_committed_has_to_be_what_it_was() {
    for name in [
        "manifest.json",
        "journal.bin",
        "response_time.hlog",
        "service_time.hlog",
    ] {
        let (dir, run) = run();
        run.keep(kept(&run, [times(), times()])).unwrap();
        let path = dir.path().join(name);
        let whole = fs::read(&path).unwrap();
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 1;
        for (bytes, what) in [
            (&damaged[..], "another bit"),
            (&whole[..whole.len() - 1], "cut"),
        ] {
            fs::write(&path, bytes).unwrap();
            assert_eq!(run.kept(), None, "{name}: {what}");
        }
        fs::remove_file(&path).unwrap();
        assert_eq!(run.kept(), None, "{name}: gone");
    }
}

#[test]
fn what_was_committed_since_is_told_by_the_journal() {
    let (dir, run) = run();
    let before = kept(&run, [times(), times()]);
    run.keep(before.clone()).unwrap();
    // Torn ends of a block that was not committed.
    for name in ["journal.bin", "service_time.hlog"] {
        let mut file = OpenOptions::new()
            .append(true)
            .open(dir.path().join(name))
            .unwrap();
        file.write_all(b"Tag=off.0.2.0,").unwrap();
    }
    assert_eq!(run.kept(), Some(before.clone()));
    assert_eq!(before.committed, committed(&run));
    let (mut writer, _) = JournalWriter::append_to(&run).unwrap();
    samples::write_block(&mut writer, 2, 3);
    drop(writer);
    assert_eq!(run.kept().unwrap().committed, before.committed);
    assert_ne!(before.committed, committed(&run));
}
