//! `[[agent]]`, and the arms that name agents.

use std::collections::BTreeSet;

use crate::wire::Spanned;
use windage_model::Facility;

use super::checker::Checker;
use super::file_arm::{CONTROL, FileArm, is_baseline};
use super::load;
use super::resolved::Resolved;
use super::stages::{Arms, find};
use crate::Problem;
use crate::plan::{Agent, Service, ServiceName};
use crate::problem::choices;
use crate::wire::{self, PlanFile, Text};

/// Splits what was resolved together into services and agents.
pub(super) fn apart(programs: Vec<Resolved>) -> (Vec<Service>, Vec<Agent>) {
    let (agents, services): (Vec<Resolved>, Vec<Resolved>) =
        programs.into_iter().partition(|program| program.is_agent);
    let agents = agents.into_iter().map(|agent| Agent {
        service: agent.service,
        needs: agent.needs,
    });
    let services = services.into_iter().map(|service| service.service);
    (services.collect(), agents.collect())
}

/// Reads what an agent needs, and refuses services' keys in agents and agents' keys in services.
pub(super) fn own_keys(
    checker: &mut Checker<'_>,
    program: &wire::Service,
    is_agent: bool,
) -> Vec<Facility> {
    if is_agent {
        refuse_keys_of_services(checker, program);
        return needs(checker, program.needs.as_ref());
    }
    if let Some(needs) = &program.needs {
        let message = "`needs` is a key of agents: the kernel features that an agent needs";
        checker.report(
            Problem::new(needs.span(), message, "not for services")
                .help("remove it, or make this an [[agent]]"),
        );
    }
    Vec::new()
}

fn refuse_keys_of_services(checker: &mut Checker<'_>, agent: &wire::Service) {
    if let Some(shared) = agent.shared.as_ref().filter(|shared| *shared.get_ref()) {
        let message =
            "an agent can't be shared: it is attached for some arms and detached for all others";
        checker.report(
            Problem::new(shared.span(), message, "for all arms")
                .help("remove `shared`; or make this a [[service]], which runs for all arms"),
        );
    }
    if let Some(user) = &agent.user {
        let message = "an agent can't have a `user`: it runs as the user that runs Windage";
        checker.report(
            Problem::new(user.span(), message, "not for agents")
                .help("remove `user`, or make its own command change the user"),
        );
    }
    if let Some(pod) = &agent.pod {
        let message = "an agent can't be a pod yet";
        checker.report(
            Problem::new(pod.span(), message, "not for agents")
                .help("replace `pod` with `command`, which is launched on the node"),
        );
    }
    if let Some(attach) = &agent.attach {
        let message = "an agent can't be already running: Windage launches it and ends it again";
        checker.report(
            Problem::new(attach.span(), message, "not for agents")
                .help("replace `attach` with `command`, and stop the agent that is running"),
        );
    }
}

fn needs(checker: &mut Checker<'_>, given: Option<&Spanned<Vec<Text>>>) -> Vec<Facility> {
    let words: Vec<(&str, Facility)> = Facility::ALL.iter().map(|f| (f.as_str(), *f)).collect();
    let mut needs = Vec::new();
    for word in given.into_iter().flat_map(Spanned::get_ref) {
        let before = checker.problems.len();
        let facility = checker.word("needs", Some(word), Facility::Bpf, &words);
        if checker.problems.len() > before {
            continue;
        }
        if needs.contains(&facility) {
            let message = format!("`{}` is listed twice", word.get_ref());
            checker.report(Problem::new(word.span(), message, "again here"));
        }
        needs.push(facility);
    }
    needs
}

/// The agents of an arm.
pub(super) struct OfArm {
    pub(super) names: Vec<ServiceName>,
    /// Their places among services and agents; `None` when it names one that is none.
    pub(super) indices: Option<BTreeSet<usize>>,
}

/// The agents that an arm names.
pub(super) fn of_arm(checker: &mut Checker<'_>, arm: &wire::Arm, programs: &[Resolved]) -> OfArm {
    let mut is_known = true;
    let mut indices = BTreeSet::new();
    for given in &arm.agents {
        let name = given.get_ref();
        let found = programs.iter().position(|p| p.name() == name);
        let Some(index) = found.filter(|&index| programs[index].is_agent) else {
            checker.report(no_such_agent(given, found.is_some(), programs));
            is_known = false;
            continue;
        };
        if !indices.insert(index) {
            let message = format!("`{name}` is named twice");
            checker.report(Problem::new(given.span(), message, "again here"));
        }
    }
    // In the order of their launch, which is the file's.
    let name = |&index: &usize| programs[index].service.name.clone();
    OfArm {
        names: indices.iter().map(name).collect(),
        indices: is_known.then_some(indices),
    }
}

fn no_such_agent(given: &Text, is_service: bool, programs: &[Resolved]) -> Problem {
    let name = given.get_ref();
    if is_service {
        let message = format!("`{name}` is a service: it runs in all windows");
        return Problem::new(given.span(), message, "not an agent")
            .help("make it an [[agent]] to attach it only for the arms that name it");
    }
    let known: Vec<&str> = agents(programs).map(Resolved::name).collect();
    let problem = Problem::new(
        given.span(),
        format!("no agent is named `{name}`"),
        "unknown agent",
    );
    problem.help(if known.is_empty() {
        "the plan has no [[agent]]".to_owned()
    } else {
        choices(name, &known)
    })
}

pub(super) fn agents(programs: &[Resolved]) -> impl Iterator<Item = &Resolved> {
    programs.iter().filter(|program| program.is_agent)
}

/// Finds the arms that `bystander_of` names.
pub(super) fn settle_bystanders(
    checker: &mut Checker<'_>,
    file: &PlanFile,
    arms: &mut [FileArm],
    programs: &[Resolved],
) {
    let known = Arms::of(arms);
    let with_agents: BTreeSet<_> = arms
        .iter()
        .zip(&file.arm)
        .filter(|(_, given)| !given.agents.is_empty())
        .flat_map(|(arm, _)| arm.arms.iter().map(|arm| arm.id.clone()))
        .collect();
    let baseline = file.arm.iter().position(is_baseline);
    let of_the_baseline = baseline.map(|index| {
        let FileArm {
            factors,
            variables,
            replaces,
            ..
        } = &arms[index];
        (factors.clone(), variables.clone(), replaces.clone())
    });
    for (given, resolved) in file.arm.iter().zip(arms.iter_mut()) {
        let Some(named) = given.bystander_of.as_ref().filter(|_| !is_baseline(given)) else {
            continue;
        };
        refuse_keys_beside(checker, given, named);
        refuse_without_a_twin(checker, file, named, programs);
        let Some(id) = find(checker, named, &known) else {
            continue;
        };
        if !with_agents.contains(&id) {
            let message = format!("the arm `{}` has no agents", named.get_ref());
            checker.report(
                Problem::new(named.span(), message, "nothing is attached")
                    .help("name an arm that has `agents`"),
            );
        }
        for arm in &mut resolved.arms {
            arm.bystander_of = Some(id.clone());
            arm.instance = CONTROL.to_owned();
        }
        if let Some((factors, variables, replaces)) = &of_the_baseline {
            resolved.factors.clone_from(factors);
            resolved.variables.clone_from(variables);
            resolved.replaces.clone_from(replaces);
        }
    }
}

/// A bystander is the control, measured while the agents of another arm are attached.
fn refuse_keys_beside(checker: &mut Checker<'_>, arm: &wire::Arm, named: &Text) {
    let first = |entries: Option<&Text>| entries.map(Text::span);
    let keys = [
        ("agents", first(arm.agents.first())),
        ("env", first(arm.env.0.first().map(|(key, _)| key))),
        ("args", first(arm.args.0.first().map(|(key, _)| key))),
        ("command", first(arm.command.0.first().map(|(key, _)| key))),
        ("scrape", first(arm.scrape.0.first().map(|(key, _)| key))),
        ("switch", arm.switch.first().map(Spanned::span)),
        ("instance", first(arm.instance.as_ref())),
        ("sweep", first(arm.sweep.0.first().map(|(key, _)| key))),
        ("backend", arm.backend.as_ref().map(Spanned::span)),
        ("expect", arm.expect.as_ref().map(Spanned::span)),
    ];
    for (key, span) in keys {
        let Some(span) = span else { continue };
        let message = format!("`{key}` can't be combined with `bystander_of`");
        let label = "a bystander has all keys of the control";
        checker.report(Problem::new(span, message, label).help(format!(
            "remove `{key}`: a bystander runs on the control's processes, while the agents \
            of `{}` watch that arm's processes",
            named.get_ref()
        )));
    }
}

/// A bystander runs on the control's processes, which must not be the watched ones.
fn refuse_without_a_twin(
    checker: &mut Checker<'_>,
    file: &PlanFile,
    named: &Text,
    programs: &[Resolved],
) {
    let mut subject = programs.iter().filter(|program| program.is_of_a_set());
    let baseline = file.arm.iter().find(|arm| is_baseline(arm));
    let instance = baseline.and_then(|arm| arm.instance.as_ref());
    let (why, help) = if !subject.any(Resolved::launched) {
        (
            "the services are already running, once for all arms",
            "launch them by `command`, or remove the bystander",
        )
    } else if instance.is_some() {
        (
            "the baseline names its `instance`, and the control shares it",
            "remove `instance` from the baseline; arms with agents share its processes by default",
        )
    } else {
        return;
    };
    let message = format!("a bystander needs processes that no agent watches: {why}");
    checker.report(Problem::new(named.span(), message, "no unwatched processes").help(help));
}

/// Refuses agents in the baseline, agents that no arm names, and agents of short-lived processes.
pub(super) fn check(checker: &mut Checker<'_>, file: &PlanFile, programs: &[Resolved]) {
    for given in file.arm.iter().filter(|arm| is_baseline(arm)) {
        let keys = [
            ("agents", given.agents.first().map(Text::span)),
            ("bystander_of", given.bystander_of.as_ref().map(Text::span)),
        ];
        for (key, span) in keys {
            let Some(span) = span else {
                continue;
            };
            let message =
                format!("the baseline can't have `{key}`: all agents are detached in its windows");
            checker.report(Problem::new(span, message, "not for the baseline"));
        }
    }
    for agent in agents(programs) {
        refuse_never_attached(checker, file, agent);
        refuse_batches(checker, file, agent);
    }
}

fn refuse_never_attached(checker: &mut Checker<'_>, file: &PlanFile, agent: &Resolved) {
    let name = agent.name();
    let is_service = |service: &wire::Service| service.name.get_ref() == name;
    // A name that a service also has was already reported.
    if file.service.iter().any(is_service) {
        return;
    }
    let mut named = file.arm.iter().flat_map(|arm| &arm.agents);
    if named.any(|given| given.get_ref() == name) {
        return;
    }
    let message = format!("no arm names the agent `{name}`");
    let problem = Problem::new(agent.name_span.clone(), message, "never attached");
    checker.report(problem.help(format!(
        "write agents = [\"{name}\"] in the arms for which it should be attached"
    )));
}

/// With one process per window, there is nothing to attach to before the window or after it.
fn refuse_batches(checker: &mut Checker<'_>, file: &PlanFile, agent: &Resolved) {
    if !load::is_by_process(file) {
        return;
    }
    let message = "an agent can't watch a load that starts a process for each window";
    checker.report(
        Problem::new(agent.name_span.clone(), message, "nothing to attach to")
            .help("keep the program running: batch = \"resident\" in [load]"),
    );
}
