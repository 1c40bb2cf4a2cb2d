//! A load engine must measure what the computation predicts.
//!
//! On a busy machine, server and engine wait for their cores and can't keep their schedules. So a
//! wrong reading counts only if the kernel reports that neither waited, and three such readings
//! fail the test. An engine that measures the wrong thing is off by a factor, every time, even on
//! a quiet machine.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use truth::queue::{percentile_ns, response_times_ns};
use truth::{Answering, Stalls};
use windage_load::{
    Endpoint, Engine, EngineConfig, Pace, Protocol, Recording, Request, Schedule, Target, TargetId,
    Text, Work,
};

use crate::disturbance::{Disturbance, skip};
use crate::server::Server;

/// The maximum number of readings, and the number of wrong ones that fail a test.
const ATTEMPTS: usize = 6;
const MISSES: usize = 3;
const CONNECTIONS: NonZeroUsize = NonZeroUsize::new(8).unwrap();
const RATE_PER_S: f64 = 1_000.0;
const GAP_NS: u64 = 1_000_000;

/// What the engine measured.
struct Reading {
    started_ns: u64,
    starts: u64,
    recording: Recording,
}

fn engine_for(address: SocketAddr) -> (Engine, TargetId) {
    let timeout = Duration::from_secs(5);
    let mut engine = Engine::new(EngineConfig { timeout }).unwrap();
    let request = Request {
        method: "GET".to_owned(),
        authority: "truth".to_owned(),
        path: Text::literal("/"),
        headers: Vec::new(),
        body: Text::default(),
    };
    let target = Target {
        endpoint: Endpoint::Tcp(address),
        tls: None,
        streams: 1,
        work: Work::single(request, Protocol::Http1).unwrap(),
    };
    let target = engine.add_target(target, CONNECTIONS.get());
    (engine, target)
}

/// A thousand starts per second on eight connections.
fn put_load(address: SocketAddr, lasts: Duration) -> Reading {
    let (mut engine, target) = engine_for(address);
    assert_eq!(engine.connect(target).unwrap().opened, CONNECTIONS.get());
    let mut recording = Recording::new();
    let mut schedule = Schedule::constant(RATE_PER_S);
    let pace = Pace::Open {
        schedule: &mut schedule,
        lasts,
    };
    let report = engine.run(target, pace, &mut recording).unwrap();
    let exchanges = report.exchanges;
    assert_eq!(
        (exchanges.completed, exchanges.dropped),
        (exchanges.intended, 0),
        "{:?}",
        report.first_error
    );
    Reading {
        started_ns: report.started_ns,
        starts: exchanges.intended,
        recording,
    }
}

/// One test at a time: they would disturb each other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A reading that is not what it should be, and how long server and engine waited for a core.
struct Miss {
    what: String,
    waited: Duration,
}

/// Reads until it holds. Misses count where the wait for a core was no longer than `bearable`.
fn make_it_hold(test: &str, bearable: Duration, attempt: impl Fn() -> Result<(), Miss>) {
    let _alone = alone();
    let mut misses = Vec::new();
    for _ in 0..ATTEMPTS {
        match attempt() {
            Ok(()) => return,
            Err(miss) if miss.waited <= bearable => misses.push(miss.what),
            Err(_) => {}
        }
        assert!(misses.len() < MISSES, "{}", misses.join("\n"));
    }
    skip(
        test,
        "the machine is too busy with other things to time anything",
    );
}

fn expect_within(what: &str, read_ns: u64, truth_ns: u64, share: f64) -> Result<(), String> {
    let off = read_ns as f64 / truth_ns as f64 - 1.0;
    if off.abs() <= share {
        Ok(())
    } else {
        Err(format!("{what}: read {read_ns} ns, truth {truth_ns} ns"))
    }
}

#[test]
fn a_constant_service_time_is_measured() {
    let bearable = Duration::from_millis(100);
    make_it_hold("a_constant_service_time_is_measured", bearable, || {
        let server = Server::start("constant --service 1ms");
        let disturbance = Disturbance::watch(&server);
        let reading = put_load(server.address, Duration::from_secs(2));
        let waited = disturbance.so_far();
        let account = server.end();
        assert_eq!(account.answered, reading.starts);

        let times = &reading.recording.response_time;
        // Three digits are recorded; apart from that, no response may appear faster than it was.
        assert!(times.min() >= 999_000, "{} ns", times.min());
        let p50_ns = times.value_at_quantile(0.5);
        expect_within("p50", p50_ns, 1_000_000, 0.3).map_err(|what| Miss {
            what: format!("{what}; the server's own account: {account}"),
            waited,
        })
    });
}

#[test]
fn a_stall_shows_in_all_requests_that_were_due_in_it() {
    let bearable = Duration::from_millis(50);
    let name = "a_stall_shows_in_all_requests_that_were_due_in_it";
    make_it_hold(name, bearable, || {
        let mut server = Server::start("stall --every 2s --for 200ms --service 1ms");
        let stalls = server.stalls();
        let disturbance = Disturbance::watch(&server);
        // The first stall begins two seconds after the server, and the second is not met.
        let reading = put_load(server.address, Duration::from_secs(3));
        let waited = disturbance.so_far();
        let account = server.end();
        assert_eq!(account.answered, reading.starts);

        let truth_ns = truth_ns(&reading, stalls);
        compare(&reading.recording, &truth_ns).map_err(|what| Miss {
            what: format!("{what}; the server's own account: {account}"),
            waited,
        })
    });
}

/// The response times that the starts of this reading should have had.
fn truth_ns(reading: &Reading, stalls: Stalls) -> Vec<u64> {
    let starts_ns = (0..reading.starts).map(|i| reading.started_ns + i * GAP_NS);
    let answering = Answering::constant(Duration::from_millis(1)).unwrap();
    response_times_ns(starts_ns, CONNECTIONS, &answering.with_stalls(stalls))
}

fn compare(recording: &Recording, truth_ns: &[u64]) -> Result<(), String> {
    // Below these the way there and back adds up, answer by answer, until the queue is gone.
    for (what, share) in [("p99", 0.99), ("p99.9", 0.999)] {
        let truth_ns = percentile_ns(truth_ns, share).unwrap();
        let read_ns = recording.response_time.value_at_quantile(share);
        expect_within(what, read_ns, truth_ns, 0.05)?;
    }
    // From the moment of sending, only eight requests per stall are slow, one per connection. This
    // shows that the comparison above would fail with a clock started there.
    let p99_ns = recording.service_time.value_at_quantile(0.99);
    if p99_ns < 20_000_000 {
        Ok(())
    } else {
        Err(format!(
            "p99 from sending: read {p99_ns} ns, truth some 1 ms"
        ))
    }
}
