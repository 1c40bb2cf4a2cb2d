//! Under which host names requests are answered.
//!
//! A page from elsewhere can make a browser send requests to this server under a host name that it
//! points to this machine (DNS rebinding). The host name gives it away: only names that can't be
//! pointed elsewhere are answered.

use std::net::{IpAddr, SocketAddr};

use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, header};

/// Why a request to a server at that address is refused for its host; `None` if it is not.
pub(crate) fn refusal(request: &Request, listening: SocketAddr) -> Option<String> {
    let named = request.uri().authority().map(Authority::as_str);
    let hosts = named.map(Ok).into_iter().chain([host(request.headers())]);
    let is_known = |host: Result<&str, ()>| host.is_ok_and(|host| is_allowed(host, listening.ip()));
    if hosts.into_iter().all(is_known) {
        return None;
    }
    Some(format!(
        "this server answers under its address, not under a name that somebody else could point to \
         it; use http://{listening}/ or http://localhost:{}/",
        listening.port()
    ))
}

/// The host of the request, which must be unique.
fn host(headers: &HeaderMap) -> Result<&str, ()> {
    let mut hosts = headers.get_all(header::HOST).into_iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().map_err(|_| ()),
        _ => Err(()),
    }
}

/// Whether the host is `localhost` or this machine's own address; any address, if the server
/// listens on all.
fn is_allowed(host: &str, listening: IpAddr) -> bool {
    let Ok(authority) = host.parse::<Authority>() else {
        return false;
    };
    if authority.as_str().contains('@') {
        return false;
    }
    let host = authority.host();
    let bare = host
        .strip_prefix('[')
        .and_then(|h| h.strip_suffix(']'))
        .unwrap_or(host);
    match bare.parse::<IpAddr>() {
        Ok(ip) => ip.to_canonical().is_loopback() || ip == listening || listening.is_unspecified(),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_be_pointed_here_are_refused() {
        let table = [
            ("localhost", "127.0.0.1", true),
            ("LocalHost:9470", "127.0.0.1", true),
            ("127.0.0.1:9470", "127.0.0.1", true),
            ("127.0.0.1:1", "127.0.0.1", true),
            ("127.9.9.9", "127.0.0.1", true),
            ("[::1]:9470", "127.0.0.1", true),
            ("[::ffff:127.0.0.1]", "127.0.0.1", true),
            ("10.0.0.7:9470", "10.0.0.7", true),
            ("localhost", "10.0.0.7", true),
            ("10.0.0.8", "10.0.0.7", false),
            ("10.0.0.8", "127.0.0.1", false),
            ("10.0.0.8", "0.0.0.0", true),
            ("[fd00::1]", "::", true),
            ("devbox", "0.0.0.0", false),
            ("evil.example", "127.0.0.1", false),
            ("evil.example:9470", "0.0.0.0", false),
            ("localhost.evil.example", "127.0.0.1", false),
            ("127.0.0.1.evil.example", "127.0.0.1", false),
            ("127.0.0.1@evil.example", "127.0.0.1", false),
            ("evil@127.0.0.1", "127.0.0.1", false),
            ("localhost.", "127.0.0.1", false),
            ("2130706433", "127.0.0.1", false),
            ("0x7f.1", "127.0.0.1", false),
            ("", "127.0.0.1", false),
            (":9470", "127.0.0.1", false),
            ("a b", "127.0.0.1", false),
        ];
        for (host, listening, allowed) in table {
            let listening = listening.parse().unwrap();
            assert_eq!(
                is_allowed(host, listening),
                allowed,
                "{host} at {listening}"
            );
        }
    }
}
