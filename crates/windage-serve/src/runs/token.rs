//! The secret that admits requests: in the URL that is printed, then in a cookie.

use std::fmt;
use std::io;

use axum::extract::Request;
use axum::http::{HeaderValue, header};
use subtle::ConstantTimeEq as _;

/// The name of the query parameter.
const PARAMETER: &str = "token";
/// Random bytes of a token: enough that nobody guesses it.
const BYTES: usize = 16;

/// A server's token, in hexadecimal.
#[derive(Clone)]
pub(crate) struct Token(String);

/// Where a request had the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brought {
    InUrl,
    InCookie,
}

impl Token {
    /// A new token.
    ///
    /// # Errors
    /// When the kernel has no random bytes.
    pub(crate) fn random() -> io::Result<Token> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Token(hex(&bytes)))
    }

    /// That of tests.
    #[cfg(test)]
    pub(crate) fn of_tests() -> Token {
        Token("0123abcd".to_owned())
    }

    /// As a URL's query.
    pub(crate) fn query(&self) -> String {
        format!("{PARAMETER}={}", self.0)
    }

    /// A cookie that pages of other servers can't make a browser send, and that scripts can't read.
    /// Browsers send cookies to every port of a host, so its name has the port.
    pub(crate) fn cookie(&self, port: u16) -> HeaderValue {
        let cookie = format!(
            "{}={}; Path=/; HttpOnly; SameSite=Strict",
            cookie_name(port),
            self.0
        );
        HeaderValue::try_from(cookie).expect("hexadecimal digits are valid in a header")
    }

    /// Where the request has this token; `None` if nowhere.
    pub(crate) fn brought(&self, request: &Request, port: u16) -> Option<Brought> {
        let query = request.uri().query().unwrap_or_default();
        if query
            .split('&')
            .filter_map(|pair| pair.strip_prefix(PARAMETER)?.strip_prefix('='))
            .any(|value| self.is(value))
        {
            return Some(Brought::InUrl);
        }
        let name = cookie_name(port);
        let cookies = request.headers().get_all(header::COOKIE).into_iter();
        let mut pairs = cookies
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(';'));
        pairs
            .any(|pair| {
                let pair = pair.trim().split_once('=');
                pair.is_some_and(|(of, value)| of == name && self.is(value))
            })
            .then_some(Brought::InCookie)
    }

    fn is(&self, value: &str) -> bool {
        self.0.as_bytes().ct_eq(value.as_bytes()).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

fn cookie_name(port: u16) -> String {
    format!("windage-{port}")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    #[test]
    fn tokens_are_random_and_not_shown() {
        let [a, b] = [(); 2].map(|()| Token::random().unwrap());
        assert_eq!(a.0.len(), 2 * BYTES);
        assert_ne!(a.0, b.0);
        assert_eq!(format!("{a:?}"), "Token");
    }

    #[test]
    fn the_token_is_found_in_the_url_or_in_the_cookie_of_its_port() {
        let token = Token::of_tests();
        for (path, cookie, expected) in [
            ("/?token=0123abcd", "", Some(Brought::InUrl)),
            ("/x?a=1&token=0123abcd&b", "", Some(Brought::InUrl)),
            ("/", "windage-9470=0123abcd", Some(Brought::InCookie)),
            ("/", "a=b; windage-9470=0123abcd", Some(Brought::InCookie)),
            ("/?token=", "windage-9470=0123abcd", Some(Brought::InCookie)),
            ("/", "", None),
            ("/?token=", "", None),
            ("/?token=0123abc", "", None),
            ("/?token=0123abcde", "", None),
            ("/?tokens=0123abcd", "", None),
            ("/token=0123abcd", "", None),
            ("/", "windage-9471=0123abcd", None),
            ("/", "windage-9470=", None),
        ] {
            let request = Request::builder().uri(path).header(header::COOKIE, cookie);
            let request = request.body(Body::empty()).unwrap();
            let found = token.brought(&request, 9470);
            assert_eq!(found, expected, "{path} {cookie}");
        }
    }
}
