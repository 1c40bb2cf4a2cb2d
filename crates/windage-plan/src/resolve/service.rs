//! `[[service]]`, and the keys that `[[agent]]` shares with it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Component, PathBuf};

use crate::wire::Spanned;

use super::checker::{Checker, INSTANT, PATIENCE, reserved};
use super::file::MAX_TEMPLATE_BYTES;
use super::resolved::Resolved;
use super::site::{Part, Site, Use};
use super::{agent, attach, drops, pod, ports};
use crate::plan::{
    Origin, Ready, ReadyCheck, Service, ServiceName, StopPolicy, StopSignal, TemplateFile,
};
use crate::value::sole_variable;
use crate::wire::{self, Entries, PlanFile, Text};
use crate::{Problem, Template, Value, defaults};

/// The services, then the agents.
pub(super) fn resolve_all(checker: &mut Checker<'_>, file: &PlanFile) -> Vec<Resolved> {
    one_is_measured(checker, file);
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    let mut services = Vec::with_capacity(file.service.len() + file.agent.len());
    for (index, service) in file.programs().enumerate() {
        let is_agent = index >= file.service.len();
        let noun = if is_agent { "agent" } else { "service" };
        let name = name(checker, noun, &service.name);
        if let Some(first) = seen.insert(service.name.get_ref(), noun) {
            named_again(checker, &service.name, first, noun);
        }
        let needs = agent::own_keys(checker, service, is_agent);
        services.push(Resolved {
            service: resolve(checker, index, name, service, is_agent),
            is_agent,
            needs,
            name_span: service.name.span(),
            ready_given: service.ready.as_ref().is_some_and(names_a_check),
        });
    }
    services
}

fn one_is_measured(checker: &mut Checker<'_>, file: &PlanFile) {
    if file.service.is_empty() {
        checker.report(
            Problem::new(
                file.name.span(),
                "the plan has no `[[service]]`",
                "nothing to measure",
            )
            .help(
                "add one with `name` and `command` (or `attach`); a batch program is a service, too",
            ),
        );
    } else if file.service.iter().all(wire::Service::is_shared) {
        let problem = Problem::new(
            file.service[0].name.span(),
            "every service is shared",
            "nothing to measure",
        );
        checker.report(problem.help("remove `shared` from what is measured: each arm has its own"));
    }
}

fn named_again(checker: &mut Checker<'_>, name: &Text, first: &str, noun: &str) {
    let text = name.get_ref();
    let message = if first == noun {
        format!("two {noun}s are named `{text}`")
    } else {
        format!("a service and an agent are named `{text}`")
    };
    checker.report(Problem::new(name.span(), message, "named again here"));
}

fn name(checker: &mut Checker<'_>, noun: &str, name: &Text) -> ServiceName {
    let text = name.get_ref();
    let article = if noun == "agent" { "an" } else { "a" };
    if let Some(list) = reserved(text) {
        let message = format!("`{text}` can't name {article} {noun}: it is a reserved placeholder");
        checker.report(Problem::new(name.span(), message, "reserved").help(list));
    }
    ServiceName::new(text).unwrap_or_else(|| {
        checker.report(
            Problem::new(
                name.span(),
                format!("`{text}` can't name {article} {noun}"),
                format!("not {article} {noun}'s name"),
            )
            .help("use lower-case letters, digits and `_`, a letter first"),
        );
        ServiceName::unchecked(text)
    })
}

fn resolve(
    checker: &mut Checker<'_>,
    index: usize,
    name: ServiceName,
    service: &wire::Service,
    is_agent: bool,
) -> Service {
    let site = |part| Site::Service { index, part };
    let pod = service.pod.as_ref().filter(|_| !is_agent);
    if pod.is_some() {
        pod::refuse_other_keys(checker, service);
    }
    let origin = match &service.pod {
        Some(_) => Origin::Command(Vec::new()),
        None => origin(checker, index, service, is_agent),
    };
    if let Origin::Attach(attach) = &origin {
        attach::refuse_launch_keys(checker, service, attach);
    }
    let listen = service
        .listen
        .as_ref()
        .and_then(|listen| listen_address(checker, listen));
    let ready = match &service.ready {
        Some(ready) => self::ready(checker, index, ready),
        None => Ready {
            check: ReadyCheck::None,
            within: defaults::READY_WITHIN,
        },
    };
    Service {
        name,
        listen,
        ports: ports::resolve(checker, &service.ports),
        cwd: service
            .cwd
            .as_ref()
            .map(|cwd| checker.template(cwd, site(Part::Whole))),
        env: env(checker, &service.env, |key| site(Part::Env(key.to_owned()))),
        clean_env: service.clean_env.as_ref().is_some_and(|c| *c.get_ref()),
        user: user(checker, service.user.as_ref()),
        files: files(checker, index, &service.files),
        check: check(checker, index, service.check.as_ref()),
        cpus: checker.cpus(service.cpus.as_ref()),
        shared: service.is_shared() && !is_agent,
        addressed: listen.is_some()
            || pod.is_some()
            || matches!(ready.check, ReadyCheck::Http { .. } | ReadyCheck::Tcp),
        ready,
        stop: stop(checker, service.stop.as_ref().map(Spanned::get_ref)),
        // Both are checked when all services are known.
        metrics: None,
        drops: Vec::new(),
        origin,
        pod: pod.map(|of| pod::pod(checker, of)),
    }
}

/// A table of environment variables.
pub(super) fn env(
    checker: &mut Checker<'_>,
    entries: &Entries<Text>,
    site: impl Fn(&str) -> Site,
) -> BTreeMap<String, Value> {
    let mut env = BTreeMap::new();
    for (key, value) in &entries.0 {
        if key.get_ref().is_empty() || key.get_ref().contains(['=', '\0']) {
            let message = format!("`{}` can't name an environment variable", key.get_ref());
            checker.report(Problem::new(
                key.span(),
                message,
                "empty, or with `=` or NUL",
            ));
        }
        let value = env_value(checker, value, site(key.get_ref()));
        env.insert(key.get_ref().clone(), value);
    }
    env
}

/// `$NAME` as a whole stands for Windage's own variable; `$$` at the beginning is a literal `$`.
fn env_value(checker: &mut Checker<'_>, value: &Text, site: Site) -> Value {
    checker.no_nul(value);
    let text = value.get_ref();
    match (sole_variable(text), text.strip_prefix('$')) {
        (Some(variable), _) => Value::Environment {
            variable: variable.to_owned(),
        },
        (None, Some(literal)) if literal.starts_with('$') => {
            Value::Literal(checker.placeholders_of(literal, value.span(), site))
        }
        (None, _) => Value::Literal(checker.placeholders_of(text, value.span(), site)),
    }
}

/// Whether there is such a user is known only where the plan is run.
fn user(checker: &mut Checker<'_>, user: Option<&Text>) -> Option<String> {
    let user = user?;
    let name = user.get_ref();
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"_.-".contains(&b);
    if name.is_empty() || name.starts_with('-') || !name.bytes().all(allowed) {
        let message = format!("`{name}` can't name a user");
        checker.report(
            Problem::new(user.span(), message, "not a user")
                .help("give the name or the number of a user, such as \"nobody\" or \"1000\""),
        );
    }
    Some(name.clone())
}

fn origin(
    checker: &mut Checker<'_>,
    index: usize,
    service: &wire::Service,
    is_agent: bool,
) -> Origin {
    // An agent with `attach` was already reported.
    let attach = service.attach.as_ref().filter(|_| !is_agent);
    match (&service.command, attach) {
        (Some(command), None) => {
            checker.words(command.get_ref(), command.span());
            let site = Site::Service {
                index,
                part: Part::Command,
            };
            Origin::Command(checker.templates(command.get_ref(), &site))
        }
        (None, Some(attach)) => {
            Origin::Attach(attach::attach(checker, attach, service.listen.as_ref()))
        }
        (Some(command), Some(_)) => {
            checker.report(
                Problem::new(
                    command.span(),
                    "a service has both `command` and `attach`",
                    "conflicts with `attach`",
                )
                .help("keep `command` to launch it, or `attach` if it is already running"),
            );
            Origin::Command(Vec::new())
        }
        (None, None) => {
            if service.attach.is_none() {
                no_command(checker, service, is_agent);
            }
            Origin::Command(Vec::new())
        }
    }
}

fn no_command(checker: &mut Checker<'_>, service: &wire::Service, is_agent: bool) {
    let name = service.name.get_ref();
    let add = "add `command = [\"program\", \"argument\"]`";
    let (noun, help) = if is_agent {
        ("agent", add.to_owned())
    } else {
        (
            "service",
            format!("{add}, or `attach` if it is already running"),
        )
    };
    let message = format!("the {noun} `{name}` has no `command`");
    let problem = Problem::new(service.name.span(), message, "how is it launched?");
    checker.report(problem.help(help));
}

/// The command that checks the configuration, if there is one.
fn check(
    checker: &mut Checker<'_>,
    index: usize,
    check: Option<&Spanned<Vec<Text>>>,
) -> Vec<Template> {
    let Some(words) = check else {
        return Vec::new();
    };
    checker.words(words.get_ref(), words.span());
    let part = Part::Whole;
    checker.templates(words.get_ref(), &Site::Service { index, part })
}

fn listen_address(checker: &mut Checker<'_>, listen: &Text) -> Option<SocketAddr> {
    match listen.get_ref().parse::<SocketAddr>() {
        Ok(address) if address.port() != 0 => return Some(address),
        Ok(_) => checker.report(
            Problem::new(
                listen.span(),
                "the port of `listen` must be above 0",
                "port 0",
            )
            .help("remove `listen` to get a free port on 127.0.0.1"),
        ),
        Err(_) => checker.report(
            Problem::new(
                listen.span(),
                format!("`{}` is not ADDRESS:PORT", listen.get_ref()),
                "not an address",
            )
            .help("such as \"127.0.0.1:8080\"; names are not resolved"),
        ),
    }
    None
}

fn files(
    checker: &mut Checker<'_>,
    index: usize,
    files: &[wire::TemplateFile],
) -> Vec<TemplateFile> {
    let mut targets = BTreeSet::new();
    let mut resolved = Vec::with_capacity(files.len());
    for file in files {
        let to = PathBuf::from(file.to.get_ref());
        // Drops `.` and `//`, so that each file has one name.
        let plain: PathBuf = to
            .components()
            .filter(|c| *c != Component::CurDir)
            .collect();
        let inside = plain
            .components()
            .all(|c| matches!(c, Component::Normal(_)));
        if !inside || plain.as_os_str().is_empty() || file.to.get_ref().ends_with('/') {
            checker.report(
                Problem::new(
                    file.to.span(),
                    "`to` must name a file inside `{dir}`",
                    "leads elsewhere",
                )
                .help("give a relative path without `..`"),
            );
        } else if !targets.insert(plain.clone()) {
            let message = format!("two files have the target `{}`", file.to.get_ref());
            checker.report(Problem::new(file.to.span(), message, "again here"));
        }
        checker.no_nul(&file.to);
        let text = template_text(checker, index, &file.template);
        let template = PathBuf::from(file.template.get_ref());
        resolved.push(TemplateFile {
            template,
            text,
            to: plain,
        });
    }
    resolved
}

fn template_text(checker: &mut Checker<'_>, index: usize, path: &Text) -> Template {
    let text = checker
        .file_text("template", path, MAX_TEMPLATE_BYTES)
        .unwrap_or_default();
    let template = Template::parse(&text);
    checker.uses.push(Use {
        template: template.clone(),
        span: path.span(),
        site: Site::Service {
            index,
            part: Part::Whole,
        },
        file: Some(path.get_ref().clone()),
    });
    template
}

/// `None` for a `within` alone, which sets only the time limit, not the check.
fn names_a_check(ready: &Spanned<wire::Ready>) -> bool {
    let keys = ready.get_ref();
    let texts = [&keys.http, &keys.log, &keys.metric, &keys.delay];
    keys.tcp.is_some() || texts.into_iter().any(Option::is_some)
}

fn ready(checker: &mut Checker<'_>, index: usize, ready: &Spanned<wire::Ready>) -> Ready {
    let keys = ready.get_ref();
    let within = checker.duration(
        "within",
        keys.within.as_ref(),
        defaults::READY_WITHIN,
        PATIENCE,
    );
    let given = (&keys.http, &keys.tcp, &keys.log, &keys.metric, &keys.delay);
    let check = match given {
        (Some(path), None, None, None, None) => http_check(checker, index, path),
        (None, Some(tcp), None, None, None) => {
            if !*tcp.get_ref() {
                let message = "`tcp = false` has no effect";
                checker.report(Problem::new(tcp.span(), message, "only `true` is valid"));
            }
            ReadyCheck::Tcp
        }
        (None, None, Some(log), None, None) => ReadyCheck::Log {
            pattern: checker.pattern(log),
        },
        (None, None, None, Some(metric), None) => ReadyCheck::Metric {
            name: drops::metric_name(checker, metric),
        },
        (None, None, None, None, Some(delay)) => {
            let delay = checker.duration("delay", Some(delay), INSTANT, PATIENCE);
            ReadyCheck::Delay(delay)
        }
        (None, None, None, None, None) if keys.within.is_some() => ReadyCheck::None,
        _ => {
            checker.report(
                Problem::new(
                    ready.span(),
                    "`ready` takes exactly one of `http`, `tcp`, `log`, `metric` and `delay`",
                    "exactly one is needed",
                )
                .help("without `ready`, a service that is addressed is up when it accepts TCP"),
            );
            ReadyCheck::Tcp
        }
    };
    Ready { check, within }
}

fn http_check(checker: &mut Checker<'_>, index: usize, path: &Text) -> ReadyCheck {
    let text = path.get_ref();
    if !text.starts_with('/') || text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        checker.report(
            Problem::new(
                path.span(),
                format!("`{text}` is not the path of a URL"),
                "not a path",
            )
            .help("start it with `/`, without spaces; Windage adds the service's address"),
        );
    }
    ReadyCheck::Http {
        path: checker.template(
            path,
            Site::Service {
                index,
                part: Part::Whole,
            },
        ),
    }
}

fn stop(checker: &mut Checker<'_>, stop: Option<&wire::Stop>) -> StopPolicy {
    let signal = stop.and_then(|s| s.signal.as_ref());
    let within = stop.and_then(|s| s.within.as_ref());
    StopPolicy {
        signal: checker.word("signal", signal, StopSignal::Term, StopSignal::WORDS),
        within: checker.duration("within", within, defaults::STOP_WITHIN, PATIENCE),
    }
}
