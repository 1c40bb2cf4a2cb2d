//! What the list says of a run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use serde::{Deserialize, Serialize};
use windage_analysis::{Analysis, ArmAnalysis};
use windage_model::{Role, Verdict};
use windage_record::{Manifest, RunState};

use super::reading::{analysed, is_written, open};

/// One line of the list: a part of `GET /api/runs`, and what the index keeps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(super) plan: Option<String>,
    pub(super) about: Option<String>,
    pub(super) started: Option<String>,
    pub(super) state: State,
    pub(super) verdict: Option<String>,
    pub(super) answer: Option<String>,
    pub(super) primary: Option<String>,
    pub(super) rounds: Option<u32>,
    pub(super) arms: Option<usize>,
    pub(super) treatments: Vec<Treatment>,
    pub(super) problem: Option<String>,
}

/// How far a run is, in the words of the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    GoingOn,
    Ended,
    #[default]
    BrokenOff,
}

/// What a treatment costs, in the primary metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Treatment {
    arm: String,
    relative: Option<Band>,
    verdict: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Band {
    estimate: f64,
    low: f64,
    high: f64,
}

impl From<RunState> for State {
    fn from(state: RunState) -> State {
        match state {
            RunState::GoingOn => State::GoingOn,
            RunState::Ended => State::Ended,
            RunState::BrokenOff => State::BrokenOff,
        }
    }
}

impl From<State> for RunState {
    fn from(state: State) -> RunState {
        match state {
            State::GoingOn => RunState::GoingOn,
            State::Ended => RunState::Ended,
            State::BrokenOff => RunState::BrokenOff,
        }
    }
}

impl Row {
    /// Of the run in that directory, as far as it can be read.
    pub(crate) fn read(directory: &Path) -> Row {
        // One run that upsets the analysis must not hide the others.
        catch_unwind(AssertUnwindSafe(|| Row::of(directory))).unwrap_or_else(|_| Row {
            problem: Some(
                "windage failed on its records, which is a mistake in windage; `windage report` \
                 on it says where"
                    .to_owned(),
            ),
            ..Row::default()
        })
    }

    fn of(directory: &Path) -> Row {
        let run = match open(directory) {
            Ok(run) => run,
            Err(error) => {
                return Row {
                    problem: Some(error.to_string()),
                    ..Row::default()
                };
            }
        };
        let mut row = Row::of_manifest(run.manifest());
        match analysed(&run) {
            Ok((state, analysis)) => row.conclude(state, &analysis),
            Err(error) => {
                row.state = RunState::of(is_written(&run), None).into();
                row.problem = Some(error.to_string());
            }
        }
        row
    }

    fn of_manifest(manifest: &Manifest) -> Row {
        Row {
            plan: Some(manifest.plan.clone()),
            about: manifest.about.clone(),
            started: Some(manifest.started_rfc3339()),
            rounds: Some(manifest.design.rounds),
            arms: Some(manifest.arms.len()),
            ..Row::default()
        }
    }

    fn conclude(&mut self, state: RunState, analysis: &Analysis) {
        self.state = state.into();
        self.verdict = Some(analysis.validity.soundness().as_str().to_owned());
        self.answer = Some(windage_report::summary(analysis));
        self.primary = Some(analysis.primary.as_str().to_owned());
        let treatments = analysis
            .arms
            .iter()
            .filter(|arm| arm.role == Role::Treatment);
        self.treatments = treatments.map(|arm| Treatment::of(analysis, arm)).collect();
    }
}

impl Treatment {
    fn of(analysis: &Analysis, arm: &ArmAnalysis) -> Treatment {
        let found = arm.metrics.get(&analysis.primary);
        let difference = found.and_then(|found| found.difference.as_ref().ok());
        let relative = difference.and_then(|difference| difference.relative.as_ref());
        let band = relative.map(|relative| Band {
            estimate: relative.estimate,
            low: relative.low,
            high: relative.high,
        });
        Treatment {
            arm: arm.name.clone(),
            relative: band.filter(Band::is_finite),
            verdict: found
                .and_then(|f| f.verdict)
                .map(|v| Verdict::as_str(v).to_owned()),
        }
    }
}

impl Band {
    /// JSON has no other figures.
    fn is_finite(&self) -> bool {
        [self.estimate, self.low, self.high]
            .into_iter()
            .all(f64::is_finite)
    }
}
