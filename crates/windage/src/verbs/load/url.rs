//! Where load goes: the URL, the address behind it, and the refusal to load other machines.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};

use windage_plan::{Endpoint, Host};

use super::error::LoadError;

/// How connections are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Http,
    Https,
}

/// A parsed URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    /// As it was given.
    pub(super) text: String,
    pub(super) scheme: Scheme,
    /// Host and port as they go into the request.
    pub(super) authority: String,
    pub(super) endpoint: Endpoint,
    /// The path with its query; never empty.
    pub(super) path: String,
}

impl Url {
    /// Parses `http[s]://HOST[:PORT][/PATH][?QUERY]`. The error is a sentence for people.
    pub(super) fn parse(text: &str) -> Result<Url, String> {
        let (scheme, rest) = split_scheme(text)?;
        if rest.contains(|c: char| c.is_whitespace() || c.is_control() || c == '#') {
            return Err(
                "a URL has no spaces, control characters or `#`; write a space as %20 and \
             `#` as %23"
                    .into(),
            );
        }
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') {
            return Err(
                "a URL may not hold a user or password here; send them as a header: -H \
             'Authorization: $VAR'"
                    .into(),
            );
        }
        let port = match scheme {
            Scheme::Http => 80,
            Scheme::Https => 443,
        };
        Ok(Url {
            text: text.to_owned(),
            scheme,
            authority: authority.to_owned(),
            endpoint: Endpoint::parse_or_port(authority, port)
                .ok_or_else(|| format!("`{authority}` is not HOST or HOST:PORT"))?,
            path: if path.starts_with('/') {
                path.to_owned()
            } else {
                format!("/{path}")
            },
        })
    }

    /// The address behind the URL, if load may go there: this machine, or an allowed host.
    ///
    /// A name is resolved first, so that a name for this machine passes.
    pub(super) fn address(&self, allow: &[Host]) -> Result<SocketAddr, LoadError> {
        let address = self.resolve()?;
        let host = Host::Ip(address.ip());
        if host.is_this_machine() || allow.contains(&host) || allow.contains(&self.endpoint.host) {
            Ok(address)
        } else {
            Err(LoadError::NotAllowed {
                host: self.endpoint.host.clone(),
                address,
            })
        }
    }

    fn resolve(&self) -> Result<SocketAddr, LoadError> {
        let port = self.endpoint.port;
        match &self.endpoint.host {
            Host::Ip(ip) => Ok(SocketAddr::new(*ip, port)),
            // As in plans: `localhost` needs no resolver.
            Host::Name(name) if name == "localhost" => {
                Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
            }
            Host::Name(name) => {
                let unresolved = |why: String| LoadError::Unresolved {
                    name: name.clone(),
                    why,
                };
                (name.as_str(), port)
                    .to_socket_addrs()
                    .map_err(|error| unresolved(error.to_string()))?
                    .next()
                    .ok_or_else(|| unresolved("it has no address".to_owned()))
            }
        }
    }
}

fn split_scheme(text: &str) -> Result<(Scheme, &str), String> {
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err("a URL begins with http:// or https://".into());
    };
    match scheme.to_ascii_lowercase().as_str() {
        "http" => Ok((Scheme::Http, rest)),
        "https" => Ok((Scheme::Https, rest)),
        _ => Err(format!(
            "`{scheme}` is not a supported scheme; use http or https"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_parsed() {
        let table = [
            ("http://127.0.0.1", "127.0.0.1:80", "/"),
            ("HTTP://localhost:8080/a?b=c", "localhost:8080", "/a?b=c"),
            ("https://localhost?q", "localhost:443", "/?q"),
            ("https://[::1]/x", "[::1]:443", "/x"),
            ("https://[::1]:8443", "[::1]:8443", "/"),
        ];
        for (text, endpoint, path) in table {
            let url = Url::parse(text).unwrap();
            assert_eq!(url.endpoint.to_string(), endpoint, "{text}");
            assert_eq!(url.path, path, "{text}");
        }
    }

    #[test]
    fn errors_say_what_is_wrong_with_a_url() {
        let table = [
            ("localhost:8080", "http://"),
            ("127.0.0.1/", "http://"),
            ("", "http://"),
            ("ftp://localhost/", "`ftp` is not a supported scheme"),
            ("http://", "not HOST"),
            ("http:///path", "not HOST"),
            ("http://127.0.0.1:0/", "not HOST"),
            ("http://127.0.0.1:99999/", "not HOST"),
            ("http://localhost:/", "not HOST"),
            ("http://::1/", "not HOST"),
            ("http://user:secret@localhost/", "Authorization"),
            ("http://localhost/a b", "%20"),
            ("http://localhost/\r\nX: y", "control"),
            ("http://localhost/#top", "%23"),
        ];
        for (text, word) in table {
            let why = Url::parse(text).unwrap_err();
            assert!(why.contains(word), "{text:?}: {why}");
        }
    }

    #[test]
    fn load_stays_on_this_machine_unless_allowed() {
        let address = |text: &str, allow: &[&str]| {
            let allow: Vec<Host> = allow.iter().filter_map(|host| Host::parse(host)).collect();
            Url::parse(text).unwrap().address(&allow)
        };
        for own in ["http://localhost/", "http://[::1]/", "http://0.0.0.0:1/"] {
            assert!(address(own, &[]).is_ok(), "{own}");
        }
        // Addresses for documentation (RFC 5737); nothing is sent anyway.
        let other = "http://192.0.2.1/";
        let refused = address(other, &["192.0.2.2"]).unwrap_err().to_string();
        assert!(refused.contains("--allow 192.0.2.1"), "{refused}");
        assert!(address(other, &["192.0.2.1"]).is_ok());
    }
}
