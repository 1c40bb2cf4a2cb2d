//! Requests over an in-memory pipe, and the answers.

mod times;

use std::io::Write as _;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, join, simplex};

use super::{BUFFER_BYTES, serve};
use crate::receiver::{Ending, Receiver};
use crate::{Counts, Protocol};

const MAX_BODY_BYTES: usize = 4 << 10;

fn receiver() -> Arc<Receiver> {
    Receiver::alone(Protocol::OtlpHttp, MAX_BODY_BYTES, 1 << 20)
}

/// What a connection gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    Continue,
    /// This status; the connection stays open.
    Say(u16),
    /// This status; the connection ends.
    SayLast(u16),
}

use Reply::{Continue, Say, SayLast};

/// Everything answered to these bytes, `at_once` of which can be read at a time.
async fn replies(receiver: &Arc<Receiver>, wire: &[u8], at_once: usize) -> Vec<Reply> {
    const ANSWERS_BYTES: usize = 64 << 10;
    let (received, mut writing) = simplex(at_once);
    let (mut reading, sent) = simplex(ANSWERS_BYTES);
    let served = join(received, sent);
    let sending = async {
        // The connection may have ended before.
        let _ = writing.write_all(wire).await;
        let _ = writing.shutdown().await;
    };
    let mut rest = Vec::new();
    let serving = serve(served, receiver);
    let ((), read, ending) = tokio::join!(sending, reading.read_to_end(&mut rest), serving);
    read.unwrap();
    assert_eq!(ending, Ending::Closed);
    answers(&rest)
}

/// The consecutive answers in these bytes.
fn answers(mut rest: &[u8]) -> Vec<Reply> {
    let mut replies = Vec::new();
    while !rest.is_empty() {
        let mut headers = [httparse::EMPTY_HEADER; 8];
        let mut answer = httparse::Response::new(&mut headers);
        let httparse::Status::Complete(head_bytes) = answer.parse(rest).unwrap() else {
            panic!("half an answer")
        };
        let header = |name: &str| {
            let header = answer.headers.iter().find(|header| header.name == name)?;
            std::str::from_utf8(header.value).ok()
        };
        let body_bytes: usize = header("content-length").map_or(0, |n| n.parse().unwrap());
        let is_last = match header("connection") {
            Some(connection) => connection == "close",
            None => answer.version == Some(0),
        };
        replies.push(match answer.code.unwrap() {
            100 => Continue,
            status if is_last => SayLast(status),
            status => Say(status),
        });
        rest = &rest[head_bytes + body_bytes..];
    }
    replies
}

/// An export of up to 60 empty spans.
fn spans(count: u8) -> Vec<u8> {
    let spans = [0x12, 0].repeat(count.into());
    let mut request = vec![0x0a, 2 * count + 2, 0x12, 2 * count];
    request.extend_from_slice(&spans);
    request
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const POST: &str = "POST /v1/traces HTTP/1.1\r\ncontent-type: application/x-protobuf\r\n";

fn with_length(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("{POST}{headers}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn with_chunks(headers: &str, body: &[u8], chunk: usize) -> Vec<u8> {
    let mut wire = format!("{POST}{headers}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    for chunk in body.chunks(chunk) {
        write!(wire, "{:x}\r\n", chunk.len()).unwrap();
        wire.extend_from_slice(chunk);
        wire.extend_from_slice(b"\r\n");
    }
    wire.extend_from_slice(b"0\r\n\r\n");
    wire
}

fn text(wire: &str) -> Vec<u8> {
    wire.as_bytes().to_vec()
}

#[tokio::test(start_paused = true)]
async fn requests_are_read_in_any_pieces() {
    let body = spans(7);
    let old = POST.replace("1.1", "1.0");
    let of_old = |headers: &str| {
        let head = format!("{old}{headers}content-length: {}\r\n\r\n", body.len());
        [head.as_bytes(), &body].concat()
    };
    let expects = "Expect: 100-continue\r\n";
    let closes = "Connection: close\r\n";
    let packed = "content-encoding: gzip\r\n";
    let two = [with_length("", &body), with_chunks("", &body, 5)].concat();
    let table: [(&str, Vec<u8>, &[Reply], u64); 16] = [
        ("with a length", with_length("", &body), &[Say(200)], 7),
        ("in chunks", with_chunks("", &body, 4), &[Say(200)], 7),
        ("gzip", with_length(packed, &gzip(&body)), &[Say(200)], 7),
        (
            "gzip in chunks",
            with_chunks(packed, &gzip(&body), 3),
            &[Say(200)],
            7,
        ),
        ("without a body", with_length("", b""), &[Say(200)], 0),
        (
            "no chunk but the last",
            with_chunks("", b"", 1),
            &[Say(200)],
            0,
        ),
        ("two in a row", two, &[Say(200), Say(200)], 14),
        (
            "an empty line first",
            [b"\r\n", &*with_length("", &body)].concat(),
            &[Say(200)],
            7,
        ),
        (
            "asks first",
            with_length(expects, &body),
            &[Continue, Say(200)],
            7,
        ),
        (
            "ends the connection",
            with_length(closes, &body),
            &[SayLast(200)],
            7,
        ),
        (
            "ends the connection, among others",
            with_length("Connection: TE, close\r\n", &body),
            &[SayLast(200)],
            7,
        ),
        (
            "nothing is read behind the last",
            [with_length(closes, &body), with_length("", &body)].concat(),
            &[SayLast(200)],
            7,
        ),
        ("HTTP/1.0 ends by itself", of_old(""), &[SayLast(200)], 7),
        (
            "HTTP/1.0 goes on if asked",
            of_old("connection: keep-alive\r\n"),
            &[Say(200)],
            7,
        ),
        (
            "a query is no part of the path",
            text(
                "POST /v1/logs?a=b HTTP/1.1\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: 2\r\n\r\n{}",
            ),
            &[Say(200)],
            0,
        ),
        (
            "a refused body is read over",
            [
                text("POST /no HTTP/1.1\r\ncontent-length: 3\r\n\r\nabc"),
                with_length("", &body),
            ]
            .concat(),
            &[Say(404), Say(200)],
            7,
        ),
    ];
    for (name, wire, expected, spans) in &table {
        for at_once in [wire.len(), 100, 7, 1] {
            let receiver = receiver();
            let replies = replies(&receiver, wire, at_once).await;
            assert_eq!(replies, *expected, "{name}, by {at_once}");
            let counts = receiver.account.counts();
            assert_eq!(counts.spans, *spans, "{name}, by {at_once}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn invalid_requests_are_refused_and_counted() {
    let body = spans(7);
    let with = |headers: &str| text(&format!("{POST}{headers}\r\n"));
    let long = format!("X: {}\r\n", "y".repeat(BUFFER_BYTES));
    let many = "X: y\r\n".repeat(101);
    let expects = format!(
        "Expect: 100-continue\r\nContent-Length: {}\r\n",
        MAX_BODY_BYTES + 1
    );
    let chunk = |wire: &str| with(&format!("Transfer-Encoding: chunked\r\n\r\n{wire}"));
    let large = [0x12, 0].repeat(MAX_BODY_BYTES / 2 + 1);
    let endless = [0x12, 0].repeat(2 * MAX_BODY_BYTES);
    let table: [(&str, Vec<u8>, &[Reply], &str); 20] = [
        (
            "GET",
            text("GET /v1/traces HTTP/1.1\r\n\r\n"),
            &[Say(405)],
            "rejected",
        ),
        (
            "HTTP/2",
            text("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
            &[SayLast(400)],
            "rejected",
        ),
        ("noise", vec![0xff; 64], &[SayLast(400)], "rejected"),
        (
            "TLS",
            vec![0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3],
            &[SayLast(400)],
            "rejected",
        ),
        ("a long head", with(&long), &[SayLast(431)], "rejected"),
        ("many headers", with(&many), &[SayLast(431)], "rejected"),
        (
            "nothing but empty lines",
            text(&"\r\n".repeat(BUFFER_BYTES)),
            &[SayLast(431)],
            "rejected",
        ),
        (
            "a list of lengths",
            with("Content-Length: 5, 5\r\n"),
            &[SayLast(400)],
            "rejected",
        ),
        (
            "a sign",
            with("Content-Length: +5\r\n"),
            &[SayLast(400)],
            "rejected",
        ),
        (
            "negative",
            with("Content-Length: -5\r\n"),
            &[SayLast(400)],
            "rejected",
        ),
        (
            "beyond 64 bits",
            with("Content-Length: 18446744073709551616\r\n"),
            &[SayLast(400)],
            "rejected",
        ),
        (
            "another coding",
            with("Transfer-Encoding: gzip, chunked\r\n"),
            &[SayLast(400)],
            "rejected",
        ),
        (
            "invalid chunk size",
            chunk("spans\r\n"),
            &[SayLast(400)],
            "rejected",
        ),
        (
            "a chunk beyond its size",
            chunk("2\r\nabc\r\n"),
            &[SayLast(400)],
            "rejected",
        ),
        (
            "a large body",
            with_length("", &large),
            &[Say(413)],
            "rejected",
        ),
        (
            "a large body that asks first",
            with(&expects),
            &[SayLast(413)],
            "rejected",
        ),
        (
            "large in chunks",
            with_chunks("", &large, 1000),
            &[Say(413)],
            "rejected",
        ),
        (
            "endless",
            with_chunks("", &endless, 1000),
            &[SayLast(413)],
            "rejected",
        ),
        (
            "cut protobuf",
            with_length("", &body[..5]),
            &[Say(400)],
            "malformed",
        ),
        (
            "not gzip",
            with_length("Content-Encoding: gzip\r\n", &body),
            &[Say(400)],
            "malformed",
        ),
    ];
    for (name, wire, expected, counter) in &table {
        for step in [wire.len(), 1, 7] {
            let receiver = receiver();
            let replies = replies(&receiver, wire, step).await;
            assert_eq!(replies, *expected, "{name}, by {step}");
            let counts = receiver.account.counts();
            let expected = Counts {
                requests: 1,
                rejected: u64::from(*counter == "rejected"),
                malformed: u64::from(*counter == "malformed"),
                wire_bytes: counts.wire_bytes,
                ..Counts::default()
            };
            assert_eq!(counts, expected, "{name}, by {step}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn compressed_bytes_that_inflate_to_nothing_are_bounded() {
    // A gzip header, then empty stored blocks, any number of which is valid.
    let mut wire = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    wire.extend_from_slice(&[0, 0, 0, 0xff, 0xff].repeat(MAX_BODY_BYTES / 5 + 1));
    let receiver = receiver();
    let wire = with_chunks("Content-Encoding: gzip\r\n", &wire, 100);
    assert_eq!(replies(&receiver, &wire, 64).await, [Say(413)]);
    assert_eq!(receiver.account.counts().rejected, 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_is_counted_when_its_connection_ends() {
    let wire = with_length("", &spans(7));
    let table: [(usize, &[Reply], u64); 2] = [(10, &[], 0), (wire.len() - 1, &[SayLast(400)], 1)];
    for (length, expected, requests) in table {
        let receiver = receiver();
        assert_eq!(replies(&receiver, &wire[..length], 100).await, expected);
        let counts = Counts {
            requests,
            rejected: requests,
            wire_bytes: length as u64,
            ..Counts::default()
        };
        assert_eq!(receiver.account.counts(), counts, "cut at {length}");
    }
}

/// A valid request, and how many spans are in it.
fn valid_request() -> impl Strategy<Value = (Vec<u8>, u64)> {
    (0..=60_u8, 1..60_usize, any::<(bool, bool)>()).prop_map(|(count, chunk, (packs, chunks))| {
        let (body, headers) = match packs {
            true => (gzip(&spans(count)), "content-encoding: gzip\r\n"),
            false => (spans(count), ""),
        };
        let wire = match chunks {
            true => with_chunks(headers, &body, chunk),
            false => with_length(headers, &body),
        };
        (wire, count.into())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_cuts_of_any_requests_count_the_same(
        requests in prop::collection::vec(valid_request(), 1..6),
        at_once in 1..200_usize,
    ) {
        let wire: Vec<u8> = requests.iter().flat_map(|(wire, _)| wire.clone()).collect();
        let receiver = receiver();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let replies = runtime.block_on(replies(&receiver, &wire, at_once));
        prop_assert_eq!(replies, vec![Say(200); requests.len()]);
        let counts = receiver.account.counts();
        prop_assert_eq!(counts.requests, requests.len() as u64);
        prop_assert_eq!(counts.spans, requests.iter().map(|(_, spans)| spans).sum::<u64>());
    }
}
