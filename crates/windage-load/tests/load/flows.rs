//! Mixes, flows and fields, as a server sees them.

use std::net::SocketAddr;
use std::time::Duration;

use crate::server::{noting, target};
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
    let (address, paths) = noting();
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
    let (address, paths) = noting();
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
    // 30 ms of thinking for each three requests: at most ten flows in 300 ms, begun or whole.
    let completed = report.exchanges.completed;
    assert!((3..=31).contains(&completed), "{completed}");
    assert_eq!(report.exchanges.intended, report.exchanges.sent);
}

#[test]
fn flows_in_an_open_loop_start_by_the_schedule() {
    let (address, paths) = noting();
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
    assert_eq!(begun, 30, "100 a second for 0.3 s");
    // Thinking after the last step holds no connection in an open loop.
    let ended = paths.len() - begun;
    assert!((25..=30).contains(&ended), "{ended}");
    assert_eq!(report.exchanges.intended, report.exchanges.sent);
}

#[test]
fn fields_are_filled_anew_for_each_request() {
    let (address, paths) = noting();
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
    assert!(paths.len() > 10);
    for (number, path) in paths.iter().enumerate() {
        let (item, random) = path.split_once("?r=").unwrap();
        assert_eq!(item, format!("/item/{}", 10 + 5 * number));
        assert!(["1", "2", "3"].contains(&random), "{path}");
    }
}
