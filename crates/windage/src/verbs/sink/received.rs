//! What arrived.

use std::time::Duration;

use windage_sink::Delivery;

/// What arrived, and over how long.
pub(super) struct Received {
    pub(super) delivery: Delivery,
    pub(super) cpu_ns: u64,
    pub(super) lasted: Duration,
    /// Whether span contents were examined.
    pub(super) is_detailed: bool,
}
