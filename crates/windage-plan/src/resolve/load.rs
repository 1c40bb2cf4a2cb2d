//! `[load]`.

use std::collections::BTreeSet;
use std::ops::Range;

use toml::Spanned;
use windage_model::LoadModel;

use super::scope::Site;
use super::service::Resolved;
use super::{Checker, PATIENCE};
use crate::address::{parse_port, split_port};
use crate::plan::{Arrivals, Attach, BatchKind, HeaderValue, Load, Origin, Request};
use crate::problem::choices;
use crate::wire::{self, Entries, Text};
use crate::{Host, Problem, Template, defaults, units};

const MODELS: &[(&str, LoadModel)] = &[
    ("open", LoadModel::Open),
    ("closed", LoadModel::Closed),
    ("batch", LoadModel::Batch),
];
const MAX_CONNECTIONS: i64 = 65_535;
/// Headers that frame the message or the connection; the generator sends its own.
const FRAMING_HEADERS: [&str; 4] = ["connection", "content-length", "host", "transfer-encoding"];

pub(super) fn resolve(checker: &mut Checker<'_>, load: &wire::Load, services: &[Resolved]) -> Load {
    let model = MODELS
        .iter()
        .find(|(word, _)| word == load.model.get_ref())
        .map(|(_, model)| *model);
    match model {
        Some(model) => refuse_keys_of_other_models(checker, load, model),
        None => {
            checker.word("model", Some(&load.model), LoadModel::Closed, MODELS);
        }
    }
    let allow = allow(checker, &load.allow);
    refuse_remote_services(checker, services, &allow);
    let request = load
        .request
        .as_ref()
        .map(|text| request(checker, load, text, services, &allow));
    Load {
        model: model.unwrap_or(LoadModel::Closed),
        rate_per_s: rate(checker, load.rate.as_ref()),
        arrivals: checker.word(
            "arrivals",
            load.arrivals.as_ref(),
            Arrivals::Constant,
            Arrivals::WORDS,
        ),
        connections: checker.integer(
            "connections",
            load.connections.as_ref(),
            defaults::CONNECTIONS,
            1..=MAX_CONNECTIONS,
        ),
        request,
        timeout: checker.duration(
            "timeout",
            load.timeout.as_ref(),
            defaults::TIMEOUT,
            PATIENCE,
        ),
        cpus: checker.cpus(load.cpus.as_ref()),
        allow,
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
    }
}

/// A key, where it was given, and the models that can use it.
type OwnKey = (&'static str, Option<Range<usize>>, &'static [LoadModel]);

/// What one model needs and another can't use.
fn refuse_keys_of_other_models(checker: &mut Checker<'_>, load: &wire::Load, model: LoadModel) {
    use LoadModel::{Batch, Closed, Open};
    let name = model.as_str();
    let at = |text: Option<&Text>| text.map(Text::span);
    let keys: [OwnKey; 8] = [
        ("rate", at(load.rate.as_ref()), &[Open]),
        ("arrivals", at(load.arrivals.as_ref()), &[Open]),
        (
            "connections",
            load.connections.as_ref().map(Spanned::span),
            &[Open, Closed],
        ),
        ("request", at(load.request.as_ref()), &[Open, Closed]),
        (
            "headers",
            load.headers.0.first().map(|(key, _)| key.span()),
            &[Open, Closed],
        ),
        ("body", at(load.body.as_ref()), &[Open, Closed]),
        ("batch", at(load.batch.as_ref()), &[Batch]),
        (
            "iterations",
            load.iterations.as_ref().map(Spanned::span),
            &[Batch],
        ),
    ];
    for (key, span, models) in keys {
        if let Some(span) = span.filter(|_| !models.contains(&model)) {
            let words: Vec<String> = models.iter().map(|m| format!("`{}`", m.as_str())).collect();
            let only = words.join(" and ");
            let message = format!("`{key}` means nothing for a load of model `{name}`");
            checker.report(
                Problem::new(span, message, format!("only for {only}"))
                    .help(format!("remove `{key}`, or change `model`")),
            );
        }
    }
    if model == Open && load.rate.is_none() {
        checker.report(
            Problem::new(
                load.model.span(),
                "an open load needs a `rate`",
                "open, at which rate?",
            )
            .help("add the intended starts a second: rate = \"2000/s\""),
        );
    }
    if model != Batch && load.request.is_none() {
        let message = format!("a load of model `{name}` needs a `request`");
        checker.report(
            Problem::new(load.model.span(), message, "asks for nothing")
                .help("add it: request = \"GET http://{app}/\", with a service's name in braces"),
        );
    }
}

fn rate(checker: &mut Checker<'_>, given: Option<&Text>) -> Option<f64> {
    let text = given?;
    match units::parse_rate(text.get_ref()) {
        Ok(rate_per_s) => Some(rate_per_s),
        Err(message) => {
            checker.report(Problem::new(text.span(), message, "not a usable rate"));
            None
        }
    }
}

fn allow(checker: &mut Checker<'_>, given: &[Text]) -> Vec<Host> {
    let mut hosts = Vec::with_capacity(given.len());
    for text in given {
        match Host::parse(text.get_ref()) {
            Some(host) => hosts.push(host),
            None => checker.report(
                Problem::new(
                    text.span(),
                    format!("`{}` is not a host", text.get_ref()),
                    "not a host",
                )
                .help("an IP address or a name, without a port"),
            ),
        }
    }
    hosts
}

/// Load must not leave this machine unless the plan says so.
fn refuse_host(checker: &mut Checker<'_>, host: &Host, allow: &[Host], span: Range<usize>) {
    if host.is_this_machine() || allow.contains(host) {
        return;
    }
    let message = format!("`{host}` is not this machine, and load may not go there");
    checker.report(Problem::new(span, message, "not loopback").help(format!(
        "if it may, say so in `[load]`: allow = [\"{host}\"]"
    )));
}

fn refuse_remote_services(checker: &mut Checker<'_>, services: &[Resolved], allow: &[Host]) {
    for service in services {
        let Origin::Attach(attach) = &service.service.origin else {
            continue;
        };
        let host = match (attach, service.service.listen) {
            (Attach::Url(endpoint), _) => endpoint.host.clone(),
            (_, Some(listen)) => Host::Ip(listen.ip()),
            (_, None) => continue,
        };
        refuse_host(checker, &host, allow, service.name_span.clone());
    }
}

fn request(
    checker: &mut Checker<'_>,
    load: &wire::Load,
    text: &Text,
    services: &[Resolved],
    allow: &[Host],
) -> Request {
    let (method, url) = text
        .get_ref()
        .split_once(' ')
        .unwrap_or(("", text.get_ref()));
    let is_method =
        !method.is_empty() && method.bytes().all(|b| b.is_ascii_uppercase() || b == b'-');
    if is_method {
        let judged = check_url(checker, text, url, services, allow).unwrap_or(url);
        checker.placeholders_of(judged, text.span(), Site::Load);
    } else {
        checker.report(
            Problem::new(
                text.span(),
                "a request is a method and a URL",
                "not METHOD URL",
            )
            .help("such as \"GET http://{app}/\""),
        );
    }
    Request {
        method: method.to_owned(),
        url: Template::parse(url),
        headers: headers(checker, &load.headers),
        body: load
            .body
            .as_ref()
            .map(|body| checker.template(body, Site::Load)),
    }
}

/// Checks the URL. Returns its path when its host was reported already, so that the host's
/// placeholder is not reported once more.
fn check_url<'u>(
    checker: &mut Checker<'_>,
    text: &Text,
    url: &'u str,
    services: &[Resolved],
    allow: &[Host],
) -> Option<&'u str> {
    let problem = |message: &str, label: &str| Problem::new(text.span(), message, label);
    let Some(rest) = url.strip_prefix("http://") else {
        checker.report(if url.starts_with("https://") {
            problem("https isn't supported yet", "https")
                .help("name a plain-text port; TLS would be part of every arm's cost alike")
        } else {
            problem(
                "the URL of a request starts with http://",
                "another scheme, or none",
            )
        });
        return None;
    };
    if url.contains(|c: char| c.is_whitespace() || c.is_control() || c == '#') {
        checker.report(
            problem(
                "a URL has no spaces, control characters or `#`",
                "in this URL",
            )
            .help("write a space as %20 and `#` as %23"),
        );
        return None;
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if !path.starts_with('/') {
        checker.report(
            problem("the URL has no path", "no `/` after the host")
                .help(format!("write http://{authority}/")),
        );
        return None;
    }
    match authority_problem(text, authority, services) {
        Err(problem) => {
            checker.report(problem);
            Some(path)
        }
        Ok(Some(host)) => {
            refuse_host(checker, &host, allow, text.span());
            None
        }
        Ok(None) => None,
    }
}

/// The host must be known when the plan is read: a literal, or a service (`None`).
fn authority_problem(
    text: &Text,
    authority: &str,
    services: &[Resolved],
) -> Result<Option<Host>, Problem> {
    let problem = |message: String, label: &str| Problem::new(text.span(), message, label);
    let is_service = |name: &str| services.iter().any(|s| s.name() == name);
    if let Some(name) = Template::parse(authority).sole_placeholder() {
        if is_service(name) {
            return Ok(None);
        }
        let known: Vec<&str> = services.iter().map(Resolved::name).collect();
        let message = format!("`{{{name}}}` is not the address of a service");
        return Err(problem(message, "unknown host").help(choices(name, &known)));
    }
    let (host_text, port_text) = split_port(authority);
    if Template::parse(host_text)
        .sole_placeholder()
        .is_some_and(is_service)
    {
        let message = format!("`{host_text}` has the port already");
        return Err(problem(message, "a second port").help(format!("write http://{host_text}/")));
    }
    let port_is_good = match port_text {
        None => true,
        Some(port) => match Template::parse(port).sole_placeholder() {
            Some(name) => name.strip_suffix(".port").is_some_and(is_service),
            None => parse_port(port).is_some(),
        },
    };
    let bare_v6 = host_text.contains(':') && !host_text.starts_with('[');
    match Host::parse(host_text) {
        Some(host) if port_is_good && !bare_v6 => Ok(Some(host)),
        _ => Err(
            problem(format!("`{authority}` is not HOST[:PORT]"), "not a host").help(
                "an address, a name or a service's name in braces; an IPv6 address in brackets",
            ),
        ),
    }
}

fn headers(checker: &mut Checker<'_>, entries: &Entries<Text>) -> Vec<(String, HeaderValue)> {
    let mut seen = BTreeSet::new();
    let mut headers = Vec::with_capacity(entries.0.len());
    for (key, value) in &entries.0 {
        let name = key.get_ref();
        let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        if name.is_empty() || !name.bytes().all(token) {
            let message = format!("`{name}` can't name a header");
            checker.report(Problem::new(key.span(), message, "not a header's name"));
        } else if FRAMING_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
            let message = format!("the header `{name}` is the generator's own");
            checker.report(Problem::new(key.span(), message, "can't be set").help("remove it"));
        } else if !seen.insert(name.to_ascii_lowercase()) {
            let message = format!("the header `{name}` is given twice; case makes no difference");
            checker.report(Problem::new(key.span(), message, "again here"));
        }
        headers.push((name.clone(), header_value(checker, value)));
    }
    headers
}

fn header_value(checker: &mut Checker<'_>, value: &Text) -> HeaderValue {
    let text = value.get_ref();
    if text.contains(|c: char| c.is_control() && c != '\t') {
        let message = "a header's value is one line without control characters";
        checker.report(Problem::new(value.span(), message, "in this value"));
    }
    match variable(text) {
        Some(variable) if text.len() == variable.len() + 1 => HeaderValue::Environment {
            variable: variable.to_owned(),
        },
        Some(variable) => {
            let message = format!("`${variable}` is filled in only when it is the whole value");
            checker.report(
                Problem::new(value.span(), message, "text beside the variable").help(format!(
                    "put the whole value into the variable and write \"${variable}\""
                )),
            );
            HeaderValue::Literal(Template::parse(text))
        }
        None => HeaderValue::Literal(checker.template(value, Site::Load)),
    }
}

/// The name of the first `$NAME` in the text.
fn variable(text: &str) -> Option<&str> {
    text.match_indices('$').find_map(|(at, _)| {
        let name = &text[at + 1..];
        let end = name
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(name.len());
        let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        starts.then(|| &name[..end])
    })
}
