//! Checks whether a service is ready, one look at a time; the caller waits in between.

mod metric;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use regex_lite::Regex;

pub(crate) use metric::MetricCheck;

/// A look must not hold up the launch for longer.
const LOOK: Duration = Duration::from_secs(1);
/// How much of a log is searched for the line that says "ready".
const LOG_BYTES: u64 = 4 << 20;

/// The check.
#[derive(Debug)]
pub(crate) enum Check {
    Http { address: SocketAddr, path: String },
    Tcp { address: SocketAddr },
    Log { path: PathBuf, pattern: Regex },
    Metric(MetricCheck),
    Delay { until: Instant },
    None,
}

/// The result of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    NotYet,
    Ready,
    /// Ready, and a request was answered to find out.
    Answered,
}

impl Check {
    /// Looks once.
    pub(crate) fn look(&self) -> Found {
        match self {
            Check::Http { address, path } => match status_of(*address, path) {
                Some(status) if status < 500 => Found::Answered,
                _ => Found::NotYet,
            },
            Check::Tcp { address } => ready_if(TcpStream::connect_timeout(address, LOOK).is_ok()),
            Check::Log { path, pattern } => ready_if(log_matches(path, pattern)),
            Check::Metric(metric) => ready_if(metric.is_above_zero()),
            Check::Delay { until } => ready_if(Instant::now() >= *until),
            Check::None => Found::Ready,
        }
    }

    /// What the check waits for, in words.
    pub(crate) fn waits_for(&self) -> String {
        match self {
            Check::Http { address, path } => {
                format!("a status below 500 from http://{address}{path}")
            }
            Check::Tcp { address } => format!("{address} to accept TCP"),
            Check::Log { pattern, .. } => format!("a line of its log that matches `{pattern}`"),
            Check::Metric(metric) => metric.to_string(),
            Check::Delay { .. } => "its delay".to_owned(),
            Check::None => "nothing".to_owned(),
        }
    }
}

fn ready_if(yes: bool) -> Found {
    if yes { Found::Ready } else { Found::NotYet }
}

fn status_of(address: SocketAddr, path: &str) -> Option<u16> {
    let mut stream = TcpStream::connect_timeout(&address, LOOK).ok()?;
    stream.set_read_timeout(Some(LOOK)).ok()?;
    stream.set_write_timeout(Some(LOOK)).ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut head = Vec::new();
    // Only the status line matters; the rest is read so that the server is not cut off. If the
    // server keeps the connection open, reading stops at the timeout.
    let _ = stream.take(1 << 16).read_to_end(&mut head);
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut headers);
    response.parse(&head).ok()?;
    response.code
}

fn log_matches(path: &Path, pattern: &Regex) -> bool {
    let mut text = Vec::new();
    let read =
        windage_files::open(path).and_then(|file| file.take(LOG_BYTES).read_to_end(&mut text));
    read.is_ok()
        && String::from_utf8_lossy(&text)
            .lines()
            .any(|line| pattern.is_match(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn server(answer: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 512];
            let _ = stream.read(&mut request).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        });
        address
    }

    #[test]
    fn http_is_ready_with_any_status_below_500() {
        let table = [
            (
                "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
                Found::Answered,
            ),
            ("HTTP/1.1 404 Not Found\r\n\r\n", Found::Answered),
            ("HTTP/1.1 503 Starting\r\n\r\n", Found::NotYet),
            ("what?", Found::NotYet),
        ];
        for (answer, found) in table {
            let check = Check::Http {
                address: server(answer),
                path: "/".into(),
            };
            assert_eq!(check.look(), found, "{answer}");
        }
    }

    #[test]
    fn tcp_is_ready_when_it_accepts() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(Check::Tcp { address }.look(), Found::Ready);
        drop(listener);
        assert_eq!(Check::Tcp { address }.look(), Found::NotYet);
    }

    #[test]
    fn a_log_line_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let check = Check::Log {
            path: path.clone(),
            pattern: Regex::new("^up on [0-9]+$").unwrap(),
        };
        assert_eq!(check.look(), Found::NotYet);
        std::fs::write(&path, "starting\nup on 8080\n").unwrap();
        assert_eq!(check.look(), Found::Ready);
    }
}
