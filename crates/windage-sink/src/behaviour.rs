//! How an arm's receivers behave at present, and what that means for a request.

use std::time::Duration;

use tokio::time::Instant;
use windage_model::Backend;

use crate::evenly::Evenly;
use crate::exchange::Refusal;

/// The backend's behaviour and when it began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Behaviour {
    pub(crate) backend: Backend,
    since: Instant,
}

impl Default for Behaviour {
    fn default() -> Self {
        Behaviour::of(Backend::Ok)
    }
}

impl Behaviour {
    /// A behaviour that begins now.
    pub(crate) fn of(backend: Backend) -> Behaviour {
        Behaviour {
            backend,
            since: Instant::now(),
        }
    }

    /// Until when no socket listens; `None` when one does.
    pub(crate) fn down(&self) -> Option<Until> {
        match self.backend {
            Backend::Down { lasts } => self.until(lasts),
            _ => None,
        }
    }

    /// Until when no answer is sent; `None` when answers are sent.
    pub(crate) fn stalled(&self) -> Option<Until> {
        match self.backend {
            Backend::Stall { lasts } => self.until(lasts),
            _ => None,
        }
    }

    fn until(&self, lasts: Option<Duration>) -> Option<Until> {
        let Some(lasts) = lasts else {
            return Some(Until::Changed);
        };
        let end = self.since + lasts;
        (Instant::now() < end).then_some(Until::Then(end))
    }
}

/// When a condition ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// When the behaviour is changed.
    Changed,
    /// At this time, or earlier if the behaviour is changed.
    Then(Instant),
}

impl Until {
    /// Waits for the time, forever if there is none.
    pub(crate) async fn reached(self) {
        match self {
            Until::Changed => std::future::pending().await,
            Until::Then(end) => tokio::time::sleep_until(end).await,
        }
    }
}

/// What happens to a complete, valid request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Turn {
    /// It is accepted, and answered after a wait.
    Accept(Wait),
    /// It is refused.
    Refuse(Refusal),
    /// It is refused, and its connection reset.
    Reset,
}

/// What delays an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    No,
    For(Duration),
    /// Until the backend's stall ends.
    Stall,
}

/// Decides which requests a share applies to. It is deterministic: shares hold over any number of
/// requests, and times are spread evenly.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turns {
    rejected: Evenly,
    requests: u32,
}

impl Turns {
    /// How the next request is treated.
    pub(crate) fn next(&mut self, backend: Backend) -> Turn {
        match backend {
            Backend::Slow { from, to } => {
                let time = from + (to - from).mul_f64(self.fraction());
                Turn::Accept(Wait::For(time))
            }
            Backend::Stall { .. } => Turn::Accept(Wait::Stall),
            Backend::Reject {
                status,
                share,
                retry_after,
            } if self.rejected.takes(share) => Turn::Refuse(Refusal::Backend {
                status,
                retry_after,
            }),
            Backend::Reset => Turn::Reset,
            Backend::Ok
            | Backend::Partial { .. }
            | Backend::Down { .. }
            | Backend::Reject { .. } => Turn::Accept(Wait::No),
        }
    }

    /// Where the refused share of a partial success begins within a request. It varies, so that the
    /// share holds whatever the size of requests.
    pub(crate) fn within_request(&mut self) -> Evenly {
        Evenly::from(self.fraction())
    }

    /// The additive recurrence of the golden ratio, which fills the unit interval as evenly as any
    /// sequence does (Weyl, 1916).
    fn fraction(&mut self) -> f64 {
        const GOLDEN: f64 = 0.618_033_988_749_895;
        self.requests = self.requests.wrapping_add(1);
        (f64::from(self.requests) * GOLDEN).fract()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_exact_and_times_within_range() {
        let mut turns = Turns::default();
        let reject: Backend = "reject 429 30% retry 2s".parse().unwrap();
        let refused = (0..100)
            .filter(|_| matches!(turns.next(reject), Turn::Refuse(_)))
            .count();
        assert_eq!(refused, 30);
        let slow: Backend = "slow 50ms..150ms".parse().unwrap();
        let mut sum = Duration::ZERO;
        for _ in 0..1000 {
            let Turn::Accept(Wait::For(after)) = turns.next(slow) else {
                panic!("a slow backend accepts");
            };
            assert!((50..=150).contains(&after.as_millis()), "{after:?}");
            sum += after;
        }
        let mean_s = sum.as_secs_f64() / 1000.0;
        assert!((0.099..0.101).contains(&mean_s), "{mean_s}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_expired_time_is_no_condition() {
        let down = Behaviour::of("down 5s".parse().unwrap());
        assert!(matches!(down.down(), Some(Until::Then(_))));
        assert_eq!(down.stalled(), None);
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(down.down(), None, "it is up again");
        let stalled = Behaviour::of(Backend::Stall { lasts: None });
        assert_eq!(stalled.stalled(), Some(Until::Changed));
    }
}
