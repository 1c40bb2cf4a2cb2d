//! What the receivers are put through: one size of request over one protocol.

use anyhow::Result;
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;

use super::payload;
use super::receiver::Receiver;

/// How OTLP is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Http,
    Grpc,
}

impl Protocol {
    /// As the sink's flags, its addresses and its account call it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Protocol::Http => "otlp-http",
            Protocol::Grpc => "otlp-grpc",
        }
    }

    /// Where traces are exported to.
    pub(super) fn path(self) -> &'static str {
        match self {
            Protocol::Http => "/v1/traces",
            Protocol::Grpc => "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
        }
    }
}

/// One comparison: the same requests for several receivers.
#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) protocol: Protocol,
    /// In a request.
    pub(super) spans: usize,
    pub(super) is_gzip: bool,
}

pub(super) const SCENARIOS: &[Scenario] = &[
    plain("http-10", Protocol::Http, 10),
    plain("http-100", Protocol::Http, 100),
    plain("http-512", Protocol::Http, 512),
    gzip("http-512-gzip", Protocol::Http, 512),
    plain("http-8192", Protocol::Http, 8192),
    plain("grpc-10", Protocol::Grpc, 10),
    plain("grpc-100", Protocol::Grpc, 100),
    plain("grpc-512", Protocol::Grpc, 512),
    gzip("grpc-512-gzip", Protocol::Grpc, 512),
    plain("grpc-8192", Protocol::Grpc, 8192),
];

const fn plain(name: &'static str, protocol: Protocol, spans: usize) -> Scenario {
    Scenario {
        name,
        protocol,
        spans,
        is_gzip: false,
    }
}

const fn gzip(name: &'static str, protocol: Protocol, spans: usize) -> Scenario {
    Scenario {
        is_gzip: true,
        ..plain(name, protocol, spans)
    }
}

impl Scenario {
    pub(super) fn receivers(&self) -> Vec<Receiver> {
        let all = Receiver::ALL.into_iter();
        all.filter(|receiver| receiver.speaks(self.protocol))
            .collect()
    }

    /// The body of each request, as the generator is given it.
    pub(super) fn body(&self) -> Result<Vec<u8>> {
        let plain = payload::realistic(self.spans);
        match (self.is_gzip, self.protocol) {
            (false, _) => Ok(plain),
            (true, Protocol::Http) => payload::gzip(&plain),
            (true, Protocol::Grpc) => payload::framed(&payload::gzip(&plain)?),
        }
    }

    /// The arguments by which the generator sends that body.
    ///
    /// Its own framing of gRPC knows no compression, so that a compressed message is sent as the
    /// body of a plain request over HTTP/2; the status in the trailers is then not looked at.
    pub(super) fn arguments(&self) -> &'static [&'static str] {
        match (self.protocol, self.is_gzip) {
            (Protocol::Http, false) => &["--header", "Content-Type: application/x-protobuf"],
            (Protocol::Http, true) => &[
                "--header",
                "Content-Type: application/x-protobuf",
                "--header",
                "Content-Encoding: gzip",
            ],
            (Protocol::Grpc, false) => &["--grpc"],
            (Protocol::Grpc, true) => &[
                "--http2",
                "--header",
                "Content-Type: application/grpc",
                "--header",
                "TE: trailers",
                "--header",
                "grpc-encoding: gzip",
            ],
        }
    }

    /// What it is, in words.
    pub(super) fn meaning(&self) -> String {
        let protocol = match self.protocol {
            Protocol::Http => "OTLP/HTTP",
            Protocol::Grpc => "OTLP/gRPC",
        };
        let encoding = if self.is_gzip { ", gzip" } else { "" };
        format!("{protocol}, {} spans a request{encoding}", self.spans)
    }
}

/// Scenarios with their receivers in the order of a round, which is drawn anew for each.
pub(super) fn order(
    scenarios: &[&'static Scenario],
    round: u32,
) -> Vec<(&'static Scenario, Vec<Receiver>)> {
    let mut random = ChaCha8Rng::seed_from_u64(payload::SEED);
    random.set_stream(round.into());
    let mut order: Vec<_> = scenarios.iter().map(|&s| (s, s.receivers())).collect();
    order.shuffle(&mut random);
    for (_, receivers) in &mut order {
        receivers.shuffle(&mut random);
    }
    order
}

/// The scenario of this name.
pub(super) fn by_name(name: &str) -> Option<&'static Scenario> {
    SCENARIOS.iter().find(|scenario| scenario.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_has_everything_once_in_an_order_of_its_own() {
        let all: Vec<&Scenario> = SCENARIOS.iter().collect();
        let names = |round| -> Vec<(&str, Vec<Receiver>)> {
            let order = order(&all, round).into_iter();
            order.map(|(scenario, of)| (scenario.name, of)).collect()
        };
        assert_eq!(names(1), names(1), "drawn from a fixed seed");
        assert_ne!(names(1), names(2));
        let mut sorted: Vec<&str> = names(1).iter().map(|(name, _)| *name).collect();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), SCENARIOS.len());
        for (name, receivers) in names(3) {
            let expected = by_name(name).unwrap().receivers();
            assert_eq!(receivers.len(), expected.len(), "{name}");
            assert!(expected.iter().all(|one| receivers.contains(one)), "{name}");
        }
    }

    #[test]
    fn a_compressed_body_is_smaller_and_framed_for_grpc_alone() {
        let body = |name| by_name(name).unwrap().body().unwrap();
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
