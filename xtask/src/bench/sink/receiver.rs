//! Who is measured: each receiver's name and command line, and how it tells where it listens.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use super::scenario::Protocol;

/// A receiver of OTLP, or a way to use one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Receiver {
    /// `windage sink`, with all its counters.
    Windage,
    /// `windage sink --count-only`.
    WindageCountOnly,
    /// `subjects/receivers/discard`: reads, and throws away. Over HTTP alone.
    Discard,
    /// The OpenTelemetry Collector on one core: `GOMAXPROCS=1`.
    Collector,
    /// The same as it is by default: on every core.
    CollectorAllCores,
    /// `subjects/receivers/go`.
    Go,
    /// `subjects/receivers/python`.
    Python,
}

impl Receiver {
    pub(super) const ALL: [Receiver; 7] = [
        Receiver::Windage,
        Receiver::WindageCountOnly,
        Receiver::Discard,
        Receiver::Collector,
        Receiver::CollectorAllCores,
        Receiver::Go,
        Receiver::Python,
    ];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Receiver::Windage => "windage",
            Receiver::WindageCountOnly => "windage-count-only",
            Receiver::Discard => "discard",
            Receiver::Collector => "collector",
            Receiver::CollectorAllCores => "collector-all-cores",
            Receiver::Go => "go",
            Receiver::Python => "python",
        }
    }

    pub(super) fn speaks(self, protocol: Protocol) -> bool {
        self != Receiver::Discard || protocol == Protocol::Http
    }

    /// Whether it has all cores, the generator's included.
    pub(super) fn has_all_cores(self) -> bool {
        self == Receiver::CollectorAllCores
    }

    /// Whether it says where it listens, on standard error as `otlp-http ADDRESS`, so that the
    /// kernel may choose the port.
    pub(super) fn tells_its_address(self) -> bool {
        !matches!(self, Receiver::Collector | Receiver::CollectorAllCores)
    }

    /// The command that receives on this address. `files` is where the subject's files lie.
    pub(super) fn command(
        self,
        program: &Path,
        files: &Path,
        protocol: Protocol,
        address: SocketAddr,
    ) -> Command {
        let mut command = Command::new(program);
        let address = address.to_string();
        let flag = format!("--{}", protocol.as_str());
        match self {
            Receiver::Windage => command.args(["sink", &flag, &address, "--json"]),
            Receiver::WindageCountOnly => {
                command.args(["sink", &flag, &address, "--count-only", "--json"])
            }
            Receiver::Discard => command.arg(&address),
            Receiver::Collector | Receiver::CollectorAllCores => command
                .arg("--config")
                .arg(files.join(format!("{}.yaml", protocol.as_str())))
                .env("ADDRESS", &address),
            Receiver::Go => command.args([&flag, &address]),
            Receiver::Python => command
                .arg(files.join("receive.py"))
                .args([&flag, &address]),
        };
        if self == Receiver::Collector {
            command.env("GOMAXPROCS", "1");
        }
        command
    }

    /// The command as it would be typed, without anything of this machine.
    pub(super) fn line(self, protocol: Protocol, core: usize) -> String {
        let program = match self {
            Receiver::Windage | Receiver::WindageCountOnly => "windage",
            Receiver::Go => "receive",
            Receiver::CollectorAllCores => "collector",
            _ => self.as_str(),
        };
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let command = self.command(Path::new(program), Path::new(""), protocol, nowhere);
        let mut words: Vec<OsString> = command
            .get_envs()
            .filter_map(|(name, value)| {
                let mut word = name.to_owned();
                word.push("=");
                word.push(value?);
                Some(word)
            })
            .collect();
        if !self.has_all_cores() {
            words.push(format!("taskset --cpu-list {core}").into());
        }
        words.push(command.get_program().to_owned());
        words.extend(command.get_args().map(ToOwned::to_owned));
        words.join(" ".as_ref()).to_string_lossy().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines() {
        let table = [
            (
                Receiver::Windage,
                Protocol::Grpc,
                "taskset --cpu-list 0 windage sink --otlp-grpc 127.0.0.1:0 --json",
            ),
            (
                Receiver::WindageCountOnly,
                Protocol::Http,
                "taskset --cpu-list 0 windage sink --otlp-http 127.0.0.1:0 --count-only --json",
            ),
            (
                Receiver::Discard,
                Protocol::Http,
                "taskset --cpu-list 0 discard 127.0.0.1:0",
            ),
            (
                Receiver::Collector,
                Protocol::Http,
                "ADDRESS=127.0.0.1:0 GOMAXPROCS=1 taskset --cpu-list 0 collector --config otlp-http.yaml",
            ),
            (
                Receiver::CollectorAllCores,
                Protocol::Grpc,
                "ADDRESS=127.0.0.1:0 collector --config otlp-grpc.yaml",
            ),
            (
                Receiver::Go,
                Protocol::Grpc,
                "taskset --cpu-list 0 receive --otlp-grpc 127.0.0.1:0",
            ),
            (
                Receiver::Python,
                Protocol::Http,
                "taskset --cpu-list 0 python receive.py --otlp-http 127.0.0.1:0",
            ),
        ];
        for (receiver, protocol, line) in table {
            assert_eq!(receiver.line(protocol, 0), line);
        }
    }
}
