//! Servers whose response times are known beforehand, and the computation that knows them.
//!
//! What a load generator says of a server can only be judged where the answer is known. These
//! servers answer by the clock: a request's answer goes out a constant time after the request
//! came, and at some times the server does nothing at all. [`Answering`] says when each answer
//! goes out. [`queue`] computes from it what a client has to measure, and [`Server`] does it.
//!
//! The two share [`Answering`] and nothing else: the computation never asks the server.

mod account;
mod answering;
mod clock;
mod facts;
pub mod queue;
mod request;
mod server;
mod socket;

pub use account::Account;
pub use answering::{Answering, InvalidTimes, Stalls};
pub use facts::FactsError;
pub use server::{ServeError, Server};
