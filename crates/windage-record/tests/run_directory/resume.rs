//! Resuming a run that ended early.

use std::fs;

use windage_record::{
    Cut, CutCause, Ending, Entry, Journal, JournalWriter, RecordError, Resumed, Timing,
    read_histograms,
};

use crate::samples;

#[test]
fn a_resumed_run_keeps_complete_blocks_and_continues() {
    let dir = tempfile::tempdir().unwrap();
    let run = samples::create(dir.path());
    let mut writer = JournalWriter::create(&run).unwrap();
    writer
        .push(&Entry::LaunchStarted(samples::launch(0)))
        .unwrap();
    samples::write_block(&mut writer, 0, 3);
    samples::write_block(&mut writer, 1, 3);
    writer.push(&Entry::RunEnded(Ending::Interrupted)).unwrap();
    writer.commit().unwrap();
    drop(writer);

    let (mut writer, resumed) = JournalWriter::append_to(&run).unwrap();
    let last = samples::window(1, 2, 2);
    let expected = Resumed {
        next_launch: 1,
        next_block: 2,
        last_round: Some(0),
        measured_until_ns: last.started_ns + last.duration_ns,
        ending: Some(Ending::Interrupted),
        cut: None,
        losses: Vec::new(),
        copies: Vec::new(),
    };
    assert_eq!(resumed, expected);
    writer
        .push(&Entry::LaunchStarted(samples::launch(1)))
        .unwrap();
    samples::write_block(&mut writer, 2, 3);
    writer.push(&Entry::RunEnded(Ending::Complete)).unwrap();
    writer.commit().unwrap();

    let recorded = Journal::read(&run).unwrap();
    assert_eq!(recorded.ending, Some(Ending::Complete));
    assert_eq!(recorded.cut, None);
    let blocks: Vec<u32> = recorded
        .entries
        .iter()
        .filter_map(|e| match e {
            Entry::BlockDone { block } => Some(*block),
            _ => None,
        })
        .collect();
    assert_eq!(blocks, [0, 1, 2]);
    assert_eq!(
        read_histograms(&run, Timing::ServiceTime).unwrap().count(),
        9
    );
}

#[test]
fn a_run_resumed_after_any_cut_has_every_window_once() {
    let dir = tempfile::tempdir().unwrap();
    let run = samples::create(dir.path());
    let mut writer = JournalWriter::create(&run).unwrap();
    samples::write_block(&mut writer, 0, 2);
    samples::write_block(&mut writer, 1, 2);
    drop(writer);
    let names = ["journal.bin", "response_time.hlog", "service_time.hlog"];
    let whole = names.map(|name| fs::read(run.path().join(name)).unwrap());

    // Each step saves some ten times; another test reads at every byte.
    for length in (0..=whole[0].len()).step_by(7) {
        for (name, bytes) in names.iter().zip(&whole) {
            fs::write(run.path().join(name), bytes).unwrap();
        }
        fs::write(run.path().join(names[0]), &whole[0][..length]).unwrap();

        // The logs are longer than the journal says, as after a crash between the two writes.
        let (mut writer, resumed) = JournalWriter::append_to(&run).unwrap();
        for block in resumed.next_block..3 {
            samples::write_block(&mut writer, block, 2);
        }
        drop(writer);
        let recorded = Journal::read(&run).unwrap();
        assert_eq!(recorded.cut, None, "cut to {length}");
        let places: Vec<_> = recorded
            .entries
            .iter()
            .filter_map(|e| match e {
                Entry::Window(w) => Some((w.place.block, w.place.position)),
                _ => None,
            })
            .collect();
        let expected = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)];
        assert_eq!(places, expected, "cut to {length}");
        for timing in Timing::ALL {
            let tags: Vec<_> = read_histograms(&run, timing)
                .unwrap()
                .map(|i| i.unwrap().0)
                .map(|t| (t.block, t.position))
                .collect();
            assert_eq!(tags, expected, "cut to {length}");
        }
        let mut journal = Journal::open(&run).unwrap();
        journal.by_ref().for_each(drop);
        let log_bytes = Timing::ALL.map(|timing| {
            let log = fs::metadata(run.path().join(timing.file_name()));
            log.unwrap().len()
        });
        assert_eq!(log_bytes, journal.histogram_bytes(), "cut to {length}");
    }
}

#[test]
fn a_run_resumes_at_the_block_of_turns_that_was_cut() {
    let dir = tempfile::tempdir().unwrap();
    let run = samples::create(dir.path());
    let mut writer = JournalWriter::create(&run).unwrap();
    samples::write_block(&mut writer, 0, 2);
    let marks: Vec<u64> = (1..3)
        .map(|block| {
            samples::write_turns(&mut writer, block);
            fs::metadata(run.path().join("journal.bin")).unwrap().len()
        })
        .collect();
    drop(writer);
    let path = run.path().join("journal.bin");
    let whole = fs::read(&path).unwrap();
    let ends_ns = [1, 2].map(|block| {
        let turns = samples::turns(block);
        turns.started_ns + turns.lasted_ns
    });
    let [first, second] = [marks[0], marks[1]].map(|mark| usize::try_from(mark).unwrap());
    let table = [
        (first, 2, ends_ns[0], "after the first"),
        (first + 1, 2, ends_ns[0], "at the beginning of the second"),
        (second - 1, 2, ends_ns[0], "before the end of its mark"),
        (second, 3, ends_ns[1], "after both"),
    ];
    for (length, next_block, until_ns, why) in table {
        fs::write(&path, &whole[..length]).unwrap();
        let (mut writer, resumed) = JournalWriter::append_to(&run).unwrap();
        assert_eq!(
            (resumed.next_block, resumed.measured_until_ns),
            (next_block, until_ns),
            "{why}"
        );
        for block in next_block..4 {
            samples::write_turns(&mut writer, block);
        }
        drop(writer);
        let entries = Journal::read(&run).unwrap().entries.into_iter();
        let blocks = entries.filter_map(|entry| match entry {
            Entry::Turns(turns) => Some(turns.block),
            _ => None,
        });
        assert_eq!(Vec::from_iter(blocks), [1, 2, 3], "{why}");
        // The histogram logs belong to the windows alone.
        let intervals = read_histograms(&run, Timing::ServiceTime).unwrap().count();
        assert_eq!(intervals, 2, "{why}");
    }
}

#[test]
fn the_cut_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let run = samples::create(dir.path());
    let mut writer = JournalWriter::create(&run).unwrap();
    samples::write_block(&mut writer, 0, 2);
    drop(writer);
    let path = run.path().join("journal.bin");
    let mut bytes = fs::read(&path).unwrap();
    let at_byte = bytes.len() as u64;
    bytes.extend([200, 0, 0, 0, 2]);
    fs::write(&path, &bytes).unwrap();
    let (_, resumed) = JournalWriter::append_to(&run).unwrap();
    assert_eq!(
        resumed.cut,
        Some(Cut {
            at_byte,
            bytes: 5,
            cause: CutCause::Torn
        })
    );
    assert_eq!(fs::metadata(&path).unwrap().len(), at_byte);
}

#[test]
fn a_run_that_was_killed_before_its_journal_can_be_read_and_resumed() {
    let dir = tempfile::tempdir().unwrap();
    let run = samples::create(dir.path());
    assert_eq!(Journal::read(&run).unwrap().entries, []);
    for timing in [Timing::ResponseTime, Timing::ServiceTime] {
        assert_eq!(read_histograms(&run, timing).unwrap().count(), 0);
    }
    let (mut writer, resumed) = JournalWriter::append_to(&run).unwrap();
    assert_eq!(resumed, Resumed::default());
    samples::write_block(&mut writer, 0, 1);
    assert_eq!(Journal::read(&run).unwrap().entries.len(), 2);
}

#[test]
fn a_shortened_histogram_log_stops_a_resume_but_not_a_report() {
    let dir = tempfile::tempdir().unwrap();
    let run = samples::create(dir.path());
    let mut writer = JournalWriter::create(&run).unwrap();
    samples::write_block(&mut writer, 0, 3);
    drop(writer);
    let path = run.path().join("service_time.hlog");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 10]).unwrap();

    let error = JournalWriter::append_to(&run).map(|_| ()).unwrap_err();
    assert!(
        matches!(error, RecordError::HistogramsShort { .. }),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains("can be reported but not resumed"),
        "{error}"
    );
    assert_eq!(
        read_histograms(&run, Timing::ServiceTime).unwrap().count(),
        2
    );
    assert_eq!(Journal::read(&run).unwrap().entries.len(), 4);
}
