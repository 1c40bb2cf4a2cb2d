//! `expect`: how much telemetry should arrive.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use windage_model::{Expected, LoadModel, PointsPerInterval};

use super::checker::Checker;
use super::file_arm::{FileArm, Levels, is_baseline};
use crate::Problem;
use crate::expect::{self, ExpectError};
use crate::load::{BatchKind, Load};
use crate::plan::{OnDeath, ServiceName};
use crate::problem::choices;
use crate::wire::{self, PlanFile, Scalar, Spanned};

/// How often points can come.
const INTERVAL: RangeInclusive<Duration> = Duration::from_millis(10)..=Duration::from_hours(1);

/// A problem was found and reported.
pub(super) struct Reported;

/// What the arm should deliver with these levels.
pub(super) fn expect_of(
    checker: &mut Checker<'_>,
    arm: &wire::Arm,
    levels: &Levels,
    scrape: &BTreeMap<ServiceName, Duration>,
) -> Result<Option<Expected>, Reported> {
    let Some(expect) = &arm.expect else {
        return Ok(None);
    };
    let keys = expect.get_ref();
    let all = [
        &keys.traces_per_request,
        &keys.spans_per_request,
        &keys.events_per_request,
        &keys.records_per_request,
        &keys.points_per_interval,
    ];
    if all.iter().all(|given| given.is_none()) {
        checker.report(Problem::new(
            expect.span(),
            "`expect` needs `traces_per_request`, `spans_per_request`, `events_per_request`, `records_per_request` or \
             `points_per_interval`",
            "empty",
        ));
        return Err(Reported);
    }
    let [traces, spans, events, records, points] =
        all.map(|given| expected(checker, given.as_ref(), levels));
    let interval = interval(checker, keys, scrape)?;
    Ok(Some(Expected {
        traces_per_request: traces?,
        spans_per_request: spans?,
        events_per_request: events?,
        records_per_request: records?,
        points: points?
            .zip(interval)
            .map(|(points, interval)| PointsPerInterval { points, interval }),
    }))
}

/// The interval of points: as given, or else that of the arm's scrapes.
fn interval(
    checker: &mut Checker<'_>,
    keys: &wire::Expect,
    scrape: &BTreeMap<ServiceName, Duration>,
) -> Result<Option<Duration>, Reported> {
    let Some(points) = &keys.points_per_interval else {
        let Some(interval) = &keys.interval else {
            return Ok(None);
        };
        let message = "`interval` has no effect without `points_per_interval`";
        checker.report(Problem::new(interval.span(), message, "of what?"));
        return Err(Reported);
    };
    if keys.interval.is_some() {
        let before = checker.problems.len();
        let found = checker.duration(
            "interval",
            keys.interval.as_ref(),
            *INTERVAL.start(),
            INTERVAL,
        );
        return if checker.problems.len() > before {
            Err(Reported)
        } else {
            Ok(Some(found))
        };
    }
    let mut intervals = scrape.values();
    match (intervals.next(), intervals.next()) {
        (Some(every), None) => Ok(Some(*every)),
        _ => {
            let message = "`points_per_interval` needs an `interval`";
            let problem = Problem::new(points.span(), message, "how often?");
            checker.report(problem.help(
                "give the interval of the exporter, as it is configured: interval = \"60s\" is the default of SDKs",
            ));
            Err(Reported)
        }
    }
}

/// Points come by time, so whose they are must not depend on which arm has load, and how long they come must
/// be known.
pub(super) fn refuse_points(
    checker: &mut Checker<'_>,
    file: &PlanFile,
    arms: &[FileArm],
    load: &Load,
    on_death: OnDeath,
) {
    let is_attached = |of: &wire::Service| of.attach.is_some();
    let why_no_arm = if arms.iter().any(|arm| !arm.agents.is_empty()) {
        Some("agents are attached and detached in between")
    } else if load.model == LoadModel::Batch && load.batch == BatchKind::Process {
        Some("its processes last for one window each")
    } else if file.service.iter().any(is_attached) {
        Some("all arms share a service that is attached to")
    } else if on_death == OnDeath::Continue {
        Some("with `on_death = \"continue\"` an arm may be dead for a part of the time")
    } else {
        None
    };
    for (wire, arm) in file.arm.iter().zip(arms) {
        let expect = wire.expect.as_ref().map(Spanned::get_ref);
        let Some(points) = expect.and_then(|keys| keys.points_per_interval.as_ref()) else {
            continue;
        };
        let Some(why) = why_no_arm.or_else(|| shares(wire, arm, arms)) else {
            continue;
        };
        let message = format!(
            "the arm `{}` can't expect points: {why}",
            wire.name.get_ref()
        );
        checker.report(Problem::new(points.span(), message, "they come by time"));
    }
}

/// Whether other arms have the same processes; the control has those of a baseline that names an instance.
fn shares(wire: &wire::Arm, arm: &FileArm, arms: &[FileArm]) -> Option<&'static str> {
    let instance = &arm.arms.first()?.instance;
    let all = arms.iter().flat_map(|of| &of.arms);
    let same = all.filter(|of| of.instance == *instance).count();
    let has_the_control = is_baseline(wire) && wire.instance.is_some();
    (same > 1 || has_the_control).then_some("it shares its processes with other arms")
}

fn expected(
    checker: &mut Checker<'_>,
    given: Option<&Spanned<Scalar>>,
    levels: &Levels,
) -> Result<Option<f64>, Reported> {
    let Some(value) = given else { return Ok(None) };
    let evaluated = match value.get_ref() {
        Scalar::Text(text) => expect::evaluate(text, levels),
        Scalar::Float(n) => expect::bounded(*n),
        // Counts of spans per request are far below 2^53, up to which f64 holds every integer.
        Scalar::Integer(n) => expect::bounded(*n as f64),
        Scalar::Bool(b) => Err(ExpectError::NotAFactorOrNumber(b.to_string())),
    };
    match evaluated {
        Ok(number) => Ok(Some(number)),
        Err(error) => {
            checker.report(expect_problem(value.span(), &error, levels));
            Err(Reported)
        }
    }
}

fn expect_problem(span: Range<usize>, error: &ExpectError, levels: &Levels) -> Problem {
    let known: Vec<&str> = levels.iter().map(|(factor, _)| factor.as_str()).collect();
    match error {
        ExpectError::UnknownFactor(name) => {
            let problem = Problem::new(
                span,
                format!("`{{{name}}}` is not a factor of this arm"),
                "not a factor of this arm",
            );
            if known.is_empty() {
                problem.help("the arm has no `sweep`; write a number")
            } else {
                problem.help(choices(name, &known))
            }
        }
        ExpectError::NotAFactorOrNumber(part) => Problem::new(
            span,
            format!("`{part}` is neither a number nor a factor"),
            "can't be evaluated",
        )
        .help("write a number, \"{factor}\", or a product such as \"2 * {factor}\""),
        ExpectError::NotNumeric { factor, level } => Problem::new(
            span,
            format!("the level `{level}` of `{factor}` is not a number"),
            "can't be evaluated",
        ),
        ExpectError::OutOfRange => Problem::new(
            span,
            "the expected count per request must be a finite number, zero or above",
            "out of bounds",
        ),
    }
}
