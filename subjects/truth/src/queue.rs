//! What a client has to measure: response times by a queue computation.
//!
//! # The computation
//!
//! A client has `c` connections, and on each of them one request at a time. Its schedule wants
//! the `i`-th request to start at `t[i]`, with `t` never decreasing. The server answers per request
//! that came at `x` at [`answered(x)`](Answering::answered_ns), which never decreases in `x`.
//!
//! - Starts wait for a connection in order: nobody overtakes.
//! - `free[i]` is when a connection comes free for start `i`: at once for the first `c` of them,
//!   and from then on the earliest end of the exchanges before it that nobody has taken over yet.
//! - `sent[i] = max(t[i], free[i])`: a request goes out at its start if a connection is free, and
//!   else as soon as one is.
//! - `answered[i] = answered(sent[i])`, since the way between the two takes no time here.
//! - The response time is `answered[i] − t[i]`. It counts from the intended start, so that what
//!   waits behind a stalled server has waited.
//!
//! `sent` and `answered` never decrease either, so the connections come free in the order in which
//! they were used: `free[i] = answered[i − c]`. That is all there is to compute.
//!
//! What a real client measures is longer by the way there and back and by its own lateness, some
//! tens of microseconds on loopback.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use crate::answering::Answering;

/// The response time of each start, in the order of the starts. All times are nanoseconds on one
/// clock; starts must never decrease.
///
/// ```
/// use std::{num::NonZeroUsize, time::Duration};
/// use truth::{Answering, queue::response_times_ns};
///
/// let answering = Answering::constant(Duration::from_nanos(10))?;
/// let one = NonZeroUsize::MIN;
/// assert_eq!(response_times_ns([0, 4, 50], one, &answering), [10, 16, 10]);
/// # Ok::<(), truth::InvalidTimes>(())
/// ```
#[must_use]
pub fn response_times_ns(
    starts_ns: impl IntoIterator<Item = u64>,
    connections: NonZeroUsize,
    answering: &Answering,
) -> Vec<u64> {
    let mut busy_until_ns = VecDeque::new();
    let mut response_time_ns = |start_ns: u64| {
        let free_ns = if busy_until_ns.len() < connections.get() {
            0
        } else {
            busy_until_ns.pop_front().unwrap_or(0)
        };
        let answered_ns = answering.answered_ns(start_ns.max(free_ns));
        busy_until_ns.push_back(answered_ns);
        answered_ns - start_ns
    };
    starts_ns.into_iter().map(&mut response_time_ns).collect()
}

/// The smallest of these times that at least `share` of them do not exceed (nearest rank, as
/// HdrHistogram has it). None where there are no times.
#[must_use]
pub fn percentile_ns(times_ns: &[u64], share: f64) -> Option<u64> {
    let mut sorted_ns = times_ns.to_vec();
    sorted_ns.sort_unstable();
    let rank = (share * sorted_ns.len() as f64).ceil() as usize;
    let last = sorted_ns.len().checked_sub(1)?;
    sorted_ns.get(rank.saturating_sub(1).min(last)).copied()
}

#[cfg(test)]
mod tests;
