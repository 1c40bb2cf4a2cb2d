//! Which requests are answered, and the security headers of every answer.
//!
//! Requests need the server's token, so that other users of the machine and pages from elsewhere
//! can't read the runs.

use std::net::SocketAddr;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use windage_report::DASHBOARD_POLICY;

use super::answers::{Refusal, list};
use super::token::{Brought, Token};
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

/// What requests are checked against.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    /// The address that is listened on.
    pub(crate) listening: SocketAddr,
    pub(crate) token: Token,
}

/// Passes allowed requests on.
pub(crate) async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    // A browser that opens a page, and not its script.
    let is_for_reading = list(request.headers(), header::ACCEPT)
        .any(|media| media.split(';').next() == Some("text/html"));
    let mut answer = match guard.admitted(&request) {
        Err(refusal) if is_for_reading => refusal.into_text(),
        Err(refusal) => refusal.into_response(),
        Ok(brought) => {
            let mut answer = next.run(request).await;
            if brought == Brought::InUrl {
                let cookie = guard.token.cookie(guard.listening.port());
                answer.headers_mut().append(header::SET_COOKIE, cookie);
            }
            answer
        }
    };
    for (name, value) in OF_EVERY_ANSWER {
        let value = HeaderValue::from_static(value);
        answer.headers_mut().insert(name, value);
    }
    answer
}

impl Guard {
    /// How the request brought the token, or why it is refused.
    fn admitted(&self, request: &Request) -> Result<Brought, Refusal> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let why = "only GET and HEAD are allowed: nothing can be changed here";
            return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, why));
        }
        if let Some(why) = host::refusal(request, self.listening) {
            return Err(Refusal::new(StatusCode::MISDIRECTED_REQUEST, why));
        }
        if is_from_elsewhere(request.headers()) {
            let why = "requests from pages of other servers are refused; paste the URL that \
                       `windage serve` printed into the browser's address bar";
            return Err(Refusal::new(StatusCode::FORBIDDEN, why));
        }
        self.token
            .brought(request, self.listening.port())
            .ok_or_else(|| {
                let why = "this server answers only with its token; open the URL that `windage \
                           serve` printed, which contains it";
                Refusal::new(StatusCode::UNAUTHORIZED, why)
            })
    }
}

/// Whether the browser says that a page of another server sent the request. Other clients say
/// nothing about it.
fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    let text = |name: HeaderName| headers.get(name).map(HeaderValue::as_bytes);
    let is_other_site = text(HeaderName::from_static("sec-fetch-site"))
        .is_some_and(|site| !matches!(site, b"same-origin" | b"none"));
    let host = text(header::HOST).unwrap_or_default();
    let is_other_origin =
        text(header::ORIGIN).is_some_and(|origin| origin.strip_prefix(b"http://") != Some(host));
    is_other_site || is_other_origin
}
