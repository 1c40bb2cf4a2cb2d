use std::fs;

use windage_model::DoubtCode;
use windage_record::{Entry, JournalWriter, RunState};

use crate::fixture::launch;
use crate::fixture::written::{Written, under_loads, written};
use crate::{Analysis, concluded, of_run_directory};

#[test]
fn a_run_that_goes_on_is_told_from_one_that_ended_or_broke_off() {
    let Written { run, _folder } = written(&under_loads(1), true);
    let state = || concluded(&run).unwrap().0;
    assert_eq!(state(), RunState::Ended);
    let (mut writer, _) = JournalWriter::append_to(&run).unwrap();
    writer
        .push(&Entry::LaunchStarted(launch(4, &[0, 1, 2])))
        .unwrap();
    writer.commit().unwrap();
    assert_eq!(state(), RunState::GoingOn);
    drop(writer);
    assert_eq!(state(), RunState::BrokenOff, "no end is behind the launch");
}

#[test]
fn records_of_kinds_that_are_not_known_yet_are_told() {
    let Written { run, _folder } = written(&under_loads(2), false);
    let doubts = || {
        let analysis = of_run_directory(&run).unwrap();
        let of = |analysis: &Analysis| {
            let mut reasons = analysis.validity.reasons.iter();
            let found = reasons.find(|doubt| doubt.code == DoubtCode::RecordsUnknown);
            found.map(|doubt| doubt.evidence["records"].clone())
        };
        analysis.regimes().map(of).collect::<Vec<_>>()
    };
    assert_eq!(doubts(), [None, None]);
    let path = run.path().join("journal.bin");
    let mut journal = fs::read(&path).unwrap();
    for payload in [b"one", b"two"] {
        let mut newer = vec![3, 0, 0, 0, 99, 1];
        newer.extend(payload);
        newer.extend(crc32fast::hash(&newer).to_le_bytes());
        journal.extend(newer);
    }
    fs::write(&path, journal).unwrap();
    assert_eq!(doubts(), [(); 2].map(|()| Some(2.0.into())));
}
