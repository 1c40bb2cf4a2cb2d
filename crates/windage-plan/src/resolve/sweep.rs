//! `sweep`, including a list of `backend`s: expands factors into combinations of levels.

use std::ops::Range;

use crate::wire::Spanned;
use windage_model::LevelValue;

use super::backend;
use super::checker::{Checker, reserved};
use super::file_arm::{Levels, MAX_ARMS};
use super::resolved::Resolved;
use crate::plan::ServiceName;
use crate::wire::{self, Scalar};
use crate::{Problem, Template};

/// A factor of one `[[arm]]`.
pub(super) struct Factor {
    pub(super) name: String,
    /// The position of its name.
    pub(super) span: Range<usize>,
    levels: Vec<LevelValue>,
}

/// The factors of an arm in file order; the factor of a list of backends comes last.
pub(super) fn factors(
    checker: &mut Checker<'_>,
    arm: &wire::Arm,
    services: &[Resolved],
) -> Vec<Factor> {
    let swept = arm.sweep.0.iter().map(|(name, levels)| (name, levels));
    let backends = backend::as_factor(checker, arm);
    let backends = backends.iter().map(|(name, levels)| (name, levels));
    swept
        .chain(backends)
        .map(|(name, levels)| {
            factor_name(checker, name, services);
            Factor {
                name: name.get_ref().clone(),
                span: name.span(),
                levels: factor_levels(checker, name.get_ref(), levels),
            }
        })
        .collect()
}

/// Every combination of levels; the last factor changes fastest.
pub(super) fn combinations(
    checker: &mut Checker<'_>,
    arm: &wire::Arm,
    factors: &[Factor],
    baseline: bool,
    room: usize,
) -> Vec<Levels> {
    let count = factors
        .iter()
        .try_fold(1_usize, |n, factor| n.checked_mul(factor.levels.len()));
    if count.is_none_or(|count| count > room) {
        let message = format!("the plan expands to more than {MAX_ARMS} arms");
        checker.report(
            Problem::new(arm.name.span(), message, "this arm exceeds the limit")
                .help("sweep fewer levels, or split the plan"),
        );
        return Vec::new();
    }
    if baseline && count != Some(1) && count != Some(0) {
        let message = "the baseline can't be swept: it must be one arm";
        checker.report(
            Problem::new(arm.name.span(), message, "has several levels")
                .help("give each factor a single level"),
        );
        return Vec::new();
    }
    let mut combinations = vec![Vec::new()];
    for factor in factors {
        let with = |so_far: &Levels, level: &LevelValue| {
            let mut more = so_far.clone();
            more.push((factor.name.clone(), level.clone()));
            more
        };
        combinations = combinations
            .iter()
            .flat_map(|c| factor.levels.iter().map(move |l| with(c, l)))
            .collect();
    }
    combinations
}

fn factor_name(checker: &mut Checker<'_>, name: &wire::Text, services: &[Resolved]) {
    let text = name.get_ref();
    let problem = if let Some(list) = reserved(text) {
        let message = format!("`{text}` can't name a factor: it is a reserved placeholder");
        Problem::new(name.span(), message, "reserved").help(list)
    } else if services.iter().any(|s| s.name() == text) {
        let message = format!("`{text}` can't name a factor: a service has that name");
        let help = if text == backend::FACTOR {
            "a list of backends is a factor of that name; sweep a factor of another name, and use it in `backend`"
        } else {
            "give one of them another name"
        };
        Problem::new(name.span(), message, "named twice").help(help)
    } else if ServiceName::new(text).is_none() {
        Problem::new(
            name.span(),
            format!("`{text}` can't name a factor"),
            "not a factor's name",
        )
        .help("use lower-case letters, digits and `_`, a letter first")
    } else {
        return;
    };
    checker.report(problem);
}

fn factor_levels(
    checker: &mut Checker<'_>,
    factor: &str,
    levels: &Spanned<Vec<Spanned<Scalar>>>,
) -> Vec<LevelValue> {
    if levels.get_ref().is_empty() {
        let message = format!("the factor `{factor}` has no levels");
        let problem = Problem::new(levels.span(), message, "an empty list");
        checker.report(problem.help("give at least one level"));
    }
    let mut values: Vec<LevelValue> = Vec::with_capacity(levels.get_ref().len());
    for level in levels.get_ref() {
        match level_value(level.get_ref()) {
            Ok(value) if values.contains(&value) => {
                let message = format!("the factor `{factor}` has the level `{value}` twice");
                checker.report(Problem::new(level.span(), message, "again here"));
            }
            Ok(value) => values.push(value),
            Err(message) => checker.report(Problem::new(level.span(), message, "not a level")),
        }
    }
    values
}

fn level_value(level: &Scalar) -> Result<LevelValue, &'static str> {
    match level {
        // As text, a count reaches a command line as written in the plan: `1024`, not `1024.0`.
        Scalar::Integer(n) => Ok(LevelValue::Text(n.to_string())),
        Scalar::Bool(b) => Ok(LevelValue::Text(b.to_string())),
        Scalar::Float(n) if n.is_finite() => Ok(LevelValue::Number(*n)),
        Scalar::Float(_) => Err("a level must be a finite number"),
        Scalar::Text(text) if text.chars().any(char::is_control) => {
            Err("a level must be one line without control characters: it is part of the arm's name")
        }
        Scalar::Text(text) if Template::parse(text).placeholders().next().is_some() => {
            Err("a level can't contain a placeholder: levels are literal")
        }
        Scalar::Text(text) => Ok(LevelValue::Text(text.clone())),
    }
}
