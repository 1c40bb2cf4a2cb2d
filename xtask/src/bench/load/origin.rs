//! The server under load: nginx, or one with a known response time. Launched afresh for each
//! scenario of each round, and ended with it.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use anyhow::{Context, Result};
use tempfile::TempDir;
use truth::{Account, Stalls};

use crate::bench::line::{Places, command};
use crate::bench::server::{Running, address_after, free_address};
use crate::bench::study::SERVER_CORE;

const NGINX_CONF: &str = include_str!("nginx.conf");

/// A kind of origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A page of 50 bytes from memory.
    Nginx,
    /// `subjects/truth` with these arguments.
    Truth(&'static str),
}

/// A running origin. It ends when dropped, and when this program ends in any way.
pub(super) struct Server {
    running: Running,
    /// The files of nginx, as long as it runs.
    _files: Option<TempDir>,
    pub(super) address: SocketAddr,
    /// When it stalls, as it reported.
    pub(super) stalls: Option<Stalls>,
}

impl Origin {
    pub(super) fn launch(self, programs: &Places) -> Result<Server> {
        match self {
            Origin::Nginx => nginx(),
            Origin::Truth(arguments) => truth(programs, arguments),
        }
    }
}

impl Server {
    /// Ends the server, and returns its own account of its accuracy, if it keeps one.
    pub(super) fn finish(self) -> Option<Account> {
        let said = self.running.finish();
        said.lines().find_map(|line| line.parse().ok())
    }
}

/// nginx does not report the port that the kernel chose, so it gets one that is free now.
fn nginx() -> Result<Server> {
    let files = tempfile::tempdir().context("make a temporary folder")?;
    let folder = files.path();
    let address = free_address()?;
    let configuration = folder.join("nginx.conf");
    fs::write(&configuration, nginx_conf(folder, address))
        .with_context(|| format!("write {}", configuration.display()))?;
    let places = vec![("FOLDER", folder.to_string_lossy().into_owned())];
    let mut command = command("nginx -p FOLDER -c FOLDER/nginx.conf -e stderr", &places);
    let mut running = Running::start(&mut command, &[SERVER_CORE])?;
    running.wait_until(|_| TcpStream::connect(address).ok())?;
    Ok(Server {
        running,
        _files: Some(files),
        address,
        stalls: None,
    })
}

fn nginx_conf(folder: &Path, address: SocketAddr) -> String {
    NGINX_CONF
        .replace("{dir}", &folder.display().to_string())
        .replace("{listen}", &address.to_string())
}

/// The server of `subjects/truth` reports its address, and when it stalls.
fn truth(programs: &Places, arguments: &str) -> Result<Server> {
    let mut command = command(&format!("truth {arguments} --listen 127.0.0.1:0"), programs);
    let mut running = Running::start(&mut command, &[SERVER_CORE])?;
    let (address, stalls) = running.wait_until(|running| {
        let (address, stalls) = introduction(&running.stdout());
        (stalls.is_some() || !arguments.starts_with("stall")).then_some((address?, stalls))
    })?;
    Ok(Server {
        running,
        _files: None,
        address,
        stalls,
    })
}

/// The address in a complete line `listening on ADDRESS`, and the stalls in a line `stalls …`.
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
    fn only_complete_lines_introduce_a_server() {
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
    fn the_configuration_has_no_placeholder_left() {
        let conf = nginx_conf(Path::new("/a/b"), "127.0.0.1:81".parse().unwrap());
        assert!(conf.contains("listen 127.0.0.1:81 backlog="), "{conf}");
        assert!(conf.contains("pid            /a/b/nginx.pid;"), "{conf}");
        assert!(
            !conf.contains("{dir}") && !conf.contains("{listen}"),
            "{conf}"
        );
    }
}
