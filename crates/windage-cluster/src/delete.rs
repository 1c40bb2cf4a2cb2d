//! Deletes pods, and waits until the API server lists none of them.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, ListParams};
use tokio::time::{sleep, timeout};

use crate::client::{api, block_on, pods};
use crate::{ClusterError, ID, Leftovers};

/// How long a pod may still be listed, beyond the time that it has to end.
pub(crate) const GONE_WITHIN: Duration = Duration::from_secs(30);
/// How long a pod has to end whose run is over.
const GRACE_S: u32 = 2;
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Deletes all pods of a run.
///
/// # Errors
/// When they can't be deleted, or are still there long after.
pub fn delete(leftovers: &Leftovers) -> Result<(), ClusterError> {
    block_on(async {
        let pods = pods(leftovers.context.as_deref(), leftovers.namespace.as_deref()).await?;
        let of_run = ListParams::default().labels(&format!("{ID}={}", leftovers.id));
        if list(&pods, &of_run).await?.is_empty() {
            return Ok(());
        }
        let params = DeleteParams::default().grace_period(GRACE_S);
        let deleted = pods.delete_collection(&params, &of_run).await;
        deleted.map_err(|error| api("delete the pods of the run", &error))?;
        until_gone(Duration::from_secs(GRACE_S.into()), || list(&pods, &of_run)).await
    })
}

async fn list(pods: &Api<Pod>, which: &ListParams) -> Result<Vec<String>, ClusterError> {
    let found = pods
        .list(which)
        .await
        .map_err(|error| api("list the pods of the run", &error))?;
    Ok(found
        .items
        .into_iter()
        .filter_map(|pod| pod.metadata.name)
        .collect())
}

/// Waits until there are none, for as long as they have to end and some more.
pub(crate) async fn until_gone<F: Future<Output = Result<Vec<String>, ClusterError>>>(
    grace: Duration,
    there: impl Fn() -> F,
) -> Result<(), ClusterError> {
    let within = grace + GONE_WITHIN;
    let gone = timeout(within, async {
        while !there().await?.is_empty() {
            sleep(LOOK_EVERY).await;
        }
        Ok(())
    });
    match gone.await {
        Ok(gone) => gone,
        Err(_) => Err(ClusterError::Pod {
            name: there().await?.join(", "),
            why: format!("is still there {} s after it was deleted", within.as_secs()),
        }),
    }
}
