//! Directories that can't be written, and locked runs.

use std::fs;
use std::path::Path;

use windage_record::{Ending, Entry, Journal, JournalWriter, RecordError, RunDir, RunState};

use crate::samples;

fn create(path: &Path) -> Result<RunDir, RecordError> {
    RunDir::create(path, &samples::manifest(), "", "", &serde_json::Value::Null)
}

#[test]
fn a_directory_with_something_in_it_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("thesis.tex"), "do not lose").unwrap();
    let error = create(dir.path()).unwrap_err();
    assert!(matches!(error, RecordError::NotEmpty { .. }), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);

    let run = tempfile::tempdir().unwrap();
    create(run.path()).unwrap();
    let text = create(run.path()).unwrap_err().to_string();
    assert!(
        text.contains("is not empty") && text.contains("--resume"),
        "{text}"
    );
}

#[test]
fn a_directory_that_cannot_be_made_is_named_with_a_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    // Not even root can create directories in sysfs.
    let table = [
        (file.join("run"), "name another"),
        ("/sys/windage-run".into(), "name a"),
    ];
    for (path, remedy) in table {
        let text = create(&path).unwrap_err().to_string();
        assert!(
            text.starts_with(&format!("cannot create {}: ", path.display())),
            "{text}"
        );
        assert!(text.contains(remedy), "{text}");
    }
}

#[test]
fn a_directory_without_a_run_is_named() {
    let dir = tempfile::tempdir().unwrap();
    for path in [dir.path().to_owned(), dir.path().join("missing")] {
        let error = RunDir::open(&path).unwrap_err();
        assert!(matches!(error, RecordError::NotARun { .. }), "{error}");
    }
}

#[test]
fn one_process_writes_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let run = samples::create(dir.path());
    let writer = JournalWriter::create(&run).unwrap();
    let error = JournalWriter::append_to(&run).map(|_| ()).unwrap_err();
    assert!(matches!(error, RecordError::Locked { .. }), "{error}");
    let text = error.to_string();
    let holder = format!("is being written by process {}", std::process::id());
    assert!(
        text.contains(&holder) && text.contains("wait until"),
        "{text}"
    );

    assert_eq!(
        Journal::read(&run).unwrap().entries,
        [],
        "reading needs no lock"
    );
    drop(writer);
    JournalWriter::append_to(&run).unwrap();
}

#[test]
fn checking_for_a_writer_does_not_block_it() {
    let dir = tempfile::tempdir().unwrap();
    let run = samples::create(dir.path());
    assert!(!run.is_being_written().unwrap(), "created, not begun");
    let writer = JournalWriter::create(&run).unwrap();
    assert!(run.is_being_written().unwrap());
    drop(writer);
    assert!(!run.is_being_written().unwrap());

    // A reader checking the state has the lock for a moment; a writer waits for that.
    let looking = std::fs::File::open(dir.path().join("lock")).unwrap();
    looking.lock_shared().unwrap();
    assert!(!run.is_being_written().unwrap(), "a reader is not a writer");
    let looked = std::thread::spawn(move || {
        // As long as a reader may be preempted on a busy machine.
        std::thread::sleep(std::time::Duration::from_millis(200));
        drop(looking);
    });
    JournalWriter::append_to(&run).unwrap();
    looked.join().unwrap();

    std::fs::remove_file(dir.path().join("lock")).unwrap();
    assert!(!run.is_being_written().unwrap(), "copied without its lock");
}

#[test]
fn a_runs_state_follows_from_its_lock_and_its_ending() {
    let table = [
        (true, None, RunState::GoingOn, "being measured"),
        (
            true,
            Some(Ending::Interrupted),
            RunState::GoingOn,
            "resumed, nothing measured yet",
        ),
        (false, Some(Ending::Complete), RunState::Ended, "as planned"),
        (
            false,
            Some(Ending::Interrupted),
            RunState::Ended,
            "properly, but early",
        ),
        (false, None, RunState::BrokenOff, "killed"),
    ];
    for (is_being_written, ending, expected, why) in table {
        let state = RunState::of(is_being_written, ending.as_ref());
        assert_eq!(state, expected, "{why}");
    }
}

#[test]
fn a_journal_can_be_begun_only_once() {
    let dir = tempfile::tempdir().unwrap();
    let run = samples::create(dir.path());
    drop(JournalWriter::create(&run).unwrap());
    let text = JournalWriter::create(&run)
        .map(|_| ())
        .unwrap_err()
        .to_string();
    assert!(
        text.starts_with("cannot open ") && text.contains("journal.bin"),
        "{text}"
    );
}

#[test]
fn another_format_is_named_and_another_file_is_refused() {
    let header = |format: u32| {
        let mut bytes = [&b"WNDGJRNL"[..], &format.to_le_bytes()].concat();
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes
    };
    let dir = tempfile::tempdir().unwrap();
    let run = samples::create(dir.path());
    let table = [
        (
            header(1),
            "is in format 1, as windage 0.1.0 wrote it, but this windage reads only formats 5 to 7; \
             use that version, or measure again",
        ),
        (header(8), "is in format 8"),
        (
            b"PK\x03\x04 and so on, and on".to_vec(),
            "is damaged: it does not begin like a journal",
        ),
    ];
    for (bytes, expected) in table {
        fs::write(run.path().join("journal.bin"), &bytes).unwrap();
        for text in [
            Journal::read(&run).unwrap_err().to_string(),
            JournalWriter::append_to(&run)
                .map(|_| ())
                .unwrap_err()
                .to_string(),
        ] {
            assert!(
                text.contains("journal.bin") && text.contains(expected),
                "{text}"
            );
        }
        assert_eq!(
            fs::read(run.path().join("journal.bin")).unwrap(),
            bytes,
            "unchanged"
        );
    }
    // It only lacks a kind of records.
    fs::write(run.path().join("journal.bin"), header(5)).unwrap();
    assert_eq!(Journal::read(&run).unwrap().entries, []);
    let resumed = JournalWriter::append_to(&run).map(|_| ()).unwrap_err();
    let text = resumed.to_string();
    assert!(text.contains("only that version can resume it"), "{text}");
}

#[test]
fn an_unknown_arm_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let run = samples::create(dir.path());
    let mut writer = JournalWriter::create(&run).unwrap();
    let window = samples::window(0, 0, 77);
    let times = samples::histogram(&window);
    let error = writer.window(&window, &times, &times).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("arm 77 is not in the manifest"),
        "{error}"
    );
}

#[test]
fn memory_for_waiting_entries_is_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let run = samples::create(dir.path());
    let mut writer = JournalWriter::create(&run).unwrap();
    let mut window = samples::window(0, 0, 0);
    let text = "x".repeat(8 << 20);
    let failed = windage_model::Warning::SwitchFailed { how: text };
    window.warnings.push(failed);
    let entry = Entry::Window(window);
    let failed = (0..100).find_map(|n| writer.push(&entry).err().map(|error| (n, error)));
    let (pushed, error) = failed.unwrap();
    assert!(matches!(error, RecordError::BufferFull { .. }), "{error}");
    assert_eq!(pushed, 8, "64 MiB of 8 MiB each");
}
