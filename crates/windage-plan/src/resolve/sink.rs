//! `[sink]`.

use std::ops::RangeInclusive;

use crate::wire::Spanned;

use super::backend;
use super::checker::Checker;
use crate::wire::{self, PlanFile, Text};
use crate::{Problem, SinkDetail, SinkPlan, defaults, units};

/// The bounds of `keep`: a few payloads at least, and no more than a disk holds.
const KEPT: RangeInclusive<u64> = 64 << 10..=1 << 40;

/// `None` for a plan that names no receiver and scrapes nothing; `receives` is whether it names one,
/// `None` when that is unknown.
pub(super) fn resolve(
    checker: &mut Checker<'_>,
    file: &PlanFile,
    receives: Option<bool>,
) -> Option<SinkPlan> {
    let given = file.sink.as_ref();
    if receives == Some(false) {
        let sink = given.map(|sink| ("[sink]", sink.span()));
        let mut drops = file.programs().flat_map(|service| &service.drops);
        let drops = drops.next().map(|drops| ("drops", drops.span()));
        for (key, span) in sink.into_iter().chain(drops) {
            let message = format!("`{key}` needs a receiver, and the plan names none");
            checker.report(
                Problem::new(span, message, "no receiver")
                    .help(format!("{}, or remove `{key}`", backend::name_a_receiver())),
            );
        }
    }
    let silent = wire::Sink::default();
    let sink = given.map_or(&silent, Spanned::get_ref);
    let plan = SinkPlan {
        keep_bytes: sink.keep.as_ref().and_then(|keep| kept(checker, keep)),
        client_drop_p0s: sink.client_drop_p0s.unwrap_or(defaults::CLIENT_DROP_P0S),
        detail: checker.word(
            "detail",
            sink.detail.as_ref(),
            defaults::SINK_DETAIL,
            SinkDetail::WORDS,
        ),
    };
    let scrapes = file.arm.iter().any(|arm| !arm.scrape.0.is_empty());
    (receives != Some(false) || scrapes).then_some(plan)
}

fn kept(checker: &mut Checker<'_>, keep: &Text) -> Option<u64> {
    let problem = match units::parse_bytes(keep.get_ref()) {
        Ok(bytes) if KEPT.contains(&bytes) => return Some(bytes),
        Ok(_) => {
            let (low, high) = (
                units::print_bytes(*KEPT.start()),
                units::print_bytes(*KEPT.end()),
            );
            let message = format!("`keep` must lie between {low} and {high}");
            Problem::new(keep.span(), message, "out of bounds").help("remove it to keep nothing")
        }
        Err(message) => Problem::new(keep.span(), message, "not a size"),
    };
    checker.report(problem);
    None
}
