//! Turns requests into answers. Nothing blocks here: the database is in memory.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use serde::Serialize;

use crate::orders::{ORDERS_SQL, OrderBook};
use crate::route::{self, OrdersRequest, Route};
use crate::telemetry::{ServerSpan, Tracing};

/// The service without its sockets.
pub(crate) struct Service {
    book: OrderBook,
    tracing: Option<Tracing>,
}

impl Service {
    pub(crate) fn new(book: OrderBook, tracing: Option<Tracing>) -> Service {
        Service { book, tracing }
    }

    /// Answers one request. Its body is ignored.
    pub(crate) fn answer(&self, head: &Parts) -> Response<Full<Bytes>> {
        let route = Route::of(head.uri.path());
        if route == Route::Health {
            return Response::new(Full::new(Bytes::from_static(b"ok\n")));
        }
        let span = self
            .tracing
            .as_ref()
            .map(|tracing| tracing.server_span(head, route));
        let (status, body) = match route {
            _ if !route::reads(&head.method) => {
                problem(StatusCode::METHOD_NOT_ALLOWED, "only GET is served here")
            }
            Route::Orders { customer } => self.orders(customer, head.uri.query(), span.as_ref()),
            Route::Health | Route::Unknown => problem(StatusCode::NOT_FOUND, "no such path"),
        };
        if let Some(span) = span {
            span.end(status);
        }
        respond(status, body)
    }

    fn orders(
        &self,
        customer: &str,
        query: Option<&str>,
        span: Option<&ServerSpan<'_>>,
    ) -> (StatusCode, Bytes) {
        let step = span.map(|span| span.step("parse"));
        let request = OrdersRequest::parse(customer, query);
        drop(step);
        let request = match request {
            Ok(request) => request,
            Err(text) => return problem(StatusCode::BAD_REQUEST, text),
        };

        let step = span.map(|span| span.query("db.query", ORDERS_SQL));
        let page = self.book.newest(request);
        drop(step);
        let page = match page {
            Ok(Some(page)) => page,
            Ok(None) => return problem(StatusCode::NOT_FOUND, "no such customer"),
            Err(_) => return problem(StatusCode::INTERNAL_SERVER_ERROR, "the database failed"),
        };

        let step = span.map(|span| span.step("serialise"));
        let answer = (StatusCode::OK, json(&page));
        drop(step);
        answer
    }
}

#[derive(Serialize)]
struct Problem {
    error: &'static str,
}

fn problem(status: StatusCode, error: &'static str) -> (StatusCode, Bytes) {
    (status, json(&Problem { error }))
}

fn json(value: &impl Serialize) -> Bytes {
    // These types can't fail to serialise: no maps with non-string keys, no failing impls.
    serde_json::to_vec(value)
        .map(Bytes::from)
        .unwrap_or_default()
}

fn respond(status: StatusCode, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    #[test]
    fn requests_get_their_status() {
        let service = Service::new(OrderBook::seeded().unwrap(), None);
        let table = [
            ("GET", "/healthz", 200),
            ("GET", "/orders/1", 200),
            ("GET", "/orders/200?limit=50", 200),
            ("HEAD", "/orders/1", 200),
            ("POST", "/orders/1", 405),
            ("GET", "/orders/0", 404),
            ("GET", "/orders/201", 404),
            ("GET", "/orders/1?limit=0", 400),
            ("GET", "/orders/one", 400),
            ("GET", "/", 404),
        ];
        for (method, path, status) in table {
            let (head, ()) = Request::builder()
                .method(method)
                .uri(path)
                .body(())
                .unwrap()
                .into_parts();
            assert_eq!(
                service.answer(&head).status().as_u16(),
                status,
                "{method} {path}"
            );
        }
    }
}
