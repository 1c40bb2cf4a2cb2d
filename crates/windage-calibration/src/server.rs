//! The service's sockets, and its life from "listening" to the account.

use std::convert::Infallible;
use std::io::{self, Write as _};
use std::rc::Rc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use nix::sys::prctl;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::LocalSet;

use crate::service::Service;
use crate::timer::Timer;
use crate::{CalibrationError, CalibrationOptions};

/// Pause when the kernel has no file descriptor for a new connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves on one thread, with another for an injected timer, until SIGTERM or SIGINT. Prints `listening on ADDRESS` to stdout once it is
/// ready, and its [account](crate::Account) at the end.
///
/// # Errors
///
/// When the event loop or the address is unavailable, or stdout is closed.
pub fn serve(options: &CalibrationOptions) -> Result<(), CalibrationError> {
    // Sleeps must last as long as requested, not the usual 50 µs longer. If the kernel refuses, the
    // account still says how long they were.
    let _ = prctl::set_timerslack(1);
    let service = Rc::new(Service::new(options));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(CalibrationError::Runtime)?;
    let timer = Timer::start(options.injection);
    LocalSet::new().block_on(&runtime, until_asked_to_end(options, &service))?;
    let mut account = service.account();
    if let Some(timer) = timer {
        timer.end().enter(&mut account);
    }
    serde_json::to_string(&account)
        .map_err(io::Error::from)
        .and_then(|line| say(&line))
        .map_err(CalibrationError::Stdout)
}

async fn until_asked_to_end(
    options: &CalibrationOptions,
    service: &Rc<Service>,
) -> Result<(), CalibrationError> {
    let mut terminate = signal(SignalKind::terminate()).map_err(CalibrationError::Runtime)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(CalibrationError::Runtime)?;
    let failed = |source| CalibrationError::Listen {
        address: options.listen,
        source,
    };
    let listener = TcpListener::bind(options.listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    say(&format!("listening on {address}")).map_err(CalibrationError::Stdout)?;
    tokio::select! {
        () = accept(listener, service) => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

fn say(line: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}

async fn accept(listener: TcpListener, service: &Rc<Service>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::task::spawn_local(connection(stream, Rc::clone(service)));
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn connection(stream: TcpStream, service: Rc<Service>) {
    // If this fails, the service still works, but the kernel may hold answers back for an ACK.
    let _ = stream.set_nodelay(true);
    let answer = service_fn(|request: Request<Incoming>| {
        let response = service.answer(&request.into_parts().0);
        std::future::ready(Ok::<_, Infallible>(response))
    });
    // No idle timeout: an arm's connections rest while other arms are measured.
    // The service ignores how a client disconnects.
    let _ = http1::Builder::new()
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}
