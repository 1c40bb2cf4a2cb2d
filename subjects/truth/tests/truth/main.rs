//! Tests of the real servers: compared with the computation, with a load engine, and with bad
//! clients.
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod clients;
mod disturbance;
mod load;
mod server;
