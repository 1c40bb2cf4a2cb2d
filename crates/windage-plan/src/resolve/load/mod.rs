//! `[load]`.

mod connect;
mod fields;
mod host;
mod models;
mod regimes;
mod requests;
mod starts;
mod tables;

use std::time::Duration;

use windage_model::LoadModel;

use crate::load::{AUTO, BatchKind, FlushWhen, Iterations, Load};
use crate::resolve::checker::{Checker, PATIENCE};
use crate::resolve::resolved::Resolved;
use crate::wire::{self, PlanFile, Scalar};
use crate::{Problem, defaults};
use host::Ground;
use models::MODELS;

pub(super) use regimes::regimes;

pub(super) use host::{authority_problem, url_parts};
pub(super) use requests::method_and_url;

/// The load's model; `None` when the word is unknown.
pub(super) fn model(file: &PlanFile) -> Option<LoadModel> {
    let word = file.load.model.get_ref();
    let known = MODELS.iter().find(|(known, _)| known == word);
    known.map(|(_, model)| *model)
}

/// Whether each window is one process.
pub(super) fn is_by_process(file: &PlanFile) -> bool {
    let kind = file.load.batch.as_ref().map(wire::Text::get_ref);
    let resident = BatchKind::Resident.as_str();
    model(file) == Some(LoadModel::Batch) && kind.is_none_or(|kind| kind != resident)
}

/// `window` is `None` when the plan's window is invalid.
pub(super) fn resolve(
    checker: &mut Checker<'_>,
    file: &PlanFile,
    services: &[Resolved],
    window: Option<Duration>,
) -> Load {
    let load = &file.load;
    let model = model(file);
    match model {
        Some(model) => models::check(checker, load, model),
        None => {
            checker.word("model", Some(&load.model), LoadModel::Closed, MODELS);
        }
    }
    let model = model.unwrap_or(LoadModel::Closed);
    let allow = host::allow(checker, &load.allow);
    host::refuse_remote_services(checker, services, &allow);
    let protocol = connect::protocol(checker, load);
    let ground = Ground {
        services,
        allow: &allow,
        protocol,
        by_socket: load.unix.is_some(),
    };
    let (request, flows) = requests::resolve(checker, load, &ground);
    let tls = connect::tls(checker, load);
    let (fields, tables) = fields::resolve(checker, file, services);
    let (starts, rate_per_s) = starts::resolve(checker, load, window);
    let lanes = connect::lanes(checker, load, model);
    Load {
        regime: None,
        model,
        rate_per_s,
        starts,
        arrivals: starts::arrivals(checker, load),
        protocol,
        streams: lanes.streams,
        threads: lanes.threads,
        connections: lanes.connections,
        connections_max: lanes.connections_max,
        tls,
        unix: connect::unix(checker, load.unix.as_ref()),
        request,
        flows,
        fields,
        tables,
        timeout: checker.duration(
            "timeout",
            load.timeout.as_ref(),
            defaults::TIMEOUT,
            PATIENCE,
        ),
        cpus: checker.cpus(load.cpus.as_ref()),
        batch: checker.word(
            "batch",
            load.batch.as_ref(),
            BatchKind::Process,
            BatchKind::WORDS,
        ),
        iterations: iterations(checker, load),
        flush: flush(checker, load),
        allow,
    }
}

/// Only a resident program can be asked to flush.
fn flush(checker: &mut Checker<'_>, load: &wire::Load) -> FlushWhen {
    if let Some(given) = &load.flush
        && !is_resident(load)
    {
        checker.report(
            Problem::new(
                given.span(),
                "`flush` needs a resident program: a process for each window flushes when it exits",
                "only for a resident program",
            )
            .help("add `batch = \"resident\"`, or remove `flush`"),
        );
    }
    let given = load.flush.as_ref();
    checker.word("flush", given, defaults::FLUSH, FlushWhen::WORDS)
}

fn is_resident(load: &wire::Load) -> bool {
    let batch = load.batch.as_ref();
    batch.is_some_and(|batch| batch.get_ref() == BatchKind::Resident.as_str())
}

/// The iterations in a window of a batch load: a number, or as many as fill the window.
fn iterations(checker: &mut Checker<'_>, load: &wire::Load) -> Iterations {
    let Some(given) = &load.iterations else {
        return defaults::ITERATIONS;
    };
    let problem = match given.get_ref() {
        Scalar::Integer(number) => match u64::try_from(*number) {
            Ok(number) if number > 0 => return Iterations::Fixed(number),
            _ => Problem::new(
                given.span(),
                "`iterations` must be 1 or more",
                "out of bounds",
            ),
        },
        Scalar::Text(word) if word == AUTO && is_resident(load) => return Iterations::Auto,
        Scalar::Text(word) if word == AUTO => Problem::new(
            given.span(),
            "`iterations = \"auto\"` needs a resident program",
            "only for a resident program",
        )
        .help("add `batch = \"resident\"`, or give the number of iterations of one process"),
        _ => Problem::new(
            given.span(),
            "`iterations` is a whole number or \"auto\"",
            "neither",
        ),
    };
    checker.report(problem);
    defaults::ITERATIONS
}
