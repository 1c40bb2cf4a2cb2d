//! Fidelity: telemetry delivered compared with expected, reasons for losses, and how it arrived.

mod arrival;
mod chance;
mod counts;
mod curve;
mod in_windows;
mod loss_warning;
mod lost;
mod of_arm;
mod reasons;

use std::fmt;

use windage_model::{Backend, Interval};
use windage_record::{DeliveredByProtocol, DeliveredSource, ExportDelay};

use chance::{TWO_SIDED, by_chance};
pub use counts::DeliveredCounts;
pub use curve::FidelityPoint;
pub(crate) use curve::curve;
pub(crate) use in_windows::SpansInWindows;
pub(crate) use loss_warning::{unexpected_telemetry, warning};
pub(crate) use lost::lost;
pub(crate) use of_arm::of_arm;

/// The unit in which telemetry is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FidelityUnit {
    /// Traces: delivered spans without a parent.
    Traces,
    /// Spans.
    #[default]
    Spans,
    /// Whatever the subject counts in its own reports of drops.
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

/// Delivered compared with expected telemetry, from launch to the end of the last flush.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fidelity {
    /// The unit.
    pub of: FidelityUnit,
    /// What the plan expects for the completed requests; `None` without `expect`.
    pub expected: Option<f64>,
    /// Standard deviation of `expected` due to random sampling; `None` without `expect`.
    pub sampling_sd: Option<f64>,
    /// What arrived.
    pub delivered: u64,
    /// expected − delivered; negative when more arrived than expected.
    pub lost: Option<f64>,
    /// Whether the loss exceeds three standard deviations of sampling.
    pub beyond_sampling: Option<bool>,
    /// The same for span events; `None` where none arrived or were expected.
    pub events: Option<KindCounts>,
    /// The same for log records.
    pub records: Option<KindCounts>,
    /// The same for points of metrics, where the plan expects any: the least that should arrive, and what
    /// launches lack of it.
    pub points: Option<KindCounts>,
    /// Bytes per span, uncompressed; `None` when no span arrived.
    pub bytes_per_span: Option<f64>,
    /// Bytes per span on the wire; `None` when no span arrived.
    pub wire_bytes_per_span: Option<f64>,
    /// The backend's behaviour, as in the plan.
    pub backend: Backend,
    /// The same for what ended in measured windows; `None` when that was not counted.
    pub in_windows: Option<InWindows>,
    /// What happened to the lost telemetry, as far as is known.
    pub by_reason: Vec<Loss>,
    /// By how many items the subject's reported drops exceed the loss; `None` when they do not.
    pub reported_beyond_lost: Option<f64>,
    /// Expected and delivered of each launch; none without `expect`.
    pub launches: Vec<FidelityOfLaunch>,
    /// All counts.
    pub counts: DeliveredCounts,
    /// How many traces are complete; `None` when no traces were sampled.
    pub traces: Option<TraceShare>,
    /// From the end of a span to its arrival: the median over launches of each quantile, and the
    /// overall maximum; `None` when no span had an end time.
    pub export_delay: Option<ExportDelay>,
    /// What arrived, by protocol.
    pub by_protocol: Vec<DeliveredByProtocol>,
    /// What arrived, by service and scope, largest senders first.
    pub by_source: Vec<DeliveredSource>,
    /// Services and scopes that are not in `by_source`, because there are too many.
    pub sources_left_out: usize,
}

impl Fidelity {
    /// Whether the backend was faulty on purpose: then a loss is a result, not a problem.
    #[must_use]
    pub fn is_backend_faulty(&self) -> bool {
        self.backend != Backend::Ok
    }

    /// How far sampling alone moves the delivered count from the expected one, either way (95 %);
    /// `None` where it is not left to chance what a request sends.
    #[must_use]
    pub fn chance(&self) -> Option<f64> {
        let sd = self.sampling_sd.filter(|sd| *sd > 0.0)?;
        Some(TWO_SIDED * sd)
    }

    /// Whether what is missing, or too much, is within the chance of sampling.
    #[must_use]
    pub fn is_within_chance(&self) -> bool {
        let lost = self.lost.zip(self.chance());
        lost.is_some_and(|(lost, chance)| lost.abs() <= chance)
    }

    /// The loss of telemetry whose cost was measured, if it exceeds sampling: in measured windows,
    /// or in the whole run where windows were not counted separately. A loss elsewhere, such as in
    /// a warm-up under full load, makes no cost look smaller. The windows' count alone is not
    /// enough: a span may end on the other side of a window's edge.
    #[must_use]
    pub fn measured_loss(&self) -> Option<MeasuredLoss> {
        let (whole, lost_in_all) = self.expected.zip(self.lost)?;
        if self.beyond_sampling != Some(true) {
            return None;
        }
        let in_windows = self.in_windows.and_then(|w| w.expected.zip(w.lost));
        let (expected, lost) = in_windows.unwrap_or((whole, lost_in_all));
        // The standard deviation of sampling grows with the square root of the count.
        let part = if whole > 0.0 { expected / whole } else { 0.0 };
        let sampling_sd = self.sampling_sd? * part.sqrt();
        (lost > by_chance(sampling_sd)).then_some(MeasuredLoss { expected, lost })
    }
}

/// Expected and delivered telemetry of one launch, in the unit of the total.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FidelityOfLaunch {
    /// What the plan expects for the completed requests.
    pub expected: f64,
    /// What arrived.
    pub delivered: u64,
}

/// Expected and delivered telemetry of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KindCounts {
    /// What the plan expects for the completed requests; `None` without `expect`.
    pub expected: Option<f64>,
    /// What arrived.
    pub delivered: u64,
    /// expected − delivered; negative when more arrived than expected.
    pub lost: Option<f64>,
}

/// A loss beyond sampling, in the arm's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredLoss {
    /// What was expected.
    pub expected: f64,
    /// The lost part of it.
    pub lost: f64,
}

impl MeasuredLoss {
    /// Whether the loss exceeds this share of what was expected.
    #[must_use]
    pub fn is_above(self, share: f64) -> bool {
        self.lost > share * self.expected
    }
}

/// Expected and delivered telemetry of the measured windows, in the arm's unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InWindows {
    /// What the plan expects for the requests completed there; `None` without `expect`.
    pub expected: Option<f64>,
    /// What ended there and arrived, whenever it arrived.
    pub delivered: u64,
    /// expected − delivered.
    pub lost: Option<f64>,
    /// Requests completed there.
    pub completed_requests: u64,
    /// Spans that ended there and arrived.
    pub spans: u64,
}

/// A part of what was lost.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// What happened to it.
    pub reason: LossReason,
    /// How much.
    pub lost: f64,
    /// What is counted.
    pub of: FidelityUnit,
}

/// What happened to lost telemetry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LossReason {
    /// The subject reported dropping it, for this reason, in the plan's words.
    Reported(String),
    /// The backend refused it, and it was not sent again or was refused again.
    Refused,
    /// Unknown.
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

/// What a sample of traces shows.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceShare {
    /// One of so many traces was sampled, in the launch with the smallest fraction.
    pub one_in: u64,
    /// Traces in the sample.
    pub sampled: u64,
    /// The share of complete ones: with a root, and with every parent that a span names; `None`
    /// without traces.
    pub complete: Option<Interval>,
    /// Distinct spans in the sample.
    pub spans: u64,
    /// Spans of the sample that arrived again, counted each time.
    pub duplicates: u64,
}
