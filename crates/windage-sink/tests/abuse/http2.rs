//! Abuse over HTTP/2, frame by frame.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;

use windage_sink::{Counts, Protocol, Sink};

use crate::sender::bodies::batch;
use crate::sender::grpc::framed;
use crate::sender::http2::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, RST_STREAM, SETTINGS, field, frame,
    head, speak,
};
use crate::sender::{FIRST, address, eventually};
use crate::witness::{alone, unmoved};

/// What an arm's requests may hold together by default: see `SinkOptions`.
const HELD_MIB: u64 = 24;
/// In addition: buffers of the tests, the runtime's tasks, what the allocator keeps.
const OTHERS_MIB: u64 = 16;
/// The largest frame, and what may be sent at first on each stream and on the connection, unless
/// the peer's settings differ (RFC 9113, section 6.5.2).
const FRAME_BYTES: usize = 16 << 10;
const FIRST_WINDOW_BYTES: usize = (64 << 10) - 1;
/// An incomplete frame, in a buffer that grew by doubling, for each connection.
fn frames_mib(connections: usize) -> u64 {
    (2 * connections * FRAME_BYTES) as u64 >> 20
}

/// Frames of a flood, far above any limit.
const FLOOD: u32 = 100_000;

/// A connection to the first arm with these settings.
fn opened(sink: &Sink, settings: &[u8]) -> TcpStream {
    speak(address(sink, FIRST, Protocol::OtlpGrpc), settings)
}

/// Writes frames and reads nothing, until the sink closes the connection.
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

/// The same for a sender that reads everything.
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

/// Abuse on one connection. Returns the arm's counts once the connection has ended.
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
    // Shrinks and grows the header table again and again; each change must be acknowledged.
    let table = |size: u32| [&[0, 1], &size.to_be_bytes()[..]].concat();
    flooded(|mut stream| {
        flood_reading(&mut stream, |number| {
            frame(SETTINGS, 0, 0, &table(number % 4096))
        });
    });
}

#[test]
fn settings_with_unread_answers() {
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
fn pings_with_unread_answers() {
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
    // Field 62 of the dynamic table, a kilobyte, referred to again and again: an HPACK bomb.
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
    const CONNECTIONS: usize = 1000;
    let alone = alone();
    let mut sent = frame(HEADERS, END_HEADERS, 1, &head());
    sent.extend_from_slice(&frame(DATA, 0, 1, &[0; FRAME_BYTES]));
    sent.pop();
    unmoved(&alone, frames_mib(CONNECTIONS) + OTHERS_MIB, |sink| {
        let mut held = Vec::new();
        for _ in 0..CONNECTIONS {
            let mut stream = opened(sink, &[]);
            stream.write_all(&sent).unwrap();
            held.push(stream);
        }
        eventually("all is read", || {
            sink.counts(FIRST).wire_bytes > (CONNECTIONS * sent.len()) as u64
        });
    });
}

#[test]
fn frames_that_are_too_large() {
    let whole = frame(DATA, 0, 1, &vec![0; FRAME_BYTES + 1]);
    flooded(|mut stream| {
        stream
            .write_all(&frame(HEADERS, END_HEADERS, 1, &head()))
            .unwrap();
        stream.write_all(&whole).unwrap();
        let mut said = Vec::new();
        let ended = stream.read_to_end(&mut said);
        assert!(!ended.is_err_and(|error| error.kind() == ErrorKind::WouldBlock));
    });
}

#[test]
fn as_much_as_the_windows_allow() {
    const CONNECTIONS: usize = 500;
    let alone = alone();
    // A span of 900 kB, of which as much is sent as the initial windows allow.
    let mut message = vec![0, 0, 0x0f, 0, 0];
    for (key, size) in [(0x0a, 0x3c), (0x12, 0x3a), (0x12, 0x38)] {
        message.extend_from_slice(&[key, 0x80, 0x80, size]);
    }
    message.resize(FIRST_WINDOW_BYTES, 0);
    let mut sent = frame(HEADERS, END_HEADERS, 1, &head());
    for piece in message.chunks(FRAME_BYTES) {
        sent.extend_from_slice(&frame(DATA, 0, 1, piece));
    }
    let most = HELD_MIB + frames_mib(CONNECTIONS) + OTHERS_MIB;
    let counts = unmoved(&alone, most, |sink| {
        let mut held = Vec::new();
        for _ in 0..CONNECTIONS {
            let mut stream = opened(sink, &[]);
            stream.write_all(&sent).unwrap();
            held.push(stream);
        }
        eventually("all is read", || {
            sink.counts(FIRST).wire_bytes > (CONNECTIONS * sent.len()) as u64
        });
    });
    // 33 MB are more than may be held: the last requests are refused, the first are cut.
    assert_eq!((counts.spans, counts.malformed), (0, 0));
    assert!(counts.rejected > 0, "{counts:?}");
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
