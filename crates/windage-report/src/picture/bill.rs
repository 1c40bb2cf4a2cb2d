//! The differences of bills as stacked bars: of each arm, who takes what the machine pays more.

use maud::{Markup, html};
use windage_analysis::{Analysis, BillItem};
use windage_model::Interval;

use super::axis::{self, Axis};
use super::columns::Columns;
use super::frame::{KeyEntry, Panel};
use super::lettering;
use super::plane::{BELOW, px};
use crate::facts::one_line;
use crate::number::NOT_AVAILABLE;
use crate::rows::agents::bill::{self, Entry, Fine};

pub(super) const TITLE: &str = "CPU bill, difference from the baseline, a request";

/// Height of a row, in pixels: the bar, and its sum's interval below.
const ROW: f64 = 48.0;
const BAR_TOP: f64 = 6.0;
const BAR: f64 = 20.0;
const SUM_TOP: f64 = 36.0;
/// Size of the letters within bars, in pixels.
const WITHIN: f64 = 11.0;

/// What is drawn.
struct Bars {
    rows: Vec<Bar>,
    fine: Fine,
}

/// One arm.
struct Bar {
    name: String,
    /// The lines that add up to what the machine pays in all, and the differences, in microseconds.
    parts: Vec<(Entry, f64)>,
    /// What the machine pays in all.
    sum: Option<f64>,
    /// The interval of that.
    interval: Option<Interval>,
}

/// The differences of every arm's bill; `None` where there is none.
pub(super) fn panel(analysis: &Analysis, room: f64) -> Option<Panel> {
    let bars = Bars::of(analysis)?;
    Some(Panel {
        caption: None,
        height: bars.height() + BELOW,
        drawing: bars.drawn(room),
        key: bars.key(),
        note: None,
        description: bars.description(),
    })
}

impl Bars {
    fn of(analysis: &Analysis) -> Option<Bars> {
        let rows: Vec<Bar> = bill::compared(analysis)
            .iter()
            .map(|(arm, of)| Bar {
                name: one_line(&arm.name),
                parts: Entry::of(of)
                    .filter(|(entry, _)| !matches!(entry, Entry::Machine | Entry::InAll))
                    .filter_map(|(entry, line)| Some((entry, line.difference_us?)))
                    .filter(|(_, us)| us.is_finite())
                    .collect(),
                sum: of.with_deferred.difference_us.filter(|us| us.is_finite()),
                interval: of
                    .with_deferred
                    .interval
                    .clone()
                    .filter(Interval::is_finite),
            })
            .filter(|bar| !bar.parts.is_empty())
            .collect();
        let fine = Fine::fitting(rows.iter().flat_map(Bar::ends));
        (!rows.is_empty()).then_some(Bars { rows, fine })
    }

    fn height(&self) -> f64 {
        self.rows.len() as f64 * ROW
    }

    fn drawn(&self, room: f64) -> Markup {
        let ends = self.rows.iter().map(Bar::ends);
        let (low, high) = ends.fold((0.0_f64, 0.0_f64), |(low, high), [from, to]| {
            (low.min(from), high.max(to))
        });
        let sums: Vec<String> = self.rows.iter().map(|bar| self.sum(bar)).collect();
        let names = self.rows.iter().map(|bar| bar.name.as_str());
        let columns = Columns::fitting(room, names, sums.iter().map(String::as_str));
        let axis = Axis::holding(low, high, 0.03, columns.steps());
        let scale = self.fine.scale;
        let label = |us| {
            let signed = axis::signed_label(us, axis.step, scale);
            // The unit stands once, beneath.
            signed.trim_end_matches(scale.unit()).trim_end().to_owned()
        };
        let sides = ("← saved", format!("{} of CPU a request →", scale.unit()));
        html! {
            (columns.ground(&axis, self.height(), label, (sides.0, &sides.1)))
            @for (i, (bar, sum)) in self.rows.iter().zip(&sums).enumerate() {
                @let top = i as f64 * ROW;
                (columns.told(top + BAR_TOP + BAR / 2.0, &bar.name, sum, bar.sum.is_none()))
                @for segment in bar.segments() {
                    (self.segment(&segment, top + BAR_TOP, |us| columns.across(&axis, us)))
                }
            }
            (columns.nil(&axis, self.height()))
            @for (i, bar) in self.rows.iter().enumerate() {
                @let y = i as f64 * ROW + SUM_TOP;
                (bar.whole(y, |us| columns.across(&axis, us)))
            }
        }
    }

    fn sum(&self, bar: &Bar) -> String {
        bar.sum
            .map_or(NOT_AVAILABLE.to_owned(), |sum| self.figure(sum))
    }

    /// A part, with its name in it where there is room.
    fn segment(&self, of: &Segment, top: f64, across: impl Fn(f64) -> f64) -> Markup {
        let [from, to] = [of.from, of.to].map(across);
        let name = of.entry.name();
        let class = class(of.entry);
        let letters = match class {
            "service" | "agent" => "within-deep",
            // Through what is pale the paper shows.
            "service outside" | "agent outside" => "ink",
            _ => "within",
        };
        // What is thinner than its outline can't be seen.
        if to - from < 0.5 {
            return html! {};
        }
        html! {
            g {
                title { (name) " " (self.figure(of.us)) }
                rect class=(format!("part {class}")) x=(px(from)) y=(px(top)) width=(px(to - from))
                    height=(BAR) {}
                @if lettering::width(name, WITHIN) + 6.0 < to - from {
                    text class=(letters) font-size=(WITHIN) x=(px((from + to) / 2.0))
                        y=(px(top + BAR / 2.0 + 4.0)) text-anchor="middle" { (name) }
                }
            }
        }
    }

    fn figure(&self, us: f64) -> String {
        self.fine.scale.attach(&self.fine.point(us))
    }

    /// The parts that are drawn anywhere, and their sums.
    fn key(&self) -> Vec<KeyEntry> {
        let parts = self.rows.iter().flat_map(|bar| &bar.parts);
        let entries = bill::in_order(parts.map(|(entry, _)| *entry)).into_iter();
        let part = |entry: Entry| KeyEntry {
            mark: html! {
                rect class=(format!("part {}", class(entry))) x="-7" y="-7" width="14" height="14" {}
            },
            reach: 7.0,
            meaning: entry.name().to_owned(),
        };
        let sum = KeyEntry {
            mark: html! {
                line.interval.sum x1="-9" x2="9" y1="0" y2="0" {}
                circle.point.sum r="3.5" {}
            },
            reach: 10.0,
            meaning: "in all, with its 95 % interval".to_owned(),
        };
        entries.map(part).chain([sum]).collect()
    }

    /// The picture in words, for those who can't see it.
    fn description(&self) -> String {
        let mut text = "Differences from the baseline's bill:".to_owned();
        for bar in &self.rows {
            let parts = bar.parts.iter();
            let parts = parts.map(|(entry, us)| format!("{} {}", entry.name(), self.figure(*us)));
            let parts = parts.collect::<Vec<_>>().join(", ");
            text.push_str(&format!(
                " {}: {parts}; in all {}.",
                bar.name,
                self.sum(bar)
            ));
        }
        text
    }
}

/// A part where it stands on its bar.
struct Segment {
    entry: Entry,
    us: f64,
    from: f64,
    to: f64,
}

impl Bar {
    /// Costs side by side to the right of nil, savings to the left.
    fn segments(&self) -> Vec<Segment> {
        let (mut left, mut right) = (0.0, 0.0);
        let parts = self.parts.iter();
        let placed = parts.map(|&(entry, us)| {
            let end = if us < 0.0 { &mut left } else { &mut right };
            let start = *end;
            *end += us;
            Segment {
                entry,
                us,
                from: start.min(*end),
                to: start.max(*end),
            }
        });
        placed.collect()
    }

    /// The sum of all parts, with its interval where it has one.
    fn whole(&self, y: f64, across: impl Fn(f64) -> f64) -> Markup {
        html! {
            @if let Some(of) = &self.interval {
                line.interval.sum x1=(px(across(of.low))) x2=(px(across(of.high)))
                    y1=(px(y)) y2=(px(y)) {}
            }
            @if let Some(sum) = self.sum {
                circle.point.sum cx=(px(across(sum))) cy=(px(y)) r="3.5" {}
            }
        }
    }

    /// How far the bar, its sum and the interval of that reach on either side.
    fn ends(&self) -> [f64; 2] {
        let segments = self.segments();
        let segments = segments.iter().flat_map(|of| [of.from, of.to]);
        let interval = self.interval.iter().flat_map(|of| [of.low, of.high]);
        let reached = segments.chain(interval).chain(self.sum);
        reached.fold([0.0, 0.0], |[low, high], us| [low.min(us), high.max(us)])
    }
}

/// The colour's name; what falls outside windows is paler than what it belongs to.
fn class(entry: Entry) -> &'static str {
    match entry {
        Entry::Item(BillItem::Service) => "service",
        Entry::Item(BillItem::Agent) => "agent",
        Entry::Item(BillItem::Generator) => "generator",
        Entry::Item(BillItem::Windage) => "windage",
        Entry::Item(BillItem::KernelThreads) => "kernel",
        Entry::Item(BillItem::Remainder) | Entry::Machine | Entry::InAll => "remainder",
        Entry::AgentOutside => "agent outside",
        Entry::ServiceOutside => "service outside",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(parts: &[(BillItem, f64)], sum: Option<f64>) -> Bar {
        let parts = parts.iter().map(|(item, us)| (Entry::Item(*item), *us));
        Bar {
            name: String::new(),
            parts: parts.collect(),
            sum,
            interval: None,
        }
    }

    #[test]
    fn a_sum_without_an_interval_is_told_and_drawn_as_a_point() {
        let bars = Bars {
            rows: vec![bar(&[(BillItem::Service, -39.0)], Some(-39.0))],
            fine: Fine::fitting([-39.0]),
        };
        let drawn = bars.drawn(600.0).into_string();
        assert_eq!(bars.sum(&bars.rows[0]), "−39.0 µs");
        assert!(drawn.contains("<circle") && !drawn.contains("interval sum"));
    }

    #[test]
    fn savings_are_written_as_finely_as_costs() {
        for us in [1_090.0, -1_090.0] {
            let fine = Fine::fitting(bar(&[(BillItem::Service, us)], None).ends());
            assert_eq!(fine.scale.unit(), "ms", "{us}");
        }
    }

    #[test]
    fn costs_stand_right_of_nil_and_savings_left() {
        let parts = [
            (BillItem::Service, 3.0),
            (BillItem::Windage, -1.0),
            (BillItem::Agent, 2.0),
            (BillItem::Remainder, -0.5),
        ];
        let bar = bar(&parts, None);
        let segments = bar.segments();
        let placed: Vec<_> = segments.iter().map(|of| (of.from, of.to)).collect();
        assert_eq!(placed, [(0.0, 3.0), (-1.0, 0.0), (3.0, 5.0), (-1.5, -1.0)]);
        assert_eq!(bar.ends(), [-1.5, 5.0]);
    }
}
