//! The way to the API server, and what it says of nodes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, ListParams};
use kube::config::{Config, KubeConfigOptions};
use kube::{Client, Resource};

use crate::ClusterError;

/// Any port will do: nothing is sent.
const PORT: u16 = 9;

/// The client of a context, of the current one, or of the cluster that this runs in.
pub(crate) async fn client(context: Option<&str>) -> Result<Client, ClusterError> {
    let config = match context {
        Some(_) => {
            let options = KubeConfigOptions {
                context: context.map(str::to_owned),
                ..KubeConfigOptions::default()
            };
            let config = Config::from_kubeconfig(&options).await;
            config.map_err(|error| ClusterError::Config(chain(&error)))?
        }
        None => Config::infer()
            .await
            .map_err(|error| api("find the cluster", &kube::Error::InferConfig(error)))?,
    };
    Client::try_from(config).map_err(|error| api("use the kubeconfig", &error))
}

/// The pods of a namespace, or of the context's own.
pub(crate) async fn pods(
    context: Option<&str>,
    namespace: Option<&str>,
) -> Result<Api<Pod>, ClusterError> {
    Ok(objects(&client(context).await?, namespace))
}

/// The objects of a kind in a namespace, or in the client's own.
pub(crate) fn objects<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::default_namespaced(client.clone()),
    }
}

/// The address of this machine at which pods of a node reach it: the one from which it would reach
/// the node. On the node itself that is the node's own.
///
/// # Errors
/// When the API server can't be reached or asked, or knows no such node.
pub fn address_on(context: Option<&str>, node: &str) -> Result<IpAddr, ClusterError> {
    block_on(async {
        let nodes: Api<Node> = Api::all(client(context).await?);
        let asked = nodes
            .get_opt(node)
            .await
            .map_err(|error| api(&format!("look for node {node}"), &error))?;
        let Some(found) = asked else {
            let all = nodes
                .list(&ListParams::default())
                .await
                .map_err(|error| api("list nodes", &error))?;
            let names = all.items.into_iter().filter_map(|of| of.metadata.name);
            let there = names.collect::<Vec<_>>().join(", ");
            return Err(ClusterError::NoNode {
                node: node.to_owned(),
                there,
            });
        };
        let internal = internal_address(&found).ok_or_else(|| ClusterError::NoAddress {
            node: node.to_owned(),
        })?;
        from_which_reached(internal).map_err(|source| ClusterError::File {
            what: "find the way to the node",
            source,
        })
    })
}

/// Runs it on this thread to its end.
pub(crate) fn block_on<T>(
    work: impl Future<Output = Result<T, ClusterError>>,
) -> Result<T, ClusterError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|source| ClusterError::File {
        what: "start a runtime",
        source,
    })?;
    runtime.block_on(work)
}

fn internal_address(node: &Node) -> Option<IpAddr> {
    let addresses = node.status.as_ref()?.addresses.iter().flatten();
    let mut internal = addresses.filter(|of| of.type_ == "InternalIP");
    internal.next()?.address.parse().ok()
}

/// As the kernel's routes say; nothing is sent.
fn from_which_reached(other: IpAddr) -> std::io::Result<IpAddr> {
    let any: IpAddr = match other {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind(SocketAddr::from((any, 0)))?;
    socket.connect(SocketAddr::from((other, PORT)))?;
    Ok(socket.local_addr()?.ip())
}

/// What the API server was asked, and why in vain: in its own words, if it has answered.
pub(crate) fn api(action: &str, error: &kube::Error) -> ClusterError {
    let why = match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        other => chain(other),
    };
    ClusterError::Api {
        action: action.to_owned(),
        why,
    }
}

/// With its causes, which say more.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(of) = cause {
        let more = of.to_string();
        if !text.contains(&more) {
            text += &format!(": {more}");
        }
        cause = of.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_address_is_the_one_on_the_way() {
        let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
        assert_eq!(
            from_which_reached(Ipv4Addr::new(127, 0, 0, 9).into()).unwrap(),
            loopback
        );
    }

    #[test]
    fn a_nodes_internal_address_counts() {
        let node = serde_json::json!({ "metadata": {}, "status": { "addresses": [
            { "type": "Hostname", "address": "node1" },
            { "type": "InternalIP", "address": "10.77.0.11" },
        ] } });
        let node: Node = serde_json::from_value(node).unwrap();
        assert_eq!(
            internal_address(&node),
            Some(Ipv4Addr::new(10, 77, 0, 11).into())
        );
        assert_eq!(internal_address(&Node::default()), None);
    }
}
