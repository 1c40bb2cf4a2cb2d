//! `pod`: a service that is a pod of Kubernetes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use windage_model::LoadModel;

use super::checker::Checker;
use super::file::MAX_TEMPLATE_BYTES;
use super::resolved::Resolved;
use crate::plan::{ClusterPlace, ManifestFile, PodSource, ServiceName};
use crate::value::sole_variable;
use crate::wire::{self, Entries, PlanFile, Spanned, Text};
use crate::{Problem, Template};

/// `[cluster]`.
pub(super) fn cluster(file: &PlanFile) -> ClusterPlace {
    let keys = file.cluster.as_ref().map(Spanned::get_ref);
    let text =
        |key: fn(&wire::Cluster) -> &Option<Text>| Some(key(keys?).as_ref()?.get_ref().clone());
    ClusterPlace {
        context: text(|of| &of.context),
        namespace: text(|of| &of.namespace),
        node: text(|of| &of.node),
        image: text(|of| &of.image),
        pull_secret: text(|of| &of.pull_secret),
    }
}

/// Where the pod is from.
pub(super) fn pod(checker: &mut Checker<'_>, pod: &Spanned<wire::Pod>) -> PodSource {
    let keys = pod.get_ref();
    PodSource {
        manifest: manifest(checker, "manifest", &keys.manifest),
        container: keys.container.as_ref().map(|of| of.get_ref().clone()),
        port: checker.integer("port", Some(&keys.port), 80, 1..=65535),
    }
}

/// An arm's `patch`: files by service.
pub(super) fn patches(
    checker: &mut Checker<'_>,
    entries: &Entries<Text>,
    services: &[Resolved],
) -> BTreeMap<ServiceName, ManifestFile> {
    let mut patches = BTreeMap::new();
    for (key, path) in &entries.0 {
        let named = services.iter().find(|of| of.name() == key.get_ref());
        match named.filter(|of| of.service.pod.is_some()) {
            Some(of) => {
                let file = manifest(checker, "patch", path);
                patches.insert(of.service.name.clone(), file);
            }
            None => {
                let message = format!("no service `{}` is a pod", key.get_ref());
                checker.report(
                    Problem::new(key.span(), message, "nothing to patch")
                        .help("`patch` changes a service with `pod`; other services have `env`, `args` and `command`"),
                );
            }
        }
    }
    patches
}

fn manifest(checker: &mut Checker<'_>, what: &str, path: &Text) -> ManifestFile {
    let text = checker.file_text(what, path, MAX_TEMPLATE_BYTES);
    ManifestFile {
        path: PathBuf::from(path.get_ref()),
        text: text.unwrap_or_default(),
    }
}

/// Refuses what a pod has in its manifest, or can't have.
pub(super) fn refuse_other_keys(checker: &mut Checker<'_>, service: &wire::Service) {
    let manifest = "write it into the manifest";
    let stop = service.stop.as_ref().map(Spanned::get_ref);
    let keys: [(&str, Option<Range<usize>>, &str); 11] = [
        (
            "command",
            service.command.as_ref().map(Spanned::span),
            "the manifest has it; an arm may replace it",
        ),
        (
            "attach",
            service.attach.as_ref().map(Spanned::span),
            "a pod is made for each launch",
        ),
        (
            "listen",
            service.listen.as_ref().map(Text::span),
            "a pod has an address of its own; give its `port`",
        ),
        ("ports", service.ports.first().map(Text::span), manifest),
        ("cwd", service.cwd.as_ref().map(Text::span), manifest),
        (
            "clean_env",
            service.clean_env.as_ref().map(Spanned::span),
            "a pod inherits nothing of this environment",
        ),
        ("user", service.user.as_ref().map(Text::span), manifest),
        (
            "files",
            service.files.first().map(|of| of.template.span()),
            "use a ConfigMap",
        ),
        (
            "check",
            service.check.as_ref().map(Spanned::span),
            "an init container can check its configuration",
        ),
        (
            "cpus",
            service.cpus.as_ref().map(Spanned::span),
            "the kubelet gives cores, by the manifest's `resources`",
        ),
        (
            "stop.signal",
            stop.and_then(|of| of.signal.as_ref()).map(Text::span),
            "the kubelet sends it, as the image says",
        ),
    ];
    for (key, span, help) in keys {
        let Some(span) = span else { continue };
        let message = format!("`{key}` doesn't apply to a pod");
        checker.report(Problem::new(span, message, "of a pod").help(help));
    }
}

/// Refuses what a plan with pods can't have beside them, or not yet.
pub(super) fn refuse_beside_pods(
    checker: &mut Checker<'_>,
    file: &PlanFile,
    services: &[Resolved],
    model: Option<LoadModel>,
) {
    let Some(pod) = services.iter().find(|of| of.service.pod.is_some()) else {
        if let Some(cluster) = &file.cluster {
            let message = "no service is a pod, so `[cluster]` has no effect";
            checker.report(
                Problem::new(cluster.span(), message, "no effect").help("give a service `pod`"),
            );
        }
        return;
    };
    let mut refuse = |span: Range<usize>, message: &str, help: &str| {
        checker.report(Problem::new(span, message, "not with pods").help(help));
    };
    other_services(&mut refuse, services, pod);
    for service in file.service.iter().filter(|of| of.pod.is_some()) {
        let env = service.env.0.iter().map(|(_, value)| value);
        values(&mut refuse, env, pod.name());
        let metric = service
            .ready
            .as_ref()
            .and_then(|of| of.get_ref().metric.as_ref());
        let asked = [
            service.metrics.as_ref().map(Text::span),
            service.drops.first().map(Spanned::span),
            metric.map(Text::span),
        ];
        for span in asked.into_iter().flatten() {
            refuse(
                span,
                "a pod isn't asked for metrics or drops yet",
                "remove it",
            );
        }
    }
    for arm in &file.arm {
        let env = arm.env.0.iter().map(|(_, value)| value);
        let args = arm.args.0.iter().flat_map(|(_, words)| words);
        let commands = arm.command.0.iter().flat_map(|(_, words)| words.get_ref());
        values(&mut refuse, env.chain(args).chain(commands), pod.name());
        let scraped = arm.scrape.0.first().map(|(key, _)| key.span());
        let switched = arm.switch.first().map(Spanned::span);
        for span in scraped.into_iter().chain(switched) {
            let help = "give each arm what differs as `env`, `args` or `patch`";
            refuse(span, "pods can't be scraped or switched yet", help);
        }
    }
    let whole = [
        file.profile.as_ref().map(|of| {
            (
                of.span(),
                "pods can't be profiled yet",
                "remove `[profile]`",
            )
        }),
        file.load.unix.as_ref().map(|of| {
            let message = "a pod's sockets can't be reached from outside";
            (of.span(), message, "send the load to its port")
        }),
        (model == Some(LoadModel::Batch)).then(|| {
            let message = "a pod gets load over the network";
            (file.load.model.span(), message, "use `closed` or `open`")
        }),
    ];
    for (span, message, help) in whole.into_iter().flatten() {
        refuse(span, message, help);
    }
    if let Some(cluster) = &file.cluster {
        measured_in_the_cluster(&mut refuse, file, cluster.get_ref());
    }
}

/// With an image, the plan and its manifests are sent to the cluster, and no other file yet.
fn measured_in_the_cluster(
    refuse: &mut impl FnMut(Range<usize>, &str, &str),
    file: &PlanFile,
    cluster: &wire::Cluster,
) {
    if cluster.image.is_none() {
        if let Some(secret) = &cluster.pull_secret {
            let message = "`pull_secret` is for the `image` of [cluster], and there is none";
            refuse(secret.span(), message, "remove it");
        }
        return;
    }
    let load = &file.load;
    let steps = load.flow.iter().flat_map(|flow| flow.steps.get_ref());
    let bodies = steps.filter_map(|step| step.body_file.as_ref());
    let fields = load.fields.0.iter();
    let tables = fields.filter_map(|(_, field)| field.get_ref().csv.as_ref());
    let authority = load.tls.as_ref().and_then(|of| of.get_ref().ca.as_ref());
    let replays = file.regime.iter().map(|regime| &regime.get_ref().replay);
    let files = [&load.replay, &load.body_file].into_iter().chain(replays);
    let files = files.flatten().chain(bodies).chain(tables).chain(authority);
    for of in files {
        let message = "with `image`, only manifests and patches are sent to the cluster yet";
        refuse(
            of.span(),
            message,
            "leave it out, or run Windage on the node",
        );
    }
    for agent in &file.agent {
        let message = "with `image`, an agent can't be launched on the node yet";
        refuse(
            agent.name.span(),
            message,
            "leave it out, or run Windage on the node",
        );
    }
    let of_steps = load.flow.iter().flat_map(|flow| flow.steps.get_ref());
    let headers = of_steps.flat_map(|step| &step.headers.0);
    for (_, value) in headers.chain(&load.headers.0) {
        if sole_variable(value.get_ref()).is_some() {
            let message = "with `image`, this environment's variables are not sent to the cluster";
            refuse(
                value.span(),
                message,
                "leave it out, or run Windage on the node",
            );
        }
    }
    let versions = file.build.versions.values();
    for command in file.build.commands.iter().chain(versions) {
        let message = "with `image`, there is no shell where the plan is measured";
        refuse(
            command.span(),
            message,
            "run it before, or run Windage on the node",
        );
    }
}

/// One pod for each arm, and nothing but what runs already for all of them.
fn other_services(
    refuse: &mut impl FnMut(Range<usize>, &str, &str),
    services: &[Resolved],
    pod: &Resolved,
) {
    for of in services {
        let span = of.name_span.clone();
        if of.service.pod.is_some() && of.name() != pod.name() {
            let message = format!(
                "`{}` and `{}` are pods of the same arm",
                pod.name(),
                of.name()
            );
            let help = "measure one at a time: several pods for an arm are not supported yet";
            refuse(span, &message, help);
        } else if of.service.pod.is_some() && of.service.shared {
            let help = "remove `shared`: each arm has its own";
            refuse(span, "a pod can't be shared yet", help);
        } else if of.service.pod.is_none() && (of.launched() || !of.service.shared) {
            let message = format!("`{}` is not a pod, and `{}` is one", of.name(), pod.name());
            let help = "leave it out, or attach to it by `url` for all arms (`shared = true`)";
            refuse(span, &message, help);
        }
    }
}

/// Refuses values for a pod that it can't have.
fn values<'a>(
    refuse: &mut impl FnMut(Range<usize>, &str, &str),
    texts: impl Iterator<Item = &'a Text>,
    pod: &str,
) {
    let of_process = |name: &str| {
        let first = name.split('.').next().unwrap_or(name);
        ["listen", "port", "dir", pod].contains(&first)
    };
    for text in texts {
        if sole_variable(text.get_ref()).is_some() {
            // Everybody who may read pods could read it, and it would be on disk.
            let message = "a variable of this environment would be readable in the pod";
            let help = "put it into a Secret, and name that in the manifest (`valueFrom`)";
            refuse(text.span(), message, help);
        }
        let template = Template::parse(text.get_ref());
        if let Some(name) = template.placeholders().find(|name| of_process(name)) {
            let message = format!("`{{{name}}}` has no value in a pod");
            let help = "its address is not known before it runs; it listens on its `port`, as the manifest says";
            refuse(text.span(), &message, help);
        }
    }
}
