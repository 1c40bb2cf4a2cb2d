//! Which connections are idle, and since when, so that the oldest can make room for others.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::service::{Service, service_fn};
use hyper::{Request, Response};
use hyper_util::service::TowerToHyperService;
use tokio::sync::Notify;

use crate::locked;

/// The idle connections.
#[derive(Debug, Default)]
pub(super) struct IdleConnections {
    waiting: Mutex<Waiting>,
    /// One more is idle.
    more: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    /// The one that has been idle longest first.
    oldest_first: BTreeMap<u64, Arc<Notify>>,
    next: u64,
}

/// One connection.
pub(super) struct Connection(Arc<Own>);

struct Own {
    idle: Arc<IdleConnections>,
    /// Its place among the idle ones; `None` while it is busy.
    place: Mutex<Option<u64>>,
    close: Arc<Notify>,
    has_asked: AtomicBool,
}

impl IdleConnections {
    /// A new connection, which is idle until its first request.
    pub(super) fn opened(self: &Arc<IdleConnections>) -> Connection {
        let own = Arc::new(Own {
            idle: Arc::clone(self),
            place: Mutex::new(None),
            close: Arc::default(),
            has_asked: AtomicBool::new(false),
        });
        own.rest();
        Connection(own)
    }

    /// Closes the connection that has been idle longest; waits until one is idle.
    pub(super) async fn evict_oldest(&self) {
        loop {
            let oldest = locked(&self.waiting).oldest_first.pop_first();
            if let Some((_, close)) = oldest {
                return close.notify_one();
            }
            self.more.notified().await;
        }
    }
}

impl Connection {
    /// The router, which notes when the connection is busy.
    pub(super) fn serving(
        &self,
        router: Router,
    ) -> impl Service<
        Request<Incoming>,
        Response = Response<Answering>,
        Error = Infallible,
        Future: Send,
    > + use<> {
        let router = TowerToHyperService::new(router);
        let own = Arc::clone(&self.0);
        service_fn(move |request| {
            let busy = own.work();
            let answer = router.call(request);
            async move {
                let answer: Result<Response<Body>, Infallible> = answer.await;
                answer.map(|answer| answer.map(|body| Answering { body, _busy: busy }))
            }
        })
    }

    /// Waits that long for the first request; never returns if there was one.
    pub(super) async fn asked_nothing_within(&self, limit: Duration) {
        tokio::time::sleep(limit).await;
        if self.0.has_asked.load(Ordering::Relaxed) {
            pending().await
        }
    }

    /// Waits until it has to make room.
    pub(super) fn evicted(&self) -> impl Future<Output = ()> {
        self.0.close.notified()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl Own {
    /// Busy until the result is dropped.
    fn work(self: &Arc<Own>) -> Busy {
        self.has_asked.store(true, Ordering::Relaxed);
        self.leave();
        Busy(Arc::clone(self))
    }

    fn rest(&self) {
        let mut waiting = locked(&self.idle.waiting);
        let place = waiting.next;
        waiting.next += 1;
        waiting.oldest_first.insert(place, Arc::clone(&self.close));
        *locked(&self.place) = Some(place);
        self.idle.more.notify_one();
    }

    fn leave(&self) {
        let mut waiting = locked(&self.idle.waiting);
        if let Some(place) = locked(&self.place).take() {
            waiting.oldest_first.remove(&place);
        }
    }
}

/// A request is being answered.
struct Busy(Arc<Own>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.rest();
    }
}

/// The body of an answer. The connection is busy until all of it was taken.
pub(super) struct Answering {
    body: Body,
    _busy: Busy,
}

impl HttpBody for Answering {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
