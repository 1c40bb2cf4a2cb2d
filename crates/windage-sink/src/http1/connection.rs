//! Bytes between a socket and the [`Reader`].

use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::io::{self, Write as _};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};

use crate::exchange::Answer;
use crate::http1::reader::{Close, Reader, Ready};
use crate::receiver::{Receiver, Wait};
use crate::room::Room;

/// How long a connection may idle; more than the 60 s between two exports of metrics, so that
/// exporters don't have to connect for each.
const IDLE_WITHIN: Duration = Duration::from_secs(90);
/// How long a request may take to arrive; exporters give up after 10 s by default.
const ARRIVES_WITHIN: Duration = Duration::from_secs(30);
/// How long a sender may take to read an answer.
const WRITTEN_WITHIN: Duration = Duration::from_secs(10);
/// How long a sender may go on after the last answer of its connection.
const LINGERS: Duration = Duration::from_secs(2);
/// Whoever sends more than that meanwhile does not listen: over loopback that can be gigabytes a second.
const LINGERS_FOR_BYTES: usize = 1 << 30;
/// What is read at once, by whichever connection has something.
const BUFFER_BYTES: usize = 256 << 10;
/// Reads in a row, before other connections have their turn.
const READS_IN_A_ROW: u32 = 8;

/// The buffer that all connections of the sink's thread read into.
pub(crate) type SharedBuffer = Rc<RefCell<Box<[u8]>>>;

/// A buffer for all connections.
pub(crate) fn shared_buffer() -> SharedBuffer {
    Rc::new(RefCell::new(vec![0; BUFFER_BYTES].into_boxed_slice()))
}

/// Bytes that came behind a request, in memory lent for them.
#[derive(Default)]
struct Behind {
    bytes: Vec<u8>,
    used: usize,
    _room: Option<Room>,
}

impl Behind {
    fn is_empty(&self) -> bool {
        self.used == self.bytes.len()
    }
}

/// Serves requests until the client leaves, idles too long or breaks the protocol.
pub(crate) async fn serve(mut stream: TcpStream, receiver: Arc<Receiver>, buffer: SharedBuffer) {
    let mut reader = Reader::new(Arc::clone(&receiver));
    let mut behind = Behind::default();
    while let Some(ready) = next(&stream, &mut reader, &receiver, &buffer, &mut behind).await {
        let is_over = match ready {
            Ready::More => false,
            Ready::Continue => write(&mut stream, b"HTTP/1.1 100 Continue\r\n\r\n")
                .await
                .is_err(),
            Ready::Reset => {
                let _ = stream.set_zero_linger();
                return;
            }
            Ready::Say {
                answer,
                wait,
                mut ticket,
                close,
            } => {
                if let (true, Some(ticket)) = (wait != Wait::No, &mut ticket) {
                    ticket.pend();
                }
                let is_there = waited(&stream, &receiver, wait, behind.is_empty()).await;
                let sent = is_there && say(&mut stream, &answer, close).await.is_ok();
                if let (true, Some(ticket)) = (sent, ticket) {
                    ticket.answered();
                }
                !sent || close == Close::Yes
            }
        };
        if is_over {
            break;
        }
    }
    end(stream, &receiver, &buffer).await;
}

/// Reads until there is something to do; `None` at the connection's end.
async fn next(
    stream: &TcpStream,
    reader: &mut Reader,
    receiver: &Receiver,
    buffer: &SharedBuffer,
    behind: &mut Behind,
) -> Option<Ready> {
    if !behind.is_empty() {
        let (used, ready) = reader.feed(&behind.bytes[behind.used..]);
        behind.used += used;
        if !matches!(ready, Ready::More) {
            return Some(ready);
        }
    }
    *behind = Behind::default();
    let mut deadline = Instant::now() + IDLE_WITHIN;
    let mut was_within = false;
    let mut reads = 0;
    loop {
        if reader.is_within_request() && !was_within {
            was_within = true;
            deadline = Instant::now() + ARRIVES_WITHIN;
        }
        match timeout_at(deadline, stream.readable()).await {
            // A sender that always has something more must not get past the time it has.
            Ok(Ok(())) if Instant::now() < deadline => {}
            Ok(Err(_)) => return None,
            _ => return reader.time_out(),
        }
        match read(stream, reader, receiver, buffer, behind) {
            Ok(Some(Ready::More)) => {}
            Ok(ready) => return ready,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
        reads += 1;
        if reads % READS_IN_A_ROW == 0 {
            tokio::task::yield_now().await;
        }
    }
}

/// One read into the shared buffer, which nobody else has between here and the return; `None`
/// when the sender has left.
fn read(
    stream: &TcpStream,
    reader: &mut Reader,
    receiver: &Receiver,
    buffer: &SharedBuffer,
    behind: &mut Behind,
) -> io::Result<Option<Ready>> {
    let mut buffer = buffer.borrow_mut();
    let length = stream.try_read(&mut buffer)?;
    if length == 0 {
        return Ok(None);
    }
    receiver.wire_bytes(length);
    let (used, mut ready) = reader.feed(&buffer[..length]);
    let rest = &buffer[used..length];
    if !rest.is_empty() {
        let mut room = receiver.account.budget.room();
        if room.grow_to(rest.len()).is_ok() {
            *behind = Behind {
                bytes: rest.to_vec(),
                used: 0,
                _room: Some(room),
            };
        } else {
            // Who sends ahead finds out by the end of the connection that it has to send again.
            match &mut ready {
                Ready::Say { close, .. } => *close = Close::Yes,
                _ => return Ok(None),
            }
        }
    }
    Ok(Some(ready))
}

/// Ends the connection. Whatever the sender is still sending would turn that into a reset, in
/// which the last answer may get lost: it is read over for a while (RFC 9112, section 9.6).
async fn end(mut stream: TcpStream, receiver: &Receiver, buffer: &SharedBuffer) {
    if stream.shutdown().await.is_err() {
        return;
    }
    let deadline = Instant::now() + LINGERS;
    let mut read_over = 0;
    while let Ok(Ok(())) = timeout_at(deadline, stream.readable()).await {
        if Instant::now() > deadline || read_over > LINGERS_FOR_BYTES {
            return;
        }
        match stream.try_read(&mut buffer.borrow_mut()) {
            Ok(0) => return,
            Ok(length) => {
                read_over += length;
                receiver.wire_bytes(length);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
        tokio::task::yield_now().await;
    }
}

/// Waits as the backend's behaviour asks; whether the sender is still there afterwards.
async fn waited(stream: &TcpStream, receiver: &Receiver, wait: Wait, can_watch: bool) -> bool {
    if wait == Wait::No {
        return true;
    }
    tokio::select! {
        // A sender that has left gets no answer, even when it could.
        biased;
        () = has_left(stream, can_watch) => false,
        () = receiver.wait(wait) => true,
    }
}

/// Ends when the sender closes the connection. When it has sent more instead, only writing to it
/// can tell.
async fn has_left(stream: &TcpStream, can_watch: bool) {
    if !can_watch {
        pending::<()>().await;
    }
    let mut byte = [0];
    let mut byte = tokio::io::ReadBuf::new(&mut byte);
    match poll_fn(|context| stream.poll_peek(context, &mut byte)).await {
        Ok(0) | Err(_) => {}
        Ok(_) => pending::<()>().await,
    }
}

async fn say(stream: &mut TcpStream, answer: &Answer, close: Close) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(160 + answer.body.len());
    write!(
        bytes,
        "HTTP/1.1 {} {}\r\n",
        answer.status,
        reason(answer.status)
    )?;
    if !answer.content_type.is_empty() {
        write!(bytes, "content-type: {}\r\n", answer.content_type)?;
    }
    if let Some((name, value)) = &answer.header {
        write!(bytes, "{name}: {value}\r\n")?;
    }
    if close == Close::Yes {
        bytes.extend_from_slice(b"connection: close\r\n");
    }
    // An answer without content has no length either (RFC 9110, section 8.6).
    if answer.status == 204 {
        bytes.extend_from_slice(b"\r\n");
    } else {
        write!(bytes, "content-length: {}\r\n\r\n", answer.body.len())?;
        bytes.extend_from_slice(&answer.body);
    }
    write(stream, &bytes).await
}

async fn write(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    // Nearly always it goes at once, without a timer.
    let sent = stream.try_write(bytes).unwrap_or(0);
    if sent == bytes.len() {
        return Ok(());
    }
    timeout(WRITTEN_WITHIN, stream.write_all(&bytes[sent..]))
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

fn reason(status: u16) -> &'static str {
    let status = hyper::StatusCode::from_u16(status).ok();
    status
        .and_then(|status| status.canonical_reason())
        .unwrap_or("Unknown")
}
