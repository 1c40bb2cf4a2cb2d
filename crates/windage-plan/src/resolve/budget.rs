//! `[[budget]]`.

use crate::wire::Spanned;
use windage_model::{
    ArmId, ArmIndex, Budget, BudgetOf, Direction, Expected, Limit, LoadModel, Metric, Override,
    Role,
};

use super::checker::Checker;
use super::file_arm::FileArm;
use crate::plan::Arm;
use crate::problem::choices;
use crate::wire::{self, PlanFile, Text};
use crate::{Problem, budget, defaults};

/// A budget whose arms are known by id: the control is not among the arms yet.
pub(super) struct Unplaced {
    held: Held,
    at_most: Limit,
    warn_above: Option<Limit>,
    overridden: Option<Override>,
}

impl Unplaced {
    pub(super) fn placed(self, arms: &[Arm]) -> Budget {
        Budget {
            of: self.held.of,
            arms: self.held.placed(arms),
            metric: self.held.metric,
            at_most: self.at_most,
            warn_above: self.warn_above,
            overridden: self.overridden,
            confidence: self.held.confidence,
        }
    }
}

/// What a budget or a claim is about.
pub(super) struct Held {
    of: BudgetOf,
    pub(super) metric: Metric,
    pub(super) arms: Vec<ArmId>,
    pub(super) confidence: f64,
}

impl Held {
    /// Budgets and claims have these keys in common. `what` is "a budget", for example.
    pub(super) fn resolve(
        checker: &mut Checker<'_>,
        file: &PlanFile,
        arms: &[FileArm],
        model: Option<LoadModel>,
        given: Given<'_>,
    ) -> Option<Held> {
        let metric = metric(checker, &given, model);
        let held = match given.arms {
            Some(named) => named_arms(checker, file, named, arms, given),
            None => possible(arms, given.of).collect(),
        };
        if held.is_empty() && given.arms.is_none() {
            let message = format!("{} needs an arm with telemetry", given.what);
            let span = given.metric.span();
            checker.report(Problem::new(span, message, "the plan has none"));
        }
        if metric == Some(Metric::TelemetryLost) {
            let is_asked = |expect: &Expected| expect.given().any(|(_, n)| n > 0.0);
            let lacking = held
                .iter()
                .find(|arm| !arm.expect.as_ref().is_some_and(is_asked));
            if let Some(arm) = lacking {
                let message = format!("the arm `{}` expects no telemetry", arm.name);
                let problem = Problem::new(given.metric.span(), message, "lost of how much?");
                checker.report(problem.help(
                    "give it expect = { spans_per_request = 4 }, for example, or name the other arms in `arms`",
                ));
            }
        }
        let held = held.into_iter().map(|arm| arm.id.clone()).collect();
        let confidence = confidence(checker, given.confidence);
        Some(Held {
            of: given.of,
            metric: metric?,
            arms: held,
            confidence,
        })
    }

    pub(super) fn placed(&self, arms: &[Arm]) -> Vec<ArmIndex> {
        let indexed = (0u16..).map(ArmIndex).zip(arms);
        let held = indexed.filter(|(_, arm)| self.arms.contains(&arm.id));
        held.map(|(index, _)| index).collect()
    }

    /// A limit in per cent or in the metric's unit.
    pub(super) fn limit(&self, checker: &mut Checker<'_>, given: &Text) -> Option<Limit> {
        let found = budget::limit_of(self.of, self.metric, given.get_ref());
        let report = |message| checker.report(Problem::new(given.span(), message, "not a limit"));
        found.map_err(report).ok()
    }
}

/// The keys of a budget or a claim that say what it is about.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) what: &'static str,
    pub(super) of: BudgetOf,
    pub(super) metric: &'a Text,
    pub(super) arms: Option<&'a Spanned<Vec<Text>>>,
    pub(super) confidence: Option<&'a Spanned<wire::Scalar>>,
}

/// All budgets that have no problem.
pub(super) fn resolve_all(
    checker: &mut Checker<'_>,
    file: &PlanFile,
    arms: &[FileArm],
    model: Option<LoadModel>,
) -> Vec<Unplaced> {
    let budgets = file.budget.iter();
    let resolved: Vec<Unplaced> = budgets
        .filter_map(|given| resolve(checker, file, given, arms, model))
        .collect();
    let stop = file.design.stop.as_ref().map(Spanned::get_ref);
    let stop = stop.and_then(|stop| stop.budgets.as_ref());
    if let Some(stop) = stop.filter(|stop| *stop.get_ref())
        && file.budget.is_empty()
    {
        let problem = Problem::new(stop.span(), "the plan has no budget", "never decided");
        checker.report(problem.help("add a [[budget]], or stop at a `half_width`"));
    }
    resolved
}

fn resolve(
    checker: &mut Checker<'_>,
    file: &PlanFile,
    given: &wire::Budget,
    arms: &[FileArm],
    model: Option<LoadModel>,
) -> Option<Unplaced> {
    let of = given.of.as_ref().map_or(Some(BudgetOf::Cost), |word| {
        let found = BudgetOf::from_name(word.get_ref());
        if found.is_none() {
            let message = format!("`{}` is nothing that a budget limits", word.get_ref());
            let problem = Problem::new(word.span(), message, "unknown");
            checker.report(problem.help("one of: \"cost\", \"change\", \"own\""));
        }
        found
    })?;
    let about = Given {
        what: "a budget",
        of,
        metric: &given.metric,
        arms: given.arms.as_ref(),
        confidence: given.confidence.as_ref(),
    };
    let held = Held::resolve(checker, file, arms, model, about)?;
    let at_most = held.limit(checker, &given.at_most);
    let warn_above = given.warn_above.as_ref();
    let warn_above = warn_above.map(|given| (given, held.limit(checker, given)));
    let overridden = given.overridden.as_ref();
    let overridden = overridden.map(|given| (given, resolve_override(checker, &held, given)));
    let at_most = at_most?;
    let warn_above = match warn_above {
        Some((given, limit)) => Some(below(checker, given, limit?, at_most)?),
        None => None,
    };
    if let Some((given, Some(of))) = &overridden {
        same_scale(checker, ("at_most", at_most), &given.at_most, of.at_most)?;
    }
    Some(Unplaced {
        held,
        at_most,
        warn_above,
        overridden: overridden.and_then(|(_, of)| of),
    })
}

/// A limit from which on there is a warning, if it is below the one that is exceeded.
fn below(checker: &mut Checker<'_>, given: &Text, limit: Limit, at_most: Limit) -> Option<Limit> {
    same_scale(checker, ("at_most", at_most), given, limit)?;
    if limit.value() < at_most.value() {
        return Some(limit);
    }
    let message = format!("`{}` is not below `at_most`", given.get_ref());
    checker.report(Problem::new(given.span(), message, "it would never warn"));
    None
}

fn resolve_override(
    checker: &mut Checker<'_>,
    held: &Held,
    given: &wire::Override,
) -> Option<Override> {
    if given.reason.get_ref().trim().is_empty() {
        let problem = Problem::new(given.reason.span(), "an override needs a reason", "empty");
        checker.report(problem);
    }
    let until = given.until.get_ref();
    if !budget::is_day(until) {
        let message = format!("`{until}` is not a day");
        let problem = Problem::new(given.until.span(), message, "the last day of the override");
        checker.report(problem.help("for example \"2027-01-31\""));
    }
    Some(Override {
        at_most: held.limit(checker, &given.at_most)?,
        reason: given.reason.get_ref().clone(),
        until: until.clone(),
    })
}

/// Reports a limit that is on another scale than the one that it goes with.
pub(super) fn same_scale(
    checker: &mut Checker<'_>,
    (key, limit): (&str, Limit),
    given: &Text,
    other: Limit,
) -> Option<()> {
    if std::mem::discriminant(&limit) == std::mem::discriminant(&other) {
        return Some(());
    }
    let message = format!("`{}` is on another scale than `{key}`", given.get_ref());
    let problem = Problem::new(given.span(), message, "the other one differs");
    checker.report(problem.help("write both in per cent of the baseline, or both in one unit"));
    None
}

fn metric(
    checker: &mut Checker<'_>,
    given: &Given<'_>,
    model: Option<LoadModel>,
) -> Option<Metric> {
    let name = given.metric.get_ref();
    let model = model?;
    let is_total =
        |metric: &Metric| matches!(metric, Metric::CpuPerRequest | Metric::CpuPerIteration);
    let allowed = |metric: &Metric| {
        let is_kind = match given.of {
            BudgetOf::Cost => true,
            BudgetOf::Change => is_total(metric),
            // A limit from above says nothing about what should be high.
            BudgetOf::Own => metric.direction() == Direction::Lower,
        };
        budget::can_have(*metric, model) && is_kind
    };
    let found = Metric::from_name(name);
    if found.is_some_and(|metric| allowed(&metric)) {
        return found;
    }
    let (message, label) = match found {
        None => (format!("`{name}` is not a metric"), "no such metric"),
        Some(_) if given.of == BudgetOf::Change => (
            format!("the change of `{name}` can't have a budget"),
            "not a total of CPU",
        ),
        Some(metric) if given.of == BudgetOf::Own && metric.direction() == Direction::Higher => (
            format!("`{name}` can't have a budget of its own: more of it is better"),
            "a limit from above says nothing",
        ),
        Some(_) => (
            format!("`{name}` can't have {} under this load", given.what),
            "not measured, or fixed by the load",
        ),
    };
    let all = Metric::ALL.iter().copied().filter(allowed);
    let names: Vec<&str> = all.map(Metric::as_str).collect();
    let problem = Problem::new(given.metric.span(), message, label);
    checker.report(problem.help(choices(name, &names)));
    None
}

/// The arms that have a cost; the service without telemetry can change as well.
fn possible(arms: &[FileArm], of: BudgetOf) -> impl Iterator<Item = &Arm> {
    let all = arms.iter().flat_map(|of| &of.arms);
    let is = move |role| role == Role::Treatment || of == BudgetOf::Change;
    all.filter(move |arm| is(arm.role) && arm.bystander_of.is_none())
}

/// Arms by id or name; the name of an arm that is swept stands for all its levels.
fn named_arms<'a>(
    checker: &mut Checker<'_>,
    file: &PlanFile,
    named: &Spanned<Vec<Text>>,
    arms: &'a [FileArm],
    Given { what, of, .. }: Given<'_>,
) -> Vec<&'a Arm> {
    if named.get_ref().is_empty() {
        let problem = Problem::new(named.span(), format!("{what} for no arm"), "empty");
        let help = format!("remove `arms` for {what} of every arm with telemetry");
        checker.report(problem.help(help));
    }
    let mut held = Vec::new();
    for text in named.get_ref() {
        let name = text.get_ref();
        let swept = file.arm.iter().zip(arms);
        let swept = swept.filter(|(given, _)| given.name.get_ref() == name);
        let mut meant: Vec<&Arm> = swept
            .flat_map(|(_, levels)| possible(std::slice::from_ref(levels), of))
            .chain(possible(arms, of).filter(|arm| arm.id.as_str() == name || arm.name == *name))
            .collect();
        if meant.is_empty() {
            let names: Vec<&str> = possible(arms, of).map(|arm| arm.name.as_str()).collect();
            let message = format!("no arm with telemetry is named `{name}`");
            let problem = Problem::new(text.span(), message, "unknown arm");
            checker.report(problem.help(choices(name, &names)));
        }
        held.append(&mut meant);
    }
    held
}

fn confidence(checker: &mut Checker<'_>, given: Option<&Spanned<wire::Scalar>>) -> f64 {
    let Some(given) = given else {
        return defaults::BUDGET_CONFIDENCE;
    };
    let confidence = checker.share("confidence", given);
    if confidence.is_some_and(|share| share <= 0.5) {
        let message = "`confidence` must be above 50%";
        let problem = Problem::new(given.span(), message, "a guess would be as sure");
        checker.report(problem.help("for example \"95%\""));
    }
    confidence.unwrap_or(defaults::BUDGET_CONFIDENCE)
}
