//! How a connection ended, with a message for people.

use h2::Error;

/// The end of a connection.
pub(super) struct End {
    /// Whether the server broke the protocol. Otherwise it closed or sent GOAWAY.
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

    /// An end by an error. If the connection was never ready, the server may not speak HTTP/2.
    pub(super) fn broken(error: &Error, was_ready: bool) -> End {
        let is_protocol = error.is_library();
        let why = match error.reason() {
            Some(reason) if is_protocol && !was_ready => {
                format!("the server does not speak HTTP/2 ({reason:?}); is it an HTTP/1.1 address?")
            }
            Some(reason) if is_protocol => format!("the server violated HTTP/2: {reason:?}"),
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
        "the server closed before HTTP/2 began; is it an HTTP/1.1 address?"
    }
}

/// Why no more streams can be opened, though the connection may go on for a while. The server's
/// GOAWAY debug data is left out: it may be long.
pub(super) fn departure(error: &Error) -> String {
    match error.reason() {
        Some(reason) => format!("the server sent GOAWAY {reason:?}"),
        // For example after 2³⁰ requests, when stream ids run out.
        None => format!("the connection takes no more streams: {error}"),
    }
}
