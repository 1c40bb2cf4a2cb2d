//! `[load.fields]`: values that differ from request to request.

use crate::wire::Spanned;

use super::tables::Tables;
use crate::load::{Field, Table};
use crate::plan::ServiceName;
use crate::resolve::checker::{Checker, reserved};
use crate::resolve::resolved::Resolved;
use crate::wire::{self, PlanFile, Text};
use crate::{Problem, defaults};

pub(super) fn resolve(
    checker: &mut Checker<'_>,
    file: &PlanFile,
    services: &[Resolved],
) -> (Vec<(String, Field)>, Vec<Table>) {
    let mut tables = Tables::default();
    let mut fields = Vec::with_capacity(file.load.fields.0.len());
    for (name, given) in &file.load.fields.0 {
        check_name(checker, name, file, services);
        let field = field(checker, given, &mut tables);
        fields.push((name.get_ref().clone(), field));
    }
    (fields, tables.finish())
}

/// A field's name is a placeholder and must be unambiguous.
fn check_name(checker: &mut Checker<'_>, name: &Text, file: &PlanFile, services: &[Resolved]) {
    let text = name.get_ref();
    let mut factors = file.arm.iter().flat_map(|arm| &arm.sweep.0);
    let (message, label, help) = if let Some(list) = reserved(text) {
        (
            format!("`{text}` can't name a field: it is a reserved placeholder"),
            "reserved",
            list,
        )
    } else if services.iter().any(|service| service.name() == text) {
        (
            format!("`{text}` can't name a field: a service has that name"),
            "hides the service's address",
            "choose another name".to_owned(),
        )
    } else if factors.any(|(factor, _)| factor.get_ref() == text) {
        (
            format!("`{text}` can't name a field: a factor has that name"),
            "hides the factor's level",
            "choose another name".to_owned(),
        )
    } else if ServiceName::new(text).is_none() {
        (
            format!("`{text}` can't name a field"),
            "not a field's name",
            "use lower-case letters, digits and `_`, a letter first".to_owned(),
        )
    } else {
        return;
    };
    checker.report(Problem::new(name.span(), message, label).help(help));
}

fn field(checker: &mut Checker<'_>, given: &Spanned<wire::Field>, tables: &mut Tables) -> Field {
    let keys = given.get_ref();
    refuse_keys_of_others(checker, keys);
    match (&keys.counter, &keys.random, &keys.csv) {
        (Some(from), None, None) => Field::Counter {
            from: checker.integer("counter", Some(from), 0, 0..=i64::MAX),
            step: checker.integer(
                "step",
                keys.step.as_ref(),
                defaults::COUNTER_STEP,
                1..=i64::MAX,
            ),
        },
        (None, Some(range), None) => random(checker, range),
        (None, None, Some(path)) => tables.column(checker, path, keys, given.span()),
        _ => {
            checker.report(
                Problem::new(
                    given.span(),
                    "a field needs exactly one of `counter`, `random` and `csv`",
                    "exactly one is needed",
                )
                .help(
                    "such as { counter = 1 }, { random = [1, 1000] } or { csv = \"users.csv\", \
                     column = \"id\" }",
                ),
            );
            Field::Counter { from: 0, step: 1 }
        }
    }
}

fn refuse_keys_of_others(checker: &mut Checker<'_>, keys: &wire::Field) {
    let has_csv = keys.csv.is_some();
    let others = [
        (
            "step",
            keys.step.as_ref().map(Spanned::span),
            keys.counter.is_some(),
            "counter",
        ),
        (
            "column",
            keys.column.as_ref().map(Text::span),
            has_csv,
            "csv",
        ),
        ("order", keys.order.as_ref().map(Text::span), has_csv, "csv"),
    ];
    for (key, span, has_owner, owner) in others {
        if let Some(span) = span.filter(|_| !has_owner) {
            let message = format!("`{key}` needs `{owner}`");
            checker.report(
                Problem::new(span, message, format!("only with `{owner}`"))
                    .help(format!("remove `{key}`")),
            );
        }
    }
}

fn random(checker: &mut Checker<'_>, range: &Spanned<Vec<i64>>) -> Field {
    let bounds = match range.get_ref().as_slice() {
        [low, high] => u64::try_from(*low).ok().zip(u64::try_from(*high).ok()),
        _ => None,
    };
    match bounds {
        Some((low, high)) if low < high => Field::Random { low, high },
        _ => {
            checker.report(
                Problem::new(
                    range.span(),
                    "`random` takes a lowest and a highest number, both 0 or more",
                    "not [LOW, HIGH]",
                )
                .help("such as random = [1, 1000]; both ends are included"),
            );
            Field::Random { low: 0, high: 1 }
        }
    }
}
