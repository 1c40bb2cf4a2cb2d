//! Servers in the test's own process, for `windage load`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

/// A successful answer.
pub(crate) const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
/// An answer with an error status.
pub(crate) const BROKEN: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";

/// A server on a free port that handles each connection with this function, until the test's
/// process ends.
pub(crate) fn server(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Reads one request with a body of `body_bytes`. `None` if no more come.
pub(crate) fn request(stream: &mut impl Read, body_bytes: usize) -> Option<String> {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        text.push(byte[0]);
    }
    let mut body = vec![0; body_bytes];
    stream.read_exact(&mut body).ok()?;
    text.extend(body);
    String::from_utf8(text).ok()
}

/// A server that gives every request the same bytes.
pub(crate) fn answering(answer: &'static [u8]) -> String {
    let address =
        server(
            move |mut stream| {
                while request(&mut stream, 0).is_some() && stream.write_all(answer).is_ok() {}
            },
        );
    format!("http://{address}/")
}

/// An address on which nothing listens.
pub(crate) fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/", listener.local_addr().unwrap())
}
