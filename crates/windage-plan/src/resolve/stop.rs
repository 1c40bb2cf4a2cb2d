//! `design.stop`.

use std::time::Duration;

use toml::Spanned;
use windage_model::{LoadModel, Metric, Order};

use super::design::{MAX_ROUNDS, MEASURED, share};
use super::service::Resolved;
use super::{Checker, Problem};
use crate::plan::{Attach, Origin};
use crate::problem::choices;
use crate::wire::{self, StopWhen};
use crate::{Stop, defaults};

/// What a stop is judged against.
pub(super) struct Ground<'a> {
    /// `None` when it is wrong itself.
    pub(super) model: Option<LoadModel>,
    pub(super) services: &'a [Resolved],
}

impl Ground<'_> {
    pub(super) fn has_agents(&self) -> bool {
        self.services.iter().any(|program| program.is_agent)
    }
}

/// `None` without a stop, and for one that is wrong.
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

/// The rounds of a run that may be stopped; `within` decides where the plan is silent.
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
                format!("{rounds} rounds are too few to be stopped"),
                format!("1, or {fewest} and more"),
            )
            .help(
                "over so few launches no interval holds however often one looks; leave `rounds` \
                 out, or write 1 for a result that holds for one launch alone",
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
                format!("`{key}` and `stop` both say how much is measured"),
                "beside `stop`",
            )
            .help("keep one of them: with `stop`, its `within` bounds the measuring time"),
        );
    }
}

fn refuse_sequences(checker: &mut Checker<'_>, design: &wire::Design) {
    let sequential = Order::Sequential.as_str();
    if let Some(order) = design.order.as_ref().filter(|o| o.get_ref() == sequential) {
        checker.report(
            Problem::new(
                order.span(),
                format!("a `{sequential}` run can't be stopped before its end"),
                "beside `stop`",
            )
            .help(
                "one arm after another, nothing can be compared until the last one is measured; \
                   leave `order` out, or give `for` instead of `stop`",
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
            format!("`{name}` is not a metric that a run can wait for"),
            "no such metric",
        ),
        Some(_) => (
            format!("a run under this load can't wait for `{name}`"),
            "not of each window, or fixed by the load",
        ),
    };
    let names: Vec<&str> = allowed.iter().map(|metric| metric.as_str()).collect();
    let problem = Problem::new(stop.metric.span(), message, label);
    checker.report(problem.help(choices(name, &names)));
    None
}

/// The processes behind a bare address are out of reach, and so is what they use.
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
                format!("the CPU of `{name}` can't be read: it is reached by its address alone"),
                "never known",
            )
            .help("attach it by `pid`, `cgroup` or `unit`, or wait for another metric"),
        );
    }
}

fn half_width(checker: &mut Checker<'_>, given: &Spanned<wire::Scalar>) -> Option<f64> {
    let half_width = share(checker, "half_width", given)?;
    if half_width > 0.0 {
        return Some(half_width);
    }
    checker.report(
        Problem::new(
            given.span(),
            "`half_width` must be above zero",
            "never reached",
        )
        .help("half a percent is \"0.5%\""),
    );
    None
}
