//! Abuse over HTTP/2, frame by frame.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;

use windage_sink::{Counts, Protocol, Sink};

use crate::sender::bodies::batch;
use crate::sender::grpc::{TRACES, framed};
use crate::sender::http::connect;
use crate::sender::{FIRST, address, eventually};
use crate::witness::{alone, unmoved};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// What an arm's requests may hold together, by default: see `SinkOptions`.
const HELD_MIB: u64 = 24;
/// Beside that: buffers of the tests themselves, the runtime's tasks, what the allocator keeps.
const OTHERS_MIB: u64 = 16;
/// Frames of a flood, far more than any bound on them.
const FLOOD: u32 = 100_000;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap();
    let mut frame = length.to_be_bytes()[1..].to_vec();
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// A header field in HPACK, a literal that is not put into the table.
fn field(name: &str, value: &str) -> Vec<u8> {
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
fn head() -> Vec<u8> {
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

/// A connection with these settings on which HTTP/2 is spoken.
fn opened(sink: &Sink, settings: &[u8]) -> TcpStream {
    let mut stream = connect(address(sink, FIRST, Protocol::OtlpGrpc));
    stream.write_all(PREFACE).unwrap();
    stream.write_all(&frame(SETTINGS, 0, 0, settings)).unwrap();
    stream
}

/// Writes frames, reading nothing, until the sink has had enough of them.
fn flood(stream: &mut TcpStream, frames: impl Fn(u32) -> Vec<u8>) -> bool {
    let mut batch = Vec::new();
    for number in 0..FLOOD {
        batch.extend_from_slice(&frames(number));
        if batch.len() > 16 << 10 {
            if stream.write_all(&batch).is_err() {
                return false;
            }
            batch.clear();
        }
    }
    stream.write_all(&batch).is_ok()
}

/// The same by somebody who reads everything.
fn flood_reading(stream: &mut TcpStream, frames: impl Fn(u32) -> Vec<u8>) -> bool {
    let mut reading = stream.try_clone().unwrap();
    let reader = std::thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        while reading.read(&mut buffer).is_ok_and(|length| length > 0) {}
    });
    let all = flood(stream, frames);
    // The connection may be closed already.
    let _ = stream.shutdown(std::net::Shutdown::Write);
    reader.join().unwrap();
    all
}

/// Abuse by one connection, of which the arm must have seen the end.
fn flooded(abuse: impl FnOnce(TcpStream) + Send) -> Counts {
    let alone = alone();
    unmoved(&alone, OTHERS_MIB, |sink| abuse(opened(sink, &[])))
}

#[test]
fn rapid_resets() {
    let head = head();
    let counts = flooded(|mut stream| {
        let all = flood_reading(&mut stream, |number| {
            let id = 2 * number + 1;
            let mut frames = frame(HEADERS, END_HEADERS, id, &head);
            frames.extend_from_slice(&frame(RST_STREAM, 0, id, &8_u32.to_be_bytes()));
            frames
        });
        assert!(!all, "the connection is closed before the last");
    });
    assert_eq!(counts.spans, 0);
    assert_eq!(counts.requests, counts.rejected);
    assert!(counts.requests < FLOOD.into(), "{counts:?}");
}

#[test]
fn settings() {
    // The table for heads made small and large again, each time to be acknowledged.
    let table = |size: u32| [&[0, 1], &size.to_be_bytes()[..]].concat();
    flooded(|mut stream| {
        flood_reading(&mut stream, |number| {
            frame(SETTINGS, 0, 0, &table(number % 4096))
        });
    });
}

#[test]
fn settings_whose_answers_nobody_reads() {
    flooded(|mut stream| {
        stream
            .set_write_timeout(Some(std::time::Duration::from_millis(500)))
            .unwrap();
        flood(&mut stream, |_| frame(SETTINGS, 0, 0, &[]));
    });
}

#[test]
fn pings() {
    flooded(|mut stream| {
        flood_reading(&mut stream, |number| {
            frame(PING, 0, 0, &u64::from(number).to_be_bytes())
        });
    });
}

#[test]
fn pings_whose_answers_nobody_reads() {
    flooded(|mut stream| {
        stream
            .set_write_timeout(Some(std::time::Duration::from_millis(500)))
            .unwrap();
        flood(&mut stream, |_| frame(PING, 0, 0, &[0; 8]));
    });
}

#[test]
fn empty_frames() {
    let head = head();
    flooded(|mut stream| {
        stream
            .write_all(&frame(HEADERS, END_HEADERS, 1, &head))
            .unwrap();
        flood_reading(&mut stream, |_| frame(DATA, 0, 1, &[]));
    });
}

#[test]
fn continuations_without_an_end() {
    let head = head();
    let more = field("x-more", &"y".repeat(100)).repeat(100);
    flooded(|mut stream| {
        stream.write_all(&frame(HEADERS, 0, 1, &head)).unwrap();
        let all = flood_reading(&mut stream, |_| frame(CONTINUATION, 0, 1, &more));
        assert!(!all, "the connection is closed before the last");
    });
}

#[test]
fn heads_that_are_too_large() {
    let mut head = head();
    // Field 62 of the dynamic table, a kilobyte, referred to again and again: a bomb in HPACK.
    head.extend_from_slice(&[0x40, 1, b'x', 0x7f, 0x81, 0x07]);
    head.extend_from_slice(&[b'y'; 1024]);
    head.extend_from_slice(&[0xbe; 8000]);
    let counts = flooded(|mut stream| {
        flood_reading(&mut stream, |number| {
            frame(HEADERS, END_HEADERS | END_STREAM, 2 * number + 1, &head)
        });
    });
    assert_eq!(counts.spans, 0);
}

#[test]
fn windows_of_no_size() {
    let alone = alone();
    let head = head();
    let no_window = [0, 4, 0, 0, 0, 0];
    let counts = unmoved(&alone, OTHERS_MIB, |sink| {
        let mut held = Vec::new();
        for connection in 0..50 {
            let mut stream = opened(sink, &no_window);
            for call in 0..60 {
                let id = 2 * call + 1;
                let message = framed(&batch(60 * connection + u64::from(call), 3), false);
                stream
                    .write_all(&frame(HEADERS, END_HEADERS, id, &head))
                    .unwrap();
                stream
                    .write_all(&frame(DATA, END_STREAM, id, &message))
                    .unwrap();
            }
            held.push(stream);
        }
        eventually("all are counted", || sink.counts(FIRST).requests == 3000);
    });
    assert_eq!((counts.spans, counts.rejected), (9000, 0));
}

#[test]
fn frames_without_an_end() {
    let alone = alone();
    let head = head();
    let whole = frame(DATA, 0, 1, &vec![0; 256 << 10]);
    unmoved(&alone, HELD_MIB + OTHERS_MIB, |sink| {
        let mut held = Vec::new();
        for _ in 0..500 {
            let mut stream = opened(sink, &[]);
            stream
                .write_all(&frame(HEADERS, END_HEADERS, 1, &head))
                .unwrap();
            // All but the last bytes; the sink may close the connection for it.
            let _ = stream.write_all(&whole[..250 << 10]);
            held.push(stream);
        }
        eventually("all is read", || {
            sink.counts(FIRST).wire_bytes > 500 * (250 << 10)
        });
    });
}

#[test]
fn as_much_as_the_windows_allow() {
    let alone = alone();
    let head = head();
    // A span of 900 kB that is never whole.
    let mut message = vec![0, 0, 0x0f, 0, 0];
    for (key, size) in [(0x0a, 0x3c), (0x12, 0x3a), (0x12, 0x38)] {
        message.extend_from_slice(&[key, 0x80, 0x80, size]);
    }
    message.resize(900_000, 0);
    let pieces: Vec<u8> = message
        .chunks(16 << 10)
        .flat_map(|piece| frame(DATA, 0, 1, piece))
        .collect();
    let counts = unmoved(&alone, HELD_MIB + OTHERS_MIB, |sink| {
        let mut held = Vec::new();
        for _ in 0..200 {
            let mut stream = opened(sink, &[]);
            stream
                .write_all(&frame(HEADERS, END_HEADERS, 1, &head))
                .unwrap();
            // What is not wanted may be reset.
            let _ = stream.write_all(&pieces);
            held.push(stream);
        }
        eventually("some are turned away", || sink.counts(FIRST).rejected > 0);
    });
    assert_eq!(counts.spans, 0);
}

#[test]
fn silence() {
    let alone = alone();
    unmoved(&alone, OTHERS_MIB, |sink| {
        let mut held: Vec<TcpStream> = (0..1000).map(|_| opened(sink, &[])).collect();
        let mut byte = [0; 64];
        for stream in &mut held {
            let read = stream.read(&mut byte);
            assert!(!read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock));
        }
    });
}
