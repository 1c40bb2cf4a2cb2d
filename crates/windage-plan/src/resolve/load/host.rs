//! The hosts to which load may be sent.

use std::ops::Range;

use crate::address::{parse_port, split_port};
use crate::load::{HTTP, HTTPS, Protocol};
use crate::plan::{Attach, Origin};
use crate::problem::choices;
use crate::resolve::checker::Checker;
use crate::resolve::ports::service_of_port;
use crate::resolve::resolved::Resolved;
use crate::wire::Text;
use crate::{Host, Problem, Template};

/// What the checks of requests need.
pub(super) struct Ground<'a> {
    pub(super) services: &'a [Resolved],
    pub(super) allow: &'a [Host],
    pub(super) protocol: Protocol,
    /// Whether load goes to a Unix socket: the URL's host is only a label then.
    pub(super) by_socket: bool,
}

pub(super) fn allow(checker: &mut Checker<'_>, given: &[Text]) -> Vec<Host> {
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
                .help("give an IP address or a name, without a port"),
            ),
        }
    }
    hosts
}

/// Load must not leave this machine unless the plan allows it.
fn refuse_host(checker: &mut Checker<'_>, host: &Host, allow: &[Host], span: Range<usize>) {
    if host.is_this_machine() || allow.contains(host) {
        return;
    }
    let message = format!("`{host}` is not this machine, and the plan doesn't allow load to it");
    checker.report(Problem::new(span, message, "not loopback").help(format!(
        "to allow it, write allow = [\"{host}\"] in `[load]`"
    )));
}

pub(super) fn refuse_remote_services(
    checker: &mut Checker<'_>,
    services: &[Resolved],
    allow: &[Host],
) {
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

/// Checks the URL. Returns its path when its host was already reported, so that the host's
/// placeholder is not reported again.
pub(super) fn check_url<'u>(
    checker: &mut Checker<'_>,
    text: &Text,
    url: &'u str,
    ground: &Ground<'_>,
) -> Option<&'u str> {
    let (scheme, authority, path) = match url_parts(text, url) {
        Ok(parts) => parts,
        Err(problem) => {
            checker.report(problem);
            return None;
        }
    };
    match authority_problem(text, scheme, authority, ground.services) {
        Err(problem) => {
            checker.report(problem);
            Some(path)
        }
        Ok(Some(host)) => {
            if !ground.by_socket {
                refuse_host(checker, &host, ground.allow, text.span());
            }
            None
        }
        Ok(None) => None,
    }
}

/// Scheme, authority, and path with query of the URL in `text`.
pub(in crate::resolve) fn url_parts<'u>(
    text: &Text,
    url: &'u str,
) -> Result<(&'static str, &'u str, &'u str), Problem> {
    let problem = |message: &str, label: &str| Problem::new(text.span(), message, label);
    let Some(scheme) = [HTTP, HTTPS].into_iter().find(|s| url.starts_with(s)) else {
        return Err(problem(
            "the URL of a request must start with http:// or https://",
            "no such scheme",
        ));
    };
    if url.contains(|c: char| c.is_whitespace() || c.is_control() || c == '#') {
        return Err(problem(
            "a URL can't contain spaces, control characters or `#`",
            "in this URL",
        )
        .help("write a space as %20 and `#` as %23"));
    }
    let rest = &url[scheme.len()..];
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if !path.starts_with('/') {
        return Err(problem("the URL has no path", "no `/` after the host")
            .help(format!("write {scheme}{authority}/")));
    }
    Ok((scheme, authority, path))
}

/// The host must be known when the plan is read: a literal, or a service (`None`).
pub(in crate::resolve) fn authority_problem(
    text: &Text,
    scheme: &str,
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
        let message = format!("`{host_text}` already includes the port");
        return Err(problem(message, "a second port").help(format!("write {scheme}{host_text}/")));
    }
    let port_is_good = match port_text {
        None => true,
        Some(port) => match Template::parse(port).sole_placeholder() {
            Some(name) => service_of_port(name).is_some_and(is_service),
            None => parse_port(port).is_some(),
        },
    };
    if authority.contains('@') {
        let message = "a URL can't contain a user or password here".to_owned();
        return Err(problem(message, "a user in the URL")
            .help("send them as a header: headers = { authorization = \"$VAR\" }"));
    }
    let bare_v6 = host_text.contains(':') && !host_text.starts_with('[');
    match Host::parse(host_text) {
        Some(host) if port_is_good && !bare_v6 => Ok(Some(host)),
        _ => Err(
            problem(format!("`{authority}` is not HOST[:PORT]"), "not a host").help(
                "give an address, a name or a service's name in braces; an IPv6 address in brackets",
            ),
        ),
    }
}
