//! The receivers: name and command line of each, and a running one.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result};
use nix::unistd::Pid;
use serde_json::Value;

use crate::bench::line::{Places, command};
use crate::bench::memory::Memory;
use crate::bench::server::{Running, address_after, free_address};
use crate::bench::study::{LOAD_CORE, SERVER_CORE};

/// A transport of OTLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Http,
    Grpc,
}

impl Protocol {
    /// Its name in the sink's flags, addresses and report.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Protocol::Http => "otlp-http",
            Protocol::Grpc => "otlp-grpc",
        }
    }

    /// The path to which traces are exported.
    pub(super) fn path(self) -> &'static str {
        match self {
            Protocol::Http => "/v1/traces",
            Protocol::Grpc => "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
        }
    }
}

/// An OTLP receiver, or a way to use one.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) name: &'static str,
    line: &'static str,
}

pub(super) const RECEIVERS: &[Receiver] = &[
    Receiver {
        name: "windage",
        line: "windage sink --PROTOCOL ADDRESS --json",
    },
    Receiver {
        name: "windage-count-only",
        line: "windage sink --PROTOCOL ADDRESS --json --count-only",
    },
    // `subjects/receivers/discard`: reads and discards.
    Receiver {
        name: "discard",
        line: "discard ADDRESS",
    },
    // On one core, then as by default: on every core.
    Receiver {
        name: "collector",
        line: "env LISTEN=ADDRESS GOMAXPROCS=1 collector --config subjects/receivers/collector/PROTOCOL.yaml",
    },
    Receiver {
        name: "collector-all-cores",
        line: "env LISTEN=ADDRESS collector --config subjects/receivers/collector/PROTOCOL.yaml",
    },
    Receiver {
        name: "go",
        line: "receive --PROTOCOL ADDRESS",
    },
    Receiver {
        name: "python",
        line: "python subjects/receivers/python/receive.py --PROTOCOL ADDRESS",
    },
];

impl Receiver {
    pub(super) fn speaks(&self, protocol: Protocol) -> bool {
        self.name != "discard" || protocol == Protocol::Http
    }

    /// Whether it has all cores, including the generator's.
    pub(super) fn has_all_cores(&self) -> bool {
        self.name == "collector-all-cores"
    }

    /// The command that receives on ADDRESS.
    pub(super) fn line(&self, protocol: Protocol) -> String {
        self.line.replace("PROTOCOL", protocol.as_str())
    }

    /// Whether it prints its address on standard error as `otlp-http ADDRESS`, so that the kernel
    /// may choose the port.
    fn tells_its_address(&self) -> bool {
        !self.name.starts_with("collector")
    }
}

/// A listening receiver.
pub(super) struct Receiving {
    running: Running,
    pub(super) address: SocketAddr,
}

impl Receiving {
    /// Launches a receiver with additional arguments.
    pub(super) fn launch(
        receiver: &Receiver,
        protocol: Protocol,
        arguments: &[&str],
        programs: &Places,
    ) -> Result<Receiving> {
        let address = match receiver.tells_its_address() {
            true => SocketAddr::from(([127, 0, 0, 1], 0)),
            false => free_address()?,
        };
        let mut places = programs.clone();
        places.push(("ADDRESS", address.to_string()));
        let mut command = command(&receiver.line(protocol), &places);
        let cores: &[usize] = match receiver.has_all_cores() {
            true => &[SERVER_CORE, LOAD_CORE],
            false => &[SERVER_CORE],
        };
        let mut running = Running::start(command.args(arguments), cores)?;
        let label = format!("{} ", protocol.as_str());
        let address = running.wait_until(|running| match receiver.tells_its_address() {
            true => address_after(&label, &running.stderr()),
            false => TcpStream::connect(address).ok().map(|_| address),
        })?;
        Ok(Receiving { running, address })
    }

    /// Launches `windage sink` with additional arguments.
    pub(super) fn sink(
        protocol: Protocol,
        arguments: &[&str],
        programs: &Places,
    ) -> Result<Receiving> {
        Receiving::launch(&RECEIVERS[0], protocol, arguments, programs)
    }

    /// Changes the sink's behaviour, from the next time that it reads its orders.
    pub(super) fn order(&self, backend: &str) -> Result<()> {
        self.running.tell(backend)
    }

    /// CPU of all its threads, including those that have ended.
    pub(super) fn cpu(&self) -> Result<Duration> {
        self.running.cpu()
    }

    pub(super) fn pid(&self) -> Pid {
        self.running.pid()
    }

    pub(super) fn memory(&self) -> Result<Memory> {
        Memory::of(&self.pid().to_string())
    }

    /// Ends it, and returns its final report: `spans`, for receivers that count. The Collector
    /// prints none.
    pub(super) fn finish(self) -> Result<Value> {
        account(&self.running.finish())
    }
}

fn account(said: &str) -> Result<Value> {
    if said.trim().is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_str(said.trim())
        .with_context(|| format!("a receiver's final output is not JSON: {said}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines() {
        let lines = RECEIVERS.iter().map(|r| r.line(Protocol::Grpc));
        let lines: Vec<String> = lines.collect();
        assert_eq!(lines[0], "windage sink --otlp-grpc ADDRESS --json");
        assert_eq!(
            lines[3],
            "env LISTEN=ADDRESS GOMAXPROCS=1 collector --config \
             subjects/receivers/collector/otlp-grpc.yaml"
        );
        assert_eq!(lines[5], "receive --otlp-grpc ADDRESS");
    }

    #[test]
    fn a_report_is_json_or_missing() {
        assert_eq!(account("{\"spans\": 7}\n").unwrap()["spans"], 7);
        assert_eq!(account(" \n").unwrap(), Value::Null);
        let error = account("panic").unwrap_err().to_string();
        assert!(error.contains("panic"), "{error}");
    }

    #[test]
    fn a_receiver_reports_its_address_and_cpu() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("receive");
        let text = "trap 'echo {\\\"spans\\\":7}; exit' TERM\n\
                    echo otlp-http 127.0.0.1:81 >&2; echo otlp-grpc 127.0.0.1:82 >&2\n\
                    while :; do sleep 0.01; done";
        std::fs::write(&script, text).unwrap();
        let shell = Receiver {
            name: "shell",
            line: "sh SCRIPT",
        };
        let programs = vec![("SCRIPT", script.to_string_lossy().into_owned())];
        let receiver = Receiving::launch(&shell, Protocol::Grpc, &[], &programs).unwrap();
        assert_eq!(receiver.address.port(), 82);
        let memory = receiver.memory().unwrap();
        assert!(0 < memory.rss_bytes && memory.rss_bytes <= memory.rss_peak_bytes);
        assert!(receiver.cpu().unwrap() > Duration::ZERO);
        assert_eq!(receiver.finish().unwrap()["spans"], 7);
    }
}
