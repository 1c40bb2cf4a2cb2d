//! The protocol without a socket: bytes in, what to say out.

use std::sync::Arc;

use crate::account::Ticket;
use crate::exchange::{Answer, Form, Head, Refusal};
use crate::http1::framing::{BadChunk, Chunked, Framing};
use crate::otlp;
use crate::receiver::{Receiver, Underway, Verdict, Wait};
use crate::room::Room;

/// The longest head of a request.
const MAX_HEAD_BYTES: usize = 16 << 10;
const MAX_HEADERS: usize = 64;

/// One connection's requests, one after another.
#[derive(Debug)]
pub(super) struct Reader {
    receiver: Arc<Receiver>,
    state: State,
    /// Whether the connection is closed after the request at hand.
    close: bool,
}

#[derive(Debug)]
enum State {
    /// Between two requests.
    Idle,
    /// The head, as far as it came, in memory lent for it.
    Head(Vec<u8>, Room),
    Body(Box<Underway>, Framing),
    /// The rest of a refused request, so that its sender sees the answer and no broken pipe.
    Rest(Box<Answer>, Framing, u64),
}

/// What the connection has to do.
#[derive(Debug)]
pub(super) enum Ready {
    /// More bytes are needed.
    More,
    /// Say that the body may come, then read on.
    Continue,
    /// Answer when the wait is over, and close the connection if so told. The ticket goes back
    /// when the answer could not be sent.
    Say {
        answer: Answer,
        wait: Wait,
        ticket: Option<Ticket>,
        close: Close,
    },
    /// Reset the connection.
    Reset,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Close {
    Yes,
    No,
}

/// What a head says about the connection and its body.
struct Frame {
    framing: Framing,
    close: bool,
    awaits_continue: bool,
}

impl Reader {
    pub(super) fn new(receiver: Arc<Receiver>) -> Reader {
        Reader {
            receiver,
            state: State::Idle,
            close: false,
        }
    }

    /// Whether a request has begun and is not over.
    pub(super) fn is_within_request(&self) -> bool {
        !matches!(self.state, State::Idle)
    }

    /// Takes bytes until something has to be said or done; how many were used.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> (usize, Ready) {
        let mut used = 0;
        while used < bytes.len() {
            let (more, ready) = self.step(&bytes[used..]);
            used += more;
            if !matches!(ready, Ready::More) {
                return (used, ready);
            }
        }
        (used, Ready::More)
    }

    /// The request took too long. `None` when there is none.
    pub(super) fn time_out(&mut self) -> Option<Ready> {
        let answer = match &mut self.state {
            State::Idle => return None,
            State::Head(..) => {
                self.receiver.not_taken(&Refusal::Slow);
                otlp::refused(Form::Text, &Refusal::Slow)
            }
            State::Body(underway, _) => {
                underway.settle(&Refusal::Slow);
                otlp::refused(underway.route.form, &Refusal::Slow)
            }
            State::Rest(answer, ..) => std::mem::take(&mut **answer),
        };
        self.close = true;
        Some(self.say(answer))
    }

    fn step(&mut self, bytes: &[u8]) -> (usize, Ready) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => match self.head(bytes) {
                Some((used, ready)) => (used, ready),
                None => {
                    let room = self.receiver.account.budget.room();
                    (bytes.len(), self.hold(Vec::new(), bytes, room))
                }
            },
            State::Head(mut partial, room) => {
                let had = partial.len();
                let more = MAX_HEAD_BYTES.saturating_sub(had).min(bytes.len());
                partial.extend_from_slice(&bytes[..more]);
                match self.head(&partial) {
                    // What was had is no part of these bytes.
                    Some((used, ready)) => (used.saturating_sub(had), ready),
                    None => (more, self.hold(partial, &[], room)),
                }
            }
            State::Body(underway, framing) => self.body(underway, framing, bytes),
            State::Rest(answer, framing, left) => self.rest(answer, framing, left, bytes),
        }
    }

    /// Keeps a head that is not whole.
    fn hold(&mut self, mut partial: Vec<u8>, more: &[u8], mut room: Room) -> Ready {
        partial.extend_from_slice(more);
        match room.grow_to(partial.capacity()) {
            Ok(()) => {
                self.state = State::Head(partial, room);
                Ready::More
            }
            Err(refusal) => {
                self.receiver.not_taken(&refusal);
                self.close = true;
                self.say(otlp::refused(Form::Text, &refusal))
            }
        }
    }

    /// Reads a head; `None` when it is not whole.
    fn head(&mut self, bytes: &[u8]) -> Option<(usize, Ready)> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let length = match request.parse(bytes) {
            Ok(httparse::Status::Complete(length)) if length <= MAX_HEAD_BYTES => length,
            Ok(httparse::Status::Partial) if bytes.len() < MAX_HEAD_BYTES => return None,
            Ok(_) | Err(httparse::Error::TooManyHeaders) => {
                return Some((bytes.len(), self.broken(431, "the head is too long")));
            }
            Err(_) => return Some((bytes.len(), self.broken(400, "no head of HTTP/1.1"))),
        };
        let path = request.path.unwrap_or_default();
        let head = Head {
            method: request.method.unwrap_or_default(),
            path: path.split_once('?').map_or(path, |(path, _)| path),
            headers: request.headers,
        };
        let is_old = request.version == Some(0);
        let Some(frame) = frame(&head, is_old) else {
            let ready = self.broken(400, "it can't be told where the body ends");
            return Some((bytes.len(), ready));
        };
        self.close = frame.close;
        Some((length, self.begin(&head, frame)))
    }

    fn begin(&mut self, head: &Head<'_>, frame: Frame) -> Ready {
        let max_bytes = self.receiver.max_body_bytes as u64;
        let is_too_large = matches!(frame.framing, Framing::Length(bytes) if bytes > max_bytes);
        let is_empty = matches!(frame.framing, Framing::Length(0));
        let admitted = match self.receiver.admit(head) {
            Ok(_) if is_too_large => Err(Refusal::TooLarge),
            admitted => admitted,
        };
        // The answer's body would be read as the next answer.
        self.close |= head.method == "HEAD";
        match admitted.and_then(|route| self.receiver.begin(route)) {
            Ok(underway) if is_empty => self.conclude(underway),
            Ok(underway) => {
                self.state = State::Body(Box::new(underway), frame.framing);
                if frame.awaits_continue {
                    Ready::Continue
                } else {
                    Ready::More
                }
            }
            Err(refusal) => {
                self.receiver.not_taken(&refusal);
                let answer = otlp::refused(self.receiver.form(head), &refusal);
                // Who awaits leave to send a body doesn't send it when it is refused.
                if is_empty || frame.awaits_continue {
                    self.close |= frame.awaits_continue;
                    return self.say(answer);
                }
                self.discard(answer, frame.framing)
            }
        }
    }

    fn body(
        &mut self,
        mut underway: Box<Underway>,
        mut framing: Framing,
        bytes: &[u8],
    ) -> (usize, Ready) {
        let form = underway.route.form;
        let piece = match framing.next(bytes) {
            Ok(piece) => piece,
            Err(BadChunk) => {
                underway.settle(&Refusal::Cut);
                self.close = true;
                return (bytes.len(), self.say(otlp::refused(form, &Refusal::Cut)));
            }
        };
        let ready = match underway.push(&bytes[piece.data]) {
            Err(refusal) if piece.is_over => self.say(otlp::refused(form, &refusal)),
            Err(refusal) => self.discard(otlp::refused(form, &refusal), framing),
            Ok(()) if piece.is_over => self.conclude(*underway),
            Ok(()) => {
                self.state = State::Body(underway, framing);
                Ready::More
            }
        };
        (piece.used, ready)
    }

    /// Reads over what is left of a refused body, up to a bound.
    fn rest(
        &mut self,
        answer: Box<Answer>,
        mut framing: Framing,
        left: u64,
        bytes: &[u8],
    ) -> (usize, Ready) {
        let Ok(piece) = framing.next(bytes) else {
            self.close = true;
            return (bytes.len(), self.say(*answer));
        };
        let left = left.saturating_sub(piece.used as u64);
        if !piece.is_over && left > 0 {
            self.state = State::Rest(answer, framing, left);
            return (piece.used, Ready::More);
        }
        self.close |= !piece.is_over;
        (piece.used, self.say(*answer))
    }

    fn discard(&mut self, answer: Answer, framing: Framing) -> Ready {
        let left = (self.receiver.max_body_bytes as u64).saturating_mul(2);
        self.state = State::Rest(Box::new(answer), framing, left);
        Ready::More
    }

    /// After that nothing on the connection can be understood.
    fn broken(&mut self, status: u16, why: &str) -> Ready {
        self.receiver.not_taken(&Refusal::Cut);
        self.close = true;
        self.say(Answer::new(
            status,
            "text/plain",
            format!("{why}\n").into_bytes(),
        ))
    }

    fn conclude(&mut self, underway: Underway) -> Ready {
        let form = underway.route.form;
        match underway.finish() {
            Verdict::Accepted {
                answer,
                wait,
                ticket,
            } => self.reply(answer, wait, Some(ticket)),
            Verdict::Refused(refusal) => self.say(otlp::refused(form, &refusal)),
            Verdict::Reset => Ready::Reset,
        }
    }

    fn say(&mut self, answer: Answer) -> Ready {
        self.reply(answer, Wait::No, None)
    }

    fn reply(&mut self, answer: Answer, wait: Wait, ticket: Option<Ticket>) -> Ready {
        self.state = State::Idle;
        Ready::Say {
            answer,
            wait,
            ticket,
            close: if self.close { Close::Yes } else { Close::No },
        }
    }
}

/// How the body is framed and what becomes of the connection (RFC 9112, sections 6.3 and 9.3);
/// `None` when a head says it in two ways, or in one that is not understood.
fn frame(head: &Head<'_>, is_old: bool) -> Option<Frame> {
    let count = |name: &str| {
        let named = |h: &&httparse::Header<'_>| h.name.eq_ignore_ascii_case(name);
        head.headers.iter().filter(named).count()
    };
    let framing = match (count("transfer-encoding"), count("content-length")) {
        (0, 0) => Framing::Length(0),
        (0, 1) => Framing::Length(length(head.header("content-length")?)?),
        (1, 0) if is("chunked", head.header("transfer-encoding")) => {
            Framing::Chunked(Chunked::default())
        }
        _ => return None,
    };
    let connection = head.header("connection");
    Some(Frame {
        framing,
        close: has("close", connection) || (is_old && !has("keep-alive", connection)),
        awaits_continue: is("100-continue", head.header("expect")),
    })
}

/// Digits alone: `+5` and ` 5` are lengths to some and none to others.
fn length(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

fn is(expected: &str, value: Option<&str>) -> bool {
    value.is_some_and(|value| value.eq_ignore_ascii_case(expected))
}

/// Whether a list has this word.
fn has(expected: &str, list: Option<&str>) -> bool {
    list.is_some_and(|list| list.split(',').any(|word| is(expected, Some(word.trim()))))
}
