//! The service's sockets and life cycle, from "listening" to the last flush.

use std::convert::Infallible;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::task::LocalSet;

use crate::orders::OrderBook;
use crate::service::Service;
use crate::telemetry::{self, Tracing};
use crate::{DemoError, DemoOptions, Telemetry};

/// The limit of concurrent connections; further ones wait in the kernel's queue.
const CONNECTIONS_MAX: usize = 1024;
/// How long to wait when the kernel has no descriptor for a new connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves on one thread until SIGTERM or SIGINT, then sends the spans that are still queued, for at
/// most 6 s. Prints `listening on ADDRESS` to stdout once it is ready.
///
/// Spans that can't be sent at the end are reported on stderr, but are not an error: a service does
/// not fail because its telemetry fails.
///
/// # Errors
///
/// When telemetry, database, event loop or address can't be set up.
pub fn serve(options: DemoOptions) -> Result<(), DemoError> {
    let provider = match &options.telemetry {
        Telemetry::Off => None,
        Telemetry::Otlp { endpoint } => Some(telemetry::provider(endpoint.as_deref())?),
    };
    let tracing = provider.as_ref().map(Tracing::new);
    let service = Rc::new(Service::new(OrderBook::seeded()?, tracing));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(DemoError::Runtime)?;
    let connections = LocalSet::new();
    connections.block_on(&runtime, until_asked_to_end(options.listen, &service))?;
    // An answer is made and written within one iteration of the event loop, so dropping connections
    // here loses none.
    drop(connections);
    drop(runtime);
    if let Some(Err(reason)) = provider.as_ref().map(telemetry::flush) {
        // If stderr is closed, this can't be reported.
        let _ = writeln!(
            io::stderr(),
            "windage-demo: the last spans were not sent: {reason}"
        );
    }
    Ok(())
}

async fn until_asked_to_end(address: SocketAddr, service: &Rc<Service>) -> Result<(), DemoError> {
    let mut terminate = signal(SignalKind::terminate()).map_err(DemoError::Runtime)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(DemoError::Runtime)?;
    let failed = |source| DemoError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    announce(listener.local_addr().map_err(failed)?).map_err(DemoError::Announce)?;
    tokio::select! {
        () = accept(listener, service) => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

fn announce(address: SocketAddr) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "listening on {address}")?;
    stdout.flush()
}

async fn accept(listener: TcpListener, service: &Rc<Service>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let serving = connection(stream, Rc::clone(service));
        tokio::task::spawn_local(async move {
            serving.await;
            drop(place);
        });
    }
}

async fn connection(stream: TcpStream, service: Rc<Service>) {
    // If this fails, the service still works, but an answer may wait for an ACK.
    let _ = stream.set_nodelay(true);
    let answer = service_fn(|request: Request<Incoming>| {
        let response = service.answer(&request.into_parts().0);
        std::future::ready(Ok::<_, Infallible>(response))
    });
    // Idle time is not limited: an arm's connections are idle while other arms are measured.
    // Errors of the connection don't matter to the service.
    let _ = http1::Builder::new()
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}
