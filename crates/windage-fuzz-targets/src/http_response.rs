//! The response parser gives the same answers however the bytes are cut, and a reused parser gives
//! the same as a new one.
//!
//! The input's first line says how to cut the rest: `!` in front means that the request was a HEAD;
//! every other byte is the length of a piece (its low five bits, plus one), repeated cyclically. An
//! empty line means one byte at a time.

use windage_load::{Answer, Progress, ResponseParser};

use crate::Corpus;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Between two answers.
    Clean,
    /// Within an answer.
    CutOff,
    /// At bytes that are not an answer.
    Refused,
}

/// Checks what the module says of an input.
pub fn check(input: &[u8]) -> Corpus {
    let Some(line_end) = input.iter().position(|&byte| byte == b'\n') else {
        return Corpus::Reject;
    };
    let (cuts, stream) = (&input[..line_end], &input[line_end + 1..]);
    let is_head = cuts.first() == Some(&b'!');
    let lengths: Vec<usize> = cuts[usize::from(is_head)..]
        .iter()
        .map(|byte| usize::from(byte & 31) + 1)
        .collect();

    let mut parser = ResponseParser::new(is_head);
    let whole = read(&mut parser, std::iter::once(stream));
    parser.reset();
    assert_eq!(
        read(&mut parser, std::iter::once(stream)),
        whole,
        "a second time"
    );

    let mut parser = ResponseParser::new(is_head);
    for time in ["in pieces", "in pieces, a second time"] {
        let (answers, end) = read(&mut parser, Pieces::of(stream, &lengths));
        parser.reset();
        assert_eq!(answers, whole.0, "{time}");
        // A head in pieces is not parsed at every piece, so the stream may end before the parser
        // finds that it is invalid.
        let late = (whole.1, end) == (End::Refused, End::CutOff);
        assert!(end == whole.1 || late, "{time}: {end:?}, not {:?}", whole.1);
    }
    Corpus::Keep
}

/// Feeds the pieces, then the end of the connection.
fn read<'a>(
    parser: &mut ResponseParser,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<Answer>, End) {
    let mut answers = Vec::new();
    for mut piece in pieces {
        while !piece.is_empty() {
            match parser.feed(piece) {
                Ok(Progress::Partial) => break,
                Ok(Progress::Complete { answer, consumed }) => {
                    assert!(consumed <= piece.len(), "more than there is");
                    assert!(answer.status / 100 != 1, "interim: {answer:?}");
                    answers.push(answer);
                    piece = &piece[consumed..];
                }
                Err(_) => return (answers, End::Refused),
            }
        }
    }
    let begun = parser.has_begun();
    let last = parser.finish();
    assert!(begun || last.is_none(), "an answer of no bytes");
    let end = match (begun, last) {
        (true, None) => End::CutOff,
        _ => End::Clean,
    };
    answers.extend(last);
    (answers, end)
}

/// A stream in pieces of the given lengths, cyclically; of one byte if there are none.
struct Pieces<'a> {
    rest: &'a [u8],
    lengths: std::iter::Cycle<std::slice::Iter<'a, usize>>,
}

impl<'a> Pieces<'a> {
    fn of(stream: &'a [u8], lengths: &'a [usize]) -> Pieces<'a> {
        Pieces {
            rest: stream,
            lengths: lengths.iter().cycle(),
        }
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let length = self.lengths.next().map_or(1, |&length| length);
        let (piece, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.rest = rest;
        Some(piece)
    }
}
