//! `switch` of an arm: commands, lines to sockets, requests.

use std::ops::Range;

use toml::Spanned;

use super::Checker;
use super::load::{authority_problem, method_and_url, url_parts};
use super::scope::Site;
use super::service::{Resolved, pattern};
use crate::address::{parse_port, split_port};
use crate::load::HTTPS;
use crate::wire::{self, SwitchTable, Text};
use crate::{Host, Problem, Switch, Template};

const TO_EXAMPLE: &str = "such as \"127.0.0.1:{proxy.port.admin}\", \"{proxy}\" or, for a Unix socket, \
                          \"{dir}/admin.sock\"";

/// The steps that lead to an arm; those that are wrong are left out.
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

fn table(
    checker: &mut Checker<'_>,
    arm: usize,
    table: &SwitchTable,
    span: Range<usize>,
    services: &[Resolved],
) -> Option<Switch> {
    let answer = table.answer.as_ref();
    let answer = answer.map(|answer| pattern(checker, answer));
    match (&table.to, &table.send, &table.http) {
        (Some(to), Some(send), None) => Some(Switch::Line {
            to: self::to(checker, arm, to, services)?,
            send: self::send(checker, arm, send),
            answer,
        }),
        (None, None, Some(request)) => {
            let (method, url) = judged(checker, http(request, services))?;
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
                    "a table of `switch` takes `to` and `send`, or `http`",
                    "neither or both here",
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

/// Where a line goes: what has a `/` in it is the path of a Unix socket.
fn to(checker: &mut Checker<'_>, arm: usize, to: &Text, services: &[Resolved]) -> Option<Template> {
    let text = to.get_ref();
    if !text.contains('/') {
        judged(checker, address(to, services))?;
        return Some(checker.template(to, Site::ArmSwitch { arm }));
    }
    if text.ends_with('/') || text.contains("://") {
        let message = format!("`{text}` is not the path of a socket");
        checker.report(Problem::new(to.span(), message, "names no socket").help(TO_EXAMPLE));
        return None;
    }
    Some(checker.template(to, Site::ArmSocket { arm }))
}

/// A service, or a host of this machine with a port, which may be a placeholder.
fn address(to: &Text, services: &[Resolved]) -> Result<(), Problem> {
    let text = to.get_ref();
    let sole = |text: &str| Template::parse(text).sole_placeholder().map(str::to_owned);
    if sole(text).is_some_and(|name| services.iter().any(|s| s.name() == name)) {
        return Ok(());
    }
    let (host_text, port) = split_port(text);
    let is_port = |port: &str| parse_port(port).is_some() || sole(port).is_some();
    let is_bare_v6 = host_text.contains(':') && !host_text.starts_with('[');
    match Host::parse(host_text) {
        Some(host) if port.is_some_and(is_port) && !is_bare_v6 => on_this_machine(&host, to.span()),
        _ => {
            let message = format!("`{text}` is neither ADDRESS:PORT nor a path");
            Err(Problem::new(to.span(), message, "goes where?").help(TO_EXAMPLE))
        }
    }
}

fn on_this_machine(host: &Host, span: Range<usize>) -> Result<(), Problem> {
    if host.is_this_machine() {
        return Ok(());
    }
    let message = format!("`{host}` is not this machine, and a switch may not go there");
    Err(Problem::new(span, message, "not loopback")
        .help("to switch something elsewhere, write the command that does it as text"))
}

/// One line, to which its end is added when it is sent.
fn send(checker: &mut Checker<'_>, arm: usize, send: &Text) -> Template {
    let text = send.get_ref();
    if text.is_empty() || text.chars().any(char::is_control) {
        checker.report(
            Problem::new(
                send.span(),
                "`send` is one line, without control characters and not empty",
                "not one line",
            )
            .help("its end is added when it is sent; a table for each line sends several"),
        );
    }
    checker.placeholders_of(text, send.span(), Site::ArmSwitch { arm })
}

/// Method and URL of a request to this machine.
fn http<'t>(request: &'t Text, services: &[Resolved]) -> Result<(&'t str, &'t str), Problem> {
    let (method, url) = method_and_url(request)?;
    let (scheme, authority, _) = url_parts(request, url)?;
    if scheme == HTTPS {
        let message = "a switch speaks plain HTTP";
        return Err(Problem::new(request.span(), message, "https://")
            .help("use curl where TLS is needed: \"curl -sfk https://…\""));
    }
    if let Some(host) = authority_problem(request, scheme, authority, services)? {
        on_this_machine(&host, request.span())?;
    }
    Ok((method, url))
}
