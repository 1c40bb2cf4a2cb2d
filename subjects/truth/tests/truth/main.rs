//! The real servers: against the computation, with a real load engine, and against bad clients.
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod clients;
mod disturbance;
mod load;
mod server;
