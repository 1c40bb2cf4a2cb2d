//! Time limits for callers, on sockets under a simulated clock: no real time passes.

use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use h2::client::{Builder, SendRequest};
use hyper::Request;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, LocalSet};
use tokio::time::{Instant, sleep, timeout};

use super::{LEAVES_WITHIN, MAX_AGE, serve};
use crate::Protocol;
use crate::receiver::{Ending, Receiver};

/// Longer than any connection without calls may last.
const FOREVER: Duration = Duration::from_secs(60 * 60);

fn receiver() -> Arc<Receiver> {
    Receiver::alone(Protocol::OtlpGrpc, 4 << 10, 1 << 20)
}

/// A connection to a receiver, which serves it until it ends.
async fn connected(receiver: &Arc<Receiver>) -> (TcpStream, JoinHandle<Ending>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let (served, _) = listener.accept().await.unwrap();
    let receiver = Arc::clone(receiver);
    let serving = tokio::task::spawn_local(async move { serve(served, &receiver).await });
    (client, serving)
}

/// HTTP/2 over a connection, with this window for answers.
async fn caller(client: TcpStream, window_bytes: u32) -> SendRequest<Bytes> {
    let (calls, connection) = Builder::new()
        .initial_window_size(window_bytes)
        .handshake(client)
        .await
        .unwrap();
    tokio::task::spawn_local(connection);
    calls
}

/// A call with a message of one span, named by a number. Returns the status of the answer, if there is
/// one.
async fn export(calls: &SendRequest<Bytes>, number: u32) -> Result<String, h2::Error> {
    const TRACES: &str = "http://sink/opentelemetry.proto.collector.trace.v1.TraceService/Export";
    let request = Request::post(TRACES).header("content-type", "application/grpc");
    let mut message = BytesMut::new();
    message.put_u8(0);
    message.put_u32(12);
    message.put_slice(&[0x0a, 10, 0x12, 8, 0x12, 6, 0x2a, 4]);
    message.put_u32(number);
    let mut calls = calls.clone().ready().await?;
    let (answer, mut stream) = calls.send_request(request.body(()).unwrap(), false)?;
    stream.send_data(message.freeze(), true)?;
    let mut body = answer.await?.into_body();
    while let Some(data) = body.data().await {
        body.flow_control().release_capacity(data?.len())?;
    }
    let trailers = body.trailers().await?.unwrap_or_default();
    Ok(trailers["grpc-status"].to_str().unwrap().to_owned())
}

/// How long a connection lasts on which only this is sent.
async fn lasts(wire: &[u8]) -> u64 {
    let (mut client, serving) = connected(&receiver()).await;
    let began = Instant::now();
    client.write_all(wire).await.unwrap();
    let (mut reading, _writing) = client.split();
    let read = async {
        // Whatever is answered, and a reset at the end.
        let _ = reading.read_to_end(&mut Vec::new()).await;
    };
    timeout(FOREVER, read).await.unwrap();
    assert_eq!(serving.await.unwrap(), Ending::Closed);
    began.elapsed().as_secs()
}

#[tokio::test(start_paused = true)]
async fn clients_have_time_limits() {
    let begins = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let table: [(&str, &[u8], u64); 3] = [
        ("nothing", b"", 10),
        ("half of the preface", &begins[..10], 10),
        ("no call", begins, 300),
    ];
    let run = async {
        for (name, wire, seconds) in table {
            assert_eq!(lasts(wire).await, seconds, "{name}");
        }
    };
    LocalSet::new().run_until(run).await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_never_read_ends_the_connection() {
    let run = async {
        let receiver = receiver();
        let (client, serving) = connected(&receiver).await;
        let calls = caller(client, 0).await;
        let began = Instant::now();
        let unread = tokio::task::spawn_local({
            let calls = calls.clone();
            async move { export(&calls, 1).await }
        });
        let ending = timeout(FOREVER, serving).await;
        assert_eq!(ending.unwrap().unwrap(), Ending::Closed);
        assert_eq!(began.elapsed().as_secs(), 30);
        assert!(unread.await.unwrap().is_err());
        // It arrived, and would be recognised if it were sent again.
        assert_eq!(receiver.account.counts().spans, 1);
        let (client, _serving) = connected(&receiver).await;
        assert_eq!(export(&caller(client, 100).await, 1).await.unwrap(), "0");
        let counts = receiver.account.counts();
        assert_eq!((counts.spans, counts.repeated_spans), (1, 1));
    };
    LocalSet::new().run_until(run).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_is_sent_away_after_a_day_and_loses_nothing() {
    const EVERY: Duration = Duration::from_secs(60);
    let run = async {
        let receiver = receiver();
        let (client, mut serving) = connected(&receiver).await;
        let mut calls = caller(client, 100).await;
        let (began, mut connections, mut exports) = (Instant::now(), 1, 0);
        while began.elapsed() < 2 * MAX_AGE + FOREVER {
            match export(&calls, exports).await {
                Ok(status) => {
                    assert_eq!(status, "0");
                    exports += 1;
                    sleep(EVERY).await;
                }
                // As clients do: a call that the connection no longer takes goes over another.
                Err(error) => {
                    assert!(error.is_go_away(), "{error}");
                    drop(calls);
                    assert_eq!(serving.await.unwrap(), Ending::Closed);
                    let (client, next) = connected(&receiver).await;
                    (calls, serving) = (caller(client, 100).await, next);
                    connections += 1;
                }
            }
        }
        assert_eq!(connections, 3);
        let counts = receiver.account.counts();
        assert_eq!(
            (counts.requests, counts.spans),
            (exports.into(), exports.into())
        );
    };
    LocalSet::new().run_until(run).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_leave_is_cut_off() {
    let run = async {
        let receiver = receiver();
        receiver
            .account
            .behaviour
            .send_replace(crate::behaviour::Behaviour::of("stall".parse().unwrap()));
        let (client, serving) = connected(&receiver).await;
        let calls = caller(client, 100).await;
        let began = Instant::now();
        let waiting = tokio::task::spawn_local(async move { export(&calls, 1).await });
        let ending = timeout(2 * MAX_AGE, serving).await;
        assert_eq!(ending.unwrap().unwrap(), Ending::Closed);
        assert_eq!(
            began.elapsed().as_secs(),
            (MAX_AGE + LEAVES_WITHIN).as_secs()
        );
        assert!(waiting.await.unwrap().is_err());
    };
    LocalSet::new().run_until(run).await;
}
