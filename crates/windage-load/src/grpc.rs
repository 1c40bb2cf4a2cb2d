//! Unary gRPC: message framing and status.
//!
//! See [gRPC over HTTP/2](https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).

use bytes::{BufMut, Bytes, BytesMut};
use http::HeaderMap;

/// The prefix of a message: compression flag and length.
const FRAME_HEAD_BYTES: usize = 5;

/// What is wrong with an answer's status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StatusError {
    #[error("the answer has no grpc-status; does the address speak gRPC?")]
    Missing,
    #[error("the answer's grpc-status is not a number")]
    NotANumber,
}

/// An uncompressed message as a request body; `None` if it is longer than 4 GiB.
pub(crate) fn frame(message: &[u8]) -> Option<Bytes> {
    let length = u32::try_from(message.len()).ok()?;
    let mut framed = BytesMut::with_capacity(FRAME_HEAD_BYTES + message.len());
    framed.put_u8(0);
    framed.put_u32(length);
    framed.put_slice(message);
    Some(framed.freeze())
}

/// The status from the trailers, or from the head of an answer without body and trailers. `None` if
/// there is none.
pub(crate) fn status(fields: &HeaderMap) -> Option<Result<u32, StatusError>> {
    let value = fields.get("grpc-status")?.as_bytes();
    // `parse` would accept a leading plus sign.
    let digits = value.iter().all(u8::is_ascii_digit).then_some(value);
    let number = digits
        .and_then(|d| str::from_utf8(d).ok())
        .and_then(|d| d.parse().ok());
    Some(number.ok_or(StatusError::NotANumber))
}

/// The HTTP status of the same class as a gRPC status, so that answers are counted alike over every
/// protocol.
///
/// gRPC defines only the other direction, ["HTTP to gRPC Status Code
/// Mapping"](https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md), for answers
/// from an intermediary. Reversed, that mapping leaves most codes open. So codes for which ["Status
/// codes and their use in gRPC"](https://github.com/grpc/grpc/blob/master/doc/statuscodes.md)
/// blames the caller or the state map to 400, all others to 500.
pub(crate) fn http_status(code: u32) -> u16 {
    match code {
        // OK
        0 => 200,
        // CANCELLED, which HTTP has no number for: nginx's "client closed request".
        1 => 499,
        // INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, FAILED_PRECONDITION,
        // ABORTED, OUT_OF_RANGE, UNAUTHENTICATED
        3 | 5 | 6 | 7 | 9 | 10 | 11 | 16 => 400,
        // RESOURCE_EXHAUSTED
        8 => 429,
        // UNKNOWN, DEADLINE_EXCEEDED, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS, and
        // undefined codes
        _ => 500,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_message_follows_its_length() {
        assert_eq!(frame(b"").unwrap(), [0, 0, 0, 0, 0].as_slice());
        assert_eq!(
            frame(b"ab").unwrap(),
            [0, 0, 0, 0, 2, b'a', b'b'].as_slice()
        );
        let framed = frame(&[b'x'; 0x0001_0203]).unwrap();
        assert_eq!(framed[..7], [0, 0, 1, 2, 3, b'x', b'x']);
    }

    #[test]
    fn statuses_are_read_strictly() {
        type Row<'a> = (Option<&'a [u8]>, Option<Result<u32, StatusError>>, &'a str);
        let table: &[Row] = &[
            (None, None, "absent"),
            (Some(b"0"), Some(Ok(0)), "OK"),
            (Some(b"16"), Some(Ok(16)), "the last defined code"),
            (Some(b"4294967295"), Some(Ok(u32::MAX)), "undefined code"),
            (
                Some(b"4294967296"),
                Some(Err(StatusError::NotANumber)),
                "too large",
            ),
            (Some(b""), Some(Err(StatusError::NotANumber)), "empty"),
            (Some(b"+1"), Some(Err(StatusError::NotANumber)), "a sign"),
            (Some(b"OK"), Some(Err(StatusError::NotANumber)), "a word"),
            (
                Some(b"\xff"),
                Some(Err(StatusError::NotANumber)),
                "not ASCII",
            ),
        ];
        for (value, expected, why) in table {
            let mut fields = HeaderMap::new();
            if let Some(value) = value {
                fields.insert("grpc-status", HeaderValue::from_bytes(value).unwrap());
            }
            assert_eq!(status(&fields), *expected, "{why}");
        }
    }

    #[test]
    fn every_status_has_a_class() {
        let by_code = [
            200, 499, 500, 400, 500, 400, 400, 400, 429, 400, 400, 400, 500, 500, 500, 500, 400,
            500,
        ];
        let statuses: Vec<u16> = (0..18).map(http_status).collect();
        assert_eq!(statuses, by_code);
    }
}
