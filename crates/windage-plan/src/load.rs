//! The load on the subject, as the other crates see it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use windage_model::LoadModel;

use crate::words::words;
use crate::{Host, Template, Value};

/// The load on the subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Its name among the plan's loads; `None` when it is the only one.
    pub regime: Option<String>,
    /// Open, closed or batch.
    pub model: LoadModel,
    /// Intended starts per second, averaged over a window; `Some` exactly for an open load.
    pub rate_per_s: Option<f64>,
    /// The schedule of an open load's starts; unused for others.
    pub starts: Starts,
    /// How an open load's starts are spaced; unused for a replay and for other loads.
    pub arrivals: Arrivals,
    /// The protocol on a connection; unused for a batch load.
    pub protocol: Protocol,
    /// Concurrent exchanges on one connection; 1 unless the protocol is HTTP/2 or gRPC.
    pub streams: u32,
    /// The generator's threads; unused for a batch load.
    pub threads: u32,
    /// Connections per arm, kept warm; unused for a batch load.
    pub connections: u32,
    /// The limit up to which an open load opens connections when a start finds none free; at least
    /// `connections`, and equal to it for other loads.
    pub connections_max: u32,
    /// `Some` exactly when the URLs are `https://`.
    pub tls: Option<Tls>,
    /// The Unix socket to which load goes, instead of the URL's host.
    pub unix: Option<Template>,
    /// The request of a load without flows; `Some` exactly when `flows` is empty and the load is
    /// not a batch.
    pub request: Option<Request>,
    /// Sequences of requests that users make. All requests go to the same host.
    pub flows: Vec<Flow>,
    /// Values that change from request to request, by their placeholder's name, in file order. Only
    /// a [`Template`] of a request may name them.
    pub fields: Vec<(String, Field)>,
    /// The CSV files from which fields are taken, each file once.
    pub tables: Vec<Table>,
    /// The limit for a whole exchange.
    pub timeout: Duration,
    /// The generator's cores; `None` means all.
    pub cpus: Option<Vec<u32>>,
    /// Hosts other than this machine to which load may go.
    pub allow: Vec<Host>,
    /// What a window of a batch load is; unused for others.
    pub batch: BatchKind,
    /// The iterations in one window of a batch load.
    pub iterations: Iterations,
    /// When a resident program flushes; unused for others.
    pub flush: FlushWhen,
}

/// The word for "as many iterations as fill a window".
pub(crate) const AUTO: &str = "auto";

/// The iterations in one window of a batch load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iterations {
    /// This number, for every arm.
    Fixed(u64),
    /// For each arm, as many as fill the design's window.
    Auto,
}

impl Load {
    /// All requests of the load: the only one, or those of all flows in file order.
    pub fn requests(&self) -> impl Iterator<Item = &Request> {
        let steps = self.flows.iter().flat_map(|flow| &flow.steps);
        self.request.iter().chain(steps.map(|step| &step.request))
    }

    /// The same requests, at a constant rate; for an open load.
    #[must_use]
    pub fn at_rate(&self, rate_per_s: f64) -> Load {
        Load {
            rate_per_s: Some(rate_per_s),
            starts: Starts::Steady,
            ..self.clone()
        }
    }

    /// A one-line summary: the request, or the first of several and their number, and the protocol
    /// unless it is HTTP/1.1. `None` for a batch load.
    #[must_use]
    pub fn summary(&self) -> Option<String> {
        let first = self.requests().next()?;
        let mut summary = format!("{} {}", first.method, first.url);
        let steps = self.requests().count();
        if steps > 1 {
            let flows = match self.flows.len() {
                1 => "a flow".to_owned(),
                flows => format!("{flows} flows"),
            };
            summary += &format!(" and {} more in {flows}", steps - 1);
        }
        if self.protocol != Protocol::Http1 {
            summary += &format!(", {}", self.protocol.as_str());
        }
        Some(summary)
    }

    /// What is rendered for each arm: requests, and the path of the socket.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        self.requests()
            .flat_map(Request::templates)
            .chain(&self.unix)
    }
}

/// The schedule of an open load's starts.
#[derive(Clone, Debug, PartialEq)]
pub enum Starts {
    /// One rate throughout, [`Load::rate_per_s`].
    Steady,
    /// Pieces in sequence, together exactly as long as a window.
    Profile(Vec<Piece>),
    /// Recorded times.
    Replay(Replay),
}

/// A stretch of a load profile: a constant rate, or a linear change from one rate to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// Starts per second at its beginning; may be zero.
    pub from_per_s: f64,
    /// Starts per second at its end; may be zero.
    pub to_per_s: f64,
    /// Its length.
    pub lasts: Duration,
}

/// Starts at recorded times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The file as the plan names it, relative to the plan's folder.
    pub file: PathBuf,
    /// The times within a window, in nanoseconds from its start, never decreasing; at least one.
    pub offsets_ns: Arc<[u64]>,
    /// The length of a window; load for longer repeats the recording.
    pub repeats_after: Duration,
}

/// The settings of TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// A PEM file with the only trusted authorities, relative to the plan's folder. It is not read
    /// with the plan, since `build` may make it. `None` means the web's authorities.
    pub ca: Option<PathBuf>,
    /// The name that the certificate must be for; `None` means the URL's host.
    pub server_name: Option<Host>,
    /// Whether any certificate is accepted.
    pub insecure: bool,
}

/// A sequence of requests that a user makes.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name in reports.
    pub name: Option<String>,
    /// How often users take it, in proportion to the others; at least 1.
    pub weight: u32,
    /// The steps, in order; at least one.
    pub steps: Vec<Step>,
}

/// One request of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What is requested.
    pub request: Request,
    /// Think time after the answer, before the next step.
    pub think: Duration,
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// An HTTP method, such as `GET`.
    pub method: String,
    /// `http://HOST[:PORT]/path` or `https://…`, where `HOST[:PORT]` may be `{SERVICE}`.
    pub url: Template,
    /// Added to the request, in file order; names are unique.
    pub headers: Vec<(String, Value)>,
    /// The body.
    pub body: Option<Body>,
}

impl Request {
    /// Whether the URL is `https://`.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.url.as_str().starts_with(HTTPS)
    }

    /// The URL's `HOST[:PORT]`. It contains no field.
    #[must_use]
    pub fn authority(&self) -> Template {
        Template::parse(split_url(self.url.as_str()).0)
    }

    /// The URL's path and query; starts with `/`.
    #[must_use]
    pub fn path(&self) -> Template {
        Template::parse(split_url(self.url.as_str()).1)
    }

    fn templates(&self) -> impl Iterator<Item = &Template> {
        let headers = self
            .headers
            .iter()
            .filter_map(|(_, value)| value.template());
        let body = self.body.iter().filter_map(|body| match body {
            Body::Text(template) => Some(template),
            Body::File { .. } => None,
        });
        std::iter::once(&self.url).chain(headers).chain(body)
    }
}

pub(crate) const HTTP: &str = "http://";
pub(crate) const HTTPS: &str = "https://";

/// Splits a URL into its authority and the rest.
fn split_url(url: &str) -> (&str, &str) {
    let rest = url
        .strip_prefix(HTTPS)
        .or_else(|| url.strip_prefix(HTTP))
        .unwrap_or(url);
    rest.split_at(rest.find('/').unwrap_or(rest.len()))
}

/// A request's body.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// As written in the plan.
    Text(Template),
    /// A file, sent unchanged: braces in it are literal.
    File {
        /// The file as the plan names it, relative to the plan's folder.
        file: PathBuf,
        /// Its contents, read with the plan.
        bytes: Arc<[u8]>,
    },
}

/// The source of a field's value, which is drawn for each request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// Counts up.
    Counter {
        /// The first value.
        from: u64,
        /// The increment; at least 1.
        step: u64,
    },
    /// A random whole number, uniformly distributed.
    Random {
        /// The lowest.
        low: u64,
        /// The highest; above `low`.
        high: u64,
    },
    /// A column of one of [`Load::tables`]. All steps of a flow take all columns of a table from
    /// the same row.
    Column {
        /// The index of the table.
        table: usize,
        /// The column, as named in the file's first row, trimmed.
        column: String,
    },
}

/// A CSV file from which fields are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The file as the plan names it, relative to the plan's folder.
    pub file: PathBuf,
    /// Its contents, read with the plan: a row of names and at least one row of values, all of the
    /// same length.
    pub bytes: Arc<[u8]>,
    /// Which row comes next.
    pub order: RowOrder,
}

words! {
    /// The protocol on a connection.
    Protocol {
        /// HTTP/1.1: one exchange at a time.
        Http1 = "http/1.1",
        /// HTTP/2: by ALPN with TLS, by prior knowledge without.
        Http2 = "h2",
        /// Unary gRPC calls over HTTP/2.
        Grpc = "grpc",
    }
    /// How the starts of an open load are spaced.
    Arrivals {
        /// Evenly.
        Constant = "constant",
        /// At random: exponential gaps.
        Poisson = "poisson",
    }
    /// Which row of a table comes next.
    RowOrder {
        /// From the first to the last, then from the first again.
        InOrder = "in-order",
        /// A random row, uniformly distributed.
        Random = "random",
    }
    /// What a window of a batch load is.
    BatchKind {
        /// One whole process.
        Process = "process",
        /// Iterations requested from a process that stays up.
        Resident = "resident",
    }
    /// When a resident program flushes.
    FlushWhen {
        /// Once, after a launch's last window.
        Launch = "launch",
        /// Also at the end of each window, so that every window contains all of its work.
        Window = "window",
    }
}
