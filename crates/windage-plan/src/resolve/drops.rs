//! `drops` and `metrics` of a service: where it reports telemetry that it dropped, and that it is
//! up.

use std::ops::Range;

use crate::wire::Spanned;
use windage_model::LoadModel;

use super::checker::Checker;
use super::ports::service_of_port;
use super::resolved::Resolved;
use super::site::Site;
use crate::load::HTTP;
use crate::plan::Origin;
use crate::wire::{self, PlanFile, Text};
use crate::{Drops, Problem, Template, ToldBy};

const MAX_REASON_BYTES: usize = 120;
/// What is to be done where there are none.
const METRICS: &str = "add the path of its metrics, such as metrics = \"/metrics\"";

/// Fills in `drops` and `metrics` of every service. `model` is `None` when it is invalid.
pub(super) fn resolve_all(
    checker: &mut Checker<'_>,
    file: &PlanFile,
    services: &mut [Resolved],
    model: Option<LoadModel>,
) {
    for (index, service) in file.programs().enumerate() {
        if !can_be_asked(checker, service, &services[index]) {
            continue;
        }
        services[index].service.drops = service
            .drops
            .iter()
            .filter_map(|drops| self::drops(checker, drops))
            .collect();
        if let Some(metrics) = &service.metrics {
            services[index].service.metrics =
                self::metrics(checker, index, metrics, services, model);
        }
        agree(checker, file, service);
    }
}

/// A service for all arms can't attribute drops to one arm. A shared service may still report that
/// it is up.
fn can_be_asked(checker: &mut Checker<'_>, service: &wire::Service, resolved: &Resolved) -> bool {
    let why = match (&resolved.service.origin, resolved.service.shared) {
        (Origin::Attach(_), _) => "is already running, once for all arms",
        (_, true) => "is shared: it is launched once, for all arms",
        _ => return true,
    };
    let drops = service.drops.first().map(|d| ("drops", d.span()));
    let says_when = resolved.service.shared && awaited_metric(service).is_some();
    let metrics = service.metrics.as_ref().filter(|_| !says_when);
    let metrics = metrics.map(|m| ("metrics", m.span()));
    for (key, span) in drops.into_iter().chain(metrics) {
        let message = format!("`{}` {why}", resolved.name());
        checker.report(
            Problem::new(span, message, "can't be attributed to an arm")
                .help(format!("remove `{key}`")),
        );
    }
    says_when
}

/// The metric that shows when the service is up.
fn awaited_metric(service: &wire::Service) -> Option<&Text> {
    let ready = service.ready.as_ref()?;
    ready.get_ref().metric.as_ref()
}

/// `metrics` is required when `drops` or `ready` names a metric or an arm scrapes them, and has no
/// effect otherwise.
fn agree(checker: &mut Checker<'_>, file: &PlanFile, service: &wire::Service) {
    let mut counters = service
        .drops
        .iter()
        .filter_map(|d| d.get_ref().metric.as_ref());
    let read = counters.next().or(awaited_metric(service));
    match (&service.metrics, read) {
        (None, Some(metric)) => {
            let message = format!(
                "the metric `{}` can't be read: the service has no `metrics`",
                metric.get_ref()
            );
            checker.report(
                Problem::new(metric.span(), message, "needs `metrics`").help(METRICS),
            );
        }
        (None, None) => {
            for name in scraped(file, service) {
                let message = format!("`{}` can't be scraped: it has no `metrics`", name.get_ref());
                checker.report(
                    Problem::new(name.span(), message, "needs `metrics`").help(METRICS),
                );
            }
        }
        (Some(metrics), None) if scraped(file, service).next().is_none() => checker.report(
            Problem::new(
                metrics.span(),
                "`metrics` has no effect: neither `drops` nor `ready` names a metric, and no arm scrapes them",
                "no effect",
            )
            .help(
                "name a counter: drops = [{ reason = \"queue full\", metric = \"dropped_total\" }]; or \
                 a metric that is above zero once the service is up: ready = { metric = \"NAME\" }; or \
                 let an arm scrape them: scrape = { NAME = \"1s\" }",
            ),
        ),
        _ => {}
    }
}

/// Where arms name it to be scraped.
fn scraped<'f>(file: &'f PlanFile, service: &'f wire::Service) -> impl Iterator<Item = &'f Text> {
    let names = file.arm.iter().flat_map(|arm| &arm.scrape.0);
    let names = names.map(|(name, _)| name);
    names.filter(|name| name.get_ref() == service.name.get_ref())
}

fn drops(checker: &mut Checker<'_>, drops: &Spanned<wire::Drops>) -> Option<Drops> {
    let keys = drops.get_ref();
    let told_by = match (&keys.log, &keys.metric) {
        (Some(log), None) => ToldBy::Log {
            pattern: checker.pattern(log),
        },
        (None, Some(metric)) => ToldBy::Metric {
            name: metric_name(checker, metric),
        },
        _ => {
            checker.report(Problem::new(
                drops.span(),
                "an entry of `drops` takes exactly one of `log` and `metric`",
                "exactly one is needed",
            ));
            return None;
        }
    };
    let reason = keys.reason.get_ref();
    if reason.trim().is_empty()
        || reason.chars().any(char::is_control)
        || reason.len() > MAX_REASON_BYTES
    {
        let message = format!("a reason is one line of 1 to {MAX_REASON_BYTES} bytes");
        checker.report(Problem::new(keys.reason.span(), message, "not a reason"));
    }
    Some(Drops {
        reason: reason.clone(),
        told_by,
    })
}

/// A Prometheus metric name: `[a-zA-Z_:][a-zA-Z0-9_:]*`.
pub(super) fn metric_name(checker: &mut Checker<'_>, name: &Text) -> String {
    let text = name.get_ref();
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':');
    let starts = text.starts_with(|c: char| !c.is_ascii_digit());
    if !starts || !text.bytes().all(allowed) {
        checker.report(
            Problem::new(
                name.span(),
                format!("`{text}` can't name a metric"),
                "not a metric's name",
            )
            .help("give the name without labels; all label sets are summed"),
        );
    }
    text.clone()
}

/// Where metrics are read: a path on the service itself, or a URL on a service.
fn metrics(
    checker: &mut Checker<'_>,
    index: usize,
    metrics: &Text,
    services: &[Resolved],
    model: Option<LoadModel>,
) -> Option<Template> {
    if model == Some(LoadModel::Batch) && !services[index].is_agent {
        let message = "`metrics` can't be read from the program of a batch load: it has no address";
        let problem = Problem::new(metrics.span(), message, "no address");
        checker.report(problem.help("use `log` in `drops`"));
        return None;
    }
    let text = metrics.get_ref();
    let url = with_own_port(text, services[index].name());
    let bad_part = text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '#');
    if bad_part || !is_of_a_service(&url, index, services) {
        checker.report(not_metrics(text, metrics.span()));
        return None;
    }
    Some(checker.placeholders_of(&url, metrics.span(), Site::Metrics { index }))
}

/// The URL of a service's metrics. It is not rendered within the service, so the service's own port
/// is named by the service's name.
fn with_own_port(text: &str, name: &str) -> String {
    if text.starts_with('/') {
        return format!("http://{{{name}}}{text}");
    }
    match text
        .strip_prefix(HTTP)
        .and_then(|rest| rest.split_once('/'))
    {
        Some((authority, path)) => {
            let authority = authority.replace("{port", &format!("{{{name}.port"));
            format!("{HTTP}{authority}/{path}")
        }
        None => text.to_owned(),
    }
}

/// `http://{NAME}/…` of a service that each arm has for itself, or a port of it on 127.0.0.1. At
/// any other address there could be only one service for all arms.
fn is_of_a_service(url: &str, index: usize, services: &[Resolved]) -> bool {
    let Some((authority, _)) = url.strip_prefix(HTTP).and_then(|rest| rest.split_once('/')) else {
        return false;
    };
    let is_own = |name: &str| {
        let named = services.iter().position(|s| s.name() == name);
        named.is_some_and(|i| services[i].launched() && (services[i].is_of_an_arm() || i == index))
    };
    let sole = |text: &str, of: fn(&str) -> Option<&str>| {
        let template = Template::parse(text);
        template.sole_placeholder().and_then(of).is_some_and(is_own)
    };
    match authority.strip_prefix("127.0.0.1:") {
        Some(port) => sole(port, service_of_port),
        None => sole(authority, |name| Some(name)),
    }
}

fn not_metrics(text: &str, span: Range<usize>) -> Problem {
    Problem::new(
        span,
        format!("`{text}` is not an address that each arm has for itself"),
        "neither a path nor http://{SERVICE}/path",
    )
    .help(
        "such as \"/metrics\" on the service itself, \"http://127.0.0.1:{port.admin}/metrics\" on one \
         of its `ports`, or \"http://{agent}/metrics\" on another service that is launched for each \
         arm; at a fixed address, only one arm's metrics could be read",
    )
}
