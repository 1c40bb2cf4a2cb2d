//! The engine against servers on loopback.

#[cfg(test)]
mod allocation;
#[cfg(test)]
mod engine;
#[cfg(test)]
mod server;
