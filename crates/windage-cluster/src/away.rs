//! A run that is measured in the cluster, by Windage in a pod, and fetched from there.
//!
//! The pod belongs to a Job, which goes on when this process ends: the same command finds it again.
//! It keeps the run until it was fetched, or until its time is over.

use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::{AsyncBufReadExt as _, TryStreamExt as _};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{
    Api, AttachParams, DeleteParams, ListParams, LogParams, Patch, PatchParams, PostParams,
    PropagationPolicy,
};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::time::{Instant, sleep, timeout};

use crate::archive::unpack;
use crate::client::{api, block_on, client, objects};
use crate::objects::{Away, Objects};
use crate::pod::job;
use crate::progress::Progress;
use crate::{ClusterError, INSIDE_VERB, Owner, inside};

/// How often the pod, and whether the user has interrupted, is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long nothing may happen to the Job before the reason is shown.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often a run that did not arrive whole is fetched.
const ATTEMPTS: u32 = 3;
/// A command in the pod that only reads or writes a file ends within this.
const COMMAND_WITHIN: Duration = Duration::from_secs(30);
/// A Job that is deleted is not there any more after this: its pod ends its run in order first.
const ENDED_WITHIN: Duration = Duration::from_secs(90);
/// What is printed of a pod that failed.
const LINES_OF_DEAD: i64 = 20;
/// What is printed again after the connection was lost: the last line may be the end.
const LINES_AGAIN: i64 = 1;
/// How long a log may be silent until it is asked for anew: a connection may be lost without a sign.
const SILENCE: Duration = Duration::from_secs(60);
/// For what the pod sends, in bytes.
const BUFFER: usize = 1 << 16;
/// How often a pod's log is asked for that can't be followed.
const CONNECTIONS: u32 = 20;

/// Who asks for the run.
pub struct Asking<'a> {
    /// Whether the run is to end early.
    pub interrupted: &'a AtomicBool,
    /// Takes what happens, line by line.
    pub say: &'a dyn Fn(&str),
}

/// Measures in the cluster, and returns the exit code of the run, which is then below `into`: its second
/// part is the folder of the run. `into` is empty.
///
/// # Errors
/// When an object can't be made, the pod does not run or ends early, or the run can't be fetched. Then the Job is
/// deleted, unless the run could still be fetched later.
pub fn measure_away(
    away: &Away,
    into: &Path,
    asking: &Asking<'_>,
) -> Result<(u8, PathBuf), ClusterError> {
    block_on(async {
        let client = client(away.context.as_deref()).await?;
        let measuring = Measuring {
            name: away.name(),
            namespace: away.namespace.as_deref(),
            client,
            asking,
        };
        measuring.run(away, into).await
    })
}

struct Measuring<'a> {
    name: String,
    namespace: Option<&'a str>,
    client: Client,
    asking: &'a Asking<'a>,
}

impl Measuring<'_> {
    async fn run(&self, away: &Away, into: &Path) -> Result<(u8, PathBuf), ClusterError> {
        let made = away.objects()?;
        let is_new = self.make_job(&made.job).await?;
        let running = match self.let_go(made).await {
            Ok(()) => self.until_running().await,
            Err(error) => Err(error),
        };
        let ended = match running {
            Ok(pod) => self.until_ended(&pod).await.map(|()| pod),
            // Nothing was measured yet.
            Err(error) if is_new => {
                let _ = self.delete().await;
                return Err(error);
            }
            Err(error) => Err(error),
        };
        let pod = match ended {
            Ok(pod) => pod,
            // The pod is over: there is nothing to fetch.
            Err(error @ ClusterError::Pod { .. }) => {
                let _ = self.delete().await;
                return Err(error);
            }
            // The API server does not answer: the run goes on.
            Err(error) => {
                let name = &self.name;
                (self.asking.say)(&format!(
                    "job {name} goes on: the same command fetches its run"
                ));
                return Err(error);
            }
        };
        self.fetch(&pod, into).await?;
        let handed_over = inside::handed_over(into);
        let handed_over = handed_over.map_err(|source| ClusterError::File {
            what: "read the run that was fetched",
            source,
        })?;
        // The run is here, whatever becomes of the Job.
        if let Err(error) = self.delete().await {
            (self.asking.say)(&error.to_string());
        }
        Ok(handed_over)
    }

    fn of_kind<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        objects(&self.client, self.namespace)
    }

    /// Makes the Job; whether it was not there yet.
    async fn make_job(&self, job: &Job) -> Result<bool, ClusterError> {
        if self.create(job).await? {
            return Ok(true);
        }
        let has_run =
            |job: &Job| job.metadata.deletion_timestamp.is_none() && why_over(job).is_none();
        if self.job().await?.as_ref().is_some_and(has_run) {
            let name = &self.name;
            (self.asking.say)(&format!("job {name} is there already: its run goes on"));
            return Ok(false);
        }
        // Of an earlier run, of which nothing can be fetched.
        self.delete().await?;
        self.create(job).await
    }

    async fn job(&self) -> Result<Option<Job>, ClusterError> {
        let jobs: Api<Job> = self.of_kind();
        let found = jobs.get_opt(&self.name).await;
        found.map_err(|error| api(&format!("look at job {}", self.name), &error))
    }

    /// Makes what the Job needs, and lets it go; what is there already stays as it is.
    async fn let_go(&self, made: Objects) -> Result<(), ClusterError> {
        let jobs: Api<Job> = self.of_kind();
        let there = jobs.get(&self.name).await;
        let there = there.map_err(|error| api(&format!("look at job {}", self.name), &error))?;
        let owner = Owner {
            name: self.name.clone(),
            uid: there.metadata.uid.unwrap_or_default(),
        };
        let (mut account, mut role, mut binding, mut files) =
            (made.account, made.role, made.binding, made.files);
        for metadata in [
            &mut account.metadata,
            &mut role.metadata,
            &mut binding.metadata,
            &mut files.metadata,
        ] {
            metadata.owner_references = Some(vec![job(&owner)]);
        }
        self.create(&account).await?;
        self.create(&role).await?;
        self.create(&binding).await?;
        self.create(&files).await?;
        let go = Patch::Merge(json!({ "spec": { "suspend": false } }));
        let went = jobs.patch(&self.name, &PatchParams::default(), &go).await;
        went.map_err(|error| api(&format!("start job {}", self.name), &error))?;
        Ok(())
    }

    /// Makes an object; whether it was not there yet.
    async fn create<K>(&self, object: &K) -> Result<bool, ClusterError>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + Serialize + DeserializeOwned + std::fmt::Debug,
    {
        let all: Api<K> = self.of_kind();
        match all.create(&PostParams::default(), object).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
            Err(error) => {
                let kind = K::kind(&()).to_lowercase();
                Err(api(&format!("make {kind} {}", self.name), &error))
            }
        }
    }

    /// Passes on what the pod prints until its run has ended.
    async fn until_ended(&self, pod: &str) -> Result<(), ClusterError> {
        let following = self.follow(pod);
        let interrupting = self.pass_on_interruption(pod);
        tokio::select! {
            ended = following => ended,
            never = interrupting => match never {},
        }
    }

    async fn until_running(&self) -> Result<String, ClusterError> {
        let mut said = None;
        let began = Instant::now();
        loop {
            let waits = match self.pod().await? {
                Some(pod) => match Progress::of(&pod) {
                    Progress::Runs(_) => return Ok(pod.metadata.name.unwrap_or_default()),
                    Progress::Over(why) => return Err(self.over(&pod, why).await),
                    Progress::Waits(why) => why,
                },
                None if began.elapsed() > PATIENCE => self.why_no_pod().await?,
                None => None,
            };
            if self.asking.interrupted.load(Ordering::Relaxed) {
                return Err(self.pod_error("was interrupted before it ran".to_owned()));
            }
            if waits != said {
                said = waits;
                if let Some(why) = &said {
                    (self.asking.say)(&format!("job {} waits: {why}", self.name));
                }
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// The Job's pod, if there is one.
    async fn pod(&self) -> Result<Option<Pod>, ClusterError> {
        let pods: Api<Pod> = self.of_kind();
        let of_job = format!("batch.kubernetes.io/job-name={}", self.name);
        let found = pods.list(&ListParams::default().labels(&of_job)).await;
        let found = found.map_err(|error| api("look for the measuring pod", &error))?;
        Ok(found.items.into_iter().next())
    }

    /// The latest reason for which there is none, such as a quota.
    async fn why_no_pod(&self) -> Result<Option<String>, ClusterError> {
        let over = match self.job().await? {
            None => Some("was deleted".to_owned()),
            Some(job) => why_over(&job),
        };
        if let Some(why) = over {
            return Err(self.pod_error(why));
        }
        let events: Api<Event> = self.of_kind();
        let of_job = format!("involvedObject.kind=Job,involvedObject.name={}", self.name);
        let found = events.list(&ListParams::default().fields(&of_job)).await;
        let found = found.map_err(|error| api("read the job's events", &error))?;
        let warnings = found.items.into_iter();
        let mut warnings = warnings.filter(|event| event.type_.as_deref() == Some("Warning"));
        Ok(warnings.next_back().and_then(|event| event.message))
    }

    /// Passes on the pod's log until it says that the run has ended.
    async fn follow(&self, name: &str) -> Result<(), ClusterError> {
        let pods: Api<Pod> = self.of_kind();
        let mut params = LogParams {
            container: Some(inside::CONTAINER.to_owned()),
            follow: true,
            ..LogParams::default()
        };
        let (mut in_vain, mut last) = (0, String::new());
        loop {
            if let Ok(log) = pods.log_stream(name, &params).await {
                let mut lines = log.lines();
                while let Ok(Ok(Some(line))) = timeout(SILENCE, lines.try_next()).await {
                    in_vain = 0;
                    if line == inside::ENDED {
                        return Ok(());
                    }
                    // After a new connection it comes again.
                    if line != last {
                        (self.asking.say)(&line);
                        last = line;
                    }
                }
            }
            // The connection was lost or silent, or the pod has ended.
            match self.pod().await {
                Ok(Some(pod)) => {
                    if let Progress::Over(why) = Progress::of(&pod) {
                        return Err(self.over(&pod, why).await);
                    }
                }
                Ok(None) => return Err(self.pod_error("was deleted".to_owned())),
                Err(error) if in_vain > CONNECTIONS => return Err(error),
                // The run goes on without us.
                Err(_) => {}
            }
            in_vain += 1;
            sleep(LOOK_EVERY * in_vain).await;
            params.tail_lines = Some(LINES_AGAIN);
        }
    }

    /// Waits for an interruption, and passes it on to the pod.
    async fn pass_on_interruption(&self, pod: &str) -> Infallible {
        while !self.asking.interrupted.load(Ordering::Relaxed) {
            sleep(LOOK_EVERY).await;
        }
        while let Err(error) = self.command(pod, inside::INTERRUPT).await {
            (self.asking.say)(&error.to_string());
            sleep(PATIENCE).await;
        }
        std::future::pending().await
    }

    async fn command(&self, pod: &str, what: &str) -> Result<(), ClusterError> {
        let asked = timeout(COMMAND_WITHIN, self.exec(pod, what, tokio::io::sink())).await;
        asked.unwrap_or_else(|_| {
            Err(ClusterError::Api {
                action: format!("{what} in pod {pod}"),
                why: format!("no answer within {} s", COMMAND_WITHIN.as_secs()),
            })
        })
    }

    /// Runs Windage in the pod, and writes what it prints.
    async fn exec(
        &self,
        pod: &str,
        what: &str,
        mut to: impl tokio::io::AsyncWrite + Unpin,
    ) -> Result<(), ClusterError> {
        let action = format!("{what} in pod {pod}");
        let pods: Api<Pod> = self.of_kind();
        let params = AttachParams {
            container: Some(inside::CONTAINER.to_owned()),
            max_stdout_buf_size: Some(BUFFER),
            ..AttachParams::default()
        };
        let words = ["windage", INSIDE_VERB, what];
        let started = pods.exec(pod, words, &params).await;
        let mut started = started.map_err(|error| api(&action, &error))?;
        let (status, out, errors) = (started.take_status(), started.stdout(), started.stderr());
        let mut said = String::new();
        let copied = async {
            match out {
                Some(mut out) => tokio::io::copy(&mut out, &mut to).await.map(drop),
                None => Ok(()),
            }
        };
        let heard = async {
            match errors {
                Some(mut errors) => errors.read_to_string(&mut said).await.map(drop),
                None => Ok(()),
            }
        };
        let ended = async {
            // Without a status the connection was lost, and the streams have no end.
            let status = match status {
                Some(status) => status.await,
                None => None,
            };
            status.ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionAborted))
        };
        let received = tokio::try_join!(ended, copied, heard);
        let (status, (), ()) = received.map_err(|source| ClusterError::File {
            what: "receive what the pod sends",
            source,
        })?;
        if status.status.as_deref() == Some("Success") {
            return Ok(());
        }
        let message = status.message.unwrap_or_default();
        let why = [said.trim(), &message].join(" ");
        Err(ClusterError::Api {
            action,
            why: why.trim().to_owned(),
        })
    }

    /// Fetches the run, again if it does not arrive whole.
    async fn fetch(&self, pod: &str, into: &Path) -> Result<(), ClusterError> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            match self.fetch_once(pod, into).await {
                Err(error) if attempt < ATTEMPTS => (self.asking.say)(&error.to_string()),
                Err(error) => {
                    (self.asking.say)(&format!(
                        "job {} keeps the run: the same command fetches it",
                        self.name
                    ));
                    return Err(error);
                }
                Ok(()) => return Ok(()),
            }
        }
    }

    async fn fetch_once(&self, pod: &str, into: &Path) -> Result<(), ClusterError> {
        let file = |source| ClusterError::File {
            what: "take the run that was fetched",
            source,
        };
        let archive: File = tempfile::tempfile_in(into).map_err(file)?;
        let to = archive.try_clone().map_err(file)?;
        let to = tokio::fs::File::from_std(to);
        self.exec(pod, inside::HAND_OVER, to).await?;
        unpack(&archive, into).map_err(file)
    }

    /// Deletes the Job, and with it all that belongs to it.
    async fn delete(&self) -> Result<(), ClusterError> {
        let jobs: Api<Job> = self.of_kind();
        let failed = |error: kube::Error| api(&format!("delete job {}", self.name), &error);
        let params = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Foreground),
            ..DeleteParams::default()
        };
        match jobs.delete(&self.name, &params).await {
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
            deleted => drop(deleted.map_err(failed)?),
        }
        let gone = timeout(ENDED_WITHIN, async {
            while jobs.get_opt(&self.name).await.map_err(failed)?.is_some() {
                sleep(LOOK_EVERY).await;
            }
            Ok(())
        });
        gone.await.unwrap_or_else(|_| {
            let within = ENDED_WITHIN.as_secs();
            Err(self.pod_error(format!("is still there {within} s after it was deleted")))
        })
    }

    fn pod_error(&self, why: String) -> ClusterError {
        ClusterError::Pod {
            name: format!("of job {}", self.name),
            why,
        }
    }

    /// Why the pod is over; its last lines are passed on before.
    async fn over(&self, pod: &Pod, why: String) -> ClusterError {
        let pods: Api<Pod> = self.of_kind();
        let params = LogParams {
            container: Some(inside::CONTAINER.to_owned()),
            tail_lines: Some(LINES_OF_DEAD),
            ..LogParams::default()
        };
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        if let Ok(log) = pods.logs(name, &params).await {
            log.lines().for_each(|line| (self.asking.say)(line));
        }
        self.pod_error(why)
    }
}

/// Why a Job is over, if it is.
fn why_over(job: &Job) -> Option<String> {
    let mut conditions = job.status.as_ref()?.conditions.iter().flatten();
    let is_end =
        |name: &str, status: &str| status == "True" && ["Complete", "Failed"].contains(&name);
    let end = conditions.find(|of| is_end(&of.type_, &of.status))?;
    let why = end.message.as_deref().or(end.reason.as_deref());
    Some(format!("ended: {}", why.unwrap_or(&end.type_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_over_when_it_says_so() {
        let over = |conditions| {
            let job = json!({ "metadata": {}, "status": { "conditions": conditions } });
            why_over(&serde_json::from_value(job).unwrap())
        };
        assert_eq!(over(json!([])), None);
        let suspended = json!([{ "type": "Suspended", "status": "True" }]);
        assert_eq!(over(suspended), None);
        let late = "Job was active longer than specified deadline";
        let failed = json!([{ "type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": late }]);
        assert_eq!(over(failed), Some(format!("ended: {late}")));
    }
}
