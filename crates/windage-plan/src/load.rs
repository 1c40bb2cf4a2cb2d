//! What is asked of the subject, as the other crates see it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use windage_model::LoadModel;

use crate::words::words;
use crate::{Host, Template};

/// What is asked of the subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// What tells it from the plan's other loads; `None` when there is no other.
    pub regime: Option<String>,
    /// Open, closed or batch.
    pub model: LoadModel,
    /// Intended starts per second, over a window on average; there exactly for an open load.
    pub rate_per_s: Option<f64>,
    /// What an open load's starts follow; means nothing for others.
    pub starts: Starts,
    /// How an open load's starts are spaced; means nothing for a replay, nor for other loads.
    pub arrivals: Arrivals,
    /// What is spoken on a connection; means nothing for a batch load.
    pub protocol: Protocol,
    /// Exchanges at once on one connection; 1 unless the protocol is HTTP/2 or gRPC.
    pub streams: u32,
    /// The generator's threads; means nothing for a batch load.
    pub threads: u32,
    /// For each arm, kept warm; means nothing for a batch load.
    pub connections: u32,
    /// As many may be open when a start of an open load finds none free; never fewer than
    /// `connections`, and just as many for other loads.
    pub connections_max: u32,
    /// There exactly when the URLs are `https://`.
    pub tls: Option<Tls>,
    /// The Unix socket that is connected to, whatever the URL's host is.
    pub unix: Option<Template>,
    /// The one request of a load without flows; there exactly when `flows` is empty and the load
    /// is not a batch.
    pub request: Option<Request>,
    /// The ways of users through several requests. All requests go to the same host.
    pub flows: Vec<Flow>,
    /// What differs from request to request, by the name that stands for it in braces, in file
    /// order. A [`Template`] of a request may name them; no other does.
    pub fields: Vec<(String, Field)>,
    /// The CSV files that fields are taken from; each file stands here once.
    pub tables: Vec<Table>,
    /// For a whole exchange.
    pub timeout: Duration,
    /// The generator's cores; `None` means all.
    pub cpus: Option<Vec<u32>>,
    /// Hosts besides this machine that load may go to.
    pub allow: Vec<Host>,
    /// What a window of a batch load is; means nothing for others.
    pub batch: BatchKind,
    /// What one window of a batch load holds.
    pub iterations: Iterations,
    /// When a resident program brings out what it holds; means nothing for others.
    pub flush: FlushWhen,
}

/// What one window of a batch load holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iterations {
    /// So many, of every arm.
    Fixed(u64),
    /// As many of each arm as make a window as long as the design's.
    Auto,
}

impl Load {
    /// Every request of the load: the only one, or those of all flows in file order.
    pub fn requests(&self) -> impl Iterator<Item = &Request> {
        let steps = self.flows.iter().flat_map(|flow| &flow.steps);
        self.request.iter().chain(steps.map(|step| &step.request))
    }

    /// What is asked for, in a line: the request, or the first of several and how many there are,
    /// and the protocol unless it is HTTP/1.1. `None` for a batch load.
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

    /// What is filled for each arm: requests, and the path of the socket.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        self.requests()
            .flat_map(Request::templates)
            .chain(&self.unix)
    }
}

/// What the starts of an open load follow.
#[derive(Clone, Debug, PartialEq)]
pub enum Starts {
    /// One rate throughout, [`Load::rate_per_s`].
    Steady,
    /// Pieces one after another, together exactly as long as a window.
    Profile(Vec<Piece>),
    /// Times that were recorded somewhere.
    Replay(Replay),
}

/// A stretch of a load profile: one rate, or a linear way from one to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// Starts a second at its beginning; may be zero.
    pub from_per_s: f64,
    /// Starts a second at its end; may be zero.
    pub to_per_s: f64,
    /// Its length.
    pub lasts: Duration,
}

/// Starts at times that were recorded somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The file as the plan names it, relative to the plan's folder.
    pub file: PathBuf,
    /// Those that lie within a window, in nanoseconds from its start, never decreasing; at least
    /// one.
    pub offsets_ns: Arc<[u64]>,
    /// The length of a window: load for a longer time begins the recording anew after it.
    pub repeats_after: Duration,
}

/// How TLS is spoken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// A PEM file with the only authorities that are trusted, relative to the plan's folder; it
    /// is not read with the plan, since `build` may make it. `None` means the web's.
    pub ca: Option<PathBuf>,
    /// The name that the certificate must be for; `None` means the URL's host.
    pub server_name: Option<Host>,
    /// Whether any certificate will do.
    pub insecure: bool,
}

/// A way of users through several requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// For people.
    pub name: Option<String>,
    /// How often it is taken, in proportion to the others; at least 1.
    pub weight: u32,
    /// One after another; at least one.
    pub steps: Vec<Step>,
}

/// One request of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What is asked for.
    pub request: Request,
    /// How long the user thinks after the answer, before the next step.
    pub think: Duration,
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// An HTTP method, such as `GET`.
    pub method: String,
    /// `http://HOST[:PORT]/path` or `https://…`, where `HOST[:PORT]` may be `{SERVICE}`.
    pub url: Template,
    /// Added to the request, in file order; no name comes twice.
    pub headers: Vec<(String, HeaderValue)>,
    /// The body.
    pub body: Option<Body>,
}

impl Request {
    /// Whether TLS is spoken.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.url.as_str().starts_with(HTTPS)
    }

    /// The URL's `HOST[:PORT]`. It names no field.
    #[must_use]
    pub fn authority(&self) -> Template {
        Template::parse(split_url(self.url.as_str()).0)
    }

    /// The URL from its path on, query included; starts with `/`.
    #[must_use]
    pub fn path(&self) -> Template {
        Template::parse(split_url(self.url.as_str()).1)
    }

    fn templates(&self) -> impl Iterator<Item = &Template> {
        let headers = self.headers.iter().filter_map(|(_, value)| match value {
            HeaderValue::Literal(template) => Some(template),
            HeaderValue::Environment { .. } => None,
        });
        let body = self.body.iter().filter_map(|body| match body {
            Body::Text(template) => Some(template),
            Body::File { .. } => None,
        });
        std::iter::once(&self.url).chain(headers).chain(body)
    }
}

pub(crate) const HTTP: &str = "http://";
pub(crate) const HTTPS: &str = "https://";

/// The authority of a URL, and the rest.
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
    /// As it stands in the plan.
    Text(Template),
    /// A file, sent as it is: braces in it mean nothing.
    File {
        /// The file as the plan names it, relative to the plan's folder.
        file: PathBuf,
        /// What it holds, read with the plan.
        bytes: Arc<[u8]>,
    },
}

/// A header's value.
#[derive(Clone, Debug, PartialEq)]
pub enum HeaderValue {
    /// As it stands in the plan.
    Literal(Template),
    /// Taken from the environment when the load starts, never written to disk.
    Environment {
        /// The variable's name, without `$`.
        variable: String,
    },
}

/// Where the value of a field comes from, anew for each request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// Counts up.
    Counter {
        /// The first value.
        from: u64,
        /// How much more each next value is; at least 1.
        step: u64,
    },
    /// A whole number at random, each as likely as any other.
    Random {
        /// The least.
        low: u64,
        /// The greatest; above `low`.
        high: u64,
    },
    /// A column of one of [`Load::tables`]; all columns of a table that a flow names are taken
    /// from the same row, in all its steps.
    Column {
        /// Which table.
        table: usize,
        /// The column, as the file's first row names it, without spaces around.
        column: String,
    },
}

/// A CSV file that fields are taken from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The file as the plan names it, relative to the plan's folder.
    pub file: PathBuf,
    /// What it holds, read with the plan: a row of names and at least one row of values, all of
    /// the same length.
    pub bytes: Arc<[u8]>,
    /// Which row comes next.
    pub order: RowOrder,
}

words! {
    /// What is spoken on a connection.
    Protocol {
        /// HTTP/1.1: one exchange at a time.
        Http1 = "http/1.1",
        /// HTTP/2: by ALPN over TLS, by prior knowledge without.
        Http2 = "h2",
        /// Unary gRPC calls over HTTP/2.
        Grpc = "grpc",
    }
    /// How the starts of an open load are spaced.
    Arrivals {
        /// Equally.
        Constant = "constant",
        /// At random: exponential gaps.
        Poisson = "poisson",
    }
    /// Which row of a table comes next.
    RowOrder {
        /// From the first to the last, then the first again.
        InOrder = "in-order",
        /// Any, each as likely as any other.
        Random = "random",
    }
    /// What a window of a batch load is.
    BatchKind {
        /// One whole process.
        Process = "process",
        /// Iterations asked of a process that stays.
        Resident = "resident",
    }
    /// When a resident program brings out what it holds.
    FlushWhen {
        /// Once, after a launch's last window.
        Launch = "launch",
        /// At the end of each window as well, so that every window holds the whole of its work.
        Window = "window",
    }
}

/// The name of the first `$NAME` in a header's value, which stands for a variable of the environment.
#[must_use]
pub fn environment_variable(text: &str) -> Option<&str> {
    text.match_indices('$').find_map(|(at, _)| {
        let name = &text[at + 1..];
        let end = name
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(name.len());
        let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        starts.then(|| &name[..end])
    })
}
