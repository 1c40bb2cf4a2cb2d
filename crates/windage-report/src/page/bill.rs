//! The bills of a load as bars, for the page document.

use serde::Serialize;
use windage_analysis::{Analysis, ArmAnalysis, Bill, BillLine};
use windage_model::Unit;

use crate::number::{NOT_AVAILABLE, Scale};
use crate::rows::agents::bill::{Entry, Fine, in_order};

#[derive(Serialize)]
pub(super) struct BillWire {
    /// The lines that bars consist of, in order.
    pub(super) lines: Vec<LineName>,
    pub(super) whole: FormWire,
    pub(super) difference: FormWire,
}

#[derive(Serialize)]
pub(super) struct LineName {
    pub(super) item: String,
    pub(super) name: String,
}

#[derive(Serialize)]
pub(super) struct FormWire {
    pub(super) title: String,
    pub(super) note: &'static str,
    pub(super) scale: Scale,
    pub(super) bars: Vec<BarWire>,
}

#[derive(Serialize)]
pub(super) struct BarWire {
    /// Its id.
    pub(super) arm: String,
    /// "291 µs, +140 µs (+120 to +159) compared with the baseline", and a short form that fits
    /// beside a name.
    pub(super) figures: String,
    pub(super) short: String,
    /// The text of each line, without its unit; empty if unknown.
    pub(super) parts: Vec<String>,
}

/// `None` if no arm has one.
pub(super) fn bill(load: &Analysis) -> Option<BillWire> {
    let arms = load.arms.iter();
    let bills: Vec<(&ArmAnalysis, &Bill)> = arms
        .filter_map(|arm| Some((arm, arm.bill.as_ref()?)))
        .collect();
    if bills.is_empty() {
        return None;
    }
    let all = bills.iter().flat_map(|(_, bill)| Entry::of(bill));
    let mut lines = in_order(all.map(|(entry, _)| entry));
    lines.retain(|entry| !matches!(entry, Entry::Machine | Entry::InAll));
    let sums = || bills.iter().map(|(_, bill)| &bill.with_deferred);
    let scale = Scale::fitting(Unit::Microseconds, sums().filter_map(|sum| sum.arm_us));
    let fine = Fine::fitting(sums().filter_map(|sum| sum.difference_us));
    let bars = |write: &dyn Fn(&BillLine) -> Option<String>,
                sum: &dyn Fn(&BillLine) -> [String; 2]| {
        let bar = |(arm, bill): &(&ArmAnalysis, &Bill)| {
            let [figures, short] = sum(&bill.with_deferred);
            let part = |entry: &Entry| entry.line(bill).and_then(write);
            BarWire {
                arm: arm.id.to_string(),
                figures,
                short,
                parts: lines.iter().map(|e| part(e).unwrap_or_default()).collect(),
            }
        };
        bills.iter().map(bar).collect()
    };
    let difference = |sum: &BillLine| {
        let point = sum
            .difference_us
            .map(|us| fine.scale.attach(&fine.point(us)));
        let ends = sum.interval.as_ref().and_then(|of| fine.scale.signed(of));
        ends.map(|shown| shown.to_string()).or(point)
    };
    let whole = |sum: &BillLine| {
        let short = sum
            .arm_us
            .map_or(NOT_AVAILABLE.to_owned(), |us| scale.with_unit(us));
        let against = sum.interval.as_ref().and(difference(sum));
        let against = against.map_or(String::new(), |of| {
            format!(", {of} compared with the baseline")
        });
        [format!("{short}{against}"), short]
    };
    let only_difference = |sum: &BillLine| {
        let point = sum
            .difference_us
            .map(|us| fine.scale.attach(&fine.point(us)));
        [
            difference(sum).unwrap_or(NOT_AVAILABLE.to_owned()),
            point.unwrap_or(NOT_AVAILABLE.to_owned()),
        ]
    };
    Some(BillWire {
        whole: FormWire {
            title: "Machine CPU per request".to_owned(),
            note: "The interval is that of the difference from the baseline, drawn from the \
                   baseline's sum in the same blocks. Negative parts are left of zero; the dot is \
                   the sum.",
            scale,
            bars: bars(&|line| Some(scale.bare(line.arm_us?)), &whole),
        },
        difference: FormWire {
            title: "Machine CPU per request: difference from the baseline".to_owned(),
            note: "The interval is that of the difference from the baseline. Savings are left of \
                   zero.",
            scale: fine.scale,
            bars: bars(
                &|line| Some(fine.point(line.difference_us?)),
                &only_difference,
            ),
        },
        lines: lines
            .iter()
            .map(|entry| LineName {
                item: entry.word().to_owned(),
                name: entry.name().to_owned(),
            })
            .collect(),
    })
}
