//! `[[claim]]`.

use windage_model::{BudgetOf, Claim, Limit, LoadModel, Publication, Says};

use super::budget::{Given, Held, same_scale};
use super::checker::Checker;
use super::file_arm::FileArm;
use crate::Problem;
use crate::plan::Arm;
use crate::wire::{self, PlanFile, Text};

/// A claim whose arms are known by id.
pub(super) struct Unplaced {
    publication: Publication,
    held: Held,
    says: Says,
}

impl Unplaced {
    pub(super) fn placed(self, arms: &[Arm]) -> Claim {
        Claim {
            arms: self.held.placed(arms),
            publication: self.publication,
            metric: self.held.metric,
            says: self.says,
            confidence: self.held.confidence,
        }
    }
}

/// All claims that have no problem.
pub(super) fn resolve_all(
    checker: &mut Checker<'_>,
    file: &PlanFile,
    arms: &[FileArm],
    model: Option<LoadModel>,
) -> Vec<Unplaced> {
    let mut resolved = Vec::new();
    for given in &file.claim {
        let about = Given {
            what: "a claim",
            of: BudgetOf::Cost,
            metric: &given.metric,
            arms: given.arms.as_ref(),
            confidence: given.confidence.as_ref(),
        };
        let held = Held::resolve(checker, file, arms, model, about);
        let publication = publication(checker, given);
        let Some(held) = held else { continue };
        let says = says(checker, &held, given);
        resolved.extend(says.map(|says| Unplaced {
            publication,
            held,
            says,
        }));
    }
    resolved
}

fn publication(checker: &mut Checker<'_>, given: &wire::Claim) -> Publication {
    for (key, text) in [("text", &given.text), ("source", &given.source)] {
        if text.get_ref().trim().is_empty() {
            let message = format!("a claim without a `{key}` can't be looked up");
            checker.report(Problem::new(text.span(), message, "empty"));
        }
    }
    let text = |of: &Text| of.get_ref().clone();
    Publication {
        text: text(&given.text),
        source: text(&given.source),
        date: given.date.as_ref().map(text),
        version: given.version.as_ref().map(text),
        differs: given.differs.as_ref().map(text),
    }
}

fn says(checker: &mut Checker<'_>, held: &Held, given: &wire::Claim) -> Option<Says> {
    let bound = |checker: &mut Checker<'_>, of: &Text, says: fn(Limit) -> Says| {
        if let Some(tolerance) = &given.tolerance {
            let message = "a bound needs no `tolerance`: it is checked as it stands";
            let problem = Problem::new(tolerance.span(), message, "of a `value` only");
            checker.report(problem.help("remove it"));
        }
        held.limit(checker, of).map(says)
    };
    match (&given.at_most, &given.at_least, &given.value) {
        (Some(most), None, None) => bound(checker, most, Says::AtMost),
        (None, Some(least), None) => bound(checker, least, Says::AtLeast),
        (None, None, Some(value)) => about(checker, held, value, given.tolerance.as_ref()),
        _ => {
            let message = "a claim has one of `at_most`, `at_least` and `value`";
            let problem = Problem::new(given.metric.span(), message, "none, or several");
            checker.report(problem.help("for example value = \"7.6%\", tolerance = \"2%\""));
            None
        }
    }
}

fn about(
    checker: &mut Checker<'_>,
    held: &Held,
    value: &Text,
    tolerance: Option<&Text>,
) -> Option<Says> {
    let published = held.limit(checker, value);
    let Some(tolerance) = tolerance else {
        let message =
            "a `value` needs a `tolerance`: a narrow interval refutes every published figure";
        let problem = Problem::new(value.span(), message, "give or take how much?");
        checker.report(problem.help("for example tolerance = \"2%\", on the scale of the value"));
        return None;
    };
    let may_be_off = held.limit(checker, tolerance)?;
    let published = published?;
    same_scale(checker, ("value", published), tolerance, may_be_off)?;
    Some(Says::About {
        value: published,
        tolerance: may_be_off,
    })
}
