//! A receiver that runs: where it listens, what it has used, and what it says it counted.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use serde_json::Value;

use super::provide::{self, Programs};
use super::receiver::Receiver;
use super::scenario::Protocol;
use crate::bench::memory::Memory;
use crate::bench::server::{self, Running, address_after, free_address};

/// The core of what puts load on; the receivers have the one before.
pub(super) const GENERATOR_CORE: usize = server::CORE + 1;

/// A receiver that listens.
pub(super) struct Receiving {
    running: Running,
    pub(super) address: SocketAddr,
}

impl Receiving {
    /// Launches a receiver as it takes part in the comparison.
    pub(super) fn launch(
        receiver: Receiver,
        protocol: Protocol,
        programs: &Programs,
        folder: &Path,
    ) -> Result<Receiving> {
        let address = if receiver.tells_its_address() {
            SocketAddr::from(([127, 0, 0, 1], 0))
        } else {
            free_address()?
        };
        let files = provide::files(match receiver {
            Receiver::Python => "python",
            _ => "collector",
        });
        let command = receiver.command(programs.of(receiver), &files, protocol, address);
        let cores: &[usize] = if receiver.has_all_cores() {
            &[server::CORE, GENERATOR_CORE]
        } else {
            &[server::CORE]
        };
        let told = receiver.tells_its_address().then_some(protocol);
        Receiving::start(command, cores, told, address, folder)
    }

    /// Launches `windage sink` with further arguments.
    pub(super) fn sink(
        arguments: &[&str],
        protocol: Protocol,
        programs: &Programs,
        folder: &Path,
    ) -> Result<Receiving> {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let program = programs.of(Receiver::Windage);
        let mut command = Receiver::Windage.command(program, folder, protocol, address);
        command.args(arguments);
        Receiving::start(command, &[server::CORE], Some(protocol), address, folder)
    }

    /// `told`: it says itself where it listens.
    fn start(
        mut command: Command,
        cores: &[usize],
        told: Option<Protocol>,
        address: SocketAddr,
        folder: &Path,
    ) -> Result<Receiving> {
        let mut running = Running::start(&mut command, cores, folder)?;
        let address = running.wait_until(|running| match told {
            Some(protocol) => address_of(protocol.as_str(), running),
            None => TcpStream::connect(address).ok().map(|_| address),
        })?;
        Ok(Receiving { running, address })
    }

    /// Makes the sink behave in another way from its next look at its orders on.
    pub(super) fn order(&self, backend: &str) -> Result<()> {
        self.running.tell(backend)
    }

    /// CPU of all its threads, those that have ended included.
    pub(super) fn cpu(&self) -> Result<Duration> {
        let clock = clock_getcpuclockid(self.running.pid()).context("find a process's clock")?;
        let time = clock_gettime(clock).context("read a process's clock")?;
        Ok(time.into())
    }

    pub(super) fn pid(&self) -> Pid {
        self.running.pid()
    }

    pub(super) fn memory(&self) -> Result<Memory> {
        Memory::of(&self.pid().to_string())
    }

    /// Ends it, and returns what it says at its end: `spans`, for those that count them. The
    /// Collector says nothing.
    pub(super) fn finish(self) -> Result<Value> {
        let said = self.running.finish();
        if said.trim().is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_str(said.trim())
            .with_context(|| format!("a receiver ended with what is no JSON: {said}"))
    }
}

fn address_of(label: &str, running: &Running) -> Option<SocketAddr> {
    address_after(&format!("{label} "), &running.stderr())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, folder: &Path) -> Result<Receiving> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        Receiving::start(
            command,
            &[server::CORE],
            Some(Protocol::Grpc),
            nowhere,
            folder,
        )
    }

    #[test]
    fn a_receiver_tells_where_it_is_and_what_it_counted() {
        let folder = tempfile::tempdir().unwrap();
        let script = r#"trap 'echo "{\"requests\":2,\"spans\":7}"; exit' TERM
            echo otlp-http 127.0.0.1:81 >&2; echo otlp-grpc 127.0.0.1:82 >&2
            while :; do sleep 0.01; done"#;
        let receiver = shell(script, folder.path()).unwrap();
        assert_eq!(receiver.address.port(), 82);
        let memory = receiver.memory().unwrap();
        assert!(0 < memory.rss_bytes && memory.rss_bytes <= memory.rss_peak_bytes);
        assert!(receiver.cpu().unwrap() > Duration::ZERO);
        assert_eq!(receiver.finish().unwrap()["spans"], 7);
    }

    #[test]
    fn what_is_no_account_is_an_error_and_silence_is_none() {
        let end = |says: &str| {
            let folder = tempfile::tempdir().unwrap();
            let script = format!(
                "trap '{says}exit' TERM; echo otlp-grpc 127.0.0.1:82 >&2; \
                 while :; do sleep 0.01; done"
            );
            shell(&script, folder.path()).unwrap().finish()
        };
        assert_eq!(end("").unwrap(), Value::Null);
        let error = end("echo panic; ").unwrap_err().to_string();
        assert!(error.contains("panic"), "{error}");
    }
}
