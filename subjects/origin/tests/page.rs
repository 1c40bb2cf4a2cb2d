//! Runs the server as a process, over real connections.
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const REQUEST: &[u8] = b"GET /anything HTTP/1.1\r\nHost: a\r\n\r\n";

/// Only failures wait this long.
const PATIENCE: Duration = Duration::from_secs(10);

struct Origin {
    process: Child,
    address: SocketAddr,
}

impl Origin {
    fn start() -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_origin"))
            .args(["--listen", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stderr.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line.trim().rsplit(' ').next().unwrap().parse().unwrap();
        Self { process, address }
    }

    fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(self.address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Reads one answer and returns its page.
fn page(socket: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("Content-Length: 50\r\n"), "{head}");
    let mut page = [0; 50];
    socket.read_exact(&mut page).unwrap();
    String::from_utf8(page.to_vec()).unwrap()
}

#[test]
fn a_connection_lasts_for_many_requests() {
    let origin = Origin::start();
    let mut socket = origin.connect();
    for _ in 0..3 {
        socket.write_all(REQUEST).unwrap();
        assert!(page(&mut socket).ends_with("fifty bytes.\n"));
    }
}

#[test]
fn split_and_pipelined_requests_are_answered() {
    let origin = Origin::start();
    let mut socket = origin.connect();
    for piece in REQUEST.chunks(7) {
        socket.write_all(piece).unwrap();
    }
    page(&mut socket);
    socket.write_all(&REQUEST.repeat(4)).unwrap();
    for _ in 0..4 {
        page(&mut socket);
    }
}

#[test]
fn a_disconnect_does_not_affect_other_clients() {
    let origin = Origin::start();
    let mut stays = origin.connect();
    for _ in 0..10 {
        let mut goes = origin.connect();
        goes.write_all(&REQUEST[..20]).unwrap();
    }
    stays.write_all(REQUEST).unwrap();
    page(&mut stays);
}

#[test]
fn wrong_arguments_are_reported() {
    let output = Command::new(env!("CARGO_BIN_EXE_origin"))
        .arg("--port")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("usage: origin --listen ADDRESS"), "{said}");
}
