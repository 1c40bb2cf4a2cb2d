//! Histograms gathered while they are recorded, so that no report has to unpack them.

use hdrhistogram::Histogram;
use windage_model::Window;

use crate::{KeptTimes, Manifest};

/// Makes what gathers the histograms of the run of a manifest.
pub type NewGather = fn(&Manifest) -> Box<dyn Gather>;

/// Gathers the histograms of a run from its first window on; what it makes of them is kept in the run
/// directory ([`crate::Kept`]).
pub trait Gather: Send {
    /// A window of the block under way, in the order of measuring, with its times in nanoseconds. It
    /// counts once its block is done.
    fn window(
        &mut self,
        window: &Window,
        response_time: &Histogram<u32>,
        service_time: &Histogram<u32>,
    );

    /// The windows since the last block that was done are a block.
    fn block_done(&mut self);

    /// What there is to keep under each of the run's loads, of response times and of service times;
    /// `None` where it is not worth it.
    fn finish(self: Box<Self>) -> Option<Vec<[KeptTimes; 2]>>;
}
