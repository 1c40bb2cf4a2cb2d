//! gRPC over bare HTTP/2, so that invalid calls can be made as well.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::{Bytes, BytesMut};
use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use hyper::header::HeaderMap;
use hyper::{Request, Response};
use prost::Message;
use tokio::net::TcpStream;

pub(crate) const TRACES: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
pub(crate) const METRICS: &str = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export";
pub(crate) const LOGS: &str = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
pub(crate) const PROFILES: &str =
    "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export";

/// A connection, driven by its own task.
pub(crate) struct Caller {
    calls: SendRequest<Bytes>,
    pub(crate) connection: tokio::task::JoinHandle<Result<(), h2::Error>>,
}

/// A call that waits for its answer.
pub(crate) struct Call {
    pub(crate) stream: SendStream<Bytes>,
    response: ResponseFuture,
}

/// How a call ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) http_status: u16,
    /// `None` when there is no gRPC status.
    pub(crate) code: Option<u16>,
    pub(crate) message: String,
    /// When to retry, if given.
    pub(crate) retry_after: Option<Duration>,
    /// The message, with its frame.
    pub(crate) body: Vec<u8>,
}

/// A message in its frame.
pub(crate) fn framed(message: &[u8], is_compressed: bool) -> Bytes {
    let mut frame = vec![u8::from(is_compressed)];
    frame.extend_from_slice(&u32::try_from(message.len()).unwrap().to_be_bytes());
    frame.extend_from_slice(message);
    frame.into()
}

pub(crate) fn request(path: &str, headers: &[(&'static str, &'static str)]) -> Request<()> {
    let mut request = Request::post(format!("http://sink{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap()
}

impl Caller {
    pub(crate) async fn connect(address: SocketAddr) -> io::Result<Caller> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (calls, connection) = h2::client::handshake(stream)
            .await
            .map_err(io::Error::other)?;
        Ok(Caller {
            calls,
            connection: tokio::spawn(connection),
        })
    }

    /// Opens a call without sending a body.
    pub(crate) async fn open(&mut self, request: Request<()>) -> Result<Call, h2::Error> {
        poll_fn(|context| self.calls.poll_ready(context)).await?;
        let (response, stream) = self.calls.send_request(request, false)?;
        Ok(Call { stream, response })
    }

    /// Makes a complete call.
    pub(crate) async fn call(
        &mut self,
        request: Request<()>,
        body: Bytes,
    ) -> Result<Ended, h2::Error> {
        let mut call = self.open(request).await?;
        call.stream.send_data(body, true)?;
        call.end().await
    }

    /// Exports a message as exporters do.
    pub(crate) async fn export(&mut self, path: &str, message: &[u8]) -> Result<Ended, h2::Error> {
        self.call(request(path, &[]), framed(message, false)).await
    }
}

impl Call {
    pub(crate) async fn end(self) -> Result<Ended, h2::Error> {
        ended(self.response.await?).await
    }
}

async fn ended(response: Response<RecvStream>) -> Result<Ended, h2::Error> {
    let (head, mut stream) = response.into_parts();
    let mut body = BytesMut::new();
    while let Some(data) = stream.data().await {
        let data = data?;
        stream.flow_control().release_capacity(data.len())?;
        body.extend_from_slice(&data);
    }
    // Errors may be in the head already.
    let trailers = stream.trailers().await?.unwrap_or(head.headers);
    let text = |name: &str| trailers.get(name).map(|value| value.to_str().unwrap());
    Ok(Ended {
        http_status: head.status.as_u16(),
        code: text("grpc-status").map(|code| code.parse().unwrap()),
        message: text("grpc-message").unwrap_or_default().to_owned(),
        retry_after: retry_after(&trailers),
        body: body.to_vec(),
    })
}

/// `google.rpc.Status`, with the details that tests look at.
#[derive(Clone, PartialEq, Message)]
struct Details {
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<Delay>,
}

#[derive(Clone, PartialEq, Message)]
struct Delay {
    #[prost(uint64, tag = "1")]
    seconds: u64,
    #[prost(uint32, tag = "2")]
    nanos: u32,
}

fn retry_after(trailers: &HeaderMap) -> Option<Duration> {
    let details = STANDARD_NO_PAD
        .decode(trailers.get("grpc-status-details-bin")?)
        .unwrap();
    let details = Details::decode(details.as_slice()).unwrap().details;
    let retry = details
        .iter()
        .find(|any| any.type_url == "type.googleapis.com/google.rpc.RetryInfo")?;
    let delay = RetryInfo::decode(retry.value.as_slice())
        .unwrap()
        .retry_delay?;
    Some(Duration::new(delay.seconds, delay.nanos))
}
