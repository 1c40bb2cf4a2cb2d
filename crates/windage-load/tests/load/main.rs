//! The engine against servers on loopback.

#[cfg(test)]
mod allocation;
#[cfg(test)]
mod engine;
#[cfg(test)]
mod flows;
#[cfg(test)]
mod growth;
#[cfg(test)]
mod protocols;
#[cfg(test)]
mod server;
#[cfg(test)]
#[path = "../../../windage/tests/quick/skip.rs"]
mod skip;
#[cfg(test)]
mod threads;
#[cfg(test)]
mod turns;
