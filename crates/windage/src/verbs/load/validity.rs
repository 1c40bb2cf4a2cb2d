//! How far the figures of a load can be trusted.

use windage_load::{LoadFacts, warnings};
use windage_model::{LoadModel, Reason, Validity, Warning};

use super::attack::Done;
use super::design::Design;

/// All warnings about a load. The subject's CPU is unknown here, so the rules can't distinguish a
/// saturated subject from other bottlenecks.
pub(super) fn of(
    design: &Design,
    done: &Done,
    scheduled_ns: u64,
    interrupted_after_s: Option<f64>,
) -> Validity {
    let model = if design.is_open() {
        LoadModel::Open
    } else {
        LoadModel::Closed
    };
    let exchanges_at_once = design.max_connections.saturating_mul(design.streams);
    let facts = LoadFacts {
        duration_ns: scheduled_ns,
        threads: u32::try_from(design.threads).unwrap_or(u32::MAX),
        steal_ns: done.machine.map(|machine| machine.steal_ns),
        ..LoadFacts::of(
            &done.report,
            &done.recording,
            model,
            u32::try_from(exchanges_at_once).unwrap_or(u32::MAX),
        )
    };
    let interrupted = interrupted_after_s.map(|seconds| Warning::LoadInterrupted {
        seconds,
        seconds_planned: design.lasts.as_secs_f64(),
    });
    let found = warnings(&facts).into_iter().chain(interrupted);
    Validity {
        reasons: found.map(Reason::from).collect(),
    }
}
