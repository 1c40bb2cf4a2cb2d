//! The order of windows, and the kind of load.

/// The order in which arms are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Within each block all arms in random order, then the same order backwards.
    Mirrored,
    /// One arm after another, as published measurements do; kept to show the effect of that.
    Sequential,
}

impl Order {
    /// The word used in plans and files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Order::Mirrored => "mirrored",
            Order::Sequential => "sequential",
        }
    }
}

/// How load is applied to the subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoadModel {
    /// Starts follow a schedule, whatever the answers do.
    Open,
    /// The next request waits for the previous answer.
    Closed,
    /// No requests: iterations of a program.
    Batch,
}

impl LoadModel {
    /// The word used in plans and files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            LoadModel::Open => "open",
            LoadModel::Closed => "closed",
            LoadModel::Batch => "batch",
        }
    }
}
