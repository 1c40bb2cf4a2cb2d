//! The load: `windage load` with the same body in every request.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::scenario::Scenario;
use crate::bench::child;
use crate::bench::line::{Places, command};
use crate::bench::study::LOAD_CORE;

/// A load on one receiver.
pub(super) struct Load {
    pub(super) scenario: &'static Scenario,
    pub(super) connections: u32,
    /// Requests started per second, on the connection that has been free the longest; `None` for a
    /// closed loop.
    pub(super) rate_per_s: Option<u32>,
    /// How long new requests are sent; answers are waited for.
    pub(super) lasts: Duration,
    /// Of one answer.
    pub(super) timeout: Duration,
}

/// The generator's report on a load whose requests were all answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Delivered {
    /// Answered with a status of success.
    pub(super) requests: u64,
    /// Answered with another status.
    pub(super) refused: u64,
    pub(super) seconds: f64,
}

impl Load {
    /// Runs the load on the receiver at this address. An unanswered request is an error.
    pub(super) fn put_on(
        &self,
        address: SocketAddr,
        body: &Path,
        programs: &Places,
    ) -> Result<Delivered> {
        let mut places = programs.clone();
        places.push(("ADDRESS", address.to_string()));
        places.push(("BODY", body.to_string_lossy().into_owned()));
        // Twice the timeout: connections are opened before the load, answers arrive after it.
        let patience = self.lasts + 2 * self.timeout;
        let ended = child::run(&mut command(&self.line(), &places), LOAD_CORE, patience)?;
        delivered(&ended.stdout).with_context(|| {
            let said = ended.stderr.lines().last().unwrap_or_default();
            format!("windage load ended with {}: {said}", ended.status)
        })
    }

    /// The command that sends BODY to ADDRESS.
    pub(super) fn line(&self) -> String {
        let rate = self.rate_per_s.map(|rate| format!(" --rate {rate}/s"));
        format!(
            "windage load http://ADDRESS{} --data-file BODY {} --connections {} --for {}ms{} --timeout {}ms \
             --warmup 0s --json",
            self.scenario.protocol.path(),
            self.scenario.arguments(),
            self.connections,
            self.lasts.as_millis(),
            rate.unwrap_or_default(),
            self.timeout.as_millis(),
        )
    }
}

/// Reads `windage load --json`.
fn delivered(text: &str) -> Result<Delivered> {
    let json: Value = serde_json::from_str(text.trim()).context("it printed no JSON document")?;
    let count = |value: &Value| value.as_u64().unwrap_or_default();
    let errors = json["errors"].as_object().context("no errors")?;
    let errors: u64 = errors.values().map(count).sum();
    let requests = json["requests"].as_u64().context("no requests")?;
    if errors > 0 || requests == 0 {
        let first = json["first_error"].as_str().unwrap_or("none was sent");
        bail!("{errors} errors and {requests} answers; first: {first}");
    }
    let well = count(&json["status"]["2xx"]);
    Ok(Delivered {
        requests: well,
        refused: requests - well,
        seconds: json["seconds"].as_f64().context("no seconds")?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::scenario::by_name;
    use super::*;

    #[test]
    fn command_lines() {
        let line = |name: &str| {
            let load = Load {
                scenario: by_name(name),
                connections: 8,
                rate_per_s: name.starts_with("grpc").then_some(100),
                lasts: Duration::from_secs(2),
                timeout: Duration::from_secs(10),
            };
            load.line()
        };
        let ends = "--connections 8 --for 2000ms --timeout 10000ms --warmup 0s --json";
        assert!(line("grpc-10").contains("--for 2000ms --rate 100/s --timeout"));
        assert_eq!(
            line("http-10"),
            format!(
                "windage load http://ADDRESS/v1/traces --data-file BODY \
                 --header Content-Type:application/x-protobuf {ends}"
            )
        );
        assert!(line("http-512-gzip").contains("--header Content-Encoding:gzip"));
        assert!(line("grpc-8192").contains("TraceService/Export --data-file BODY --grpc --conn"));
        assert!(line("grpc-512-gzip").contains("--http2 --header Content-Type:application/grpc"));
    }

    #[test]
    fn unanswered_requests_are_an_error() {
        let said = |requests: u64, well: u64, timeouts: u64| {
            let json = serde_json::json!({
                "requests": requests, "seconds": 2.0, "status": { "2xx": well },
                "errors": { "timeout": timeouts, "closed": 0 }, "first_error": null,
            });
            delivered(&json.to_string())
        };
        let nine = Delivered {
            requests: 9,
            refused: 1,
            seconds: 2.0,
        };
        assert_eq!(said(10, 9, 0).unwrap(), nine);
        for (error, expected) in [
            (said(10, 10, 1), "1 errors"),
            (said(0, 0, 0), "none was sent"),
            (delivered("usage"), "no JSON"),
        ] {
            let error = format!("{:#}", error.unwrap_err());
            assert!(error.contains(expected), "{error}");
        }
    }
}
