//! Telemetry of measured windows alone.

use std::collections::BTreeMap;

use windage_model::ArmIndex;
use windage_record::Delivered;

use super::{FidelityUnit, InWindows};
use crate::windows::Windows;

/// Telemetry that ended in measured windows, by arm and launch. A run may have a million windows,
/// so only sums are kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SpansInWindows(BTreeMap<(ArmIndex, u32), Sums>);

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sums {
    /// Requests completed in the same windows.
    completed: u64,
    spans: u64,
    root_spans: u64,
}

impl Sums {
    fn plus(self, other: Sums) -> Sums {
        Sums {
            completed: self.completed.saturating_add(other.completed),
            spans: self.spans.saturating_add(other.spans),
            root_spans: self.root_spans.saturating_add(other.root_spans),
        }
    }
}

impl SpansInWindows {
    /// Adds one launch of an arm, after all its windows were taken.
    pub(crate) fn take(&mut self, delivered: &Delivered, windows: &Windows) {
        // Spans without a window have no time, or the record is older than the count per window. If
        // no span arrived at all, none lacks a window.
        if delivered.in_windows.is_empty() && delivered.spans > 0 {
            return;
        }
        let Some(measured) = windows.of_launch(delivered.arm, delivered.launch) else {
            return;
        };
        let sums = self.0.entry((delivered.arm, delivered.launch)).or_default();
        sums.completed = measured.completed;
        // An uncommitted or damaged block is not recorded; neither is telemetry that ended in it.
        let blocks = windows.blocks_of(delivered.launch);
        let counted = delivered.in_windows.iter();
        for window in counted.filter(|w| blocks.contains(&w.block)) {
            sums.spans = sums.spans.saturating_add(window.spans);
            sums.root_spans = sums.root_spans.saturating_add(window.root_spans);
        }
    }

    /// Spans delivered per request of measured windows, in one launch; `None` when the launch does
    /// not record it.
    pub(crate) fn spans_per_request(&self, arm: ArmIndex, launch: u32) -> Option<f64> {
        let sums = self.0.get(&(arm, launch))?;
        (sums.completed > 0).then(|| sums.spans as f64 / sums.completed as f64)
    }

    /// Expected and delivered telemetry of an arm; `None` when no launch recorded it.
    pub(super) fn of_arm(
        &self,
        arm: ArmIndex,
        of: FidelityUnit,
        per_request: Option<f64>,
    ) -> Option<InWindows> {
        let launches = self.0.range((arm, 0)..=(arm, u32::MAX));
        let sums = launches.map(|(_, sums)| *sums).reduce(Sums::plus)?;
        let delivered = match of {
            FidelityUnit::Traces => sums.root_spans,
            FidelityUnit::Spans | FidelityUnit::Items => sums.spans,
        };
        let expected = per_request.map(|rate| rate * sums.completed as f64);
        Some(InWindows {
            expected,
            delivered,
            lost: expected.map(|expected| expected - delivered as f64),
            completed_requests: sums.completed,
            spans: sums.spans,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use windage_record::DeliveredInWindow;

    fn window(block: u32, root_spans: u64) -> DeliveredInWindow {
        DeliveredInWindow {
            block,
            position: 2,
            spans: root_spans.saturating_mul(2),
            root_spans,
        }
    }

    /// Two windows of a thousand requests each, in blocks 3 and 5.
    fn windows() -> Windows {
        let mut windows = Windows::of_arms(3);
        for block in [3, 5] {
            windows.take(&fixture::window(0, block, 2));
        }
        windows
    }

    #[test]
    fn spans_of_committed_windows_are_compared_with_their_requests() {
        let many = u64::MAX / 2 + 1;
        // all spans, spans by window; completed requests, delivered traces
        let table = [
            (
                "all there",
                4_000,
                vec![window(3, 1000), window(5, 990)],
                Some((2000.0, 1990)),
            ),
            (
                "an unfinished block",
                4_000,
                vec![window(5, 1000), window(6, 400)],
                Some((2000.0, 1000)),
            ),
            (
                "a damaged block",
                4_000,
                vec![window(3, 1000), window(4, 1000), window(5, 1000)],
                Some((2000.0, 2000)),
            ),
            ("nothing arrived", 0, vec![], Some((2000.0, 0))),
            ("not counted by window", 4_000, vec![], None),
            (
                "an impossible count",
                4,
                vec![
                    window(3, many / 2),
                    window(3, many / 2),
                    window(3, many),
                    window(5, many),
                ],
                Some((2000.0, u64::MAX)),
            ),
        ];
        for (what, spans, in_windows, expected) in table {
            let mut sums = SpansInWindows::default();
            let delivered = Delivered {
                arm: ArmIndex(2),
                spans,
                in_windows,
                ..Delivered::default()
            };
            sums.take(&delivered, &windows());
            let found = sums.of_arm(ArmIndex(2), FidelityUnit::Traces, Some(1.0));
            let found = found.map(|of| (of.expected.unwrap(), of.delivered));
            assert_eq!(found, expected, "{what}");
        }
    }

    #[test]
    fn without_expectation_or_windows_figures_are_none() {
        let mut sums = SpansInWindows::default();
        let delivered = Delivered {
            arm: ArmIndex(2),
            spans: 30,
            in_windows: vec![window(3, 15)],
            ..Delivered::default()
        };
        sums.take(&delivered, &Windows::of_arms(3));
        assert_eq!(sums, SpansInWindows::default(), "a launch without windows");
        sums.take(&delivered, &windows());
        let found = sums.of_arm(ArmIndex(2), FidelityUnit::Spans, None).unwrap();
        assert_eq!(
            (found.expected, found.delivered, found.lost),
            (None, 30, None)
        );
        assert_eq!(sums.of_arm(ArmIndex(1), FidelityUnit::Spans, None), None);
    }
}
