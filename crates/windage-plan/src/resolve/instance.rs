//! Sets of processes: arms that share one must differ in nothing that is fixed at launch.

use std::collections::{BTreeMap, BTreeSet};

use windage_model::{LoadModel, Role};

use super::Checker;
use super::arm::FileArm;
use super::scope::Site;
use super::service::Resolved;
use crate::Problem;
use crate::load::{BatchKind, Load};
use crate::plan::Arm;
use crate::wire::PlanFile;

pub(super) fn check(
    checker: &mut Checker<'_>,
    file: &PlanFile,
    arms: &[FileArm],
    services: &[Resolved],
    load: &Load,
) {
    let mut sets: BTreeMap<&str, Vec<(usize, &Arm)>> = BTreeMap::new();
    for (index, file_arm) in arms.iter().enumerate() {
        for arm in &file_arm.arms {
            sets.entry(&arm.instance).or_default().push((index, arm));
        }
    }
    for (instance, members) in &sets {
        // Arms whose names clash get the same set by default; that was reported already.
        let [first, others @ ..] = members.as_slice() else {
            continue;
        };
        if others.is_empty()
            || members
                .iter()
                .all(|(i, _)| arms[*i].instance_span.is_none())
        {
            continue;
        }
        let shared = format!("shares the processes of `{instance}`");
        told_apart(checker, file, arms, members, &shared);
        same_launch(checker, arms, services, *first, others);
    }
    let subject = || services.iter().filter(|s| !s.service.shared);
    let all: Vec<(usize, &Arm)> = sets.values().flatten().copied().collect();
    if all.len() > 1 && subject().next().is_some() && !subject().any(Resolved::launched) {
        told_apart(checker, file, arms, &all, "has no processes of its own");
    }
    fixed_addresses(checker, file, arms, services, load, sets.len());
}

/// Without `switch` an arm is whatever the arm before it left, unless its requests or its backend
/// differ.
fn told_apart(
    checker: &mut Checker<'_>,
    file: &PlanFile,
    arms: &[FileArm],
    members: &[(usize, &Arm)],
    shared: &str,
) {
    let indices: BTreeSet<usize> = members.iter().map(|(index, _)| *index).collect();
    for index in indices {
        let in_request = |factor: &str| {
            checker
                .uses
                .iter()
                .any(|used| matches!(used.site, Site::Load | Site::Socket) && used.names(factor))
        };
        let by_request = arms[index]
            .factors
            .iter()
            .any(|(factor, _)| in_request(factor));
        let of_index = || members.iter().filter(|(i, _)| *i == index);
        let by_backend = of_index().all(|(_, arm)| has_its_own_backend(arm, members));
        if by_request || by_backend || !file.arm[index].switch.is_empty() {
            continue;
        }
        let name = file.arm[index].name.get_ref();
        let span = arms[index]
            .instance_span
            .clone()
            .unwrap_or(arms[index].name_span.clone());
        let message = format!("the arm `{name}` {shared}, but no `switch` tells it apart");
        checker.report(
            Problem::new(span, message, "the same as the arm before it").help(
                "add the commands that bring about this arm's state, whichever arm was before",
            ),
        );
    }
}

/// Whether no other arm of the set meets a backend like this one's.
fn has_its_own_backend(arm: &Arm, members: &[(usize, &Arm)]) -> bool {
    let behaviour = |arm: &Arm| {
        arm.backend
            .as_ref()
            .map(|b| b.behaviour)
            .unwrap_or_default()
    };
    members
        .iter()
        .filter(|(_, other)| other.id != arm.id)
        .all(|(_, other)| behaviour(other) != behaviour(arm))
}

/// What is given at launch is the same for all arms of a set; each `[[arm]]` is told once.
fn same_launch(
    checker: &mut Checker<'_>,
    arms: &[FileArm],
    services: &[Resolved],
    (first_index, first): (usize, &Arm),
    others: &[(usize, &Arm)],
) {
    let mut told = BTreeSet::new();
    for &(index, arm) in others {
        let file_arm = &arms[index];
        let span = file_arm
            .instance_span
            .clone()
            .unwrap_or(file_arm.name_span.clone());
        let who = format!(
            "the arms `{}` and `{}` share processes",
            first.name, arm.name
        );
        for key in differing_keys(first, arm) {
            if told.insert((index, key.to_owned())) {
                let message = format!("{who}, but differ in `{key}`");
                checker.report(Problem::new(span.clone(), message, "the same processes").help(
                    "what is given at launch is the same for both; use `switch`, or another instance",
                ));
            }
        }
        let levels = first.levels.iter().chain(&arm.levels);
        for (factor, _) in levels.filter(|(f, _)| first.level(f) != arm.level(f)) {
            let fixed = checker.uses.iter().any(|used| {
                let reaches = |index: usize| used.reaches(index, &arms[index], services);
                used.at_launch() && used.names(factor) && (reaches(first_index) || reaches(index))
            });
            if fixed && told.insert((index, factor.clone())) {
                let message = format!("{who}, but `{{{factor}}}` is fixed at launch");
                checker.report(
                    Problem::new(span.clone(), message, "the same processes").help(format!(
                        "name `{{{factor}}}` in `switch` alone, or give each its own instance"
                    )),
                );
            }
        }
    }
}

fn differing_keys(first: &Arm, arm: &Arm) -> impl Iterator<Item = &'static str> {
    let keys = [
        ("env", arm.env == first.env),
        ("args", arm.args == first.args),
        ("command", arm.command == first.command),
    ];
    keys.into_iter()
        .filter(|(_, same)| !same)
        .map(|(key, _)| key)
}

/// All sets of processes are up together, so only one of them can have a fixed address.
fn fixed_addresses(
    checker: &mut Checker<'_>,
    file: &PlanFile,
    arms: &[FileArm],
    services: &[Resolved],
    load: &Load,
    sets: usize,
) {
    // A process for each window: there never are two.
    if load.model == LoadModel::Batch && load.batch == BatchKind::Process {
        return;
    }
    let baseline = arms
        .iter()
        .find(|a| a.arms.iter().any(|a| a.role == Role::Baseline));
    let control_has_its_own = baseline.is_some_and(|a| a.instance_span.is_none());
    let sets = sets + usize::from(control_has_its_own);
    if sets < 2 {
        return;
    }
    fixed_socket(checker, services, sets);
    for (resolved, service) in services.iter().zip(&file.service) {
        let Some(listen) = &service.listen else {
            continue;
        };
        if resolved.service.shared || !resolved.launched() {
            continue;
        }
        let name = resolved.name();
        let message =
            format!("`{name}` is launched {sets} times at once and can't have one fixed address");
        checker.report(
            Problem::new(listen.span(), message, "taken by the first").help(
                "leave `listen` out and pass `{listen}` to the service; or let all arms, the \
                 baseline included, name the same `instance`",
            ),
        );
    }
}

/// Nor can they listen on one Unix socket.
fn fixed_socket(checker: &mut Checker<'_>, services: &[Resolved], sets: usize) {
    if !services.iter().any(|s| s.launched() && !s.service.shared) {
        return;
    }
    let own = |name: &str| !matches!(name, "plan" | "windage");
    let fixed = checker
        .uses
        .iter()
        .find(|u| u.site == Site::Socket && !u.template.placeholders().any(own));
    if let Some(span) = fixed.map(|used| used.span.clone()) {
        let message = format!("{sets} sets of processes are up at once and can't share one socket");
        checker.report(Problem::new(span, message, "taken by the first").help(
            "put `{dir}` or `{arm}` into the path; or let all arms, the baseline included, name \
             the same `instance`",
        ));
    }
}
