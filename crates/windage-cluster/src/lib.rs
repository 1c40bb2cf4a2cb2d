//! Pods of Kubernetes as services of a run.
//!
//! A pod has a stand-in: a process that the keeper starts in place of a service ([`stand_in`]). It makes
//! the pod, writes where it is, passes its logs on, ends when the pod does, and deletes the pod when it is
//! asked to end. So a pod is launched, watched, stopped and left behind as every other service is, and
//! the lab knows nothing of Kubernetes.
//!
//! The lab and the stand-in meet in a folder: the lab writes what is wanted ([`Order`]), the stand-in
//! what it has made ([`Placed`]). A stand-in that is killed leaves its pod; what a run leaves, its keeper has
//! deleted at the end ([`delete`]), also when Windage was killed.
//!
//! Where Windage can't run on the node itself, it runs there in a pod of its own, and does the same there
//! ([`measure_away`]).

/// The verb of Windage for what it does in its own pod ([`inside`]).
pub const INSIDE_VERB: &str = "__inside";

#[cfg(feature = "client")]
mod archive;
#[cfg(feature = "client")]
mod away;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "client")]
mod delete;
#[cfg(feature = "client")]
mod error;
#[cfg(feature = "client")]
mod inside;
#[cfg(feature = "client")]
mod objects;
mod order;
#[cfg(feature = "client")]
mod pod;
#[cfg(feature = "client")]
mod progress;
#[cfg(feature = "client")]
mod stand_in;

#[cfg(feature = "client")]
pub use away::{Asking, measure_away};
#[cfg(feature = "client")]
pub use client::address_on;
#[cfg(feature = "client")]
pub use delete::delete;
#[cfg(feature = "client")]
pub use error::ClusterError;
#[cfg(feature = "client")]
pub use inside::{commit_of_plan, inside, place};
#[cfg(feature = "client")]
pub use objects::Away;
pub use order::{Container, ID, Leftovers, Order, Owner, Patch, Placed};
#[cfg(feature = "client")]
pub use stand_in::stand_in;
