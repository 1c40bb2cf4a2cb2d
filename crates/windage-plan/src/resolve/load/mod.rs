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

use super::service::Resolved;
use super::{Checker, PATIENCE};
use crate::load::{BatchKind, Load, Protocol};
use crate::wire::PlanFile;
use crate::{Host, defaults};

pub(super) use regimes::regimes;

pub(super) use host::{authority_problem, url_parts};
pub(super) use requests::method_and_url;

const MODELS: &[(&str, LoadModel)] = &[
    ("open", LoadModel::Open),
    ("closed", LoadModel::Closed),
    ("batch", LoadModel::Batch),
];

/// What requests are judged against.
struct Ground<'a> {
    services: &'a [Resolved],
    allow: &'a [Host],
    protocol: Protocol,
    /// Whether a Unix socket is connected to: the URL's host is a label then.
    by_socket: bool,
}

/// How load is put on; `None` when the word is unknown.
pub(super) fn model(file: &PlanFile) -> Option<LoadModel> {
    let word = file.load.model.get_ref();
    let known = MODELS.iter().find(|(known, _)| known == word);
    known.map(|(_, model)| *model)
}

/// `window` is there unless it is wrong itself.
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
        iterations: checker.integer(
            "iterations",
            load.iterations.as_ref(),
            defaults::ITERATIONS,
            1..=i64::MAX,
        ),
        allow,
    }
}
