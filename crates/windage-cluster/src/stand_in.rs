//! The process that stands for a pod.

use std::path::Path;
use std::time::Duration;

use futures_util::{AsyncBufReadExt as _, StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, LogParams, PostParams, WatchEvent, WatchParams};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use crate::client::{api, block_on, pods};
use crate::delete::until_gone;
use crate::pod::pod;
use crate::progress::Progress;
use crate::{ClusterError, Order};

/// How long an API server that does not answer is left alone.
const PAUSE: Duration = Duration::from_secs(1);
/// What is printed of each container of a pod that did not come to run.
const LINES_OF_DEAD: i64 = 20;

/// Makes the pod that is ordered in a folder, and stays until it ends or this process is asked to end;
/// then the pod is deleted. Prints what its containers write.
///
/// # Errors
/// When the pod can't be made, or ends of its own accord.
pub fn stand_in(folder: &Path) -> Result<(), ClusterError> {
    let file = |what| move |source| ClusterError::File { what, source };
    let order = Order::read(folder).map_err(file("read what is ordered"))?;
    block_on(async {
        let wanted = pod(&order)?;
        let pods = pods(order.context.as_deref(), order.namespace.as_deref()).await?;
        StandIn {
            pods,
            order,
            folder,
        }
        .stand(&wanted)
        .await
    })
}

struct StandIn<'a> {
    pods: Api<Pod>,
    order: Order,
    folder: &'a Path,
}

impl StandIn<'_> {
    async fn stand(&self, wanted: &Pod) -> Result<(), ClusterError> {
        let name = self.order.name.as_str();
        let made = self.pods.create(&PostParams::default(), wanted).await;
        made.map_err(|error| api(&format!("make pod {name}"), &error))?;
        let mut seen = Seen::default();
        let followed = tokio::select! {
            ended = self.follow(&mut seen) => ended,
            asked = asked_to_end() => asked,
        };
        if followed.is_err() && !seen.runs {
            self.print_logs(wanted).await;
        }
        // The lab waits for no pod that has died: it has to know at once. What is left of it has a second.
        if followed.is_err() && seen.runs {
            let at_once = DeleteParams::default().grace_period(1);
            let _ = self.pods.delete(name, &at_once).await;
            return followed;
        }
        followed.and(self.delete().await)
    }

    /// Watches the pod until it is over.
    async fn follow(&self, seen: &mut Seen) -> Result<(), ClusterError> {
        let look = format!("look at pod {}", self.order.name);
        loop {
            // What a lost connection hides, or an API server forgets, is seen here.
            match self.pods.get_opt(&self.order.name).await {
                Ok(None) => return Err(self.over("was deleted by somebody else".to_owned())),
                Ok(Some(pod)) => {
                    self.take(&pod, seen)?;
                    let now = pod.metadata.resource_version.unwrap_or_default();
                    self.watch(&now, seen).await?;
                }
                // A service that runs goes on running without its API server.
                Err(error) if seen.runs => anstream::eprintln!("{}", api(&look, &error)),
                Err(error) => return Err(api(&look, &error)),
            }
            sleep(PAUSE).await;
        }
    }

    /// Takes what happens to the pod from a state on, until the API server ends the connection or the pod
    /// is deleted.
    async fn watch(&self, from: &str, seen: &mut Seen) -> Result<(), ClusterError> {
        let params = WatchParams::default().fields(&format!("metadata.name={}", self.order.name));
        let Ok(events) = self.pods.watch(&params, from).await else {
            return Ok(());
        };
        let mut events = events.boxed();
        while let Ok(Some(event)) = events.try_next().await {
            match event {
                WatchEvent::Added(pod) | WatchEvent::Modified(pod) => self.take(&pod, seen)?,
                WatchEvent::Deleted(_) | WatchEvent::Error(_) => break,
                WatchEvent::Bookmark(_) => {}
            }
        }
        Ok(())
    }

    /// Acts on a new state of the pod.
    fn take(&self, pod: &Pod, seen: &mut Seen) -> Result<(), ClusterError> {
        match Progress::of(pod) {
            Progress::Over(why) => return Err(self.over(why)),
            Progress::Waits(why) if why != seen.why => {
                if let Some(why) = &why {
                    anstream::println!("pod {} waits: {why}", self.order.name);
                }
                seen.why = why;
            }
            Progress::Runs(placed) if !seen.runs => {
                seen.runs = true;
                for container in &placed.containers {
                    tokio::spawn(pass_on_log(
                        self.pods.clone(),
                        self.order.name.clone(),
                        container.name.clone(),
                    ));
                }
                let written = placed.write(self.folder);
                written.map_err(|source| ClusterError::File {
                    what: "write where the pod is",
                    source,
                })?;
            }
            Progress::Waits(_) | Progress::Runs(_) => {}
        }
        Ok(())
    }

    /// Prints the last lines of all containers of a pod that did not come to run.
    async fn print_logs(&self, wanted: &Pod) {
        let containers = wanted.spec.iter().flat_map(|spec| {
            spec.init_containers
                .iter()
                .flatten()
                .chain(&spec.containers)
        });
        for container in containers {
            let params = LogParams {
                container: Some(container.name.clone()),
                tail_lines: Some(LINES_OF_DEAD),
                ..LogParams::default()
            };
            if let Ok(log) = self.pods.logs(&self.order.name, &params).await {
                log.lines()
                    .for_each(|line| anstream::println!("[{}] {line}", container.name));
            }
        }
    }

    fn over(&self, why: String) -> ClusterError {
        ClusterError::Pod {
            name: self.order.name.clone(),
            why,
        }
    }

    /// Deletes the pod and waits until it has ended, so that it does not run beside what comes next.
    async fn delete(&self) -> Result<(), ClusterError> {
        let name = self.order.name.as_str();
        let failed = |error: kube::Error| api(&format!("delete pod {name}"), &error);
        let grace_s = self.order.stop_within_s;
        let params = DeleteParams::default().grace_period(grace_s);
        match self.pods.delete(name, &params).await {
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
            deleted => drop(deleted.map_err(failed)?),
        }
        until_gone(Duration::from_secs(grace_s.into()), || async {
            let there = self.pods.get_opt(name).await.map_err(failed)?;
            Ok(there
                .and_then(|pod| pod.metadata.name)
                .into_iter()
                .collect())
        })
        .await
    }
}

/// What was last seen of the pod.
#[derive(Default)]
struct Seen {
    runs: bool,
    why: Option<String>,
}

/// Waits for a signal that asks a process to end.
async fn asked_to_end() -> Result<(), ClusterError> {
    let on = |kind| {
        signal(kind).map_err(|source| ClusterError::File {
            what: "listen for signals",
            source,
        })
    };
    let (mut terminate, mut interrupt) =
        (on(SignalKind::terminate())?, on(SignalKind::interrupt())?);
    let (mut hang_up, mut quit) = (on(SignalKind::hangup())?, on(SignalKind::quit())?);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        _ = hang_up.recv() => {}
        _ = quit.recv() => {}
    }
    Ok(())
}

/// Prints what a container writes, until it ends.
async fn pass_on_log(pods: Api<Pod>, pod: String, container: String) {
    let mut params = LogParams {
        container: Some(container),
        follow: true,
        ..LogParams::default()
    };
    loop {
        if let Ok(log) = pods.log_stream(&pod, &params).await {
            let mut lines = log.lines();
            while let Ok(Some(line)) = lines.try_next().await {
                anstream::println!("{line}");
            }
        }
        // The connection was lost, or the container has ended. Lines may be there twice, and those of a longer
        // absence are missing.
        sleep(PAUSE).await;
        params.since_seconds = Some(2);
    }
}
