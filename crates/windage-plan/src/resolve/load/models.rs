//! Keys that one load model needs and another can't use.

use std::ops::Range;

use crate::wire::Spanned;
use windage_model::LoadModel;

use crate::Problem;
use crate::resolve::checker::Checker;
use crate::wire::{self, Text};

/// A key, where it was given, and the models that can use it.
type OwnKey = (&'static str, Option<Range<usize>>, &'static [LoadModel]);

/// The words for the models.
pub(super) const MODELS: &[(&str, LoadModel)] = &[
    ("open", LoadModel::Open),
    ("closed", LoadModel::Closed),
    ("batch", LoadModel::Batch),
];
const OPEN: &[LoadModel] = &[LoadModel::Open];
const LOOPS: &[LoadModel] = &[LoadModel::Open, LoadModel::Closed];
const BATCH: &[LoadModel] = &[LoadModel::Batch];

pub(super) fn check(checker: &mut Checker<'_>, load: &wire::Load, model: LoadModel) {
    let name = model.as_str();
    for (key, span, models) in keys(load) {
        if let Some(span) = span.filter(|_| !models.contains(&model)) {
            let words: Vec<String> = models.iter().map(|m| format!("`{}`", m.as_str())).collect();
            let only = words.join(" and ");
            let message = format!("`{key}` doesn't apply to a load of model `{name}`");
            checker.report(
                Problem::new(span, message, format!("only for {only}"))
                    .help(format!("remove `{key}`, or change `model`")),
            );
        }
    }
    let starts = load.rate.is_some() || load.profile.is_some() || load.replay.is_some();
    if model == LoadModel::Open && !starts {
        checker.report(
            Problem::new(
                load.model.span(),
                "an open load needs a `rate`",
                "at which rate?",
            )
            .help(
                "add the intended starts per second, such as rate = \"2000/s\"; or a `profile`; or \
                 recorded starts with `replay`",
            ),
        );
    }
    if model != LoadModel::Batch && load.request.is_none() && load.flow.is_empty() {
        let message = format!("a load of model `{name}` needs a `request`");
        checker.report(
            Problem::new(load.model.span(), message, "nothing to send").help(
                "add it, with a service's name in braces: request = \"GET http://{app}/\"; or \
                 add several in a [[load.flow]]",
            ),
        );
    }
}

fn keys(load: &wire::Load) -> [OwnKey; 20] {
    let text = |text: &Option<Text>| text.as_ref().map(Text::span);
    let number = |number: &Option<Spanned<i64>>| number.as_ref().map(Spanned::span);
    let first_header = load.headers.0.first().map(|(key, _)| key.span());
    let first_field = load.fields.0.first().map(|(key, _)| key.span());
    let first_flow = load.flow.first().map(|flow| flow.steps.span());
    [
        ("rate", text(&load.rate), OPEN),
        ("profile", load.profile.as_ref().map(Spanned::span), OPEN),
        ("replay", text(&load.replay), OPEN),
        ("arrivals", text(&load.arrivals), OPEN),
        ("protocol", text(&load.protocol), LOOPS),
        ("streams", number(&load.streams), LOOPS),
        ("threads", number(&load.threads), LOOPS),
        ("connections", number(&load.connections), LOOPS),
        ("connections_max", number(&load.connections_max), OPEN),
        ("tls", load.tls.as_ref().map(Spanned::span), LOOPS),
        ("unix", text(&load.unix), LOOPS),
        ("request", text(&load.request), LOOPS),
        ("headers", first_header, LOOPS),
        ("body", text(&load.body), LOOPS),
        ("body_file", text(&load.body_file), LOOPS),
        ("fields", first_field, LOOPS),
        ("flow", first_flow, LOOPS),
        ("batch", text(&load.batch), BATCH),
        (
            "iterations",
            load.iterations.as_ref().map(Spanned::span),
            BATCH,
        ),
        ("flush", text(&load.flush), BATCH),
    ]
}
