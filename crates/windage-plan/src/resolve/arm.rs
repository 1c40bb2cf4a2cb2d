//! `[[arm]]`: names, sweeps, what each arm adds.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use crate::wire::Spanned;
use windage_model::{ArmId, Role};

use super::checker::Checker;
use super::expected::expect_of;
use super::file_arm::{CONTROL, FileArm, Levels, MAX_ARMS, is_baseline};
use super::resolved::Resolved;
use super::service;
use super::site::Site;
use super::sweep;
use super::{agent, backend, pod, switch};
use crate::plan::{Arm, ServiceName};
use crate::problem::choices;
use crate::wire::{self, Entries, PlanFile, Text};
use crate::{Problem, Template};

const MAX_NAME_BYTES: usize = 120;
/// How often a service can be scraped. More often, scraping itself would be the load.
const SCRAPED: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_hours(1);
/// In the place of an interval that can't be read.
const SCRAPED_EVERY: Duration = Duration::from_secs(15);

pub(super) fn resolve_all(
    checker: &mut Checker<'_>,
    file: &PlanFile,
    services: &[Resolved],
) -> Vec<FileArm> {
    one_baseline(checker, file);
    let mut taken: BTreeMap<String, String> = BTreeMap::new();
    let mut count = 0;
    let mut resolved = Vec::with_capacity(file.arm.len());
    for (index, arm) in file.arm.iter().enumerate() {
        let file_arm = resolve(checker, index, arm, services, MAX_ARMS - count);
        count += file_arm.arms.len();
        for arm in &file_arm.arms {
            unique(checker, &mut taken, arm, file_arm.name_span.clone());
        }
        resolved.push(file_arm);
    }
    resolved
}

/// The baseline, its control, then the treatments in file order.
pub(super) fn with_control(file_arms: Vec<FileArm>) -> Vec<Arm> {
    let explicit = |a: &FileArm| a.instance_span.is_some();
    let shares = file_arms
        .iter()
        .any(|a| explicit(a) && a.arms.iter().any(|a| a.role == Role::Baseline));
    let arms = file_arms.into_iter().flat_map(|a| a.arms);
    let (mut baseline, treatments): (Vec<Arm>, Vec<Arm>) =
        arms.partition(|arm| arm.role == Role::Baseline);
    let control = baseline.first().cloned().map(|baseline| Arm {
        id: ArmId::from_text(CONTROL).unwrap_or_else(|| baseline.id.clone()),
        name: CONTROL.to_owned(),
        about: None,
        role: Role::Control,
        instance: if shares {
            baseline.instance.clone()
        } else {
            CONTROL.to_owned()
        },
        ..baseline
    });
    let as_the_baseline = |arm: Arm| match (baseline.first(), &arm.bystander_of) {
        (Some(baseline), Some(_)) => bystander(arm, baseline),
        _ => arm,
    };
    let treatments: Vec<Arm> = treatments.into_iter().map(as_the_baseline).collect();
    baseline.extend(control);
    baseline.extend(treatments);
    baseline
}

/// A bystander equals the control, and so the baseline, in all but its name.
fn bystander(arm: Arm, baseline: &Arm) -> Arm {
    let baseline = baseline.clone();
    Arm {
        levels: baseline.levels,
        env: baseline.env,
        args: baseline.args,
        command: baseline.command,
        patch: baseline.patch,
        scrape: baseline.scrape,
        switch: baseline.switch,
        restore: baseline.restore,
        backend: baseline.backend,
        expect: baseline.expect,
        ..arm
    }
}

fn one_baseline(checker: &mut Checker<'_>, file: &PlanFile) {
    let mut baselines = file.arm.iter().filter(|arm| is_baseline(arm));
    match (baselines.next(), file.arm.first()) {
        (Some(first), _) => {
            for again in baselines {
                let span = again
                    .baseline
                    .as_ref()
                    .map_or(again.name.span(), Spanned::span);
                let message = format!("a second baseline; the first is `{}`", first.name.get_ref());
                checker.report(
                    Problem::new(span, message, "only one arm can be the baseline")
                        .help("remove it here; Windage adds a control to every plan"),
                );
            }
        }
        (None, Some(arm)) => checker.report(
            Problem::new(arm.name.span(), "no arm is the baseline", "the first arm")
                .help("write `baseline = true` in the arm without telemetry"),
        ),
        (None, None) => checker.report(
            Problem::new(
                file.name.span(),
                "the plan has no `[[arm]]`",
                "nothing to compare",
            )
            .help("add one with `baseline = true`, and one for each telemetry setting"),
        ),
    }
}

fn unique(
    checker: &mut Checker<'_>,
    taken: &mut BTreeMap<String, String>,
    arm: &Arm,
    span: Range<usize>,
) {
    let id = arm.id.as_str();
    if id == CONTROL {
        let message = "the name `control` is reserved: Windage adds a control to every plan";
        checker.report(Problem::new(span, message, "reserved").help("give the arm another name"));
    } else if let Some(other) = taken.get(id) {
        let message = if *other == arm.name {
            format!("two arms are named `{other}`")
        } else {
            format!(
                "the arms `{other}` and `{}` get the same id `{id}`",
                arm.name
            )
        };
        checker.report(
            Problem::new(span, message, "named again here").help(
                "an id keeps only lower-cased letters, digits, `.` and `_` of the name; names must differ in these",
            ),
        );
    } else {
        taken.insert(id.to_owned(), arm.name.clone());
    }
}

fn resolve(
    checker: &mut Checker<'_>,
    index: usize,
    arm: &wire::Arm,
    services: &[Resolved],
    room: usize,
) -> FileArm {
    let baseline = is_baseline(arm);
    let instance = arm
        .instance
        .as_ref()
        .map(|instance| self::instance(checker, instance));
    refuse_env_without_launch(checker, arm, services);
    let env = service::env(checker, &arm.env, |_| Site::ArmEnv { arm: index });
    let agents = agent::of_arm(checker, arm, services);
    let words_for = |key| WordsFor {
        arm: index,
        name: arm.name.get_ref(),
        key,
        agents: agents.indices.as_ref(),
        services,
    };
    let (args, _) = words_by_service(checker, &words_for("args"), words(&arm.args));
    let (command, replaces) = words_by_service(checker, &words_for("command"), commands(arm));
    for (_, words) in &arm.command.0 {
        checker.words(words.get_ref(), words.span());
    }
    let patch = pod::patches(checker, &arm.patch, services);
    let scrape = scraped(checker, &words_for("scrape"), arm);
    let switch = switch::resolve(checker, index, &arm.switch, services);
    let restore = switch::restore(checker, index, arm, services);
    let factors = sweep::factors(checker, arm, services);
    let combinations = sweep::combinations(checker, arm, &factors, baseline, room);
    let mut given_backend = backend::given(checker, index, arm);
    let mut expectable = true;
    let mut arms = Vec::with_capacity(combinations.len());
    for levels in combinations {
        let name = name_with_levels(arm.name.get_ref(), &levels);
        let Some(id) = id(checker, &name, arm.name.span()) else {
            break;
        };
        let backend = given_backend
            .as_mut()
            .and_then(|given| given.with(checker, &levels));
        // One report for a sweep is enough.
        let expect = if expectable {
            expect_of(checker, arm, &levels, &scrape)
        } else {
            Ok(None)
        };
        expectable = expect.is_ok();
        arms.push(Arm {
            instance: instance.clone().unwrap_or_else(|| id.as_str().to_owned()),
            id,
            name,
            about: arm.about.clone(),
            role: if baseline {
                Role::Baseline
            } else {
                Role::Treatment
            },
            levels,
            env: env.clone(),
            args: args.clone(),
            command: command.clone(),
            patch: patch.clone(),
            scrape: scrape.clone(),
            switch: switch.clone(),
            restore: restore.clone(),
            backend,
            expect: expect.unwrap_or(None),
            // Settled when all arms are known.
            adds_to: None,
            agents: agents.names.clone(),
            bystander_of: None,
            same_as: None,
            checkout: None,
        });
    }
    FileArm {
        arms,
        name_span: arm.name.span(),
        instance_span: arm.instance.as_ref().map(Text::span),
        factors: factors.into_iter().map(|f| (f.name, f.span)).collect(),
        variables: arm
            .env
            .0
            .iter()
            .map(|(key, _)| key.get_ref().clone())
            .collect(),
        replaces,
        agents_known: agents.indices.is_some(),
        agents: agents.indices.unwrap_or_default(),
    }
}

/// The id of an arm of that name, levels included. Reports a bad name.
fn id(checker: &mut Checker<'_>, name: &str, span: Range<usize>) -> Option<ArmId> {
    if name.trim().is_empty() || name.chars().any(char::is_control) || name.len() > MAX_NAME_BYTES {
        let message =
            format!("an arm's name, levels included, is one line of 1 to {MAX_NAME_BYTES} bytes");
        checker.report(Problem::new(span, message, "not an arm's name"));
        return None;
    }
    // The id is also a file name, which must not be hidden or lead elsewhere.
    let id = ArmId::from_text(name).filter(|id| !id.as_str().starts_with('.'));
    if id.is_none() {
        checker.report(
            Problem::new(
                span,
                format!("the name `{name}` gives no id"),
                "not an arm's name",
            )
            .help("begin with a letter or a digit"),
        );
    }
    id
}

/// Names in a resolved plan already contain the levels; they are not added twice.
fn name_with_levels(name: &str, levels: &Levels) -> String {
    let suffix: String = levels
        .iter()
        .map(|(factor, level)| format!(", {factor} {level}"))
        .collect();
    if name.ends_with(&suffix) {
        name.to_owned()
    } else {
        format!("{name}{suffix}")
    }
}

fn instance(checker: &mut Checker<'_>, instance: &Text) -> String {
    let text = instance.get_ref();
    let as_id = ArmId::from_text(text).filter(|id| id.as_str() == text && !text.starts_with('.'));
    if as_id.is_none() || text == CONTROL {
        checker.report(
            Problem::new(
                instance.span(),
                format!("`{text}` can't name an instance"),
                "not an instance's name",
            )
            .help("use lower-case letters, digits, `.`, `_` and `-`; `control` is reserved"),
        );
    }
    text.clone()
}

fn refuse_env_without_launch(checker: &mut Checker<'_>, arm: &wire::Arm, services: &[Resolved]) {
    let subject = || services.iter().filter(|s| s.is_of_a_set());
    if subject().next().is_none() || subject().any(Resolved::launched) {
        return;
    }
    if let Some((key, _)) = arm.env.0.first() {
        let message = "`env` has no effect: the plan launches no service for an arm";
        checker.report(
            Problem::new(key.span(), message, "no effect")
                .help("use `switch` to change services that are already running"),
        );
    }
}

/// A table's entries as service, list.
type WordLists<'a> = Vec<(&'a Text, &'a [Text])>;

fn words(entries: &Entries<Vec<Text>>) -> WordLists<'_> {
    entries
        .0
        .iter()
        .map(|(key, words)| (key, words.as_slice()))
        .collect()
}

fn commands(arm: &wire::Arm) -> WordLists<'_> {
    arm.command
        .0
        .iter()
        .map(|(key, words)| (key, words.get_ref().as_slice()))
        .collect()
}

/// `scrape`: whose metrics are read, and how often.
fn scraped(
    checker: &mut Checker<'_>,
    of: &WordsFor<'_>,
    arm: &wire::Arm,
) -> BTreeMap<ServiceName, Duration> {
    let mut by_service = BTreeMap::new();
    for (key, every) in &arm.scrape.0 {
        let Some(index) = of.reached(checker, key) else {
            continue;
        };
        let every = checker.duration("scrape", Some(every), SCRAPED_EVERY, SCRAPED);
        by_service.insert(of.services[index].service.name.clone(), every);
    }
    by_service
}

/// Whose `args`, `command` or `scrape` is read.
struct WordsFor<'a> {
    arm: usize,
    name: &'a str,
    key: &'static str,
    /// The agents that are attached for the arm; `None` when that is not known.
    agents: Option<&'a BTreeSet<usize>>,
    services: &'a [Resolved],
}

/// `args` or `command`, and the services and agents that they are for.
fn words_by_service(
    checker: &mut Checker<'_>,
    of: &WordsFor<'_>,
    lists: WordLists<'_>,
) -> (BTreeMap<ServiceName, Vec<Template>>, BTreeSet<usize>) {
    let mut by_service = BTreeMap::new();
    let mut indices = BTreeSet::new();
    for (key, words) in lists {
        let Some(index) = of.reached(checker, key) else {
            continue;
        };
        let site = Site::ArmService {
            arm: of.arm,
            service: index,
        };
        let service = of.services[index].service.name.clone();
        by_service.insert(service, checker.templates(words, &site));
        indices.insert(index);
    }
    (by_service, indices)
}

impl WordsFor<'_> {
    /// The service of that name. Reports one that is unknown or out of reach.
    fn reached(&self, checker: &mut Checker<'_>, key: &Text) -> Option<usize> {
        let name = key.get_ref();
        let Some(index) = self.services.iter().position(|s| s.name() == name) else {
            let known: Vec<&str> = self.services.iter().map(Resolved::name).collect();
            let problem = Problem::new(
                key.span(),
                format!("no service is named `{name}`"),
                "unknown service",
            );
            checker.report(problem.help(choices(name, &known)));
            return None;
        };
        if let Some(problem) = self.out_of_reach(index, key) {
            checker.report(problem);
        }
        Some(index)
    }

    /// Why an arm's key doesn't reach a service or an agent, if it doesn't.
    fn out_of_reach(&self, index: usize, key: &Text) -> Option<Problem> {
        let (target, name, what) = (&self.services[index], key.get_ref(), self.key);
        let is_elsewhere = |agents: &BTreeSet<usize>| !agents.contains(&index);
        if target.is_agent && self.agents.is_some_and(is_elsewhere) {
            let message = format!("the arm `{}` doesn't attach the agent `{name}`", self.name);
            let problem = Problem::new(key.span(), message, "not attached for this arm");
            return Some(problem.help(format!("add it: agents = [\"{name}\"]")));
        }
        if target.service.shared {
            let message = format!("`{name}` is shared: it is launched once for all arms");
            let label = format!("one arm's `{what}` can't reach it");
            return Some(Problem::new(key.span(), message, label));
        }
        if !target.launched() {
            let message = format!("`{name}` is already running, so `{what}` can't reach it");
            let problem = Problem::new(key.span(), message, "not launched");
            return Some(match what {
                "scrape" => problem,
                _ => problem.help("use `switch` to change it"),
            });
        }
        None
    }
}
