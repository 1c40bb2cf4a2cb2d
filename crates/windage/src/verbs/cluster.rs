//! Clusters: the process that stands for a pod, the node that this machine is, and runs in a pod of Windage's own.

#[cfg(feature = "cluster")]
mod away;

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use windage_lab::Node;
use windage_plan::Plan;

use crate::exit::Exit;
use crate::signals::Signals;

/// The process that stands for a pod. Its argument is the folder of the pod's order.
pub(crate) fn stand_in(args: std::env::Args) -> ExitCode {
    helper(args, |folder| with_client::stand_in(folder.as_ref()))
}

/// The process that deletes the pods of a run. Its argument says which.
pub(crate) fn delete(args: std::env::Args) -> ExitCode {
    helper(args, with_client::delete)
}

/// What Windage does in its own pod. Its argument says which.
pub(crate) fn inside(mut args: std::env::Args) -> ExitCode {
    let Some(signals) = Signals::install() else {
        return Exit::CouldNotMeasure.code();
    };
    match with_client::inside(&args.next().unwrap_or_default(), &signals.flag()) {
        Ok(code) => code.into(),
        Err(why) => {
            anstream::eprintln!("{why}");
            Exit::CouldNotMeasure.code()
        }
    }
}

/// Measures a plan in a pod of the cluster, puts its run directory here, and returns its exit code.
///
/// # Errors
/// In words, when it can't be measured or fetched.
pub(crate) fn measure_away(
    plan: &Plan,
    directory: &Path,
    interrupted: &AtomicBool,
    say: &dyn Fn(&str),
) -> Result<u8, String> {
    with_client::measure_away(plan, directory, interrupted, say)
}

/// A helper with one argument; why it failed is in its log.
fn helper(mut args: std::env::Args, work: impl FnOnce(&str) -> Result<(), String>) -> ExitCode {
    match work(&args.next().unwrap_or_default()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            anstream::eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// The node that this machine is, or that Windage's pod is on; `None` for a plan without pods,
/// and for one that is measured in the cluster.
///
/// # Errors
/// When the cluster can't be reached, or has no such node.
pub(crate) fn node(plan: &Plan) -> Result<Option<Node>, String> {
    if plan.services.iter().all(|service| service.pod.is_none()) {
        return Ok(None);
    }
    let mut id = [0; 4];
    getrandom::fill(&mut id).map_err(|error| format!("a random number: {error}"))?;
    let id = format!("{:08x}", u32::from_ne_bytes(id));
    if let Some((name, address, owner)) = with_client::place() {
        let owner = Some(owner);
        return Ok(Some(Node {
            name,
            address,
            id,
            owner,
        }));
    }
    let name = match (&plan.cluster.node, &plan.cluster.image) {
        (_, Some(_)) => return Ok(None),
        (Some(name), None) => name.clone(),
        (None, None) => own_name()?,
    };
    let address = with_client::address_on(plan.cluster.context.as_deref(), &name)?;
    Ok(Some(Node {
        name,
        address,
        id,
        owner: None,
    }))
}

/// The commit that the plan is of that Windage measures in its own pod, which has no repository.
pub(crate) fn commit_of_plan() -> Option<String> {
    with_client::commit_of_plan()
}

/// What the kubelet calls a machine, unless its configuration has another name.
fn own_name() -> Result<String, String> {
    let name =
        nix::unistd::gethostname().map_err(|error| format!("the machine's name: {error}"))?;
    Ok(name.to_string_lossy().to_lowercase())
}

#[cfg(feature = "cluster")]
mod with_client {
    use std::net::IpAddr;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    use windage_cluster::Owner;

    pub(super) use super::away::measure_away;

    pub(super) fn stand_in(folder: &Path) -> Result<(), String> {
        windage_cluster::stand_in(folder).map_err(|error| error.to_string())
    }

    pub(super) fn delete(leftovers: &str) -> Result<(), String> {
        let leftovers = serde_json::from_str(leftovers).map_err(|error| error.to_string())?;
        windage_cluster::delete(&leftovers).map_err(|error| error.to_string())
    }

    pub(super) fn address_on(context: Option<&str>, node: &str) -> Result<IpAddr, String> {
        windage_cluster::address_on(context, node).map_err(|error| error.to_string())
    }

    pub(super) fn place() -> Option<(String, IpAddr, Owner)> {
        windage_cluster::place()
    }

    pub(super) fn commit_of_plan() -> Option<String> {
        windage_cluster::commit_of_plan()
    }

    pub(super) fn inside(what: &str, ended: &AtomicBool) -> Result<u8, String> {
        windage_cluster::inside(what, ended).map_err(|error| error.to_string())
    }
}

#[cfg(not(feature = "cluster"))]
mod with_client {
    use std::net::IpAddr;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    use windage_cluster::Owner;
    use windage_plan::Plan;

    const WITHOUT: &str = "this windage was built without the feature `cluster`, which pods need; \
                           build it with `cargo install windage --locked --features cluster`";

    pub(super) fn stand_in(_: &Path) -> Result<(), String> {
        Err(WITHOUT.to_owned())
    }

    pub(super) fn delete(_: &str) -> Result<(), String> {
        Err(WITHOUT.to_owned())
    }

    pub(super) fn address_on(_: Option<&str>, _: &str) -> Result<IpAddr, String> {
        Err(WITHOUT.to_owned())
    }

    pub(super) fn place() -> Option<(String, IpAddr, Owner)> {
        None
    }

    pub(super) fn commit_of_plan() -> Option<String> {
        None
    }

    pub(super) fn measure_away(
        _: &Plan,
        _: &Path,
        _: &AtomicBool,
        _: &dyn Fn(&str),
    ) -> Result<u8, String> {
        Err(WITHOUT.to_owned())
    }

    pub(super) fn inside(_: &str, _: &AtomicBool) -> Result<u8, String> {
        Err(WITHOUT.to_owned())
    }
}
