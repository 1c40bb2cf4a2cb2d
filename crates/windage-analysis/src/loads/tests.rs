use windage_record::{Entry, JournalWriter, RunState};

use crate::concluded;
use crate::fixture::launch;
use crate::fixture::run_directory::{Written, under_loads, written};

#[test]
fn running_ended_and_broken_off_runs_are_distinguished() {
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
    assert_eq!(state(), RunState::BrokenOff, "the launch has no end");
}
