//! How far a pod is, from what the API server says of it.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodStatus};

use crate::{Container, Placed};

/// Reasons for which a container waits that pass only when somebody acts. `ErrImagePull` is none: it comes
/// before the first of these, and may pass.
const STUCK: &[&str] = &[
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ImagePullBackOff",
    "InvalidImageName",
    "RunContainerError",
];

/// How far a pod is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It does not run yet; for which reason, if there is one.
    Waits(Option<String>),
    /// All its containers run.
    Runs(Placed),
    /// It has ended, or will not run; why.
    Over(String),
}

impl Progress {
    pub(crate) fn of(pod: &Pod) -> Progress {
        let Some(status) = &pod.status else {
            return Progress::Waits(None);
        };
        let sidecars = sidecars(pod);
        if let Some(why) = ended(status, &sidecars) {
            return Progress::Over(why);
        }
        let containers = status.container_statuses.iter().flatten();
        let initial = status.init_container_statuses.iter().flatten();
        for of in initial.chain(containers.clone()) {
            let waiting = of.state.as_ref().and_then(|state| state.waiting.as_ref());
            let Some((waiting, reason)) = waiting.and_then(|of| Some((of, of.reason.as_deref()?)))
            else {
                continue;
            };
            let message = waiting.message.as_deref().unwrap_or_default();
            let why = format!("container {}: {reason} {message}", of.name)
                .trim_end()
                .to_owned();
            if STUCK.contains(&reason) {
                return Progress::Over(why);
            }
            return Progress::Waits(Some(why));
        }
        placed(pod, status).map_or_else(|| Progress::Waits(unscheduled(status)), Progress::Runs)
    }
}

/// Initial containers that are to run as long as the pod does.
fn sidecars(pod: &Pod) -> Vec<&str> {
    let initial = pod
        .spec
        .iter()
        .flat_map(|spec| spec.init_containers.iter().flatten());
    let stay = initial.filter(|of| of.restart_policy.as_deref() == Some("Always"));
    stay.map(|of| of.name.as_str()).collect()
}

/// Where it is, if all its containers run.
fn placed(pod: &Pod, status: &PodStatus) -> Option<Placed> {
    let ip = status.pod_ip.as_ref()?.parse().ok()?;
    let uid = pod.metadata.uid.clone()?;
    let own = pod
        .spec
        .as_ref()?
        .containers
        .iter()
        .map(|of| of.name.as_str());
    let container = |name: &str| {
        let of = statuses(status).find(|of| of.name == name)?;
        of.state.as_ref()?.running.as_ref()?;
        // Such as `containerd://0123`.
        let id = of.container_id.as_ref()?.rsplit('/').next()?;
        Some(Container {
            name: name.to_owned(),
            id: id.to_owned(),
        })
    };
    let containers: Option<Vec<Container>> = own.chain(sidecars(pod)).map(container).collect();
    Some(Placed {
        ip,
        uid,
        containers: containers?,
    })
}

/// Of all containers, initial ones last.
fn statuses(status: &PodStatus) -> impl Iterator<Item = &ContainerStatus> {
    let initial = status.init_container_statuses.iter().flatten();
    status.container_statuses.iter().flatten().chain(initial)
}

/// Why it has ended, if it has: as a whole, or one of its containers. The kubelet starts a sidecar again,
/// but then it is not the one that was warmed up.
fn ended(status: &PodStatus, sidecars: &[&str]) -> Option<String> {
    let containers = status.container_statuses.iter().flatten();
    if let Some(why) = containers.filter_map(terminated).next() {
        return Some(why);
    }
    let initial = || status.init_container_statuses.iter().flatten();
    let again =
        |of: &&ContainerStatus| sidecars.contains(&of.name.as_str()) && of.restart_count > 0;
    if let Some(of) = initial().find(again) {
        return Some(format!(
            "container {}: ended, and was started again",
            of.name
        ));
    }
    let phase = status.phase.as_deref().unwrap_or_default();
    if !["Failed", "Succeeded"].contains(&phase) {
        return None;
    }
    let why = initial()
        .filter(|of| !of.ready)
        .filter_map(terminated)
        .next();
    Some(why.unwrap_or_else(|| {
        let reason = status.reason.as_deref().unwrap_or(phase);
        let message = status.message.as_deref().unwrap_or_default();
        format!("ended: {reason} {message}").trim_end().to_owned()
    }))
}

fn terminated(of: &ContainerStatus) -> Option<String> {
    let end = of.state.as_ref()?.terminated.as_ref()?;
    let reason = end.reason.as_deref().unwrap_or("ended");
    let by = match end.signal {
        Some(signal) if signal != 0 => format!("signal {signal}"),
        _ => format!("exit code {}", end.exit_code),
    };
    Some(format!("container {}: {reason} ({by})", of.name))
}

/// Why no node takes it.
fn unscheduled(status: &PodStatus) -> Option<String> {
    let conditions = status.conditions.iter().flatten();
    let mut refused = conditions.filter(|of| of.type_ == "PodScheduled" && of.status == "False");
    refused.next()?.message.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(status: serde_json::Value) -> Progress {
        let pod = serde_json::json!({
            "metadata": { "name": "p", "uid": "1-2" },
            "spec": { "containers": [{ "name": "app" }, { "name": "proxy" }] },
            "status": status,
        });
        Progress::of(&serde_json::from_value(pod).unwrap())
    }

    fn container(name: &str, state: serde_json::Value) -> serde_json::Value {
        serde_json::json!({ "name": name, "containerID": format!("containerd://{name}0"), "image": "", "imageID": "",
                            "ready": true, "restartCount": 0, "state": state })
    }

    #[test]
    fn a_pod_runs_when_all_its_containers_do() {
        let running = serde_json::json!({ "running": {} });
        let both = [
            container("proxy", running.clone()),
            container("app", running.clone()),
        ];
        let placed = Placed {
            ip: [10, 244, 1, 5].into(),
            uid: "1-2".to_owned(),
            containers: ["app", "proxy"]
                .map(|name| Container {
                    name: name.to_owned(),
                    id: format!("{name}0"),
                })
                .to_vec(),
        };
        let found = progress(
            serde_json::json!({ "phase": "Running", "podIP": "10.244.1.5", "containerStatuses": both }),
        );
        assert_eq!(found, Progress::Runs(placed));
        let creating = serde_json::json!({ "waiting": { "reason": "ContainerCreating" } });
        let half = [container("app", running), container("proxy", creating)];
        let found = progress(
            serde_json::json!({ "phase": "Pending", "podIP": "10.244.1.5", "containerStatuses": half }),
        );
        assert_eq!(
            found,
            Progress::Waits(Some("container proxy: ContainerCreating".to_owned()))
        );
    }

    #[test]
    fn what_ends_a_pod_is_named() {
        let killed =
            serde_json::json!({ "terminated": { "exitCode": 137, "reason": "OOMKilled" } });
        let pull = serde_json::json!({ "waiting": { "reason": "ImagePullBackOff", "message": "Back-off pulling x" } });
        let table = [
            (
                serde_json::json!({ "phase": "Running", "containerStatuses": [container("app", killed)] }),
                "container app: OOMKilled (exit code 137)",
            ),
            (
                serde_json::json!({ "phase": "Pending", "containerStatuses": [container("app", pull)] }),
                "container app: ImagePullBackOff Back-off pulling x",
            ),
            (
                serde_json::json!({ "phase": "Failed", "reason": "Evicted", "message": "low on disk" }),
                "ended: Evicted low on disk",
            ),
        ];
        for (status, why) in table {
            assert_eq!(progress(status), Progress::Over(why.to_owned()));
        }
    }

    #[test]
    fn a_sidecar_has_to_stay() {
        let running = serde_json::json!({ "running": {} });
        let own = |restarts: u32| {
            let mut sidecar = container("mesh", running.clone());
            sidecar["restartCount"] = restarts.into();
            serde_json::json!({
                "metadata": { "uid": "1-2" },
                "spec": { "containers": [{ "name": "app" }],
                          "initContainers": [{ "name": "mesh", "restartPolicy": "Always" }] },
                "status": { "phase": "Running", "podIP": "10.244.1.5", "initContainerStatuses": [sidecar],
                            "containerStatuses": [container("app", running.clone())] },
            })
        };
        let progress = |restarts| Progress::of(&serde_json::from_value(own(restarts)).unwrap());
        let Progress::Runs(placed) = progress(0) else {
            panic!("{:?}", progress(0))
        };
        let names: Vec<&str> = placed
            .containers
            .iter()
            .map(|of| of.name.as_str())
            .collect();
        assert_eq!(names, ["app", "mesh"]);
        let over = "container mesh: ended, and was started again";
        assert_eq!(progress(1), Progress::Over(over.to_owned()));
    }

    #[test]
    fn a_pod_that_no_node_takes_says_why() {
        let refused = serde_json::json!({ "phase": "Pending", "conditions": [
            { "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "Insufficient cpu" },
        ] });
        assert_eq!(
            progress(refused),
            Progress::Waits(Some("Insufficient cpu".to_owned()))
        );
        assert_eq!(
            progress(serde_json::json!({ "phase": "Pending" })),
            Progress::Waits(None)
        );
    }
}
