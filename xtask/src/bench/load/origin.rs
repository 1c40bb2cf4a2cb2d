//! What the contenders ask: nginx, or a server whose truth is known. Launched afresh for each
//! scenario of each round, and ended with it.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use truth::{Account, Stalls};

use super::child;
use super::provide::Programs;
use crate::debian;

/// The core of every origin; the generators have the next.
pub(super) const CORE: usize = 0;

/// How long a server may take to start.
const START: Duration = Duration::from_secs(10);

/// How long a server may take to end before it is killed.
const END: Duration = Duration::from_secs(2);

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

/// A server that runs. It is ended when it is dropped, and with this program whatever happens.
pub(super) struct Server {
    child: Child,
    pub(super) address: SocketAddr,
    /// When it stalls, as it said itself.
    pub(super) stalls: Option<Stalls>,
    /// What it prints.
    said: PathBuf,
}

impl Server {
    fn start(command: &mut Command, folder: &Path) -> Result<Server> {
        child::confine(command, CORE, Signal::SIGKILL)?;
        let said = folder.join("origin");
        let out = File::create(&said).with_context(|| format!("create {}", said.display()))?;
        let child = command
            .stdin(Stdio::null())
            .stdout(out)
            .spawn()
            .with_context(|| format!("could not start {}", command.get_program().display()))?;
        Ok(Server {
            child,
            address: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            stalls: None,
            said,
        })
    }

    /// Ends it, and returns how true it was where it keeps an account of that.
    pub(super) fn finish(mut self) -> Option<Account> {
        self.end();
        let said = fs::read_to_string(&self.said).ok()?;
        said.lines().find_map(|line| line.parse().ok())
    }

    fn end(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let pid = Pid::from_raw(self.child.id().cast_signed());
            let _ = kill(pid, Signal::SIGTERM);
        }
        let deadline = Instant::now() + END;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        // Both are without effect once it has been reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks until there is an answer, the server has ended, or its time to start is over.
    fn wait_until<T>(&mut self, mut ready: impl FnMut() -> Option<T>) -> Result<T> {
        let deadline = Instant::now() + START;
        loop {
            if let Some(answer) = ready() {
                return Ok(answer);
            }
            if let Some(status) = self.child.try_wait().context("ask after a server")? {
                bail!("the origin ended with {status} before it served");
            }
            if Instant::now() >= deadline {
                bail!("the origin did not serve within {} s", START.as_secs());
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// nginx does not say which port the kernel gave it, so it is told one that is free just now.
fn nginx(folder: &Path) -> Result<Server> {
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .context("find a free port on 127.0.0.1")?;
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
    let mut server = Server::start(&mut command, folder)?;
    server.address = address;
    server.wait_until(|| TcpStream::connect(address).ok())?;
    Ok(server)
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
    let mut server = Server::start(&mut command, folder)?;
    let is_stalling = arguments.first().is_some_and(|kind| kind == "stall");
    let said = server.said.clone();
    (server.address, server.stalls) = server.wait_until(|| {
        let (address, stalls) = introduction(&fs::read_to_string(&said).ok()?);
        (stalls.is_some() || !is_stalling).then_some((address?, stalls))
    })?;
    Ok(server)
}

/// The address in a whole line `listening on ADDRESS`, and the stalls in one `stalls …`.
fn introduction(text: &str) -> (Option<SocketAddr>, Option<Stalls>) {
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let after = |label: &str| whole.lines().find_map(|line| line.strip_prefix(label));
    let address = after("listening on ").and_then(|address| address.trim().parse().ok());
    (
        address,
        after("stalls ").and_then(|stalls| stalls.parse().ok()),
    )
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn a_server_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let script = "echo listening on 127.0.0.1:81; exec sleep 60";
        let arguments = ["-c".to_owned(), script.to_owned()];
        let server = truth(Path::new("/bin/sh"), &arguments, folder.path()).unwrap();
        assert_eq!(server.address.port(), 81);
        let pid = Pid::from_raw(server.child.id().cast_signed());
        assert_eq!(server.finish(), None);
        assert_eq!(kill(pid, None), Err(nix::errno::Errno::ESRCH));
    }

    #[test]
    fn a_server_that_ends_at_once_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let arguments = ["-c".to_owned(), "exit 3".to_owned()];
        let error = truth(Path::new("/bin/sh"), &arguments, folder.path())
            .err()
            .unwrap();
        assert!(error.to_string().contains("exit status: 3"), "{error:#}");
    }
}
