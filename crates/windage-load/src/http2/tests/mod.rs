use std::time::Duration;

use bytes::Bytes;
use h2::Reason;
use http::{HeaderMap, Response};

use super::*;
use support::{Client, Server, answer, request, swallow};

mod failures;
mod grpc_answers;
mod memory;
mod support;

#[test]
fn many_lanes_share_one_connection_and_are_reused() {
    let server = Server::new(
        h2::server::Builder::new(),
        |request, mut answer| async move {
            // Answers arrive in a different order from requests.
            let number: u16 = request.uri().path()[1..].parse().unwrap();
            tokio::time::sleep(Duration::from_millis(u64::from(number % 3))).await;
            let response = Response::builder().status(200 + number).body(()).unwrap();
            let mut body = answer.send_response(response, false).unwrap();
            body.send_data(Bytes::from_static(b"body"), true).unwrap();
        },
    );
    let mut client = Client::ready(server.address, 70);
    assert_eq!(client.session.free_streams(), 70);
    for round in 0..3u16 {
        for lane in 0..70 {
            client.get(lane, &format!("/{}", lane as u16 + round));
        }
        assert_eq!(client.session.free_streams(), 0);
        let expected: Vec<_> = (0..70)
            .map(|lane| (lane, answer(200 + lane as u16 + round)))
            .collect();
        assert_eq!(client.events(70), expected);
        assert_eq!(client.session.free_streams(), 70);
    }
    assert!(client.session.sent_bytes() > 210 * 10);
    assert!(client.session.received_bytes() > 210 * 10);
    assert_eq!(client.session.ended(), None);
    drop(client);
    server.join();
}

#[test]
fn a_body_larger_than_every_window_is_read_to_its_end() {
    const BODY_BYTES: usize = 40_000_000;
    let server = Server::new(h2::server::Builder::new(), |_, mut answer| async move {
        let mut body = answer.send_response(Response::new(()), false).unwrap();
        // `h2` sends it as the windows allow.
        body.send_data(Bytes::from(vec![b'x'; BODY_BYTES]), true)
            .unwrap();
    });
    let mut client = Client::ready(server.address, 1);
    client.get(0, "/");
    assert_eq!(client.event(), answer(200));
    assert!(client.session.received_bytes() > BODY_BYTES as u64);
    drop(client);
    server.join();
}

#[test]
fn a_request_body_larger_than_the_window_is_sent_as_the_server_reads() {
    const BODY_BYTES: usize = 5_000_000;
    let server = Server::new(
        h2::server::Builder::new(),
        |request, mut answer| async move {
            let length = swallow(request.into_body()).await;
            let status = if length == BODY_BYTES { 200 } else { 400 };
            let response = Response::builder().status(status).body(()).unwrap();
            answer.send_response(response, true).unwrap();
        },
    );
    let mut client = Client::ready(server.address, 2);
    let body = Bytes::from(vec![b'x'; BODY_BYTES]);
    client.post(0, "/", body.clone());
    client.post(1, "/", body);
    assert_eq!(client.events(2), [(0, answer(200)), (1, answer(200))]);
    assert!(client.session.sent_bytes() > 2 * BODY_BYTES as u64);
    drop(client);
    server.join();
}

#[test]
fn the_servers_stream_limit_is_respected() {
    let mut builder = h2::server::Builder::new();
    builder.max_concurrent_streams(3);
    let server = Server::new(builder, |_, mut answer| async move {
        tokio::time::sleep(Duration::from_millis(5)).await;
        answer.send_response(Response::new(()), true).unwrap();
    });
    let mut client = Client::ready(server.address, 10);
    assert_eq!(client.session.free_streams(), 3);
    for _ in 0..3 {
        for lane in 4..7 {
            client.get(lane, "/");
        }
        let refused = client
            .session
            .send(7, request("GET", "/"), Bytes::new(), false);
        assert!(
            matches!(refused, Err(SessionError::NoFreeStream)),
            "{refused:?}"
        );
        let expected: Vec<_> = (4..7).map(|lane| (lane, answer(200))).collect();
        assert_eq!(client.events(3), expected);
    }
    drop(client);
    server.join();
}

#[test]
fn heads_without_bodies_and_interim_answers_are_parsed() {
    let server = Server::new(
        h2::server::Builder::new(),
        |request, mut answer| async move {
            if request.method() == "HEAD" {
                let response = Response::builder()
                    .header("content-length", "1000")
                    .body(())
                    .unwrap();
                answer.send_response(response, true).unwrap();
                return;
            }
            for status in [100, 103] {
                let interim = Response::builder().status(status).body(()).unwrap();
                answer.send_informational(interim).unwrap();
            }
            let response = Response::builder().status(204).body(()).unwrap();
            answer.send_response(response, true).unwrap();
        },
    );
    let mut client = Client::ready(server.address, 2);
    client.send(0, "HEAD", "/", Bytes::new());
    client.get(1, "/");
    assert_eq!(client.events(2), [(0, answer(200)), (1, answer(204))]);
    drop(client);
    server.join();
}

#[test]
fn trailers_end_an_answer() {
    let server = Server::new(h2::server::Builder::new(), |_, mut answer| async move {
        let mut body = answer.send_response(Response::new(()), false).unwrap();
        body.send_data(Bytes::from_static(b"x"), false).unwrap();
        let mut trailers = HeaderMap::new();
        trailers.insert("checksum", "1".parse().unwrap());
        body.send_trailers(trailers).unwrap();
    });
    let mut client = Client::ready(server.address, 1);
    client.get(0, "/");
    assert_eq!(client.event(), answer(200));
    drop(client);
    server.join();
}

#[test]
fn a_cancelled_exchange_is_reset_and_its_lane_reused() {
    let (reset_reason, reset) = std::sync::mpsc::channel();
    let server = Server::new(h2::server::Builder::new(), move |request, mut answer| {
        let reset_reason = reset_reason.clone();
        async move {
            if request.uri().path() == "/never" {
                let reason = std::future::poll_fn(|context| answer.poll_reset(context)).await;
                reset_reason.send(reason.unwrap()).unwrap();
            } else {
                answer.send_response(Response::new(()), true).unwrap();
            }
        }
    });
    let mut client = Client::ready(server.address, 2);
    client.get(0, "/never");
    client.get(1, "/");
    assert_eq!(client.events(1), [(1, answer(200))]);
    client.session.cancel(0);
    client.session.cancel(0);
    assert_eq!(client.session.free_streams(), 2);
    client.get(0, "/");
    assert_eq!(client.events(1), [(0, answer(200))]);
    assert_eq!(
        reset.recv_timeout(Duration::from_secs(10)).unwrap(),
        Reason::CANCEL
    );
    drop(client);
    server.join();
}

#[test]
fn a_cancelled_exchange_has_no_event() {
    let server = Server::plain();
    let mut client = Client::ready(server.address, 1);
    client.get(0, "/");
    client.until(|session| !session.events.is_empty());
    client.session.cancel(0);
    assert_eq!(client.session.next_event(), None);
    assert_eq!(client.session.free_streams(), 1);
    client.get(0, "/");
    assert_eq!(client.event(), answer(200));
    drop(client);
    server.join();
}

#[test]
fn an_early_answer_drops_the_rest_of_the_request() {
    let (reset_reason, reset) = std::sync::mpsc::channel();
    let server = Server::new(h2::server::Builder::new(), move |request, mut answer| {
        let reset_reason = reset_reason.clone();
        async move {
            // Not read, so that the window stays closed.
            let mut body = request.into_body();
            answer.send_response(Response::new(()), true).unwrap();
            let error = loop {
                match body.data().await {
                    Some(Ok(_)) => {}
                    Some(Err(error)) => break error,
                    None => panic!("the whole body arrived"),
                }
            };
            reset_reason.send(error.reason()).unwrap();
        }
    });
    let mut client = Client::ready(server.address, 1);
    client.post(0, "/", Bytes::from(vec![b'x'; 3_000_000]));
    assert_eq!(client.event(), answer(200));
    client.until(|_| reset.try_recv() == Ok(Some(Reason::CANCEL)));
    drop(client);
    server.join();
}

#[test]
fn refused_requests_leave_the_lane_free() {
    let server = Server::plain();
    let mut client = Client::open(server.address, 1);
    let refused = client
        .session
        .send(0, request("GET", "/"), Bytes::new(), false);
    assert!(
        matches!(refused, Err(SessionError::NotReady)),
        "{refused:?}"
    );
    client.until(Session::is_ready);

    let mut forbidden = request("GET", "/");
    forbidden
        .headers_mut()
        .insert("connection", "close".parse().unwrap());
    let refused = client.session.send(0, forbidden, Bytes::new(), false);
    assert!(
        matches!(refused, Err(SessionError::Request(_))),
        "{refused:?}"
    );
    let refused = client
        .session
        .send(1, request("GET", "/"), Bytes::new(), false);
    assert!(matches!(refused, Err(SessionError::Lane(1))), "{refused:?}");

    client.get(0, "/");
    assert_eq!(client.event(), answer(200));
    drop(client);
    server.join();
}

#[test]
fn a_session_may_move_to_another_thread() {
    fn moves<T: Send>() {}
    moves::<Session>();
}
