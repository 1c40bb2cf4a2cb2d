//! Memory lent for data that has to be held, limited for each arm.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::exchange::Refusal;

/// What one arm's requests may hold together.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    free_bytes: Arc<AtomicUsize>,
    all_bytes: usize,
}

impl Budget {
    pub(crate) fn new(bytes: usize) -> Budget {
        Budget {
            free_bytes: Arc::new(AtomicUsize::new(bytes)),
            all_bytes: bytes,
        }
    }

    /// Whether nothing is lent.
    pub(crate) fn is_whole(&self) -> bool {
        self.free_bytes.load(Ordering::Relaxed) == self.all_bytes
    }

    /// A loan of no memory yet.
    pub(crate) fn room(&self) -> Room {
        Room {
            of: self.clone(),
            lent_bytes: 0,
        }
    }

    fn take(&self, bytes: usize) -> Result<(), Refusal> {
        let less = |free: usize| free.checked_sub(bytes);
        self.free_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .map(drop)
            .map_err(|_| Refusal::NoRoom)
    }
}

/// Memory lent to one request, returned when dropped.
#[derive(Debug)]
pub(crate) struct Room {
    of: Budget,
    lent_bytes: usize,
}

impl Room {
    /// Grows the loan to `bytes` in all.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), Refusal> {
        let missing = bytes.saturating_sub(self.lent_bytes);
        if missing > 0 {
            self.of.take(missing)?;
            self.lent_bytes = bytes;
        }
        Ok(())
    }

    /// Grows the loan for optional data, only while half of the budget is free.
    pub(crate) fn grow_by_if_ample(&mut self, bytes: usize) -> Result<(), Refusal> {
        let free = self.of.free_bytes.load(Ordering::Relaxed);
        if bytes > 0 && free < self.of.all_bytes / 2 {
            return Err(Refusal::NoRoom);
        }
        self.grow_by(bytes)
    }

    /// Grows the loan by `bytes`.
    pub(crate) fn grow_by(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.grow_to(self.lent_bytes.saturating_add(bytes))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.of
            .free_bytes
            .fetch_add(self.lent_bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_runs_out_and_is_returned() {
        let budget = Budget::new(100);
        let mut first = budget.room();
        assert_eq!(first.grow_to(60), Ok(()));
        assert_eq!(first.grow_to(10), Ok(()), "it has that much already");
        let mut second = budget.room();
        assert_eq!(second.grow_to(41), Err(Refusal::NoRoom));
        assert_eq!(second.grow_to(40), Ok(()));
        assert_eq!(first.grow_by(1), Err(Refusal::NoRoom));
        assert_eq!(first.grow_by_if_ample(0), Ok(()), "nothing more");
        drop(second);
        assert_eq!(first.grow_by(40), Ok(()));
        drop(first);
        assert_eq!(budget.room().grow_to(100), Ok(()));
    }
}
