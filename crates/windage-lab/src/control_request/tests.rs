use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::thread::JoinHandle;
use std::time::Instant as Clock;

use super::*;

/// What a peer does with a connection. It returns what it received.
#[derive(Clone, Copy, Debug)]
enum Does {
    /// Answers a line in several pieces and closes, as HAProxy does.
    Answer(&'static [&'static str]),
    /// Answers and leaves the connection open until the other end closes.
    Stay(&'static str),
    /// Reads a whole request before it answers and closes.
    Http(&'static str),
    /// Closes without an answer.
    Close,
}

fn serve(mut stream: impl std::io::Read + std::io::Write, does: Does) -> String {
    let mut got = Vec::new();
    let mut byte = [0];
    let end: &[u8] = match does {
        Does::Http(_) => b"\r\n\r\n",
        _ => b"\n",
    };
    while !got.ends_with(end) && stream.read(&mut byte).unwrap() == 1 {
        got.push(byte[0]);
    }
    match does {
        Does::Answer(pieces) => {
            for piece in pieces {
                stream.write_all(piece.as_bytes()).unwrap();
                stream.flush().unwrap();
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Does::Stay(answer) => {
            stream.write_all(answer.as_bytes()).unwrap();
            let _ = stream.read(&mut byte).unwrap();
        }
        Does::Http(answer) => stream.write_all(answer.as_bytes()).unwrap(),
        Does::Close => {}
    }
    String::from_utf8(got).unwrap()
}

fn tcp(does: Does) -> (SocketAddr, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let served = std::thread::spawn(move || serve(listener.accept().unwrap().0, does));
    (at, served)
}

fn say(message: &Message, expected: Option<&str>) -> Option<String> {
    let expected = expected.map(|pattern| Regex::new(pattern).unwrap());
    message
        .say(expected.as_ref(), &AtomicBool::new(false))
        .unwrap()
}

fn line(to: &str) -> Message {
    Message::line(to, "rate 25".to_owned(), Path::new("/")).unwrap()
}

#[test]
fn a_line_is_sent_and_its_answer_judged() {
    let table = [
        (
            Does::Answer(&["\n"]),
            None,
            None,
            "an empty line is an answer",
        ),
        (
            Does::Answer(&["rate is 25\n"]),
            Some("is 25"),
            None,
            "matches",
        ),
        (
            Does::Answer(&["rate ", "is 2", "5\n"]),
            Some("(?m)is 25$"),
            None,
            "in pieces",
        ),
        (
            Does::Stay("done\n"),
            None,
            None,
            "connection stays open, no pattern",
        ),
        (
            Does::Stay("done\n"),
            Some("done"),
            None,
            "connection stays open",
        ),
        (
            Does::Answer(&["Unknown command: 'rate'.\n", "Try 'help'.\n"]),
            Some("rate is"),
            Some(
                "got an answer that does not match `rate is`:\n  Unknown command: 'rate'.\n  Try 'help'.",
            ),
            "a wrong answer is shown",
        ),
        (
            Does::Answer(&["\n"]),
            Some("rate is"),
            Some("got an answer that does not match `rate is`:\n  (nothing)"),
            "an empty answer is shown",
        ),
        (
            Does::Close,
            None,
            Some("got no answer: the connection was closed without an answer"),
            "no answer",
        ),
    ];
    for (does, expected, failure, why) in table {
        let (at, served) = tcp(does);
        let said = say(&line(&at.to_string()), expected);
        assert_eq!(said.as_deref(), failure, "{why}");
        assert_eq!(served.join().unwrap(), "rate 25\n", "{why}");
    }
}

#[test]
fn a_wrong_answer_is_shown_at_the_time_limit() {
    let (at, served) = tcp(Does::Stay("wait"));
    let began = Clock::now();
    let failure = say(&line(&at.to_string()), Some("done"));
    assert_eq!(
        failure.as_deref(),
        Some("got an answer that does not match `done`:\n  wait")
    );
    assert!(began.elapsed() >= WITHIN, "{:?}", began.elapsed());
    served.join().unwrap();
}

#[test]
fn a_signal_ends_the_wait_for_an_answer() {
    let (at, served) = tcp(Does::Stay(""));
    let began = Clock::now();
    let result = line(&at.to_string()).say(None, &AtomicBool::new(true));
    assert!(matches!(result, Err(LabError::Interrupted)), "{result:?}");
    assert!(began.elapsed() < WITHIN / 2, "{:?}", began.elapsed());
    served.join().unwrap();
}

#[test]
fn the_length_of_an_answer_is_bounded() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let endless = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        while stream.write_all(&[b'x'; 4096]).is_ok() {}
    });
    assert_eq!(say(&line(&at.to_string()), Some("^x+$")), None);
    endless.join().unwrap();
}

#[test]
fn a_path_is_a_unix_socket() {
    let dir = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(dir.path().join("admin.sock")).unwrap();
    let does = Does::Answer(&["fine\n"]);
    let served = std::thread::spawn(move || serve(listener.accept().unwrap().0, does));
    let message = Message::line("./admin.sock", "rate 25".to_owned(), dir.path()).unwrap();
    assert_eq!(say(&message, Some("fine")), None);
    assert_eq!(served.join().unwrap(), "rate 25\n");
    std::fs::remove_file(dir.path().join("admin.sock")).unwrap();
    let failure = say(&message, None).unwrap();
    assert!(failure.starts_with("could not connect: "), "{failure}");
    assert!(message.to_string().ends_with("/./admin.sock"), "{message}");
}

#[test]
fn a_request_is_sent_and_its_answer_judged() {
    let chunked =
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nO\n2\r\n2\r\n5\n\r\n0\r\n\r\n";
    let table = [
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nOK\n",
            Some("^OK"),
            None,
            "as expected",
        ),
        (chunked, Some("25"), None, "match spans two chunks"),
        (
            "HTTP/1.1 204 No Content\r\n\r\n",
            None,
            None,
            "without a body",
        ),
        (
            "HTTP/1.1 303 See Other\r\ncontent-length: 0\r\n\r\n",
            None,
            None,
            "below 400",
        ),
        (
            "HTTP/1.1 404 Not Found\r\ncontent-length: 12\r\n\r\nno such path",
            None,
            Some("was answered 404 Not Found:\n  no such path"),
            "refused",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nno",
            Some("^OK"),
            Some("got an answer that does not match `^OK`:\n  no"),
            "a wrong answer",
        ),
    ];
    for (answer, expected, failure, why) in table {
        let (at, served) = tcp(Does::Http(answer));
        let message = Message::request("POST", format!("http://{at}/modify?rate=25")).unwrap();
        assert_eq!(say(&message, expected).as_deref(), failure, "{why}");
        let request = served.join().unwrap();
        assert!(
            request.starts_with("POST /modify?rate=25 HTTP/1.1\r\n"),
            "{request}"
        );
        assert!(request.contains(&format!("host: {at}\r\n")), "{request}");
    }
    let (at, served) = tcp(Does::Http("what?"));
    let message = Message::request("GET", format!("http://{at}/")).unwrap();
    let failure = say(&message, None).unwrap();
    assert!(failure.starts_with("got no answer: "), "{failure}");
    served.join().unwrap();
}

#[test]
fn a_missing_peer_is_reported() {
    let at = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let request = Message::request("GET", format!("http://{at}/")).unwrap();
    for message in [line(&at.to_string()), request] {
        let failure = say(&message, None).unwrap();
        assert!(
            failure.starts_with("could not connect: ") && failure.contains("refused"),
            "{failure}"
        );
    }
}

#[test]
fn other_machines_are_refused() {
    let table = [
        ("10.0.0.7:80", "10.0.0.7:80 is not loopback"),
        ("one two", "`one two` is not HOST:PORT"),
    ];
    for (to, why) in table {
        let message = Message::line(to, "hello".to_owned(), Path::new("/"));
        assert_eq!(message.unwrap_err(), why);
    }
    let message = Message::request("GET", "http://10.0.0.7/".to_owned());
    assert_eq!(message.unwrap_err(), "10.0.0.7:80 is not loopback");
}

#[test]
fn a_long_answer_is_shown_shortened() {
    let (start, long) = ("é".repeat(200), "é".repeat(30_000));
    let many: String = (0..40).map(|n| format!("line {n}\n")).collect();
    let table = [
        ("  \n", "  (nothing)".to_owned(), "blanks"),
        ("a\n b\n", "  a\n   b".to_owned(), "lines as they are"),
        (
            "\x1b[2Jgone\u{7}",
            "  \\u{1b}[2Jgone\\u{7}".to_owned(),
            "what a terminal would obey",
        ),
        (&*start, format!("  {start}"), "a line that just fits"),
        (&*long, format!("  {start}…"), "one of 60 KB"),
    ];
    for (text, expected, why) in table {
        assert_eq!(shown(text), expected, "{why}");
    }
    let shown = shown(&many);
    assert_eq!(shown.lines().count(), LINES_SHOWN);
    assert!(shown.ends_with("  line 11"), "{shown}");
}
