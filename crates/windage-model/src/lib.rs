//! Plain values that the other crates share.
//!
//! Nothing here opens a file, reads a clock or knows how a figure is shown or stored: formats
//! (journal, `analysis.json`, plans) belong to the crates that read and write them.

#![forbid(unsafe_code)]

mod agent;
mod arm;
mod backend;
mod budget;
mod claim;
mod estimate;
mod event;
mod exchanges;
mod expected;
mod facility;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;
mod metric;
mod order;
mod phase;
mod turn_block;
mod validity;
mod warning;
mod window;

pub use agent::{AgentCycle, Beside, BpfProgram, BpfStatistics};
pub use arm::{ArmId, ArmIndex, LevelValue, Role};
pub use backend::{Backend, BackendError};
pub use budget::{Budget, BudgetOf, BudgetVerdict, Limit, Override, Revision, Revisions, Until};
pub use claim::{Claim, ClaimVerdict, Publication, Says};
pub use estimate::{Difference, Interval, Method, Verdict};
pub use event::Event;
pub use exchanges::{ErrorCounts, Exchanges, Outlier, RATE_SHARE, StatusClasses};
pub use expected::{Expected, PointsPerInterval};
pub use facility::Facility;
pub use metric::{Direction, Metric, Unit};
pub use order::{LoadModel, Order};
pub use phase::{Phase, PhaseSpent, ProcessTimes};
pub use turn_block::{ArmTurns, TurnBlock, TurnOrder};
pub use validity::{Reason, Soundness, Stretches, Validity, WindowShare};
pub use warning::{
    Bottleneck, DriftOver, Evidence, EvidenceMap, IdleAgent, IncompleteEnding, LagCause, LossCause,
    SubjectLoad, Warning, WarningCode,
};
pub use window::{Activity, ArmCpu, CpuSource, Held, MachineDelta, Place, Window, WindowCpu};
