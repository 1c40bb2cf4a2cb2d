//! The scenarios of the study: one size of request over one protocol.

use std::fs;

use anyhow::{Context, Result};
use tempfile::NamedTempFile;

use super::payload;
use super::receiver::{Protocol, RECEIVERS, Receiver};

/// One comparison: the same requests for several receivers.
#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) protocol: Protocol,
    /// Spans per request.
    pub(super) spans: usize,
    pub(super) is_gzip: bool,
}

pub(super) const SCENARIOS: &[Scenario] = &[
    scenario("http-10", Protocol::Http, 10, false),
    scenario("http-100", Protocol::Http, 100, false),
    scenario("http-512", Protocol::Http, 512, false),
    scenario("http-512-gzip", Protocol::Http, 512, true),
    scenario("http-8192", Protocol::Http, 8192, false),
    scenario("grpc-10", Protocol::Grpc, 10, false),
    scenario("grpc-100", Protocol::Grpc, 100, false),
    scenario("grpc-512", Protocol::Grpc, 512, false),
    scenario("grpc-512-gzip", Protocol::Grpc, 512, true),
    scenario("grpc-8192", Protocol::Grpc, 8192, false),
];

const fn scenario(name: &'static str, protocol: Protocol, spans: usize, is_gzip: bool) -> Scenario {
    Scenario {
        name,
        protocol,
        spans,
        is_gzip,
    }
}

impl Scenario {
    pub(super) fn receivers(&self) -> impl Iterator<Item = &'static Receiver> {
        let all = RECEIVERS.iter();
        all.filter(|receiver| receiver.speaks(self.protocol))
    }

    /// Its body in a file.
    pub(super) fn write_body(&self) -> Result<NamedTempFile> {
        let file = NamedTempFile::new().context("make a temporary file")?;
        fs::write(&file, self.body()?).context("write a temporary file")?;
        Ok(file)
    }

    /// The body of each request, for the generator.
    pub(super) fn body(&self) -> Result<Vec<u8>> {
        let plain = payload::realistic(self.spans);
        match (self.is_gzip, self.protocol) {
            (false, _) => Ok(plain),
            (true, Protocol::Http) => payload::gzip(&plain),
            (true, Protocol::Grpc) => payload::framed(&payload::gzip(&plain)?),
        }
    }

    /// The generator's arguments for that body.
    ///
    /// The generator's own gRPC framing has no compression, so a compressed message is sent as the
    /// body of a plain HTTP/2 request; the status in the trailers is then not checked.
    pub(super) fn arguments(&self) -> &'static str {
        match (self.protocol, self.is_gzip) {
            (Protocol::Http, false) => "--header Content-Type:application/x-protobuf",
            (Protocol::Http, true) => {
                "--header Content-Type:application/x-protobuf --header Content-Encoding:gzip"
            }
            (Protocol::Grpc, false) => "--grpc",
            (Protocol::Grpc, true) => {
                "--http2 --header Content-Type:application/grpc --header TE:trailers \
                 --header grpc-encoding:gzip"
            }
        }
    }

    /// A description in words.
    pub(super) fn meaning(&self) -> String {
        let protocol = match self.protocol {
            Protocol::Http => "OTLP/HTTP",
            Protocol::Grpc => "OTLP/gRPC",
        };
        let encoding = if self.is_gzip { ", gzip" } else { "" };
        format!("{protocol}, {} spans per request{encoding}", self.spans)
    }
}

/// The scenario of this name.
pub(super) fn by_name(name: &str) -> &'static Scenario {
    let found = SCENARIOS.iter().find(|scenario| scenario.name == name);
    found.expect("scenarios are named by the table")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compressed_body_is_smaller_and_framed_only_for_grpc() {
        let body = |name| by_name(name).body().unwrap();
        let (plain, http, grpc) = (
            body("http-512"),
            body("http-512-gzip"),
            body("grpc-512-gzip"),
        );
        assert_eq!(body("grpc-512"), plain);
        assert!(http.len() * 3 < plain.len());
        assert_eq!(grpc[5..], http);
    }
}
