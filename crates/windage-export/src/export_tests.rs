use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use windage_model::fixtures::{place, turn_block, warning, window};
use windage_model::{ArmCpu, ArmIndex, CpuSource, WarningCode};
use windage_record::{JournalWriter, LaunchArmEnd, LaunchEnd, LaunchedArm, fixtures::manifest};

use super::*;

const TABLES: [Table; 3] = [Table::Windows, Table::Blocks, Table::Launches];

/// Two launches, each with a block of windows and one of turns. The second has no end.
fn recorded(dir: &std::path::Path) -> RunDir {
    let mut manifest = manifest();
    manifest.load.rate_per_s = Some(1999.5);
    let run = RunDir::create(dir, &manifest, "", "", &serde_json::Value::Null).unwrap();
    let mut journal = JournalWriter::create(&run).unwrap();
    for launch in 0..2 {
        journal
            .push(&Entry::LaunchStarted(started(launch)))
            .unwrap();
        for (position, arm) in [0, 2, 1].into_iter().enumerate() {
            let mut window = window(place(launch, launch * 2, arm));
            window.place.position = u32::try_from(position).unwrap();
            window.cpu.others_in_window = vec![ArmCpu {
                arm: ArmIndex((arm + 1) % 3),
                cpu_ns: 70_000,
            }];
            if (launch, arm) == (1, 2) {
                window.cpu.in_window_ns = None;
                window.warnings = [WarningCode::OtherArmActive, WarningCode::ServiceDied]
                    .map(warning)
                    .into();
            }
            let times = hdrhistogram::Histogram::new(3).unwrap();
            journal.window(&window, &times, &times).unwrap();
        }
        journal.commit_block(launch * 2).unwrap();
        journal
            .push(&Entry::Turns(turn_block(
                launch,
                launch * 2 + 1,
                &[0, 1, 2],
            )))
            .unwrap();
        journal.commit_block(launch * 2 + 1).unwrap();
        if launch == 0 {
            journal.push(&Entry::LaunchEnded(ended(launch))).unwrap();
        }
    }
    journal.commit().unwrap();
    run
}

fn started(launch: u32) -> Launch {
    let arm = |arm| LaunchedArm {
        arm: ArmIndex(arm),
        instance: arm,
        startup_ns: Some(90_000_000),
        cpu_source: CpuSource::CgroupV2,
        cpu_resolution_ns: 1000,
        startup_cpu_ns: None,
        warmup_completed: 500,
        warmup_outside_ns: 20_000,
        warmup_outside_time_ns: 1_000_000,
    };
    Launch {
        launch,
        round: launch,
        started_ns: u64::from(launch) * 10_000_000_000,
        arms: [0, 1, 2].map(arm).into(),
    }
}

fn ended(launch: u32) -> LaunchEnd {
    let arm = |arm| LaunchArmEnd {
        arm: ArmIndex(arm),
        after_last_window_ns: Some(3_000_000),
        drain_ns: 500_000_000,
        idle_cpu_ns: Some(1_000_000),
        idle_ns: 1_000_000_000,
        after_turns_ns: Some(2_000_000),
        turns_drain_ns: 500_000_000,
        pss_bytes: None,
        ..LaunchArmEnd::default()
    };
    LaunchEnd {
        launch,
        arms: [0, 1, 2].map(arm).into(),
        own_rss_bytes: None,
    }
}

fn exported(run: &RunDir, table: Table, encoding: Encoding) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut export = Export::create(table, encoding, &mut bytes).unwrap();
    export.add(run).unwrap();
    export.finish().unwrap();
    bytes
}

#[test]
fn csv_has_what_the_journal_has() {
    let dir = tempfile::tempdir().unwrap();
    let run = recorded(dir.path());
    for table in TABLES {
        let text = String::from_utf8(exported(&run, table, Encoding::Csv)).unwrap();
        insta::assert_snapshot!(format!("{table:?}").to_lowercase(), text);
    }
}

#[test]
fn parquet_has_the_same_values_as_csv() {
    let dir = tempfile::tempdir().unwrap();
    let run = recorded(dir.path());
    for table in TABLES {
        let text = exported(&run, table, Encoding::Csv);
        let mut text = csv::Reader::from_reader(&text[..]);
        let names: Vec<String> = text.headers().unwrap().iter().map(str::to_owned).collect();
        let lines: Vec<Vec<String>> = text
            .records()
            .map(|line| line.unwrap().iter().map(str::to_owned).collect())
            .collect();
        let bytes = bytes::Bytes::from(exported(&run, table, Encoding::Parquet));
        let read = SerializedFileReader::new(bytes).unwrap();
        let rows = read.get_row_iter(None).unwrap().map(|row| row.unwrap());
        let rows: Vec<Vec<(String, String)>> = rows
            .map(|row| {
                let fields = row.get_column_iter();
                fields.map(|(name, of)| (name.clone(), shown(of))).collect()
            })
            .collect();
        let expected: Vec<Vec<(String, String)>> = lines
            .into_iter()
            .map(|line| names.iter().cloned().zip(line).collect())
            .collect();
        assert_eq!(rows, expected, "{table:?}");
    }
}

/// A value as CSV shows it.
fn shown(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Str(of) => of.clone(),
        Field::Long(of) => of.to_string(),
        Field::Double(of) => of.to_string(),
        Field::Bool(of) => of.to_string(),
        other => panic!("no column has such a value: {other:?}"),
    }
}

#[test]
fn several_runs_make_one_table() {
    let dirs = [0, 1].map(|_| tempfile::tempdir().unwrap());
    let mut bytes = Vec::new();
    let mut export = Export::create(Table::Blocks, Encoding::Csv, &mut bytes).unwrap();
    for dir in &dirs {
        export.add(&recorded(dir.path())).unwrap();
    }
    export.finish().unwrap();
    let lines = String::from_utf8(bytes).unwrap().lines().count();
    assert_eq!(
        lines,
        1 + 2 * 6,
        "one heading, and two blocks of three arms in each run"
    );
}

/// A pipe that `head` has closed.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_pipe_is_recognized() {
    let dir = tempfile::tempdir().unwrap();
    let run = recorded(&dir.path().join("run"));
    for table in TABLES {
        for encoding in [Encoding::Csv, Encoding::Parquet] {
            let written = || {
                let mut export = Export::create(table, encoding, Closed)?;
                // More than the writers buffer.
                for _ in 0..500 {
                    export.add(&run)?;
                }
                export.finish()
            };
            let error: ExportError = written().unwrap_err();
            assert!(error.is_broken_pipe(), "{table:?} {encoding:?}: {error}");
        }
    }
}
