//! From request to answer.

use bytes::Bytes;
use http_body_util::Full;
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};

use crate::account::Ledger;
use crate::injection::{Injection, spin};
use crate::{Account, CalibrationOptions};

/// The body of every answer: 1 KiB.
static BODY: [u8; 1024] = [b'.'; 1024];

/// The service without its sockets.
#[derive(Debug)]
pub(crate) struct Service {
    iterations: u64,
    injection: Injection,
    ledger: Ledger,
}

impl Service {
    pub(crate) fn new(options: &CalibrationOptions) -> Service {
        Service {
            iterations: options.iterations,
            injection: options.injection,
            ledger: Ledger::open(),
        }
    }

    /// Answers one request.
    pub(crate) fn answer(&self, head: &Parts) -> Response<Full<Bytes>> {
        match head.uri.path() {
            "/" => {
                self.work();
                Response::new(Full::new(Bytes::from_static(&BODY)))
            }
            "/healthz" => Response::new(Full::new(Bytes::from_static(b"ok\n"))),
            _ => {
                let mut response = Response::new(Full::new(Bytes::from_static(b"no such path\n")));
                *response.status_mut() = StatusCode::NOT_FOUND;
                response
            }
        }
    }

    /// The account of requests so far.
    pub(crate) fn account(&self) -> Account {
        Account {
            iterations: self.iterations,
            ..self.ledger.account()
        }
    }

    fn work(&self) {
        self.ledger
            .request(|| spin(self.iterations), self.injection);
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use hyper::Request;

    use super::*;

    #[tokio::test]
    async fn only_requests_for_the_root_count() {
        let service = Service::new(&CalibrationOptions {
            listen: ([127, 0, 0, 1], 0).into(),
            iterations: 10,
            injection: Injection::Iterations(5),
        });
        let table = [
            ("/healthz", 200, 3, 0),
            ("/", 200, 1024, 1),
            ("/?a=b", 200, 1024, 2),
            ("/else", 404, 13, 2),
        ];
        for (path, status, length, requests) in table {
            let (head, ()) = Request::get(path).body(()).unwrap().into_parts();
            let response = service.answer(&head);
            assert_eq!(response.status().as_u16(), status, "{path}");
            let body = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body.len(), length, "{path}");
            let account = service.account();
            assert_eq!(account.requests, requests, "{path}");
            assert_eq!(
                (account.iterations, account.injected_iterations),
                (10, requests * 5)
            );
        }
    }
}
