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
use crate::witness::{Alone, MAX_CONNECTIONS, Most, alone, unmoved};

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

/// The most concurrent calls of a connection.
const CALLS: u32 = 16;

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
fn flooded(alone: &Alone, abuse: impl FnOnce(TcpStream) + Send) -> Counts {
    let most = Most::for_few(OTHERS_MIB);
    unmoved(alone, most, |sink| abuse(opened(sink, &[])))
}

#[test]
fn rapid_resets() {
    let Some(alone) = alone() else { return };
    let head = head();
    let counts = flooded(&alone, |mut stream| {
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
    let Some(alone) = alone() else { return };
    // Shrinks and grows the header table again and again; each change must be acknowledged.
    let table = |size: u32| [&[0, 1], &size.to_be_bytes()[..]].concat();
    flooded(&alone, |mut stream| {
        flood_reading(&mut stream, |number| {
            frame(SETTINGS, 0, 0, &table(number % 4096))
        });
    });
}

#[test]
fn settings_with_unread_answers() {
    let Some(alone) = alone() else { return };
    flooded(&alone, |mut stream| {
        stream
            .set_write_timeout(Some(std::time::Duration::from_millis(500)))
            .unwrap();
        flood(&mut stream, |_| frame(SETTINGS, 0, 0, &[]));
    });
}

#[test]
fn pings() {
    let Some(alone) = alone() else { return };
    flooded(&alone, |mut stream| {
        flood_reading(&mut stream, |number| {
            frame(PING, 0, 0, &u64::from(number).to_be_bytes())
        });
    });
}

#[test]
fn pings_with_unread_answers() {
    let Some(alone) = alone() else { return };
    flooded(&alone, |mut stream| {
        stream
            .set_write_timeout(Some(std::time::Duration::from_millis(500)))
            .unwrap();
        flood(&mut stream, |_| frame(PING, 0, 0, &[0; 8]));
    });
}

#[test]
fn empty_frames() {
    let Some(alone) = alone() else { return };
    let head = head();
    flooded(&alone, |mut stream| {
        stream
            .write_all(&frame(HEADERS, END_HEADERS, 1, &head))
            .unwrap();
        flood_reading(&mut stream, |_| frame(DATA, 0, 1, &[]));
    });
}

#[test]
fn continuations_without_an_end() {
    let Some(alone) = alone() else { return };
    let head = head();
    let more = field("x-more", &"y".repeat(100)).repeat(100);
    flooded(&alone, |mut stream| {
        stream.write_all(&frame(HEADERS, 0, 1, &head)).unwrap();
        let all = flood_reading(&mut stream, |_| frame(CONTINUATION, 0, 1, &more));
        assert!(!all, "the connection is closed before the last");
    });
}

#[test]
fn heads_that_are_too_large() {
    let Some(alone) = alone() else { return };
    let mut head = head();
    // Field 62 of the dynamic table, a kilobyte, referred to again and again: an HPACK bomb.
    head.extend_from_slice(&[0x40, 1, b'x', 0x7f, 0x81, 0x07]);
    head.extend_from_slice(&[b'y'; 1024]);
    head.extend_from_slice(&[0xbe; 8000]);
    let counts = flooded(&alone, |mut stream| {
        flood_reading(&mut stream, |number| {
            frame(HEADERS, END_HEADERS | END_STREAM, 2 * number + 1, &head)
        });
    });
    assert_eq!(counts.spans, 0);
}

/// Heads whose lists of fields are just within this limit: of long fields, and of as many as there can
/// be, which take far more memory than they count for.
fn large_heads(list_bytes: usize) -> [(&'static str, Vec<u8>); 2] {
    // RFC 9113, section 6.5.2.
    const BYTES_PER_FIELD: usize = 32;
    const USUAL_BYTES: usize = 300;
    let (name, value) = ("x-more", "y".repeat(100));
    let long = (list_bytes - USUAL_BYTES) / (name.len() + value.len() + BYTES_PER_FIELD);
    let short = (list_bytes - USUAL_BYTES) / (2 + BYTES_PER_FIELD);
    // `x: y`, added to the dynamic table as field 62 and referred to again and again.
    let first = [0x40, 1, b'x', 1, b'y'];
    [
        (
            "long fields",
            [head(), field(name, &value).repeat(long)].concat(),
        ),
        (
            "many fields",
            [&head()[..], &first, &vec![0xbe; short - 1]].concat(),
        ),
    ]
}

/// Calls with these heads and without a message, until all is read.
fn calls_without_a_message(
    sink: &Sink,
    connections: usize,
    calls: u32,
    head: &[u8],
) -> Vec<TcpStream> {
    let mut sent = 0;
    let mut held = Vec::new();
    for _ in 0..connections {
        let mut stream = opened(sink, &[]);
        for call in 0..calls {
            let frame = frame(HEADERS, END_HEADERS, 2 * call + 1, head);
            stream.write_all(&frame).unwrap();
            sent += frame.len() as u64;
        }
        held.push(stream);
    }
    eventually("all is read", || sink.counts(FIRST).wire_bytes > sent);
    held
}

#[test]
fn large_heads_without_a_message() {
    let Some(alone) = alone() else { return };
    for list_bytes in [8 << 10, 16 << 10] {
        for (name, head) in large_heads(list_bytes) {
            let counts = unmoved(&alone, Most::for_few(OTHERS_MIB), |sink| {
                calls_without_a_message(sink, 16, 64, &head)
            });
            assert_eq!(counts.spans, 0, "{name}, {list_bytes}");
        }
    }
}

#[test]
fn large_heads_on_every_connection() {
    let Some(alone) = alone() else { return };
    let most = Most::for_many(HELD_MIB + frames_mib(MAX_CONNECTIONS) + OTHERS_MIB);
    for (name, head) in large_heads(8 << 10) {
        let counts = unmoved(&alone, most, |sink| {
            calls_without_a_message(sink, MAX_CONNECTIONS, CALLS, &head)
        });
        // 16,000 open calls are more than the budget has room for.
        assert!(counts.rejected > 0, "{name}: {counts:?}");
    }
}

#[test]
fn windows_of_no_size() {
    let Some(alone) = alone() else { return };
    let head = head();
    let no_window = [0, 4, 0, 0, 0, 0];
    let counts = unmoved(&alone, Most::for_few(OTHERS_MIB), |sink| {
        let mut held = Vec::new();
        for connection in 0..50 {
            let mut stream = opened(sink, &no_window);
            for call in 0..CALLS {
                let id = 2 * call + 1;
                let message = framed(&batch(u64::from(CALLS * connection + call), 3), false);
                stream
                    .write_all(&frame(HEADERS, END_HEADERS, id, &head))
                    .unwrap();
                stream
                    .write_all(&frame(DATA, END_STREAM, id, &message))
                    .unwrap();
            }
            held.push(stream);
        }
        eventually("all are counted", || sink.counts(FIRST).requests == 800);
        held
    });
    assert_eq!((counts.spans, counts.rejected), (2400, 0));
}

#[test]
fn frames_without_an_end() {
    const CONNECTIONS: usize = MAX_CONNECTIONS;
    let Some(alone) = alone() else { return };
    let mut sent = frame(HEADERS, END_HEADERS, 1, &head());
    sent.extend_from_slice(&frame(DATA, 0, 1, &[0; FRAME_BYTES]));
    sent.pop();
    let most = Most::for_many(frames_mib(CONNECTIONS) + OTHERS_MIB);
    unmoved(&alone, most, |sink| {
        let mut held = Vec::new();
        for _ in 0..CONNECTIONS {
            let mut stream = opened(sink, &[]);
            stream.write_all(&sent).unwrap();
            held.push(stream);
        }
        eventually("all is read", || {
            sink.counts(FIRST).wire_bytes > (CONNECTIONS * sent.len()) as u64
        });
        held
    });
}

#[test]
fn frames_that_are_too_large() {
    let Some(alone) = alone() else { return };
    let whole = frame(DATA, 0, 1, &vec![0; FRAME_BYTES + 1]);
    flooded(&alone, |mut stream| {
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
    let Some(alone) = alone() else { return };
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
    let most = Most::for_many(HELD_MIB + frames_mib(CONNECTIONS) + OTHERS_MIB);
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
        held
    });
    // 33 MB are more than may be held: the last requests are refused, the first are cut.
    assert_eq!((counts.spans, counts.malformed), (0, 0));
    assert!(counts.rejected > 0, "{counts:?}");
}

#[test]
fn silence() {
    let Some(alone) = alone() else { return };
    // What `h2` writes into.
    let buffers_mib = (MAX_CONNECTIONS * FRAME_BYTES) as u64 >> 20;
    unmoved(&alone, Most::for_many(buffers_mib + OTHERS_MIB), |sink| {
        let mut held: Vec<TcpStream> = (0..MAX_CONNECTIONS).map(|_| opened(sink, &[])).collect();
        let mut byte = [0; 64];
        for stream in &mut held {
            let read = stream.read(&mut byte);
            assert!(!read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock));
        }
        held
    });
}
