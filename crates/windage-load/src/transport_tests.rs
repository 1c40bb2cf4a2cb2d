use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, listen, setsockopt, socket, sockopt,
};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustls::crypto::ring::default_provider;
use rustls::server::WebPkiClientVerifier;
use rustls::{ProtocolVersion, ServerConfig, ServerConnection, StreamOwned};

use super::*;
use crate::tls::TlsOptions;
use crate::work::Protocol;

const PATIENCE: Duration = Duration::from_secs(10);
const LOOPBACK: &str = "127.0.0.1:0";
const HTTP1: &[u8] = b"http/1.1";
const NAME: &str = "svc.test";

/// A transport driven only by edge-triggered events, as the engine drives it.
struct Driven {
    transport: Transport,
    epoll: Epoll,
    has_hung_up: bool,
}

impl Driven {
    fn open(endpoint: &Endpoint, tls: Option<&TlsClient>) -> io::Result<Driven> {
        let transport = Transport::open(endpoint, tls)?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let watched = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP;
        let event = EpollEvent::new(watched | EpollFlags::EPOLLET, 0);
        epoll.add(transport.fd(), event)?;
        Ok(Driven {
            transport,
            epoll,
            has_hung_up: false,
        })
    }

    fn establish(endpoint: &Endpoint, tls: Option<&TlsClient>) -> io::Result<Driven> {
        let mut driven = Driven::open(endpoint, tls)?;
        loop {
            driven.wait();
            if driven.transport.establish()? {
                return Ok(driven);
            }
        }
    }

    /// Waits for the next event.
    fn wait(&mut self) {
        let mut events = [EpollEvent::empty()];
        let patience_ms = u16::try_from(PATIENCE.as_millis()).unwrap();
        let count = self.epoll.wait(&mut events, patience_ms).unwrap();
        assert_eq!(count, 1, "no event came");
        self.has_hung_up |= events[0].events().contains(EpollFlags::EPOLLRDHUP);
    }

    /// Sends until nothing more is accepted; returns how much was.
    fn send_until_full(&mut self, bytes: &[u8]) -> usize {
        let mut sent = 0;
        while sent < bytes.len() {
            match self.transport.send_some(&bytes[sent..]) {
                Ok(taken) => {
                    assert_ne!(taken, 0, "accepting nothing is WouldBlock");
                    sent += taken;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return sent,
                Err(error) => panic!("sending: {error}"),
            }
        }
        sent
    }

    fn send_all(&mut self, bytes: &[u8]) {
        let mut sent = self.send_until_full(bytes);
        while sent < bytes.len() {
            self.wait();
            sent += self.send_until_full(&bytes[sent..]);
        }
        self.flush_all();
    }

    fn flush_all(&mut self) {
        while !self.transport.flush().unwrap() {
            self.wait();
        }
    }

    /// Receives this many bytes, or up to the end, with a buffer of `room` bytes.
    fn receive(&mut self, wanted: usize, room: usize) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        let mut buffer = vec![0; room];
        while all.len() < wanted {
            let is_drained = match self.transport.receive_some(&mut buffer) {
                Ok(0) => break,
                Ok(length) => {
                    all.extend_from_slice(&buffer[..length]);
                    length < room && self.transport.short_read_drains() && !self.has_hung_up
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => true,
                Err(error) => return Err(error),
            };
            if is_drained && all.len() < wanted {
                self.wait();
            }
        }
        Ok(all)
    }
}

/// A server's certificate, and what a client must trust for it.
struct Identity {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Identity {
    fn of(name: &str, is_ca: IsCa) -> Identity {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.is_ca = is_ca;
        let certificate = params.self_signed(&key).unwrap();
        Identity { certificate, key }
    }

    fn config(&self, alpn: &[&[u8]]) -> ServerConfig {
        let chain = vec![self.certificate.der().clone()];
        let key = self.key.serialize_der().try_into().unwrap();
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        config
    }

    /// A client that trusts only this certificate.
    fn client(&self, server_name: &str, alpn: Protocol) -> TlsClient {
        let directory = tempfile::tempdir().unwrap();
        let ca_file = directory.path().join("ca.pem");
        std::fs::write(&ca_file, self.certificate.pem()).unwrap();
        TlsClient::new(TlsOptions {
            server_name: server_name.to_owned(),
            ca_file: Some(ca_file),
            insecure: false,
            alpn,
        })
        .unwrap()
    }
}

fn self_signed() -> Identity {
    Identity::of(NAME, IsCa::NoCa)
}

fn insecure_client() -> TlsClient {
    TlsClient::new(TlsOptions {
        server_name: NAME.to_owned(),
        ca_file: None,
        insecure: true,
        alpn: Protocol::Http1,
    })
    .unwrap()
}

/// Serves one connection.
fn serve<T: Send + 'static>(
    address: &str,
    behave: impl FnOnce(TcpStream) -> T + Send + 'static,
) -> (Endpoint, JoinHandle<T>) {
    let listener = TcpListener::bind(address).unwrap();
    let endpoint = Endpoint::Tcp(listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        behave(stream)
    });
    (endpoint, server)
}

type Secured<S> = StreamOwned<ServerConnection, S>;

fn secured<S: Read + Write>(config: ServerConfig, stream: S) -> Secured<S> {
    StreamOwned::new(ServerConnection::new(Arc::new(config)).unwrap(), stream)
}

/// Serves one connection within TLS.
fn serve_tls<T: Send + 'static>(
    config: ServerConfig,
    behave: impl FnOnce(&mut Secured<TcpStream>) -> T + Send + 'static,
) -> (Endpoint, JoinHandle<T>) {
    serve(LOOPBACK, move |stream| behave(&mut secured(config, stream)))
}

fn echo(stream: &mut (impl Read + Write), length: usize) {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).unwrap();
    stream.write_all(&bytes).unwrap();
    stream.flush().unwrap();
}

/// Bytes that encode their position.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|place| (place % 251) as u8).collect()
}

/// The handshake's error.
fn refusal_of(endpoint: &Endpoint, client: &TlsClient) -> String {
    let refused = Driven::establish(endpoint, Some(client));
    refused.err().expect("the handshake succeeded").to_string()
}

#[path = "transport_tests/plain.rs"]
mod plain;
#[path = "transport_tests/tls.rs"]
mod tls;
