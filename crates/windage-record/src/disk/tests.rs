//! Runs on a disk that fails, and on one whose power is cut.

pub(crate) mod fake;

use hdrhistogram::Histogram;
use windage_model::fixtures::place;
use windage_model::{Window, fixtures};

use super::*;
use crate::{
    Entry, Journal, JournalWriter, Manifest, RunDir, Timing, fixtures as runs, read_histograms,
};
use fake::FakeDisk;

const BLOCKS: u32 = 3;

fn manifest() -> Manifest {
    Manifest {
        arms: vec![runs::arm(0, "off")],
        ..runs::manifest()
    }
}

/// What a run has achieved.
#[derive(Debug, Default)]
struct Achieved {
    has_directory: bool,
    committed_blocks: u32,
    error: Option<RecordError>,
}

/// Begins a run, in a directory whose parent is missing too, and commits some blocks. A commit that
/// fails is tried again.
fn run_on(disk: &'static dyn Disk, root: &Path, mut behind: impl FnMut(&Achieved)) -> Achieved {
    let mut achieved = Achieved::default();
    let outcome = record(disk, root, &mut achieved, &mut behind);
    achieved.error = achieved.error.take().or(outcome.err());
    achieved
}

fn record(
    disk: &'static dyn Disk,
    root: &Path,
    achieved: &mut Achieved,
    behind: &mut impl FnMut(&Achieved),
) -> Result<(), RecordError> {
    let path = root.join("runs/first");
    let null = serde_json::Value::Null;
    let run = RunDir::create_on(disk, &path, &manifest(), "", "", &null)?;
    achieved.has_directory = true;
    behind(achieved);
    let mut writer = JournalWriter::create(&run)?;
    behind(achieved);
    for block in 0..BLOCKS {
        let window = window(block);
        let times = times();
        writer.window(&window, &times, &times)?;
        if let Err(error) = writer.commit_block(block) {
            achieved.error = Some(error);
            writer.commit()?;
        }
        achieved.committed_blocks = block + 1;
        behind(achieved);
    }
    run.write_whole("analysis.json", b"{}")?;
    Ok(())
}

fn window(block: u32) -> Window {
    fixtures::window(place(0, block, 0))
}

fn times() -> Histogram<u32> {
    let mut times = Histogram::new_with_bounds(1_000, 60_000_000_000, 3).unwrap();
    for ns in (1..200).map(|i| i * i * 1_000) {
        times.record(ns).unwrap();
    }
    times
}

fn entries(blocks: u32) -> Vec<Entry> {
    let of_block = |block| [Entry::Window(window(block)), Entry::BlockDone { block }];
    (0..blocks).flat_map(of_block).collect()
}

/// Checks that everything committed can be read, and that the run can be resumed.
fn check(root: &Path, achieved: &Achieved, context: &str) {
    let path = root.join("runs/first");
    let run = match RunDir::open(&path) {
        Ok(run) => run,
        Err(error) => {
            assert!(!achieved.has_directory, "{context}: {error}");
            return;
        }
    };
    let committed = entries(achieved.committed_blocks);
    let recorded = Journal::read(&run).unwrap();
    assert!(recorded.entries.starts_with(&committed), "{context}");
    for timing in Timing::ALL {
        let lines = read_histograms(&run, timing).unwrap();
        let lines = lines.take(achieved.committed_blocks as usize);
        let read = lines.filter(|line| line.is_ok()).count();
        assert_eq!(
            read, achieved.committed_blocks as usize,
            "{context}: {timing:?}"
        );
    }
    let (mut writer, resumed) = JournalWriter::append_to(&run).unwrap();
    assert!(resumed.next_block >= achieved.committed_blocks, "{context}");
    writer.commit_block(resumed.next_block).unwrap();
    let recorded = Journal::read(&run).unwrap();
    assert!(recorded.entries.starts_with(&committed), "{context}");
}

#[test]
fn every_failed_call_is_reported_and_loses_nothing_committed() {
    let calls = {
        let dir = tempfile::tempdir().unwrap();
        let disk = FakeDisk::failing_at(None);
        let achieved = run_on(disk, dir.path(), |_| {});
        assert!(achieved.error.is_none(), "{achieved:?}");
        disk.count()
    };
    assert!(calls > 40, "{calls}");
    for call in 0..calls {
        let dir = tempfile::tempdir().unwrap();
        let achieved = run_on(FakeDisk::failing_at(Some(call)), dir.path(), |_| {});
        let context = format!("call {call}");
        let error = achieved.error.as_ref().expect(&context).to_string();
        let root = dir.path().display().to_string();
        assert!(
            error.contains(&root) && error.contains("os error 5"),
            "{context}: {error}"
        );
        if achieved.committed_blocks > 0 {
            assert_eq!(achieved.committed_blocks, BLOCKS, "{context}: tried again");
        }
        check(dir.path(), &achieved, &context);
        if !achieved.has_directory {
            let again = run_on(&SystemDisk, dir.path(), |_| {});
            assert!(again.error.is_none(), "{context}: {:?}", again.error);
        }
    }
}

#[test]
fn a_power_cut_after_any_call_loses_nothing_committed() {
    let dir = tempfile::tempdir().unwrap();
    let disk = FakeDisk::failing_at(None);
    // After so many calls this much was achieved.
    let mut achieved = vec![(0, Achieved::default())];
    let last = run_on(disk, dir.path(), |so_far| {
        let so_far = Achieved {
            error: None,
            ..*so_far
        };
        achieved.push((disk.count(), so_far));
    });
    assert!(last.error.is_none(), "{last:?}");
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for after in 0..=disk.count() {
        let (_, promised) = achieved.iter().rfind(|(calls, _)| *calls <= after).unwrap();
        for share in [0, 1, 3, 4] {
            let image = tempfile::tempdir().unwrap();
            disk.cut_power(after, dir.path(), image.path(), || {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                random >> 62 < share
            });
            let context = format!("after {after} calls, {share} quarters kept");
            check(image.path(), promised, &context);
        }
    }
}
