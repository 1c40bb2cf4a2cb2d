//! HTTP/2 and unary gRPC requests, as types of the `h2` crate.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, TE};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};

use super::fields::Values;
use super::flow::Protocol;
use super::http1::has_content_length;
use super::text::{Request, Text};
use crate::request::RequestError;

/// A request that is ready except for the values of its fields and the scheme.
#[derive(Debug)]
pub(super) struct Http2Message {
    method: Method,
    authority: Authority,
    path: Piece<PathAndQuery>,
    headers: Vec<(HeaderName, Piece<HeaderValue>)>,
    body: Piece<Bytes>,
    has_content_length: bool,
    is_grpc: bool,
}

/// A part of a request: always the same, or rendered each time.
#[derive(Debug)]
enum Piece<T> {
    Constant(T),
    Variable(Text),
}

impl<T: Clone> Piece<T> {
    fn new(
        text: &Text,
        make: impl FnOnce(Vec<u8>) -> Result<T, RequestError>,
    ) -> Result<Piece<T>, RequestError> {
        match text.as_literal() {
            Some(bytes) => make(bytes.to_vec()).map(Piece::Constant),
            None => Ok(Piece::Variable(text.clone())),
        }
    }

    fn value(&self, values: Values<'_>, make: impl FnOnce(Vec<u8>) -> T) -> T {
        match self {
            Piece::Constant(value) => value.clone(),
            Piece::Variable(text) => make(values.render(text)),
        }
    }
}

impl Http2Message {
    /// Assembles a checked request.
    pub(super) fn new(request: &Request, protocol: Protocol) -> Result<Http2Message, RequestError> {
        let is_grpc = protocol == Protocol::Grpc;
        let method = Method::from_bytes(request.method.as_bytes())
            .map_err(|_| RequestError::Method(request.method.clone()))?;
        let path = Piece::new(&request.path, |path| {
            PathAndQuery::from_maybe_shared(path)
                .map_err(|_| RequestError::Path(request.path.describe()))
        })?;
        let mut headers = Vec::with_capacity(request.headers.len());
        let mut authority = request.authority.clone();
        for (name, text) in &request.headers {
            let key = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| RequestError::HeaderName(name.clone()))?;
            let value = Piece::new(text, |value| {
                HeaderValue::from_maybe_shared(value)
                    .map_err(|_| RequestError::HeaderValue(name.clone()))
            })?;
            if key == HOST {
                authority = text.describe();
            } else {
                headers.push((key, value));
            }
        }
        if is_grpc {
            add_missing(&mut headers, CONTENT_TYPE, "application/grpc");
            add_missing(&mut headers, TE, "trailers");
        }
        Ok(Http2Message {
            method,
            authority: Authority::from_maybe_shared(authority.clone())
                .map_err(|_| RequestError::Host(authority))?,
            path,
            headers,
            body: Piece::new(&request.body, |body| Ok(framed(body, is_grpc)))?,
            has_content_length: !is_grpc && has_content_length(request),
            is_grpc,
        })
    }

    /// The request with these values, and its content.
    pub(super) fn render(&self, values: Values<'_>, scheme: &Scheme) -> (http::Request<()>, Bytes) {
        let body = self.body.value(values, |body| framed(body, self.is_grpc));
        let mut request = http::Request::new(());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri(values, scheme);
        *request.headers_mut() = self.header_map(values, body.len());
        (request, body)
    }

    fn uri(&self, values: Values<'_>, scheme: &Scheme) -> Uri {
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(self.path.value(values, |path| {
            PathAndQuery::from_maybe_shared(Bytes::from(path))
                .expect("every value that can stand in the path was checked")
        }));
        Uri::from_parts(parts).expect("scheme, authority and path are all there")
    }

    fn header_map(&self, values: Values<'_>, body_bytes: usize) -> HeaderMap {
        let mut map = HeaderMap::with_capacity(self.headers.len() + 1);
        for (name, value) in &self.headers {
            let value = value.value(values, |value| {
                HeaderValue::from_maybe_shared(Bytes::from(value))
                    .expect("every value that can stand in a header was checked")
            });
            map.append(name.clone(), value);
        }
        if self.has_content_length {
            map.append(CONTENT_LENGTH, HeaderValue::from(body_bytes));
        }
        map
    }
}

fn add_missing(
    headers: &mut Vec<(HeaderName, Piece<HeaderValue>)>,
    name: HeaderName,
    value: &'static str,
) {
    if !headers.iter().any(|(present, _)| *present == name) {
        headers.push((name, Piece::Constant(HeaderValue::from_static(value))));
    }
}

/// The content as sent; in gRPC an uncompressed message after its prefix.
fn framed(body: Vec<u8>, is_grpc: bool) -> Bytes {
    if !is_grpc {
        return body.into();
    }
    crate::grpc::frame(&body).expect("the body was checked to be shorter than 4 GiB")
}
