//! Good and bad clients, and the shutdown.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::server::{Server, command};

const REQUEST: &[u8] = b"GET /any HTTP/1.1\r\nHost: a\r\n\r\n";

/// Reads one answer.
fn answer(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    while !text.ends_with(b"truth\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        text.push(byte[0]);
    }
    String::from_utf8(text).unwrap()
}

/// What comes until the server closes.
fn until_closed(stream: &mut TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    // A reset ends a connection as well: the server left something unread.
    let _ = stream.read_to_end(&mut rest);
    rest
}

#[test]
fn connections_are_kept_and_closed_when_asked() {
    let server = Server::start("constant --service 1ms");
    let mut stream = server.connect();
    for _ in 0..3 {
        let (first, rest) = REQUEST.split_at(9);
        stream.write_all(first).unwrap();
        stream.write_all(rest).unwrap();
        let answer = answer(&mut stream);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("\r\nContent-Length: 6\r\n"), "{answer}");
        assert!(!answer.contains("Connection"), "{answer}");
    }
    stream
        .write_all(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
        .unwrap();
    assert!(answer(&mut stream).contains("\r\nConnection: close\r\n"));
    assert_eq!(until_closed(&mut stream), b"");
    assert_eq!(server.end().answered, 4);
}

#[test]
fn bad_clients_lose_only_their_own_connection() {
    let server = Server::start("constant --service 1ms");
    let mut good = server.connect();
    let long = "x".repeat(1_000_000);
    let endless = format!("GET / HTTP/1.1\r\nX: {long}");
    let ahead = [REQUEST, REQUEST].concat();
    let table: [(&[u8], &str); 5] = [
        (b"\x16\x03\x01\x02\x00\x01\x00", "TLS"),
        (b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi", "a body"),
        (b"GET / HTTP/1.1\r\nno header\r\n\r\n", "no header"),
        (endless.as_bytes(), "a head without end"),
        (&ahead, "two at once"),
    ];
    for (bytes, why) in table {
        let mut bad = server.connect();
        // It may be closed before everything is sent.
        let _ = bad.write_all(bytes);
        assert_eq!(until_closed(&mut bad), b"", "{why}");
        good.write_all(REQUEST).unwrap();
        answer(&mut good);
    }
    let mut gone = server.connect();
    gone.write_all(REQUEST).unwrap();
    gone.shutdown(Shutdown::Both).unwrap();
    good.write_all(REQUEST).unwrap();
    answer(&mut good);
}

#[test]
fn a_request_before_the_answer_costs_the_connection() {
    let server = Server::start("constant --service 10s");
    let mut stream = server.connect();
    stream.write_all(REQUEST).unwrap();
    // Separate from the first; otherwise the two would be refused as one.
    std::thread::sleep(Duration::from_millis(50));
    stream.write_all(REQUEST).unwrap();
    assert_eq!(until_closed(&mut stream), b"");
    assert_eq!(server.end().answered, 0);
}

#[test]
fn arrival_is_when_the_kernel_has_the_request() {
    let server = Server::start("constant --service 100ms");
    let mut stream = server.connect();
    // Answered once, so that the server is not still accepting when it is stopped.
    stream.write_all(REQUEST).unwrap();
    answer(&mut stream);
    let pid = Pid::from_raw(server.pid());
    kill(pid, Signal::SIGSTOP).unwrap();
    stream.write_all(REQUEST).unwrap();
    std::thread::sleep(Duration::from_millis(400));
    kill(pid, Signal::SIGCONT).unwrap();
    answer(&mut stream);
    // Due after 100 ms, in which it could not do anything, nor in the 300 ms that followed.
    let late_ns = server.end().late_ns_max;
    assert!(late_ns >= 250_000_000, "{late_ns} ns");
}

#[test]
fn slots_are_reused() {
    let server = Server::start("constant --service 0s");
    for _ in 0..200 {
        let mut stream = server.connect();
        stream.write_all(REQUEST).unwrap();
        answer(&mut stream);
    }
    assert_eq!(server.end().answered, 200);
}

#[test]
fn connections_beyond_the_limit_are_closed() {
    let server = Server::start("constant --service 0s --connections 2");
    let mut served = [server.connect(), server.connect()];
    for stream in &mut served {
        stream.write_all(REQUEST).unwrap();
        answer(stream);
    }
    assert_eq!(until_closed(&mut server.connect()), b"");
    for stream in &mut served {
        stream.write_all(REQUEST).unwrap();
        answer(stream);
    }
}

#[test]
fn a_signal_shuts_it_down() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let mut server = Server::start("stall --service 0s");
        server.stalls();
        kill(Pid::from_raw(server.pid()), signal).unwrap();
        let (status, account) = server.account();
        assert!(status.success(), "{signal}: {status}");
        assert_eq!(account.answered, 0);
    }
}

#[test]
fn wrong_arguments_are_reported() {
    let table = [
        ("stall --every 1s --for 1s", "shorter than the distance"),
        ("constant --service 2h", "the service time"),
        ("constant --listen 192.0.2.1:1", "192.0.2.1:1"),
        ("constant --until-eof", "standard input"),
    ];
    for (words, expected) in table {
        let output = command(words).stdin(Stdio::null()).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(error.contains(expected), "{words}: {error}");
    }
}
