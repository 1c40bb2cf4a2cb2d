//! Server-sent events: the list changed, a run continued.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::Served;
use super::answers::{Refusal, nothing};
use super::live::{Snapshot, Watched};
use crate::run_watcher::{COUNTS_AFTER, ESTIMATES_AFTER};

/// Streams at a time.
pub(crate) const STREAMS_MAX: usize = 64;
/// Detects connections that are not read any more.
const ALIVE_AFTER: Duration = Duration::from_secs(15);
/// Event id of a stream that ended with its run. Browsers send it when they reconnect.
const ENDED: &str = "ended";

/// Reports every change of the list, at most once per second.
pub(crate) fn of_list(served: &Arc<Served>) -> Result<Response, Refusal> {
    let list = ListStream {
        _place: place(served)?,
        changes: served.catalog.changes(),
        served: Arc::clone(served),
        is_first: true,
    };
    Ok(answer(stream::unfold(list, |mut list| async {
        let event = list.next().await?;
        Some((event, list))
    })))
}

/// Reports the progress of a run, at most once per second, until it ends.
pub(crate) async fn of_run(
    served: &Arc<Served>,
    name: &str,
    asked: &HeaderMap,
) -> Result<Response, Refusal> {
    let has_ended = asked.get("last-event-id").is_some_and(|id| id == ENDED);
    if has_ended {
        served.catalog.refresh().await;
        if !served.catalog.goes_on(name) {
            return Ok(nothing());
        }
    }
    let run = RunStream {
        _place: place(served)?,
        watched: served.live.watch(name),
        served: Arc::clone(served),
        name: name.to_owned(),
        reported: None,
        page_due: Instant::now() + ESTIMATES_AFTER,
        pending: VecDeque::new(),
        is_over: false,
    };
    Ok(answer(stream::unfold(run, |mut run| async {
        let event = run.next().await?;
        Some((event, run))
    })))
}

fn place(served: &Served) -> Result<OwnedSemaphorePermit, Refusal> {
    Arc::clone(&served.streams)
        .try_acquire_owned()
        .map_err(|_| {
            let why = format!("{STREAMS_MAX} streams of events are open already; close some pages");
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, why)
        })
}

fn answer(events: impl stream::Stream<Item = Event> + Send + 'static) -> Response {
    let events = stream::StreamExt::map(events, Ok::<_, Infallible>);
    let alive = KeepAlive::new().interval(ALIVE_AFTER);
    Sse::new(events).keep_alive(alive).into_response()
}

struct ListStream {
    _place: OwnedSemaphorePermit,
    served: Arc<Served>,
    changes: watch::Receiver<u64>,
    is_first: bool,
}

impl ListStream {
    /// `None` when there is no list any more.
    async fn next(&mut self) -> Option<Event> {
        // Changes before the stream began would be missed.
        let is_first = std::mem::take(&mut self.is_first);
        if !is_first {
            self.change().await?;
        }
        self.changes.mark_unchanged();
        Some(Event::default().event("runs").data("{}"))
    }

    /// Waits until the list changes.
    async fn change(&self) -> Option<()> {
        loop {
            tokio::time::sleep(COUNTS_AFTER).await;
            self.served.catalog.refresh().await;
            if self.changes.has_changed().ok()? {
                return Some(());
            }
        }
    }
}

struct RunStream {
    _place: OwnedSemaphorePermit,
    served: Arc<Served>,
    watched: Arc<Watched>,
    name: String,
    /// What was reported last.
    reported: Option<Arc<Snapshot>>,
    /// When the next page event is allowed.
    page_due: Instant,
    /// Two at most.
    pending: VecDeque<Event>,
    is_over: bool,
}

impl RunStream {
    /// `None` when the run has ended or was removed, and that was reported.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Some(event);
            }
            if self.is_over {
                return None;
            }
            if self.reported.is_some() {
                tokio::time::sleep(COUNTS_AFTER).await;
            }
            match self.look().await {
                Some(snapshot) => self.take(snapshot),
                None => {
                    // The next request for this run then gets a 404.
                    self.served.catalog.refresh().await;
                    self.end();
                }
            }
        }
    }

    /// `None` when the run was removed or can't be read.
    async fn look(&self) -> Option<Arc<Snapshot>> {
        let path = self.served.catalog.path_of(&self.name)?;
        self.watched.look(&path).await
    }

    fn take(&mut self, snapshot: Arc<Snapshot>) {
        let is_new = self
            .reported
            .as_ref()
            .is_none_or(|reported| !Arc::ptr_eq(reported, &snapshot));
        if is_new && let Ok(data) = serde_json::to_string(&snapshot.progress) {
            self.pending
                .push_back(Event::default().event("progress").data(data));
        }
        if !snapshot.progress.goes_on() {
            self.end();
        } else if self.page_due <= Instant::now()
            && self
                .served
                .documents
                .is_behind(&self.name, &snapshot.stamps)
        {
            self.page_due = Instant::now() + ESTIMATES_AFTER;
            self.pending.push_back(page());
        }
        self.reported = Some(snapshot);
    }

    /// The last event, which tells the browser not to reconnect.
    fn end(&mut self) {
        self.is_over = true;
        self.pending.push_back(page().id(ENDED));
    }
}

fn page() -> Event {
    Event::default().event("page").data("{}")
}
