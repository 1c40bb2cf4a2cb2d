//! Which requests are answered, and the security headers of every answer.

use std::net::SocketAddr;

use axum::extract::{Request, State};
use axum::http::{HeaderName, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use windage_report::DASHBOARD_POLICY;

use super::answers::Refusal;
use crate::host;

const OF_EVERY_ANSWER: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, DASHBOARD_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-cache"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// Passes allowed requests on.
pub(crate) async fn guard(
    State(listening): State<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    let mut answer = match refused(&request, listening) {
        Some(refusal) => refusal.into_response(),
        None => next.run(request).await,
    };
    for (name, value) in OF_EVERY_ANSWER {
        answer
            .headers_mut()
            .insert(name, axum::http::HeaderValue::from_static(value));
    }
    answer
}

fn refused(request: &Request, listening: SocketAddr) -> Option<Refusal> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let why = "only GET and HEAD are allowed: nothing can be changed here";
        return Some(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, why));
    }
    host::refusal(request, listening).map(|why| Refusal::new(StatusCode::MISDIRECTED_REQUEST, why))
}
