//! One arm's account: what its receivers got, and how each request is settled.

use std::collections::{HashMap, VecDeque};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use nix::time::{ClockId, clock_gettime};
use tokio::sync::watch;
use windage_model::Backend;

use crate::behaviour::{Behaviour, Turns};
use crate::delay::{Delay, DelayHistogram};
use crate::exchange::Refusal;
use crate::receipt::{Detail, Receipt};
use crate::room::Budget;
use crate::sources::{Source, SourceTally};
use crate::stretches::{Boundaries, Stretch, StretchTally};
use crate::traces::{TraceSample, TraceTable};
use crate::{Counts, Protocol};

/// How many unsuccessful requests are remembered, so that retries are recognised.
const MAX_UNANSWERED: usize = 4096;

/// One arm's receivers: what they got, and how they behave.
#[derive(Debug)]
pub(crate) struct Account {
    tallies: Mutex<Tallies>,
    pub(crate) budget: Budget,
    pub(crate) behaviour: watch::Sender<Behaviour>,
    detail: Detail,
}

#[derive(Debug, Default)]
struct Tallies {
    counts: [Counts; Protocol::ALL.len()],
    taken: [Counts; Protocol::ALL.len()],
    by_source: SourceTally,
    by_stretch: StretchTally,
    boundaries: Boundaries,
    delays: DelayHistogram,
    traces: TraceTable,
    last_arrival: Option<Arrival>,
    unanswered: Unanswered,
    turns: Turns,
}

/// When something arrived, by both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Wall clock, in nanoseconds since 1970.
    pub unix_ns: u64,
    /// Monotonic clock, in nanoseconds since boot.
    pub monotonic_ns: u64,
}

/// Everything that an arm's receivers got since the last reading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delivery {
    /// Counts by protocol; protocols without any are left out.
    pub by_protocol: Vec<(Protocol, Counts)>,
    /// By service and scope, most items first.
    pub sources: Vec<Source>,
    /// Spans by the stretch in which they ended.
    pub stretches: Vec<Stretch>,
    /// From the end of spans to their arrival; `None` when no span carried an end time.
    pub delay: Option<Delay>,
    /// What a sample of traces shows.
    pub traces: TraceSample,
    /// When the last accepted request arrived.
    pub last_arrival: Option<Arrival>,
}

impl Delivery {
    /// All protocols together.
    #[must_use]
    pub fn total(&self) -> Counts {
        sum(self.by_protocol.iter().map(|(_, counts)| counts))
    }
}

fn sum<'a>(counts: impl IntoIterator<Item = &'a Counts>) -> Counts {
    counts
        .into_iter()
        .fold(Counts::default(), |sum, more| sum.plus(more))
}

/// An accepted request whose answer has not been sent yet. If it is dropped before that, with its
/// connection or its listener, the body is remembered, so that a retry is recognised.
#[derive(Debug)]
pub(crate) struct Ticket {
    account: Arc<Account>,
    body: Option<BodyKey>,
    is_pending: bool,
}

impl Ticket {
    /// The answer will not be sent at once, and the sender may disconnect and retry before that is
    /// noticed: remember the body from now on.
    pub(crate) fn pend(&mut self) {
        if let (false, Some(body)) = (self.is_pending, self.body) {
            self.is_pending = true;
            self.account.lock().unanswered.remember(body, true);
        }
    }

    /// The answer has been sent.
    pub(crate) fn answered(mut self) {
        if let (Some(body), true) = (self.body.take(), self.is_pending) {
            self.account.lock().unanswered.forget(body);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(body) = self.body {
            self.account.lock().unanswered.remember(body, true);
        }
    }
}

/// A body, by its hash and length.
type BodyKey = (u64, u64);

impl Account {
    pub(crate) fn new(detail: Detail, budget: Budget) -> Account {
        Account {
            tallies: Mutex::default(),
            budget,
            behaviour: watch::Sender::new(Behaviour::default()),
            detail,
        }
    }

    /// A receipt for a new request.
    pub(crate) fn open(&self) -> Box<Receipt> {
        let behaviour = self.behaviour.borrow().backend;
        let mut tallies = self.lock();
        let mut receipt = Box::<Receipt>::default();
        receipt.detail = self.detail;
        if self.detail == Detail::Full {
            receipt.sampling = tallies.traces.sampling();
            receipt.boundaries = tallies.boundaries.clone();
            receipt.arrived_unix_ns = unix_ns();
        }
        if let Backend::Partial { share } = behaviour {
            receipt.partial = share;
            receipt.refused = tallies.turns.within_request();
        }
        receipt
    }

    /// Counts bytes read from a connection.
    pub(crate) fn wire_bytes(&self, protocol: Protocol, bytes: usize) {
        self.lock().counts[protocol.index()].wire_bytes += bytes as u64;
    }

    /// Counts a connection that was closed because there were too many.
    pub(crate) fn refused_connection(&self, protocol: Protocol) {
        self.lock().counts[protocol.index()].refused_connections += 1;
    }

    /// Counts a request, before its sender gets the answer.
    pub(crate) fn accept(self: &Arc<Self>, protocol: Protocol, receipt: &Receipt) -> Ticket {
        let body = key(receipt);
        let mut tallies = self.lock();
        let more = tallies.accept(receipt, body);
        tallies.settled(protocol, more);
        Ticket {
            account: Arc::clone(self),
            body,
            is_pending: false,
        }
    }

    /// Counts a valid request that the backend's behaviour refuses.
    pub(crate) fn refuse(&self, protocol: Protocol, receipt: &Receipt) {
        let mut tallies = self.lock();
        if let Some(body) = key(receipt) {
            tallies.unanswered.remember(body, false);
        }
        tallies.settled(protocol, refused(&receipt.counts));
    }

    /// Counts a request that was rejected or malformed.
    pub(crate) fn not_taken(&self, protocol: Protocol, refusal: &Refusal) {
        self.lock().settled(protocol, not_taken(refusal));
    }

    /// How the current request is treated under the present behaviour.
    pub(crate) fn turn(&self) -> crate::behaviour::Turn {
        let behaviour = *self.behaviour.borrow();
        self.lock().turns.next(behaviour.backend)
    }

    /// All protocols together, since the start.
    pub(crate) fn counts(&self) -> Counts {
        sum(&self.lock().counts)
    }

    /// By protocol, since the start, including protocols without any.
    pub(crate) fn by_protocol(&self) -> [(Protocol, Counts); Protocol::ALL.len()] {
        let counts = self.lock().counts;
        Protocol::ALL.map(|protocol| (protocol, counts[protocol.index()]))
    }

    /// Spans that end from now on belong to the stretch `label`.
    pub(crate) fn begin_stretch(&self, label: u64) {
        self.lock().boundaries.begin(label, unix_ns());
    }

    /// Everything since the last call. Stretches start afresh as well.
    pub(crate) fn take(&self) -> Delivery {
        let mut tallies = self.lock();
        let tallies = &mut *tallies;
        let since = |protocol: Protocol| {
            let at = protocol.index();
            (protocol, tallies.counts[at].since(&tallies.taken[at]))
        };
        let by_protocol = Protocol::ALL
            .into_iter()
            .map(since)
            .filter(|(_, counts)| *counts != Counts::default())
            .collect();
        tallies.taken = tallies.counts;
        tallies.boundaries.clear();
        Delivery {
            by_protocol,
            sources: mem::take(&mut tallies.by_source).into_sources(),
            stretches: mem::take(&mut tallies.by_stretch).into_stretches(),
            delay: mem::take(&mut tallies.delays).summary(),
            traces: mem::take(&mut tallies.traces).summary(),
            last_arrival: tallies.last_arrival.take(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Tallies> {
        // The lock guards additions only, so that a panic elsewhere leaves nothing that would
        // matter more than the panic itself.
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tallies {
    /// Adds everything that an accepted request carried, and returns what its protocol's counts
    /// grow by.
    fn accept(&mut self, receipt: &Receipt, body: Option<BodyKey>) -> Counts {
        let came_before = body.and_then(|body| self.unanswered.forget(body));
        if came_before == Some(true) {
            return Counts {
                retried_requests: 1,
                repeated_spans: receipt.counts.spans,
                ..Counts::default()
            };
        }
        if receipt.detail == Detail::Full {
            self.by_source.merge(&receipt.by_source);
            self.by_stretch.merge(&receipt.by_stretch);
            self.delays.add(&receipt.delays);
            self.traces.add(&receipt.sampled, receipt.sampling);
            self.last_arrival = Some(Arrival {
                unix_ns: receipt.arrived_unix_ns,
                monotonic_ns: monotonic_ns(),
            });
        }
        Counts {
            retried_requests: u64::from(came_before.is_some()),
            ..receipt.counts
        }
    }

    /// Counts one settled request.
    fn settled(&mut self, protocol: Protocol, more: Counts) {
        let counts = &mut self.counts[protocol.index()];
        *counts = counts.plus(&Counts {
            requests: 1,
            ..more
        });
    }
}

fn refused(carried: &Counts) -> Counts {
    Counts {
        refused: 1,
        refused_spans: carried.spans + carried.refused_spans,
        refused_others: carried.metric_points + carried.log_records + carried.refused_others,
        ..Counts::default()
    }
}

fn not_taken(refusal: &Refusal) -> Counts {
    let malformed = refusal.is_malformed();
    Counts {
        malformed: u64::from(malformed),
        rejected: u64::from(!malformed),
        ..Counts::default()
    }
}

/// The key under which a request is remembered. There is none for requests without a body, for side
/// requests, which repeat the same bytes, and when only counts are kept.
fn key(receipt: &Receipt) -> Option<BodyKey> {
    let counts = &receipt.counts;
    let has_hash =
        receipt.detail == Detail::Full && counts.body_bytes > 0 && counts.side_requests == 0;
    has_hash.then(|| (receipt.hash.digest(), receipt.counts.body_bytes))
}

/// Bodies whose senders had no success. The oldest are dropped first.
#[derive(Debug, Default)]
struct Unanswered {
    /// Whether what they carried was counted.
    counted: HashMap<BodyKey, bool>,
    in_order: VecDeque<BodyKey>,
}

impl Unanswered {
    fn remember(&mut self, body: BodyKey, counted: bool) {
        match self.counted.get_mut(&body) {
            // Once counted, a body stays counted, however often it is refused later.
            Some(known) => *known |= counted,
            None => {
                if self.in_order.len() >= MAX_UNANSWERED
                    && let Some(oldest) = self.in_order.pop_front()
                {
                    self.counted.remove(&oldest);
                }
                self.counted.insert(body, counted);
                self.in_order.push_back(body);
            }
        }
    }

    /// Forgets a body. Returns whether it was counted, or `None` if it was unknown.
    fn forget(&mut self, body: BodyKey) -> Option<bool> {
        if self.counted.is_empty() {
            return None;
        }
        // Its place in the order stays: searching for it would cost more than a failed look-up
        // later.
        self.counted.remove(&body)
    }
}

fn unix_ns() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.map_or(0, |d| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
}

fn monotonic_ns() -> u64 {
    let time =
        clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(std::time::Duration::ZERO, Into::into);
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receipt::SpanFacts;

    const HERE: Protocol = Protocol::OtlpHttp;

    fn account() -> Arc<Account> {
        Arc::new(Account::new(Detail::Full, Budget::new(1 << 20)))
    }

    fn request(account: &Account, body: &[u8], spans: u64) -> Box<Receipt> {
        let mut receipt = account.open();
        receipt.body(body);
        receipt.source(b"shop", b"http");
        for i in 1..=spans {
            receipt.span(&SpanFacts {
                trace_id: 1,
                span_id: i,
                parent_id: i - 1,
                end_unix_ns: receipt.arrived_unix_ns - 1_000_000,
                ..SpanFacts::default()
            });
        }
        receipt
    }

    #[test]
    fn a_retry_after_a_lost_answer_is_recognised() {
        let account = account();
        let accept = |body: &[u8]| account.accept(HERE, &request(&account, body, 3));
        drop(accept(b"one"));
        drop(accept(b"one"));
        accept(b"one").answered();
        let counts = account.counts();
        assert_eq!((counts.requests, counts.spans), (3, 3));
        assert_eq!((counts.retried_requests, counts.repeated_spans), (2, 6));
        let mut pending = accept(b"two");
        pending.pend();
        accept(b"two").answered();
        pending.answered();
        let counts = account.counts();
        assert_eq!((counts.spans, counts.repeated_spans), (6, 9));
        // It was answered, so the same body is a new delivery.
        accept(b"one").answered();
        accept(b"two").answered();
        assert_eq!(account.counts().spans, 12);
    }

    #[test]
    fn a_refused_request_counts_once_when_retried() {
        let account = account();
        account.refuse(HERE, &request(&account, b"one", 3));
        let counts = account.counts();
        assert_eq!(
            (counts.spans, counts.refused, counts.refused_spans),
            (0, 1, 3)
        );
        account
            .accept(HERE, &request(&account, b"one", 3))
            .answered();
        let counts = account.counts();
        assert_eq!(
            (counts.spans, counts.retried_requests, counts.repeated_spans),
            (3, 1, 0)
        );
    }

    #[test]
    fn the_list_of_unanswered_bodies_is_bounded() {
        let mut unanswered = Unanswered::default();
        for i in 0..=MAX_UNANSWERED as u64 {
            unanswered.remember((i, 1), i % 2 == 0);
        }
        assert_eq!(unanswered.forget((0, 1)), None, "the oldest was dropped");
        assert_eq!(unanswered.forget((1, 1)), Some(false));
        assert_eq!(unanswered.forget((2, 1)), Some(true));
        assert!(unanswered.in_order.len() <= MAX_UNANSWERED);
    }

    #[test]
    fn a_reading_starts_from_zero() {
        let account = account();
        account.begin_stretch(7);
        let mut receipt = request(&account, b"one", 2);
        let later = unix_ns() + 1_000_000;
        receipt.span(&SpanFacts {
            end_unix_ns: later,
            ..SpanFacts::default()
        });
        account.accept(HERE, &receipt).answered();
        let delivery = account.take();
        assert_eq!(delivery.by_protocol.len(), 1);
        assert_eq!(delivery.by_protocol[0].1.spans, 3);
        assert_eq!(delivery.sources[0].service, "shop");
        assert_eq!(delivery.sources[0].items.spans, 3);
        assert_eq!(
            delivery.stretches,
            [Stretch {
                label: 7,
                spans: 1,
                root_spans: 1
            }],
            "two ended before it began"
        );
        assert_eq!(delivery.delay.unwrap().spans, 3);
        assert_eq!((delivery.traces.traces, delivery.traces.complete), (1, 1));
        assert!(delivery.last_arrival.is_some());
        assert_eq!(
            account.take(),
            Delivery {
                traces: TraceSample {
                    one_in: 1,
                    ..TraceSample::default()
                },
                ..Delivery::default()
            }
        );
        assert_eq!(account.counts().spans, 3, "the totals continue");
    }

    #[test]
    fn a_share_also_holds_for_requests_of_one_item() {
        let account = account();
        let half = Backend::Partial { share: 0.5 };
        account.behaviour.send_replace(Behaviour::of(half));
        for body in 0..1000_u32 {
            let receipt = request(&account, &body.to_le_bytes(), 1);
            account.accept(HERE, &receipt).answered();
        }
        let refused = account.counts().refused_spans;
        assert!((495..=505).contains(&refused), "{refused}");
    }

    #[test]
    fn a_partial_success_refuses_items_evenly() {
        let account = account();
        account
            .behaviour
            .send_replace(Behaviour::of(Backend::Partial { share: 0.25 }));
        account
            .accept(HERE, &request(&account, b"one", 8))
            .answered();
        let counts = account.counts();
        assert_eq!((counts.spans, counts.refused_spans), (6, 2));
    }
}
