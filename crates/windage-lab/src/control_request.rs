//! Requests to a service between windows: a line to a socket, or an HTTP request. They start no
//! process, so they take no longer than the service does.

use std::io::{Error, ErrorKind, Result as IoResult};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, HOST};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use regex_lite::Regex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use windage_plan::{Endpoint, Host};

use crate::LabError;
use crate::command_line::HEAR;
use crate::rendered::{CHARS_MAX, beginning};
use crate::target::resolve;

/// The time limit for connecting, sending and the complete answer together.
const WITHIN: Duration = Duration::from_secs(5);
/// A peer that leaves the connection open has answered in full when it is silent for this long.
const SILENCE: Duration = Duration::from_millis(100);
/// The most that is read of an answer.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// The most lines of an answer in an error.
const LINES_SHOWN: usize = 12;

/// A message and its receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// A line; its line end is added.
    Line { to: Peer, line: String },
    /// A request; any status below 400 is success.
    Request {
        method: String,
        url: String,
        at: SocketAddr,
    },
}

/// A socket on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Message {
    /// A line for `HOST:PORT`, or for a Unix socket, whose path contains a `/`.
    pub(crate) fn line(to: &str, line: String, folder: &Path) -> Result<Message, String> {
        let to = if to.contains('/') {
            Peer::Unix(folder.join(to))
        } else {
            Peer::Tcp(here(to)?)
        };
        Ok(Message::Line { to, line })
    }

    /// A request by its method and an `http://` URL.
    pub(crate) fn request(method: &str, url: String) -> Result<Message, String> {
        let uri: Uri = url
            .parse()
            .map_err(|error| format!("`{url}` is not a URL: {error}"))?;
        let authority = uri
            .authority()
            .ok_or_else(|| format!("`{url}` has no host"))?;
        Ok(Message::Request {
            method: method.to_owned(),
            at: here(authority.as_str())?,
            url,
        })
    }

    /// Sends it and checks the answer; returns how it failed, or `None`.
    pub(crate) fn say(
        &self,
        expected: Option<&Regex>,
        interrupted: &AtomicBool,
    ) -> Result<Option<String>, LabError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(|error| LabError::Unsupported(format!("can't speak to sockets: {error}")))?;
        runtime.block_on(async {
            let mut exchange = pin!(self.exchange(expected));
            loop {
                match timeout(HEAR, exchange.as_mut()).await {
                    Ok(done) => return Ok(done.err()),
                    Err(_) if interrupted.load(Ordering::Relaxed) => {
                        return Err(LabError::Interrupted);
                    }
                    Err(_) => {}
                }
            }
        })
    }

    async fn exchange(&self, expected: Option<&Regex>) -> Result<(), String> {
        let deadline = Instant::now() + WITHIN;
        let late = |_| format!("got no answer within {WITHIN:?}");
        let text = match self {
            Message::Line { to, line } => {
                let read = send_line(to, line, expected, deadline);
                // A little later than the reading, so that a partial answer can be shown.
                timeout_at(deadline + SILENCE, read).await.map_err(late)??
            }
            Message::Request { method, url, at } => {
                let asked = ask(method, url, *at);
                let (status, text) = timeout_at(deadline, asked).await.map_err(late)??;
                if status.as_u16() >= 400 {
                    return Err(format!("was answered {status}:\n{}", shown(&text)));
                }
                text
            }
        };
        match expected {
            Some(pattern) if !pattern.is_match(&text) => Err(format!(
                "got an answer that does not match `{pattern}`:\n{}",
                shown(&text)
            )),
            _ => Ok(()),
        }
    }
}

impl std::fmt::Display for Message {
    /// How an error shows it: the message and its receiver.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Message::Line { to, line } => match to {
                Peer::Tcp(at) => write!(f, "`{line}` to {at}"),
                Peer::Unix(path) => write!(f, "`{line}` to {}", path.display()),
            },
            Message::Request { method, url, .. } => write!(f, "`{method} {url}`"),
        }
    }
}

/// An answer as an error shows it: its first lines, since a list of all commands may follow, and
/// the beginning of each, since a binary protocol has no lines.
fn shown(text: &str) -> String {
    if text.trim().is_empty() {
        return "  (nothing)".to_owned();
    }
    let lines = text.lines().take(LINES_SHOWN);
    lines
        .map(|line| format!("  {}", beginning(line, CHARS_MAX)))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The address of `HOST[:PORT]`, which must be on this machine.
fn here(authority: &str) -> Result<SocketAddr, String> {
    let endpoint =
        Endpoint::parse(authority).ok_or_else(|| format!("`{authority}` is not HOST:PORT"))?;
    let address = resolve(&endpoint)?;
    if Host::Ip(address.ip()).is_this_machine() {
        Ok(address)
    } else {
        Err(format!("{address} is not loopback"))
    }
}

async fn send_line(
    to: &Peer,
    line: &str,
    expected: Option<&Regex>,
    deadline: Instant,
) -> Result<String, String> {
    let no_connection = |error: Error| format!("could not connect: {error}");
    let answer = match to {
        Peer::Tcp(at) => {
            let stream = TcpStream::connect(at).await.map_err(no_connection)?;
            line_and_answer(stream, line, expected, deadline).await
        }
        Peer::Unix(path) => {
            let stream = UnixStream::connect(path).await.map_err(no_connection)?;
            line_and_answer(stream, line, expected, deadline).await
        }
    };
    let answer = answer.map_err(|error| format!("got no answer: {error}"))?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Everything that comes until the peer closes, or is silent after the expected answer.
async fn line_and_answer(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    line: &str,
    expected: Option<&Regex>,
    deadline: Instant,
) -> IoResult<Vec<u8>> {
    stream.write_all(format!("{line}\n").as_bytes()).await?;
    let is_all = |answer: &[u8]| {
        let matches = |pattern: &Regex| pattern.is_match(&String::from_utf8_lossy(answer));
        !answer.is_empty() && expected.is_none_or(matches)
    };
    let mut answer = Vec::new();
    let mut chunk = [0; 4096];
    while answer.len() < ANSWER_BYTES_MAX {
        let until = match is_all(&answer) {
            true => deadline.min(Instant::now() + SILENCE),
            false => deadline,
        };
        match timeout_at(until, stream.read(&mut chunk)).await {
            Ok(Ok(count)) if count > 0 => answer.extend_from_slice(&chunk[..count]),
            Ok(Err(error)) if answer.is_empty() => return Err(error),
            Err(_) if answer.is_empty() => {
                return Err(Error::new(
                    ErrorKind::TimedOut,
                    format!("silent for {WITHIN:?}"),
                ));
            }
            Ok(_) | Err(_) => break,
        }
    }
    answer.truncate(ANSWER_BYTES_MAX);
    if answer.is_empty() {
        return Err(Error::new(
            ErrorKind::UnexpectedEof,
            "the connection was closed without an answer",
        ));
    }
    Ok(answer)
}

/// Sends a request without a body; returns the status and the beginning of the body.
async fn ask(method: &str, url: &str, at: SocketAddr) -> Result<(StatusCode, String), String> {
    let stream = TcpStream::connect(at)
        .await
        .map_err(|error| format!("could not connect: {error}"))?;
    let broken = |error: hyper::Error| format!("got no answer: {error}");
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(broken)?;
    // Dropped with this exchange, which closes the connection.
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let request = request(method, url).map_err(|error| format!("can't be asked: {error}"))?;
    let answer = sender.send_request(request).await.map_err(broken)?;
    let status = answer.status();
    let body = body(answer.into_body()).await.map_err(broken)?;
    Ok((status, body))
}

fn request(method: &str, url: &str) -> Result<Request<Empty<Bytes>>, hyper::http::Error> {
    let uri: Uri = url.parse()?;
    let host = uri.authority().map_or("", |authority| authority.as_str());
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    Request::builder()
        .method(Method::from_bytes(method.as_bytes())?)
        .uri(path)
        .header(HOST, host)
        .header(CONNECTION, "close")
        .body(Empty::new())
}

async fn body(mut incoming: Incoming) -> hyper::Result<String> {
    let mut bytes = Vec::new();
    while bytes.len() < ANSWER_BYTES_MAX
        && let Some(frame) = incoming.frame().await
    {
        if let Some(data) = frame?.data_ref() {
            bytes.extend_from_slice(data);
        }
    }
    bytes.truncate(ANSWER_BYTES_MAX);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests;
