//! Records wake-ups: one bit per lane, and one for the connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Wake, Waker};

/// What `h2` woke since the last query. Only one thread uses it, so no ordering is needed; it uses
/// atomics because a waker must be `Sync`.
#[derive(Debug)]
pub(super) struct Wakes {
    words: Box<[AtomicU64]>,
}

impl Wakes {
    /// For `lanes` lanes, plus the connection.
    pub(super) fn new(lanes: usize) -> Wakes {
        Wakes {
            words: (0..=lanes / 64).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// A waker that sets a bit.
    pub(super) fn waker(self: &Arc<Self>, bit: usize) -> Waker {
        Waker::from(Arc::new(WakeBit {
            wakes: Arc::clone(self),
            bit,
        }))
    }

    pub(super) fn wake(&self, bit: usize) {
        self.words[bit / 64].fetch_or(1 << (bit % 64), Ordering::Relaxed);
    }

    pub(super) fn clear(&self, bit: usize) {
        self.words[bit / 64].fetch_and(!(1 << (bit % 64)), Ordering::Relaxed);
    }

    pub(super) fn is_woken(&self, bit: usize) -> bool {
        self.words[bit / 64].load(Ordering::Relaxed) & (1 << (bit % 64)) != 0
    }

    /// Takes all bits except `except` and visits each. Wake-ups during the call are visited next
    /// time.
    pub(super) fn take(&self, except: usize, mut visit: impl FnMut(usize)) {
        for (index, word) in self.words.iter().enumerate() {
            let kept = if index == except / 64 {
                1 << (except % 64)
            } else {
                0
            };
            let mut woken = word.fetch_and(kept, Ordering::Relaxed) & !kept;
            while woken != 0 {
                visit(index * 64 + woken.trailing_zeros() as usize);
                woken &= woken - 1;
            }
        }
    }
}

struct WakeBit {
    wakes: Arc<Wakes>,
    bit: usize,
}

impl Wake for WakeBit {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wakes.wake(self.bit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_waker_sets_its_own_bit_and_the_connections_stays() {
        for lanes in [1, 63, 64, 65, 200] {
            let wakes = Arc::new(Wakes::new(lanes));
            let wakers: Vec<Waker> = (0..=lanes).map(|bit| wakes.waker(bit)).collect();
            let mut woken = Vec::new();
            for bit in [0, lanes / 2, lanes - 1, lanes] {
                wakers[bit].wake_by_ref();
            }
            wakes.take(lanes, |bit| woken.push(bit));
            let mut expected = vec![0, lanes / 2, lanes - 1];
            expected.dedup();
            assert_eq!(woken, expected, "{lanes} lanes");
            assert!(wakes.is_woken(lanes));
            wakes.clear(lanes);
            assert!(!wakes.is_woken(lanes));
            wakes.take(lanes, |bit| panic!("{bit} was taken before"));
        }
    }
}
