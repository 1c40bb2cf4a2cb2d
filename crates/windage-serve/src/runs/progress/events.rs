//! The events of a run in words: rounds, warnings about windows and blocks of turns, agents.

use std::collections::BTreeMap;

use serde::Serialize;
use windage_model::{AgentCycle, ArmIndex, TurnBlock, Warning, WarningCode, Window};
use windage_record::{Ending, Launch};
use windage_report::one_line;

use crate::seconds;

/// How many events are kept.
const KEPT: usize = 50;

/// One event.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct RunEvent {
    /// Seconds since the run began.
    at_s: f64,
    text: String,
}

impl RunEvent {
    /// Makes one line of the text: names come from plans, and some text from services.
    fn at(at_ns: u64, text: &str) -> RunEvent {
        RunEvent {
            at_s: seconds(at_ns),
            text: one_line(text),
        }
    }
}

/// The last events of a run.
#[derive(Debug)]
pub(super) struct Events {
    names: BTreeMap<ArmIndex, String>,
    events: BTreeMap<u64, RunEvent>,
    next: u64,
    /// Warnings in the unfinished block.
    in_block: BTreeMap<WarningCode, InBlock>,
    /// Warnings in the previous block.
    lasting: BTreeMap<WarningCode, Lasting>,
}

#[derive(Debug)]
struct InBlock {
    /// Windows with the warning; a block of turns counts once.
    stretches: u64,
    /// The arm of its window; `None` for a block of turns, which has all arms.
    arm: Option<ArmIndex>,
    text: String,
    until_ns: u64,
}

/// A warning in consecutive blocks, which is one event.
#[derive(Clone, Copy, Debug)]
struct Lasting {
    event: u64,
    since_block: u32,
    stretches: u64,
    /// Whether it was in a block of turns as well as in windows, or the other way round.
    is_mixed: bool,
    is_of_turns: bool,
}

impl Events {
    pub(super) fn naming(names: BTreeMap<ArmIndex, String>) -> Events {
        Events {
            names,
            events: BTreeMap::new(),
            next: 0,
            in_block: BTreeMap::new(),
            lasting: BTreeMap::new(),
        }
    }

    pub(super) fn latest(&self) -> Vec<RunEvent> {
        self.events.values().cloned().collect()
    }

    pub(super) fn round(&mut self, launch: &Launch, rounds: u32) {
        let round = launch.round.saturating_add(1);
        self.tell(
            launch.started_ns,
            &format!("round {round} of {rounds} began"),
        );
    }

    pub(super) fn window(&mut self, window: &Window, ended_ns: u64) {
        self.seen(&window.warnings, Some(window.place.arm), ended_ns);
    }

    pub(super) fn turns(&mut self, block: &TurnBlock, ended_ns: u64) {
        self.seen(&block.warnings, None, ended_ns);
    }

    fn seen(&mut self, warnings: &[Warning], arm: Option<ArmIndex>, ended_ns: u64) {
        for warning in warnings {
            let seen = self
                .in_block
                .entry(warning.code())
                .or_insert_with(|| InBlock {
                    stretches: 0,
                    arm,
                    text: windage_report::warning(warning),
                    until_ns: 0,
                });
            seen.stretches += 1;
            seen.until_ns = ended_ns;
        }
    }

    /// Reports the warnings of its windows, as one event as long as they last.
    pub(super) fn block_done(&mut self, block: u32) {
        let before = std::mem::take(&mut self.lasting);
        for (code, seen) in std::mem::take(&mut self.in_block) {
            let went_on = before
                .get(&code)
                .filter(|b| self.events.contains_key(&b.event));
            let is_of_turns = seen.arm.is_none();
            let lasting = match went_on {
                Some(before) => Lasting {
                    stretches: before.stretches + seen.stretches,
                    is_mixed: before.is_mixed || before.is_of_turns != is_of_turns,
                    ..*before
                },
                None => Lasting {
                    event: self.next,
                    since_block: block,
                    stretches: seen.stretches,
                    is_mixed: false,
                    is_of_turns,
                },
            };
            let event = RunEvent::at(seen.until_ns, &self.in_words(code, &seen, lasting));
            self.put(lasting.event, event);
            self.lasting.insert(code, lasting);
        }
    }

    fn in_words(&self, code: WarningCode, seen: &InBlock, lasting: Lasting) -> String {
        let (how, why) = (code.soundness().as_str(), &seen.text);
        match (lasting.stretches, seen.arm) {
            (1, Some(arm)) => format!("a window of {} is {how}: {why}", self.name(arm)),
            (1, None) => format!("a block of turns is {how}: {why}"),
            (stretches, _) => {
                let what = match (lasting.is_mixed, lasting.is_of_turns) {
                    (true, _) => "windows and blocks of turns",
                    (false, true) => "blocks of turns",
                    (false, false) => "windows",
                };
                let since = lasting.since_block.saturating_add(1);
                format!("{stretches} {what} since block {since} are {how}: {why}")
            }
        }
    }

    pub(super) fn agents(&mut self, cycle: &AgentCycle, at_ns: u64) {
        let arm = self.name(cycle.arm);
        let attached_s = seconds(cycle.attach_ns);
        let up_s = seconds(cycle.up_ns);
        let text = match (&cycle.failed, &cycle.left_behind[..]) {
            (Some(why), _) => format!("agents of {arm} failed: {why}"),
            (None, []) => format!(
                "agents of {arm} were attached in {attached_s:.1} s, watched for {up_s:.1} s, \
                 detached"
            ),
            (None, left) => format!("agents of {arm} left behind: {}", left.join(", ")),
        };
        self.tell(at_ns, &text);
    }

    pub(super) fn warning(&mut self, warning: &Warning, at_ns: u64) {
        self.tell(at_ns, &windage_report::warning(warning));
    }

    pub(super) fn ended(&mut self, ending: &Ending, at_ns: u64) {
        let text = match ending {
            Ending::Complete => "measuring ended as planned".to_owned(),
            Ending::StoppedEarly { reason } => format!("measuring ended early: {reason}"),
            Ending::Interrupted => "the run was interrupted".to_owned(),
            Ending::Died { text } => format!("the run could not continue: {text}"),
        };
        self.tell(at_ns, &text);
    }

    fn name(&self, arm: ArmIndex) -> &str {
        // A damaged record may name an unknown arm.
        self.names.get(&arm).map_or("an unknown arm", |name| name)
    }

    fn tell(&mut self, at_ns: u64, text: &str) {
        self.put(self.next, RunEvent::at(at_ns, text));
    }

    fn put(&mut self, number: u64, event: RunEvent) {
        self.events.insert(number, event);
        self.next = self.next.max(number + 1);
        if self.events.len() > KEPT {
            self.events.pop_first();
        }
    }
}
