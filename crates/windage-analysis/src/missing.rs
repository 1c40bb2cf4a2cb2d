//! Why a figure is missing.

/// Why a figure is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The baseline is not compared with itself.
    Baseline,
    /// No usable window has a value.
    NoValue,
    /// Both sides were measured, but never enough of both in the same block.
    NeverTogether,
    /// Windows were measured, but they give no value.
    NoneComputed,
    /// One value per side: there is no scatter to compute an interval from.
    OneValue,
    /// The run could stop early, and an interval that holds at every look is unbounded so far.
    UnboundedSequence,
    /// The baseline is zero, so there is no ratio.
    BaselineZero,
    /// The baseline is or may be zero: there is a difference, but no ratio.
    NoRatio,
    /// The cost per item is an overhead over the baseline, so the baseline has none.
    NoBaselinePer(Item),
    /// No such item was delivered.
    NothingDelivered(Item),
    /// Launches delivered such different numbers of items that the cost per item is unbounded.
    UnboundedPer(Item),
    /// No BPF program ran, so there is no event to divide by.
    NoEvents,
    /// Runs of BPF programs differ between attachments, which are too few to estimate by how much.
    FewAttachments,
    /// Runs of BPF programs differ so much that the cost per run is unbounded.
    UnboundedPerRun,
    /// An arm of a stage has no usable window beside the chain's first arm.
    StageNotMeasured,
    /// The arms of a stage were never measured in the same half of a block.
    StageNeverTogether,
    /// A run of a comparison did not measure it.
    NotInRun(RunSide),
    /// It is missing in a run of a comparison.
    InRun(RunSide, Box<Missing>),
    /// The interval of one of two runs has no end.
    UnboundedInRun,
}

/// What a cost can be divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A span.
    Span,
    /// An event on a span.
    Event,
    /// A log record.
    Record,
}

impl Item {
    /// The word for one.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Item::Span => "span",
            Item::Event => "event",
            Item::Record => "log record",
        }
    }
}

/// One of two compared runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunSide {
    /// The first.
    A,
    /// The second.
    B,
}

impl RunSide {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            RunSide::A => "A",
            RunSide::B => "B",
        }
    }
}

impl Missing {
    /// The kind.
    #[must_use]
    pub fn code(&self) -> MissingCode {
        match self {
            Missing::Baseline => MissingCode::Baseline,
            Missing::NoValue | Missing::StageNotMeasured | Missing::NotInRun(_) => {
                MissingCode::NotMeasured
            }
            Missing::NeverTogether
            | Missing::NoneComputed
            | Missing::OneValue
            | Missing::UnboundedSequence
            | Missing::UnboundedPer(_)
            | Missing::NoEvents
            | Missing::FewAttachments
            | Missing::UnboundedPerRun
            | Missing::StageNeverTogether
            | Missing::UnboundedInRun => MissingCode::TooFew,
            Missing::BaselineZero | Missing::NoRatio | Missing::NoBaselinePer(_) => {
                MissingCode::BaselineZero
            }
            Missing::NothingDelivered(_) => MissingCode::NothingDelivered,
            Missing::InRun(_, missing) => missing.code(),
        }
    }
}

/// The kinds of missing figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MissingCode {
    /// The baseline is not compared with itself.
    Baseline,
    /// Nothing was measured.
    NotMeasured,
    /// Too little was measured for an interval.
    TooFew,
    /// The baseline is zero, so there is no ratio.
    BaselineZero,
    /// No telemetry arrived from which to compute the figure.
    NothingDelivered,
}

impl MissingCode {
    /// The word used in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            MissingCode::Baseline => "baseline",
            MissingCode::NotMeasured => "not_measured",
            MissingCode::TooFew => "too_few",
            MissingCode::BaselineZero => "baseline_zero",
            MissingCode::NothingDelivered => "nothing_delivered",
        }
    }
}
