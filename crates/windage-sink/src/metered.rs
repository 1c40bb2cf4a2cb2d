//! A socket that counts the bytes read from it, and ends when nobody reads what is written to it.

use std::cell::Cell;
use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::account::Ticket;
use crate::receiver::Receiver;

/// How long a full socket may take to accept more. Answers are short and the kernel holds thousands of
/// them: only a client that never reads fills its socket.
const WRITTEN_WITHIN: Duration = Duration::from_secs(30);

/// What happens on a socket, as its connection sees it.
#[derive(Default)]
pub(crate) struct Traffic {
    /// Whether anything was read since this flag was last taken.
    pub(crate) was_read: Cell<bool>,
    /// The ticket of an answer about to be written; it counts as answered when everything is
    /// written.
    pub(crate) unsent: Cell<Option<Ticket>>,
}

/// A socket that adds what is read from it to the arm's wire bytes.
pub(crate) struct Metered<S> {
    stream: S,
    receiver: Arc<Receiver>,
    traffic: Rc<Traffic>,
    /// Whether the end of the input was seen.
    is_over: bool,
    /// When a full socket ends.
    full_until: Option<Pin<Box<Sleep>>>,
}

impl<S> Metered<S> {
    pub(crate) fn new(stream: S, receiver: Arc<Receiver>, traffic: Rc<Traffic>) -> Metered<S> {
        Metered {
            stream,
            receiver,
            traffic,
            is_over: false,
            full_until: None,
        }
    }

    /// Turns a write that waits for too long into an error.
    fn in_time(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.full_until = None;
            return written;
        }
        let begin = || Box::pin(sleep(WRITTEN_WITHIN));
        let end = self.full_until.get_or_insert_with(begin).as_mut();
        end.poll(context)
            .map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        let read = buffer.filled().len() - before;
        if read > 0 {
            self.receiver.wire_bytes(read);
            self.traffic.was_read.set(true);
        } else if polled.is_ready() && !self.is_over {
            // At the end of input hyper drops requests that it has read but not passed on yet, so
            // these come first.
            self.is_over = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, data);
        self.in_time(written, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        if let Poll::Ready(Ok(())) = polled
            && let Some(ticket) = self.traffic.unsent.take()
        {
            ticket.answered();
        }
        polled
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
