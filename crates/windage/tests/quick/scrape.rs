//! HTTP requests to Windage over a raw socket.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::workshop::Going;

/// The answer to a `GET`.
pub(crate) struct Answer {
    pub(crate) head: String,
    pub(crate) body: String,
}

/// The address of a run that was started with `--metrics`.
pub(crate) fn address(going: &mut Going) -> SocketAddr {
    going.until_said("says where it answers", |text| {
        let mut lines = text.lines();
        let address = lines.find_map(|line| {
            let url = line.strip_prefix("metrics: http://")?;
            url.strip_suffix("/metrics")
        });
        Some(address?.parse().unwrap())
    })
}

/// Requests a path; `None` if nothing answers.
pub(crate) fn get(from: SocketAddr, path: &str) -> Option<Answer> {
    let mut stream = TcpStream::connect(from).ok()?;
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    // HTTP/1.0: the answer ends with the connection, and is not chunked.
    let head = format!("GET {path} HTTP/1.0\r\nhost: localhost\r\n\r\n");
    stream.write_all(head.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some(Answer {
        head: head.to_owned(),
        body: body.to_owned(),
    })
}

/// The value of a series, such as `windage_windows_total{arm="off",soundness="valid"}`.
pub(crate) fn value(exposition: &str, series: &str) -> Option<f64> {
    let mut lines = exposition.lines();
    lines.find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
}
