//! Sessions over memory: bytes that no real server sends, and floods.

use std::fmt;
use std::io;

use bytes::Bytes;
use proptest::prelude::*;

use super::support::{END_HEADERS, END_STREAM, HEADERS, SETTINGS, STATUS_200, frame, request};
use crate::http2::limits::{TURN_BYTES, TURNS_AT_ONCE};
use crate::http2::wire::Carrier;
use crate::http2::{Front, Session, feed_http2};

const PING: u8 = 6;

/// A server that never stops: a prefix, then the same bytes forever.
struct Flood {
    beginning: Vec<u8>,
    again: Vec<u8>,
    at: usize,
}

impl fmt::Debug for Flood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Flood")
    }
}

impl Carrier for Flood {
    fn send_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<bool> {
        Ok(true)
    }

    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        for byte in &mut *buffer {
            *byte = match self.beginning.get(self.at) {
                Some(&byte) => byte,
                None => self.again[(self.at - self.beginning.len()) % self.again.len()],
            };
            self.at += 1;
        }
        Ok(buffer.len())
    }

    fn short_read_drains(&self) -> bool {
        false
    }
}

fn flood(beginning: Vec<u8>, again: Vec<u8>) -> Session<Flood> {
    let flood = Flood {
        beginning,
        again,
        at: 0,
    };
    Session::over(flood, 1)
}

#[test]
fn a_flood_is_read_in_turns() {
    for (again, why) in [
        (frame(PING, 0, 0, &[0; 8]), "pings"),
        (frame(SETTINGS, 0, 0, &[]), "settings"),
        (frame(0xbe, 0, 0, &[0; 100]), "frames of an unknown kind"),
    ] {
        let mut session = flood(frame(SETTINGS, 0, 0, &[]), again);
        let (mut received, mut sent) = (0, 0);
        for drive in 0..5 {
            assert!(session.drive(false), "{why}: {session:?}");
            let now = session.received_bytes();
            let bound = (TURN_BYTES * TURNS_AT_ONCE) as u64;
            assert!(now > received && now - received <= bound, "{why}: {now}");
            received = now;
            if drive == 0 {
                sent = session.sent_bytes();
                session
                    .send(0, request("GET", "/"), Bytes::new(), false)
                    .unwrap();
            }
        }
        // Requests still go out during a flood.
        assert!(session.sent_bytes() > sent, "{why}");
        assert_eq!(session.next_event(), None);
        session.cancel(0);
        assert_eq!(session.free_streams(), 1);
    }
}

#[test]
fn endless_interim_answers_are_not_kept() {
    let ping = frame(PING, 0, 0, &[0; 8]);
    let drive_bytes = TURN_BYTES * TURNS_AT_ONCE;
    // Frames for a stream that is not open yet would be an error, so pings fill the first drive and
    // the turn in which the request goes out.
    let beginning = [
        frame(SETTINGS, 0, 0, &[]),
        ping.repeat((drive_bytes + 2 * TURN_BYTES) / ping.len()),
    ];
    let early_hints = frame(HEADERS, END_HEADERS, 1, &[0x08, 3, b'1', b'0', b'3']);
    let mut session = flood(beginning.concat(), early_hints);
    assert!(session.drive(false));
    session
        .send(0, request("GET", "/"), Bytes::new(), false)
        .unwrap();
    for _ in 0..3 {
        assert!(session.drive(false), "{session:?}");
    }
    assert_eq!(session.next_event(), None);
    let Front::Open { connection, .. } = &session.front else {
        panic!("{session:?}");
    };
    // 200,000 answers arrived; `h2`'s debug output shows everything it holds.
    let held = format!("{connection:?}");
    assert!(held.len() < drive_bytes / 2, "{} characters", held.len());
}

/// Bytes that a server sends after one request, whatever the request.
fn answers() -> Vec<(Vec<u8>, (usize, usize), &'static str)> {
    let settings = frame(SETTINGS, 0, 0, &[]);
    let head = |stream| frame(HEADERS, END_STREAM | END_HEADERS, stream, &[STATUS_200]);
    let ping = frame(PING, 0, 0, &[0; 8]);
    let closed = EXCHANGED_AT_ONCE;
    vec![
        (vec![], (0, 0), "nothing"),
        (b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), (0, 0), "HTTP/1.1"),
        (settings.clone(), (0, 0), "settings, then the end"),
        // The requests go out between the pings, which arrive in pieces.
        (
            [
                settings.clone(),
                ping.clone(),
                ping.clone(),
                head(1),
                ping.clone(),
                head(3),
            ]
            .concat(),
            (2, closed - 2),
            "two answers, then the end",
        ),
        (
            [settings, ping.clone(), ping.clone(), head(2), ping].concat(),
            (0, closed),
            "an answer on the server's own stream",
        ),
    ]
}

/// As many lanes as [`feed_http2`] has.
const EXCHANGED_AT_ONCE: usize = 3;

#[test]
fn every_fed_exchange_is_answered_or_fails() {
    for (bytes, expected, why) in answers() {
        for script in [0b1_0000, 0b11_0000, 0b1_0001, 0b1_0011] {
            let input = [&[script], bytes.as_slice()].concat();
            let (answered, failed) = feed_http2(&input);
            assert_eq!(answered, expected.0, "{why}, {script:b}");
            assert!(failed >= expected.1, "{why}, {script:b}: {failed}");
        }
    }
}

/// A frame that is valid or almost valid.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![8 => 0u8..10, 1 => any::<u8>()];
    let stream = prop_oneof![8 => 0u32..16, 1 => any::<u32>()];
    let head_block = prop::collection::vec(
        prop_oneof![
            Just(vec![STATUS_200]),
            Just(vec![0x08, 3, b'1', b'0', b'3']),
            Just(vec![0x0f, 0x0d, 1, b'5']),
            prop::collection::vec(any::<u8>(), 0..8),
        ],
        0..4,
    )
    .prop_map(|fields| fields.concat());
    let payload = prop_oneof![
        head_block,
        prop::collection::vec(any::<u8>(), 0..40),
        Just(vec![0; 8]),
        Just(vec![0, 0, 0, 1]),
        Just(vec![]),
        (0..20_000usize).prop_map(|length| vec![b'x'; length]),
    ];
    (kind, any::<u8>(), stream, payload)
        .prop_map(|(kind, flags, stream, payload)| frame(kind, flags, stream, &payload))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// `feed_http2` itself panics when the session stalls or forgets an exchange.
    #[test]
    fn any_bytes_end_a_session(input in prop::collection::vec(any::<u8>(), 0..600)) {
        feed_http2(&input);
    }

    #[test]
    fn any_frames_end_a_session(
        script in any::<u8>(),
        frames in prop::collection::vec(any_frame(), 0..30),
    ) {
        let settings = frame(SETTINGS, 0, 0, &[]);
        feed_http2(&[vec![script], settings, frames.concat()].concat());
    }
}
