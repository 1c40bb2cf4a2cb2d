//! The measured path allocates nothing after warm-up.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::SocketAddr;
use std::time::Duration;

use crate::server::{answering, target};
use windage_load::{
    Engine, EngineConfig, Field, Fields, Flow, Pace, Part, Protocol, Recording, Request, Schedule,
    Step, Target, Text, TurnRhythm, Turns, Work,
};

/// Counts allocations of the test's thread; servers run on other threads.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending has no counter any more, and nothing reads it.
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
}

// SAFETY: every call is passed unchanged to the system's allocator. The counter is a plain
// thread-local cell without a destructor, so it does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller upholds the contract.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations_of(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

#[test]
fn runs_allocate_nothing_after_warm_up() {
    assert_eq!(
        allocations_of(|| drop(std::hint::black_box(Box::new(1)))),
        1,
        "the counter works"
    );

    let padded = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: {}\r\n\r\nok",
        "y".repeat(500)
    );
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    for answer in [padded.as_str(), chunked] {
        let address = answering(answer);
        for target in [target(address, "GET"), varied(address)] {
            runs_allocate_nothing(target);
        }
        turns_allocate_nothing([target(address, "GET"), varied(address)]);
    }
}

/// Two flows of two steps, with fields in the path and in a header.
fn varied(address: SocketAddr) -> Target {
    let step = |field: usize| Step {
        request: Request {
            method: "GET".to_owned(),
            authority: "test".to_owned(),
            path: Text::new(vec![Part::Literal(b"/".to_vec()), Part::Field(field)]),
            headers: vec![(
                "x-number".to_owned(),
                Text::new(vec![Part::Field(0), Part::Field(1)]),
            )],
            body: Text::literal(""),
        },
        think: Duration::ZERO,
    };
    let flow = |weight| Flow {
        weight,
        steps: vec![step(0), step(1)],
    };
    let fields = Fields {
        fields: vec![
            Field::Counter { from: 0, step: 1 },
            Field::Random {
                low: 0,
                high: u64::MAX,
            },
        ],
        tables: Vec::new(),
    };
    Target {
        work: Work::new(vec![flow(1), flow(2)], fields, Protocol::Http1).unwrap(),
        ..target(address, "GET")
    }
}

fn runs_allocate_nothing(target: Target) {
    let mut engine = Engine::new(EngineConfig {
        timeout: Duration::from_secs(5),
    })
    .unwrap();
    let target = engine.add_target(target, 4);
    assert_eq!(engine.connect(target).unwrap().opened, 4);
    let mut recording = Recording::new();
    let mut schedule = Schedule::poisson(2_000.0, 1);
    let lasts = Duration::from_millis(100);

    engine
        .run(target, Pace::Closed { lasts }, &mut recording)
        .unwrap();
    let mut completed = 0;
    let allocations = allocations_of(|| {
        let closed = engine
            .run(target, Pace::Closed { lasts }, &mut recording)
            .unwrap();
        let open = Pace::Open {
            schedule: &mut schedule,
            lasts,
        };
        let open = engine.run(target, open, &mut recording).unwrap();
        completed = closed.exchanges.completed + open.exchanges.completed;
    });
    assert!(completed > 100, "{completed}");
    assert_eq!(allocations, 0, "in {completed} exchanges");
}

fn turns_allocate_nothing(targets: [Target; 2]) {
    let mut engine = Engine::new(EngineConfig {
        timeout: Duration::from_secs(5),
    })
    .unwrap();
    let targets = targets.map(|target| {
        let id = engine.add_target(target, 4);
        assert_eq!(engine.connect(id).unwrap().opened, 4);
        id
    });
    let turns = Turns {
        targets: targets.into(),
        order: [0, 1, 1, 0].repeat(20).into(),
        requests: 3,
    };
    let mut recording = Recording::new();
    // Both loops have used each connection before, and with it its buffers.
    for is_measured in [false, true] {
        let open = TurnRhythm::Open {
            schedule: Schedule::poisson(5_000.0, 1),
        };
        for rhythm in [TurnRhythm::Closed, open] {
            // The boxed generator of a schedule is freed with it, which allocates nothing.
            let mut completed = 0;
            let allocations = allocations_of(|| {
                let ran = engine.run_turns(&turns, rhythm, &mut recording).unwrap();
                completed = ran.report.exchanges.completed;
            });
            assert_eq!(completed, 240);
            if is_measured {
                assert_eq!(allocations, 1, "only the report's list of members");
            }
        }
    }
}
