//! Several targets that take turns in one run.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::server::{OK, SILENCE, Then, answering, noting, repeat_until, start, target};
use windage_load::{
    Connections, Engine, EngineConfig, EngineError, Fields, Flow, Protocol, Recording, Request,
    Schedule, Step, Target, TargetId, Text, TurnRhythm, Turns, TurnsError, TurnsReport, Work,
};

/// Long enough for a busy machine.
const PATIENT: Duration = Duration::from_secs(8);
/// For tests that wait for it; a run that a stalled machine spoils is repeated.
const SHORT: Duration = Duration::from_secs(1);

/// The server's number, and the client's port.
type Arrival = (usize, u16);

/// What servers received, in this order.
#[derive(Clone, Default)]
struct Arrivals(Arc<(Mutex<Vec<Arrival>>, Condvar)>);

impl Arrivals {
    /// A server that answers each request after `before` has returned.
    fn server(
        &self,
        number: usize,
        before: impl Fn(&Arrivals) + Send + Sync + 'static,
    ) -> SocketAddr {
        let arrivals = self.clone();
        let serve = start(move |stream, _| {
            let port = stream.peer_addr().map_or(0, |peer| peer.port());
            let (list, changed) = &*arrivals.0;
            list.lock().unwrap().push((number, port));
            changed.notify_all();
            before(&arrivals);
            let _ = stream.write_all(OK.as_bytes());
            Then::KeepOpen
        });
        serve.0
    }

    /// Waits until a server has received this many requests.
    fn wait_for(&self, number: usize, requests: usize) {
        let (list, changed) = &*self.0;
        let few = |list: &mut Vec<Arrival>| {
            list.iter().filter(|arrival| arrival.0 == number).count() < requests
        };
        drop(changed.wait_timeout_while(list.lock().unwrap(), SILENCE, few));
    }

    fn servers(&self) -> Vec<usize> {
        self.0.0.lock().unwrap().iter().map(|of| of.0).collect()
    }

    /// Requests per connection of a server.
    fn by_connection(&self, number: usize) -> BTreeMap<u16, usize> {
        let mut counts = BTreeMap::new();
        for (server, port) in self.0.0.lock().unwrap().iter() {
            if *server == number {
                *counts.entry(*port).or_default() += 1;
            }
        }
        counts
    }
}

fn engine(timeout: Duration) -> Engine {
    Engine::new(EngineConfig { timeout }).unwrap()
}

fn turns(targets: &[TargetId], order: &[u16], requests: u32) -> Turns {
    Turns {
        targets: targets.into(),
        order: order.into(),
        requests,
    }
}

/// This many starts, one per millisecond.
fn open(starts: u64) -> TurnRhythm {
    let starts: Vec<u64> = (0..starts).map(|n| n * 1_000_000).collect();
    TurnRhythm::Open {
        schedule: Schedule::replay(starts).unwrap(),
    }
}

/// Both loops; the open one with enough starts for all turns.
fn both(turns: &Turns) -> [TurnRhythm; 2] {
    let starts = turns.order.len() as u64 * u64::from(turns.requests);
    [TurnRhythm::Closed, open(starts)]
}

/// Adds a target per server and opens its connections.
fn connected(engine: &mut Engine, servers: &[(SocketAddr, Connections)]) -> Vec<TargetId> {
    let add = |&(address, connections): &(SocketAddr, Connections)| {
        let id = engine.add_target(target(address, "GET"), connections);
        engine.connect(id).unwrap();
        id
    };
    servers.iter().map(add).collect()
}

/// Runs, and checks what must be true of every run.
fn run(engine: &mut Engine, turns: &Turns, rhythm: TurnRhythm) -> TurnsReport {
    let mut recording = Recording::new();
    let ran = engine.run_turns(turns, rhythm, &mut recording).unwrap();
    assert_eq!(ran.members.len(), turns.targets.len());
    for of in &ran.members {
        let lost = of.errors.total() - of.errors.connect;
        assert_eq!(of.sent, of.completed + lost, "{ran:?}");
        assert_eq!(of.intended, of.sent + of.dropped, "{ran:?}");
        assert_eq!(of.status.total(), of.completed, "{ran:?}");
    }
    let (whole, report) = (&ran.report.exchanges, &ran.report);
    let sum = |count: fn(&windage_model::Exchanges) -> u64| -> [u64; 2] {
        [ran.members.iter().map(count).sum(), count(whole)]
    };
    for [parts, whole] in [
        sum(|of| of.intended),
        sum(|of| of.completed),
        sum(|of| of.dropped),
        sum(|of| of.waited),
        sum(|of| of.errors.total()),
        sum(|of| of.sent_bytes),
        sum(|of| of.received_bytes),
    ] {
        assert_eq!(parts, whole, "{ran:?}");
    }
    assert_eq!(recording.response_time.len(), whole.completed);
    assert_eq!(whole.errors.total() > 0, report.first_error.is_some());
    assert!(report.duration_ns <= report.ended_ns - report.started_ns);
    ran
}

fn completed(ran: &TurnsReport) -> Vec<u64> {
    ran.members.iter().map(|of| of.completed).collect()
}

#[test]
fn each_member_gets_exactly_its_requests() {
    // Turns, requests per turn, starts of the schedule, completed per member (closed), (open), why.
    type Row = (&'static [u16], u32, u64, [u64; 3], [u64; 3], &'static str);
    let table: [Row; 6] = [
        (&[0, 1, 2, 2, 0, 1], 5, 30, [10; 3], [10; 3], "all three"),
        (&[2, 2, 1], 7, 21, [0, 7, 14], [0, 7, 14], "one has no turn"),
        (&[1], 9, 9, [0, 9, 0], [0, 9, 0], "one turn"),
        (&[0, 1], 10, 13, [10, 10, 0], [10, 3, 0], "too few starts"),
        (&[0, 1], 3, 99, [3, 3, 0], [3, 3, 0], "too many starts"),
        (&[], 4, 50, [0; 3], [0; 3], "no turns"),
    ];
    let mut engine = engine(PATIENT);
    let servers = [(answering(OK), 3.into()); 3];
    let targets = connected(&mut engine, &servers);
    for (order, requests, starts, closed, opened, why) in table {
        let turns = turns(&targets, order, requests);
        let rhythms = [(TurnRhythm::Closed, closed), (open(starts), opened)];
        for (rhythm, expected) in rhythms {
            let ran = run(&mut engine, &turns, rhythm);
            assert_eq!(completed(&ran), expected, "{why}: {ran:?}");
            assert_eq!(ran.report.exchanges.intended, expected.iter().sum::<u64>());
            assert_eq!(ran.report.exchanges.dropped, 0, "{why}");
            assert_eq!(ran.report.exchanges.errors.total(), 0, "{why}: {ran:?}");
        }
    }
    let empty = TurnRhythm::Open {
        schedule: Schedule::constant(0.0),
    };
    let ran = run(&mut engine, &turns(&targets, &[0, 1], 3), empty);
    assert_eq!(completed(&ran), [0; 3], "a schedule without starts");
}

#[test]
fn servers_see_the_turns_in_their_order() {
    let order = [1, 0, 0, 1, 0, 1];
    let expected: Vec<usize> = order.iter().flat_map(|&of| [usize::from(of); 2]).collect();
    let seen = || {
        let arrivals = Arrivals::default();
        let servers = [0, 1].map(|number| (arrivals.server(number, |_| {}), 2.into()));
        let mut engine = engine(PATIENT);
        let targets = connected(&mut engine, &servers);
        // 20 ms apart, so that threads of servers rarely overtake each other.
        let starts: Vec<u64> = (0..12).map(|n| n * 20_000_000).collect();
        let schedule = Schedule::replay(starts).unwrap();
        let rhythm = TurnRhythm::Open { schedule };
        run(&mut engine, &turns(&targets, &order, 2), rhythm);
        arrivals.servers()
    };
    assert_eq!(repeat_until(seen, |seen| *seen == expected), expected);
}

#[test]
fn no_turn_waits_for_the_answers_to_the_one_before() {
    // The first server answers nothing until the second has all its requests. That works only if
    // nothing is drained in between.
    for (rhythm, which) in [(TurnRhythm::Closed, "closed"), (open(40), "open")] {
        let arrivals = Arrivals::default();
        let slow = arrivals.server(0, |arrivals| arrivals.wait_for(1, 20));
        let fast = arrivals.server(1, |_| {});
        let mut engine = engine(PATIENT);
        let targets = connected(&mut engine, &[(slow, 20.into()), (fast, 2.into())]);
        let turns = turns(&targets, &[0, 1, 0, 1, 0, 1, 0, 1], 5);
        let ran = run(&mut engine, &turns, rhythm);
        assert_eq!(completed(&ran), [20, 20], "{which}: {ran:?}");
        assert_eq!(ran.report.exchanges.errors.total(), 0, "{which}: {ran:?}");
    }
}

#[test]
fn starts_wait_for_lanes_of_their_own_target() {
    // As above, but the first target has too few connections for its starts.
    // Connections, grown, why.
    let most = 4;
    let table = [
        (Connections::from(1), 0, "no room to grow"),
        (Connections { first: 1, most }, 3, "three more open"),
    ];
    for (connections, grown, why) in table {
        let arrivals = Arrivals::default();
        let slow = arrivals.server(0, |arrivals| arrivals.wait_for(1, 20));
        let fast = arrivals.server(1, |_| {});
        let mut engine = engine(PATIENT);
        let targets = connected(&mut engine, &[(slow, connections), (fast, 20.into())]);
        let turns = turns(&targets, &[0, 1, 0, 1], 10);
        let ran = run(&mut engine, &turns, open(40));
        assert_eq!(completed(&ran), [20, 20], "{why}: {ran:?}");
        // A start for which a connection opens has waited too.
        let of = &ran.members[0];
        assert_eq!((of.waited, of.grown), (19, grown), "{why}: {ran:?}");
        assert_eq!(ran.members[1].waited, 0, "{why}: a lane for each start");
    }
}

#[test]
fn connections_are_used_in_rotation_across_turns() {
    // Connections of the first target, requests per turn: fewer than connections.
    for (connections, requests) in [(6, 4), (3, 1), (5, 2)] {
        for open in [false, true] {
            let arrivals = Arrivals::default();
            let servers = [0, 1].map(|of| (arrivals.server(of, |_| {}), connections.into()));
            let mut engine = engine(PATIENT);
            let targets = connected(&mut engine, &servers);
            let turns = turns(&targets, &[0, 1].repeat(6), requests);
            let rhythm = both(&turns)[usize::from(open)].clone();
            let ran = run(&mut engine, &turns, rhythm);
            assert_eq!(ran.report.exchanges.reopened, 0);
            for server in [0, 1] {
                let used = arrivals.by_connection(server);
                assert_eq!(used.len(), connections, "{requests} per turn: {used:?}");
            }
        }
    }
}

/// A server with one connection that answers three requests, and is gone with the fourth.
fn dying() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        for request in 0..4 {
            let mut head = [0; 512];
            let received = std::io::Read::read(&mut stream, &mut head);
            if request < 3 && received.is_ok_and(|length| length > 0) {
                let _ = stream.write_all(OK.as_bytes());
            }
        }
        // Nothing may connect between the end of the connection and that of the listener.
        drop(listener);
    });
    address
}

#[test]
fn a_server_that_dies_does_not_hold_up_the_others() {
    for which in [0, 1] {
        let run = || {
            let mut engine = engine(SHORT);
            let targets = connected(
                &mut engine,
                &[(dying(), 1.into()), (answering(OK), 2.into())],
            );
            let turns = turns(&targets, &[0, 1].repeat(20), 2);
            let began = Instant::now();
            let ran = run(&mut engine, &turns, both(&turns)[which].clone());
            (ran, began.elapsed())
        };
        let (ran, took) = repeat_until(run, |(ran, took)| {
            completed(ran) == [3, 40] && *took < 5 * SHORT
        });
        assert_eq!(completed(&ran), [3, 40], "{ran:?}");
        let [dead, other] = &ran.members[..] else {
            panic!("two members: {ran:?}");
        };
        assert_eq!(
            (dead.intended, dead.sent, dead.dropped),
            (40, 4, 36),
            "{ran:?}"
        );
        assert_eq!(dead.errors.closed, 1, "{ran:?}");
        assert!(dead.errors.connect > 0, "{ran:?}");
        assert_eq!((other.errors.total(), other.dropped), (0, 0), "{ran:?}");
        // Only once, not in each of its 18 turns.
        assert!(took < 5 * SHORT, "the timeout is waited for once: {took:?}");
    }
}

#[test]
fn a_server_that_never_answers_costs_one_timeout() {
    for which in [0, 1] {
        let run = || {
            let (silent, _) = start(|_, _| {
                std::thread::sleep(SILENCE);
                Then::Close
            });
            let mut engine = engine(SHORT);
            let targets = connected(
                &mut engine,
                &[(silent, 2.into()), (answering(OK), 2.into())],
            );
            let turns = turns(&targets, &[0, 1].repeat(10), 3);
            let began = Instant::now();
            let ran = run(&mut engine, &turns, both(&turns)[which].clone());
            (ran, began.elapsed())
        };
        let (ran, took) = repeat_until(run, |(ran, took)| {
            completed(ran) == [0, 30] && *took < 5 * SHORT
        });
        assert_eq!(completed(&ran), [0, 30], "{ran:?}");
        let silent = &ran.members[0];
        assert_eq!(silent.intended, 30, "{ran:?}");
        assert!(silent.errors.timeout >= 2 && silent.dropped > 0, "{ran:?}");
        assert!(took < 5 * SHORT, "{took:?}");
    }
}

#[test]
fn a_target_without_lanes_does_not_use_up_the_room_for_waiting_starts() {
    let run = || {
        let (silent, _) = start(|_, _| {
            std::thread::sleep(SILENCE);
            Then::Close
        });
        let mut engine = engine(SHORT);
        let targets = connected(
            &mut engine,
            &[(silent, 1.into()), (answering(OK), 1.into())],
        );
        // 70,000 starts of the silent target, then 100 of the other, all due at once.
        let mut order = vec![0; 700];
        order.push(1);
        let rhythm = TurnRhythm::Open {
            schedule: Schedule::replay(vec![0; 70_100]).unwrap(),
        };
        run(&mut engine, &turns(&targets, &order, 100), rhythm)
    };
    let ran = repeat_until(run, |ran| ran.members[1].completed == 100);
    let [silent, other] = &ran.members[..] else {
        panic!("two members: {ran:?}");
    };
    assert_eq!((other.completed, other.dropped), (100, 0), "{ran:?}");
    assert!(other.waited > 0, "{ran:?}");
    assert_eq!(silent.intended, 70_000, "{ran:?}");
    assert!(silent.dropped >= 70_000 - 2, "{ran:?}");
}

#[test]
fn a_user_takes_one_step_per_request_and_goes_on_in_the_next_run() {
    let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
    let step = |path: &str, think| Step {
        request: Request {
            method: "GET".to_owned(),
            authority: "test".to_owned(),
            path: Text::literal(path),
            headers: Vec::new(),
            body: Text::literal(""),
        },
        think,
    };
    let of = |address, think| {
        let steps = vec![step("/a", think), step("/b", Duration::ZERO)];
        let flows = vec![Flow { weight: 1, steps }];
        Target {
            work: Work::new(flows, Fields::default(), Protocol::Http1).unwrap(),
            ..target(address, "GET")
        }
    };
    for (answer, then) in [(OK, Then::KeepOpen), (closing, Then::Close)] {
        let (address, paths) = noting(answer, then);
        let mut engine = engine(PATIENT);
        let id = engine.add_target(of(address, Duration::ZERO), 1);
        let other = connected(&mut engine, &[(answering(OK), 1.into())])[0];
        // An odd number of requests in each run.
        let turns = turns(&[other, id], &[0, 1, 0, 1, 0, 1], 3);
        let mut expected = 0;
        for rhythm in both(&turns) {
            engine.connect(id).unwrap();
            let ran = run(&mut engine, &turns, rhythm);
            assert_eq!(completed(&ran), [9, 9], "{ran:?}");
            expected += 9;
        }
        let paths = paths.lock().unwrap();
        assert_eq!(paths.len(), expected);
        if then == Then::KeepOpen {
            for (number, path) in paths.iter().enumerate() {
                assert_eq!(path, ["/a", "/b"][number % 2], "{paths:?}");
            }
        } else {
            // A user is lost with a connection that ends as the run does.
            for (number, path) in paths[..9].iter().enumerate() {
                assert_eq!(path, ["/a", "/b"][number % 2], "{paths:?}");
            }
        }
    }
    let mut engine = engine(PATIENT);
    let id = engine.add_target(of(answering(OK), Duration::from_millis(1)), 1);
    let refused = engine.run_turns(
        &turns(&[id], &[0], 1),
        TurnRhythm::Closed,
        &mut Recording::new(),
    );
    assert!(
        matches!(refused, Err(EngineError::Turns(TurnsError::ThinkTime(0)))),
        "{refused:?}"
    );
}

#[test]
fn turns_that_can_not_be_carried_out_are_refused() {
    let mut engine = engine(PATIENT);
    let one = connected(&mut engine, &[(answering(OK), 1.into())])[0];
    let unknown = connected(&mut self::engine(PATIENT), &[(answering(OK), 0.into()); 2])[1];
    type Check = fn(&EngineError) -> bool;
    let table: [(Turns, Check); 4] = [
        (turns(&[one], &[0], 0), |error| {
            matches!(error, EngineError::Turns(TurnsError::NoRequests))
        }),
        (turns(&[one], &[0, 1], 1), |error| {
            matches!(error, EngineError::Turns(TurnsError::UnknownMember { .. }))
        }),
        (turns(&[one, one], &[0, 1], 1), |error| {
            matches!(error, EngineError::Turns(TurnsError::Repeated(0)))
        }),
        (turns(&[one, unknown], &[0], 1), |error| {
            matches!(error, EngineError::UnknownTarget(1))
        }),
    ];
    for (turns, check) in table {
        let mut recording = Recording::new();
        let refused = engine.run_turns(&turns, TurnRhythm::Closed, &mut recording);
        assert!(refused.as_ref().is_err_and(check), "{turns:?}: {refused:?}");
    }
}

#[test]
fn a_stopped_run_of_turns_returns_soon() {
    for which in [0, 1] {
        let stop = Arc::new(AtomicBool::new(false));
        let mut engine = engine(SILENCE).stopped_by(Arc::clone(&stop));
        let (silent, _) = start(move |_, _| {
            stop.store(true, Ordering::Relaxed);
            std::thread::sleep(SILENCE);
            Then::Close
        });
        let targets = connected(
            &mut engine,
            &[(silent, 1.into()), (answering(OK), 1.into())],
        );
        let turns = turns(&targets, &[0, 1].repeat(100_000), 2);
        let began = Instant::now();
        let ran = run_stopped(&mut engine, &turns, both(&turns)[which].clone());
        assert!(began.elapsed() < SILENCE / 2);
        let silent = &ran.members[0];
        assert_eq!((silent.sent, silent.errors.total()), (1, 0), "{ran:?}");
    }
}

/// A run whose interrupted requests are neither completed nor errors.
fn run_stopped(engine: &mut Engine, turns: &Turns, rhythm: TurnRhythm) -> TurnsReport {
    let ran = engine
        .run_turns(turns, rhythm, &mut Recording::new())
        .unwrap();
    for of in &ran.members {
        assert_eq!(of.intended, of.sent + of.dropped, "{ran:?}");
    }
    ran
}
