//! Runs the loop with a server that counts.
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// The answer to a request, by the number of requests before it. An empty one closes.
type Answers = fn(u64) -> &'static [u8];

fn start(answer: Answers) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let counter = Arc::clone(&counter);
            std::thread::spawn(move || serve(stream, &counter, answer));
        }
    });
    (address, count)
}

fn serve(mut stream: TcpStream, counter: &AtomicU64, answer: Answers) {
    let mut request = [0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut request) {
        assert!(request[..length].starts_with(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:"));
        assert!(request[..length].ends_with(b"\r\n\r\n"));
        let answer = answer(counter.fetch_add(1, Ordering::Relaxed));
        if answer.is_empty() || stream.write_all(answer).is_err() {
            return;
        }
    }
}

fn floor(address: SocketAddr, lasts: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_floor"))
        .args([&address.to_string(), "--connections", "3", "--for", lasts])
        .output()
        .unwrap()
}

/// A number from the line of JSON.
fn number(line: &str, key: &str) -> f64 {
    let (_, rest) = line.split_once(&format!("\"{key}\":")).unwrap();
    let (number, _) = rest.split_once([',', '}']).unwrap();
    number.parse().unwrap()
}

#[test]
fn it_counts_whole_answers() {
    let (address, served) = start(|_| ANSWER);
    let output = floor(address, "300ms");
    let line = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{line}");
    let served = served.load(Ordering::Relaxed) as f64;
    let requests = number(&line, "requests");
    // One more request to learn the length, and at most one outstanding on each connection.
    assert!(
        requests > 0.0 && (1.0..=4.0).contains(&(served - requests)),
        "{served}: {line}"
    );
    assert!(number(&line, "seconds") >= 0.3, "{line}");
    assert!(number(&line, "cpu_us_per_request") > 0.0, "{line}");
}

#[test]
fn a_server_that_it_is_not_made_for_is_an_error() {
    let table: [(Answers, &str); 3] = [
        (|_| b"", "does not keep its connections"),
        (|n| if n == 0 { ANSWER } else { b"" }, "closed a connection"),
        (
            |n| if n < 9 { ANSWER } else { &[b'x'; 99] },
            "differ in length",
        ),
    ];
    for (answer, expected) in table {
        let (address, _) = start(answer);
        // It ends with the error long before that, even on a busy machine.
        let output = floor(address, "2s");
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{expected}");
        assert!(error.contains(expected), "{expected}: {error}");
    }
}
