//! `expect`: how much telemetry should arrive.

use std::ops::Range;

use crate::wire::Spanned;
use windage_model::Expected;

use super::checker::Checker;
use super::file_arm::Levels;
use crate::Problem;
use crate::expect::{self, ExpectError};
use crate::problem::choices;
use crate::wire::{self, Scalar};

/// A problem was found and reported.
pub(super) struct Reported;

/// What the arm should deliver with these levels.
pub(super) fn expect_of(
    checker: &mut Checker<'_>,
    arm: &wire::Arm,
    levels: &Levels,
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
    ];
    if all.iter().all(|given| given.is_none()) {
        checker.report(Problem::new(
            expect.span(),
            "`expect` needs `traces_per_request`, `spans_per_request`, `events_per_request` or `records_per_request`",
            "empty",
        ));
        return Err(Reported);
    }
    let [traces, spans, events, records] =
        all.map(|given| expected(checker, given.as_ref(), levels));
    Ok(Some(Expected {
        traces_per_request: traces?,
        spans_per_request: spans?,
        events_per_request: events?,
        records_per_request: records?,
    }))
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
