//! Servers whose response times are known beforehand, and the computation of these times.
//!
//! A load generator's figures can be checked only if the true values are known. These servers
//! answer by the clock: an answer is sent a constant time after its request arrived, and at some
//! times the server does nothing at all. [`Answering`] defines when each answer is sent. [`queue`]
//! computes from it what a client must measure, and [`Server`] implements it.
//!
//! The two share only [`Answering`]: the computation never asks the server.

#![forbid(unsafe_code)]

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
