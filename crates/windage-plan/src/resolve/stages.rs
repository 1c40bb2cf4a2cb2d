//! `adds_to` and `same_as`: arms that are told apart from another arm than the baseline.

use std::ops::Range;

use windage_model::ArmId;

use super::Checker;
use super::arm::FileArm;
use crate::Problem;
use crate::plan::Arm;
use crate::problem::choices;
use crate::wire::{PlanFile, Text};

/// Finds the arms that others name, by name or id.
pub(super) fn settle(checker: &mut Checker<'_>, file: &PlanFile, arms: &mut [FileArm]) {
    let known: Vec<(ArmId, String)> = arms
        .iter()
        .flat_map(|arm| &arm.arms)
        .map(|arm| (arm.id.clone(), arm.name.clone()))
        .collect();
    for (given, resolved) in file.arm.iter().zip(arms.iter_mut()) {
        let keys = [("adds_to", &given.adds_to), ("same_as", &given.same_as)];
        let is_baseline = given.baseline.as_ref().is_some_and(|b| *b.get_ref());
        for (key, named) in keys {
            let Some(named) = named else { continue };
            if is_baseline {
                let message = format!("the baseline has no `{key}`: all begins with it");
                checker.report(Problem::new(named.span(), message, "not of the baseline"));
                continue;
            }
            let Some(id) = find(checker, named, &known) else {
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

fn find(checker: &mut Checker<'_>, named: &Text, known: &[(ArmId, String)]) -> Option<ArmId> {
    let text = named.get_ref();
    let found = known
        .iter()
        .find(|(id, name)| name == text || id.as_str() == text);
    if found.is_none() {
        let names: Vec<&str> = known.iter().map(|(_, name)| name.as_str()).collect();
        let problem = Problem::new(
            named.span(),
            format!("no arm is named `{text}`"),
            "unknown arm",
        );
        checker.report(problem.help(choices(text, &names)));
    }
    found.map(|(id, _)| id.clone())
}

/// Whoever adds to another must come to an end, and nobody is the same as itself.
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
            report(adds, "arms that add to each other have no first stage");
        }
        if is_same {
            report(same, "an arm can't be held against itself");
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
