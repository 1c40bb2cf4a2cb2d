//! `switch` of an arm: commands, lines to sockets, requests.

use std::ops::Range;

use crate::wire::Spanned;

use super::checker::Checker;
use super::file_arm::is_baseline;
use super::load::{authority_problem, method_and_url, url_parts};
use super::ports::is_port_of_a_service;
use super::resolved::Resolved;
use super::site::Site;
use crate::address::{parse_port, split_port};
use crate::load::HTTPS;
use crate::plan::{Attach, Origin};
use crate::wire::{self, SwitchTable, Text};
use crate::{Host, Problem, Switch, Template};

const TO_EXAMPLE: &str = "such as \"127.0.0.1:{proxy.port.admin}\", \"{proxy}\" or, for a Unix socket, \
                          \"{dir}/admin.sock\"";

/// The steps of a switch; invalid ones are left out.
pub(super) fn resolve(
    checker: &mut Checker<'_>,
    arm: usize,
    given: &[Spanned<wire::Switch>],
    services: &[Resolved],
) -> Vec<Switch> {
    let step = |step: &Spanned<wire::Switch>| match step.get_ref() {
        wire::Switch::Command(text) => {
            let command = Spanned::new(step.span(), text.clone());
            Some(Switch::Command(
                checker.template(&command, Site::ArmSwitch { arm }),
            ))
        }
        wire::Switch::Table(table) => self::table(checker, arm, table, step.span(), services),
    };
    given.iter().filter_map(step).collect()
}

/// The steps of the baseline's `restore`, for which there must be a service that runs on.
pub(super) fn restore(
    checker: &mut Checker<'_>,
    index: usize,
    arm: &wire::Arm,
    services: &[Resolved],
) -> Vec<Switch> {
    let Some(given) = &arm.restore else {
        return Vec::new();
    };
    let runs_on = |of: &Resolved| of.is_of_a_set() && !of.launched();
    let refused = if !is_baseline(arm) {
        Some(("belongs to the baseline", "not the baseline"))
    } else if !services.iter().any(runs_on) {
        let why = "has no effect: services that Windage launches end with the run";
        Some((why, "no `attach`"))
    } else {
        None
    };
    if let Some((why, label)) = refused {
        let message = format!("`restore` {why}");
        checker.report(Problem::new(given.span(), message, label).help("remove `restore`"));
    }
    resolve(checker, index, given.get_ref(), services)
}

fn table(
    checker: &mut Checker<'_>,
    arm: usize,
    table: &SwitchTable,
    span: Range<usize>,
    services: &[Resolved],
) -> Option<Switch> {
    let answer = table.answer.as_ref();
    let answer = answer.map(|answer| checker.pattern(answer));
    match (&table.to, &table.send, &table.http) {
        (Some(to), Some(send), None) => Some(Switch::Line {
            to: self::to(checker, arm, to, services)?,
            send: self::send(checker, arm, send),
            answer,
        }),
        (None, None, Some(request)) => {
            let (method, url, host) = judged(checker, http(request, services))?;
            refuse_elsewhere(checker, host, request.span());
            Some(Switch::Http {
                method: method.to_owned(),
                url: checker.placeholders_of(url, request.span(), Site::ArmSwitch { arm }),
                answer,
            })
        }
        _ => {
            checker.report(
                Problem::new(
                    span,
                    "a table of `switch` needs `to` and `send`, or `http`",
                    "exactly one is needed",
                )
                .help(
                    "such as { to = \"127.0.0.1:{proxy.port.admin}\", send = \"rate {rate}\" } or \
                     { http = \"POST http://{proxy}/rate?is={rate}\" }",
                ),
            );
            None
        }
    }
}

fn judged<T>(checker: &mut Checker<'_>, result: Result<T, Problem>) -> Option<T> {
    result.map_err(|problem| checker.report(problem)).ok()
}

/// The target of a line. Text that contains a `/` is the path of a Unix socket.
fn to(checker: &mut Checker<'_>, arm: usize, to: &Text, services: &[Resolved]) -> Option<Template> {
    let text = to.get_ref();
    if !text.contains('/') {
        let host = judged(checker, address(to, services))?;
        refuse_elsewhere(checker, host, to.span());
        return Some(checker.template(to, Site::ArmSwitch { arm }));
    }
    if text.ends_with('/') || text.contains("://") {
        let message = format!("`{text}` is not the path of a socket");
        checker.report(Problem::new(to.span(), message, "no file name").help(TO_EXAMPLE));
        return None;
    }
    Some(checker.template(to, Site::ArmSocket { arm }))
}

/// The host of a service, or a literal host with a port, which may be a service's. `None` where
/// Windage allots the address.
fn address(to: &Text, services: &[Resolved]) -> Result<Option<Host>, Problem> {
    let text = to.get_ref();
    if let Some(service) = service_at(text, services) {
        return Ok(host_of(service));
    }
    let (host_text, port) = split_port(text);
    let is_port = |port: &str| {
        let named = Template::parse(port);
        parse_port(port).is_some() || named.sole_placeholder().is_some_and(is_port_of_a_service)
    };
    let is_bare_v6 = host_text.contains(':') && !host_text.starts_with('[');
    match Host::parse(host_text) {
        Some(host) if port.is_some_and(is_port) && !is_bare_v6 => Ok(Some(host)),
        _ => {
            let message = format!("`{text}` is neither ADDRESS:PORT nor a path");
            Err(Problem::new(to.span(), message, "unknown target").help(TO_EXAMPLE))
        }
    }
}

/// The service whose address the text is, if it is nothing else.
fn service_at<'s>(text: &str, services: &'s [Resolved]) -> Option<&'s Resolved> {
    let template = Template::parse(text);
    let name = template.sole_placeholder()?;
    services.iter().find(|service| service.name() == name)
}

fn host_of(service: &Resolved) -> Option<Host> {
    match (&service.service.origin, service.service.listen) {
        (Origin::Attach(Attach::Url(endpoint)), _) => Some(endpoint.host.clone()),
        (_, listen) => listen.map(|listen| Host::Ip(listen.ip())),
    }
}

/// Unlike load, a switch may never go to another machine.
fn refuse_elsewhere(checker: &mut Checker<'_>, host: Option<Host>, span: Range<usize>) {
    let Some(host) = host.filter(|host| !host.is_this_machine()) else {
        return;
    };
    let message = format!("`{host}` is not this machine, and a switch may not leave it");
    checker.report(
        Problem::new(span, message, "not loopback")
            .help("to switch something on another machine, write a command as text"),
    );
}

/// One line. Its end is added when it is sent.
fn send(checker: &mut Checker<'_>, arm: usize, send: &Text) -> Template {
    let text = send.get_ref();
    if text.is_empty() || text.chars().any(char::is_control) {
        checker.report(
            Problem::new(
                send.span(),
                "`send` must be one line, not empty and without control characters",
                "not one line",
            )
            .help("Windage adds the line end; to send several lines, write a table for each"),
        );
    }
    checker.placeholders_of(text, send.span(), Site::ArmSwitch { arm })
}

/// Method, URL and host of a request; the host as of [`address`].
fn http<'t>(
    request: &'t Text,
    services: &[Resolved],
) -> Result<(&'t str, &'t str, Option<Host>), Problem> {
    let (method, url) = method_and_url(request)?;
    let (scheme, authority, _) = url_parts(request, url)?;
    if scheme == HTTPS {
        let message = "a switch supports only plain HTTP";
        return Err(Problem::new(request.span(), message, "https://")
            .help("use curl where TLS is needed: \"curl -sfk https://…\""));
    }
    let written = authority_problem(request, scheme, authority, services)?;
    let host = written.or_else(|| host_of(service_at(authority, services)?));
    Ok((method, url, host))
}
