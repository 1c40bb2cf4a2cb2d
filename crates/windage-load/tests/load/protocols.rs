//! The same results over every kind of connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use windage_load::{
    ConnectReport, Endpoint, Engine, EngineConfig, Pace, Protocol, Recording, Request, RunReport,
    Schedule, Target, TargetId, Text, TlsClient, TlsOptions, TurnRhythm, Turns, Work,
};
use windage_model::Exchanges;

use crate::server::repeat_until;
use crate::skip::skip;

const LASTS: Duration = Duration::from_millis(200);
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn target(endpoint: Endpoint, protocol: Protocol, streams: usize) -> Target {
    let request = Request {
        method: match protocol {
            Protocol::Grpc => "POST".to_owned(),
            _ => "GET".to_owned(),
        },
        authority: "localhost".to_owned(),
        path: Text::literal("/package.Service/Method"),
        headers: Vec::new(),
        body: Text::literal(match protocol {
            Protocol::Grpc => "message",
            _ => "",
        }),
    };
    Target {
        endpoint,
        tls: None,
        streams,
        work: Work::single(request, protocol).unwrap(),
    }
}

/// Closed and open loop, one after the other, over two connections; returns both reports.
fn load(target: Target) -> (ConnectReport, [RunReport; 2], Recording) {
    let mut engine = Engine::new(EngineConfig {
        timeout: Duration::from_secs(5),
    })
    .unwrap();
    let id = engine.add_target(target, 2);
    let connected = engine.connect(id).unwrap();
    let mut recording = Recording::new();
    let closed = engine
        .run(id, Pace::Closed { lasts: LASTS }, &mut recording)
        .unwrap();
    let mut schedule = Schedule::constant(500.0);
    let open = Pace::Open {
        schedule: &mut schedule,
        lasts: LASTS,
    };
    let open = engine.run(id, open, &mut recording).unwrap();
    (connected, [closed, open], recording)
}

/// What must be true with a server that answers everything.
fn check(target: &Target) {
    let closed = repeat_until(|| check_once(target.clone()), |of| of.completed > 10);
    assert!(closed.completed > 10, "{closed:?}");
}

/// What must be true of every run; returns the closed loop's counts.
fn check_once(target: Target) -> Exchanges {
    let (connected, [closed, open], recording) = load(target);
    assert_eq!(
        (connected.opened, connected.failed),
        (2, 0),
        "{connected:?}"
    );
    let exchanges = [&closed.exchanges, &open.exchanges];
    for (of, report) in exchanges.into_iter().zip([&closed, &open]) {
        assert_eq!(of.errors.total(), 0, "{report:?}");
        assert_eq!((of.sent, of.reopened), (of.completed, 0), "{report:?}");
        assert_eq!(of.status.0[1], of.completed, "all of class 2xx: {report:?}");
        assert!(of.sent_bytes > 0 && of.received_bytes > 0, "{report:?}");
    }
    assert_eq!(open.exchanges.completed, 100, "{open:?}");
    let both = closed.exchanges.completed + open.exchanges.completed;
    assert_eq!(recording.response_time.len(), both);
    closed.exchanges
}

fn answer_all(stream: &mut (impl Read + Write)) {
    let mut head = [0; 4096];
    let mut length = 0;
    while let Ok(read @ 1..) = stream.read(&mut head[length..]) {
        length += read;
        if head[..length].ends_with(b"\r\n\r\n") {
            length = 0;
            if stream.write_all(OK).and_then(|()| stream.flush()).is_err() {
                return;
            }
        }
    }
}

#[test]
fn a_unix_socket() {
    let folder = std::env::temp_dir().join(format!("windage-load-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("server.sock");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || answer_all(&mut stream));
        }
    });
    check(&target(Endpoint::Unix(path), Protocol::Http1, 1));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn ipv6() {
    let Ok(listener) = TcpListener::bind("[::1]:0") else {
        return skip("ipv6", "this machine has no IPv6");
    };
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || answer_all(&mut stream));
        }
    });
    check(&target(address.into(), Protocol::Http1, 1));
}

/// A certificate of its own for `localhost`, and the server's TLS settings.
fn certificate() -> (String, Arc<rustls::ServerConfig>) {
    let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    (own.cert.pem(), Arc::new(config))
}

fn tls_server() -> (SocketAddr, String) {
    let (pem, config) = certificate();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let config = Arc::clone(&config);
            std::thread::spawn(move || {
                let connection = rustls::ServerConnection::new(config).unwrap();
                answer_all(&mut rustls::StreamOwned::new(connection, stream));
            });
        }
    });
    (address, pem)
}

fn tls(ca_file: Option<PathBuf>) -> TlsClient {
    TlsClient::new(TlsOptions {
        server_name: "localhost".to_owned(),
        ca_file,
        insecure: false,
        alpn: Protocol::Http1,
    })
    .unwrap()
}

#[test]
fn tls_with_a_private_ca() {
    let (address, pem) = tls_server();
    let file = std::env::temp_dir().join(format!("windage-load-{}.pem", std::process::id()));
    std::fs::write(&file, pem).unwrap();
    check(&Target {
        tls: Some(tls(Some(file.clone()))),
        ..target(address.into(), Protocol::Http1, 1)
    });
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn an_untrusted_server_gets_no_load() {
    let (address, _) = tls_server();
    let (connected, [closed, open], _) = load(Target {
        tls: Some(tls(None)),
        ..target(address.into(), Protocol::Http1, 1)
    });
    assert_eq!((connected.opened, connected.failed), (0, 2));
    let why = connected.first_error.unwrap();
    assert!(why.contains("certificate"), "{why}");
    assert_eq!((closed.exchanges.sent, open.exchanges.sent), (0, 0));
    assert!(closed.exchanges.errors.connect > 0, "{closed:?}");
    assert_eq!(open.exchanges.dropped, 100, "{open:?}");
}

/// An HTTP/2 server without TLS that answers everything; with `grpc`, like a gRPC server.
fn http2_server(grpc: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                runtime.block_on(serve_http2(stream, grpc));
            });
        }
    });
    address
}

async fn serve_http2(stream: TcpStream, grpc: bool) {
    stream.set_nonblocking(true).unwrap();
    stream.set_nodelay(true).unwrap();
    let stream = tokio::net::TcpStream::from_std(stream).unwrap();
    let Ok(mut connection) = h2::server::handshake(stream).await else {
        return;
    };
    while let Some(Ok((_, mut respond))) = connection.accept().await {
        let answered = respond
            .send_response(http::Response::new(()), false)
            .and_then(|mut body| {
                body.send_data(Bytes::from_static(b"\0\0\0\0\x02ok"), !grpc)?;
                let ok = http::HeaderMap::from_iter([(
                    http::HeaderName::from_static("grpc-status"),
                    http::HeaderValue::from_static("0"),
                )]);
                if grpc { body.send_trailers(ok) } else { Ok(()) }
            });
        if answered.is_err() {
            return;
        }
    }
}

#[test]
fn http2_with_one_stream_and_with_many() {
    for streams in [1, 10] {
        check(&target(
            http2_server(false).into(),
            Protocol::Http2,
            streams,
        ));
    }
}

#[test]
fn grpc() {
    check(&target(http2_server(true).into(), Protocol::Grpc, 4));
}

#[test]
fn an_http2_server_without_grpc_gives_no_grpc_answer() {
    let (_, [closed, _], _) = load(target(http2_server(false).into(), Protocol::Grpc, 1));
    assert_eq!(closed.exchanges.completed, 0, "{closed:?}");
    assert!(closed.exchanges.errors.protocol > 0, "{closed:?}");
    assert!(closed.first_error.unwrap().contains("grpc-status"));
}

#[test]
fn a_server_that_does_not_speak_http2_ends_the_attempt() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
        }
    });
    let (connected, [closed, _], _) = load(target(address.into(), Protocol::Http2, 1));
    assert_eq!(
        (connected.opened, connected.failed),
        (0, 2),
        "{connected:?}"
    );
    assert_eq!(closed.exchanges.completed, 0);
}

#[test]
fn targets_of_all_kinds_take_turns() {
    let (address, pem) = tls_server();
    let name = format!("windage-load-turns-{}", std::process::id());
    let (file, path) = [".pem", ".sock"]
        .map(|end| std::env::temp_dir().join(format!("{name}{end}")))
        .into();
    std::fs::write(&file, pem).unwrap();
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || answer_all(&mut stream));
        }
    });
    let encrypted = Target {
        tls: Some(tls(Some(file.clone()))),
        ..target(address.into(), Protocol::Http1, 1)
    };
    let members = [
        encrypted,
        target(Endpoint::Unix(path.clone()), Protocol::Http1, 1),
        target(http2_server(false).into(), Protocol::Http2, 10),
        target(http2_server(true).into(), Protocol::Grpc, 3),
    ];
    let mut engine = Engine::new(EngineConfig {
        timeout: Duration::from_secs(8),
    })
    .unwrap();
    let targets: Vec<TargetId> = members
        .map(|target| {
            let id = engine.add_target(target, 2);
            assert_eq!(engine.connect(id).unwrap().opened, 2);
            id
        })
        .into();
    let turns = Turns {
        targets: targets.into(),
        order: [3, 0, 2, 1, 1, 3, 2, 0].repeat(4).into(),
        requests: 5,
    };
    let open = TurnRhythm::Open {
        schedule: Schedule::constant(1_000.0),
    };
    for rhythm in [TurnRhythm::Closed, open] {
        let ran = engine
            .run_turns(&turns, rhythm, &mut Recording::new())
            .unwrap();
        for of in &ran.members {
            assert_eq!((of.completed, of.errors.total()), (40, 0), "{ran:?}");
            assert_eq!((of.status.0[1], of.reopened), (40, 0), "{ran:?}");
            assert!(of.sent_bytes > 0 && of.received_bytes > 0, "{ran:?}");
        }
    }
    std::fs::remove_file(&file).unwrap();
    std::fs::remove_file(&path).unwrap();
}
