//! From an order to the pod that the API server is asked for.

use k8s_openapi::DeepMerge;
use k8s_openapi::api::core::v1::{
    Affinity, Container, EnvVar, NodeAffinity, NodeSelector, NodeSelectorRequirement,
    NodeSelectorTerm, Pod, PodReadinessGate, PodSpec, PodTemplateSpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::Value;

use crate::{ClusterError, Order, Owner, Patch};

/// The kinds that have a template of a pod.
/// (Not of ReplicaSets and DaemonSets, whose controllers would take the pod for theirs, and delete it.)
const WITH_TEMPLATE: &[&str] = &["Deployment", "Job", "StatefulSet"];
/// A condition that nobody sets.
const NEVER_READY: &str = "windage.dev/never-ready";
/// The field by which a node is named in a pod's affinity.
const NODE_NAME: &str = "metadata.name";

/// The pod that is wanted.
///
/// # Errors
/// [`ClusterError::Manifest`] for a file that is none, [`ClusterError::NoContainer`].
pub(crate) fn pod(order: &Order) -> Result<Pod, ClusterError> {
    let mut template = template(&order.manifest)?;
    for patch in &order.patches {
        template.merge_from(patched(patch)?);
    }
    let mut spec = template.spec.unwrap_or_default();
    let container = container(order, &mut spec)?;
    if !order.command.is_empty() {
        container.command = Some(order.command.clone());
        container.args = None;
    }
    if !order.args.is_empty() {
        container
            .args
            .get_or_insert_default()
            .extend(order.args.iter().cloned());
    }
    let env = container.env.get_or_insert_default();
    for (name, value) in &order.env {
        let new = EnvVar {
            name: name.clone(),
            value: Some(value.clone()),
            value_from: None,
        };
        // In its place: later variables may refer to it (`$(NAME)`).
        match env.iter_mut().find(|of| of.name == *name) {
            Some(of) => *of = new,
            None => env.push(new),
        }
    }
    alone(&mut spec);
    // A container that starts again would be another one than was warmed up.
    spec.restart_policy = Some("Never".to_owned());
    spec.termination_grace_period_seconds = Some(order.stop_within_s.into());
    bind(&mut spec, &order.node);
    let given = template.metadata.unwrap_or_default();
    let mut labels = given.labels.unwrap_or_default();
    labels.extend(order.labels.clone());
    Ok(Pod {
        metadata: ObjectMeta {
            name: Some(order.name.clone()),
            annotations: given.annotations,
            labels: Some(labels),
            owner_references: order.owner.as_ref().map(|owner| vec![job(owner)]),
            ..ObjectMeta::default()
        },
        spec: Some(spec),
        status: None,
    })
}

/// What makes the cluster delete an object together with a Job.
pub(crate) fn job(owner: &Owner) -> OwnerReference {
    OwnerReference {
        api_version: "batch/v1".to_owned(),
        kind: "Job".to_owned(),
        name: owner.name.clone(),
        uid: owner.uid.clone(),
        // The Job stays until all that belongs to it is deleted.
        block_owner_deletion: Some(true),
        ..OwnerReference::default()
    }
}

/// Keeps everybody else from sending it requests, which would count as the load's: Services, to which
/// its labels may belong, take only pods that are ready, and the kubelet is not to ask whether it is.
fn alone(spec: &mut PodSpec) {
    let gates = spec.readiness_gates.get_or_insert_default();
    gates.push(PodReadinessGate {
        condition_type: NEVER_READY.to_owned(),
    });
    let initial = spec.init_containers.iter_mut().flatten();
    // The next initial container waits for a sidecar's startup probe.
    for sidecar in initial {
        sidecar.liveness_probe = None;
        sidecar.readiness_probe = None;
    }
    for container in &mut spec.containers {
        container.liveness_probe = None;
        container.readiness_probe = None;
        container.startup_probe = None;
    }
}

/// The template of a manifest's only pod.
fn template(manifest: &Patch) -> Result<PodTemplateSpec, ClusterError> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(&manifest.text)
        .map_err(|error| no_manifest(manifest, error.to_string()))?;
    let mut found = Vec::new();
    for document in &documents {
        let kind = document["kind"].as_str().unwrap_or_default();
        if kind == "Pod" {
            found.push(document);
        } else if WITH_TEMPLATE.contains(&kind) {
            found.push(&document["spec"]["template"]);
        }
    }
    match found[..] {
        [template] => typed(manifest, template.clone()),
        _ => Err(no_manifest(
            manifest,
            format!(
                "{} of its {} documents have a pod; leave one that is a Pod or one of {}",
                found.len(),
                documents.len(),
                WITH_TEMPLATE.join(", ")
            ),
        )),
    }
}

/// A patch of a template, or of what has one.
fn patched(patch: &Patch) -> Result<PodTemplateSpec, ClusterError> {
    let mut value: Value = serde_saphyr::from_str(&patch.text)
        .map_err(|error| no_manifest(patch, error.to_string()))?;
    if let Some(template) = value.pointer_mut("/spec/template") {
        value = template.take();
    }
    typed(patch, value)
}

/// Refuses what would be without effect: keys that no template has, and `null`, by which `kubectl` removes.
fn typed(file: &Patch, mut value: Value) -> Result<PodTemplateSpec, ClusterError> {
    if let Some(document) = value.as_object_mut() {
        // Of a whole Pod.
        for key in ["apiVersion", "kind", "status"] {
            document.remove(key);
        }
    }
    let typed: PodTemplateSpec = serde_json::from_value(value.clone())
        .map_err(|error| no_manifest(file, error.to_string()))?;
    let kept =
        serde_json::to_value(&typed).map_err(|error| no_manifest(file, error.to_string()))?;
    match without_effect(&value, &kept) {
        Some(path) => Err(no_manifest(
            file,
            format!(
                "`{path}` has no effect: a pod's template has no such key, or it is null; a patch adds and \
                 replaces, begins with `spec` or `metadata`, and can't remove"
            ),
        )),
        None => Ok(typed),
    }
}

/// The first key of a value that is missing in what was read of it.
fn without_effect(given: &Value, kept: &Value) -> Option<String> {
    let below = |key: String, given: &Value, kept: &Value| {
        Some(match without_effect(given, kept)?.as_str() {
            "" => key,
            rest => format!("{key}.{rest}"),
        })
    };
    match (given, kept) {
        (Value::Object(given), Value::Object(kept)) => given.iter().find_map(|(key, value)| {
            below(key.clone(), value, kept.get(key).unwrap_or(&Value::Null))
        }),
        (Value::Array(given), Value::Array(kept)) => {
            let mut items = given.iter().zip(kept).enumerate();
            items.find_map(|(at, (given, kept))| below(at.to_string(), given, kept))
        }
        (Value::Null, _) | (_, Value::Null) => Some(String::new()),
        _ => None,
    }
}

fn no_manifest(file: &Patch, why: String) -> ClusterError {
    ClusterError::Manifest {
        path: file.path.clone(),
        why,
    }
}

/// The container that an order is about.
fn container<'s>(order: &Order, spec: &'s mut PodSpec) -> Result<&'s mut Container, ClusterError> {
    let names: Vec<&str> = spec.containers.iter().map(|of| of.name.as_str()).collect();
    let there = names.join(", ");
    let found = match &order.container {
        None => spec.containers.first_mut(),
        Some(name) => spec.containers.iter_mut().find(|of| of.name == *name),
    };
    found.ok_or_else(|| ClusterError::NoContainer {
        path: order.manifest.path.clone(),
        container: order.container.clone().unwrap_or_default(),
        there: if there.is_empty() {
            "none".to_owned()
        } else {
            there
        },
    })
}

/// Lets it run on a node only. Of several terms one is enough, so each gets the requirement; the
/// scheduler still looks whether the node has room.
pub(crate) fn bind(spec: &mut PodSpec, node: &str) {
    let only = NodeSelectorRequirement {
        key: NODE_NAME.to_owned(),
        operator: "In".to_owned(),
        values: Some(vec![node.to_owned()]),
    };
    let affinity = spec.affinity.get_or_insert_with(Affinity::default);
    let of_node = affinity
        .node_affinity
        .get_or_insert_with(NodeAffinity::default);
    let required = &mut of_node.required_during_scheduling_ignored_during_execution;
    let terms = &mut required
        .get_or_insert_with(NodeSelector::default)
        .node_selector_terms;
    if terms.is_empty() {
        terms.push(NodeSelectorTerm::default());
    }
    for term in terms {
        term.match_fields.get_or_insert_default().push(only.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: { name: shop }
spec:
  template:
    metadata: { labels: { app: shop }, annotations: { note: kept } }
    spec:
      containers:
      - name: app
        image: localhost/app:1
        args: [--serve]
        env: [{ name: MODE, value: plain }, { name: SIZE, value: '1' }]
      - { name: cache, image: 'localhost/cache:1' }
";

    fn file(text: &str) -> Patch {
        Patch {
            path: "shop.yaml".to_owned(),
            text: text.to_owned(),
        }
    }

    fn order(manifest: &str) -> Order {
        Order {
            context: None,
            namespace: None,
            node: "node1".to_owned(),
            name: "windage-off".to_owned(),
            labels: BTreeMap::from([("windage.dev/arm".to_owned(), "off".to_owned())]),
            owner: None,
            manifest: file(manifest),
            patches: Vec::new(),
            container: None,
            command: Vec::new(),
            args: Vec::new(),
            env: BTreeMap::new(),
            stop_within_s: 10,
        }
    }

    fn json(order: &Order) -> Value {
        serde_json::to_value(pod(order).unwrap()).unwrap()
    }

    #[test]
    fn a_pod_is_the_template_with_what_the_arm_changes() {
        let mut wanted = order(DEPLOYMENT);
        wanted.args = vec!["--otel".to_owned()];
        wanted.env = BTreeMap::from([("MODE".to_owned(), "otel".to_owned())]);
        let sidecar = "spec: { containers: [{ name: proxy, image: 'localhost/proxy:1' }, { name: cache, image: 'localhost/cache:2' }] }";
        let annotated = "spec: { template: { metadata: { annotations: { inject: 'true' } } } }";
        wanted.patches = vec![file(sidecar), file(annotated)];
        wanted.owner = Some(Owner {
            name: "windage-1".to_owned(),
            uid: "2-3".to_owned(),
        });
        let pod = json(&wanted);
        assert_eq!(pod["metadata"]["name"], "windage-off");
        let owner = serde_json::json!([{ "apiVersion": "batch/v1", "blockOwnerDeletion": true, "kind": "Job", "name": "windage-1", "uid": "2-3" }]);
        assert_eq!(pod["metadata"]["ownerReferences"], owner);
        assert_eq!(
            pod["metadata"]["labels"],
            serde_json::json!({ "app": "shop", "windage.dev/arm": "off" })
        );
        assert_eq!(
            pod["metadata"]["annotations"],
            serde_json::json!({ "note": "kept", "inject": "true" })
        );
        let containers = pod["spec"]["containers"].as_array().unwrap();
        let images: Vec<&str> = containers
            .iter()
            .filter_map(|of| of["image"].as_str())
            .collect();
        assert_eq!(
            images,
            ["localhost/app:1", "localhost/cache:2", "localhost/proxy:1"]
        );
        assert_eq!(
            containers[0]["args"],
            serde_json::json!(["--serve", "--otel"])
        );
        let env = serde_json::json!([{ "name": "MODE", "value": "otel" }, { "name": "SIZE", "value": "1" }]);
        assert_eq!(containers[0]["env"], env);
        assert_eq!(pod["spec"]["restartPolicy"], "Never");
    }

    #[test]
    fn a_pod_runs_on_its_node_alone_whatever_it_asks_for_beside() {
        let terms = |manifest: &str| {
            let pod = json(&order(manifest));
            let of_node = &pod["spec"]["affinity"]["nodeAffinity"];
            of_node["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"].clone()
        };
        let only =
            serde_json::json!([{ "key": "metadata.name", "operator": "In", "values": ["node1"] }]);
        assert_eq!(
            terms(DEPLOYMENT),
            serde_json::json!([{ "matchFields": only }])
        );
        let choosy = "kind: Pod\nspec:\n  containers: [{ name: app }]\n  affinity: { nodeAffinity: { \
             requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [\
             { matchExpressions: [{ key: disk, operator: Exists }] }, \
             { matchExpressions: [{ key: gpu, operator: Exists }] }] } } }\n";
        let terms = terms(choosy);
        for (index, key) in ["disk", "gpu"].into_iter().enumerate() {
            assert_eq!(terms[index]["matchExpressions"][0]["key"], key);
            assert_eq!(terms[index]["matchFields"], only);
        }
    }

    #[test]
    fn what_would_have_no_effect_is_refused() {
        let table = [
            ("containers: [{ name: proxy }]", "`containers`"),
            (
                "metadata: { anotations: { inject: 'true' } }",
                "`metadata.anotations`",
            ),
            (
                "spec: { containers: [{ name: app, image: null }] }",
                "`spec.containers.0.image`",
            ),
            (
                "spec: { containers: [{ name: app, $patch: delete }] }",
                "`spec.containers.0.$patch`",
            ),
        ];
        for (patch, key) in table {
            let mut wanted = order(DEPLOYMENT);
            wanted.patches = vec![file(patch)];
            let error = pod(&wanted).unwrap_err().to_string();
            assert!(error.contains(key), "{key}: {error}");
        }
    }

    #[test]
    fn nobody_else_asks_a_pod() {
        let probed = DEPLOYMENT.replace(
            "        args: [--serve]",
            "        args: [--serve]\n        livenessProbe: { httpGet: { path: /, port: 80 } }",
        );
        let pod = json(&order(&probed));
        assert_eq!(pod["spec"]["containers"][0]["args"][0], "--serve");
        assert!(pod["spec"]["containers"][0].get("livenessProbe").is_none());
        let gates = serde_json::json!([{ "conditionType": NEVER_READY }]);
        assert_eq!(pod["spec"]["readinessGates"], gates);
    }

    #[test]
    fn what_is_no_manifest_of_one_pod_is_refused() {
        let service = "kind: Service\nspec: {}\n";
        let two = format!("{DEPLOYMENT}---\n{DEPLOYMENT}");
        let table = [
            (service, "0 of its 1 documents have a pod"),
            (&two, "2 of its 2 documents have a pod"),
            ("kind: Pod\nspec: { containers: 3 }\n", "invalid type"),
            ("{", "shop.yaml: "),
            ("kind: Pod\nspec: { containers: [] }\n", "it has none"),
        ];
        for (text, said) in table {
            let error = pod(&order(text)).unwrap_err().to_string();
            assert!(
                error.contains(said) && error.starts_with("shop.yaml"),
                "{said}: {error}"
            );
        }
        let mut other = order(DEPLOYMENT);
        other.container = Some("web".to_owned());
        let error = pod(&other).unwrap_err().to_string();
        assert!(error.contains("`web`; it has app, cache"), "{error}");
    }
}
