//! Time limits for senders, on sockets under a simulated clock.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, join, simplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout};

use super::{receiver, spans, with_length};
use crate::http1::serve;
use crate::receiver::{Ending, Receiver};

/// Longer than any connection may last without a complete request.
const FOREVER: Duration = Duration::from_secs(60 * 60);

/// How long a connection lasts on which only this is sent, and its last answer. The clock is
/// simulated: no real time passes.
async fn lasts(wire: &[u8], receiver: &Arc<Receiver>) -> (Duration, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let (served, _) = listener.accept().await.unwrap();
    client.write_all(wire).await.unwrap();
    let began = Instant::now();
    let client = async {
        let mut said = Vec::new();
        client.read_to_end(&mut said).await.unwrap();
        // The sink has answered; it keeps its end open until we close ours.
        let ended = began.elapsed();
        drop(client);
        (ended, String::from_utf8(said).unwrap())
    };
    tokio::join!(client, serve(served, receiver)).0
}

#[tokio::test(start_paused = true)]
async fn senders_have_time_limits() {
    let whole = with_length("", &spans(7));
    let half = &whole[..whole.len() - 3];
    let behind = [whole.as_slice(), half].concat();
    // Name, what is sent, seconds the connection lasts, statuses received, requests rejected.
    type Row<'a> = (&'a str, &'a [u8], u64, &'a [&'a str], u64);
    let table: [Row<'_>; 5] = [
        ("nothing", b"", 90, &[], 0),
        ("a head without an end", b"POST /v1/traces", 90, &["408"], 1),
        ("a body without an end", half, 30, &["408"], 1),
        ("idle after a request", &whole, 90, &["200"], 0),
        ("the second is cut", &behind, 30, &["200", "408"], 1),
    ];
    for (name, wire, seconds, statuses, rejected) in table {
        let receiver = receiver();
        let (lasted, said) = lasts(wire, &receiver).await;
        assert_eq!(lasted.as_secs(), seconds, "{name}");
        let found: Vec<_> = said
            .lines()
            .filter_map(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3))
            .collect();
        assert_eq!(found, statuses, "{name}");
        assert_eq!(receiver.account.counts().rejected, rejected, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_sender_that_reads_nothing_is_cut_off() {
    let receiver = receiver();
    let (received, mut writing) = simplex(1 << 10);
    // Too short for an answer.
    let (_unread, sent) = simplex(16);
    writing
        .write_all(&with_length("", &spans(7)))
        .await
        .unwrap();
    let began = Instant::now();
    let served = join(received, sent);
    let ending = timeout(FOREVER, serve(served, &receiver)).await;
    assert_eq!(ending, Ok(Ending::Closed));
    // Input is discarded for another 2 s.
    assert_eq!(began.elapsed().as_secs(), 32);
}
