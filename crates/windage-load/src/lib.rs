//! Schedules and engines that put load on a subject and time it.
//!
//! The engine shares its machine with what it measures, so an exchange costs it one send, one
//! receive and a share of one wait; it allocates nothing and parses a head only when it changed.
//! It runs on the thread that calls it: no runtime, no thread of its own.
//!
//! Below this crate's `clock`, `epoll`, `socket` and `wakeup` modules is the kernel; nothing else
//! here knows of it. Schedules, requests and the response parser are pure.

mod chunked;
mod clock;
mod connection;
mod engine;
mod epoll;
mod pace;
mod recording;
mod request;
mod response;
mod run;
mod schedule;
mod socket;
mod wakeup;

pub use clock::{monotonic_ns, thread_cpu_ns};
pub use engine::{ConnectReport, Engine, EngineConfig, EngineError, StopHandle, Target, TargetId};
pub use pace::Pace;
pub use recording::Recording;
pub use request::{RequestError, serialise_request};
pub use response::{Answer, Progress, ProtocolError, ResponseParser};
pub use run::RunReport;
pub use schedule::Schedule;
