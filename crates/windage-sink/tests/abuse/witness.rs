//! The effect of abuse on the other arm and on memory.

use std::env;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use windage_sink::{Counts, Protocol, Sink, SinkOptions};

use crate::sender::bodies::batch;
use crate::sender::http::{connect, exchange, post_traces};
use crate::sender::process::{allow_many_connections, give_back, resident_bytes};
use crate::sender::{FIRST, PATIENCE, SECOND, address, eventually};

/// The other arm's request interval.
const EVERY: Duration = Duration::from_millis(5);
const SPANS: u64 = 10;
/// The sink's limit on connections, over all arms.
pub(crate) const MAX_CONNECTIONS: usize = 1000;
/// The least number of requests that the other arm must get answered during the abuse.
const AT_LEAST: u64 = 10;

/// A process without another test.
pub(crate) struct Alone(());

/// Memory is that of the whole process, so each test runs in one of its own, and they run one at a
/// time. `None`: the calling test has run, in another process.
pub(crate) fn alone() -> Option<Alone> {
    const ALONE: &str = "WINDAGE_TEST_ALONE";
    static TURN: Mutex<()> = Mutex::new(());
    let this = thread::current();
    let name = this.name().unwrap();
    // A test that runs on the main thread has no others beside it, and no name.
    if env::var_os(ALONE).is_some() || name == "main" {
        allow_many_connections();
        return Some(Alone(()));
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let ran = Command::new(env::current_exe().unwrap())
        .args(["--exact", "--nocapture", name])
        .env(ALONE, "")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    let errors = String::from_utf8_lossy(&ran.stderr);
    let has_run = said.contains("1 passed");
    assert!(ran.status.success() && has_run, "{said}{errors}");
    None
}

/// The most memory that the process may take while it abuses a sink.
#[derive(Clone, Copy)]
pub(crate) struct Most {
    grown_mib: u64,
    resident_mb: u64,
}

impl Most {
    /// For any abuse over a few connections.
    pub(crate) fn for_few(grown_mib: u64) -> Most {
        Most {
            grown_mib,
            resident_mb: 64,
        }
    }

    /// For any abuse over as many connections as the sink accepts.
    pub(crate) fn for_many(grown_mib: u64) -> Most {
        Most {
            grown_mib,
            resident_mb: 128,
        }
    }
}

/// Abuses the first arm while the second receives at a steady pace. Checks that the second arm's
/// counts are exact and how much memory the process takes, which includes the abuser's; what `abuse`
/// returns is dropped after the last look. Returns the first arm's counts.
pub(crate) fn unmoved<Held: Send>(
    _alone: &Alone,
    most: Most,
    abuse: impl FnOnce(&Sink) -> Held + Send,
) -> Counts {
    let protocols = [Protocol::OtlpHttp, Protocol::OtlpGrpc];
    let options = SinkOptions {
        max_connections: MAX_CONNECTIONS,
        ..SinkOptions::default()
    };
    let sink = Sink::start(2, &protocols, options).unwrap();
    let answered = AtomicU64::new(0);
    let is_over = AtomicBool::new(false);
    give_back();
    let before = resident_bytes();
    let mut reached = before;
    thread::scope(|scope| {
        let steady = scope.spawn(|| send_steadily(&sink, &answered, &is_over));
        eventually("the other arm is served", || {
            answered.load(Ordering::Relaxed) > 0
        });
        let abuse = scope.spawn(|| abuse(&sink));
        let began = answered.load(Ordering::Relaxed);
        let goes_on = || answered.load(Ordering::Relaxed) < began + AT_LEAST;
        while !abuse.is_finished() || (goes_on() && !steady.is_finished()) {
            reached = reached.max(resident_bytes());
            thread::sleep(Duration::from_millis(2));
        }
        reached = reached.max(resident_bytes());
        is_over.store(true, Ordering::Relaxed);
        let (steady, abuse) = (steady.join(), abuse.join());
        assert!(steady.is_ok() && abuse.is_ok());
    });
    let (grown_mib, resident_mb) = ((reached - before) >> 20, reached / 1_000_000);
    assert!(grown_mib <= most.grown_mib, "grown by {grown_mib} MiB");
    assert!(resident_mb < most.resident_mb, "at {resident_mb} MB");
    let counts = sink.counts(SECOND);
    let requests = answered.load(Ordering::Relaxed);
    assert_eq!(
        (counts.requests, counts.spans),
        (requests, requests * SPANS)
    );
    assert_eq!((counts.rejected, counts.malformed), (0, 0));
    sink.counts(FIRST)
}

fn send_steadily(sink: &Sink, answered: &AtomicU64, is_over: &AtomicBool) {
    let mut stream = connect(address(sink, SECOND, Protocol::OtlpHttp));
    let mut number = 0;
    while !is_over.load(Ordering::Relaxed) {
        number += 1;
        let began = Instant::now();
        let answer = exchange(&mut stream, &post_traces(&batch(number, SPANS))).unwrap();
        assert_eq!(answer.status, 200);
        assert!(began.elapsed() < PATIENCE);
        answered.fetch_add(1, Ordering::Relaxed);
        thread::sleep(EVERY);
    }
}
