//! The measured path allocates nothing after warm-up.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use crate::server::answering;
use windage_load::{Engine, EngineConfig, Pace, Recording, Schedule, Target, serialise_request};

/// Counts what the thread of the test allocates; the servers run on others.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending has no counter any more, and nobody asks for it.
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
}

// SAFETY: every call is passed on unchanged to the system's allocator; the counter is a plain
// thread-local cell without a destructor, so it does not allocate itself.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as demanded of the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as demanded of the caller.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as demanded of the caller.
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
        "the counter counts"
    );

    let padded = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: {}\r\n\r\nok",
        "y".repeat(500)
    );
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    for answer in [padded.as_str(), chunked] {
        let request = serialise_request("GET", "test", "/", &[], b"").unwrap();
        let mut engine = Engine::new(EngineConfig {
            timeout: Duration::from_secs(5),
        })
        .unwrap();
        let address = answering(answer);
        let target = engine.add_target(
            Target {
                address,
                request,
                is_head: false,
            },
            4,
        );
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
            let open = engine
                .run(
                    target,
                    Pace::Open {
                        schedule: &mut schedule,
                        lasts,
                    },
                    &mut recording,
                )
                .unwrap();
            completed = closed.exchanges.completed + open.exchanges.completed;
        });
        assert!(completed > 100, "{completed}");
        assert_eq!(allocations, 0, "in {completed} exchanges");
    }
}
