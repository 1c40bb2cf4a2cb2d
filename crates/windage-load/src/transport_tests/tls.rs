//! Sessions: handshakes, content, and ends.

use rustls::crypto::cipher::{OutboundChunks, OutboundPlainMessage};
use rustls::{ConnectionTrafficSecrets, ContentType, SupportedCipherSuite};

use super::*;

/// Writes one byte at a time, so that every record arrives in pieces.
struct Dribbling(TcpStream);

impl Read for Dribbling {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Dribbling {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(&bytes[..bytes.len().min(1)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[test]
fn both_versions_shake_hands_and_echo() {
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let identity = self_signed();
        let key = identity.key.serialize_der().try_into().unwrap();
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![identity.certificate.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![HTTP1.to_vec()];
        let (endpoint, server) = serve_tls(config, |stream| {
            echo(stream, 5);
            stream.conn.protocol_version()
        });
        let client = identity.client(NAME, Protocol::Http1);
        let mut driven = Driven::establish(&endpoint, Some(&client)).unwrap();
        assert_eq!(driven.transport.negotiated_alpn(), Some(HTTP1));
        driven.send_all(b"hello");
        assert_eq!(driven.receive(5, 64).unwrap(), b"hello");
        assert_eq!(server.join().unwrap(), Some(version.version));
    }
}

#[test]
fn an_address_is_verified_like_a_name_over_ipv6() {
    let identity = Identity::of("::1", IsCa::NoCa);
    let config = identity.config(&[]);
    let (endpoint, server) = serve("[::1]:0", |stream| echo(&mut secured(config, stream), 5));
    let client = identity.client("::1", Protocol::Http1);
    let mut driven = Driven::establish(&endpoint, Some(&client)).unwrap();
    assert_eq!(
        driven.transport.negotiated_alpn(),
        None,
        "the server chose none"
    );
    driven.send_all(b"hello");
    assert_eq!(driven.receive(5, 64).unwrap(), b"hello");
    server.join().unwrap();
}

#[test]
fn big_answers_arrive_whole_through_buffers_of_any_size() {
    const LENGTH: usize = 3_000_000;
    for room in [64 * 1024, 16 * 1024, 1000] {
        let identity = self_signed();
        let (endpoint, server) = serve_tls(identity.config(&[]), |stream| {
            stream.write_all(&pattern(LENGTH)).unwrap();
            stream.flush().unwrap();
        });
        let client = identity.client(NAME, Protocol::Http1);
        let mut driven = Driven::establish(&endpoint, Some(&client)).unwrap();
        assert!(
            driven.receive(LENGTH, room).unwrap() == pattern(LENGTH),
            "{room}"
        );
        server.join().unwrap();
        assert_eq!(driven.receive(1, room).unwrap(), b"", "the end");
    }
}

#[test]
fn leftover_bytes_do_not_hide_later_ones() {
    let identity = self_signed();
    let (go, may_go_on) = mpsc::channel::<()>();
    let (endpoint, server) = serve_tls(identity.config(&[]), move |stream| {
        stream.conn.complete_io(&mut stream.sock).unwrap();
        for part in ["first part", "second part"] {
            may_go_on.recv_timeout(PATIENCE).unwrap();
            stream.write_all(part.as_bytes()).unwrap();
            stream.flush().unwrap();
        }
    });
    let client = identity.client(NAME, Protocol::Http1);
    let mut driven = Driven::establish(&endpoint, Some(&client)).unwrap();
    go.send(()).unwrap();
    assert_eq!(driven.receive(5, 5).unwrap(), b"first");
    go.send(()).unwrap();
    server.join().unwrap();
    let mut buffer = [0; 64];
    assert_eq!(driven.transport.receive_some(&mut buffer).unwrap(), 5);
    assert_eq!(&buffer[..5], b" part");
    assert!(
        !driven.transport.short_read_drains(),
        "the second part is unread"
    );
    assert_eq!(driven.receive(64, 64).unwrap(), b"second part");
}

#[test]
fn a_server_may_write_byte_by_byte() {
    let identity = self_signed();
    let config = identity.config(&[HTTP1]);
    let (endpoint, server) = serve(LOOPBACK, |stream| {
        echo(&mut secured(config, Dribbling(stream)), 40_000);
    });
    let client = identity.client(NAME, Protocol::Http1);
    let mut driven = Driven::establish(&endpoint, Some(&client)).unwrap();
    driven.send_all(&pattern(40_000));
    assert!(driven.receive(40_000, 64 * 1024).unwrap() == pattern(40_000));
    server.join().unwrap();
}

#[test]
fn a_session_sends_its_buffer_after_an_event() {
    let payload = pattern(2 << 20);
    let expected = payload.clone();
    let identity = self_signed();
    let (go, may_read) = mpsc::channel();
    let (halfway, half_read) = mpsc::channel();
    let (endpoint, server) = serve_tls(identity.config(&[]), move |stream| {
        stream.conn.complete_io(&mut stream.sock).unwrap();
        let half: usize = may_read.recv_timeout(PATIENCE).unwrap();
        let mut received = vec![0; expected.len()];
        stream.read_exact(&mut received[..half]).unwrap();
        halfway.send(()).unwrap();
        stream.read_exact(&mut received[half..]).unwrap();
        received == expected
    });
    let client = identity.client(NAME, Protocol::Http1);
    let mut driven = Driven::establish(&endpoint, Some(&client)).unwrap();
    setsockopt(&driven.transport.fd(), sockopt::SndBuf, &16_384).unwrap();

    let sent = driven.send_until_full(&payload);
    assert!(sent < payload.len());
    assert!(
        !driven.transport.flush().unwrap(),
        "the session buffers some"
    );
    go.send(sent).unwrap();
    // Only events and flushes from here: all accepted bytes must arrive.
    driven.flush_all();
    half_read.recv_timeout(PATIENCE).unwrap();

    driven.send_all(&payload[sent..]);
    assert!(server.join().unwrap());
}

#[test]
fn an_untrusted_certificate_is_refused_with_a_remedy() {
    let own = self_signed();
    let ca_too = Identity::of(NAME, IsCa::Ca(BasicConstraints::Unconstrained));
    let http1 = Protocol::Http1;
    let table = [
        (
            &own,
            self_signed().client(NAME, http1),
            "give the authority's certificate",
        ),
        (
            &own,
            own.client("other.test", http1),
            "use a name in the certificate",
        ),
        (&ca_too, ca_too.client(NAME, http1), "CA:FALSE"),
        (
            &own,
            public_authorities(),
            "give the authority's certificate",
        ),
    ];
    for (identity, client, expected) in table {
        let (endpoint, server) = serve_tls(identity.config(&[HTTP1]), |stream| {
            stream.conn.complete_io(&mut stream.sock).is_err()
        });
        let text = refusal_of(&endpoint, &client);
        assert!(text.contains(expected), "{text}");
        assert!(server.join().unwrap(), "the server receives the alert");
    }
}

fn public_authorities() -> TlsClient {
    TlsClient::new(TlsOptions {
        server_name: NAME.to_owned(),
        ca_file: None,
        insecure: false,
        alpn: Protocol::Http1,
    })
    .unwrap()
}

#[test]
fn insecure_accepts_any_certificate() {
    let ca = IsCa::Ca(BasicConstraints::Unconstrained);
    for identity in [
        Identity::of("other.test", IsCa::NoCa),
        Identity::of(NAME, ca),
    ] {
        let (endpoint, server) = serve_tls(identity.config(&[HTTP1]), |stream| echo(stream, 5));
        let mut driven = Driven::establish(&endpoint, Some(&insecure_client())).unwrap();
        driven.send_all(b"hello");
        assert_eq!(driven.receive(5, 64).unwrap(), b"hello");
        server.join().unwrap();
    }
}

#[test]
fn http2_requires_the_servers_agreement() {
    type Names = &'static [&'static [u8]];
    let table: [(Names, Protocol, Option<&str>); 4] = [
        (&[b"h2"], Protocol::Http2, None),
        (&[HTTP1, b"h2"], Protocol::Grpc, None),
        (&[], Protocol::Http2, Some("did not agree to HTTP/2")),
        (
            &[HTTP1],
            Protocol::Http2,
            Some("none of the protocols offered"),
        ),
    ];
    for (offered, protocol, expected) in table {
        let identity = self_signed();
        let (endpoint, server) = serve_tls(identity.config(offered), |stream| {
            let _ = stream.conn.complete_io(&mut stream.sock);
        });
        let client = identity.client(NAME, protocol);
        match (Driven::establish(&endpoint, Some(&client)), expected) {
            (Ok(driven), None) => {
                assert_eq!(driven.transport.negotiated_alpn(), Some(&b"h2"[..]));
            }
            (Err(error), Some(expected)) => {
                assert!(error.to_string().contains(expected), "{error}");
            }
            (_, expected) => panic!("{offered:?} for {protocol:?} should give {expected:?}"),
        }
        server.join().unwrap();
    }
}

#[test]
fn a_server_without_tls_is_recognised() {
    let (endpoint, server) = serve(LOOPBACK, |mut stream| {
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
        let _ = stream.read(&mut [0; 4096]);
    });
    let text = refusal_of(&endpoint, &insecure_client());
    assert!(text.contains("does not speak TLS here"), "{text}");
    assert!(text.contains("http://"), "{text}");
    server.join().unwrap();
}

#[test]
fn closing_during_the_handshake_is_an_error() {
    let (endpoint, server) = serve(LOOPBACK, |mut stream| {
        let _ = stream.read(&mut [0; 5]);
    });
    let text = refusal_of(&endpoint, &insecure_client());
    assert!(text.contains("closed during the TLS handshake"), "{text}");
    server.join().unwrap();
}

#[test]
fn a_handshake_that_never_ends_is_never_done() {
    let (done, waits) = mpsc::channel::<()>();
    let (endpoint, server) = serve(LOOPBACK, move |stream| {
        let _ = waits.recv_timeout(PATIENCE);
        drop(stream);
    });
    let mut driven = Driven::open(&endpoint, Some(&insecure_client())).unwrap();
    driven.wait();
    for _ in 0..3 {
        assert!(!driven.transport.establish().unwrap());
    }
    assert_eq!(driven.transport.negotiated_alpn(), None);
    done.send(()).unwrap();
    server.join().unwrap();
}

#[test]
fn the_stream_ends_with_and_without_close_notify() {
    for is_polite in [true, false] {
        let identity = self_signed();
        let (endpoint, server) = serve_tls(identity.config(&[]), move |stream| {
            stream.write_all(b"last words").unwrap();
            if is_polite {
                stream.conn.send_close_notify();
            }
            stream.flush().unwrap();
        });
        let client = identity.client(NAME, Protocol::Http1);
        let mut driven = Driven::establish(&endpoint, Some(&client)).unwrap();
        assert_eq!(driven.receive(usize::MAX, 4).unwrap(), b"last words");
        let end = driven.transport.receive_some(&mut [0; 4]);
        assert_eq!(end.unwrap(), 0, "the end stays the end");
        server.join().unwrap();
    }
}

#[test]
fn closing_sends_close_notify() {
    let identity = self_signed();
    let (endpoint, server) = serve_tls(identity.config(&[]), |stream| {
        // Without `close_notify` this is `UnexpectedEof`.
        stream.read(&mut [0; 4])
    });
    let client = identity.client(NAME, Protocol::Http1);
    drop(Driven::establish(&endpoint, Some(&client)).unwrap());
    assert_eq!(server.join().unwrap().unwrap(), 0);
}

#[test]
fn garbage_within_a_session_is_an_error() {
    let identity = self_signed();
    let (endpoint, server) = serve_tls(identity.config(&[]), |stream| {
        stream.conn.complete_io(&mut stream.sock).unwrap();
        stream
            .sock
            .write_all(b"HTTP/1.1 500 Oh no\r\n\r\n")
            .unwrap();
    });
    let client = identity.client(NAME, Protocol::Http1);
    let mut driven = Driven::establish(&endpoint, Some(&client)).unwrap();
    let error = driven.receive(1, 64).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    assert!(error.to_string().contains("TLS broke"), "{error}");
    server.join().unwrap();
}

#[test]
fn an_alert_after_the_handshake_is_an_error_with_its_name() {
    let identity = self_signed();
    let mut authorities = rustls::RootCertStore::empty();
    authorities.add(identity.certificate.der().clone()).unwrap();
    let provider = Arc::new(default_provider());
    let asks = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), provider.clone())
        .build()
        .unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(asks)
        .with_single_cert(
            vec![identity.certificate.der().clone()],
            identity.key.serialize_der().try_into().unwrap(),
        )
        .unwrap();
    let (endpoint, server) = serve_tls(config, |stream| {
        assert!(stream.conn.complete_io(&mut stream.sock).is_err());
        assert_eq!(
            stream.conn.protocol_version(),
            Some(ProtocolVersion::TLSv1_3)
        );
    });
    let client = identity.client(NAME, Protocol::Http1);
    let mut driven = Driven::establish(&endpoint, Some(&client)).unwrap();
    let error = driven.receive(1, 64).unwrap_err();
    assert!(error.to_string().contains("CertificateRequired"), "{error}");
    server.join().unwrap();
}

/// A TLS 1.3 session ticket (RFC 8446, section 4.6.1) of a kilobyte, never used.
fn ticket() -> Vec<u8> {
    const TICKET: u16 = 1000;
    let mut body = vec![0; 4 + 4 + 1];
    body.extend(TICKET.to_be_bytes());
    body.extend([7; TICKET as usize]);
    body.extend([0; 2]);
    let length = u32::try_from(body.len()).unwrap();
    let new_session_ticket = 4 << 24;
    [(new_session_ticket | length).to_be_bytes().to_vec(), body].concat()
}

/// The bare socket, and this many records for it with a ticket in each.
fn tickets(stream: Secured<TcpStream>, count: u64) -> (TcpStream, Vec<u8>) {
    let (session, socket) = stream.into_parts();
    let Some(SupportedCipherSuite::Tls13(suite)) = session.negotiated_cipher_suite() else {
        panic!("expected TLS 1.3");
    };
    let (first, secrets) = session.dangerous_extract_secrets().unwrap().tx;
    let (ConnectionTrafficSecrets::Aes128Gcm { key, iv }
    | ConnectionTrafficSecrets::Aes256Gcm { key, iv }
    | ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv }) = secrets
    else {
        panic!("unknown cipher");
    };
    let mut encrypter = suite.aead_alg.encrypter(key, iv);
    let mut records = Vec::new();
    let ticket = ticket();
    for sequence in first..first + count {
        let message = OutboundPlainMessage {
            typ: ContentType::Handshake,
            version: ProtocolVersion::TLSv1_3,
            payload: OutboundChunks::Single(&ticket),
        };
        records.extend(encrypter.encrypt(message, sequence).unwrap().encode());
    }
    (socket, records)
}

#[test]
fn endless_empty_records_are_an_error() {
    let identity = self_signed();
    let mut config = identity.config(&[]);
    config.send_tls13_tickets = 0;
    config.enable_secret_extraction = true;
    let (endpoint, server) = serve(LOOPBACK, |stream| {
        let mut stream = secured(config, stream);
        stream.conn.complete_io(&mut stream.sock).unwrap();
        let (mut socket, records) = tickets(stream, 1000);
        // The client gives up before the end.
        let _ = socket.write_all(&records);
    });
    let client = identity.client(NAME, Protocol::Http1);
    let mut driven = Driven::establish(&endpoint, Some(&client)).unwrap();
    let error = driven.receive(1, 64).unwrap_err();
    assert!(error.to_string().contains("nothing in them"), "{error}");
    drop(driven);
    server.join().unwrap();
}

#[test]
fn an_oversized_message_is_an_error() {
    let identity = self_signed();
    let mut config = identity.config(&[]);
    // Together they are one flight of a megabyte.
    config.send_tls13_tickets = 20_000;
    let (endpoint, server) = serve_tls(config, |stream| {
        let _ = stream.conn.complete_io(&mut stream.sock);
    });
    let client = identity.client(NAME, Protocol::Http1);
    let mut driven = Driven::establish(&endpoint, Some(&client)).unwrap();
    let error = driven.receive(1, 64).unwrap_err();
    assert!(error.to_string().contains("longer than allowed"), "{error}");
    drop(driven);
    server.join().unwrap();
}
