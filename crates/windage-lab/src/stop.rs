//! Early stopping. The lab computes no estimates: it passes on what it records, and asks whether to
//! stop.

use windage_record::{Entry, Journal, Launch, LaunchEnd, RecordError, RunDir};

/// Decides from the records so far when enough was measured.
///
/// A resumed run first passes on what its earlier parts recorded. An interrupted round that was
/// repeated is two launches of that round, and the first of them may have no end.
pub trait Stopping {
    /// All processes of a round are running.
    fn launched(&mut self, launch: &Launch);

    /// A block was committed, with these windows in the order of measuring, or with its turns.
    fn block_done(&mut self, measured: &[Entry]);

    /// The readings of a launch after its last window.
    fn launch_ended(&mut self, end: &LaunchEnd);

    /// Why the run may end now, for people; `None` while it must go on. Asked after each block if
    /// the run has one round, otherwise after each complete round.
    fn enough(&mut self) -> Option<String>;

    /// How much more is probably needed, counted from the last point at which it could stop: blocks
    /// if the run has one round, otherwise complete rounds; `None` while unknown.
    fn still_needed(&self) -> Option<u32>;
}

/// Passes on what a run has recorded so far.
///
/// # Errors
/// When the journal can't be read.
pub(crate) fn replay(run: &RunDir, stopping: &mut dyn Stopping) -> Result<(), RecordError> {
    let mut measured = Vec::new();
    for entry in Journal::open(run)? {
        let entry = entry?;
        match entry {
            Entry::LaunchStarted(launch) => stopping.launched(&launch),
            Entry::Window(_) | Entry::Turns(_) => measured.push(entry),
            Entry::BlockDone { .. } => {
                stopping.block_done(&measured);
                measured.clear();
            }
            Entry::LaunchEnded(end) => stopping.launch_ended(&end),
            Entry::Delivered(_)
            | Entry::Warning(_)
            | Entry::Version { .. }
            | Entry::Phase(_)
            | Entry::Process(_)
            | Entry::SelfReport(_)
            | Entry::Services(_)
            | Entry::Agent(_)
            | Entry::Held(_)
            | Entry::RunEnded(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use windage_load::Recording;
    use windage_model::fixtures::{place, window};
    use windage_plan::Plan;
    use windage_record::{Ending, JournalWriter};

    use crate::{RunOptions, manifest, run_order};

    const PLAN: &str = "name = 'p'\n[[service]]\nname = 'app'\ncommand = ['x', '{listen}']\n\
        [load]\nmodel = 'closed'\nrequest = 'GET http://{app}/'\n\
        [[arm]]\nname = 'off'\nbaseline = true\n";

    /// Records the calls.
    #[derive(Default)]
    struct Told(Vec<String>);

    impl Stopping for Told {
        fn launched(&mut self, launch: &Launch) {
            self.0.push(format!("launch {}", launch.launch));
        }

        fn block_done(&mut self, measured: &[Entry]) {
            let windows = measured.iter().filter_map(|entry| match entry {
                Entry::Window(w) => Some((w.place.block, w.place.position)),
                _ => None,
            });
            let windows: Vec<(u32, u32)> = windows.collect();
            self.0.push(format!("windows {windows:?}"));
        }

        fn launch_ended(&mut self, end: &LaunchEnd) {
            self.0.push(format!("end {}", end.launch));
        }

        fn enough(&mut self) -> Option<String> {
            None
        }

        fn still_needed(&self) -> Option<u32> {
            None
        }
    }

    #[test]
    fn a_resumed_run_replays_what_was_committed() {
        let dir = tempfile::tempdir().unwrap();
        let plan = Plan::parse(PLAN, "plan.toml", Path::new("/")).unwrap();
        let options = RunOptions {
            executable: "windage".into(),
            directory: dir.path().to_owned(),
            is_shared: false,
            command: "windage run".to_owned(),
            node: None,
            interrupted: std::sync::Arc::default(),
            calibration: serde_json::Value::Null,
        };
        let manifest = manifest::of(&plan, &run_order(&plan), &options);
        let null = serde_json::Value::Null;
        let run = RunDir::create(dir.path(), &manifest, "", "", &null).unwrap();
        let mut journal = JournalWriter::create(&run).unwrap();
        let times = Recording::new();
        let launch = |launch| Launch {
            launch,
            ..Launch::default()
        };
        journal.push(&Entry::LaunchStarted(launch(0))).unwrap();
        for (block, whole) in [(0, true), (1, false)] {
            for position in 0..2 {
                let mut measured = window(place(0, block, 0));
                measured.place.position = position;
                journal
                    .window(&measured, &times.response_time, &times.service_time)
                    .unwrap();
            }
            if whole {
                journal.commit_block(block).unwrap();
            }
        }
        drop(journal);
        // The second block is incomplete: its windows are cut off.
        let (mut journal, _) = JournalWriter::append_to(&run).unwrap();
        journal.push(&Entry::LaunchStarted(launch(1))).unwrap();
        let end = LaunchEnd {
            launch: 1,
            ..LaunchEnd::default()
        };
        journal.push(&Entry::LaunchEnded(end)).unwrap();
        journal.push(&Entry::RunEnded(Ending::Complete)).unwrap();
        journal.commit().unwrap();
        let mut told = Told::default();
        replay(&run, &mut told).unwrap();
        assert_eq!(
            told.0,
            ["launch 0", "windows [(0, 0), (0, 1)]", "launch 1", "end 1"]
        );
    }
}
