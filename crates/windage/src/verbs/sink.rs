//! `windage sink`: Windage's receivers as a tool of their own.

mod flags;
mod json;
mod live;
mod orders;
mod received;
mod spans;
mod text;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use thiserror::Error;
use windage_model::ArmIndex;
use windage_sink::{Detail, KeepOptions, Protocol, Sink, SinkError, SinkOptions};

pub(crate) use flags::SinkFlags;

use crate::descriptors::{self, TooFewDescriptors};
use crate::exit::Exit;
use crate::message;
use crate::signals::Signals;
use crate::verbs::report::print;
use live::Live;
use orders::Orders;
use received::Received;
use spans::FirstSpans;

/// The single arm to which everything is counted.
const ARM: ArmIndex = ArmIndex::BASELINE;
/// How often the live line is drawn and signals are checked.
const TICK: Duration = Duration::from_millis(100);

/// Why nothing could be received.
#[derive(Debug, Error)]
enum SinkVerbError {
    #[error(transparent)]
    Sink(#[from] SinkError),
    #[error("--max-connections: {0}")]
    Descriptors(#[from] TooFewDescriptors),
    #[error("--print: can't make a directory for the first spans: {0}; name one with --keep")]
    Scratch(#[source] io::Error),
}

/// Receives until the time is over or a signal comes, and prints what arrived.
pub(crate) fn sink(flags: &SinkFlags) -> Exit {
    let Some(signals) = Signals::install() else {
        return Exit::CouldNotMeasure;
    };
    let received = match received(flags, &signals) {
        Ok(received) => received,
        Err(error) => {
            message::error(&error);
            return Exit::CouldNotMeasure;
        }
    };
    let text = if flags.output.json {
        format!("{:#}\n", json::document(&received))
    } else {
        text::text(&received)
    };
    print(&text)
}

fn received(flags: &SinkFlags, signals: &Signals) -> Result<Received, SinkVerbError> {
    descriptors::reserve(flags.max_connections, 1)?;
    // The first spans are read from kept bodies; without --keep, a temporary directory holds them.
    let scratch = match (flags.spans_shown(), &flags.keep) {
        (1.., None) => Some(tempfile::tempdir().map_err(SinkVerbError::Scratch)?),
        _ => None,
    };
    let kept_in = flags
        .keep
        .clone()
        .or_else(|| scratch.as_ref().map(|dir| dir.path().to_owned()));
    let mut first_spans = FirstSpans::new(kept_in.clone(), flags.spans_shown());
    let sink = Sink::start_at(&addresses(flags), options(flags, kept_in))?;
    sink.set_backend(ARM, flags.backend);
    if !flags.output.quiet {
        for (protocol, address) in sink.addresses(ARM) {
            anstream::eprintln!("{protocol} {address}");
        }
    }
    let began = Instant::now();
    watch(flags, signals, &sink, &mut first_spans);
    let (lasted, cpu_ns) = (began.elapsed(), sink.cpu_ns());
    let mut deliveries = sink.shut_down();
    first_spans.show_rest();
    Ok(Received {
        delivery: deliveries.pop().unwrap_or_default(),
        cpu_ns,
        lasted,
        is_detailed: !flags.count_only,
    })
}

/// Waits until the time is over or a signal comes.
fn watch(flags: &SinkFlags, signals: &Signals, sink: &Sink, first_spans: &mut FirstSpans) {
    let mut live = Live::new(flags.output.quiet, flags.print.is_some());
    let orders = Orders::listen();
    let until = flags.length.map(|length| Instant::now() + length);
    while !signals.came() && until.is_none_or(|until| Instant::now() < until) {
        let left = until.map_or(TICK, |until| {
            until.saturating_duration_since(Instant::now())
        });
        std::thread::sleep(TICK.min(left));
        for order in orders.given() {
            match order.parse() {
                Ok(backend) => {
                    sink.set_backend(ARM, backend);
                    live.say(&format!("the backend is now: {backend}"));
                }
                Err(error) => live.say(&error.to_string()),
            }
        }
        live.look(&sink.counts(ARM));
        live.suspend(|| first_spans.show());
    }
    live.finish();
}

/// The receivers that the flags name; by default all, on free ports.
fn addresses(flags: &SinkFlags) -> Vec<(Protocol, SocketAddr)> {
    let asked: Vec<_> = Protocol::ALL
        .into_iter()
        .filter_map(|protocol| Some((protocol, flags.address(protocol)?)))
        .collect();
    if asked.is_empty() {
        let free_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        return Protocol::ALL.map(|protocol| (protocol, free_port)).to_vec();
    }
    asked
}

fn options(flags: &SinkFlags, kept_in: Option<PathBuf>) -> SinkOptions {
    SinkOptions {
        max_connections: flags.max_connections,
        detail: if flags.count_only {
            Detail::Counts
        } else {
            Detail::Full
        },
        client_drop_p0s: flags.client_drop_p0s,
        keep: kept_in.map(|dir| KeepOptions {
            dir,
            max_bytes: flags.keep_bytes,
        }),
        ..SinkOptions::default()
    }
}
