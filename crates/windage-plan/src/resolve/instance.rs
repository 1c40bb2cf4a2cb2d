//! Sets of processes: arms that share one must not differ in anything that is fixed at launch.

use std::collections::{BTreeMap, BTreeSet};

use windage_model::{LoadModel, Role};

mod distinct;

use super::checker::Checker;
use super::file_arm::{CONTROL, FileArm};
use super::resolved::Resolved;
use super::site::{Site, Use};
use crate::load::{BatchKind, Load};
use crate::plan::{Arm, ServiceName};
use crate::wire::PlanFile;
use crate::{Problem, Template};
use distinct::Apart;

/// Arms that differ from the baseline only by agents share its processes, unless they name others.
pub(super) fn settle(checker: &Checker<'_>, arms: &mut [FileArm], services: &[Resolved]) {
    let all = arms.iter().flat_map(|arm| &arm.arms);
    let Some(baseline) = all
        .into_iter()
        .find(|arm| arm.role == Role::Baseline)
        .cloned()
    else {
        return;
    };
    for (index, file_arm) in arms.iter_mut().enumerate() {
        if file_arm.agents.is_empty() || file_arm.instance_span.is_some() {
            continue;
        }
        let is_fixed =
            |factor: &str| is_fixed_at_launch(checker, factor, index, file_arm, services);
        let fixed: Vec<String> = file_arm
            .factors
            .iter()
            .map(|(factor, _)| factor.clone())
            .filter(|factor| is_fixed(factor))
            .collect();
        for arm in &mut file_arm.arms {
            let is_launched_alike = differing_keys(&baseline, arm, services).next().is_none()
                && fixed.iter().all(|f| baseline.level(f) == arm.level(f));
            if is_launched_alike {
                arm.instance.clone_from(&baseline.instance);
            }
        }
    }
}

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
    let set = Apart {
        file,
        arms,
        services,
    };
    let mut subject = services.iter().filter(|s| s.is_of_a_set()).peekable();
    let has_processes = subject.peek().is_none() || subject.any(Resolved::launched);
    for (instance, members) in &sets {
        let [first, others @ ..] = members.as_slice() else {
            continue;
        };
        // Arms whose names clash get the same set by default; the clash was already reported.
        let by_default = |(i, arm): &(usize, &Arm)| {
            arms[*i].instance_span.is_none() && arm.instance == arm.id.as_str()
        };
        if others.is_empty() || members.iter().all(by_default) {
            continue;
        }
        if has_processes {
            let shared = format!("shares the processes of `{instance}`");
            set.check_distinct(checker, members, &shared);
        }
        same_launch(checker, arms, services, *first, others);
    }
    // A bystander of services that are there only once was already reported.
    let stands_by = |(_, arm): &&(usize, &Arm)| arm.bystander_of.is_some();
    let all = sets.values().flatten();
    let all: Vec<(usize, &Arm)> = all.filter(|member| !stands_by(member)).copied().collect();
    if all.len() > 1 && !has_processes {
        set.check_distinct(checker, &all, "has no processes of its own");
    }
    let of_the_control = usize::from(sets.contains_key(CONTROL));
    fixed_addresses(
        checker,
        file,
        arms,
        services,
        load,
        sets.len() - of_the_control,
    );
}

/// Arms of one set must be launched alike. Each difference is reported once per `[[arm]]`.
fn same_launch(
    checker: &mut Checker<'_>,
    arms: &[FileArm],
    services: &[Resolved],
    (first_index, first): (usize, &Arm),
    others: &[(usize, &Arm)],
) {
    let mut reported = BTreeSet::new();
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
        for key in differing_keys(first, arm, services) {
            if reported.insert((index, key.to_owned())) {
                let message = format!("{who}, but differ in `{key}`");
                checker.report(Problem::new(span.clone(), message, "the same processes").help(
                    "arms that share processes are launched alike; use `switch`, or another `instance`",
                ));
            }
        }
        let levels = first.levels.iter().chain(&arm.levels);
        for (factor, _) in levels.filter(|(f, _)| first.level(f) != arm.level(f)) {
            let fixed =
                |index: usize| is_fixed_at_launch(checker, factor, index, &arms[index], services);
            if (fixed(first_index) || fixed(index)) && reported.insert((index, factor.clone())) {
                let message = format!("{who}, but `{{{factor}}}` is fixed at launch");
                checker.report(
                    Problem::new(span.clone(), message, "the same processes").help(format!(
                        "use `{{{factor}}}` only in `switch`, or give each arm its own `instance`"
                    )),
                );
            }
        }
    }
}

/// The keys that differ between two arms and take effect at launch.
fn differing_keys<'a>(
    first: &'a Arm,
    arm: &'a Arm,
    services: &'a [Resolved],
) -> impl Iterator<Item = &'static str> + use<> {
    let is_agents = |name: &ServiceName| {
        services
            .iter()
            .any(|s| s.is_agent && s.service.name == *name)
    };
    let same = |of: fn(&Arm) -> &BTreeMap<ServiceName, Vec<Template>>| {
        let for_services = |arm: &'a Arm| of(arm).iter().filter(|(name, _)| !is_agents(name));
        for_services(first).eq(for_services(arm))
    };
    let scraped = |arm: &'a Arm| arm.scrape.iter().filter(|(name, _)| !is_agents(name));
    let keys = [
        ("env", arm.env == first.env),
        ("args", same(|arm| &arm.args)),
        ("command", same(|arm| &arm.command)),
        ("patch", arm.patch == first.patch),
        ("scrape", scraped(first).eq(scraped(arm))),
    ];
    keys.into_iter()
        .filter(|(_, same)| !same)
        .map(|(key, _)| key)
}

/// Whether a factor reaches an arm's services only at launch.
fn is_fixed_at_launch(
    checker: &Checker<'_>,
    factor: &str,
    index: usize,
    arm: &FileArm,
    services: &[Resolved],
) -> bool {
    let of_services = |used: &&Use| used.at_launch() && used.agent(services).is_none();
    let mut uses = checker.uses.iter().filter(of_services);
    uses.any(|used| used.names(factor) && used.reaches(index, arm, services))
}

/// All sets of processes run at the same time, so only one can have a fixed address.
fn fixed_addresses(
    checker: &mut Checker<'_>,
    file: &PlanFile,
    arms: &[FileArm],
    services: &[Resolved],
    load: &Load,
    sets: usize,
) {
    // With a process per window, only one runs at a time.
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
            format!("`{name}` can't have a fixed address: {sets} copies run at the same time");
        checker.report(
            Problem::new(listen.span(), message, "taken by the first").help(
                "remove `listen` and pass `{listen}` to the service; or give all arms, \
                 including the baseline, the same `instance`",
            ),
        );
    }
}

/// Sets of processes that run at the same time can't share a Unix socket.
fn fixed_socket(checker: &mut Checker<'_>, services: &[Resolved], sets: usize) {
    if !services.iter().any(|s| s.launched() && s.is_of_a_set()) {
        return;
    }
    let own = |name: &str| !matches!(name, "plan" | "windage");
    let fixed = checker
        .uses
        .iter()
        .find(|u| u.site == Site::Socket && !u.template.placeholders().any(own));
    if let Some(span) = fixed.map(|used| used.span.clone()) {
        let message =
            format!("{sets} sets of processes run at the same time and can't share a socket");
        checker.report(Problem::new(span, message, "taken by the first").help(
            "put `{dir}` or `{arm}` into the path; or give all arms, including the baseline, the \
             same `instance`",
        ));
    }
}
