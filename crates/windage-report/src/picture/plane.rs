//! The axes of a plot: heights labelled on the left, places below.

use maud::{Markup, html};

use super::lettering;

/// Font size at axes, in pixels.
pub(super) const SMALL: f64 = 12.0;
/// The height of labels below a plot or below rows, in pixels.
pub(super) const BELOW: f64 = 46.0;
const GAP: f64 = 8.0;

/// A label and its position, as a share of the extent.
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) label: String,
}

/// The position of a plot, in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plane {
    left: f64,
    width: f64,
    top: f64,
    height: f64,
}

impl Plane {
    /// A plot in the width that the labels of these heights leave.
    pub(super) fn beside(heights: &[Tick], room: f64, top: f64, height: f64) -> Plane {
        let widths = heights.iter().map(|t| lettering::width(&t.label, SMALL));
        let left = widths.fold(0.0, f64::max) + GAP;
        Plane {
            left,
            // Half of the last label below may be outside.
            width: room - left - 16.0,
            top,
            height,
        }
    }

    /// The x coordinate of a share of the extent.
    pub(super) fn across(&self, share: f64) -> f64 {
        self.left + self.width * share
    }

    /// The y coordinate of a share of the extent.
    pub(super) fn down(&self, share: f64) -> f64 {
        self.top + self.height * (1.0 - share)
    }

    pub(super) fn point(&self, (across, up): (f64, f64)) -> String {
        format!("{:.1} {:.1}", self.across(across), self.down(up))
    }

    /// A path through points given as shares of the extents.
    pub(super) fn path(&self, places: impl Iterator<Item = (f64, f64)>) -> String {
        let corners: Vec<String> = places.map(|place| self.point(place)).collect();
        format!("M{}", corners.join("L"))
    }

    /// A horizontal line at each height, with its label.
    pub(super) fn heights(&self, ticks: &[Tick]) -> Markup {
        html! {
            @for tick in ticks {
                @let y = self.down(tick.at);
                line.grid x1=(px(self.left)) x2=(px(self.left + self.width)) y1=(px(y)) y2=(px(y)) {}
                text.soft font-size=(SMALL) x=(px(self.left - GAP)) y=(px(y + 4.0)) text-anchor="end" {
                    (tick.label)
                }
            }
        }
    }

    /// The labels below, and below them what they measure.
    pub(super) fn places(&self, ticks: &[Tick], of: &str) -> Markup {
        let bottom = self.top + self.height;
        html! {
            @for tick in ticks {
                @let x = px(self.across(tick.at));
                line.grid x1=(x) x2=(x) y1=(px(bottom)) y2=(px(bottom + 5.0)) {}
                text.soft font-size=(SMALL) x=(x) y=(px(bottom + 18.0)) text-anchor="middle" { (tick.label) }
            }
            text.soft font-size=(SMALL) x=(px(self.left + self.width)) y=(px(bottom + 36.0))
                text-anchor="end" { (of) " →" }
        }
    }
}

/// A coordinate as text.
pub(super) fn px(v: f64) -> String {
    format!("{v:.1}")
}
