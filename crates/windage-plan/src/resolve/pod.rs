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
use crate::{Problem, Value};

/// `[cluster]`.
pub(super) fn cluster(file: &PlanFile) -> ClusterPlace {
    let keys = file.cluster.as_ref().map(Spanned::get_ref);
    let text =
        |key: fn(&wire::Cluster) -> &Option<Text>| Some(key(keys?).as_ref()?.get_ref().clone());
    ClusterPlace {
        context: text(|of| &of.context),
        namespace: text(|of| &of.namespace),
        node: text(|of| &of.node),
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

/// Refuses what a plan with pods can't have beside them.
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
    let mut refuse = |span, message: &str, help: &str| {
        checker.report(Problem::new(span, message, "not with pods").help(help));
    };
    for other in services
        .iter()
        .filter(|of| of.service.pod.is_some() && of.name() != pod.name())
    {
        let message = format!(
            "`{}` and `{}` are pods of the same arm",
            pod.name(),
            other.name()
        );
        refuse(
            other.name_span.clone(),
            &message,
            "measure one at a time: several pods for an arm are not supported yet",
        );
    }
    for of in services {
        if of.service.pod.is_none() && of.launched() {
            let message = format!(
                "`{}` is launched on this machine, and `{}` is a pod",
                of.name(),
                pod.name()
            );
            refuse(
                of.name_span.clone(),
                &message,
                "make it a pod too, or `attach` to it by `url`",
            );
        } else if of.service.pod.is_some() && of.service.shared {
            refuse(
                of.name_span.clone(),
                "a pod can't be shared yet",
                "remove `shared`: each arm has its own",
            );
        }
        let of_environment = of
            .service
            .env
            .iter()
            .filter(|(_, value)| matches!(value, Value::Environment { .. }));
        if of.service.pod.is_some() && of_environment.count() > 0 {
            secret_in_env(&mut refuse, of.name_span.clone());
        }
    }
    for arm in &file.arm {
        for (key, value) in &arm.env.0 {
            if sole_variable(value.get_ref()).is_some() {
                secret_in_env(&mut refuse, key.span());
            }
        }
    }
    if let Some(profile) = &file.profile {
        refuse(
            profile.span(),
            "pods can't be profiled yet",
            "remove `[profile]`",
        );
    }
    if let Some(unix) = &file.load.unix {
        refuse(
            unix.span(),
            "a pod's sockets can't be reached from outside",
            "send the load to its port",
        );
    }
    if model == Some(LoadModel::Batch) {
        refuse(
            file.load.model.span(),
            "a pod gets load over the network",
            "use `closed` or `open`",
        );
    }
}

/// Everybody who may read pods would read it, and so would the order on disk.
fn secret_in_env(refuse: &mut impl FnMut(Range<usize>, &str, &str), span: Range<usize>) {
    refuse(
        span,
        "a variable of this environment would be readable in the pod",
        "put it into a Secret, and name that in the manifest (`valueFrom`)",
    );
}
