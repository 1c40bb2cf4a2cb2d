//! Why a response can't be parsed.

/// Longest accepted head (status line and headers).
pub(crate) const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Why bytes are not an HTTP/1 response with a recognisable end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The head is not an HTTP/1 head.
    #[error("the answer is not HTTP/1: {0}; does the address speak plain HTTP/1.1?")]
    Head(httparse::Error),
    /// The head is longer than 64 KiB.
    #[error("the answer's head is longer than {MAX_HEAD_BYTES} bytes")]
    HeadTooLong,
    /// `Content-Length` is not a number, or there are several that differ.
    #[error("the answer's Content-Length is not one number")]
    ContentLength,
    /// The chunked coding is broken.
    #[error("the answer's chunked body is broken: {0}")]
    Chunk(&'static str),
    /// The server switched protocols without being asked to.
    #[error("the answer switches protocols (101), which the request did not ask for")]
    Switched,
}
