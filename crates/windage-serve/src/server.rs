//! Metrics over HTTP during a run.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;

use crate::ServeError;
use crate::exposition;
use crate::listening::{Listening, bind};
use crate::run_watcher::Looking;

/// Connections at a time; further ones wait in the kernel's queue.
const CONNECTIONS_MAX: usize = 16;

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
        let looking = Arc::new(Looking::start().map_err(ServeError::Thread)?);
        let router = router(Arc::clone(&looking));
        let listening = Listening::start("windage-metrics", listener, router, CONNECTIONS_MAX)
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

fn router(looking: Arc<Looking>) -> Router {
    Router::new()
        .route("/", get(async || Redirect::temporary("/metrics")))
        .route("/metrics", get(metrics))
        .with_state(looking)
}

async fn metrics(State(looking): State<Arc<Looking>>) -> Response {
    match looking.latest().await {
        Ok(text) => ([(header::CONTENT_TYPE, exposition::CONTENT_TYPE)], text).into_response(),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}
