//! `design.stop`.

use std::ops::RangeInclusive;
use std::time::Duration;

use toml::Spanned;
use windage_model::{LoadModel, Metric, Order};

use super::checker::{Checker, DAY, INSTANT};
use super::resolved::Resolved;
use crate::plan::{Attach, Origin};
use crate::problem::choices;
use crate::wire::{self, StopWhen};
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
    let metric = metric(checker, stop, ground);
    let half_width = half_width(checker, &stop.half_width);
    let within = Some(&stop.within);
    let within = checker.duration("within", within, defaults::MEASURING_TIME, MEASURED);
    Some(Stop {
        metric: metric?,
        half_width: half_width?,
        within,
    })
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

fn metric(checker: &mut Checker<'_>, stop: &StopWhen, ground: &Ground<'_>) -> Option<Metric> {
    let name = stop.metric.get_ref();
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
        refuse_unread_cpu(checker, stop, metric, ground);
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
    let problem = Problem::new(stop.metric.span(), message, label);
    checker.report(problem.help(choices(name, &names)));
    None
}

/// The CPU of a service attached by its address alone can't be read.
fn refuse_unread_cpu(
    checker: &mut Checker<'_>,
    stop: &StopWhen,
    metric: Metric,
    ground: &Ground<'_>,
) {
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
                stop.metric.span(),
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
