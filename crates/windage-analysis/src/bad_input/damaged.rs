//! Run directories in which one record of the journal, or one line of a histogram log, is damaged.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;

use windage_model::{Warning, WarningCode};
use windage_record::{Entry, Journal, Manifest, Timing};

use crate::fixture::in_turns::records_with_turns;
use crate::fixture::run_directory::{of_entries, under_loads, written};
use crate::fixture::{Recorded, to_json};
use crate::records::Streamed;
use crate::{Analysis, Records, of_run_directory};

const HEADER_BYTES: usize = 16;
const WINDOW: u8 = 2;

/// The records of a journal: kind and place.
fn records_of(bytes: &[u8]) -> Vec<(u8, Range<usize>)> {
    let (mut records, mut at) = (Vec::new(), HEADER_BYTES);
    while at < bytes.len() {
        let length = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let end = at + 9 + length as usize;
        records.push((bytes[at + 4], at..end));
        at = end;
    }
    records
}

/// Blocks under all loads together: of windows, and of turns.
fn blocks(analysis: &Analysis) -> usize {
    let of_windows = analysis.regimes().map(|of| of.design.blocks as usize);
    let of_turns = analysis.regimes().filter_map(|of| of.design.turns.as_ref());
    of_windows.sum::<usize>() + of_turns.map(|turns| turns.blocks as usize).sum::<usize>()
}

/// Which entries are lost with the one of that number: all of its block, or none but itself.
fn lost_with(entries: &[Entry], number: usize) -> Range<usize> {
    let is_open = |entry: &Entry| matches!(entry, Entry::Window(_) | Entry::Turns(_));
    let is_mark = |entry: &Entry| matches!(entry, Entry::BlockDone { .. });
    if !is_open(&entries[number]) && !is_mark(&entries[number]) {
        return number..number + 1;
    }
    let before = entries[..number].iter().rev().take_while(|of| is_open(of));
    let after = entries[number..].iter().take_while(|of| is_open(of));
    number - before.count()..number + after.count() + 1
}

/// An analysis without that warning, which it has under each load.
fn without(mut analysis: Analysis, code: WarningCode, context: &str) -> Analysis {
    let all = std::iter::once(&mut analysis.validity);
    let others = analysis.other_loads.iter_mut().map(|of| &mut of.validity);
    for validity in all.chain(others) {
        let before = validity.reasons.len();
        validity.reasons.retain(|of| of.code() != code);
        assert_eq!(validity.reasons.len(), before - 1, "{context}: {code:?}");
    }
    analysis
}

/// The analysis of these entries, as if the run had recorded nothing else.
fn analysis_of<'a>(manifest: &Manifest, entries: impl IntoIterator<Item = &'a Entry>) -> Analysis {
    of_run_directory(&of_entries(manifest, entries).run).unwrap()
}

/// Removes the paths, in which analyses of equal records differ.
fn unplaced(analysis: Analysis) -> Analysis {
    let others = analysis.other_loads.into_iter().map(unplaced).collect();
    Analysis {
        found_at: String::new(),
        other_loads: others,
        ..analysis
    }
}

#[test]
fn a_damaged_record_costs_its_block_and_a_warning() {
    let cases: [(&str, Recorded); 3] = [
        ("windows", under_loads(1)),
        ("two loads", under_loads(2)),
        ("turns", records_with_turns(4, 1)),
    ];
    for (what, recorded) in cases {
        let written = written(&recorded, false);
        let path = written.run.path().join("journal.bin");
        let whole = fs::read(&path).unwrap();
        let undamaged = of_run_directory(&written.run).unwrap();
        let entries = Journal::read(&written.run).unwrap().entries;
        let records = records_of(&whole);
        assert_eq!(records.len(), entries.len(), "{what}");
        for (number, (kind, place)) in records.into_iter().enumerate() {
            // Windows are many and alike.
            if kind == WINDOW && number % 11 != 0 {
                continue;
            }
            let context = format!("{what}: record {number} of kind {kind}");
            let mut damaged = whole.clone();
            damaged[place.start + place.len() / 2] ^= 1;
            fs::write(&path, &damaged).unwrap();
            let analysis = of_run_directory(&written.run).unwrap();
            to_json(&analysis);
            let code = match place.end == whole.len() {
                true => WarningCode::JournalCut,
                false => WarningCode::JournalDamaged,
            };
            let lost = lost_with(&entries, number);
            // Windows of a launch whose start is lost say themselves which launch they are of.
            let blocks_lost = usize::from(lost.len() > 1);
            assert_eq!(
                blocks(&analysis) + blocks_lost,
                blocks(&undamaged),
                "{context}"
            );
            let rest = entries[..lost.start].iter().chain(&entries[lost.end..]);
            let expected = analysis_of(&recorded.manifest, rest);
            let found = without(analysis, code, &context);
            assert!(unplaced(found) == unplaced(expected), "{context}");
        }
    }
}

/// The windows of a damaged block are unknown, so their times are left out as well.
#[test]
fn times_of_a_damaged_block_are_left_out() {
    let written = written(&under_loads(1), true);
    let path = written.run.path().join("journal.bin");
    let mut bytes = fs::read(&path).unwrap();
    let blocks_with_times = || {
        let records = Records::read(&written.run).unwrap().swap_remove(0);
        let arms = records.manifest.arms.iter();
        let arms = arms.map(|arm| (arm.id.to_string(), arm.index)).collect();
        let (bytes, windows) = (records.histogram_bytes, &records.windows);
        let times = Streamed::open(&written.run, Timing::ServiceTime, bytes, &arms, windows);
        let blocks = times.unwrap().map(|timed| timed.block);
        blocks.collect::<BTreeSet<u32>>()
    };
    let all = blocks_with_times();
    let mut windows = records_of(&bytes)
        .into_iter()
        .filter(|(kind, _)| *kind == WINDOW);
    let (_, window) = windows.nth(8).unwrap();
    bytes[window.end - 6] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let lost: Vec<u32> = all.difference(&blocks_with_times()).copied().collect();
    assert_eq!(lost, [1]);
}

/// What was read is used as if the run had recorded nothing else.
#[test]
fn a_damaged_line_costs_its_windows_times_and_a_warning() {
    let written = written(&under_loads(2), true);
    let undamaged = of_run_directory(&written.run).unwrap();
    let path = written.run.path().join(Timing::ServiceTime.file_name());
    let whole = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let damaged = |text: &str| {
        fs::write(&path, text).unwrap();
        of_run_directory(&written.run).unwrap()
    };
    // Of the third window of the first load.
    let line = lines[7];
    assert!(line.starts_with("Tag="), "{line}");
    let spoilt = line.replacen("HISTF", "!ISTF", 1);
    let ends = whole.len() - 100;
    // A comment instead of the line is as if the window had had no times.
    let comment = format!("#{}", &line[1..]);
    let expected = damaged(&whole.replace(line, &comment));
    assert!(expected != undamaged);
    let found = damaged(&whole.replace(line, &spoilt));
    let warning = |analysis: &Analysis| {
        let mut reasons = analysis.validity.reasons.iter();
        let of_logs = reasons.find(|of| of.code() == WarningCode::HistogramsDamaged);
        of_logs.map(|of| of.warning.clone())
    };
    let of_lines = |lines_lost, damaged_bytes| Warning::HistogramsDamaged {
        damaged_bytes,
        lines_lost,
        files: vec![Timing::ServiceTime.file_name().to_owned()],
    };
    assert_eq!(warning(&undamaged), None);
    assert_eq!(warning(&found), Some(of_lines(1, line.len() as u64)));
    let code = WarningCode::HistogramsDamaged;
    assert!(without(found, code, "a line") == expected);
    // A log that ends before the journal's last mark.
    let last = lines.pop().unwrap().len() as u64;
    let cut = damaged(&whole[..ends]);
    assert_eq!(warning(&cut), Some(of_lines(1, last)), "{ends}");
    let cut = damaged(&lines.concat());
    assert_eq!(warning(&cut), Some(of_lines(1, last)));
}
