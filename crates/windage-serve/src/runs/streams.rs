//! Server-sent events: the list changed, a run went on.

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
/// Shows a connection that nobody reads any more.
const ALIVE_AFTER: Duration = Duration::from_secs(15);
/// Where a run's stream ended with the run, and is not to be asked for again: browsers send it when
/// they connect anew.
const ENDED: &str = "ended";

/// Tells of every change of the list, at most once a second.
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

/// Tells how far a run is, at most once a second, until it is over.
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
        told: None,
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
        // What changed before the stream was there would be missed.
        let is_first = std::mem::take(&mut self.is_first);
        if !is_first {
            self.change().await?;
        }
        self.changes.mark_unchanged();
        Some(Event::default().event("runs").data("{}"))
    }

    /// Waits until the list is another one.
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
    /// What was told last.
    told: Option<Arc<Snapshot>>,
    /// When a page may be spoken of again.
    page_due: Instant,
    /// Two at most.
    pending: VecDeque<Event>,
    is_over: bool,
}

impl RunStream {
    /// `None` when the run is over or gone, and that was told.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Some(event);
            }
            if self.is_over {
                return None;
            }
            if self.told.is_some() {
                tokio::time::sleep(COUNTS_AFTER).await;
            }
            match self.look().await {
                Some(snapshot) => self.take(snapshot),
                None => {
                    // Whoever asks again is to be told that it is gone.
                    self.served.catalog.refresh().await;
                    self.end();
                }
            }
        }
    }

    /// `None` when the run is gone or can't be read.
    async fn look(&self) -> Option<Arc<Snapshot>> {
        let path = self.served.catalog.path_of(&self.name)?;
        self.watched.look(&path).await
    }

    fn take(&mut self, snapshot: Arc<Snapshot>) {
        let is_new = self
            .told
            .as_ref()
            .is_none_or(|told| !Arc::ptr_eq(told, &snapshot));
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
        self.told = Some(snapshot);
    }

    /// The last event, by which a browser knows not to come back.
    fn end(&mut self) {
        self.is_over = true;
        self.pending.push_back(page().id(ENDED));
    }
}

fn page() -> Event {
    Event::default().event("page").data("{}")
}
