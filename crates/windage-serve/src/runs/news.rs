//! Server-sent events: the list changed, a run continued.
//!
//! An answer holds what is new and ends. Browsers ask again after a while and name what they know,
//! so no connection stays open for it, and a page with nothing to wait for is at rest.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use xxhash_rust::xxh3::xxh3_64;

use super::Served;
use super::answers::nothing;
use super::live::Snapshot;

/// When browsers are to ask again.
const AGAIN_AFTER: Duration = Duration::from_secs(2);
/// Event id of a run that is over. Browsers send it when they ask again.
const ENDED: &str = "ended";

/// Whether the list changed.
pub(crate) async fn of_list(served: &Served, asked: &HeaderMap) -> Response {
    served.catalog.refresh().await;
    let now = served.catalog.version().to_string();
    let changed = (!knows(asked, &now)).then(|| Event::default().event("runs").data("{}"));
    answer(&now, changed.into_iter().collect())
}

/// The progress of a run, and whether its page has changed.
pub(crate) async fn of_run(served: &Served, name: &str, asked: &HeaderMap) -> Response {
    match look(served, name).await {
        Some(now) if now.progress.goes_on() => {
            let (id, mut events) = progress(&now, asked);
            if served.documents.is_behind(name, &now.stamps) {
                events.push(page());
            }
            answer(&id, events)
        }
        _ if knows(asked, ENDED) => nothing(),
        Some(now) => {
            let (_, mut events) = progress(&now, asked);
            events.push(page());
            answer(ENDED, events)
        }
        None => {
            // The next request for this run then gets a 404.
            served.catalog.refresh().await;
            answer(ENDED, vec![page()])
        }
    }
}

/// `None` when the run was removed or can't be read.
async fn look(served: &Served, name: &str) -> Option<Arc<Snapshot>> {
    let path = served.catalog.path_of(name)?;
    served.live.watch(name).look(&path).await
}

/// The id of the progress, and the event if the browser does not know it.
fn progress(now: &Snapshot, asked: &HeaderMap) -> (String, Vec<Event>) {
    let data = serde_json::to_string(&now.progress).unwrap_or_default();
    let id = format!("{:016x}", xxh3_64(data.as_bytes()));
    let event = || Event::default().event("progress").data(data);
    let events = (!knows(asked, &id)).then(event);
    (id, events.into_iter().collect())
}

fn knows(asked: &HeaderMap, id: &str) -> bool {
    asked.get("last-event-id").is_some_and(|known| known == id)
}

/// The events, and then what the browser is to know from now on.
fn answer(id: &str, events: Vec<Event>) -> Response {
    let known = Event::default().id(id).retry(AGAIN_AFTER);
    let all = events.into_iter().chain([known]);
    Sse::new(stream::iter(all.map(Ok::<_, Infallible>))).into_response()
}

fn page() -> Event {
    Event::default().event("page").data("{}")
}
