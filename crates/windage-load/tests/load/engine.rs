//! The engine over real sockets: every kind of answer, and every kind of failure.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::server::{SILENCE, Then, answering, repeat_until, start, target, target_of};
use windage_load::{
    ConnectReport, Engine, EngineConfig, EngineError, Pace, Recording, Request, RunReport,
    Schedule, TargetId, Text,
};
use windage_model::{ErrorCounts, Exchanges};

/// For tests of timeouts.
const SHORT: Duration = Duration::from_millis(300);
/// For all other tests: long enough for a busy machine.
const PATIENT: Duration = Duration::from_secs(5);
/// Length of open runs, whose starts can be counted.
const LASTS: Duration = Duration::from_millis(100);
/// Length of closed runs: enough for a few exchanges on a busy machine.
const CLOSED: Duration = Duration::from_millis(200);
/// Allowance beyond a run's length and timeout, for a machine that is busy with other tests; far
/// shorter than a hang.
const SLACK: Duration = Duration::from_secs(5);
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

struct Load {
    engine: Engine,
    target: TargetId,
    recording: Recording,
    timeout: Duration,
}

impl Load {
    fn on(address: SocketAddr, connections: usize) -> Load {
        Load::with(address, connections, "GET", PATIENT)
    }

    fn with(address: SocketAddr, connections: usize, method: &str, timeout: Duration) -> Load {
        let mut engine = Engine::new(EngineConfig { timeout }).unwrap();
        let target = engine.add_target(target(address, method), connections);
        Load {
            engine,
            target,
            recording: Recording::new(),
            timeout,
        }
    }

    fn connect(&mut self) -> ConnectReport {
        self.engine.connect(self.target).unwrap()
    }

    fn closed(&mut self) -> RunReport {
        self.run(Pace::Closed { lasts: CLOSED }, CLOSED)
    }

    fn open(&mut self, rate_per_s: f64, lasts: Duration) -> RunReport {
        self.run(
            Pace::Open {
                schedule: &mut Schedule::constant(rate_per_s),
                lasts,
            },
            lasts,
        )
    }

    /// Runs, and checks what must be true of every run.
    fn run(&mut self, pace: Pace<'_>, lasts: Duration) -> RunReport {
        self.recording.clear();
        let began = Instant::now();
        let report = self
            .engine
            .run(self.target, pace, &mut self.recording)
            .unwrap();
        let took = began.elapsed();
        assert!(took < lasts + self.timeout + SLACK, "{took:?}");
        let exchanges = &report.exchanges;
        let lost = exchanges.errors.total() - exchanges.errors.connect;
        assert_eq!(exchanges.sent, exchanges.completed + lost, "{report:?}");
        assert_eq!(
            exchanges.intended,
            exchanges.sent + exchanges.dropped,
            "{report:?}"
        );
        assert_eq!(exchanges.status.total(), exchanges.completed);
        assert_eq!(self.recording.response_time.len(), exchanges.completed);
        assert_eq!(self.recording.service_time.len(), exchanges.completed);
        assert_eq!(
            exchanges.errors.total() > 0,
            report.first_error.is_some(),
            "{report:?}"
        );
        assert!(report.ended_ns >= report.started_ns);
        report
    }
}

#[test]
fn every_kind_of_answer_is_completed() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let interim = format!("HTTP/1.1 100 Continue\r\n\r\n{OK}");
    let big = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n{}",
        "x".repeat(3_000_000)
    );
    let table: &[(&str, &str, usize, &str)] = &[
        (OK, "GET", 1, "length"),
        (chunked, "GET", 1, "chunked"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
            "HEAD",
            1,
            "HEAD",
        ),
        ("HTTP/1.1 204 No Content\r\n\r\n", "GET", 1, "no content"),
        (&interim, "GET", 1, "interim answer first"),
        (
            "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n",
            "GET",
            4,
            "server errors are answers",
        ),
        (&big, "GET", 1, "larger than one read"),
    ];
    for (answer, method, class, why) in table {
        let mut load = Load::with(answering(*answer), 3, method, PATIENT);
        assert_eq!(
            load.connect(),
            ConnectReport {
                opened: 3,
                ..ConnectReport::default()
            },
            "{why}"
        );
        let Exchanges {
            sent,
            completed,
            status,
            reopened,
            received_bytes,
            sent_bytes,
            ..
        } = load.closed().exchanges;
        assert!(completed >= 3, "{why}");
        assert_eq!(
            (sent, status.0[*class], reopened),
            (completed, completed, 0),
            "{why}"
        );
        assert_eq!(received_bytes, completed * answer.len() as u64, "{why}");
        assert_eq!(sent_bytes % sent, 0, "{why}");
        assert_eq!(
            load.recording.response_time, load.recording.service_time,
            "closed loop: {why}"
        );
    }
}

#[test]
fn answers_that_end_their_connection_are_completed_and_it_reopens() {
    let table = [
        ("HTTP/1.1 200 OK\r\n\r\nuntil the end", "close-delimited"),
        (
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
            "Connection: close",
        ),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.0"),
    ];
    for (answer, why) in table {
        let run = || {
            let (address, accepted) = start(move |stream, _| {
                let _ = stream.write_all(answer.as_bytes());
                Then::Close
            });
            let mut load = Load::on(address, 2);
            load.connect();
            let exchanges = load.closed().exchanges;
            assert_eq!(exchanges.errors, ErrorCounts::default(), "{why}");
            assert!(
                accepted.load(Ordering::Relaxed) as u64 >= exchanges.completed,
                "{why}"
            );
            exchanges
        };
        let exchanges = repeat_until(run, |of| of.completed > 2 && of.reopened > 0);
        assert!(
            exchanges.completed > 2 && exchanges.reopened > 0,
            "{why}: {exchanges:?}"
        );
    }
}

#[test]
fn failures_are_counted_by_cause_and_the_run_ends() {
    type Check = fn(&ErrorCounts) -> u64;
    let long: &'static str = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(1_000_000)).leak();
    let table: [(&'static str, Then, Check, &str); 9] = [
        (
            "SMTP ready\r\n",
            Then::KeepOpen,
            |e| e.protocol,
            "another protocol",
        ),
        (long, Then::KeepOpen, |e| e.protocol, "a head of a megabyte"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nmore",
            Then::KeepOpen,
            |e| e.protocol,
            "longer than announced",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            Then::KeepOpen,
            |e| e.protocol,
            "two answers to one request",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Le",
            Then::Close,
            |e| e.closed,
            "half a head, then the end",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
            Then::Close,
            |e| e.closed,
            "half a body, then the end",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
            Then::Reset,
            |e| e.closed,
            "a reset",
        ),
        ("", Then::Close, |e| e.closed, "no answer, then the end"),
        (
            "HTTP/1.1 200 OK\r\n",
            Then::KeepOpen,
            |e| e.timeout,
            "half a head, then silence",
        ),
    ];
    for (answer, then, count, why) in table {
        let (address, _) = start(move |stream, _| {
            let _ = stream.write_all(answer.as_bytes());
            then
        });
        // Only silence runs into the timeout.
        let timeout = if why.ends_with("silence") {
            SHORT
        } else {
            PATIENT
        };
        let mut load = Load::with(address, 2, "GET", timeout);
        load.connect();
        let Exchanges {
            completed, errors, ..
        } = load.closed().exchanges;
        assert_eq!(completed, 0, "{why}");
        assert!(count(&errors) >= 2, "{why}: {errors:?}");
        assert_eq!(
            count(&errors),
            errors.total(),
            "no other errors: {why}: {errors:?}"
        );
        // Without pauses there would be thousands; each connection pauses 10, 20, 40 … ms.
        assert!(errors.total() < 100, "{why}: {errors:?}");
    }
}

#[test]
fn a_server_that_never_answers_costs_only_its_timeout() {
    let (address, _) = start(|_, _| {
        std::thread::sleep(SILENCE);
        Then::Close
    });
    let mut load = Load::with(address, 3, "GET", SHORT);
    load.connect();
    assert_eq!(
        load.closed().exchanges.errors,
        ErrorCounts {
            timeout: 3,
            ..ErrorCounts::default()
        }
    );
}

#[test]
fn a_missing_server_is_data() {
    // Bound and dropped, so that nothing listens there.
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let mut load = Load::with(address, 2, "GET", SHORT);
    let connected = load.connect();
    assert_eq!((connected.opened, connected.failed), (0, 2));
    let why = connected.first_error.unwrap();
    assert!(why.contains("refused"), "{why}");
    let report = load.closed();
    assert_eq!(
        (report.exchanges.sent, report.exchanges.errors.connect),
        (0, report.exchanges.errors.total())
    );
    assert!(
        (2..100).contains(&report.exchanges.errors.connect),
        "{report:?}"
    );
    assert!(report.first_error.unwrap().contains(&address.to_string()));
    let exchanges = load.open(100.0, LASTS).exchanges;
    assert_eq!((exchanges.intended, exchanges.dropped), (10, 10));
}

#[test]
fn connections_closed_by_keep_alive_limits_reopen() {
    let run = || {
        // Every third answer is the last on its connection, without notice.
        let (address, _) = start(|stream, request| {
            let _ = stream.write_all(OK.as_bytes());
            if request == 2 {
                Then::Close
            } else {
                Then::KeepOpen
            }
        });
        let mut load = Load::on(address, 2);
        load.connect();
        let exchanges = load.closed().exchanges;
        // A request may be sent while its connection closes; then it is lost and counted.
        assert_eq!(exchanges.errors.total(), exchanges.errors.closed);
        exchanges
    };
    let exchanges = repeat_until(run, |of| of.completed > 6 && of.reopened >= 2);
    assert!(
        exchanges.completed > 6 && exchanges.reopened >= 2,
        "{exchanges:?}"
    );
}

#[test]
fn closed_idle_connections_are_noticed_before_use() {
    let (address, _) = start(|stream, _| {
        let _ = stream.write_all(OK.as_bytes());
        std::thread::sleep(Duration::from_millis(20));
        Then::Close
    });
    let mut load = Load::on(address, 4);
    assert_eq!(
        load.connect(),
        ConnectReport {
            opened: 4,
            ..ConnectReport::default()
        }
    );
    assert_eq!(load.connect(), ConnectReport::default(), "nothing to do");
    // One request on each of the four connections, after which the server closes it.
    let exchanges = load.run(
        Pace::Open {
            schedule: &mut [0, 1, 2, 3].into_iter(),
            lasts: LASTS / 10,
        },
        LASTS,
    );
    assert_eq!(exchanges.exchanges.completed, 4);
    let patience = Instant::now();
    let mut reopened = 0;
    while reopened < 4 && patience.elapsed() < SLACK {
        std::thread::sleep(Duration::from_millis(30));
        reopened += load.connect().reopened;
    }
    assert_eq!(reopened + exchanges.exchanges.reopened as usize, 4);
}

#[test]
fn targets_do_not_disturb_each_other() {
    let (closing, _) = start(|stream, _| {
        let _ = stream.write_all(OK.as_bytes());
        std::thread::sleep(Duration::from_millis(30));
        Then::Close
    });
    let mut load = Load::on(answering(OK), 2);
    let other = load.engine.add_target(target(closing, "GET"), 1);
    load.connect();
    load.engine.connect(other).unwrap();
    let once = Pace::Open {
        schedule: &mut std::iter::once(0),
        lasts: Duration::from_millis(1),
    };
    assert_eq!(
        load.engine
            .run(other, once, &mut load.recording)
            .unwrap()
            .exchanges
            .completed,
        1
    );
    // The other target's connection ends during this run.
    let exchanges = load.closed().exchanges;
    assert_eq!((exchanges.errors.total(), exchanges.reopened), (0, 0));
    let patience = Instant::now();
    while load.engine.connect(other).unwrap().reopened == 0 {
        assert!(patience.elapsed() < SLACK);
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_open_loop_keeps_its_schedule() {
    let mut load = Load::with(answering(OK), 4, "GET", PATIENT);
    load.connect();
    let report = load.open(1_000.0, LASTS);
    let exchanges = report.exchanges;
    assert_eq!(
        (exchanges.intended, exchanges.completed, exchanges.dropped),
        (100, 100, 0)
    );
    assert_eq!(report.duration_ns, 100_000_000);
    assert!(
        report.ended_ns - report.started_ns >= 99_000_000,
        "the last start is at 99 ms"
    );
    assert!(load.recording.send_lag.len() <= 100);
    assert!(exchanges.send_lag_ns_p50 <= exchanges.send_lag_ns_p99);
    assert!(load.recording.response_time.max() >= load.recording.service_time.min());
}

#[test]
fn response_time_includes_the_wait_for_a_connection() {
    // One connection, 20 ms per answer, a start every 5 ms: the queue grows by 15 ms per start.
    let (address, _) = start(|stream, _| {
        std::thread::sleep(Duration::from_millis(20));
        let _ = stream.write_all(OK.as_bytes());
        Then::KeepOpen
    });
    let mut load = Load::with(address, 1, "GET", PATIENT);
    load.connect();
    let exchanges = load.open(200.0, LASTS).exchanges;
    assert_eq!((exchanges.intended, exchanges.completed), (20, 20));
    // The i-th of 20 waits for i answers and gets the next: at least 20·(i + 1) − 5·i ms.
    let Recording {
        response_time,
        service_time,
        send_lag,
        ..
    } = &load.recording;
    assert!(
        response_time.max() >= 304_000_000,
        "{}",
        response_time.max()
    );
    assert!(
        response_time.mean() >= 162_000_000.0,
        "{}",
        response_time.mean()
    );
    assert!(
        service_time.mean() < response_time.mean() / 2.0,
        "{}",
        service_time.mean()
    );
    assert!(
        (1..20).contains(&send_lag.len()),
        "waiting is not the generator's lateness"
    );
}

#[test]
fn starts_that_find_no_connection_in_time_are_dropped() {
    let (address, _) = start(|_, _| {
        std::thread::sleep(SILENCE);
        Then::Close
    });
    let mut load = Load::with(address, 1, "GET", SHORT);
    load.connect();
    let exchanges = load.open(100.0, LASTS).exchanges;
    assert_eq!(exchanges.intended, 10);
    assert!(exchanges.dropped >= 7, "{exchanges:?}");
    assert!(exchanges.errors.timeout >= 1, "{exchanges:?}");
}

#[test]
fn a_stopped_run_returns_soon() {
    let (address, _) = start(|_, _| {
        std::thread::sleep(SILENCE);
        Then::Close
    });
    let mut load = Load::with(address, 2, "GET", SILENCE);
    load.connect();
    let stop = Arc::new(AtomicBool::new(false));
    load.engine = load.engine.stopped_by(Arc::clone(&stop));
    let stopper = std::thread::spawn({
        let stop = Arc::clone(&stop);
        move || {
            std::thread::sleep(Duration::from_millis(50));
            stop.store(true, Ordering::Relaxed);
        }
    });
    let began = Instant::now();
    let lasts = SILENCE;
    let report = load
        .engine
        .run(load.target, Pace::Closed { lasts }, &mut load.recording)
        .unwrap();
    assert!(began.elapsed() < SLACK);
    assert_eq!(
        (report.exchanges.sent, report.exchanges.errors.total()),
        (2, 0)
    );
    stopper.join().unwrap();
    stop.store(false, Ordering::Relaxed);
    assert_eq!(
        load.connect().reopened,
        2,
        "a connection with an unanswered request is closed"
    );
}

#[test]
fn requests_larger_than_the_socket_buffer_are_sent_whole() {
    let (address, _) = start(|stream, _| {
        let mut left = 8_000_000;
        let mut buffer = vec![0; 65_536];
        while left > 0 {
            match std::io::Read::read(stream, &mut buffer[..65_536.min(left)]) {
                Ok(0) | Err(_) => return Then::Close,
                Ok(n) => left -= n,
            }
        }
        let _ = stream.write_all(OK.as_bytes());
        Then::KeepOpen
    });
    let mut engine = Engine::new(EngineConfig {
        timeout: Duration::from_secs(10),
    })
    .unwrap();
    // The server reads the head until the empty line and the body by its length. The body starts in
    // a segment of its own only because the head exactly fills the server's first read.
    let padding = "x".repeat(
        4096 - "POST / HTTP/1.1\r\nHost: h\r\nP: \r\nContent-Length: 8000000\r\n\r\n".len(),
    );
    let request = Request {
        method: "POST".to_owned(),
        authority: "h".to_owned(),
        path: Text::literal("/"),
        headers: vec![("P".to_owned(), Text::literal(padding))],
        body: Text::literal(vec![b'x'; 8_000_000]),
    };
    let target = engine.add_target(target_of(address, request), 2);
    engine.connect(target).unwrap();
    let report = engine
        .run(target, Pace::Closed { lasts: LASTS }, &mut Recording::new())
        .unwrap();
    assert!(report.exchanges.completed >= 2, "{report:?}");
    let each = report.exchanges.sent_bytes / report.exchanges.completed;
    assert_eq!(report.exchanges.sent_bytes % report.exchanges.completed, 0);
    assert!(each > 8_000_000, "{each}");
}

#[test]
fn ids_of_another_engine_are_refused() {
    let mut one = Load::on(answering(OK), 1);
    let mut other = Engine::new(EngineConfig { timeout: PATIENT }).unwrap();
    assert!(matches!(
        other.connect(one.target),
        Err(EngineError::UnknownTarget(0))
    ));
    assert_eq!(one.connect().opened, 1);
}
