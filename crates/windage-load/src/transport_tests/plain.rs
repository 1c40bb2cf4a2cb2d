//! Sockets without TLS.

use super::*;

#[test]
fn plain_connections_echo_over_every_kind_of_socket() {
    for address in [LOOPBACK, "[::1]:0"] {
        let (endpoint, server) = serve(address, |mut stream| echo(&mut stream, 5));
        let mut driven = Driven::establish(&endpoint, None).unwrap();
        driven.send_all(b"hello");
        assert_eq!(driven.receive(5, 64).unwrap(), b"hello", "{endpoint}");
        server.join().unwrap();
        assert_eq!(driven.receive(1, 64).unwrap(), b"", "end of the stream");
        assert_eq!(driven.transport.negotiated_alpn(), None);
    }
}

#[test]
fn a_unix_socket_echoes_plain_and_within_tls() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("server.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let identity = self_signed();
    let config = identity.config(&[HTTP1]);
    let server = thread::spawn(move || {
        echo(&mut listener.accept().unwrap().0, 5);
        echo(&mut secured(config, listener.accept().unwrap().0), 5);
    });
    let client = identity.client(NAME, Protocol::Http1);
    for tls in [None, Some(&client)] {
        let mut driven = Driven::establish(&Endpoint::Unix(path.clone()), tls).unwrap();
        driven.send_all(b"hello");
        assert_eq!(driven.receive(5, 64).unwrap(), b"hello");
    }
    server.join().unwrap();
}

#[test]
fn a_full_kernel_accepts_the_rest_after_an_event() {
    let payload = pattern(2 << 20);
    let expected = payload.clone();
    let (go, may_read) = mpsc::channel();
    let (endpoint, server) = serve(LOOPBACK, move |mut stream| {
        may_read.recv_timeout(PATIENCE).unwrap();
        let mut received = vec![0; expected.len()];
        stream.read_exact(&mut received).unwrap();
        received == expected
    });
    let mut driven = Driven::establish(&endpoint, None).unwrap();
    setsockopt(&driven.transport.fd(), sockopt::SndBuf, &16_384).unwrap();
    let sent = driven.send_until_full(&payload);
    assert!(sent < payload.len());
    assert!(driven.transport.flush().unwrap(), "nothing is buffered");
    go.send(()).unwrap();
    driven.send_all(&payload[sent..]);
    assert!(server.join().unwrap());
}

#[test]
fn a_port_without_a_listener_refuses() {
    let listener = TcpListener::bind(LOOPBACK).unwrap();
    let endpoint = Endpoint::Tcp(listener.local_addr().unwrap());
    drop(listener);
    let error = Driven::establish(&endpoint, None).err().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
}

#[test]
fn a_missing_unix_socket_is_named_with_a_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let deserted = directory.path().join("deserted.sock");
    drop(UnixListener::bind(&deserted).unwrap());
    let table: [(PathBuf, &str, io::ErrorKind); 3] = [
        (
            directory.path().join("missing.sock"),
            "start the server first",
            io::ErrorKind::NotFound,
        ),
        (
            deserted,
            "no process listens",
            io::ErrorKind::ConnectionRefused,
        ),
        (
            directory.path().join("long".repeat(40)),
            "107 bytes",
            io::ErrorKind::InvalidFilename,
        ),
    ];
    for (path, expected, kind) in table {
        let error = Transport::open(&Endpoint::Unix(path.clone()), None).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(expected), "{text}");
        assert!(text.contains(path.to_str().unwrap()), "{text}");
        assert_eq!(error.kind(), kind, "{text}");
    }
}

#[test]
fn a_full_listen_backlog_is_an_error_and_not_a_wait() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("server.sock");
    let listener = socket(
        AddressFamily::Unix,
        SockType::Stream,
        SockFlag::SOCK_CLOEXEC,
        None,
    )
    .unwrap();
    let address = UnixAddr::new(&path).unwrap();
    bind(std::os::fd::AsRawFd::as_raw_fd(&listener), &address).unwrap();
    listen(&listener, Backlog::new(1).unwrap()).unwrap();
    let endpoint = Endpoint::Unix(path);
    let attempts: Vec<_> = (0..4).map(|_| Transport::open(&endpoint, None)).collect();
    assert!(attempts[0].is_ok());
    let error = attempts.into_iter().last().unwrap().unwrap_err();
    assert!(error.to_string().contains("listen backlog"), "{error}");
    assert_ne!(error.kind(), io::ErrorKind::WouldBlock);
}
