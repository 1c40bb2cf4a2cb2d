//! One listener: accepts connections, refuses them while the backend is down, limits their number.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::behaviour::{Behaviour, Until};
use crate::receiver::{Ending, Receiver};
use crate::{Protocol, grpc, http1};

/// How long a listener pauses after the kernel refused a connection (no descriptors left) or the
/// port: the error repeats at once until something is closed.
const PAUSE: Duration = Duration::from_millis(50);
/// Connections that the kernel holds until they are accepted.
const BACKLOG: u32 = 4096;

/// A socket bound to `address` that does not listen yet.
pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // Allows a port whose last connections are in TIME_WAIT.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// Begins to listen.
pub(crate) fn listen(socket: TcpSocket) -> io::Result<TcpListener> {
    socket.listen(BACKLOG)
}

/// What the connections of one listener share.
pub(crate) struct Listening {
    pub(crate) receiver: Arc<Receiver>,
    pub(crate) places: Arc<Semaphore>,
}

impl Listening {
    /// Accepts until it is dropped.
    pub(crate) async fn run(self, mut listener: TcpListener, address: SocketAddr) {
        let mut changes = self.receiver.account.behaviour.subscribe();
        let mut connections = JoinSet::new();
        loop {
            let down = changes.borrow_and_update().down();
            if let Some(until) = down {
                // The listener closes first, so that a client that sees its connection end finds no
                // listener.
                drop(listener);
                connections.shutdown().await;
                listener = down_until(until, address, &mut changes).await;
                continue;
            }
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => self.serve(stream, &mut connections),
                    Err(_) => tokio::time::sleep(PAUSE).await,
                },
                Some(_) = connections.join_next() => {}
                _ = changes.changed() => {}
            }
        }
    }

    fn serve(&self, mut stream: TcpStream, connections: &mut JoinSet<()>) {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            let Receiver {
                account, protocol, ..
            } = &*self.receiver;
            account.refused_connection(*protocol);
            return;
        };
        // Answers are small and complete: waiting to fill a segment would only delay them.
        let _ = stream.set_nodelay(true);
        let receiver = Arc::clone(&self.receiver);
        connections.spawn_local(async move {
            let ending = match receiver.protocol {
                Protocol::OtlpGrpc => grpc::connection::serve(&mut stream, &receiver).await,
                _ => http1::serve(&mut stream, &receiver).await,
            };
            if ending == Ending::Reset {
                // A connection that has ended already needs no reset.
                let _ = stream.set_zero_linger();
            }
            drop(place);
        });
    }
}

/// Keeps the port without listening, so that connections are refused and no other process takes the
/// port; then listens again.
async fn down_until(
    until: Until,
    address: SocketAddr,
    changes: &mut watch::Receiver<Behaviour>,
) -> TcpListener {
    let mut held = bind(address).ok();
    let mut until = Some(until);
    while let Some(end) = until {
        tokio::select! {
            () = end.reached() => {}
            _ = changes.changed() => {}
        }
        until = changes.borrow_and_update().down();
    }
    loop {
        let socket = match held.take() {
            Some(socket) => Ok(socket),
            None => bind(address),
        };
        match socket.and_then(listen) {
            Ok(listener) => return listener,
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}
