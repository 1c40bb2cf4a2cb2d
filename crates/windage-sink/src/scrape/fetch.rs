//! One scrape: a connection, a request, an answer, or why there is none.

use std::error::Error;
use std::io::Read as _;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper::client::conn::http1;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HOST, USER_AGENT,
};
use hyper::http::uri::{PathAndQuery, Scheme};
use hyper::{HeaderMap, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::exposition::{Exposition, ExpositionError, ExpositionFormat, parse_exposition};

/// From connecting to the last byte; half of what Prometheus allows.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);
/// The largest answer. An agent with thousands of series exposes a few hundred kilobytes.
const MAX_BYTES: usize = 16 << 20;
/// All agents have the text format; OpenMetrics is accepted from those that have nothing else.
const ACCEPTED: &str = "text/plain;version=0.0.4,application/openmetrics-text;version=1.0.0;q=0.5";

/// Prometheus asks for it, and most clients then compress, which is a part of what a scrape costs.
const GZIP: &str = "gzip";

/// Which addresses may be scraped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Only this machine, by its loopback addresses.
    #[default]
    Loopback,
    /// Any address.
    Anywhere,
}

/// Why a target cannot be scraped, or why a scrape failed.
#[derive(Debug, Error)]
pub enum ScrapeError {
    /// It is not a valid address.
    #[error("`{url}` cannot be scraped: {reason}; write http://127.0.0.1:PORT/metrics")]
    Url {
        /// As given.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// It is not an address of this machine.
    #[error("`{url}` is not on loopback, and only loopback may be scraped")]
    Beyond {
        /// As given.
        url: String,
    },
    /// The interval is too short.
    #[error("`{url}` would be scraped every {every:?}; 100ms is the shortest interval")]
    Interval {
        /// As given.
        url: String,
        /// As given.
        every: Duration,
    },
    /// Nothing listens there, or the connection broke.
    #[error("{url}: {reason}")]
    Exchange {
        /// What was scraped.
        url: String,
        /// The system's or the protocol's error.
        reason: String,
    },
    /// The answer is not a page of metrics.
    #[error("{url}: answered with status {status}; check that the path is that of the metrics")]
    Status {
        /// What was scraped.
        url: String,
        /// The answer's status.
        status: u16,
    },
    /// It did not answer in time.
    #[error("{url}: no complete answer within {after:?}")]
    Slow {
        /// What was scraped.
        url: String,
        /// The limit.
        after: Duration,
    },
    /// The answer is too large.
    #[error("{url}: the answer has more than {max_bytes} bytes")]
    TooLarge {
        /// What was scraped.
        url: String,
        /// The limit.
        max_bytes: usize,
    },
    /// The answer is not an exposition.
    #[error("{url}: the answer is not Prometheus or OpenMetrics text: {source}")]
    Exposition {
        /// What was scraped.
        url: String,
        /// What is wrong with it.
        source: ExpositionError,
    },
}

/// One answer of a target.
#[derive(Clone, Debug, PartialEq)]
pub struct Scrape {
    /// Bytes of the answer's body as sent, which may be compressed.
    pub wire_bytes: u64,
    /// Bytes of the text.
    pub bytes: u64,
    /// What it held.
    pub exposition: Exposition,
}

/// Where a target is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    url: String,
    /// `HOST:PORT`, for the header.
    authority: String,
    host: String,
    port: u16,
    path: PathAndQuery,
    reach: Reach,
}

impl Address {
    pub(super) fn parse(url: &str, reach: Reach) -> Result<Address, ScrapeError> {
        let wrong = |reason| ScrapeError::Url {
            url: url.to_owned(),
            reason,
        };
        let uri: Uri = url.parse().map_err(|_| wrong("it is not a URL"))?;
        if uri.scheme() != Some(&Scheme::HTTP) {
            return Err(wrong("only plain HTTP is supported"));
        }
        let authority = uri.authority().ok_or_else(|| wrong("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("user names and passwords are not supported"));
        }
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        // Names are resolved at each scrape, and the address is checked then.
        let is_local = host
            .parse::<IpAddr>()
            .map_or(host == "localhost", |ip| ip.is_loopback());
        if reach == Reach::Loopback && !is_local {
            return Err(ScrapeError::Beyond {
                url: url.to_owned(),
            });
        }
        Ok(Address {
            url: url.to_owned(),
            authority: authority.as_str().to_owned(),
            host,
            port: authority.port_u16().unwrap_or(80),
            path: uri
                .path_and_query()
                .cloned()
                .unwrap_or_else(|| PathAndQuery::from_static("/")),
            reach,
        })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    fn may_reach(&self, at: &SocketAddr) -> bool {
        self.reach == Reach::Anywhere || at.ip().is_loopback()
    }

    fn too_large(&self) -> ScrapeError {
        ScrapeError::TooLarge {
            url: self.url.clone(),
            max_bytes: MAX_BYTES,
        }
    }

    /// An error with its causes: the protocol's own errors say little without them.
    fn broken(&self, error: &(dyn Error + 'static)) -> ScrapeError {
        let causes = std::iter::successors(Some(error), |error| (*error).source());
        let reasons: Vec<_> = causes.map(ToString::to_string).collect();
        ScrapeError::Exchange {
            url: self.url.clone(),
            reason: reasons.join(": "),
        }
    }
}

/// Asks for the metrics and reads them.
pub(super) async fn scrape(
    address: &Address,
    select: &[String],
    timeout: Duration,
) -> Result<Scrape, ScrapeError> {
    let answer = tokio::time::timeout(timeout, fetch(address)).await;
    let (format, body, is_compressed) = answer.map_err(|_| ScrapeError::Slow {
        url: address.url.clone(),
        after: timeout,
    })??;
    let wire_bytes = body.len() as u64;
    let text = match is_compressed {
        true => unpacked(address, &body)?,
        false => body.into(),
    };
    let exposition =
        parse_exposition(format, &text, select).map_err(|source| ScrapeError::Exposition {
            url: address.url.clone(),
            source,
        })?;
    Ok(Scrape {
        wire_bytes,
        bytes: text.len() as u64,
        exposition,
    })
}

/// The text of an answer that is compressed with gzip.
fn unpacked(address: &Address, body: &[u8]) -> Result<Vec<u8>, ScrapeError> {
    let mut text = Vec::new();
    let mut reader = MultiGzDecoder::new(body).take(MAX_BYTES as u64 + 1);
    reader
        .read_to_end(&mut text)
        .map_err(|error| address.broken(&error))?;
    match text.len() > MAX_BYTES {
        true => Err(address.too_large()),
        false => Ok(text),
    }
}

/// The format, the body as sent, and whether it is compressed.
async fn fetch(address: &Address) -> Result<(ExpositionFormat, Bytes, bool), ScrapeError> {
    let stream = connect(address).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| address.broken(&error))?;
    // If the exchange is dropped, so is the connection.
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let answer = sender
        .send_request(request(address)?)
        .await
        .map_err(|error| address.broken(&error))?;
    if answer.status() != StatusCode::OK {
        return Err(ScrapeError::Status {
            url: address.url.clone(),
            status: answer.status().as_u16(),
        });
    }
    let encoding = answer.headers().get(CONTENT_ENCODING);
    let is =
        |name: &str| encoding.is_some_and(|of| of.as_bytes().eq_ignore_ascii_case(name.as_bytes()));
    let is_compressed = is(GZIP);
    if encoding.is_some() && !is_compressed && !is("identity") {
        return Err(ScrapeError::Exchange {
            url: address.url.clone(),
            reason: "the answer has an encoding that was not requested".to_owned(),
        });
    }
    let format = format_of(answer.headers());
    let body = Limited::new(answer.into_body(), MAX_BYTES).collect().await;
    let body = body.map_err(|error| {
        if error.is::<LengthLimitError>() {
            address.too_large()
        } else {
            address.broken(&*error)
        }
    })?;
    Ok((format, body.to_bytes(), is_compressed))
}

async fn connect(address: &Address) -> Result<TcpStream, ScrapeError> {
    let found = tokio::net::lookup_host((address.host.as_str(), address.port)).await;
    let found: Vec<_> = found
        .map_err(|error| address.broken(&error))?
        .filter(|at| address.may_reach(at))
        .collect();
    TcpStream::connect(found.as_slice())
        .await
        .map_err(|error| address.broken(&error))
}

fn request(address: &Address) -> Result<Request<Empty<Bytes>>, ScrapeError> {
    Request::get(Uri::from(address.path.clone()))
        .header(HOST, &address.authority)
        .header(ACCEPT, ACCEPTED)
        .header(ACCEPT_ENCODING, GZIP)
        .header(USER_AGENT, concat!("windage/", env!("CARGO_PKG_VERSION")))
        .header(CONNECTION, "close")
        .body(Empty::new())
        .map_err(|error| address.broken(&error))
}

/// Anything that is not declared as OpenMetrics is read as Prometheus text: many servers declare
/// less.
fn format_of(headers: &HeaderMap) -> ExpositionFormat {
    const OPEN_METRICS: &[u8] = b"application/openmetrics-text";
    let name = headers.get(CONTENT_TYPE).map(|name| name.as_bytes());
    let begins = name.and_then(|name| name.get(..OPEN_METRICS.len()));
    if begins.is_some_and(|begins| begins.eq_ignore_ascii_case(OPEN_METRICS)) {
        ExpositionFormat::OpenMetrics
    } else {
        ExpositionFormat::Text
    }
}
