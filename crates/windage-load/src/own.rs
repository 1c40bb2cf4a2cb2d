//! What the machine did to the generator's own thread: evidence for its lateness.

use std::fs::File;
use std::os::unix::fs::FileExt;

use nix::sys::resource::{UsageWho, getrusage};
use nix::unistd::{Pid, gettid};
use windage_model::Exchanges;

/// A gap between two looks at the clock while the generator polls, too long to be its own work: the
/// core was taken away.
pub const STALL_NS: u64 = 50_000;

/// Reads the calling thread's scheduling counters. Two system calls and no allocation per reading.
#[derive(Debug, Default)]
pub struct OwnThread {
    /// `schedstat` of the thread that read last, kept open.
    schedstat: Option<(Pid, File)>,
}

/// The kernel's counters of one thread since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnTime {
    /// Involuntary context switches; `None` when unreadable.
    pub preemptions: Option<u64>,
    /// Run-queue time (ready to run, waiting for a core), in nanoseconds; `None` when the kernel
    /// does not account for it.
    pub run_queue_ns: Option<u64>,
}

impl OwnThread {
    /// Opens nothing yet.
    #[must_use]
    pub fn new() -> OwnThread {
        OwnThread::default()
    }

    /// The counters of the calling thread.
    pub fn read(&mut self) -> OwnTime {
        let preemptions = getrusage(UsageWho::RUSAGE_THREAD)
            .ok()
            .and_then(|usage| u64::try_from(usage.involuntary_context_switches()).ok());
        OwnTime {
            preemptions,
            run_queue_ns: self.run_queue_ns(),
        }
    }

    fn run_queue_ns(&mut self) -> Option<u64> {
        // The file belongs to the thread that opened it; the engine may have moved since.
        let thread = gettid();
        if self.schedstat.as_ref().is_none_or(|(of, _)| *of != thread) {
            let file = File::open("/proc/thread-self/schedstat").ok()?;
            self.schedstat = Some((thread, file));
        }
        let (_, file) = self.schedstat.as_ref()?;
        let mut text = [0; 96];
        let length = file.read_at(&mut text, 0).ok()?;
        waited_ns(&text[..length])
    }
}

impl OwnTime {
    /// The difference from an earlier reading of the same thread.
    #[must_use]
    pub fn since(&self, earlier: &OwnTime) -> OwnTime {
        let between = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
        OwnTime {
            preemptions: between(self.preemptions, earlier.preemptions),
            run_queue_ns: between(self.run_queue_ns, earlier.run_queue_ns),
        }
    }

    /// Copies these figures into those of a run.
    pub fn note_in(&self, exchanges: &mut Exchanges) {
        exchanges.generator_preemptions = self.preemptions;
        exchanges.generator_run_queue_ns = self.run_queue_ns;
    }
}

/// The second of `schedstat`'s three numbers (Documentation/scheduler/sched-stats.rst).
fn waited_ns(schedstat: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(schedstat).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Time that a polling loop lost: much time passed between two looks at the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// Number of stalls.
    pub count: u64,
    /// The longest, in nanoseconds.
    pub longest_ns: u64,
    /// When the longest began, on the polling clock.
    pub longest_at_ns: u64,
}

impl Stalls {
    /// Two looks at the clock with nothing but polling in between.
    #[inline]
    pub fn looked(&mut self, before_ns: u64, now_ns: u64) {
        if now_ns.saturating_sub(before_ns) > STALL_NS {
            self.count(before_ns, now_ns);
        }
    }

    #[cold]
    fn count(&mut self, before_ns: u64, now_ns: u64) {
        self.count += 1;
        let gap_ns = now_ns - before_ns;
        if gap_ns > self.longest_ns {
            (self.longest_ns, self.longest_at_ns) = (gap_ns, before_ns);
        }
    }

    /// Copies these figures into those of a run that started at `started_ns` on the same clock.
    pub fn note_in(&self, exchanges: &mut Exchanges, started_ns: u64) {
        exchanges.stalls = self.count;
        exchanges.longest_stall_ns = self.longest_ns;
        exchanges.longest_stall_at_ns = self.longest_at_ns.saturating_sub(started_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_is_the_wait() {
        let table: [(&[u8], _, _); 5] = [
            (
                b"812345678 90123 456\n",
                Some(90_123),
                "as the kernel writes it",
            ),
            (b"0 0 0\n", Some(0), "without scheduler statistics"),
            (b"812345678", None, "cut short"),
            (b"1 -2 3\n", None, "not a count"),
            (b"\xff\xfe 2 3", None, "not text"),
        ];
        for (text, expected, why) in table {
            assert_eq!(waited_ns(text), expected, "{why}");
        }
    }

    #[test]
    fn counters_are_those_of_the_reading_thread() {
        let mut own = OwnThread::new();
        let before = own.read();
        let of_another = std::thread::spawn(move || {
            let first = own.read();
            (own.read().since(&first), own)
        });
        let (other, mut own) = of_another.join().unwrap();
        assert!(before.preemptions.is_some());
        assert_eq!(
            other.run_queue_ns.is_some(),
            before.run_queue_ns.is_some(),
            "a thread's counters never go backwards"
        );
        // Back on the first thread, whose counters are its own and never decrease.
        let here = own.read().since(&before);
        assert_eq!(here.run_queue_ns.is_some(), before.run_queue_ns.is_some());
        assert!(here.preemptions.is_some());
    }

    #[test]
    fn unreadable_counters_stay_unknown() {
        let known = OwnTime {
            preemptions: Some(5),
            run_queue_ns: Some(900),
        };
        assert_eq!(known.since(&OwnTime::default()), OwnTime::default());
        let mut exchanges = Exchanges::default();
        let earlier = OwnTime {
            preemptions: Some(3),
            run_queue_ns: None,
        };
        known.since(&earlier).note_in(&mut exchanges);
        assert_eq!(exchanges.generator_preemptions, Some(2));
        assert_eq!(exchanges.generator_run_queue_ns, None);
    }

    #[test]
    fn only_gaps_beyond_a_poll_are_stalls() {
        let mut stalls = Stalls::default();
        // before, after
        for (before_ns, now_ns) in [
            (1_000, 1_000 + STALL_NS),
            (200_000, 300_000),
            (1_000_000, 1_060_000),
            (5, 0),
        ] {
            stalls.looked(before_ns, now_ns);
        }
        assert_eq!((stalls.count, stalls.longest_ns), (2, 100_000));
        let mut exchanges = Exchanges::default();
        stalls.note_in(&mut exchanges, 150_000);
        assert_eq!(
            (exchanges.longest_stall_ns, exchanges.longest_stall_at_ns),
            (100_000, 50_000)
        );
    }
}
