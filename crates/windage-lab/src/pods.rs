//! Services that are pods: the orders for their stand-ins, and the addresses and counters of the pods.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use windage_cluster::{ID, Leftovers, Order, Owner, Patch, Placed};
use windage_keeper::{Keeper, Spawn};
use windage_plan::{Arm, ManifestFile, Plan, PodSource, Service, Value};
use windage_probe::{ArmProbe, Linux, pod_accounting};

use crate::LabError;
use crate::names::Names;
use crate::preparation::{Prepared, command, filled};
use crate::process_set::{Ground, Instance};
use crate::rendered::Rendered;
use crate::rig::Setting;

/// The verb of the executable that stands for a pod; its argument is the folder of the order.
pub const STAND_IN_VERB: &str = "__pod";
/// A stand-in also waits until the pod is gone.
pub(crate) const GONE_WITHIN: Duration = Duration::from_secs(35);
/// The verb of the executable that deletes the pods of a run; its argument is [`Leftovers`] as JSON.
pub const DELETE_VERB: &str = "__delete-pods";
/// How long that may take.
const DELETED_WITHIN: Duration = Duration::from_secs(60);

/// The node of the cluster on which Windage runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name in the cluster; all pods of a run are made there.
    pub name: String,
    /// The address at which its pods reach Windage.
    pub address: IpAddr,
    /// Of this run, and of no other: letters and digits that name its pods.
    pub id: String,
    /// The Job that Windage is in, if it is in one; its pods are deleted with it.
    pub owner: Option<Owner>,
}

/// Makes the keeper have all pods deleted that are left at the end, however the run ends.
pub(crate) fn delete_at_end(setting: &Setting<'_>, keeper: &mut Keeper) -> Result<(), LabError> {
    let Some(node) = &setting.node else {
        return Ok(());
    };
    let place = &setting.plan.cluster;
    let leftovers = Leftovers {
        context: place.context.clone(),
        namespace: place.namespace.clone(),
        id: node.id.clone(),
    };
    let leftovers = serde_json::to_string(&leftovers)
        .map_err(|error| LabError::Unsupported(format!("pods that are left: {error}")))?;
    let log = setting.run.log_path(0, "shared", "delete-pods");
    make_folder_of(&log)?;
    let args = vec![DELETE_VERB.into(), leftovers.into()];
    let spawn = own(setting.plan, &setting.executable, args, log);
    Ok(keeper.run_at_end(spawn, DELETED_WITHIN)?)
}

/// This executable again, with this environment: it has to find the kubeconfig.
fn own(plan: &Plan, executable: &Path, args: Vec<OsString>, log: PathBuf) -> Spawn {
    Spawn {
        program: executable.to_owned(),
        args,
        env: std::env::vars_os().collect(),
        cwd: plan.folder.clone(),
        log,
        cgroups: Vec::new(),
        cpus: None,
        inherit: None,
        user: None,
        no_new_privs: false,
    }
}

fn make_folder_of(log: &Path) -> Result<(), LabError> {
    let Some(folder) = log.parent() else {
        return Ok(());
    };
    windage_files::create_dir_all(folder).map_err(|source| LabError::Write {
        path: folder.to_owned(),
        source,
    })
}

/// Writes the order of a pod, and returns its stand-in.
pub(crate) fn prepare(
    ground: &Ground<'_>,
    instance: &Instance,
    service: &Service,
    pod: &PodSource,
    arm: Option<&Arm>,
    log: &Path,
) -> Result<Prepared, LabError> {
    let (name, of) = (service.name.as_str(), instance.name.as_str());
    let Some(node) = ground.node else {
        return Err(LabError::Unsupported(format!(
            "service `{name}` is a pod, and there is no node for it"
        )));
    };
    let dir = ground.run.work_dir(ground.launch, of, name);
    ground.run.make_work_dir(&dir, None)?;
    let dir = std::path::absolute(&dir).map_err(|source| LabError::Write { path: dir, source })?;
    make_folder_of(log)?;
    let order = order(ground, instance, (service, pod), arm, node)?;
    // A launch that failed may have left where its pod was.
    let written = Placed::forget(&dir).and_then(|()| order.write(&dir));
    written.map_err(|source| LabError::Write {
        path: dir.clone(),
        source,
    })?;
    let args = vec![STAND_IN_VERB.into(), dir.clone().into()];
    let spawn = own(ground.plan, ground.executable, args, log.to_owned());
    Ok(Prepared::of_pod(
        spawn,
        Rendered {
            dir,
            files: Vec::new(),
        },
    ))
}

fn order(
    ground: &Ground<'_>,
    instance: &Instance,
    (service, pod): (&Service, &PodSource),
    arm: Option<&Arm>,
    node: &Node,
) -> Result<Order, LabError> {
    let (plan, of) = (ground.plan, instance.name.as_str());
    let names = &instance.names;
    let replaced = arm.is_some_and(|arm| arm.command.contains_key(&service.name));
    let words = filled(command(service, arm), names, service.name.as_str(), of)?;
    let added = arm
        .and_then(|arm| arm.args.get(&service.name))
        .map_or(0, Vec::len);
    let (command, args) = words.split_at(words.len() - added);
    debug_assert!(
        replaced || command.is_empty(),
        "a pod's own command is in its manifest"
    );
    let file = |file: &ManifestFile| Patch {
        path: file.path.display().to_string(),
        text: file.text.clone(),
    };
    let run = &ground.run.manifest().run;
    let number = instance.arms.first().map_or(0, |arm| arm.get());
    let label = |name: &str, value: String| (format!("windage.dev/{name}"), value);
    Ok(Order {
        context: plan.cluster.context.clone(),
        namespace: plan.cluster.namespace.clone(),
        node: node.name.clone(),
        name: pod_name(&node.id, ground.launch, number, service.name.as_str()),
        labels: BTreeMap::from([
            (
                "app.kubernetes.io/managed-by".to_owned(),
                "windage".to_owned(),
            ),
            (ID.to_owned(), node.id.clone()),
            label("run", labelled(run)),
            label("arm", labelled(of)),
        ]),
        owner: node.owner.clone(),
        manifest: file(&pod.manifest),
        patches: arm
            .and_then(|arm| arm.patch.get(&service.name))
            .map(file)
            .into_iter()
            .collect(),
        container: pod.container.clone(),
        command: command.to_vec(),
        args: args.to_vec(),
        env: environment(service, arm, names, of)?,
        stop_within_s: u32::try_from(service.stop.within.as_secs().max(1)).unwrap_or(u32::MAX),
    })
}

/// What the service and the arm add to the environment of its container; the arm's values win.
fn environment(
    service: &Service,
    arm: Option<&Arm>,
    names: &Names,
    of: &str,
) -> Result<BTreeMap<String, String>, LabError> {
    let of_arm = arm.into_iter().flat_map(|arm| &arm.env);
    let mut environment = BTreeMap::new();
    for (key, value) in service.env.iter().chain(of_arm) {
        // The plan has no other values for pods.
        if let Value::Literal(template) = value {
            environment.insert(
                key.clone(),
                names.fill(template, service.name.as_str(), of)?,
            );
        }
    }
    Ok(environment)
}

/// A name that no other pod has: of letters, digits and `-` (RFC 1123).
fn pod_name(id: &str, launch: u32, arm: usize, service: &str) -> String {
    format!(
        "windage-{id}-{launch}-{arm}-{}",
        service.replace('_', "-").trim_end_matches('-')
    )
}

/// As a label's value of Kubernetes: at most 63 characters, a letter or digit at both ends.
#[must_use]
pub fn labelled(text: &str) -> String {
    let allowed = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '_'
        }
    };
    let text: String = text.chars().map(allowed).take(63).collect();
    text.trim_matches(|c: char| !c.is_ascii_alphanumeric())
        .to_owned()
}

/// Where the stand-in says that the pod is, once it runs.
pub(crate) fn placed(folder: &Path) -> Result<Option<Placed>, LabError> {
    Placed::read(folder).map_err(|error| {
        LabError::Unsupported(format!(
            "what the stand-in of a pod wrote into {}: {error}",
            folder.display()
        ))
    })
}

/// The address of a pod's service.
pub(crate) fn address(placed: &Placed, pod: &PodSource) -> SocketAddr {
    SocketAddr::from((placed.ip, pod.port))
}

/// The counters of a pod: of all its containers.
pub(crate) fn probe(service: &Service, placed: &Placed) -> Result<ArmProbe, LabError> {
    let accounting = pod_accounting(&Linux, &placed.uid).ok_or_else(|| {
        LabError::Unsupported(format!(
            "no cgroup of the pod of service `{}` (uid {}) below /sys/fs/cgroup: Windage has to run on the \
             node, or to have its /sys/fs/cgroup mounted",
            service.name, placed.uid
        ))
    })?;
    Ok(ArmProbe::new(&Linux, accounting)?)
}

/// The folder of a pod's order.
pub(crate) fn folder(ground: &Ground<'_>, instance: &Instance, service: &Service) -> PathBuf {
    ground
        .run
        .work_dir(ground.launch, &instance.name, service.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_labels_are_what_the_cluster_takes() {
        let name = pod_name("3f9c0a1b", 3, 1, "front_end");
        assert_eq!(name, "windage-3f9c0a1b-3-1-front-end");
        assert_eq!(labelled("otel, sampling 0.1"), "otel__sampling_0.1");
        assert_eq!(labelled("-a-"), "a");
    }
}
