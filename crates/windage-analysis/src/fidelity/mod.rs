//! Delivered against expected telemetry: how much came, what became of the rest, how it came.

mod arrival;
mod counts;
mod curve;
mod in_windows;
mod loss_warning;
mod of_arm;
mod reasons;

use std::fmt;

use windage_model::{Backend, Interval};
use windage_record::{DeliveredByProtocol, DeliveredSource, ExportDelay};

pub use counts::DeliveredCounts;
pub use curve::FidelityPoint;
pub(crate) use curve::curve;
pub(crate) use in_windows::SpansInWindows;
pub(crate) use loss_warning::{unexpected_telemetry, warning};
use of_arm::by_chance;
pub(crate) use of_arm::of_arm;

/// What telemetry is counted in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FidelityUnit {
    /// Traces: delivered spans without a parent.
    Traces,
    /// Spans.
    #[default]
    Spans,
    /// Whatever the subject counts when it says what it dropped.
    Items,
}

impl FidelityUnit {
    /// The word used in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            FidelityUnit::Traces => "traces",
            FidelityUnit::Spans => "spans",
            FidelityUnit::Items => "items",
        }
    }
}

/// Delivered against expected telemetry, from launch to the end of the last flush.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fidelity {
    /// What is counted.
    pub of: FidelityUnit,
    /// What the plan expects for the requests that were completed; `None` without `expect`.
    pub expected: Option<f64>,
    /// Standard deviation of `expected` by the chance of sampling; `None` without `expect`.
    pub sampling_sd: Option<f64>,
    /// What arrived.
    pub delivered: u64,
    /// expected − delivered; negative when more arrived than expected.
    pub lost: Option<f64>,
    /// Whether the loss is beyond three deviations of sampling.
    pub beyond_sampling: Option<bool>,
    /// The same for events on spans; `None` where none came nor was expected.
    pub events: Option<EventCounts>,
    /// Bytes of a span, uncompressed; `None` when no span arrived.
    pub bytes_per_span: Option<f64>,
    /// Bytes of a span as they were on the wire; `None` when no span arrived.
    pub wire_bytes_per_span: Option<f64>,
    /// How the receiver behaved, as the plan wanted it.
    pub backend: Backend,
    /// The same for what ended in measured windows; `None` when that was not counted.
    pub in_windows: Option<InWindows>,
    /// What became of what was lost, as far as it can be told.
    pub by_reason: Vec<Loss>,
    /// By how much the subject told of more drops than were lost, in items; `None` when it
    /// didn't.
    pub told_beyond_lost: Option<f64>,
    /// Expected and delivered of each launch; none without `expect`.
    pub launches: Vec<FidelityOfLaunch>,
    /// Everything that was counted.
    pub counts: DeliveredCounts,
    /// How whole traces came; `None` when that was not looked at.
    pub traces: Option<TraceShare>,
    /// From the end of spans to their arrival: of each quantile the median over launches, of the
    /// longest the longest; `None` when no span said when it ended.
    pub export_delay: Option<ExportDelay>,
    /// What came by which protocol.
    pub by_protocol: Vec<DeliveredByProtocol>,
    /// What came from which service and scope, those that sent most first.
    pub by_source: Vec<DeliveredSource>,
    /// Services and scopes that are not in `by_source`, because there are so many.
    pub sources_left_out: usize,
}

impl Fidelity {
    /// Whether the receiver was ill on purpose: then a loss is what was to be found out.
    #[must_use]
    pub fn is_backend_ill(&self) -> bool {
        self.backend != Backend::Ok
    }

    /// What was lost of telemetry whose cost was measured, if more than sampling explains: of the
    /// measured windows, or of the whole run where windows were not told apart. A loss elsewhere,
    /// such as in a warm-up under full load, makes no cost look smaller. Windows alone say nothing:
    /// a span may end on the other side of an edge.
    #[must_use]
    pub fn measured_loss(&self) -> Option<MeasuredLoss> {
        let (whole, lost_in_all) = self.expected.zip(self.lost)?;
        if self.beyond_sampling != Some(true) {
            return None;
        }
        let in_windows = self.in_windows.and_then(|w| w.expected.zip(w.lost));
        let (expected, lost) = in_windows.unwrap_or((whole, lost_in_all));
        // The chance of sampling grows with the root of how many there are.
        let part = if whole > 0.0 { expected / whole } else { 0.0 };
        let sampling_sd = self.sampling_sd? * part.sqrt();
        (lost > by_chance(sampling_sd)).then_some(MeasuredLoss { expected, lost })
    }
}

/// Expected and delivered telemetry of one launch, in the unit of the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FidelityOfLaunch {
    /// What the plan expects for the requests that were completed.
    pub expected: f64,
    /// What arrived.
    pub delivered: u64,
}

/// Expected and delivered events on spans.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EventCounts {
    /// What the plan expects for the requests that were completed; `None` without `expect`.
    pub expected: Option<f64>,
    /// What arrived.
    pub delivered: u64,
    /// expected − delivered; negative when more arrived than expected.
    pub lost: Option<f64>,
}

/// A loss beyond sampling, in the unit of the whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredLoss {
    /// What was expected.
    pub expected: f64,
    /// What of it was lost.
    pub lost: f64,
}

impl MeasuredLoss {
    /// Whether it is more than such a share of what was expected.
    #[must_use]
    pub fn is_above(self, share: f64) -> bool {
        self.lost > share * self.expected
    }
}

/// Expected and delivered, in the unit of the whole, of the measured windows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InWindows {
    /// What the plan expects for the requests that were completed there; `None` without
    /// `expect`.
    pub expected: Option<f64>,
    /// What ended there and arrived, whenever it did.
    pub delivered: u64,
    /// expected − delivered.
    pub lost: Option<f64>,
    /// Requests that were completed there.
    pub completed_requests: u64,
    /// Spans that ended there and arrived.
    pub spans: u64,
}

/// A part of what was lost.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// What became of it.
    pub reason: LossReason,
    /// How much.
    pub lost: f64,
    /// What is counted.
    pub of: FidelityUnit,
}

/// What became of lost telemetry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LossReason {
    /// The subject said that it dropped it, for this reason, in the plan's words.
    Reported(String),
    /// The backend refused it, and it came not again or was refused again.
    Refused,
    /// Nobody can say.
    Unexplained,
}

impl LossReason {
    /// The word used in files.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            LossReason::Reported(_) => "reported",
            LossReason::Refused => "refused",
            LossReason::Unexplained => "unexplained",
        }
    }
}

impl fmt::Display for LossReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LossReason::Reported(reason) => reason,
            LossReason::Refused => "refused by the backend",
            LossReason::Unexplained => "not explained",
        })
    }
}

/// What a sample of traces says of all.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceShare {
    /// One trace in so many was looked at, in the launch in which the fewest were.
    pub one_in: u64,
    /// Traces in the sample.
    pub sampled: u64,
    /// The share of them that came whole: with a root, and with every parent that a span names;
    /// `None` without any.
    pub complete: Option<Interval>,
    /// Different spans in the sample.
    pub spans: u64,
    /// Spans of the sample that came again, each time counted.
    pub duplicates: u64,
}
