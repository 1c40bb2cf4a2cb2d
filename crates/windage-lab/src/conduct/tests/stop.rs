//! Runs that end as soon as enough was measured.

use super::fakes::{Fate, Given, Outcome, Script, conducted};
use super::*;

/// Has enough after a number of blocks or launches, and records the calls.
#[derive(Default)]
struct Enough {
    after_blocks: Option<u32>,
    after_launches: Option<u32>,
    blocks: u32,
    launches: u32,
    told: Vec<String>,
}

impl Stopping for Enough {
    fn launched(&mut self, launch: &Launch) {
        self.told.push(format!("launch {}", launch.launch));
    }

    fn block_done(&mut self, measured: &[Entry]) {
        let windows = measured.iter().filter_map(|entry| match entry {
            Entry::Window(window) => Some(window.place.block),
            _ => None,
        });
        let windows: Vec<u32> = windows.collect();
        assert!(windows.windows(2).all(|two| two[0] == two[1]));
        self.told.push(match windows.as_slice() {
            [] => format!("{} entries", measured.len()),
            windows => format!("{} windows", windows.len()),
        });
        self.blocks += 1;
    }

    fn launch_ended(&mut self, end: &LaunchEnd) {
        self.told.push(format!("end {}", end.launch));
        self.launches += 1;
    }

    fn enough(&mut self) -> Option<String> {
        self.told.push("asked".to_owned());
        let enough = self.after_blocks.is_some_and(|n| self.blocks >= n)
            || self.after_launches.is_some_and(|n| self.launches >= n);
        enough.then(|| "it is known".to_owned())
    }

    fn still_needed(&self) -> Option<u32> {
        // Nothing is known before the first block.
        let of_blocks = self.after_blocks.filter(|_| self.blocks > 1);
        let of_launches = self.after_launches.filter(|_| self.launches > 0);
        let blocks = of_blocks.map(|n| n.saturating_sub(self.blocks));
        blocks.or(of_launches.map(|n| n.saturating_sub(self.launches)))
    }
}

fn watched(rounds: u32, start: Start, stopping: &mut Enough) -> Outcome {
    conducted(Given {
        rounds,
        start,
        stopping: Some(stopping),
        ..Given::default()
    })
}

fn stopped() -> Ending {
    Ending::StoppedEarly {
        reason: "it is known".to_owned(),
    }
}

/// The reported times left: in milliseconds, and whether each is an upper bound.
fn left(outcome: &Outcome) -> Vec<(u128, bool)> {
    let left = |event: &Event| match event {
        Event::BlockDone { left, at_most, .. } => Some((left.as_millis(), *at_most)),
        _ => None,
    };
    outcome.events.iter().filter_map(left).collect()
}

#[test]
fn one_round_ends_after_any_block() {
    let mut stopping = Enough {
        after_blocks: Some(2),
        ..Enough::default()
    };
    let outcome = watched(1, Start::default(), &mut stopping);
    assert_eq!(outcome.result.unwrap(), stopped());
    assert_eq!(outcome.journal.ending, Some(stopped()));
    assert_eq!(outcome.journal.blocks, [0, 1]);
    // The launch ends as usual: deferred work is waited for and read.
    assert_eq!(
        outcome.calls,
        ["launch 0 round 0", "finish 0", "take down 0"]
    );
    assert_eq!(outcome.journal.ends, [0]);
    assert_eq!(
        stopping.told,
        [
            "launch 0",
            "6 windows",
            "asked",
            "6 windows",
            "asked",
            "end 0"
        ]
    );
    let note = Event::Note {
        text: "enough was measured: it is known".to_owned(),
    };
    assert!(outcome.events.contains(&note));
}

#[test]
fn several_rounds_end_after_a_complete_one() {
    let mut stopping = Enough {
        after_launches: Some(2),
        ..Enough::default()
    };
    let outcome = watched(8, Start::default(), &mut stopping);
    assert_eq!(outcome.result.unwrap(), stopped());
    assert_eq!(outcome.journal.blocks, [0, 1, 2, 3, 4, 5]);
    assert_eq!(outcome.calls.last().unwrap(), "take down 1");
    let round = |launch: u32| {
        let [launched, ended] = [format!("launch {launch}"), format!("end {launch}")];
        let block = "6 windows".to_owned();
        [
            launched,
            block.clone(),
            block.clone(),
            block,
            ended,
            "asked".to_owned(),
        ]
    };
    assert_eq!(stopping.told, [round(0), round(1)].concat());
}

#[test]
fn a_run_without_enough_goes_to_its_end() {
    for rounds in [1, 2] {
        let mut stopping = Enough::default();
        let outcome = watched(rounds, Start::default(), &mut stopping);
        assert_eq!(outcome.journal.ending, Some(Ending::Complete));
        assert_eq!(outcome.journal.blocks.len(), 3 * rounds as usize);
        let planned = outcome.events.iter().find_map(|event| match event {
            Event::Planned { at_most, .. } => Some(*at_most),
            _ => None,
        });
        assert_eq!(planned, Some(true));
        assert!(left(&outcome).iter().all(|(_, at_most)| *at_most));
    }
}

#[test]
fn enough_with_the_last_block_is_enough() {
    let mut stopping = Enough {
        after_launches: Some(2),
        ..Enough::default()
    };
    let outcome = watched(2, Start::default(), &mut stopping);
    assert_eq!(outcome.result.unwrap(), stopped());
    assert_eq!(outcome.journal.blocks.len(), 6);
}

#[test]
fn time_left_follows_what_is_still_needed() {
    // A block takes 660 ms; a round takes 1300 ms more, 300 of them at its end.
    let mut stopping = Enough {
        after_launches: Some(2),
        ..Enough::default()
    };
    let outcome = watched(8, Start::default(), &mut stopping);
    let rounds = |n: u128| n * (3 * 660 + 1300);
    assert_eq!(
        left(&outcome),
        [
            (2 * 660 + 300 + rounds(7), true),
            (660 + 300 + rounds(7), true),
            (300 + rounds(7), true),
            (2 * 660 + 300, false),
            (660 + 300, false),
            (300, false),
        ]
    );
    let mut stopping = Enough {
        after_blocks: Some(30),
        ..Enough::default()
    };
    let outcome = watched(1, Start::default(), &mut stopping);
    // However much is needed, the plan has three blocks.
    assert_eq!(
        left(&outcome),
        [(2 * 660 + 300, true), (660 + 300, false), (300, false)]
    );
}

#[test]
fn a_death_or_a_signal_comes_before_enough() {
    let dies: Script = |_, _| Fate::Dies;
    let interrupt: Script = |_, _| Fate::Interrupt;
    for script in [dies, interrupt] {
        let mut stopping = Enough {
            after_blocks: Some(0),
            ..Enough::default()
        };
        let outcome = conducted(Given {
            script,
            rounds: 1,
            stopping: Some(&mut stopping),
            ..Given::default()
        });
        let ending = outcome.result.unwrap();
        assert!(
            matches!(ending, Ending::Died { .. } | Ending::Interrupted),
            "{ending:?}"
        );
    }
}

#[test]
fn a_resumed_run_may_have_enough_already() {
    let at = |block| Start { block, launch: 2 };
    // (rounds, where it continues, whether it is asked before anything is launched)
    let table = [
        (1, 2, true),
        (4, 6, true),
        // A round was interrupted, so it is incomplete.
        (4, 5, false),
    ];
    for (rounds, block, asked) in table {
        let mut stopping = Enough {
            after_blocks: Some(0),
            ..Enough::default()
        };
        let outcome = watched(rounds, at(block), &mut stopping);
        assert_eq!(outcome.result.unwrap(), stopped(), "{rounds} {block}");
        assert_eq!(outcome.calls.is_empty(), asked, "{rounds} {block}");
        assert_eq!(outcome.journal.ending, Some(stopped()));
    }
}
