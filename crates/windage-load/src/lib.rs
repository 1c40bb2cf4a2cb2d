//! Schedules and engines that put load on a subject and time it.
//!
//! The engine shares its machine with what it measures, so it is kept cheap: an exchange over
//! HTTP/1.1 costs one send, one receive and a share of one wait. It allocates nothing and parses a
//! head only when it changed. An [`Engine`] runs on the thread that calls it: no runtime, no thread
//! of its own. A [`Generator`] is one engine, or several with a thread each.
//!
//! Only the `clock`, `epoll`, `own`, `socket` and `wakeup` modules call the kernel. A [`TlsClient`]
//! reads its CA file, a [`Table`] and a replayed [`Schedule`] their files. Everything else is pure:
//! works, schedules and parsers.
//!
//! ```
//! use std::io::{Read, Write};
//! use std::net::TcpListener;
//! use std::time::Duration;
//! use windage_load::{Engine, EngineConfig, Pace, Protocol, Recording, Request, Schedule};
//! use windage_load::{Target, Text, Work};
//!
//! // A server for one connection.
//! let server = TcpListener::bind("127.0.0.1:0")?;
//! let address = server.local_addr()?;
//! std::thread::spawn(move || {
//!     let (mut stream, _) = server.accept().unwrap();
//!     let mut head = [0; 1024];
//!     while stream.read(&mut head).is_ok_and(|bytes| bytes > 0) {
//!         stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
//!     }
//! });
//!
//! let request = Request {
//!     method: "GET".to_owned(),
//!     authority: address.to_string(),
//!     path: Text::literal("/"),
//!     headers: Vec::new(),
//!     body: Text::literal(""),
//! };
//! let target = Target {
//!     endpoint: address.into(),
//!     tls: None,
//!     streams: 1,
//!     work: Work::single(request, Protocol::Http1)?,
//! };
//! let mut engine = Engine::new(EngineConfig { timeout: Duration::from_secs(5) })?;
//! let target = engine.add_target(target, 1);
//! engine.connect(target)?;
//! let pace = Pace::Open {
//!     schedule: &mut Schedule::constant(200.0),
//!     lasts: Duration::from_millis(100),
//! };
//! let mut recording = Recording::new();
//! let report = engine.run(target, pace, &mut recording)?;
//! assert_eq!(report.exchanges.completed, 20);
//! println!("median: {} ns", recording.response_time.value_at_quantile(0.5));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chunked;
mod clock;
mod connection;
mod endpoint;
mod engine;
mod epoll;
mod generator;
mod grpc;
mod http2;
mod lane;
mod member;
mod outliers;
mod own;
mod pace;
mod progress;
mod protocol_error;
mod recording;
mod request;
mod response;
mod run;
mod schedule;
mod socket;
mod target;
mod tls;
mod transport;
mod turns;
mod upkeep;
mod wakeup;
mod warnings;
mod work;

pub use clock::{monotonic_ns, thread_cpu_ns};
pub use endpoint::Endpoint;
pub use engine::{Engine, EngineConfig, EngineError};
pub use generator::{Generator, GeneratorConfig, Rhythm};
#[doc(hidden)]
pub use http2::feed_http2;
pub use outliers::{OUTLIERS_KEPT, Outliers};
pub use own::{OwnThread, OwnTime, STALL_NS, Stalls};
pub use pace::Pace;
pub use progress::Progress as RunProgress;
pub use protocol_error::ProtocolError;
pub use recording::Recording;
pub use request::{RequestError, ValueFault};
pub use response::{Answer, Progress, ResponseParser};
pub use run::RunReport;
pub use schedule::{Piece, Profile, ProfileError, ReplayError, Schedule};
pub use target::{Connections, Target, TargetId};
pub use tls::{TlsClient, TlsError, TlsOptions};
pub use turns::{TurnRhythm, Turns, TurnsError, TurnsReport};
pub use upkeep::ConnectReport;
pub use warnings::{LoadFacts, SubjectCpu, warnings};
pub use work::{
    Field, Fields, Flow, Part, Protocol, Request, RowOrder, Step, Table, TableError, Text, Work,
};
