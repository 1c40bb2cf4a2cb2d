//! The effect of abuse on the other arm and on memory.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
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

/// Memory is that of the whole process, so tests run one at a time.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    allow_many_connections();
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Abuses the first arm while the second receives at a steady pace. Checks that the second arm's
/// counts are exact and that the process grew by at most `max_grown_mib`. Returns the first arm's
/// counts.
pub(crate) fn unmoved(
    _alone: &MutexGuard<'_, ()>,
    max_grown_mib: u64,
    abuse: impl FnOnce(&Sink) + Send,
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
    let mut most = before;
    thread::scope(|scope| {
        let steady = scope.spawn(|| send_steadily(&sink, &answered, &is_over));
        eventually("the other arm is served", || {
            answered.load(Ordering::Relaxed) > 0
        });
        let abuse = scope.spawn(|| abuse(&sink));
        let began = answered.load(Ordering::Relaxed);
        let goes_on = || answered.load(Ordering::Relaxed) < began + AT_LEAST;
        while !abuse.is_finished() || (goes_on() && !steady.is_finished()) {
            most = most.max(resident_bytes());
            thread::sleep(Duration::from_millis(2));
        }
        is_over.store(true, Ordering::Relaxed);
        let (steady, abuse) = (steady.join(), abuse.join());
        assert!(steady.is_ok() && abuse.is_ok());
    });
    let grown_mib = (most - before) >> 20;
    assert!(grown_mib <= max_grown_mib, "grown by {grown_mib} MiB");
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
