//! A generator of several threads behaves like one of one thread.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::server::{OK, Then, noting, repeat_until, target};
use windage_load::{
    Field, Fields, Flow, Generator, GeneratorConfig, Part, Protocol, Recording, Request, Rhythm,
    RunProgress, Schedule, Step, Target, TargetId, Text, TurnRhythm, Turns, Work,
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

#[test]
fn threads_share_turns() {
    // Connections of the two targets, requests per turn, completed per member in a closed loop, why.
    // Ten turns each; three threads.
    let table = [
        ([6, 3], 7, [70, 70], "three threads"),
        (
            [6, 3],
            2,
            [30, 30],
            "at least one request per thread and turn",
        ),
        ([6, 1], 2, [20, 20], "one thread has connections to both"),
        ([2, 6], 3, [30, 30], "two threads"),
    ];
    for (connections, requests, closed, why) in table {
        let progress = Arc::new(RunProgress::default());
        let mut generator = Generator::new(&GeneratorConfig {
            timeout: Duration::from_secs(8),
            threads: 3,
            stop: Arc::new(AtomicBool::new(false)),
            progress: Some(Arc::clone(&progress)),
        })
        .unwrap();
        let servers = [(); 2].map(|()| noting(OK, Then::KeepOpen));
        let targets: Vec<TargetId> = servers
            .iter()
            .zip(connections)
            .map(|((address, _), connections)| {
                let id = generator.add_target(&target(*address, "GET"), connections);
                assert_eq!(generator.connect(id).unwrap().opened, connections);
                id
            })
            .collect();
        let turns = Turns {
            targets: targets.into(),
            order: [0, 1, 1, 0].repeat(5).into(),
            requests,
        };
        let open = TurnRhythm::Open {
            schedule: Schedule::constant(1_000.0),
        };
        let opened = [10 * u64::from(requests); 2];
        let mut total = 0;
        for (rhythm, expected) in [(TurnRhythm::Closed, closed), (open, opened)] {
            let mut recording = Recording::new();
            let ran = generator
                .run_turns(&turns, &rhythm, &mut recording)
                .unwrap();
            let counts: Vec<u64> = ran.members.iter().map(|of| of.completed).collect();
            assert_eq!(counts, expected, "{why}: {ran:?}");
            let whole = &ran.report.exchanges;
            let both = expected.iter().sum::<u64>();
            assert_eq!((whole.completed, whole.errors.total()), (both, 0), "{why}");
            assert_eq!(recording.response_time.len(), both, "{why}");
            total += both;
        }
        assert_eq!(progress.completed(), total, "{why}");
        let seen = servers.map(|(_, paths)| paths.lock().unwrap().len() as u64);
        assert_eq!(seen.iter().sum::<u64>(), total, "{why}");
    }
}
