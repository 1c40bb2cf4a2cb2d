//! Metrics over HTTP during a run.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;

use crate::ServeError;
use crate::exposition;
use crate::host;
use crate::listening::{Limits, Listening, bind};
use crate::run_watcher::Looking;

const LIMITS: Limits = Limits::connections(16);

/// `GET /metrics` of the followed run. It ends when this is dropped.
#[derive(Debug)]
pub struct MetricsServer {
    listening: Listening,
    looking: Arc<Looking>,
}

impl MetricsServer {
    /// Begins to answer at that address; port 0 lets the kernel choose.
    ///
    /// # Errors
    /// When the address can't be listened on, or the thread can't be started.
    pub fn start(address: SocketAddr) -> Result<MetricsServer, ServeError> {
        let listener = bind(address).map_err(|source| ServeError::Listen { address, source })?;
        let address = listener
            .local_addr()
            .map_err(|source| ServeError::Listen { address, source })?;
        let looking = Arc::new(Looking::start().map_err(ServeError::Thread)?);
        let router = router(Arc::clone(&looking), address);
        let listening = Listening::start("windage-metrics", listener, router, LIMITS)
            .map_err(ServeError::Thread)?;
        Ok(MetricsServer { listening, looking })
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// Follows the run in this directory, which need not exist yet.
    pub fn follow(&self, run: &Path) {
        self.looking.follow(run);
    }
}

fn router(looking: Arc<Looking>, listening: SocketAddr) -> Router {
    Router::new()
        .route("/", get(async || Redirect::temporary("/metrics")))
        .route("/metrics", get(metrics))
        .layer(from_fn_with_state(listening, guard))
        .with_state(looking)
}

/// Passes requests under a known host on.
async fn guard(State(listening): State<SocketAddr>, request: Request, next: Next) -> Response {
    match host::refusal(&request, listening) {
        None => next.run(request).await,
        Some(why) => (StatusCode::MISDIRECTED_REQUEST, format!("{why}\n")).into_response(),
    }
}

async fn metrics(State(looking): State<Arc<Looking>>) -> Response {
    match looking.latest().await {
        Ok(text) => ([(header::CONTENT_TYPE, exposition::CONTENT_TYPE)], text).into_response(),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use tower::ServiceExt as _;

    use super::*;

    #[tokio::test]
    async fn metrics_are_sent_only_under_an_address() {
        let looking = Arc::new(Looking::start().unwrap());
        let router = router(looking, SocketAddr::from(([127, 0, 0, 1], 9464)));
        for (host, expected) in [
            ("localhost:9464", StatusCode::TEMPORARY_REDIRECT),
            ("127.0.0.1:9464", StatusCode::TEMPORARY_REDIRECT),
            ("evil.example", StatusCode::MISDIRECTED_REQUEST),
        ] {
            let request = Request::builder().uri("/").header(header::HOST, host);
            let request = request.body(Body::empty()).unwrap();
            let answer = router.clone().oneshot(request).await.unwrap();
            assert_eq!(answer.status(), expected, "{host}");
        }
    }
}
