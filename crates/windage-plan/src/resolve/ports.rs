//! `ports` of a service: further TCP ports, and the placeholders that name them.

use std::collections::BTreeSet;

use windage_model::LoadModel;

use super::checker::Checker;
use super::resolved::Resolved;
use super::site::Use;
use crate::Problem;
use crate::plan::ServiceName;
use crate::sink::is_receiver;
use crate::wire::{PlanFile, Text};

/// A placeholder for a further port: `port.NAME` within its service, `SERVICE.port.NAME` elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FurtherPort<'a> {
    pub(super) service: Option<&'a str>,
    pub(super) port: &'a str,
}

/// The further port that a placeholder names, if it names one.
pub(super) fn further_port(placeholder: &str) -> Option<FurtherPort<'_>> {
    if let Some(port) = placeholder.strip_prefix("port.") {
        return Some(FurtherPort {
            service: None,
            port,
        });
    }
    let (service, port) = placeholder.split_once(".port.")?;
    Some(FurtherPort {
        service: Some(service),
        port,
    })
}

/// The service of which a placeholder names a port, its own or a further one: `SERVICE.port`,
/// `SERVICE.port.NAME`. A further port may also be named `port`.
pub(super) fn service_of_port(placeholder: &str) -> Option<&str> {
    match further_port(placeholder) {
        Some(further) => further.service,
        None => placeholder.strip_suffix(".port"),
    }
}

/// Whether a placeholder is written as the port of a service, which need not exist.
pub(super) fn is_port_of_a_service(placeholder: &str) -> bool {
    let is_port = placeholder == "port"
        || further_port(placeholder).is_some()
        || service_of_port(placeholder).is_some();
    is_port && !is_receiver(placeholder)
}

/// A service's further ports, as named from anywhere.
pub(super) fn further_ports(service: &Resolved) -> impl Iterator<Item = String> {
    let ports = service.service.ports.iter();
    ports.map(|port| format!("{}.port.{port}", service.name()))
}

/// The names of a service's further ports.
pub(super) fn resolve(checker: &mut Checker<'_>, given: &[Text]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    for name in given {
        let text = name.get_ref();
        if ServiceName::new(text).is_none() {
            checker.report(
                Problem::new(
                    name.span(),
                    format!("`{text}` can't name a port"),
                    "not a port's name",
                )
                .help("use lower-case letters, digits and `_`, a letter first; Windage picks the number at each launch"),
            );
        } else if !seen.insert(text) {
            let message = format!("two ports are named `{text}`");
            checker.report(Problem::new(name.span(), message, "named again here"));
        }
    }
    given.iter().map(|name| name.get_ref().clone()).collect()
}

/// Nothing connects to the program of a batch load.
pub(super) fn refuse_of_a_batch(
    checker: &mut Checker<'_>,
    file: &PlanFile,
    model: Option<LoadModel>,
) {
    if model != Some(LoadModel::Batch) {
        return;
    }
    for service in file.service.iter().filter(|s| !s.is_shared()) {
        if let Some(port) = service.ports.first() {
            let message = "the program of a batch load can't have ports";
            checker.report(
                Problem::new(port.span(), message, "in a batch load").help("remove `ports`"),
            );
        }
    }
}

/// Reports ports that their service's keys don't mention: nothing would listen there.
pub(super) fn check_used(
    checker: &mut Checker<'_>,
    uses: &[Use],
    file: &PlanFile,
    services: &[Resolved],
) {
    for (index, given) in file.programs().enumerate() {
        let name = services[index].name();
        for port in given.ports.iter().filter(|_| services[index].launched()) {
            let (span, port) = (port.span(), port.get_ref());
            let own = format!("port.{port}");
            let full = format!("{name}.port.{port}");
            let is_use =
                |u: &Use| u.belongs_to(index, services) && (u.names(&own) || u.names(&full));
            if uses.iter().any(is_use) {
                continue;
            }
            let message = if uses.iter().any(|u| u.names(&full)) {
                format!("`{name}` is not given its port `{port}`")
            } else {
                format!("the port `{port}` of `{name}` is never used")
            };
            checker.report(
                Problem::new(span, message, "nothing listens there").help(format!(
                    "put `{{{own}}}` into the {}'s command, environment or templates",
                    services[index].noun()
                )),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_differ_from_other_placeholders() {
        let table = [
            ("port", None, None, true, "the service's own port"),
            (
                "port.admin",
                Some((None, "admin")),
                None,
                true,
                "a further one",
            ),
            (
                "port.port",
                Some((None, "port")),
                None,
                true,
                "a further one of that name",
            ),
            ("app", None, None, false, "an address"),
            (
                "app.port",
                None,
                Some("app"),
                true,
                "the port of an address",
            ),
            (
                "app.port.admin",
                Some((Some("app"), "admin")),
                Some("app"),
                true,
                "a further one of another service",
            ),
            (
                "app.port.port",
                Some((Some("app"), "port")),
                Some("app"),
                true,
                "a further one of another service, of that name",
            ),
            (
                "otlp_http.port",
                None,
                Some("otlp_http"),
                false,
                "a receiver's",
            ),
        ];
        for (placeholder, further, service, of_a_service, why) in table {
            let found = further_port(placeholder).map(|p| (p.service, p.port));
            assert_eq!(found, further, "{why}");
            assert_eq!(service_of_port(placeholder), service, "{why}");
            assert_eq!(is_port_of_a_service(placeholder), of_a_service, "{why}");
        }
    }
}
