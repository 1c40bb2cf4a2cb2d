//! Run directories in which one record of the journal is damaged.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;

use windage_model::{Metric, WarningCode};
use windage_record::Timing;

use crate::fixture::in_turns::records_with_turns;
use crate::fixture::run_directory::{under_loads, written};
use crate::fixture::{Recorded, to_json};
use crate::records::Streamed;
use crate::{Analysis, Records, of_run_directory};

const HEADER_BYTES: usize = 16;
const LAUNCH_STARTED: u8 = 1;
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

/// The share by which the treatment costs more, under each load.
fn costs(analysis: &Analysis) -> Vec<Option<f64>> {
    let of_load = |of: &Analysis| {
        let cpu = of.arms[2].metrics.get(&Metric::CpuPerRequest)?;
        Some(cpu.difference.as_ref().ok()?.relative?.estimate)
    };
    analysis.regimes().map(of_load).collect()
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
        for (number, (kind, place)) in records_of(&whole).into_iter().enumerate() {
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
            let lost = blocks(&undamaged) - blocks(&analysis);
            assert!(lost <= 1, "{context}: {lost} blocks");
            let is_last = place.end == whole.len();
            let code = match is_last {
                true => WarningCode::JournalCut,
                false => WarningCode::JournalDamaged,
            };
            for under_load in analysis.regimes() {
                let mut codes = under_load.validity.reasons.iter().map(|of| of.code());
                assert!(codes.any(|found| found == code), "{context}");
            }
            if kind == LAUNCH_STARTED {
                assert_eq!(
                    lost, 0,
                    "{context}: its windows say which launch they are of"
                );
            }
            for (before, after) in costs(&undamaged).into_iter().zip(costs(&analysis)) {
                // One of two launches may have lost its start; the other ran at another speed.
                if let (Some(before), Some(after)) = (before, after) {
                    assert!((before - after).abs() < 0.05, "{context}: {before} {after}");
                }
            }
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
