//! HTTP/1.1 by hand, so that invalid requests can be made as well.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::sender::PATIENCE;

pub(crate) const PROTOBUF: &str = "application/x-protobuf";
pub(crate) const JSON: &str = "application/json";

/// The head of a request with a body of that many bytes.
pub(crate) fn head(method: &str, path: &str, headers: &[(&str, &str)], length: usize) -> Vec<u8> {
    let mut head = open_head(method, path, headers);
    head.extend_from_slice(format!("content-length: {length}\r\n\r\n").as_bytes());
    head
}

/// A head without its end.
pub(crate) fn open_head(method: &str, path: &str, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: sink\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.into_bytes()
}

pub(crate) fn post(path: &str, content_type: &str, body: &[u8]) -> Vec<u8> {
    let mut request = head("POST", path, &[("content-type", content_type)], body.len());
    request.extend_from_slice(body);
    request
}

/// Spans in protobuf.
pub(crate) fn post_traces(body: &[u8]) -> Vec<u8> {
    post("/v1/traces", PROTOBUF, body)
}

/// The same with a compressed body.
pub(crate) fn post_gzip(packed: &[u8]) -> Vec<u8> {
    let headers = [("content-type", PROTOBUF), ("content-encoding", "gzip")];
    let mut request = head("POST", "/v1/traces", &headers, packed.len());
    request.extend_from_slice(packed);
    request
}

/// The same in chunks.
pub(crate) fn post_chunks(body: &[u8], chunk: usize) -> Vec<u8> {
    let headers = [("content-type", PROTOBUF), ("transfer-encoding", "chunked")];
    let mut request = open_head("POST", "/v1/traces", &headers);
    request.extend_from_slice(b"\r\n");
    for chunk in body.chunks(chunk) {
        request.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        request.extend_from_slice(chunk);
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"0\r\n\r\n");
    request
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let of_name = |line: &&str| line.split(':').next() == Some(name);
        let line = self.head.lines().find(of_name)?;
        Some(line[name.len() + 1..].trim())
    }
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

pub(crate) fn read_answer(stream: &mut TcpStream) -> io::Result<Answer> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let mut answer = Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head,
        body: Vec::new(),
    };
    let length = answer.header("content-length").unwrap_or("0");
    answer.body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut answer.body)?;
    Ok(answer)
}

pub(crate) fn exchange(stream: &mut TcpStream, request: &[u8]) -> io::Result<Answer> {
    stream.write_all(request)?;
    read_answer(stream)
}

/// Whether the peer has closed the connection, orderly or by a reset.
pub(crate) fn is_closed(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => error.kind() != io::ErrorKind::WouldBlock,
    }
}
