use std::io::{Read, Write};
use std::sync::mpsc::channel;

use bytes::Bytes;
use h2::Reason;
use http::Response;

use super::support::{
    Client, END_HEADERS, END_STREAM, HEADERS, STATUS_200, Server, answer, await_frame,
    begin_by_hand, failure, frame, request,
};
use super::*;

const DATA: u8 = 0;
const PUSH_PROMISE: u8 = 5;
const GOAWAY: u8 = 7;

#[test]
fn a_reset_stream_fails_alone() {
    let server = Server::new(
        h2::server::Builder::new(),
        |request, mut answer| async move {
            if request.uri().path() == "/refused" {
                answer.send_reset(Reason::REFUSED_STREAM);
            } else {
                answer.send_response(Response::new(()), true).unwrap();
            }
        },
    );
    let mut client = Client::ready(server.address, 2);
    client.get(0, "/refused");
    client.get(1, "/");
    let mut events = client.events(2);
    assert_eq!(events.pop(), Some((1, answer(200))));
    let (protocol, why) = failure(events.remove(0).1);
    assert!(!protocol && why.contains("REFUSED_STREAM"), "{why}");
    assert_eq!(client.session.free_streams(), 2);
    drop(client);
    server.join();
}

#[test]
fn a_storm_of_resets_ends_the_connection() {
    let server = Server::new(h2::server::Builder::new(), |_, mut answer| async move {
        answer.send_reset(Reason::INTERNAL_ERROR);
    });
    let mut client = Client::ready(server.address, 10);
    for round in 0..RESETS_IN_A_ROW / 10 {
        assert_eq!(client.session.ended(), None, "round {round}");
        for lane in 0..10 {
            client.get(lane, "/");
        }
        assert_eq!(client.events(10).len(), 10);
    }
    assert_eq!(
        client.session.ended(),
        Some("the server reset 100 streams in a row")
    );
    assert_eq!(client.session.free_streams(), 0);
    drop(client);
    server.join();
}

#[test]
fn an_answer_between_resets_restarts_the_count() {
    let server = Server::new(
        h2::server::Builder::new(),
        |request, mut answer| async move {
            if request.uri().path() == "/" {
                answer.send_response(Response::new(()), true).unwrap();
            } else {
                answer.send_reset(Reason::INTERNAL_ERROR);
            }
        },
    );
    let mut client = Client::ready(server.address, 1);
    for number in 0..3 * RESETS_IN_A_ROW {
        client.get(0, if number % 10 == 0 { "/" } else { "/reset" });
        client.event();
    }
    assert_eq!(client.session.ended(), None);
    drop(client);
    server.join();
}

#[test]
fn goaway_fails_later_streams_and_lets_earlier_ones_finish() {
    let (go_on, may_go_on) = channel();
    let server = Server::raw(move |mut socket| {
        begin_by_hand(&mut socket);
        for _ in 0..3 {
            await_frame(&mut socket, HEADERS);
        }
        // The last stream that will be answered is 1; NO_ERROR.
        let goaway = [0, 0, 0, 1, 0, 0, 0, 0];
        socket.write_all(&frame(GOAWAY, 0, 0, &goaway)).unwrap();
        may_go_on.recv().unwrap();
        let head = frame(HEADERS, END_STREAM | END_HEADERS, 1, &[STATUS_200]);
        socket.write_all(&head).unwrap();
        let _ = socket.read_to_end(&mut Vec::new());
    });
    let mut client = Client::ready(server.address, 4);
    for lane in 0..3 {
        client.get(lane, "/");
    }
    client.until(|session| session.events.len() == 2);
    for (lane, event) in client.events(2) {
        let (protocol, why) = failure(event);
        assert!(lane > 0 && !protocol && why.contains("GOAWAY"), "{why}");
    }
    // No new exchanges, but the current ones go on.
    assert_eq!(client.session.ended(), None);
    assert_eq!(client.session.free_streams(), 0);
    let refused = client
        .session
        .send(3, request("GET", "/"), Bytes::new(), false);
    assert!(matches!(refused, Err(SessionError::Over(_))), "{refused:?}");
    go_on.send(()).unwrap();
    assert_eq!(client.events(1), [(0, answer(200))]);
    assert_eq!(
        client.session.ended(),
        Some("the server sent GOAWAY NO_ERROR")
    );
    drop(client);
    server.join();
}

#[test]
fn cancelling_the_last_exchange_after_goaway_ends_the_connection() {
    let server = Server::raw(|mut socket| {
        begin_by_hand(&mut socket);
        await_frame(&mut socket, HEADERS);
        let goaway = [0, 0, 0, 1, 0, 0, 0, 2];
        socket.write_all(&frame(GOAWAY, 0, 0, &goaway)).unwrap();
        let _ = socket.read_to_end(&mut Vec::new());
    });
    let mut client = Client::ready(server.address, 1);
    client.get(0, "/");
    client.until(|session| !session.is_ready());
    assert_eq!(client.session.ended(), None);
    client.session.cancel(0);
    let why = client.session.ended().unwrap();
    assert!(why.contains("INTERNAL_ERROR"), "{why}");
    drop(client);
    server.join();
}

#[test]
fn a_server_of_another_protocol_is_recognised_by_its_first_bytes() {
    let server = Server::raw(|mut socket| {
        socket
            .write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
            .unwrap();
        let _ = socket.read_to_end(&mut Vec::new());
    });
    let mut client = Client::open(server.address, 1);
    client.until(|session| session.ended().is_some());
    let why = client.session.ended().unwrap();
    assert!(why.contains("does not speak HTTP/2"), "{why}");
    assert!(!client.session.is_ready());
    assert!(!client.session.drive(false));
    drop(client);
    server.join();
}

#[test]
fn closing_before_http2_began_has_its_own_message() {
    let server = Server::raw(drop);
    let mut client = Client::open(server.address, 1);
    client.until(|session| session.ended().is_some());
    let why = client.session.ended().unwrap();
    assert!(why.contains("closed before HTTP/2 began"), "{why}");
    drop(client);
    server.join();
}

#[test]
fn closing_during_an_answer_fails_all_current_exchanges() {
    let server = Server::raw(|mut socket| {
        begin_by_hand(&mut socket);
        for _ in 0..2 {
            await_frame(&mut socket, HEADERS);
        }
        let head = frame(HEADERS, END_HEADERS, 1, &[STATUS_200]);
        socket.write_all(&head).unwrap();
        // Less than its declared length.
        let data = frame(DATA, END_STREAM, 1, &[b'x'; 100]);
        socket.write_all(&data[..50]).unwrap();
    });
    let mut client = Client::ready(server.address, 3);
    client.get(0, "/");
    client.get(1, "/");
    for (_, event) in client.events(2) {
        let (protocol, why) = failure(event);
        assert!(!protocol && why.contains("closed"), "{why}");
    }
    let why = client.session.ended().unwrap();
    assert!(why.contains("closed"), "{why}");
    drop(client);
    server.join();
}

#[test]
fn a_whole_answer_counts_even_after_the_connection_ended() {
    let server = Server::raw(|mut socket| {
        begin_by_hand(&mut socket);
        for _ in 0..2 {
            await_frame(&mut socket, HEADERS);
        }
        let head = frame(HEADERS, END_STREAM | END_HEADERS, 1, &[STATUS_200]);
        socket.write_all(&head).unwrap();
    });
    let mut client = Client::ready(server.address, 2);
    client.get(0, "/");
    client.get(1, "/");
    let events = client.events(2);
    assert_eq!(events[0], (0, answer(200)));
    assert!(!failure(events[1].1.clone()).0);
    assert!(client.session.ended().is_some());
    drop(client);
    server.join();
}

#[test]
fn protocol_violations_are_distinguished_from_closing() {
    let data_first = frame(DATA, END_STREAM, 1, b"x");
    let pushed = frame(
        PUSH_PROMISE,
        END_HEADERS,
        1,
        &[0, 0, 0, 2, 0x82, 0x84, 0x86],
    );
    let beyond_window = frame(8, 0, 0, &0x7fff_ffff_u32.to_be_bytes());
    let too_long = vec![0xff; 64];
    let no_status = frame(HEADERS, END_STREAM | END_HEADERS, 1, &[]);
    // `content-length: 5` with no body.
    let short = frame(
        HEADERS,
        END_STREAM | END_HEADERS,
        1,
        &[STATUS_200, 0x0f, 0x0d, 1, b'5'],
    );
    for (bytes, why) in [
        (data_first, "data before the head"),
        (pushed, "an unrequested push"),
        (beyond_window, "a window over 2 GiB"),
        (too_long, "a frame over its limit"),
        (no_status, "a head without a status"),
        (short, "a body shorter than its declared length"),
    ] {
        let server = Server::raw(move |mut socket| {
            begin_by_hand(&mut socket);
            await_frame(&mut socket, HEADERS);
            socket.write_all(&bytes).unwrap();
            let _ = socket.read_to_end(&mut Vec::new());
        });
        let mut client = Client::ready(server.address, 1);
        client.get(0, "/");
        let (protocol, said) = failure(client.event());
        assert!(protocol, "{why}: {said}");
        drop(client);
        server.join();
    }
}

#[test]
fn headers_over_the_limit_fail_their_stream() {
    let server = Server::new(
        h2::server::Builder::new(),
        |request, mut answer| async move {
            let mut response = Response::builder();
            if request.uri().path() == "/long" {
                for name in 0..10 {
                    response = response.header(format!("x-{name}"), "v".repeat(8000));
                }
            }
            let _ = answer.send_response(response.body(()).unwrap(), true);
        },
    );
    let mut client = Client::ready(server.address, 1);
    client.get(0, "/long");
    let (protocol, why) = failure(client.event());
    assert!(protocol, "{why}");
    client.get(0, "/");
    assert_eq!(client.event(), answer(200));
    drop(client);
    server.join();
}
