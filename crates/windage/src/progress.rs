//! What a person sees while a run goes on: a live line on a terminal, plain lines elsewhere.

use std::cell::RefCell;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use windage_model::{Doubt, Event};

/// Plain lines come at most so often, but for what happens once.
const PLAIN_EVERY: Duration = Duration::from_secs(10);
/// Doubts about windows that are shown one by one; more of them would drown the rest.
const DOUBTS_SHOWN: usize = 5;

/// Shows events.
pub(crate) struct Progress {
    shown: Shown,
    state: RefCell<State>,
}

enum Shown {
    Nothing,
    Lines,
    Bar(ProgressBar),
}

struct State {
    last_line: Instant,
    doubts: usize,
    round: String,
}

impl Progress {
    /// A display on standard error for a run of so many blocks.
    pub(crate) fn new(quiet: bool, blocks: u32) -> Progress {
        let shown = if quiet {
            Shown::Nothing
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(
                Some(u64::from(blocks)),
                ProgressDrawTarget::stderr_with_hz(4),
            );
            let style = ProgressStyle::with_template("[{bar:20}] {pos}/{len} {wide_msg}");
            if let Ok(style) = style {
                bar.set_style(style.progress_chars("=> "));
            }
            Shown::Bar(bar)
        } else {
            Shown::Lines
        };
        let state = State {
            last_line: Instant::now(),
            doubts: 0,
            round: String::new(),
        };
        Progress {
            shown,
            state: RefCell::new(state),
        }
    }

    /// Shows one event.
    pub(crate) fn show(&self, event: Event) {
        let mut state = self.state.borrow_mut();
        match event {
            Event::Building { command } => self.phase(&format!("building: {command}")),
            Event::Piloting { lasts } => {
                state.round = "pilot".to_owned();
                self.phase(&format!("a pilot of about {}", HumanDuration(lasts)));
            }
            Event::Planned { lasts, at_most } => {
                let about = if at_most { "at most" } else { "about" };
                let lasts = HumanDuration(lasts);
                self.line(&format!("this takes {about} {lasts}, launches not counted"));
            }
            Event::RoundStarted { round, rounds } => {
                state.round = format!("round {} of {rounds}", round + 1);
                self.phase(&format!("{}: launching", state.round));
            }
            Event::ServiceReady {
                arm,
                service,
                after,
            } => {
                self.detail(&format!(
                    "{}: {service} of {arm} is up after {after:.0?}",
                    state.round
                ));
            }
            Event::WarmingUp { lasts } => {
                self.phase(&format!("{}: warming up for {lasts:.0?}", state.round));
            }
            Event::BlockDone {
                done,
                blocks,
                left,
                at_most,
            } => {
                let at_most = if at_most { "at most " } else { "" };
                let left = format!("{at_most}{} left", HumanDuration(left));
                self.block(&mut state, done, blocks, &left);
            }
            Event::Doubted { arm, doubt } => self.doubt(&mut state, arm.as_str(), &doubt),
            Event::Draining { lasts } => {
                self.phase(&format!(
                    "{}: waiting {lasts:.1?} for deferred work",
                    state.round
                ));
            }
            Event::TakingDown => self.detail(&format!("{}: taking down", state.round)),
            Event::Note { text } => self.line(&text),
        }
    }

    /// Clears what is shown.
    pub(crate) fn finish(&self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }

    fn block(&self, state: &mut State, done: u32, blocks: u32, left: &str) {
        match &self.shown {
            Shown::Nothing => {}
            Shown::Bar(bar) => {
                // A pilot may have chosen longer windows, so that there are fewer blocks.
                bar.set_length(u64::from(blocks));
                bar.set_position(u64::from(done));
                bar.set_message(format!("{}, {left}", state.round));
            }
            Shown::Lines if state.last_line.elapsed() >= PLAIN_EVERY => {
                state.last_line = Instant::now();
                anstream::eprintln!("{}: block {done} of {blocks}, {left}", state.round);
            }
            Shown::Lines => {}
        }
    }

    fn doubt(&self, state: &mut State, arm: &str, doubt: &Doubt) {
        state.doubts += 1;
        if state.doubts <= DOUBTS_SHOWN {
            self.line(&format!("a window of {arm} is void: {}", doubt.text));
        } else if state.doubts == DOUBTS_SHOWN + 1 {
            self.line("more windows are void; the report counts them");
        }
    }

    /// A new phase: worth a line also where lines are plain.
    fn phase(&self, text: &str) {
        match &self.shown {
            Shown::Nothing => {}
            Shown::Lines => anstream::eprintln!("{text}"),
            Shown::Bar(bar) => {
                bar.set_message(text.to_owned());
                bar.tick();
            }
        }
    }

    /// Something that passes by.
    fn detail(&self, text: &str) {
        if let Shown::Bar(bar) = &self.shown {
            bar.set_message(text.to_owned());
            bar.tick();
        }
    }

    /// Something that stays.
    fn line(&self, text: &str) {
        match &self.shown {
            Shown::Nothing => {}
            Shown::Lines => anstream::eprintln!("{text}"),
            Shown::Bar(bar) => bar.println(text),
        }
    }
}
