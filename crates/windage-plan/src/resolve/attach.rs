//! `attach`: a service that is already running.

use std::path::PathBuf;

use crate::wire::Spanned;

use super::checker::Checker;
use crate::plan::Attach;
use crate::wire::{self, Text};
use crate::{Endpoint, Host, Problem};

/// How the service is found.
pub(super) fn attach(
    checker: &mut Checker<'_>,
    attach: &Spanned<wire::Attach>,
    listen: Option<&Text>,
) -> Attach {
    let keys = attach.get_ref();
    match (&keys.pid, &keys.cgroup, &keys.unit, &keys.url) {
        (Some(pid), None, None, None) => {
            Attach::Pid(checker.integer("pid", Some(pid), 1, 1..=i64::from(i32::MAX)))
        }
        (None, Some(cgroup), None, None) => {
            let path = PathBuf::from(cgroup.get_ref());
            if !path.is_absolute() {
                let message = "`cgroup` takes the directory of a control group";
                checker.report(
                    Problem::new(cgroup.span(), message, "not an absolute path")
                        .help("such as \"/sys/fs/cgroup/system.slice/nginx.service\""),
                );
            }
            Attach::Cgroup(path)
        }
        (None, None, Some(unit), None) => {
            let name = unit.get_ref();
            let allowed = |b: u8| b.is_ascii_alphanumeric() || b":-_.@\\".contains(&b);
            if !name.contains('.') || name.starts_with(['.', '-']) || !name.bytes().all(allowed) {
                let message = format!("`{name}` is not a systemd unit");
                checker.report(Problem::new(
                    unit.span(),
                    message,
                    "such as \"nginx.service\"",
                ));
            }
            Attach::Unit(name.clone())
        }
        (None, None, None, Some(url)) => Attach::Url(attach_url(checker, url, listen)),
        _ => {
            checker.report(Problem::new(
                attach.span(),
                "`attach` takes exactly one of `pid`, `cgroup`, `unit` and `url`",
                "exactly one is needed",
            ));
            Attach::Pid(1)
        }
    }
}

fn attach_url(checker: &mut Checker<'_>, url: &Text, listen: Option<&Text>) -> Endpoint {
    if let Some(listen) = listen {
        checker.report(
            Problem::new(
                listen.span(),
                "`listen` can't be combined with `attach.url`",
                "the URL already has the address",
            )
            .help("remove `listen`"),
        );
    }
    let text = url.get_ref();
    let endpoint = text
        .strip_prefix("http://")
        .and_then(|rest| Endpoint::parse(rest.strip_suffix('/').unwrap_or(rest)));
    endpoint.unwrap_or_else(|| {
        let mut problem = Problem::new(
            url.span(),
            format!("`{text}` is not a URL to attach to"),
            "not http://HOST:PORT",
        );
        if text.starts_with("https://") {
            problem = problem.help("https isn't supported yet: use a plain-text port");
        }
        checker.report(problem);
        Endpoint {
            host: Host::Name("localhost".to_owned()),
            port: 80,
        }
    })
}

/// Refuses keys that take effect only at launch.
pub(super) fn refuse_launch_keys(
    checker: &mut Checker<'_>,
    service: &wire::Service,
    attach: &Attach,
) {
    let ready = service.ready.as_ref().map(Spanned::get_ref);
    let of_ready = |key: fn(&wire::Ready) -> &Option<Text>| ready.and_then(|r| key(r).as_ref());
    let mut keys = vec![
        ("ports", service.ports.first().map(Text::span)),
        ("check", service.check.as_ref().map(Spanned::span)),
        ("cwd", service.cwd.as_ref().map(Text::span)),
        ("env", service.env.0.first().map(|(key, _)| key.span())),
        ("clean_env", service.clean_env.as_ref().map(Spanned::span)),
        ("user", service.user.as_ref().map(Text::span)),
        (
            "files",
            service.files.first().map(|file| file.template.span()),
        ),
        ("stop", service.stop.as_ref().map(Spanned::span)),
        ("ready.log", of_ready(|r| &r.log).map(Text::span)),
        ("ready.metric", of_ready(|r| &r.metric).map(Text::span)),
    ];
    if matches!(attach, Attach::Url(_)) {
        keys.push(("cpus", service.cpus.as_ref().map(Spanned::span)));
    }
    for (key, span) in keys {
        let Some(span) = span else { continue };
        let message = format!("`{key}` doesn't apply to a service that is already running");
        checker.report(
            Problem::new(span, message, "conflicts with `attach`").help(format!("remove `{key}`")),
        );
    }
}
