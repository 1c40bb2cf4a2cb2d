//! What the contenders ask: nginx, or a server whose truth is known. Launched afresh for each
//! scenario of each round, and ended with it.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use truth::{Account, Stalls};

use super::provide::Programs;
use crate::bench::server::{self, Running, address_after};
use crate::debian;

const NGINX_CONF: &str = include_str!("nginx.conf");

/// A kind of origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A page of 50 bytes from memory.
    Nginx,
    /// Answers each request after the same time.
    Constant { service_ms: u32 },
    /// The same, but for a stretch of every period it does nothing.
    Stall {
        service_ms: u32,
        every_ms: u32,
        for_ms: u32,
    },
}

impl Origin {
    /// The arguments of the truth server; none for nginx.
    pub(super) fn truth_arguments(self) -> Vec<String> {
        let line = match self {
            Origin::Nginx => return Vec::new(),
            Origin::Constant { service_ms } => format!("constant --service {service_ms}ms"),
            Origin::Stall {
                service_ms,
                every_ms,
                for_ms,
            } => format!("stall --every {every_ms}ms --for {for_ms}ms --service {service_ms}ms"),
        };
        let line = line + " --listen 127.0.0.1:0";
        line.split(' ').map(str::to_owned).collect()
    }

    /// Launches it; `folder` is for its files.
    pub(super) fn launch(self, programs: &Programs, folder: &Path) -> Result<Server> {
        match self {
            Origin::Nginx => nginx(folder),
            _ => truth(&programs.truth, &self.truth_arguments(), folder),
        }
    }
}

/// An origin that runs. It is ended when it is dropped, and with this program whatever happens.
pub(super) struct Server {
    running: Running,
    pub(super) address: SocketAddr,
    /// When it stalls, as it said itself.
    pub(super) stalls: Option<Stalls>,
}

impl Server {
    /// Ends it, and returns how true it was where it keeps an account of that.
    pub(super) fn finish(self) -> Option<Account> {
        let said = self.running.finish();
        said.lines().find_map(|line| line.parse().ok())
    }
}

/// nginx does not say which port the kernel gave it, so it is told one that is free just now.
fn nginx(folder: &Path) -> Result<Server> {
    let address = server::free_address()?;
    let configuration = folder.join("nginx.conf");
    fs::write(&configuration, nginx_conf(folder, address))
        .with_context(|| format!("write {}", configuration.display()))?;
    let mut command = Command::new("nginx");
    command
        .env("PATH", debian::path())
        .arg("-p")
        .arg(folder)
        .arg("-c")
        .arg(&configuration)
        .args(["-e", "stderr"]);
    let mut running = Running::start(&mut command, &[server::CORE], folder)?;
    running.wait_until(|_| TcpStream::connect(address).ok())?;
    Ok(Server {
        running,
        address,
        stalls: None,
    })
}

fn nginx_conf(folder: &Path, address: SocketAddr) -> String {
    NGINX_CONF
        .replace("{dir}", &folder.display().to_string())
        .replace("{listen}", &address.to_string())
}

/// The server of `subjects/truth` says where it listens, and when it stalls.
fn truth(program: &Path, arguments: &[String], folder: &Path) -> Result<Server> {
    let mut command = Command::new(program);
    command.args(arguments);
    let mut running = Running::start(&mut command, &[server::CORE], folder)?;
    let is_stalling = arguments.first().is_some_and(|kind| kind == "stall");
    let (address, stalls) = running.wait_until(|running| {
        let (address, stalls) = introduction(&running.stdout());
        (stalls.is_some() || !is_stalling).then_some((address?, stalls))
    })?;
    Ok(Server {
        running,
        address,
        stalls,
    })
}

/// The address in a whole line `listening on ADDRESS`, and the stalls in one `stalls …`.
fn introduction(text: &str) -> (Option<SocketAddr>, Option<Stalls>) {
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let stalls = whole.lines().find_map(|line| line.strip_prefix("stalls "));
    (
        address_after("listening on ", text),
        stalls.and_then(|stalls| stalls.parse().ok()),
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_whole_lines_introduce_a_server() {
        let address = "127.0.0.1:81".parse().ok();
        let stalls = Stalls::new(7, Duration::from_nanos(20), Duration::from_nanos(3)).ok();
        let table = [
            ("listening on 127.0.0.1:81\n", (address, None)),
            ("listening on 127.0.0.1:81\nmore\n", (address, None)),
            (
                "listening on 127.0.0.1:81\nstalls first_ns=7 every_ns=20 lasts_ns=3\n",
                (address, stalls),
            ),
            (
                "listening on 127.0.0.1:81\nstalls first_ns=7 every_ns=20 lasts_ns=3",
                (address, None),
            ),
            ("listening on 127.0.0.1:8", (None, None)),
            ("listening on nowhere\n", (None, None)),
            ("", (None, None)),
        ];
        for (text, expected) in table {
            assert_eq!(introduction(text), expected, "{text:?}");
        }
    }

    #[test]
    fn the_configuration_has_no_gap_left() {
        let conf = nginx_conf(Path::new("/a/b"), "127.0.0.1:81".parse().unwrap());
        assert!(conf.contains("listen 127.0.0.1:81 backlog="), "{conf}");
        assert!(conf.contains("pid            /a/b/nginx.pid;"), "{conf}");
        assert!(
            !conf.contains("{dir}") && !conf.contains("{listen}"),
            "{conf}"
        );
    }

    #[test]
    fn the_truth_servers_are_told_what_they_are() {
        let stall = Origin::Stall {
            service_ms: 1,
            every_ms: 2000,
            for_ms: 200,
        };
        assert_eq!(
            stall.truth_arguments().join(" "),
            "stall --every 2000ms --for 200ms --service 1ms --listen 127.0.0.1:0"
        );
        assert!(Origin::Nginx.truth_arguments().is_empty());
    }
}
