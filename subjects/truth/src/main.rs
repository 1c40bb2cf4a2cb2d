//! `truth`: servers whose response times are known beforehand.

#![forbid(unsafe_code)]

use std::error::Error;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use nix::sys::prctl;
use nix::time::{ClockId, clock_gettime};
use truth::{Answering, Server, Stalls};

/// HTTP/1.1 servers whose response times are known beforehand, to check load generators.
#[derive(Parser)]
#[command(
    after_help = "Every GET is answered with the same six bytes; connections are kept. Anything \
    else (another method, a body, a request sent before the last answer) closes its connection.\n\n\
    On standard output:\n  \
    listening on ADDRESS\n  \
    stalls first_ns=… every_ns=… lasts_ns=…                (stall only; CLOCK_MONOTONIC)\n  \
    answered=… late_ns_p50=… late_ns_p99=… late_ns_max=…   (at SIGTERM or Ctrl-C)\n\n\
    Lateness is what the server itself was late by. Where it is not small against the service \
    time, the machine was busy and the truth is not what was asked for: measure again, with a \
    core of its own (taskset)."
)]
struct Cli {
    #[command(subcommand)]
    server: Kind,
}

#[derive(Subcommand)]
enum Kind {
    /// Answers each request a constant time after its arrival, however many are in progress.
    ///
    /// A generator that keeps its schedule measures this time at every percentile, plus some
    /// tens of microseconds for the round trip.
    Constant {
        /// From a request's arrival in the kernel to its answer.
        #[arg(long, value_name = "DURATION", default_value = "1ms", value_parser = humantime::parse_duration)]
        service: Duration,
        #[command(flatten)]
        listening: Listening,
    },
    /// The same, but at regular intervals the whole server neither reads nor writes.
    ///
    /// A generator that measures from the intended start sees a stall in every request that it
    /// should have started within: with the defaults, in one of ten. One that measures from the
    /// moment of sending sees it in one request per connection.
    Stall {
        /// From the start of one stall to the start of the next; also from the server's start to
        /// the first.
        #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = humantime::parse_duration)]
        every: Duration,
        /// How long a stall lasts.
        #[arg(long = "for", value_name = "DURATION", default_value = "200ms", value_parser = humantime::parse_duration)]
        lasts: Duration,
        /// From a request's arrival in the kernel to its answer, outside stalls.
        #[arg(long, value_name = "DURATION", default_value = "1ms", value_parser = humantime::parse_duration)]
        service: Duration,
        #[command(flatten)]
        listening: Listening,
    },
}

#[derive(Args)]
struct Listening {
    /// Where to listen; with port 0 the kernel picks one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Maximum number of connections; more are closed on accept. Each needs a file descriptor,
    /// see `ulimit -n`.
    #[arg(long, value_name = "NUMBER", default_value_t = 16_384)]
    connections: usize,
    /// Also end when standard input ends, as a pipe does when the program at its other end
    /// dies.
    #[arg(long)]
    until_eof: bool,
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("truth: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(cli: Cli) -> Result<(), Box<dyn Error>> {
    let (answering, stalls, listening) = match cli.server {
        Kind::Constant { service, listening } => (Answering::constant(service)?, None, listening),
        Kind::Stall {
            every,
            lasts,
            service,
            listening,
        } => {
            let first = Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC)?) + every;
            let stalls = Stalls::new(u64::try_from(first.as_nanos())?, every, lasts)?;
            let answering = Answering::constant(service)?.with_stalls(stalls);
            (answering, Some(stalls), listening)
        }
    };
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    // Otherwise the kernel may wake this thread up to 50 µs late to coalesce wake-ups.
    prctl::set_timerslack(1)?;

    let mut server =
        Server::bind(listening.listen, answering, listening.connections)?.stopped_by(stop);
    if listening.until_eof {
        server = server.until_end_of_input()?;
    }
    say(&format!("listening on {}", server.address()?))?;
    if let Some(stalls) = stalls {
        say(&format!("stalls {stalls}"))?;
    }
    say(&server.serve()?.to_string())
}

/// Prints a line and flushes it: the parent process may be waiting for it.
fn say(line: &str) -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()?;
    Ok(())
}
