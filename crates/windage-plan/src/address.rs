//! Hosts and endpoints, checked without resolving names.

use std::fmt;
use std::net::IpAddr;

/// A host: an address, or a name, which is not resolved here.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// An IP address.
    Ip(IpAddr),
    /// A name, in lower case.
    Name(String),
}

impl Host {
    /// Reads `127.0.0.1`, `::1`, `[::1]` or a name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Host> {
        let unbracketed = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
        if let Some(v6) = unbracketed {
            return v6.parse().ok().map(|ip| Host::Ip(IpAddr::V6(ip)));
        }
        if let Ok(ip) = text.parse() {
            return Some(Host::Ip(ip));
        }
        let label = |l: &str| {
            !l.is_empty()
                && !l.starts_with('-')
                && !l.ends_with('-')
                && l.bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        };
        // Some resolvers read names of digits and dots, such as 127.1, as addresses.
        let lettered = text.bytes().any(|b| b.is_ascii_alphabetic());
        (lettered && text.len() <= 253 && text.split('.').all(label))
            .then(|| Host::Name(text.to_ascii_lowercase()))
    }

    /// Whether load sent there stays on this machine: loopback, `localhost`, or the
    /// unspecified address, which Linux connects to loopback.
    #[must_use]
    pub fn is_this_machine(&self) -> bool {
        match self {
            Host::Ip(ip) => {
                let ip = ip.to_canonical();
                ip.is_loopback() || ip.is_unspecified()
            }
            Host::Name(name) => name == "localhost",
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Ip(ip) => write!(f, "{ip}"),
            Host::Name(name) => f.write_str(name),
        }
    }
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// The host.
    pub host: Host,
    /// The port; never 0.
    pub port: u16,
}

impl Endpoint {
    /// Reads `HOST` or `HOST:PORT`; the default port is 80.
    #[must_use]
    pub fn parse(text: &str) -> Option<Endpoint> {
        Endpoint::parse_or_port(text, 80)
    }

    /// The same with another default port.
    #[must_use]
    pub fn parse_or_port(text: &str, default_port: u16) -> Option<Endpoint> {
        let (host, port) = split_port(text);
        let port = match port {
            None => default_port,
            Some(port) => parse_port(port)?,
        };
        // An IPv6 address in an authority is in brackets.
        let host = Host::parse(host).filter(|_| host.starts_with('[') || !host.contains(':'))?;
        Some(Endpoint { host, port })
    }
}

impl fmt::Display for Endpoint {
    /// As in a URL: an IPv6 address in brackets, always with the port.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Ip(IpAddr::V6(ip)) => write!(f, "[{ip}]:{}", self.port),
            host => write!(f, "{host}:{}", self.port),
        }
    }
}

/// Cuts `:PORT` off an authority.
pub(crate) fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (authority, None),
    }
}

/// A port from 1 to 65535, in plain digits.
pub(crate) fn parse_port(text: &str) -> Option<u16> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|&port| digits && port > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints() {
        let table = [
            ("127.0.0.1:8080", Some(("127.0.0.1:8080", true))),
            ("localhost", Some(("localhost:80", true))),
            ("LOCALHOST:1", Some(("localhost:1", true))),
            ("[::1]:80", Some(("[::1]:80", true))),
            (
                "[::ffff:127.0.0.1]:80",
                Some(("[::ffff:127.0.0.1]:80", true)),
            ),
            ("0.0.0.0:9", Some(("0.0.0.0:9", true))),
            ("10.0.0.7:80", Some(("10.0.0.7:80", false))),
            (
                "localhost.example.com:80",
                Some(("localhost.example.com:80", false)),
            ),
            ("127.1:80", None),
            ("2130706433", None),
            ("::1", None),
            ("user@127.0.0.1", None),
            ("127.0.0.1:0", None),
            ("127.0.0.1:+8", None),
            ("127.0.0.1:99999", None),
            ("", None),
            (":80", None),
            ("a..b", None),
        ];
        for (text, expected) in table {
            let endpoint = Endpoint::parse(text);
            let seen = endpoint
                .as_ref()
                .map(|e| (e.to_string(), e.host.is_this_machine()));
            assert_eq!(seen, expected.map(|(t, own)| (t.to_owned(), own)), "{text}");
        }
    }
}
