//! How windows are ordered and how load is put on.

/// The order in which arms take their turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Within each block every arm in random order, then the same backwards.
    Mirrored,
    /// One arm after another, as the public measurements do; kept to show what that does.
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

/// How load is put on the subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoadModel {
    /// Starts follow a schedule, whatever the answers do.
    Open,
    /// The next request waits for an answer.
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
