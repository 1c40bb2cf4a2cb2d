//! The requests: one that is repeated, or the steps of flows.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::host::{Ground, check_url};
use crate::load::{Body, Flow, HTTP, HTTPS, Protocol, Request, Step};
use crate::resolve::checker::{Checker, PAUSE};
use crate::resolve::file::MAX_DATA_BYTES;
use crate::resolve::site::Site;
use crate::value::{environment_variable, sole_variable};
use crate::wire::{self, Entries, Text};
use crate::{Problem, Template, Value, defaults};

/// No person writes more flows, or more steps of a flow.
const MAX_FLOWS: usize = 1000;
const MAX_WEIGHT: i64 = 1_000_000;
/// Headers that frame the message or the connection. The generator sends its own.
const FRAMING_HEADERS: [&str; 4] = ["connection", "content-length", "host", "transfer-encoding"];
/// Headers that HTTP/2 forbids (RFC 9113, section 8.2.2).
const NOT_IN_HTTP2: [&str; 3] = ["keep-alive", "proxy-connection", "upgrade"];
const GRPC_HEADERS: [&str; 2] = ["content-type", "te"];

type Headers = Vec<(String, Value)>;

/// The one request, or the flows.
pub(super) fn resolve(
    checker: &mut Checker<'_>,
    load: &wire::Load,
    ground: &Ground<'_>,
) -> (Option<Request>, Vec<Flow>) {
    let headers = headers(checker, &load.headers, ground.protocol);
    if load.flow.is_empty() {
        let request = load.request.as_ref().map(|text| Request {
            headers,
            body: body(checker, load.body.as_ref(), load.body_file.as_ref()),
            ..line(checker, text, ground)
        });
        return (request, Vec::new());
    }
    refuse_beside_flows(checker, load);
    one_host(checker, load);
    if load.flow.len() > MAX_FLOWS {
        let message = format!("a load can have at most {MAX_FLOWS} flows");
        let span = load.flow[MAX_FLOWS].steps.span();
        checker.report(Problem::new(span, message, "too many"));
    }
    let flows = load
        .flow
        .iter()
        .map(|given| flow(checker, given, &headers, ground))
        .collect();
    (None, flows)
}

/// The URL of the first request, whose host all others must share.
pub(super) fn first_url(load: &wire::Load) -> Option<&str> {
    let steps = load.flow.iter().flat_map(|flow| flow.steps.get_ref());
    let mut requests = steps.map(|step| &step.request).chain(&load.request);
    requests.next().map(|text| split(text.get_ref()).1)
}

/// Method and URL.
fn split(request: &str) -> (&str, &str) {
    request.split_once(' ').unwrap_or(("", request))
}

fn refuse_beside_flows(checker: &mut Checker<'_>, load: &wire::Load) {
    let keys = [
        ("request", &load.request, "make it a flow of one step"),
        ("body", &load.body, "give it to a step"),
        ("body_file", &load.body_file, "give it to a step"),
    ];
    for (key, given, remedy) in keys {
        if let Some(given) = given {
            let message = format!("`{key}` can't be combined with `[[load.flow]]`");
            checker.report(
                Problem::new(given.span(), message, "conflicts with the flows")
                    .help(format!("remove `{key}`, or {remedy}")),
            );
        }
    }
}

/// An arm has one set of connections, so all requests go to one host.
fn one_host(checker: &mut Checker<'_>, load: &wire::Load) {
    let Some(first) = first_url(load).and_then(origin) else {
        return;
    };
    for step in load.flow.iter().flat_map(|flow| flow.steps.get_ref()) {
        let url = split(step.request.get_ref()).1;
        if let Some(other) = origin(url).filter(|other| *other != first) {
            let message = format!("`{other}` is not the host of the first step, `{first}`");
            checker.report(
                Problem::new(step.request.span(), message, "another host").help(
                    "all requests of a load must go to one host; use a separate plan for the other",
                ),
            );
        }
    }
}

/// Scheme and authority of a URL.
fn origin(url: &str) -> Option<&str> {
    let scheme = [HTTP, HTTPS].into_iter().find(|s| url.starts_with(s))?;
    let end = url[scheme.len()..].find('/')?;
    Some(&url[..scheme.len() + end])
}

fn flow(
    checker: &mut Checker<'_>,
    flow: &wire::Flow,
    shared_headers: &Headers,
    ground: &Ground<'_>,
) -> Flow {
    let steps = flow.steps.get_ref();
    if steps.is_empty() {
        checker.report(
            Problem::new(
                flow.steps.span(),
                "the flow has no steps",
                "nothing to send",
            )
            .help("add one: steps = [{ request = \"GET http://{app}/\" }]"),
        );
    }
    if let Some(beyond) = steps.get(MAX_FLOWS) {
        let message = format!("a flow can have at most {MAX_FLOWS} steps");
        checker.report(Problem::new(beyond.request.span(), message, "too many"));
    }
    Flow {
        name: flow.name.clone(),
        weight: checker.integer(
            "weight",
            flow.weight.as_ref(),
            defaults::WEIGHT,
            1..=MAX_WEIGHT,
        ),
        steps: steps
            .iter()
            .map(|given| step(checker, given, shared_headers, ground))
            .collect(),
    }
}

fn step(
    checker: &mut Checker<'_>,
    step: &wire::Step,
    shared_headers: &Headers,
    ground: &Ground<'_>,
) -> Step {
    let own = headers(checker, &step.headers, ground.protocol);
    Step {
        request: Request {
            headers: overridden(shared_headers, own),
            body: body(checker, step.body.as_ref(), step.body_file.as_ref()),
            ..line(checker, &step.request, ground)
        },
        think: checker.duration("think", step.think.as_ref(), defaults::THINK, PAUSE),
    }
}

/// The shared headers, with a step's own in place of those of the same name, then the step's
/// others.
fn overridden(shared: &Headers, mut own: Headers) -> Headers {
    let mut all: Headers = shared
        .iter()
        .map(|header| {
            let position = own
                .iter()
                .position(|(name, _)| name.eq_ignore_ascii_case(&header.0));
            position.map_or_else(|| header.clone(), |position| own.remove(position))
        })
        .collect();
    all.append(&mut own);
    all
}

/// Splits METHOD URL.
pub(in crate::resolve) fn method_and_url(text: &Text) -> Result<(&str, &str), Problem> {
    let (method, url) = split(text.get_ref());
    let is_method =
        !method.is_empty() && method.bytes().all(|b| b.is_ascii_uppercase() || b == b'-');
    if is_method {
        return Ok((method, url));
    }
    Err(Problem::new(
        text.span(),
        "a request must be a method and a URL",
        "not METHOD URL",
    )
    .help("such as \"GET http://{app}/\""))
}

/// Method and URL of `request`; headers and body are added later.
fn line(checker: &mut Checker<'_>, text: &Text, ground: &Ground<'_>) -> Request {
    let (method, url) = split(text.get_ref());
    let is_method = match method_and_url(text) {
        Ok(_) => {
            let judged = check_url(checker, text, url, ground).unwrap_or(url);
            checker.placeholders_of(judged, text.span(), Site::Load);
            true
        }
        Err(problem) => {
            checker.report(problem);
            false
        }
    };
    if is_method && ground.protocol == Protocol::Grpc && method != "POST" {
        let message = format!("a gRPC call must be a POST, not a {method}");
        checker.report(
            Problem::new(text.span(), message, "protocol = \"grpc\"")
                .help("such as \"POST http://{app}/package.Service/Method\""),
        );
    }
    Request {
        method: method.to_owned(),
        url: Template::parse(url),
        headers: Vec::new(),
        body: None,
    }
}

fn body(checker: &mut Checker<'_>, text: Option<&Text>, file: Option<&Text>) -> Option<Body> {
    if let (Some(_), Some(file)) = (text, file) {
        checker.report(
            Problem::new(
                file.span(),
                "`body` and `body_file` can't be combined: both give the body",
                "conflicts with `body`",
            )
            .help("keep one of them"),
        );
    }
    match (text, file) {
        (Some(text), _) => Some(Body::Text(checker.template(text, Site::Load))),
        (None, Some(path)) => Some(Body::File {
            file: PathBuf::from(path.get_ref()),
            bytes: checker
                .file_bytes("body", path, MAX_DATA_BYTES)
                .unwrap_or_default()
                .into(),
        }),
        (None, None) => None,
    }
}

fn headers(checker: &mut Checker<'_>, entries: &Entries<Text>, protocol: Protocol) -> Headers {
    let mut seen = BTreeSet::new();
    let mut headers = Vec::with_capacity(entries.0.len());
    for (key, value) in &entries.0 {
        let name = key.get_ref();
        let lower = name.to_ascii_lowercase();
        let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        if name.is_empty() || !name.bytes().all(token) {
            let message = format!("`{name}` can't name a header");
            checker.report(Problem::new(key.span(), message, "not a header's name"));
        } else if is_generators_own(&lower, protocol) {
            let message = format!("the header `{name}` is set by the generator");
            checker.report(Problem::new(key.span(), message, "can't be set").help("remove it"));
        } else if !seen.insert(lower) {
            let message = format!("the header `{name}` is given twice; case is ignored");
            checker.report(Problem::new(key.span(), message, "again here"));
        }
        headers.push((name.clone(), header_value(checker, value)));
    }
    headers
}

fn is_generators_own(name: &str, protocol: Protocol) -> bool {
    let is_http2 = protocol != Protocol::Http1;
    FRAMING_HEADERS.contains(&name)
        || is_http2 && NOT_IN_HTTP2.contains(&name)
        || protocol == Protocol::Grpc && GRPC_HEADERS.contains(&name)
}

fn header_value(checker: &mut Checker<'_>, value: &Text) -> Value {
    let text = value.get_ref();
    if text.contains(|c: char| c.is_control() && c != '\t') {
        let message = "a header's value must be one line without control characters";
        checker.report(Problem::new(value.span(), message, "in this value"));
    }
    match environment_variable(text) {
        Some(variable) if sole_variable(text).is_some() => Value::Environment {
            variable: variable.to_owned(),
        },
        Some(variable) => {
            let message = format!("`${variable}` is replaced only when it is the whole value");
            checker.report(
                Problem::new(value.span(), message, "more than the variable").help(format!(
                    "put the whole value into the variable and write \"${variable}\""
                )),
            );
            Value::Literal(Template::parse(text))
        }
        None => Value::Literal(checker.template(value, Site::Load)),
    }
}
