//! How a connection comes to its end, in words.

use h2::Error;

/// The end of a connection.
pub(super) struct End {
    /// Whether the server broke the protocol. Otherwise it closed or left.
    pub(super) is_protocol: bool,
    pub(super) why: String,
}

impl End {
    pub(super) fn closed(why: String) -> End {
        End {
            is_protocol: false,
            why,
        }
    }

    /// An end by an error; before the connection was ready it may never have been HTTP/2.
    pub(super) fn broken(error: &Error, was_ready: bool) -> End {
        let is_protocol = error.is_library();
        let why = match error.reason() {
            Some(reason) if is_protocol && !was_ready => format!(
                "the server does not speak HTTP/2 ({reason:?}); does the address want HTTP/1.1?"
            ),
            Some(reason) if is_protocol => format!("the server broke HTTP/2: {reason:?}"),
            Some(_) => departure(error),
            None => format!("{}: {error}", closed(was_ready)),
        };
        End { is_protocol, why }
    }
}

pub(super) fn closed(was_ready: bool) -> &'static str {
    if was_ready {
        "the server closed the connection"
    } else {
        "the server closed before HTTP/2 began; does the address want HTTP/1.1?"
    }
}

/// Why no stream can be opened any more, though the connection may go on for a while. What a
/// server adds to its GOAWAY is left out: it may be long.
pub(super) fn departure(error: &Error) -> String {
    match error.reason() {
        Some(reason) => format!("the server left with GOAWAY {reason:?}"),
        // After a thousand million requests, for one.
        None => format!("the connection takes no more streams: {error}"),
    }
}
