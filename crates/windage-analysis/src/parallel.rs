//! Runs the same work for every arm, on all cores.

use std::sync::atomic::{AtomicU16, Ordering};
use std::thread::{self, ScopedJoinHandle};

use windage_model::ArmIndex;

/// The results of `of` for each arm, in their order.
///
/// The work differs between arms, most of all for the baseline: each core takes the next arm when
/// it is done with its last.
pub(crate) fn of_each_arm<T: Send>(arms: u16, of: impl Fn(ArmIndex) -> T + Sync) -> Vec<T> {
    let next = AtomicU16::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            // Each worker counts one past the last arm once; no run has nearly enough arms to
            // overflow.
            let arm = next.fetch_add(1, Ordering::Relaxed);
            if arm >= arms {
                return done;
            }
            done.push((arm, of(ArmIndex(arm))));
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut done = thread::scope(|scope| {
        let others = 1..cores.min(usize::from(arms));
        let others: Vec<_> = others.map(|_| scope.spawn(work)).collect();
        let mut done = work();
        done.extend(others.into_iter().flat_map(joined));
        done
    });
    done.sort_by_key(|(arm, _)| *arm);
    done.into_iter().map(|(_, of_arm)| of_arm).collect()
}

/// A thread's result; panics if the thread panicked.
pub(crate) fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    let result = thread.join();
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_arm_is_processed_once_in_order() {
        for arms in [0, 1, 2, 100] {
            let expected: Vec<ArmIndex> = (0..arms).map(ArmIndex).collect();
            assert_eq!(of_each_arm(arms, |arm| arm), expected);
        }
    }
}
