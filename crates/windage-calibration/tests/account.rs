//! The service as a process: its answers and its account.

#![expect(clippy::unwrap_used, reason = "shared test helpers are test code too")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use windage_calibration::Account;

struct Service {
    child: Child,
    stdout: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Service {
    fn start(flags: &[&str]) -> Service {
        let mut child = Command::new(env!("CARGO_BIN_EXE_windage-calibration-service"))
            .args(["--listen", "127.0.0.1:0"])
            .args(flags)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let address = line.strip_prefix("listening on ").unwrap().trim();
        Service {
            address: address.parse().unwrap(),
            child,
            stdout,
        }
    }

    /// The status and the length of the whole answer.
    fn get(&self, path: &str) -> (String, usize) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.lines().next().unwrap().to_owned(), body.len())
    }

    fn end(mut self) -> Account {
        let pid = i32::try_from(self.child.id()).unwrap();
        kill(Pid::from_raw(pid), Signal::SIGTERM).unwrap();
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success());
        serde_json::from_str(rest.trim()).unwrap()
    }
}

#[test]
fn the_account_shows_what_was_injected() {
    const REQUESTS: u64 = 50;
    let service = Service::start(&["--iterations", "1000", "--busy-wait-ns", "300000"]);
    assert_eq!(service.get("/healthz"), ("HTTP/1.1 200 OK".to_owned(), 3));
    for _ in 0..REQUESTS {
        assert_eq!(service.get("/"), ("HTTP/1.1 200 OK".to_owned(), 1024));
    }
    let account = service.end();
    assert_eq!(account.requests, REQUESTS);
    let wall_ns = account.injected_wall_ns.unsigned_abs();
    assert!(wall_ns >= REQUESTS * 299_000, "{account:?}");
    assert!(account.base_cpu_ns > 0, "{account:?}");
    let in_brackets = account.base_cpu_ns + account.injected_cpu_ns;
    assert!(account.cpu_ns > in_brackets.unsigned_abs(), "{account:?}");
}

#[test]
fn a_service_without_requests_prints_an_account() {
    let account = Service::start(&[]).end();
    assert_eq!((account.requests, account.cpu_ns), (0, 0));
}

#[test]
fn bursts_and_timers_are_counted() {
    let service = Service::start(&[
        "--iterations=1000",
        "--burst-iterations=5000",
        "--burst-every=10",
    ]);
    for _ in 0..25 {
        service.get("/");
    }
    let account = service.end();
    assert_eq!(account.injected_iterations, 10_000);
    assert_eq!(account.timer_runs, 0);

    let service = Service::start(&[
        "--iterations=1000",
        "--timer-iterations=2000",
        "--timer-every=1",
    ]);
    // However slow the machine is, the timer runs at some time.
    std::thread::sleep(Duration::from_millis(200));
    service.get("/");
    let account = service.end();
    assert_eq!((account.requests, account.injected_iterations), (1, 0));
    assert!(account.timer_runs > 0, "{account:?}");
    assert_eq!(account.timer_iterations, account.timer_runs * 2_000);
    assert_eq!(account.timer_wall_ns, account.timer_runs * 1_000_000);
    assert!(account.timer_cpu_ns > 0, "{account:?}");
}
