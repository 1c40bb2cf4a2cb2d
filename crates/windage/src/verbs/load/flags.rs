//! The flags of `windage load` and the parsing of their values.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use windage_plan::Host;

use super::starts::{Arrivals, NOTHING, ProfileFlag, duration_or_zero, rate_or_zero};
use crate::flag_values::duration;
use crate::flags::OutputFlags;

#[derive(Args, Debug)]
#[command(
    after_help = "Without --rate the loop is closed: each connection sends its next request when \
    the answer to the last one has arrived. With --rate the loop is open: requests start by a \
    schedule, and response time counts from the intended start, including the wait for a free \
    connection.\n\nExamples:\n  windage load \
    http://127.0.0.1:8080/ --rate 2000/s --for 30s\n  windage load https://localhost:8443/ --http2 \
    --insecure --connections 2 --streams 50\n  windage load http://localhost/ --unix app.sock -H \
    'Authorization: $TOKEN' --data-file order.json"
)]
pub(crate) struct LoadFlags {
    /// The URL to request, such as http://127.0.0.1:8080/ or https://localhost/.
    // Parsed later, like headers: clap repeats values that it rejects, and this one may hold a
    // password.
    #[arg(value_name = "URL")]
    pub(crate) url: String,

    /// Open loop: requests started per second, such as 2000/s [default: closed loop, as fast as
    /// answers come].
    #[arg(long, value_name = "RATE", value_parser = rate, allow_hyphen_values = true, help_heading = LOAD)]
    pub(crate) rate: Option<f64>,
    /// Open loop with a changing rate, such as '0..2000/s for 10s, 2000/s for 30s'.
    #[arg(long, value_name = "PIECES", value_parser = ProfileFlag::parse, conflicts_with_all = ["rate", "length"], help_heading = LOAD)]
    pub(crate) profile: Option<ProfileFlag>,
    /// Open loop with recorded starts: a file with one time per line, in seconds.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "profile", "arrivals"], help_heading = LOAD)]
    pub(crate) replay: Option<PathBuf>,
    /// How starts are spaced [default: constant].
    #[arg(long, value_name = "WORD", help_heading = LOAD)]
    pub(crate) arrivals: Option<Arrivals>,
    /// How long to measure [default: 10s, or the length of --profile or --replay].
    #[arg(long = "for", value_name = "DURATION", value_parser = duration, allow_hyphen_values = true, help_heading = LOAD)]
    pub(crate) length: Option<Duration>,
    /// Load before measuring, which is not counted; 0s for none.
    #[arg(long, value_name = "DURATION", default_value = "500ms", value_parser = duration_or_zero, help_heading = LOAD)]
    pub(crate) warmup: Duration,
    /// Connections, kept open.
    #[arg(long, short, value_name = "N", default_value_t = 8, value_parser = at_least_one(), help_heading = LOAD)]
    pub(crate) connections: u32,
    /// The most connections of an open loop, which opens more when none is free [default: as many
    /// as --connections].
    #[arg(long, value_name = "N", value_parser = at_least_one(), help_heading = LOAD)]
    pub(crate) max_connections: Option<u32>,
    /// Exchanges at a time per connection.
    #[arg(long, value_name = "N", value_parser = at_least_one(), help_heading = LOAD)]
    pub(crate) streams: Option<u32>,
    /// Time limit for one exchange, and for one attempt to connect.
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration, allow_hyphen_values = true, help_heading = LOAD)]
    pub(crate) timeout: Duration,
    /// Seed for random arrivals: the same seed gives the same schedule.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = LOAD)]
    pub(crate) seed: u64,

    /// The request's method [default: GET, POST with data].
    #[arg(long, short = 'X', value_name = "METHOD", help_heading = REQUEST)]
    pub(crate) method: Option<String>,
    /// A header; may be given several times. `$VAR` as the whole value is read from the environment
    /// and never shown.
    #[arg(long = "header", short = 'H', value_name = "NAME: VALUE", help_heading = REQUEST)]
    pub(crate) headers: Vec<String>,
    /// The request's body.
    #[arg(long, short, value_name = "TEXT", conflicts_with = "data_file", help_heading = REQUEST)]
    pub(crate) data: Option<String>,
    /// The request's body from a file.
    #[arg(long, value_name = "FILE", help_heading = REQUEST)]
    pub(crate) data_file: Option<PathBuf>,

    /// Use HTTP/2 instead of HTTP/1.1; without TLS by prior knowledge.
    #[arg(long, help_heading = CONNECTION)]
    pub(crate) http2: bool,
    /// A unary gRPC call: the path names the method, the data is the protobuf message.
    #[arg(long, help_heading = CONNECTION)]
    pub(crate) grpc: bool,
    /// Connect to this Unix socket; the URL then gives the request's host and path.
    #[arg(long, value_name = "PATH", help_heading = CONNECTION)]
    pub(crate) unix: Option<PathBuf>,
    /// Trust only the certificates in this PEM file.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure", help_heading = CONNECTION)]
    pub(crate) ca: Option<PathBuf>,
    /// Trust any certificate.
    #[arg(long, help_heading = CONNECTION)]
    pub(crate) insecure: bool,
    /// Another host that load may go to; may be given several times.
    #[arg(long, value_name = "HOST", value_parser = host, help_heading = CONNECTION)]
    pub(crate) allow: Vec<Host>,

    /// Sending threads; they share the connections and the rate.
    #[arg(long, short, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64), help_heading = GENERATOR)]
    pub(crate) threads: u32,
    /// The generator's cores.
    #[arg(long, value_name = "CORE,…", value_delimiter = ',', help_heading = GENERATOR)]
    pub(crate) cpus: Vec<u32>,

    #[command(flatten)]
    pub(crate) output: OutputFlags,
}

const LOAD: &str = "Load";
const REQUEST: &str = "Request";
const CONNECTION: &str = "Connection";
const GENERATOR: &str = "Generator";

fn at_least_one() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=1_000_000)
}

/// Parses a rate in requests per second: `2000/s` or `2000`.
fn rate(text: &str) -> Result<f64, String> {
    match rate_or_zero(text) {
        Ok(rate_per_s) if rate_per_s <= 0.0 => Err(NOTHING.into()),
        read => read,
    }
}

fn host(text: &str) -> Result<Host, String> {
    Host::parse(text).ok_or_else(|| "not an IP address or a host name; leave out the port".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_above_zero_and_finite() {
        let table = [
            ("2000/s", Some(2000.0)),
            ("2000", Some(2000.0)),
            (" 0.5 /s", Some(0.5)),
            ("10000000/s", Some(1e7)),
            ("10000001/s", None),
            ("0", None),
            ("0/s", None),
            ("-1/s", None),
            ("-0", None),
            ("inf", None),
            ("nan/s", None),
            ("1e3/s", None),
            ("2000/m", None),
            ("fast", None),
            ("--1", None),
            ("", None),
            ("/s", None),
        ];
        for (text, expected) in table {
            assert_eq!(rate(text).ok(), expected, "{text}");
        }
        assert!(rate("-5/s").unwrap_err().contains("above 0/s"));
    }

    #[test]
    fn the_warm_up_may_be_zero() {
        assert_eq!(duration_or_zero("0s"), Ok(Duration::ZERO));
        assert_eq!(duration_or_zero("1.5s"), Ok(Duration::from_millis(1500)));
        for wrong in ["-1s", "soon", "5"] {
            assert!(duration_or_zero(wrong).is_err(), "{wrong}");
        }
    }
}
