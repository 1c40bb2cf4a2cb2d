//! Requests allocate the same however many spans they carry.

#![expect(clippy::unwrap_used, reason = "shared test code is test code as well")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};

use windage_sink::{Protocol, Sink, SinkOptions};

use crate::sender::bodies::{batch, gzip};
use crate::sender::http::{connect, exchange, post_gzip, post_traces};
use crate::sender::{FIRST, address};

#[path = "../sender/mod.rs"]
mod sender;

/// Counts allocations of all threads except the sender's.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static IS_SENDER: Cell<bool> = const { Cell::new(false) };
}

fn count() {
    // A thread that is ending is not the sink's.
    if IS_SENDER.try_with(Cell::get) == Ok(false) {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call is passed on unchanged to the system's allocator. The counter is atomic and
// the thread-local a plain cell without a destructor, so counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: guaranteed by the caller.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// A body in more pieces needs a few more allocations: growing buffers of hyper, and a growing
/// vector for a span that straddles two pieces.
const PIECES: u64 = 16;

/// The sink's allocations for each of these requests, after warm-up.
fn allocations(stream: &mut TcpStream, request: &[u8]) -> Vec<u64> {
    let mut send = || assert_eq!(exchange(stream, request).unwrap().status, 200);
    (0..5).for_each(|_| send());
    let mut each: Vec<u64> = (0..20)
        .map(|_| {
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            send();
            ALLOCATIONS.load(Ordering::Relaxed) - before
        })
        .collect();
    each.sort_unstable();
    each
}

/// Makes a request of a body.
type Way = fn(&[u8]) -> Vec<u8>;

#[test]
fn requests_of_any_size_cost_the_same() {
    IS_SENDER.set(true);
    let sink = Sink::start(1, &[Protocol::OtlpHttp], SinkOptions::default()).unwrap();
    let mut stream = connect(address(&sink, FIRST, Protocol::OtlpHttp));
    let (small, large) = (batch(1, 512), batch(1, 4096));
    let ways: [(&str, Way); 2] = [
        ("plain", post_traces),
        ("gzip", |body| post_gzip(&gzip(body))),
    ];
    for (name, post) in ways {
        let small = allocations(&mut stream, &post(&small));
        let large = allocations(&mut stream, &post(&large));
        let (least, most) = (small[0], large[large.len() - 1]);
        assert!(most <= least + PIECES, "{name}: {small:?}, {large:?}");
    }
}
