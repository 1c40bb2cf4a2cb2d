//! A server under measurement: launched on its cores, waited for, and ended.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

use super::child::{self, Printed};

/// How long a server may take to start.
const START: Duration = Duration::from_secs(10);

/// How long a server may take to end before it is killed.
const END: Duration = Duration::from_secs(5);

/// A running server. It ends when dropped, and when this program ends in any way.
pub(crate) struct Running {
    child: Child,
    printed: Printed,
}

impl Running {
    /// Launches the command on these cores.
    pub(crate) fn start(command: &mut Command, cores: &[usize]) -> Result<Running> {
        child::confine(command, cores)?;
        let printed = Printed::of(command)?;
        let child = command
            .stdin(Stdio::piped())
            .spawn()
            .with_context(|| format!("could not start {}", command.get_program().display()))?;
        Ok(Running { child, printed })
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// CPU of all its threads, including those that have ended.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        let clock = clock_getcpuclockid(self.pid()).context("find a process's clock")?;
        let time = clock_gettime(clock).context("read a process's clock")?;
        Ok(time.into())
    }

    /// Writes a line to its standard input.
    pub(crate) fn tell(&self, line: &str) -> Result<()> {
        let mut stdin = self.child.stdin.as_ref().context("no standard input")?;
        writeln!(stdin, "{line}").with_context(|| format!("send `{line}` to a server"))
    }

    /// Its output so far.
    pub(crate) fn stdout(&self) -> String {
        self.printed.stdout().unwrap_or_default()
    }

    /// Its error output so far.
    pub(crate) fn stderr(&self) -> String {
        self.printed.stderr().unwrap_or_default()
    }

    /// Polls until `found` has a result, the server has ended, or its time to start is over.
    pub(crate) fn wait_until<T>(
        &mut self,
        mut ready: impl FnMut(&Running) -> Option<T>,
    ) -> Result<T> {
        let deadline = Instant::now() + START;
        loop {
            if let Some(answer) = ready(self) {
                return Ok(answer);
            }
            if let Some(status) = self.child.try_wait().context("check on a server")? {
                let said = self.stderr();
                let said = said.lines().last().unwrap_or_default();
                bail!("the server ended with {status} before it was ready: {said}");
            }
            if Instant::now() >= deadline {
                bail!("the server was not ready within {} s", START.as_secs());
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends it, and returns its whole output.
    pub(crate) fn finish(mut self) -> String {
        self.end();
        self.stdout()
    }

    fn end(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill(self.pid(), Signal::SIGTERM);
        }
        let deadline = Instant::now() + END;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        // Both have no effect once it has been reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// An address that is free now, for servers that do not report the port that the kernel chose.
pub(crate) fn free_address() -> Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .context("find a free port on 127.0.0.1")
}

/// The address in a complete line `LABEL ADDRESS`: an incomplete line may hold half a port.
pub(crate) fn address_after(label: &str, text: &str) -> Option<SocketAddr> {
    let (whole, _) = text.rsplit_once('\n')?;
    let address = whole.lines().find_map(|line| line.strip_prefix(label))?;
    address.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Running {
        let mut command = Command::new("sh");
        Running::start(command.args(["-c", script]), &[0]).unwrap()
    }

    #[test]
    fn a_server_is_waited_for_and_ended() {
        let script = "trap 'echo counted $word; exit' TERM; read word; echo at 127.0.0.1:81 >&2; \
                      while :; do sleep 0.01; done";
        let mut server = shell(script);
        server.tell("spans").unwrap();
        let address = server.wait_until(|server| address_after("at ", &server.stderr()));
        assert_eq!(address.unwrap().port(), 81);
        let pid = server.pid();
        assert_eq!(server.finish(), "counted spans\n");
        assert_eq!(kill(pid, None), Err(nix::errno::Errno::ESRCH));
    }

    #[test]
    fn a_server_that_ends_at_once_is_an_error_with_its_reason() {
        let mut server = shell("echo no such thing >&2; exit 3");
        let error = server.wait_until(|_| None::<()>).unwrap_err().to_string();
        assert!(
            error.contains("exit status: 3") && error.contains("no such thing"),
            "{error}"
        );
    }

    #[test]
    fn only_complete_lines_name_an_address() {
        let table = [
            ("a 127.0.0.1:81\n", Some(81)),
            ("first\na 127.0.0.1:81\nmo", Some(81)),
            ("a 127.0.0.1:8", None),
            ("a nowhere\n", None),
            ("", None),
        ];
        for (text, port) in table {
            let found = address_after("a ", text).map(|address| address.port());
            assert_eq!(found, port, "{text:?}");
        }
    }
}
