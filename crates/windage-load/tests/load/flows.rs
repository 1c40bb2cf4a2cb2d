//! Mixes, flows and fields, as the server sees them.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::server::{OK, Then, noting, repeat_until, target};
use windage_load::{
    Engine, EngineConfig, Field, Fields, Flow, Pace, Part, Protocol, Recording, Request, RunReport,
    Schedule, Step, Target, Text, Work,
};

const LASTS: Duration = Duration::from_millis(300);

fn get(path: Text) -> Request {
    Request {
        method: "GET".to_owned(),
        authority: "test".to_owned(),
        path,
        headers: Vec::new(),
        body: Text::literal(""),
    }
}

fn step(path: &str, think: Duration) -> Step {
    Step {
        request: get(Text::literal(path)),
        think,
    }
}

fn flow(weight: u32, steps: Vec<Step>) -> Flow {
    Flow { weight, steps }
}

fn asking(address: SocketAddr, flows: Vec<Flow>, fields: Fields) -> Target {
    Target {
        work: Work::new(flows, fields, Protocol::Http1).unwrap(),
        ..target(address, "GET")
    }
}

fn load(target: Target, connections: usize, rate_per_s: Option<f64>) -> RunReport {
    let mut engine = Engine::new(EngineConfig {
        timeout: Duration::from_secs(5),
    })
    .unwrap();
    let id = engine.add_target(target, connections);
    assert_eq!(engine.connect(id).unwrap().opened, connections);
    let mut schedule = Schedule::constant(rate_per_s.unwrap_or(0.0));
    let pace = match rate_per_s {
        None => Pace::Closed { lasts: LASTS },
        Some(_) => Pace::Open {
            schedule: &mut schedule,
            lasts: LASTS,
        },
    };
    engine.reseed(id, 7);
    let report = engine.run(id, pace, &mut Recording::new()).unwrap();
    assert_eq!(report.exchanges.errors.total(), 0, "{report:?}");
    report
}

#[test]
fn a_mix_keeps_its_weights() {
    let (address, paths) = noting(OK, Then::KeepOpen);
    let none = Duration::ZERO;
    let flows = vec![
        flow(3, vec![step("/often", none)]),
        flow(1, vec![step("/seldom", none)]),
    ];
    let report = load(asking(address, flows, Fields::default()), 2, None);
    let paths = paths.lock().unwrap();
    let often = paths.iter().filter(|path| *path == "/often").count();
    assert_eq!(paths.len() as u64, report.exchanges.completed);
    let share = often as f64 / paths.len() as f64;
    // Six standard errors of a share.
    let tolerance = 6.0 * (0.75 * 0.25 / paths.len() as f64).sqrt();
    assert!(
        (share - 0.75).abs() < tolerance,
        "{share} of {}",
        paths.len()
    );
}

#[test]
fn a_user_takes_the_steps_in_order_and_thinks_between_them() {
    let completed = || {
        let (address, paths) = noting(OK, Then::KeepOpen);
        let steps = vec![
            step("/a", Duration::from_millis(20)),
            step("/b", Duration::ZERO),
            step("/c", Duration::from_millis(10)),
        ];
        let report = load(
            asking(address, vec![flow(1, steps)], Fields::default()),
            1,
            None,
        );
        let paths = paths.lock().unwrap();
        for (number, path) in paths.iter().enumerate() {
            assert_eq!(path, ["/a", "/b", "/c"][number % 3], "{paths:?}");
        }
        let exchanges = report.exchanges;
        assert_eq!(exchanges.intended, exchanges.sent);
        exchanges.completed
    };
    // 30 ms of thinking per three requests: at most ten flows in 300 ms.
    let completed = repeat_until(completed, |completed| *completed >= 3);
    assert!((3..=31).contains(&completed), "{completed}");
}

#[test]
fn flows_in_an_open_loop_start_by_the_schedule() {
    let ended = || {
        let (address, paths) = noting(OK, Then::KeepOpen);
        let steps = vec![
            step("/a", Duration::from_millis(5)),
            step("/b", Duration::from_millis(1_000)),
        ];
        let report = load(
            asking(address, vec![flow(1, steps)], Fields::default()),
            8,
            Some(100.0),
        );
        let paths = paths.lock().unwrap();
        let begun = paths.iter().filter(|path| *path == "/a").count();
        assert_eq!(begun, 30, "100 per second for 0.3 s");
        assert_eq!(report.exchanges.intended, report.exchanges.sent);
        paths.len() - begun
    };
    // In an open loop, thinking after the last step holds no connection. Requests not sent by the
    // end of the run are left out; a machine that stalls at the end leaves out more.
    let ended = repeat_until(ended, |ended| *ended >= 25);
    assert!((25..=30).contains(&ended), "{ended}");
}

#[test]
fn fields_are_filled_again_for_each_request() {
    let asked = || {
        let (address, paths) = noting(OK, Then::KeepOpen);
        let path = Text::new(vec![
            Part::Literal(b"/item/".to_vec()),
            Part::Field(0),
            Part::Literal(b"?r=".to_vec()),
            Part::Field(1),
        ]);
        let fields = Fields {
            fields: vec![
                Field::Counter { from: 10, step: 5 },
                Field::Random { low: 1, high: 3 },
            ],
            tables: Vec::new(),
        };
        let one = Step {
            request: get(path),
            think: Duration::ZERO,
        };
        load(asking(address, vec![flow(1, vec![one])], fields), 1, None);
        let paths = paths.lock().unwrap();
        for (number, path) in paths.iter().enumerate() {
            let (item, random) = path.split_once("?r=").unwrap();
            assert_eq!(item, format!("/item/{}", 10 + 5 * number));
            assert!(["1", "2", "3"].contains(&random), "{path}");
        }
        paths.len()
    };
    let asked = repeat_until(asked, |asked| *asked > 10);
    assert!(asked > 10, "{asked}");
}

#[test]
fn a_user_continues_when_the_server_closes_after_each_answer() {
    let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
    let run = || {
        let (address, paths) = noting(closing, Then::Close);
        let steps = vec![step("/a", Duration::ZERO), step("/b", Duration::ZERO)];
        let flows = vec![flow(1, steps)];
        let report = load(asking(address, flows, Fields::default()), 1, None);
        let paths = paths.lock().unwrap();
        for (number, path) in paths.iter().enumerate() {
            assert_eq!(path, ["/a", "/b"][number % 2], "{paths:?}");
        }
        (paths.len(), report)
    };
    let (asked, report) = repeat_until(run, |(asked, _)| *asked > 4);
    assert!(asked > 4, "{report:?}");
}

#[test]
fn starts_that_wait_at_the_end_still_go_out_when_users_think() {
    // One connection, ten flows: each holds it for 40 ms, so most starts still wait at the end.
    let (address, paths) = noting(OK, Then::KeepOpen);
    let steps = vec![
        step("/a", Duration::from_millis(40)),
        step("/b", Duration::ZERO),
    ];
    let flows = vec![flow(1, steps)];
    let began = Instant::now();
    let report = load(asking(address, flows, Fields::default()), 1, Some(33.0));
    assert!(began.elapsed() < Duration::from_secs(4), "{report:?}");
    let paths = paths.lock().unwrap();
    let begun = paths.iter().filter(|path| *path == "/a").count() as u64;
    assert_eq!((begun, report.exchanges.dropped), (10, 0), "{report:?}");
}
