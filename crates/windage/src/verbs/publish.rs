//! Publishes results of `windage run`, `demo` and `report` to other programs.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use clap::Args;
use windage_analysis::Analysis;
use windage_serve::{MetricsServer, OtlpEndpoint, push};

use crate::exit::Exit;
use crate::message;

#[derive(Args, Debug, Default)]
pub(crate) struct PublishFlags {
    /// Serve metrics for Prometheus at http://ADDRESS:PORT/metrics while measuring; a port alone
    /// means 127.0.0.1, port 0 means any free one.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub(crate) metrics: Option<SocketAddr>,
    /// Push the results as OTLP metrics (HTTP, protobuf) to this receiver, such as
    /// http://127.0.0.1:4318; headers come from OTEL_EXPORTER_OTLP_HEADERS.
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<OtlpEndpoint>,
}

/// What to publish while runs are measured.
pub(crate) struct Publishing<'a> {
    server: Option<MetricsServer>,
    otlp: Option<&'a OtlpEndpoint>,
}

impl Publishing<'_> {
    /// Starts the metrics server, if it was requested, and prints its URL.
    pub(crate) fn start(flags: &PublishFlags) -> Result<Publishing<'_>, Exit> {
        let server = flags.metrics.map(MetricsServer::start).transpose();
        let server = server.map_err(|error| {
            message::error(error);
            Exit::CouldNotMeasure
        })?;
        if let Some(server) = &server {
            anstream::eprintln!("metrics: http://{}/metrics", server.address());
        }
        Ok(Publishing {
            server,
            otlp: flags.otlp.as_ref(),
        })
    }

    /// Serves the metrics of this run from now on.
    pub(crate) fn follow(&self, run: &Path) {
        if let Some(server) = &self.server {
            server.follow(run);
        }
    }

    /// Pushes the results, if that was requested.
    pub(crate) fn push<'a>(&self, analyses: impl Iterator<Item = &'a Analysis>) -> Exit {
        self.otlp
            .map_or(Exit::Success, |endpoint| push_all(analyses, endpoint))
    }
}

/// Pushes every result. A failure is reported; the results are in the run directory anyway.
pub(crate) fn push_all<'a>(
    analyses: impl Iterator<Item = &'a Analysis>,
    endpoint: &OtlpEndpoint,
) -> Exit {
    let mut exit = Exit::Success;
    for analysis in analyses {
        if let Err(error) = push(analysis, endpoint) {
            message::error(format_args!("{}: {error}", analysis.run));
            exit = Exit::CouldNotMeasure;
        }
    }
    exit
}

/// Parses an address to listen on; a port alone means 127.0.0.1.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse()
        .map_err(|_| "not an address; write it as 127.0.0.1:9464 or [::1]:9464".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_on_loopback() {
        let table = [
            ("9464", "127.0.0.1:9464"),
            ("0", "127.0.0.1:0"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::1]:9464", "[::1]:9464"),
        ];
        for (text, expected) in table {
            assert_eq!(address(text).unwrap().to_string(), expected, "{text}");
        }
        for wrong in ["", "localhost:9464", "127.0.0.1", "65536", "127.0.0.1:x"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
