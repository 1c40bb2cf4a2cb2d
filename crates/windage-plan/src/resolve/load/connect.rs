//! Connections to the subject: protocol, TLS, Unix socket, and the numbers of connections, streams
//! and threads.

use std::path::PathBuf;

use crate::wire::Spanned;
use windage_model::LoadModel;

use super::requests;
use crate::load::{HTTPS, Protocol, Tls};
use crate::resolve::checker::Checker;
use crate::resolve::site::Site;
use crate::wire::{self, Text};
use crate::{Host, Problem, Template, defaults};

const MAX_CONNECTIONS: i64 = 65_535;
const MAX_STREAMS: i64 = 1000;
const MAX_THREADS: i64 = 64;

pub(super) fn protocol(checker: &mut Checker<'_>, load: &wire::Load) -> Protocol {
    let given = load.protocol.as_ref();
    let before = checker.problems.len();
    let protocol = checker.word("protocol", given, Protocol::Http1, Protocol::WORDS);
    let is_known = checker.problems.len() == before;
    if let Some(streams) = load.streams.as_ref().filter(|_| is_known)
        && protocol == Protocol::Http1
    {
        let message = "`streams` doesn't apply to HTTP/1.1, which has one exchange at a time";
        checker.report(
            Problem::new(streams.span(), message, "only for HTTP/2")
                .help("remove `streams`, or add protocol = \"h2\""),
        );
    }
    protocol
}

/// How many exchanges run at once, and over how many connections.
pub(super) struct Lanes {
    pub(super) streams: u32,
    pub(super) threads: u32,
    pub(super) connections: u32,
    pub(super) connections_max: u32,
}

pub(super) fn lanes(checker: &mut Checker<'_>, load: &wire::Load, model: LoadModel) -> Lanes {
    let (streams, threads) = (load.streams.as_ref(), load.threads.as_ref());
    let given = load.connections.as_ref();
    let most = load.connections_max.as_ref();
    let number = 1..=MAX_CONNECTIONS;
    let connections: u32 =
        checker.integer("connections", given, defaults::CONNECTIONS, number.clone());
    let lanes = Lanes {
        streams: checker.integer("streams", streams, defaults::STREAMS, 1..=MAX_STREAMS),
        threads: checker.integer("threads", threads, defaults::THREADS, 1..=MAX_THREADS),
        connections,
        connections_max: checker.integer("connections_max", most, connections, number),
    };
    if let Some(most) = most.filter(|_| model == LoadModel::Open)
        && lanes.connections_max < connections
    {
        let message = format!(
            "`connections_max` is {}, but `connections` is {connections}",
            lanes.connections_max
        );
        checker.report(
            Problem::new(most.span(), message, "fewer than at the start").help(
                "it limits how many connections may be opened: set it to `connections` or more",
            ),
        );
    }
    if let Some(threads) = threads {
        enough_for_threads(checker, load, threads, &lanes);
    }
    lanes
}

/// A thread needs a core and a connection of its own.
fn enough_for_threads(
    checker: &mut Checker<'_>,
    load: &wire::Load,
    span: &Spanned<i64>,
    lanes: &Lanes,
) {
    let threads = lanes.threads;
    let cores = load.cpus.as_ref().map(|cpus| cpus.get_ref().len());
    if let Some(cores) = cores.filter(|cores| (1..threads as usize).contains(cores)) {
        let message = format!("`threads` is {threads}, but `cpus` has {cores}");
        checker.report(
            Problem::new(span.span(), message, "more threads than cores")
                .help("threads that share a core send late; list more cores in `cpus`"),
        );
    }
    if threads > lanes.connections {
        let message = format!(
            "`threads` is {threads}, but `connections` is {}",
            lanes.connections
        );
        checker.report(
            Problem::new(span.span(), message, "more threads than connections")
                .help("each thread has its own connections: use more connections or fewer threads"),
        );
    }
}

/// TLS, exactly when the URLs ask for it.
pub(super) fn tls(checker: &mut Checker<'_>, load: &wire::Load) -> Option<Tls> {
    let url = requests::first_url(load);
    let is_https = url.is_some_and(|url| url.starts_with(HTTPS));
    let given = load.tls.as_ref();
    let resolved = given.map(|tls| tls_keys(checker, tls.get_ref()));
    if let Some(tls) = given.filter(|_| url.is_some() && !is_https) {
        let message = "`tls` doesn't apply to a URL that is not https://";
        checker.report(
            Problem::new(tls.span(), message, "no TLS used")
                .help("remove `tls`, or write https:// in the request"),
        );
    }
    is_https.then(|| resolved.unwrap_or_default())
}

fn tls_keys(checker: &mut Checker<'_>, tls: &wire::Tls) -> Tls {
    if let Some(ca) = &tls.ca {
        checker.no_nul(ca);
        if tls.insecure {
            let message = "`ca` can't be combined with `insecure = true`";
            checker.report(
                Problem::new(ca.span(), message, "any certificate is accepted")
                    .help("remove one of them"),
            );
        } else if ca.get_ref().is_empty() {
            let message = "`ca` names no file";
            checker.report(Problem::new(ca.span(), message, "empty"));
        }
    }
    let server_name = tls.server_name.as_ref().and_then(|name| {
        let host = Host::parse(name.get_ref());
        if host.is_none() {
            let message = format!("`{}` is not a host", name.get_ref());
            checker.report(
                Problem::new(name.span(), message, "not a host")
                    .help("give the name that the certificate is for, without scheme and port"),
            );
        }
        host
    });
    Tls {
        ca: tls.ca.as_ref().map(|ca| PathBuf::from(ca.get_ref())),
        server_name,
        insecure: tls.insecure,
    }
}

pub(super) fn unix(checker: &mut Checker<'_>, given: Option<&Text>) -> Option<Template> {
    let path = given?;
    if path.get_ref().is_empty() || path.get_ref().ends_with('/') {
        let message = format!("`{}` is not the path of a socket", path.get_ref());
        checker.report(
            Problem::new(path.span(), message, "no file name")
                .help("such as unix = \"{dir}/app.sock\""),
        );
    }
    Some(checker.template(path, Site::Socket))
}
