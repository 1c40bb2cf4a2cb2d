//! HTTP/2 frame by frame, so that the protocol can be violated.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};

use crate::sender::grpc::TRACES;
use crate::sender::http::connect;

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const CONTINUATION: u8 = 9;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap();
    let mut frame = length.to_be_bytes()[1..].to_vec();
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// An HPACK header field, as a literal that is not added to the table.
pub(crate) fn field(name: &str, value: &str) -> Vec<u8> {
    let mut field = vec![0];
    for text in [name, value] {
        let length = u8::try_from(text.len()).unwrap();
        assert!(length < 127, "longer ones take more than a byte");
        field.push(length);
        field.extend_from_slice(text.as_bytes());
    }
    field
}

/// The head of an export call.
pub(crate) fn head() -> Vec<u8> {
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", TRACES),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ];
    fields
        .iter()
        .flat_map(|(name, value)| field(name, value))
        .collect()
}

/// An HTTP/2 connection with these settings.
pub(crate) fn speak(address: SocketAddr, settings: &[u8]) -> TcpStream {
    let mut stream = connect(address);
    stream.write_all(PREFACE).unwrap();
    stream.write_all(&frame(SETTINGS, 0, 0, settings)).unwrap();
    stream
}
