//! The objects of a run that is measured in the cluster: a Job, and what belongs to it.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::pod::bind;
use crate::{ClusterError, INSIDE_VERB, inside};

/// A run that is to be measured in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Away {
    /// As in [`Order`](crate::Order).
    pub context: Option<String>,
    /// As in [`Order`](crate::Order).
    pub namespace: Option<String>,
    /// The node that it is measured on; `None` for one that the scheduler chooses.
    pub node: Option<String>,
    /// The image of Windage.
    pub image: String,
    /// The Secret with which the image is pulled.
    pub pull_secret: Option<String>,
    /// The name of the plan, as a label's value.
    pub plan: String,
    /// The commit that the plan is of, if it is of one.
    pub commit: Option<String>,
    /// The plan, as `plan.toml`, and the files that it names beside it.
    pub files: BTreeMap<String, String>,
    /// When the cluster ends it, if nobody has fetched it by then.
    pub within: Duration,
}

/// All of them. Everything but the Job is deleted with it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Objects {
    pub(crate) job: Job,
    pub(crate) account: ServiceAccount,
    pub(crate) role: Role,
    pub(crate) binding: RoleBinding,
    pub(crate) files: ConfigMap,
}

impl Away {
    /// The name of all its objects: the same for the same plan, so that the same command finds them again.
    pub(crate) fn name(&self) -> String {
        let mut hash = Sha256::new();
        let place = [&self.node, &Some(self.image.clone())];
        let place = place
            .into_iter()
            .map(|of| of.as_deref().unwrap_or_default());
        let files = self
            .files
            .iter()
            .flat_map(|(name, text)| [&name[..], &text[..]]);
        for part in place.chain(files) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let hash = hash.finalize();
        let id: String = hash[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("windage-{id}")
    }

    /// Of the objects, as of the pods that are measured.
    fn labels(&self) -> BTreeMap<String, String> {
        [
            ("app.kubernetes.io/managed-by", "windage"),
            ("windage.dev/plan", &self.plan),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    }

    fn metadata(&self) -> ObjectMeta {
        ObjectMeta {
            name: Some(self.name()),
            labels: Some(self.labels()),
            ..ObjectMeta::default()
        }
    }

    /// The objects. The Job does nothing until it is resumed.
    pub(crate) fn objects(&self) -> Result<Objects, ClusterError> {
        let name = self.name();
        Ok(Objects {
            job: self.job()?,
            account: ServiceAccount {
                metadata: self.metadata(),
                ..ServiceAccount::default()
            },
            role: Role {
                metadata: self.metadata(),
                ..typed(json!({ "rules": [
                    { "apiGroups": [""], "resources": ["pods"],
                      "verbs": ["create", "get", "list", "watch", "delete", "deletecollection"] },
                    { "apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"] },
                ] }))?
            },
            binding: RoleBinding {
                metadata: self.metadata(),
                ..typed(json!({
                    "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name },
                    "subjects": [{ "kind": "ServiceAccount", "name": name }],
                }))?
            },
            files: ConfigMap {
                metadata: self.metadata(),
                data: Some(self.files.clone()),
                ..ConfigMap::default()
            },
        })
    }

    fn job(&self) -> Result<Job, ClusterError> {
        let name = self.name();
        let of_pod = |variable: &str, field: &str| json!({ "name": variable, "valueFrom": { "fieldRef": { "fieldPath": field } } });
        let container = json!({
            "name": inside::CONTAINER,
            "image": self.image,
            "args": [INSIDE_VERB, inside::MEASURE],
            "env": [
                of_pod(inside::NODE, "spec.nodeName"),
                of_pod(inside::ADDRESS, "status.hostIP"),
                of_pod(inside::JOB_ID, "metadata.labels['batch.kubernetes.io/controller-uid']"),
                { "name": inside::JOB, "value": name },
                { "name": inside::COMMIT, "value": self.commit },
            ],
            // Without any, the pods that are measured would come first.
            "resources": { "requests": { "cpu": "500m", "memory": "256Mi" } },
            "volumeMounts": [
                { "name": "plan", "mountPath": inside::PLAN_FOLDER, "readOnly": true },
                { "name": "groups", "mountPath": GROUPS, "readOnly": true },
                { "name": "work", "mountPath": inside::WORK },
            ],
        });
        let pull_secrets: Vec<Value> = self
            .pull_secret
            .iter()
            .map(|name| json!({ "name": name }))
            .collect();
        // In the node's network, so that load reaches pods as from the node, and telemetry its address.
        let spec = json!({
            "suspend": true,
            "backoffLimit": 0,
            "activeDeadlineSeconds": self.within.as_secs().max(1),
            "ttlSecondsAfterFinished": KEPT_S,
            "template": {
                "metadata": { "labels": self.labels() },
                "spec": {
                    "restartPolicy": "Never",
                    "terminationGracePeriodSeconds": GRACE_S,
                    "hostNetwork": true,
                    "dnsPolicy": "ClusterFirstWithHostNet",
                    "serviceAccountName": name,
                    "imagePullSecrets": pull_secrets,
                    "containers": [container],
                    "volumes": [
                        { "name": "plan", "configMap": { "name": name } },
                        { "name": "groups", "hostPath": { "path": GROUPS, "type": "Directory" } },
                        { "name": "work", "emptyDir": {} },
                    ],
                },
            },
        });
        let mut job = Job {
            metadata: self.metadata(),
            spec: Some(typed(spec)?),
            status: None,
        };
        let pod = job
            .spec
            .as_mut()
            .and_then(|spec| spec.template.spec.as_mut());
        if let (Some(pod), Some(node)) = (pod, &self.node) {
            bind(pod, node);
        }
        Ok(job)
    }
}

/// How long a Job that is over stays, so that its reason can be read, in seconds.
const KEPT_S: u32 = 600;
/// How long its pod has to end a run in order, in seconds.
const GRACE_S: u32 = 60;
/// The control groups of the node, where the pods' CPU is counted.
const GROUPS: &str = "/sys/fs/cgroup";

fn typed<T: DeserializeOwned>(value: Value) -> Result<T, ClusterError> {
    serde_json::from_value(value).map_err(|error| ClusterError::Api {
        action: "describe the run's objects".to_owned(),
        why: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn away() -> Away {
        Away {
            context: None,
            namespace: None,
            node: Some("node2".to_owned()),
            image: "localhost/windage:0.1.0".to_owned(),
            pull_secret: Some("registry".to_owned()),
            plan: "shop".to_owned(),
            commit: None,
            files: [(inside::PLAN.to_owned(), "name = \"shop\"".to_owned())].into(),
            within: Duration::from_secs(900),
        }
    }

    #[test]
    fn the_same_plan_has_the_same_name_and_another_has_another() {
        let name = away().name();
        assert_eq!((name.len(), name == away().name()), (20, true));
        let changed = |change: fn(&mut Away)| {
            let mut other = away();
            change(&mut other);
            other.name()
        };
        let others = [
            changed(|of| of.node = None),
            changed(|of| of.image += "1"),
            changed(|of| {
                of.files = [("plan.toml".to_owned(), "name = \"shop2\"".to_owned())].into()
            }),
        ];
        assert!(!others.contains(&name), "{others:?}");
        assert_eq!(changed(|of| of.within *= 2), name);
    }

    #[test]
    fn the_job_waits_runs_on_its_node_and_reads_the_nodes_groups() {
        let objects = away().objects().unwrap();
        let job = serde_json::to_value(&objects.job).unwrap();
        let spec = &job["spec"];
        assert_eq!(
            (&spec["suspend"], &spec["activeDeadlineSeconds"]),
            (&json!(true), &json!(900))
        );
        let pod = &spec["template"]["spec"];
        let terms =
            &pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
        assert_eq!(
            terms["nodeSelectorTerms"][0]["matchFields"][0]["values"],
            json!(["node2"])
        );
        assert_eq!(pod["imagePullSecrets"], json!([{ "name": "registry" }]));
        let groups = json!({ "name": "groups", "mountPath": GROUPS, "readOnly": true });
        assert_eq!(pod["containers"][0]["volumeMounts"][1], groups);
        assert!(
            pod["containers"][0].get("securityContext").is_none(),
            "no privilege"
        );
    }

    #[test]
    fn its_account_may_use_pods_and_nothing_else() {
        let objects = away().objects().unwrap();
        let rules = objects.role.rules.unwrap();
        let resources: Vec<_> = rules
            .into_iter()
            .flat_map(|rule| rule.resources.unwrap())
            .collect();
        assert_eq!(resources, ["pods", "pods/log"]);
        let name = away().name();
        assert_eq!(objects.binding.role_ref.name, name);
        assert_eq!(objects.binding.subjects.unwrap()[0].name, name);
    }
}
