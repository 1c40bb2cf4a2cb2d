use super::*;
use proptest::prelude::*;

/// What a stream contains: the statuses of its whole answers, and how it ended.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    answers: Vec<Answer>,
    failed: bool,
}

/// Feeds a stream cut at `cuts` (ascending), then its end.
fn read(stream: &[u8], is_head: bool, cuts: &[usize]) -> Outcome {
    let mut parser = ResponseParser::new(is_head);
    let mut outcome = Outcome {
        answers: Vec::new(),
        failed: false,
    };
    let mut from = 0;
    for &to in cuts.iter().chain([&stream.len()]) {
        let mut piece = &stream[from..to];
        from = to;
        while !piece.is_empty() {
            match parser.feed(piece) {
                Ok(Progress::Partial) => break,
                Ok(Progress::Complete { answer, consumed }) => {
                    outcome.answers.push(answer);
                    piece = &piece[consumed..];
                }
                Err(_) => {
                    outcome.failed = true;
                    return outcome;
                }
            }
        }
    }
    outcome.answers.extend(parser.finish());
    outcome
}

fn answer(status: u16, keep_alive: bool) -> Answer {
    Answer { status, keep_alive }
}

#[test]
fn answers_end_at_the_right_byte() {
    let table: &[(&str, bool, &[Answer], &str)] = &[
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            false,
            &[answer(200, true)],
            "length",
        ),
        (
            "HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n",
            false,
            &[answer(200, true)],
            "no reason, no body",
        ),
        (
            "HTTP/1.1 200 OK\nContent-Length: 1\n\nx",
            false,
            &[answer(200, true)],
            "bare LF",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok",
            false,
            &[],
            "cut off in the body",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok",
            false,
            &[answer(200, true)],
            "the same twice",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
            false,
            &[answer(200, true)],
            "chunked",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n0\r\n\r\n",
            false,
            &[answer(200, true)],
            "coding over length",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc",
            false,
            &[answer(200, false)],
            "not chunked: until close",
        ),
        (
            "HTTP/1.1 200 OK\r\n\r\nabc",
            false,
            &[answer(200, false)],
            "no length: until close",
        ),
        (
            "HTTP/1.1 200 OK\r\nConnection: foo, Close\r\nContent-Length: 0\r\n\r\n",
            false,
            &[answer(200, false)],
            "close",
        ),
        (
            "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
            false,
            &[answer(200, false)],
            "1.0 closes",
        ),
        (
            "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n",
            false,
            &[answer(200, true)],
            "1.0 keeps open on request",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n",
            true,
            &[answer(200, true)],
            "HEAD has no body",
        ),
        (
            "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
            false,
            &[answer(204, true), answer(304, true)],
            "no body by status",
        ),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 500 No\r\nContent-Length: 1\r\n\r\n!",
            false,
            &[answer(500, true)],
            "interim answers are skipped",
        ),
    ];
    for (stream, is_head, answers, why) in table {
        let outcome = read(stream.as_bytes(), *is_head, &[]);
        assert_eq!(
            outcome,
            Outcome {
                answers: answers.to_vec(),
                failed: false
            },
            "{why}"
        );
    }
}

#[test]
fn invalid_answers_are_rejected() {
    let long = format!(
        "HTTP/1.1 200 OK\r\nX: {}\r\n\r\n",
        "x".repeat(MAX_HEAD_BYTES)
    );
    let many = format!(
        "HTTP/1.1 200 OK\r\n{}\r\n",
        "X: y\r\n".repeat(MAX_HEADERS + 1)
    );
    let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(1_000_000));
    let table: &[(&str, &str)] = &[
        ("SSH-2.0-OpenSSH_9.6\r\n", "another protocol"),
        ("HTTP/2.0 200 OK\r\n\r\n", "another version"),
        ("HTTP/1.1 abc\r\n\r\n", "not a status"),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", "switches"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "two lengths",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
            "signed length",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
            "empty length",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
            "length beyond 64 bits",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno",
            "not a chunk",
        ),
        (&long, "head too long"),
        (&many, "too many headers"),
        (&endless, "head without end"),
    ];
    for (stream, why) in table {
        let by_seven: Vec<usize> = (7..stream.len()).step_by(7).collect();
        for cuts in [&[][..], &by_seven] {
            let outcome = read(stream.as_bytes(), false, cuts);
            assert!(
                outcome.failed && outcome.answers.is_empty(),
                "{why}: {outcome:?}"
            );
        }
    }
}

#[test]
fn a_remembered_head_still_needs_its_body() {
    let mut parser = ResponseParser::new(false);
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
    let whole = [&head[..], b"abc"].concat();
    for _ in 0..3 {
        assert!(
            matches!(parser.feed(&whole), Ok(Progress::Complete { consumed, .. }) if consumed == whole.len())
        );
        assert!(!parser.has_begun());
        assert_eq!(parser.feed(head), Ok(Progress::Partial));
        assert!(parser.has_begun());
        assert_eq!(parser.finish(), None);
    }
}

fn response() -> impl Strategy<Value = Vec<u8>> {
    let status = prop_oneof![Just(200u16), Just(404), Just(500), Just(204)];
    (
        status,
        proptest::collection::vec(any::<u8>(), 0..300),
        0..3u8,
        0..20usize,
        1..50usize,
    )
        .prop_map(|(status, body, framing, padding, chunk)| {
            let mut wire = Vec::new();
            if framing == 2 {
                wire.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
            }
            wire.extend_from_slice(
                format!("HTTP/1.1 {status} x\r\nX: {}\r\n", "y".repeat(padding)).as_bytes(),
            );
            if status == 204 {
                wire.extend_from_slice(b"\r\n");
            } else if framing == 1 {
                wire.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
                for piece in body.chunks(chunk) {
                    wire.extend_from_slice(format!("{:X}\r\n", piece.len()).as_bytes());
                    wire.extend_from_slice(piece);
                    wire.extend_from_slice(b"\r\n");
                }
                wire.extend_from_slice(b"0\r\n\r\n");
            } else {
                wire.extend_from_slice(
                    format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(),
                );
                wire.extend_from_slice(&body);
            }
            wire
        })
}

fn cuts(length: usize) -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(0..=length, 0..12).prop_map(|mut cuts| {
        cuts.sort_unstable();
        cuts
    })
}

proptest! {
    #[test]
    fn the_way_a_stream_is_cut_does_not_matter(
        (stream, cuts, count) in proptest::collection::vec(response(), 1..4).prop_flat_map(|responses| {
            let (stream, count) = (responses.concat(), responses.len());
            (Just(stream.clone()), cuts(stream.len()), Just(count))
        })
    ) {
        let whole = read(&stream, false, &[]);
        prop_assert_eq!(whole.answers.len(), count);
        prop_assert!(!whole.failed);
        prop_assert_eq!(&read(&stream, false, &cuts), &whole);
        let singly: Vec<usize> = (1..stream.len()).collect();
        prop_assert_eq!(&read(&stream, false, &singly), &whole);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>, is_head: bool, step in 1..64usize) {
        let steps: Vec<usize> = (step..bytes.len()).step_by(step).collect();
        read(&bytes, is_head, &steps);
    }

    #[test]
    fn bytes_after_a_valid_start_never_panic(tail: Vec<u8>, framing in 0..3usize, step in 1..64usize) {
        let heads = ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"];
        let stream = [heads[framing].as_bytes(), &tail].concat();
        let steps: Vec<usize> = (step..stream.len()).step_by(step).collect();
        read(&stream, false, &steps);
    }
}
