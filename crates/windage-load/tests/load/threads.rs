//! A generator of several threads behaves like one of one thread.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::server::{OK, Then, noting, repeat_until, target};
use windage_load::{
    Field, Fields, Flow, Generator, GeneratorConfig, Part, Protocol, Recording, Request, Rhythm,
    RunProgress, Schedule, Step, Target, Text, Work,
};

const LASTS: Duration = Duration::from_millis(200);

#[test]
fn threads_share_connections_starts_and_counters() {
    let (address, paths) = noting(OK, Then::KeepOpen);
    let path = Text::new(vec![Part::Literal(b"/".to_vec()), Part::Field(0)]);
    let fields = Fields {
        fields: vec![Field::Counter { from: 0, step: 1 }],
        tables: Vec::new(),
    };
    let request = Request {
        method: "GET".to_owned(),
        authority: "test".to_owned(),
        path,
        headers: Vec::new(),
        body: Text::literal(""),
    };
    let flow = Flow {
        weight: 1,
        steps: vec![Step {
            request,
            think: Duration::ZERO,
        }],
    };
    let target = Target {
        work: Work::new(vec![flow], fields, Protocol::Http1).unwrap(),
        ..target(address, "GET")
    };
    let progress = Arc::new(RunProgress::default());
    let mut generator = Generator::new(&GeneratorConfig {
        timeout: Duration::from_secs(5),
        threads: 3,
        stop: Arc::new(AtomicBool::new(false)),
        progress: Some(Arc::clone(&progress)),
    })
    .unwrap();
    let id = generator.add_target(&target, 4);
    assert_eq!(generator.connect(id).unwrap().opened, 4);
    assert_eq!(generator.connect(id).unwrap().opened, 0, "nothing to do");

    let mut recording = Recording::new();
    let open = Rhythm::Open {
        schedule: Schedule::constant(500.0),
        lasts: LASTS,
    };
    let report = generator.run(id, &open, &mut recording).unwrap();
    assert_eq!(report.exchanges.intended, 100);
    assert_eq!(report.exchanges.completed, 100, "{report:?}");
    assert_eq!(recording.response_time.len(), 100);
    assert_eq!(progress.completed(), 100);
    let numbers: BTreeSet<u64> = paths
        .lock()
        .unwrap()
        .iter()
        .map(|path| path[1..].parse().unwrap())
        .collect();
    assert_eq!(numbers.len(), 100, "no number is used twice");

    let closed = Rhythm::Closed { lasts: LASTS };
    let run = || {
        let before = recording.response_time.len();
        let report = generator.run(id, &closed, &mut recording).unwrap();
        assert_eq!(
            recording.response_time.len(),
            before + report.exchanges.completed,
            "a run adds to the recording"
        );
        report
    };
    let report = repeat_until(run, |report| report.exchanges.completed > 10);
    assert!(report.exchanges.completed > 10, "{report:?}");
}

#[test]
fn more_threads_than_connections_leave_some_idle() {
    let (address, _) = noting(OK, Then::KeepOpen);
    let mut generator = Generator::new(&GeneratorConfig {
        timeout: Duration::from_secs(5),
        threads: 3,
        stop: Arc::new(AtomicBool::new(false)),
        progress: None,
    })
    .unwrap();
    let id = generator.add_target(&target(address, "GET"), 1);
    assert_eq!(generator.connect(id).unwrap().opened, 1);
    let closed = Rhythm::Closed { lasts: LASTS };
    let report = generator.run(id, &closed, &mut Recording::new()).unwrap();
    assert!(report.exchanges.completed > 0);
    assert_eq!(report.exchanges.errors.total(), 0);
}
