//! The tables: their rows and columns.

pub(crate) mod blocks;
pub(crate) mod launches;
pub(crate) mod windows;

use std::rc::Rc;

use windage_model::{ArmIndex, Warning};
use windage_record::{LoadScope, Manifest};

use crate::column::{Column, text};

/// What all rows of a run refer to.
pub(crate) struct Scope {
    manifest: Rc<Manifest>,
}

/// To which run, load and arm a row belongs.
#[derive(Clone)]
pub(crate) struct Subject {
    manifest: Rc<Manifest>,
    round: u32,
    arm: ArmIndex,
}

impl Scope {
    pub(crate) fn of(manifest: &Manifest) -> Scope {
        let manifest = Rc::new(manifest.clone());
        Scope { manifest }
    }

    fn subject(&self, round: u32, arm: ArmIndex) -> Subject {
        let manifest = Rc::clone(&self.manifest);
        Subject {
            manifest,
            round,
            arm,
        }
    }
}

impl Subject {
    fn id_of(&self, arm: ArmIndex) -> Option<String> {
        let arm = self.manifest.arms.iter().find(|of| of.index == arm);
        arm.map(|of| of.id.to_string())
    }

    fn role(&self) -> Option<String> {
        let arm = self.manifest.arms.iter().find(|of| of.index == self.arm);
        arm.map(|of| of.role.as_str().to_owned())
    }

    /// The load of the round: rounds take them in turn.
    fn load(&self) -> &LoadScope {
        let at = self.round as usize % self.manifest.loads();
        let other = at
            .checked_sub(1)
            .and_then(|at| self.manifest.other_loads.get(at));
        other.unwrap_or(&self.manifest.load)
    }
}

/// A row that belongs to an arm.
pub(crate) trait OfArm {
    fn subject(&self) -> &Subject;
}

/// The columns with which every table begins.
fn subject_columns<Row: OfArm>() -> Vec<Column<Row>> {
    vec![
        text("run", |of: &Row| Some(of.subject().manifest.run.clone())),
        text("plan", |of: &Row| Some(of.subject().manifest.plan.clone())),
        text("regime", |of: &Row| of.subject().load().regime.clone()),
        text("arm", |of: &Row| of.subject().id_of(of.subject().arm)),
        text("role", |of: &Row| of.subject().role()),
    ]
}

/// Codes, joined by `;`.
fn codes(warnings: &[Warning]) -> Option<String> {
    let codes: Vec<_> = warnings.iter().map(|of| of.code().as_str()).collect();
    (!codes.is_empty()).then(|| codes.join(";"))
}
