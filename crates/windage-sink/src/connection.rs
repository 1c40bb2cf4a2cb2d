//! One connection: HTTP/1.1 over a socket whose bytes are counted.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::body::Limits;
use crate::counts::Tally;
use crate::{Counts, http};

/// How long a head may take, from the moment the connection could bring one. It is thereby also
/// how long a connection may idle; more than the 60 s between two exports of metrics, so that
/// exporters don't have to connect for each.
const HEAD_WITHIN: Duration = Duration::from_secs(90);
/// Room for a request's head, and for the part of a body that is read at once.
const BUFFER_MAX_BYTES: usize = 128 << 10;

/// Serves requests until the client leaves, idles too long or breaks the protocol.
pub(crate) async fn serve(stream: TcpStream, tally: Arc<Tally>, limits: Limits) {
    let io = TokioIo::new(Metered {
        stream,
        tally: Arc::clone(&tally),
    });
    let service = service_fn(|request| {
        let (tally, limits) = (&tally, &limits);
        async move { Ok::<_, std::convert::Infallible>(http::answer(request, tally, limits).await) }
    });
    // A client that breaks off is no fault of the sink's: what it sent whole is counted.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(BUFFER_MAX_BYTES)
        .serve_connection(io, service)
        .await;
}

/// A socket that adds what is read from it to the arm's wire bytes.
struct Metered {
    stream: TcpStream,
    tally: Arc<Tally>,
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        let read = buffer.filled().len() - before;
        if read > 0 {
            self.tally.add(&Counts {
                wire_bytes: read as u64,
                ..Counts::default()
            });
        }
        polled
    }
}

impl AsyncWrite for Metered {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
