//! `adds_to` and `same_as`: arms that are compared with an arm other than the baseline.

use std::ops::Range;

use windage_model::ArmId;

use super::checker::Checker;
use super::file_arm::{CONTROL, FileArm};
use crate::Problem;
use crate::plan::Arm;
use crate::problem::choices;
use crate::wire::{PlanFile, Text};

/// Resolves the arms that `adds_to` and `same_as` name, by name or id.
pub(super) fn settle(checker: &mut Checker<'_>, file: &PlanFile, arms: &mut [FileArm]) {
    let known = Arms::of(arms);
    let with_control = known.and_control();
    for (given, resolved) in file.arm.iter().zip(arms.iter_mut()) {
        let keys = [("adds_to", &given.adds_to), ("same_as", &given.same_as)];
        let is_baseline = given.baseline.as_ref().is_some_and(|b| *b.get_ref());
        for (key, named) in keys {
            let Some(named) = named else { continue };
            if is_baseline {
                let message =
                    format!("the baseline can't have `{key}`: every chain starts with it");
                checker.report(Problem::new(named.span(), message, "not for the baseline"));
                continue;
            }
            // Bystanders run on the control's processes; compared with it, they show what is added.
            let known = if key == "adds_to" {
                &with_control
            } else {
                &known
            };
            let Some(id) = find(checker, named, known) else {
                continue;
            };
            for arm in &mut resolved.arms {
                let slot = match key {
                    "adds_to" => &mut arm.adds_to,
                    _ => &mut arm.same_as,
                };
                *slot = Some(id.clone());
            }
        }
    }
    refuse_circles(checker, file, arms);
}

/// The arms that may be named, by id and name.
#[derive(Clone)]
pub(super) struct Arms(Vec<(ArmId, String)>);

impl Arms {
    pub(super) fn of(arms: &[FileArm]) -> Arms {
        let all = arms.iter().flat_map(|arm| &arm.arms);
        Arms(all.map(|arm| (arm.id.clone(), arm.name.clone())).collect())
    }

    fn and_control(&self) -> Arms {
        let control = ArmId::from_text(CONTROL).map(|id| (id, CONTROL.to_owned()));
        Arms(self.0.iter().cloned().chain(control).collect())
    }
}

/// The arm that is named, by name or id.
pub(super) fn find(checker: &mut Checker<'_>, named: &Text, known: &Arms) -> Option<ArmId> {
    let text = named.get_ref();
    let found = known
        .0
        .iter()
        .find(|(id, name)| name == text || id.as_str() == text);
    if found.is_none() {
        let names: Vec<&str> = known.0.iter().map(|(_, name)| name.as_str()).collect();
        let problem = Problem::new(
            named.span(),
            format!("no arm is named `{text}`"),
            "unknown arm",
        );
        checker.report(problem.help(choices(text, &names)));
    }
    found.map(|(id, _)| id.clone())
}

/// A chain of `adds_to` must end, and no arm can be the same as itself.
fn refuse_circles(checker: &mut Checker<'_>, file: &PlanFile, arms: &[FileArm]) {
    let all: Vec<&Arm> = arms.iter().flat_map(|arm| &arm.arms).collect();
    for (given, resolved) in file.arm.iter().zip(arms) {
        let adds = given.adds_to.as_ref().map(Text::span);
        let same = given.same_as.as_ref().map(Text::span);
        let is_circle = resolved.arms.iter().any(|arm| leads_back(arm, &all));
        let is_same = resolved
            .arms
            .iter()
            .any(|arm| arm.same_as.as_ref() == Some(&arm.id));
        let mut report = |span: Option<Range<usize>>, message: &str| {
            if let Some(span) = span {
                checker.report(Problem::new(span, message, "leads back to this arm"));
            }
        };
        if is_circle {
            report(
                adds,
                "the arms add to each other in a circle, without a first stage",
            );
        }
        if is_same {
            report(same, "an arm can't be compared with itself");
        }
    }
}

fn leads_back(arm: &Arm, all: &[&Arm]) -> bool {
    let mut next = arm.adds_to.as_ref();
    for _ in all {
        match next {
            Some(id) if *id == arm.id => return true,
            Some(id) => {
                let of = all.iter().find(|other| other.id == *id);
                next = of.and_then(|other| other.adds_to.as_ref());
            }
            None => return false,
        }
    }
    false
}
