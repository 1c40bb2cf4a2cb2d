//! What the lab wants of a stand-in, and what the stand-in answers.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A pod that is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The context of the kubeconfig; `None` for its current one, or for the cluster that this runs in.
    pub context: Option<String>,
    /// `None` for that of the context.
    pub namespace: Option<String>,
    /// The node that it has to run on.
    pub node: String,
    /// The pod's name; unique in the namespace.
    pub name: String,
    /// Added to the pod's own.
    pub labels: BTreeMap<String, String>,
    /// The Job that the pod is deleted with; `None` where Windage is in none.
    pub owner: Option<Owner>,
    /// A file of the plan with a pod, or with what has a template of one, such as a Deployment.
    pub manifest: Patch,
    /// Merged into the template, one after another.
    pub patches: Vec<Patch>,
    /// The container that the rest is about; `None` for the first.
    pub container: Option<String>,
    /// Replaces its command; empty for its own.
    pub command: Vec<String>,
    /// Added to its arguments.
    pub args: Vec<String>,
    /// Set in its environment.
    pub env: BTreeMap<String, String>,
    /// How long it may take to end when asked to, in seconds.
    pub stop_within_s: u32,
}

/// A Job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    /// Its name.
    pub name: String,
    /// The cluster's own name for it, which no other has.
    pub uid: String,
}

/// The pods of a run that has ended, of which none may stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leftovers {
    /// As in [`Order`].
    pub context: Option<String>,
    /// As in [`Order`].
    pub namespace: Option<String>,
    /// The value of their label [`ID`].
    pub id: String,
}

/// The label by which a run finds its own pods, whatever they are named.
pub const ID: &str = "windage.dev/id";

/// A file in YAML or JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    /// As the plan names it.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// A pod that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placed {
    /// Its address.
    pub ip: std::net::IpAddr,
    /// What its cgroup is named after.
    pub uid: String,
    /// Its containers, in the order of the pod.
    pub containers: Vec<Container>,
}

/// A container that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Container {
    /// Its name in the pod.
    pub name: String,
    /// What its cgroup is named after.
    pub id: String,
}

impl Order {
    const FILE: &str = "order.json";

    /// Writes it into the folder of a stand-in.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        write(self, &folder.join(Order::FILE))
    }

    /// Reads what was written for a stand-in.
    ///
    /// # Errors
    /// When the file can't be read, or is not one.
    pub fn read(folder: &Path) -> io::Result<Order> {
        read(&folder.join(Order::FILE))
    }
}

impl Placed {
    const FILE: &str = "placed.json";

    /// Tells the lab that the pod runs.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        write(self, &folder.join(Placed::FILE))
    }

    /// Forgets where an earlier pod was, if there was one.
    ///
    /// # Errors
    /// When the file can't be removed.
    pub fn forget(folder: &Path) -> io::Result<()> {
        match std::fs::remove_file(folder.join(Placed::FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// Reads what the stand-in of this folder wrote; `None` before the pod runs.
    ///
    /// # Errors
    /// When the file can't be read, or is not one.
    pub fn read(folder: &Path) -> io::Result<Option<Placed>> {
        match read(&folder.join(Placed::FILE)) {
            Ok(placed) => Ok(Some(placed)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Under its name a file is whole: the other side looks for it all the time.
fn write(value: &impl Serialize, path: &Path) -> io::Result<()> {
    let half = path.with_extension("half");
    windage_files::write(&half, &serde_json::to_vec(value)?)?;
    std::fs::rename(half, path)
}

fn read<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}
