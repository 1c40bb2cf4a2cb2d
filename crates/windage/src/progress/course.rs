//! How far a run is, and which of its events deserve a line that stays.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use windage_analysis::Running;
use windage_model::{ArmId, Event, Soundness, Warning};
use windage_report::one_line;

use super::left::spoken;

/// Void windows shown one by one; more would crowd out the rest.
const VOID_SHOWN: usize = 5;
/// The same limit for steal and pressure.
const SPIKES_SHOWN: usize = 5;
/// The phase in which blocks are counted.
const MEASURING: &str = "measuring";
/// The phase in which the run is over.
const ANALYSING: &str = "analysing";

/// How far a run is.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// What is being done now.
    pub(super) phase: String,
    pub(super) stretch: Stretch,
    pub(super) blocks: Option<Blocks>,
    pub(super) left: Option<Left>,
    /// The estimates so far.
    pub(super) running: Option<Running>,
    void: usize,
    spikes: usize,
    /// Arms whose agents were attached at least once.
    attached: BTreeSet<ArmId>,
}

/// The part of the run that is in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stretch {
    /// Before the first round or after the last.
    #[default]
    Beside,
    /// The round, counted from 1, and the number of rounds.
    Round(u32, u32),
}

/// Blocks on disk, and the most there can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    pub(super) done: u32,
    pub(super) of: u32,
}

/// The remaining time, as of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    /// That moment; `None` before the first block, because launches are not counted.
    at: Option<Duration>,
    left: Duration,
    at_most: bool,
}

impl Left {
    /// The time left in words, at a time on the display's clock.
    pub(super) fn spoken(self, now: Duration) -> String {
        let passed = self.at.map_or(Duration::ZERO, |at| now.saturating_sub(at));
        let about = if self.at_most { "at most" } else { "about" };
        format!("{about} {} left", spoken(self.left.saturating_sub(passed)))
    }
}

/// A line that an event produces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A new phase: shown only where output is plain lines.
    Phase(String),
    /// Stays on the screen.
    Stays(String),
}

impl Course {
    /// Takes an event that came at a time on the display's clock.
    pub(super) fn take(&mut self, event: Event, now: Duration) -> Vec<Line> {
        match event {
            Event::Building { command } => self.enters(&format!("building: {command}")),
            Event::Planned { lasts, at_most } => self.planned(lasts, at_most),
            Event::RoundStarted { round, rounds } => {
                self.stretch = Stretch::Round(round + 1, rounds);
                self.enters("launching")
            }
            Event::Launching { arm, service } => {
                self.does(&format!("launching {service} of {arm}"))
            }
            Event::ServiceReady {
                arm,
                service,
                after,
            } => self.does(&format!("{service} of {arm} is up after {after:.0?}")),
            Event::Attaching { arm } => self.does(&format!("attaching the agents of {arm}")),
            Event::Attached {
                arm,
                after,
                programs,
            } => self.attached(arm, after, programs),
            Event::Detached { arm, after } => self.does(&format!(
                "the agents of {arm} are detached after {after:.0?}"
            )),
            Event::WarmingUp { lasts } => self.enters(&format!("warming up for {lasts:.0?}")),
            Event::Measuring => self.does(MEASURING),
            Event::BlockDone {
                done,
                blocks,
                left,
                at_most,
            } => {
                self.blocks = Some(Blocks { done, of: blocks });
                self.left = Some(Left {
                    at: Some(now),
                    left,
                    at_most,
                });
                self.does(MEASURING)
            }
            Event::Warned { arm, warning } => self.warned(arm.as_ref(), &warning),
            Event::PressureSpike { share, usual } => self.spike(&format!(
                "pressure: tasks waited for a core {:.0} % of the time; {:.0} % is usual",
                share * 100.0,
                usual * 100.0
            )),
            Event::Draining { lasts } => {
                self.enters(&format!("waiting {lasts:.1?} for deferred work"))
            }
            Event::Profiling { arm, with, lasts } => {
                self.stretch = Stretch::Beside;
                self.left = None;
                self.does(&format!(
                    "profiling {arm}: {with} samples it for {lasts:.0?}"
                ))
            }
            Event::TakingDown => self.does("taking down"),
            Event::RecordDamaged { warnings, copies } => {
                vec![Line::Stays(record_damaged(&warnings, &copies))]
            }
            Event::Note { text } => several_lines(&text),
        }
    }

    /// The run is over and is being analysed.
    pub(super) fn analysing(&mut self) {
        self.stretch = Stretch::Beside;
        self.left = None;
        self.does(ANALYSING);
    }

    /// Whether the run is over, with only the analysis left.
    pub(super) fn is_analysing(&self) -> bool {
        self.phase == ANALYSING
    }

    /// What is being done, and in which part of the run.
    pub(super) fn heading(&self) -> String {
        let phase = &self.phase;
        match (self.stretch, self.blocks) {
            (Stretch::Beside, _) => phase.clone(),
            (Stretch::Round(round, rounds), Some(Blocks { done, of })) if phase == MEASURING => {
                format!("round {round} of {rounds}, block {done} of {of}: {phase}")
            }
            (Stretch::Round(round, rounds), _) => format!("round {round} of {rounds}: {phase}"),
        }
    }

    /// Enters a new phase.
    fn enters(&mut self, phase: &str) -> Vec<Line> {
        self.does(phase);
        vec![Line::Phase(self.heading())]
    }

    /// Does something that is shown only while it lasts.
    fn does(&mut self, phase: &str) -> Vec<Line> {
        self.phase = one_line(phase);
        Vec::new()
    }

    fn planned(&mut self, lasts: Duration, at_most: bool) -> Vec<Line> {
        self.left = Some(Left {
            at: None,
            left: lasts,
            at_most,
        });
        let about = if at_most { "at most" } else { "about" };
        let lasts = spoken(lasts);
        vec![Line::Stays(format!(
            "this takes {about} {lasts}, launches not counted"
        ))]
    }

    fn attached(&mut self, arm: ArmId, after: Duration, programs: Option<usize>) -> Vec<Line> {
        let programs = programs.map_or_else(String::new, |n| format!(", {n} BPF programs"));
        let text = format!("the agents of {arm} are attached after {after:.0?}{programs}");
        self.does(&text);
        // Agents attach in every block; only the first time is worth a line.
        if self.attached.insert(arm) {
            vec![Line::Stays(text)]
        } else {
            Vec::new()
        }
    }

    /// Of a window of an arm, or of a block in which arms took turns.
    fn warned(&mut self, arm: Option<&ArmId>, warning: &Warning) -> Vec<Line> {
        let place = match arm {
            Some(arm) => format!("a window of {arm}"),
            None => "a block of turns".to_owned(),
        };
        if let Warning::Steal {
            steal_ns,
            window_ns,
        } = warning
        {
            let ms = |ns: &u64| *ns as f64 / 1e6;
            return self.spike(&format!(
                "steal in {place}: the hypervisor took {:.0} ms from all cores together \
                 in {:.0} ms",
                ms(steal_ns),
                ms(window_ns)
            ));
        }
        if warning.code().soundness() != Soundness::Void {
            return Vec::new();
        }
        self.void += 1;
        bounded(self.void, VOID_SHOWN, || {
            let text = format!(
                "{place} is void: {}",
                one_line(&windage_report::warning(warning))
            );
            (text, "more are void; the report counts them")
        })
    }

    fn spike(&mut self, text: &str) -> Vec<Line> {
        self.spikes += 1;
        bounded(self.spikes, SPIKES_SHOWN, || {
            let more = "more steal or pressure was recorded; it is not shown here";
            (text.to_owned(), more)
        })
    }
}

/// Shows the first few of a kind, then one line that says there are more.
fn bounded(count: usize, shown: usize, line: impl Fn() -> (String, &'static str)) -> Vec<Line> {
    let (text, more) = line();
    match count {
        count if count <= shown => vec![Line::Stays(text)],
        count if count == shown + 1 => vec![Line::Stays(more.to_owned())],
        _ => Vec::new(),
    }
}

/// What damage in the record of a resumed run has cost, as one line.
pub(super) fn record_damaged(warnings: &[Warning], copies: &[PathBuf]) -> String {
    let sentences = warnings.iter().map(windage_report::warning);
    let copies = copies.iter().map(|copy| copy.display().to_string());
    one_line(&format!(
        "{} The files were copied before anything is written: {}",
        sentences.collect::<Vec<_>>().join(" "),
        copies.collect::<Vec<_>>().join(", ")
    ))
}

/// A note line by line, without control characters; it may hold the last lines of a log.
fn several_lines(text: &str) -> Vec<Line> {
    let line = |line: &str| {
        let indent = if line.starts_with(' ') { "  " } else { "" };
        Line::Stays(format!("{indent}{}", one_line(line)))
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
#[path = "course_tests.rs"]
mod tests;
