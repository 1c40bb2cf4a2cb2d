//! Why a pod can't be made or does not run.

use std::io;

/// Why a pod can't be made or does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// A file of the plan is no manifest.
    #[error("{path}: {why}")]
    Manifest {
        /// As the plan names it.
        path: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// The pod has no such container.
    #[error(
        "{path} has no container `{container}`; it has {there}. Name one of them as `container`"
    )]
    NoContainer {
        /// The manifest, as the plan names it.
        path: String,
        /// What the plan names.
        container: String,
        /// What there is.
        there: String,
    },
    /// The cluster has no such node.
    #[error(
        "the cluster has no node `{node}`; it has {there}. Name the one that this machine is as `node` in [cluster]"
    )]
    NoNode {
        /// The name.
        node: String,
        /// What there is.
        there: String,
    },
    /// The API server names no address of a node.
    #[error("node {node} has no InternalIP")]
    NoAddress {
        /// Its name.
        node: String,
    },
    /// The kubeconfig, or what it asks for, can't be used.
    #[error("the cluster can't be reached: {0}; check `context` of [cluster] and KUBECONFIG")]
    Config(String),
    /// The API server refused something, or could not be reached.
    #[error("can't {action}: {why}")]
    Api {
        /// What was asked of it.
        action: String,
        /// Its answer, or why there was none.
        why: String,
    },
    /// The pod ended, or can't start.
    #[error("pod {name} {why}")]
    Pod {
        /// Its name.
        name: String,
        /// What became of it.
        why: String,
    },
    /// A file of the stand-in's folder can't be read or written.
    #[error("{what}: {source}")]
    File {
        /// Which, and what for.
        what: &'static str,
        /// What failed.
        source: io::Error,
    },
}
