//! A killed run whose journal was damaged, resumed.

use std::fs;
use std::path::Path;

use windage_plan::Plan;
use windage_record::{JournalWriter, Recorded, RunDir};

use super::fakes::{Fate, Given, TurnScript, conducted_into};
use super::*;
use crate::run::tell_loss;
use crate::{RunOptions, manifest, run_order};

const PLAN: &str = "name = 'p'\n[[service]]\nname = 'app'\ncommand = ['x', '{listen}']\n\
    [load]\nmodel = 'closed'\nrequest = 'GET http://{app}/'\n\
    [[arm]]\nname = 'off'\nbaseline = true\n[[arm]]\nname = 'otel'\n";
const ROUNDS: u32 = 2;
/// Three of windows and two of turns.
const BLOCKS_PER_ROUND: u32 = 5;
const HEADER_BYTES: usize = 16;

fn run_in(directory: &Path) -> RunDir {
    let plan = Plan::parse(PLAN, "plan.toml", Path::new("/")).unwrap();
    let options = RunOptions {
        executable: "windage".into(),
        directory: directory.to_owned(),
        is_shared: false,
        command: "windage run".to_owned(),
        node: None,
        interrupted: std::sync::Arc::default(),
        calibration: serde_json::Value::Null,
    };
    let manifest = manifest::of(&plan, &run_order(&plan), &options);
    RunDir::create(directory, &manifest, "", "", &serde_json::Value::Null).unwrap()
}

/// Conducts the rest of the run, with a fake rig.
fn conduct_rest(journal: &mut JournalWriter, start: Start, turn_script: TurnScript) -> Ending {
    let given = Given {
        turn_script: Some(turn_script),
        rounds: ROUNDS,
        start,
        ..Given::default()
    };
    conducted_into(journal, false, given).0.unwrap()
}

fn blocks(recorded: &Recorded) -> Vec<u32> {
    let done = recorded.entries.iter().filter_map(|entry| match entry {
        Entry::BlockDone { block } => Some(*block),
        _ => None,
    });
    done.collect()
}

#[test]
fn a_damaged_run_is_resumed_without_the_damaged_block() {
    let dir = tempfile::tempdir().unwrap();
    let run = run_in(dir.path());
    let mut journal = JournalWriter::create(&run).unwrap();
    // Interrupted in the first block of turns of the second round.
    let interrupted: TurnScript = |place| match place.block {
        8 => Fate::Interrupt,
        _ => Fate::Fine,
    };
    let ending = conduct_rest(&mut journal, Start::default(), interrupted);
    assert_eq!(ending, Ending::Interrupted);
    drop(journal);
    let path = dir.path().join("journal.bin");
    let whole = fs::read(&path).unwrap();
    let before = windage_record::Journal::read(&run).unwrap();
    assert_eq!(blocks(&before), [0, 1, 2, 3, 4, 5, 6, 7]);

    for at in (HEADER_BYTES..whole.len()).step_by(23) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        fs::write(&path, &damaged).unwrap();
        let (mut journal, resumed) = JournalWriter::append_to(&run).unwrap();
        let told = RefCell::new(Vec::new());
        tell_loss(&resumed, &|event| told.borrow_mut().push(event));
        let start = Start {
            block: resumed.next_block,
            launch: resumed.next_launch,
        };
        assert_eq!(start.launch, 2, "byte {at}");
        let ending = conduct_rest(&mut journal, start, |_| Fate::Fine);
        assert_eq!(ending, Ending::Complete, "byte {at}");
        drop(journal);

        let recorded = windage_record::Journal::read(&run).unwrap();
        assert_eq!(recorded.ending, Some(Ending::Complete), "byte {at}");
        assert_eq!(recorded.cut, None, "byte {at}");
        let lost: Vec<u32> = recorded
            .losses
            .iter()
            .flat_map(|loss| loss.blocks.clone())
            .collect();
        assert!(lost.len() <= 1, "byte {at}: {lost:?}");
        let mut all = [blocks(&recorded), lost].concat();
        all.sort_unstable();
        let expected: Vec<u32> = (0..ROUNDS * BLOCKS_PER_ROUND).collect();
        assert_eq!(all, expected, "byte {at}");

        // Every loss is reported, and every report names copies of what there was.
        let told = told.into_inner();
        match &told[..] {
            [Event::RecordDamaged { warnings, copies }] => {
                let codes: Vec<WarningCode> = warnings.iter().map(Warning::code).collect();
                let is_cut = codes == [WarningCode::JournalCut];
                assert!(
                    is_cut || codes == [WarningCode::JournalDamaged],
                    "byte {at}"
                );
                assert_eq!(fs::read(&copies[0]).unwrap(), damaged, "byte {at}");
                copies
                    .iter()
                    .for_each(|copy| fs::remove_file(copy).unwrap());
            }
            [Event::Note { text }] => assert!(text.contains("torn"), "byte {at}: {text}"),
            other => panic!("byte {at}: {other:?}"),
        }
    }
}
