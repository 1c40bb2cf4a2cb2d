//! The histogram logs.

use std::fs;
use std::io::Write;

use hdrhistogram::Histogram;
use windage_model::Warning;
use windage_record::{
    JournalWriter, LostLines, RecordError, TagParts, Times, Timing, read_histograms,
};

use crate::samples;

#[test]
fn every_window_gets_its_histogram_back() {
    let dir = tempfile::tempdir().unwrap();
    let run = samples::create(dir.path());
    let mut writer = JournalWriter::create(&run).unwrap();
    samples::write_block(&mut writer, 0, 3);
    samples::write_block(&mut writer, 1, 3);
    for timing in Timing::ALL {
        let mut places = Vec::new();
        for interval in read_histograms(&run, timing).unwrap() {
            let (tag, histogram) = interval.unwrap();
            let id = &run.manifest().arms[usize::try_from(tag.position).unwrap()].id;
            assert_eq!(tag.arm, id.as_str());
            let expected = samples::histogram(&samples::window(tag.block, tag.position, 0));
            assert_eq!(histogram, Times::from(&expected), "{tag:?}");
            places.push((tag.launch, tag.block, tag.position));
        }
        let expected = [
            (0, 0, 0),
            (0, 0, 1),
            (0, 0, 2),
            (0, 1, 0),
            (0, 1, 1),
            (0, 1, 2),
        ];
        assert_eq!(places, expected);
    }
}

#[test]
fn the_two_times_are_not_mixed_up_and_empty_ones_are_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let run = samples::create(dir.path());
    let mut writer = JournalWriter::create(&run).unwrap();
    let window = samples::window(0, 0, 2);
    let empty = Histogram::<u32>::new_with_bounds(1_000, 60_000_000_000, 3).unwrap();
    writer
        .window(&window, &samples::histogram(&window), &empty)
        .unwrap();
    writer.commit_block(0).unwrap();
    let tags = |timing| -> Vec<TagParts> {
        read_histograms(&run, timing)
            .unwrap()
            .map(|interval| interval.unwrap().0)
            .collect()
    };
    let tag = TagParts {
        arm: "otel-sampling-0.1".into(),
        launch: 0,
        block: 0,
        position: 0,
    };
    assert_eq!(tags(Timing::ResponseTime), [tag]);
    assert_eq!(tags(Timing::ServiceTime), []);
}

#[test]
fn intervals_after_the_last_mark_do_not_count() {
    let dir = tempfile::tempdir().unwrap();
    let run = samples::create(dir.path());
    let mut writer = JournalWriter::create(&run).unwrap();
    let found = |timing| {
        let intervals: Result<Vec<_>, _> = read_histograms(&run, timing).unwrap().collect();
        intervals.unwrap().len()
    };
    assert_eq!(found(Timing::ResponseTime), 0, "only the header");
    samples::write_block(&mut writer, 0, 3);
    let path = run.path().join("response_time.hlog");
    let text = fs::read_to_string(&path).unwrap();
    let last = text.lines().last().unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    writeln!(file, "{last}").unwrap();
    assert_eq!(Timing::ALL.map(found), [3, 3]);
}

#[test]
fn a_damaged_line_is_reported_and_the_others_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let run = samples::create(dir.path());
    let mut writer = JournalWriter::create(&run).unwrap();
    samples::write_block(&mut writer, 0, 3);
    let path = run.path().join("response_time.hlog");
    let whole = fs::read_to_string(&path).unwrap();
    let second = whole
        .lines()
        .filter(|line| line.starts_with("Tag="))
        .nth(1)
        .unwrap();
    let payload = second.rsplit(',').next().unwrap();
    let table = [
        ("not a line of a log", "x".repeat(second.len())),
        (
            "tag",
            second
                .replacen("Tag=off", "Tag=///", 1)
                .replace(".0.0.1,", ".0.0.z,"),
        ),
        ("payload", second.replace(&payload[20..24], "AAAA")),
        ("base64", second.replace(&payload[20..24], "!!!!")),
    ];
    for (what, line) in table {
        assert_ne!(line, second, "{what}");
        fs::write(&path, whole.replace(second, &line)).unwrap();
        let mut histograms = read_histograms(&run, Timing::ResponseTime).unwrap();
        let outcomes: Vec<_> = histograms.by_ref().collect();
        let readable = outcomes.iter().map(Result::is_ok).collect::<Vec<_>>();
        assert_eq!(readable, [true, false, true], "{what}");
        let error = outcomes[1].as_ref().unwrap_err();
        assert!(
            matches!(error, RecordError::HistogramLine { line: 7, .. }),
            "{what}: {error}"
        );
        assert_eq!(histograms.lost(), lost(1, line.len() + 1), "{what}");
    }
}

fn lost(lines: u64, bytes: usize) -> LostLines {
    let bytes = bytes as u64;
    LostLines { lines, bytes }
}

#[test]
fn what_is_missing_at_the_end_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let run = samples::create(dir.path());
    let mut writer = JournalWriter::create(&run).unwrap();
    let read = |timing| {
        let mut histograms = read_histograms(&run, timing).unwrap();
        let intervals = histograms.by_ref().count();
        (intervals, histograms.lost())
    };
    assert_eq!(read(Timing::ServiceTime), (0, lost(0, 0)), "no mark yet");
    samples::write_block(&mut writer, 0, 3);
    let path = run.path().join("service_time.hlog");
    let whole = fs::read(&path).unwrap();
    let text = str::from_utf8(&whole).unwrap();
    let last = text.lines().last().unwrap().len() + 1;
    let ends = whole.len() - last;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let two = lines[lines.len() - 2..].concat().len();
    let table = [
        (whole.len(), (3, lost(0, 0))),
        (whole.len() - 1, (2, lost(1, last))),
        (ends + 1, (2, lost(1, last))),
        (ends, (2, lost(1, last))),
        (ends - 1, (1, lost(1, two))),
        (0, (0, lost(1, whole.len()))),
    ];
    for (length, expected) in table {
        fs::write(&path, &whole[..length]).unwrap();
        assert_eq!(read(Timing::ServiceTime), expected, "cut to {length}");
        assert_eq!(read(Timing::ResponseTime), (3, lost(0, 0)));
    }
}

#[test]
fn a_warning_names_the_damaged_logs() {
    let [response, service] = Timing::ALL;
    let warning = |damaged_bytes, lines_lost, files: &[&str]| {
        Some(Warning::HistogramsDamaged {
            damaged_bytes,
            lines_lost,
            files: files.iter().map(|file| (*file).to_owned()).collect(),
        })
    };
    let table = [
        ([lost(0, 0), lost(0, 0)], None),
        (
            [lost(0, 0), lost(2, 700)],
            warning(700, 2, &["service_time.hlog"]),
        ),
        (
            [lost(1, 200), lost(2, 700)],
            warning(900, 3, &["response_time.hlog", "service_time.hlog"]),
        ),
    ];
    for ([of_response, of_service], expected) in table {
        let found = LostLines::warning(&[(response, of_response), (service, of_service)]);
        assert_eq!(found, expected);
    }
}

#[test]
fn no_flipped_byte_makes_the_reader_panic() {
    let dir = tempfile::tempdir().unwrap();
    let run = samples::create(dir.path());
    let mut writer = JournalWriter::create(&run).unwrap();
    samples::write_block(&mut writer, 0, 2);
    let path = run.path().join("service_time.hlog");
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        fs::write(&path, &flipped).unwrap();
        let read = read_histograms(&run, Timing::ServiceTime).unwrap();
        assert!(read.filter(Result::is_ok).count() <= 2, "byte {at}");
    }
}
