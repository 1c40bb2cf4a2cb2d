//! The program under test, as a child that can't outlive the test.

use std::io::{BufRead, BufReader, Lines};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use truth::{Account, Stalls};

/// Far longer than any answer takes, so that a hang fails the test, but a slow machine doesn't.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Server {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts `truth` with these arguments and waits until it listens.
    pub(crate) fn start(words: &str) -> Server {
        let mut child = command(words)
            .arg("--until-eof")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        let address = line.strip_prefix("listening on ").unwrap().parse().unwrap();
        Server {
            child,
            lines,
            address,
        }
    }

    /// The stalls that it announces.
    pub(crate) fn stalls(&mut self) -> Stalls {
        self.lines.next().unwrap().unwrap().parse().unwrap()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// Closes its input and reads its account.
    pub(crate) fn end(mut self) -> Account {
        drop(self.child.stdin.take());
        self.account().1
    }

    /// Waits for its end and reads its account.
    pub(crate) fn account(&mut self) -> (ExitStatus, Account) {
        let line = self.lines.next().unwrap().unwrap();
        (self.child.wait().unwrap(), line.parse().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn command(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_truth"));
    command.args(words.split_whitespace());
    command
}
