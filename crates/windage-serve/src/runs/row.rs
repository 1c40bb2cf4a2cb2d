//! A run in the list.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use serde::{Deserialize, Serialize};
use windage_analysis::Analysis;
use windage_record::{Manifest, RunState};

use super::snapshot::{analysed, is_written, open};

/// One row of the list: a part of `GET /api/runs`, and of the index.
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
    pub(super) costs_most: Option<CostsMost>,
    pub(super) problem: Option<String>,
}

/// The state of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    GoingOn,
    Ended,
    #[default]
    BrokenOff,
}

/// The treatment with the highest cost in the primary metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CostsMost {
    arm: String,
    figure: String,
    metric: String,
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
    /// The row of the run in that directory, as far as it can be read.
    pub(crate) fn read(directory: &Path) -> Row {
        // A run on which the analysis panics must not hide the others.
        catch_unwind(AssertUnwindSafe(|| Row::of(directory))).unwrap_or_else(|_| Row {
            problem: Some(
                "windage failed on its records, which is a bug in windage; `windage report` \
                 shows where"
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
        self.costs_most = windage_report::costs_most(analysis).map(|of| CostsMost {
            arm: of.arm,
            figure: of.figure,
            metric: of.metric,
        });
    }
}
