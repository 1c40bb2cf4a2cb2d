//! Checks that follow from placeholders, made once each placeholder is known to be valid.

use super::checker::Checker;
use super::file_arm::FileArm;
use super::resolved::Resolved;
use super::site::{Site, Use};
use crate::plan::{Attach, Origin, ServiceName};
use crate::wire::{self, PlanFile};
use crate::{Problem, Template};

/// Services whose `{dir}` a socket's path may name: launched for each arm, in their own directory.
pub(super) fn dirs(services: &[Resolved]) -> impl Iterator<Item = &Resolved> {
    let own = |s: &&Resolved| s.launched() && s.is_of_a_set();
    services.iter().filter(own)
}

/// Refuses factors that change nothing, since they would be measured as if they did. A use in
/// `expect` alone doesn't count: it sets what should arrive, but changes nothing.
pub(super) fn unused_factors(
    checker: &mut Checker<'_>,
    uses: &[Use],
    arms: &[FileArm],
    services: &[Resolved],
) {
    // A bystander has the baseline's factors.
    let known = |(_, arm): &(usize, &FileArm)| arm.agents_known && !arm.is_bystander();
    for (index, arm) in arms.iter().enumerate().filter(known) {
        for (factor, span) in &arm.factors {
            let used = uses
                .iter()
                .any(|u| u.names(factor) && u.reaches(index, arm, services));
            if !used {
                checker.report(
                    Problem::new(
                        span.clone(),
                        format!("the factor `{factor}` is never used"),
                        "changes nothing",
                    )
                    .help(format!(
                        "write `{{{factor}}}` in the arm's env, args, command or switch"
                    )),
                );
            }
        }
    }
}

/// Refuses fields that no request names: the user would believe that they defeat caches.
pub(super) fn unused_fields(checker: &mut Checker<'_>, uses: &[Use], file: &PlanFile) {
    for (name, _) in &file.load.fields.0 {
        let field = name.get_ref();
        let is_used = uses.iter().any(|u| u.site == Site::Load && u.names(field));
        // Bad names, and fields that stand for a host, were already reported.
        if is_used || ServiceName::new(field).is_none() || stands_in_a_url(field, &file.load) {
            continue;
        }
        let message = format!("the field `{field}` is never used");
        checker.report(
            Problem::new(name.span(), message, "changes nothing").help(format!(
                "write `{{{field}}}` in the path, the headers or the body of a request"
            )),
        );
    }
}

fn stands_in_a_url(field: &str, load: &wire::Load) -> bool {
    let steps = load.flow.iter().flat_map(|flow| flow.steps.get_ref());
    let mut requests = steps.map(|step| &step.request).chain(&load.request);
    requests.any(|text| {
        let request = Template::parse(text.get_ref());
        request.placeholders().any(|name| name == field)
    })
}

/// A service with only a socket and no `ready` would count as up before the socket exists.
pub(super) fn socket_is_awaited(checker: &mut Checker<'_>, uses: &[Use], services: &[Resolved]) {
    for used in uses {
        let is_socket = matches!(used.site, Site::Socket | Site::ArmSocket { .. });
        let in_dir = is_socket && used.names("dir");
        let Some(bearer) = dirs(services).next().filter(|_| in_dir) else {
            continue;
        };
        if !bearer.ready_given && !bearer.service.addressed {
            let message = format!(
                "`{}` listens on a socket, but has no `ready`",
                bearer.name()
            );
            checker.report(
                Problem::new(used.span.clone(), message, "when is it up?").help(
                    "add `ready` to the service, such as ready = { log = \"listening\" } or \
                     ready = { delay = \"1s\" }",
                ),
            );
        }
    }
}

/// A service that is addressed must be given its address, or nothing will answer there.
pub(super) fn has_address(
    checker: &mut Checker<'_>,
    uses: &[Use],
    index: usize,
    services: &[Resolved],
) {
    let resolved = &services[index];
    let (service, name) = (&resolved.service, resolved.name());
    if !service.addressed || service.listen.is_some() {
        return;
    }
    let span = resolved.name_span.clone();
    match &service.origin {
        Origin::Attach(Attach::Url(_)) => {}
        Origin::Attach(_) => checker.report(
            Problem::new(
                span,
                format!("other keys use the address of `{name}`, but it has none"),
                "already running at an unknown address",
            )
            .help("add its address, such as `listen = \"127.0.0.1:8080\"`"),
        ),
        // An empty command was already reported.
        Origin::Command(words) if words.is_empty() => {}
        Origin::Command(_) => {
            let port = format!("{name}.port");
            let tells = |u: &Use| {
                u.belongs_to(index, services)
                    && ["listen", "port", name, port.as_str()]
                        .iter()
                        .any(|p| u.names(p))
            };
            if !uses.iter().any(tells) {
                let message =
                    format!("`{name}` is not given the address on which it should listen");
                checker.report(Problem::new(span, message, "doesn't know where to listen").help(
                    "put `{listen}` or `{port}` into its command or environment, or set a fixed \
                     address with `listen`",
                ));
            }
        }
    }
}
