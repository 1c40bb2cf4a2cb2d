//! `design.stop`.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::wire::Spanned;
use windage_model::{LoadModel, Metric, Order, Until};

use super::checker::{Checker, DAY, INSTANT};
use super::resolved::Resolved;
use crate::plan::{Attach, Origin};
use crate::problem::choices;
use crate::wire::{self, StopWhen, Text};
use crate::{Problem, Stop, defaults};

/// The bounds of measuring time.
pub(super) const MEASURED: RangeInclusive<Duration> = INSTANT..=WEEK;
const WEEK: Duration = Duration::from_secs(7 * DAY.as_secs());
/// The most rounds of a run.
pub(super) const MAX_ROUNDS: i64 = 1000;

/// What the checks of a stop need.
pub(super) struct Ground<'a> {
    /// `None` when it is invalid.
    pub(super) model: Option<LoadModel>,
    pub(super) services: &'a [Resolved],
}

impl Ground<'_> {
    pub(super) fn has_agents(&self) -> bool {
        self.services.iter().any(|program| program.is_agent)
    }
}

/// `None` without a stop, or for an invalid one.
pub(super) fn resolve(
    checker: &mut Checker<'_>,
    design: &wire::Design,
    ground: &Ground<'_>,
) -> Option<Stop> {
    let given = design.stop.as_ref()?;
    refuse_other_lengths(checker, design);
    refuse_sequences(checker, design);
    let stop = given.get_ref();
    let until = match &stop.budgets {
        Some(budgets) => until_budgets(checker, stop, budgets),
        None => until_known(checker, given, ground),
    };
    let within = Some(&stop.within);
    let within = checker.duration("within", within, defaults::MEASURING_TIME, MEASURED);
    Some(Stop {
        until: until?,
        within,
    })
}

fn until_known(
    checker: &mut Checker<'_>,
    given: &Spanned<StopWhen>,
    ground: &Ground<'_>,
) -> Option<Until> {
    let stop = given.get_ref();
    let mut key = |key: &str, is_given: bool| {
        if !is_given {
            let message = format!("the key `{key}` is missing");
            checker.report(Problem::new(
                given.span(),
                message,
                format!("needs `{key}`"),
            ));
        }
    };
    key("metric", stop.metric.is_some());
    key("half_width", stop.half_width.is_some());
    let metric = stop.metric.as_ref().map(|of| metric(checker, of, ground));
    let half_width = stop.half_width.as_ref().map(|of| half_width(checker, of));
    Some(Until::Known {
        metric: metric??,
        half_width: half_width??,
    })
}

fn until_budgets(
    checker: &mut Checker<'_>,
    stop: &StopWhen,
    budgets: &Spanned<bool>,
) -> Option<Until> {
    let metric = stop.metric.as_ref().map(|of| ("metric", of.span()));
    let half_width = stop.half_width.as_ref().map(|of| ("half_width", of.span()));
    for (key, span) in metric.into_iter().chain(half_width) {
        let message = format!("`{key}` and `budgets` can't be combined: both say when to stop");
        checker.report(Problem::new(span, message, "conflicts with `budgets`"));
    }
    if *budgets.get_ref() {
        return Some(Until::Budgets);
    }
    let problem = Problem::new(budgets.span(), "`budgets` can only be true", "no rule");
    checker.report(problem.help("remove it, and give `metric` and `half_width`"));
    None
}

/// The rounds of a run that may be stopped; by default they follow from `within`.
pub(super) fn rounds(
    checker: &mut Checker<'_>,
    given: Option<&Spanned<i64>>,
    within: Duration,
) -> u32 {
    let rounds = checker.integer(
        "rounds",
        given,
        defaults::rounds_within(within),
        1..=MAX_ROUNDS,
    );
    if let Some(given) = given.filter(|_| !Stop::allows(rounds)) {
        let fewest = Stop::FEWEST_ROUNDS;
        checker.report(
            Problem::new(
                given.span(),
                format!("`stop` can't be used with {rounds} rounds"),
                format!("needs 1, or at least {fewest}"),
            )
            .help(
                "so few launches give no interval that holds at every look; remove `rounds`, \
                 or write 1 for a result that holds for one launch only",
            ),
        );
    }
    rounds
}

fn refuse_other_lengths(checker: &mut Checker<'_>, design: &wire::Design) {
    let time = design
        .measuring_time
        .as_ref()
        .map(|time| ("for", time.span()));
    let blocks = design
        .blocks
        .as_ref()
        .map(|blocks| ("blocks", blocks.span()));
    for (key, span) in time.into_iter().chain(blocks) {
        checker.report(
            Problem::new(
                span,
                format!("`{key}` and `stop` can't be combined: both set the length of the run"),
                "conflicts with `stop`",
            )
            .help("keep one; the `within` of `stop` limits the measuring time"),
        );
    }
}

fn refuse_sequences(checker: &mut Checker<'_>, design: &wire::Design) {
    let sequential = Order::Sequential.as_str();
    if let Some(order) = design.order.as_ref().filter(|o| o.get_ref() == sequential) {
        checker.report(
            Problem::new(
                order.span(),
                format!("a `{sequential}` run can't have a `stop`"),
                "conflicts with `stop`",
            )
            .help(
                "it can compare arms only after the last one is measured; remove `order`, or use \
                 `for` instead of `stop`",
            ),
        );
    }
}

fn metric(checker: &mut Checker<'_>, given: &Text, ground: &Ground<'_>) -> Option<Metric> {
    let name = given.get_ref();
    let models = match &ground.model {
        Some(model) => std::slice::from_ref(model),
        None => &[LoadModel::Closed, LoadModel::Batch],
    };
    let allowed: Vec<Metric> = models
        .iter()
        .flat_map(|&model| Stop::metrics(model))
        .copied()
        .collect();
    let metric = Metric::from_name(name);
    if let Some(metric) = metric.filter(|metric| allowed.contains(metric)) {
        refuse_unread_cpu(checker, given, metric, ground);
        return Some(metric);
    }
    let (message, label) = match metric {
        None => (
            format!("`{name}` is not a metric that `stop` can use"),
            "no such metric",
        ),
        Some(_) => (
            format!("`stop` can't use `{name}` under this load"),
            "not measured in each window, or fixed by the load",
        ),
    };
    let names: Vec<&str> = allowed.iter().map(|metric| metric.as_str()).collect();
    let problem = Problem::new(given.span(), message, label);
    checker.report(problem.help(choices(name, &names)));
    None
}

/// The CPU of a service attached by its address alone can't be read.
fn refuse_unread_cpu(checker: &mut Checker<'_>, given: &Text, metric: Metric, ground: &Ground<'_>) {
    let of_the_subject = matches!(
        metric,
        Metric::CpuPerRequest | Metric::CpuInWindow | Metric::CpuPerIteration
    );
    let by_address = ground.services.iter().find(|resolved| {
        let service = &resolved.service;
        !service.shared && matches!(service.origin, Origin::Attach(Attach::Url(_)))
    });
    if let Some(resolved) = by_address.filter(|_| of_the_subject) {
        let name = resolved.name();
        checker.report(
            Problem::new(
                given.span(),
                format!("the CPU of `{name}` can't be read: it is attached by its address alone"),
                "never measured",
            )
            .help("attach it by `pid`, `cgroup` or `unit`, or use another metric"),
        );
    }
}

fn half_width(checker: &mut Checker<'_>, given: &Spanned<wire::Scalar>) -> Option<f64> {
    let half_width = checker.share("half_width", given)?;
    if half_width > 0.0 {
        return Some(half_width);
    }
    checker.report(
        Problem::new(
            given.span(),
            "`half_width` must be above zero",
            "never reached",
        )
        .help("for example, half a percent is \"0.5%\""),
    );
    None
}
