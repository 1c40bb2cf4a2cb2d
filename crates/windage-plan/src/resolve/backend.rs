//! `backend`: how an arm's receivers behave.

use std::ops::Range;

use crate::wire::Spanned;
use windage_model::{Backend, BackendError};

use super::checker::Checker;
use super::file_arm::{FileArm, Levels};
use super::resolved::Resolved;
use super::site::Site;
use crate::sink::RECEIVER_PLACEHOLDERS;
use crate::wire::{self, OneOrMore, PlanFile, Scalar, Text};
use crate::{ArmBackend, Problem, Template};

/// The factor that a list of backends defines.
pub(super) const FACTOR: &str = "backend";

/// A list of backends as a factor and its levels; `None` for anything else.
pub(super) fn as_factor(
    checker: &mut Checker<'_>,
    arm: &wire::Arm,
) -> Option<(Text, Spanned<Vec<Spanned<Scalar>>>)> {
    let value = arm.backend.as_ref()?;
    let OneOrMore::More(list) = value.get_ref() else {
        return None;
    };
    if arm.sweep.0.iter().any(|(name, _)| name.get_ref() == FACTOR) {
        let message = "a list of backends is a factor named `backend`, and `sweep` already has one";
        checker.report(
            Problem::new(value.span(), message, "swept twice")
                .help("remove the one in `sweep`, or write backend = \"{backend}\""),
        );
        return None;
    }
    for words in list {
        // Placeholders in levels are reported elsewhere.
        let is_literal = Template::parse(words.get_ref())
            .placeholders()
            .next()
            .is_none();
        if let Err(error) = words.get_ref().parse::<Backend>()
            && is_literal
        {
            checker.report(problem(words.span(), &error));
        }
    }
    let level = |words: &Text| Spanned::new(words.span(), Scalar::Text(words.get_ref().clone()));
    let levels = list.iter().map(level).collect();
    Some((
        Spanned::new(value.span(), FACTOR.to_owned()),
        Spanned::new(value.span(), levels),
    ))
}

/// An arm's `backend`, levels not filled in yet.
pub(super) struct Given {
    words: Template,
    span: Range<usize>,
    /// Whether unreadable words were reported already; a sweep reports them once.
    told: bool,
}

/// `None` for an arm without `backend`.
pub(super) fn given(checker: &mut Checker<'_>, index: usize, arm: &wire::Arm) -> Option<Given> {
    let value = arm.backend.as_ref()?;
    let (text, told) = match value.get_ref() {
        OneOrMore::One(text) => (text.clone(), false),
        // Each entry was checked by itself.
        OneOrMore::More(_) => (format!("{{{FACTOR}}}"), true),
    };
    Some(Given {
        words: checker.placeholders_of(&text, value.span(), Site::ArmBackend { arm: index }),
        span: value.span(),
        told,
    })
}

impl Given {
    /// The backend that the words give with these levels; `None` when they can't be read.
    pub(super) fn with(
        &mut self,
        checker: &mut Checker<'_>,
        levels: &Levels,
    ) -> Option<ArmBackend> {
        let level = |name: &str| levels.iter().find(|(factor, _)| factor == name);
        let fill = |name: &str| level(name).map(|(_, level)| level.to_string());
        // Unknown factors are reported with all other placeholders.
        let text = self.words.render(&fill).ok()?;
        match text.parse() {
            Ok(behaviour) => Some(ArmBackend {
                words: self.words.clone(),
                behaviour,
            }),
            Err(error) => {
                if !self.told {
                    self.told = true;
                    checker.report(problem(self.span.clone(), &error));
                }
                None
            }
        }
    }
}

fn problem(span: Range<usize>, error: &BackendError) -> Problem {
    let text = error.to_string();
    let (message, allowed) = text.split_once("; ").unwrap_or((&text, ""));
    Problem::new(span, message, "not a backend").help(allowed)
}

/// Gives a backend to every arm that names a receiver, and refuses one in all others. Returns
/// whether any arm names a receiver.
pub(super) fn settle(
    checker: &mut Checker<'_>,
    file: &PlanFile,
    arms: &mut [FileArm],
    services: &[Resolved],
) -> bool {
    let mut any_receives = false;
    for (index, (file_arm, arm)) in arms.iter_mut().zip(&file.arm).enumerate() {
        let receives = checker
            .uses
            .iter()
            .any(|used| used.names_receiver() && used.reaches(index, file_arm, services));
        any_receives |= receives;
        match &arm.backend {
            None if receives => {
                for arm in &mut file_arm.arms {
                    arm.backend = Some(ArmBackend {
                        words: Template::parse(&Backend::Ok.to_string()),
                        behaviour: Backend::Ok,
                    });
                }
            }
            Some(given) if !receives => {
                let name = arm.name.get_ref();
                let message = format!("the arm `{name}` has a `backend`, but names no receiver");
                checker.report(
                    Problem::new(given.span(), message, "no receiver")
                        .help(format!("{}, or remove `backend`", name_a_receiver())),
                );
            }
            _ => {}
        }
    }
    any_receives
}

/// The remedy when no receiver is named.
pub(super) fn name_a_receiver() -> String {
    let names: Vec<String> = RECEIVER_PLACEHOLDERS
        .iter()
        .map(|name| format!("`{{{name}}}`"))
        .collect();
    format!(
        "name a receiver where the exporter's endpoint is configured: {}",
        names.join(", ")
    )
}
