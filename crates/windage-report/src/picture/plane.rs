//! The ground of a plot: its heights labelled to the left, its places below.

use maud::{Markup, html};

use super::lettering;

/// Size of letters at axes, in pixels.
pub(super) const SMALL: f64 = 12.0;
/// What the labels below a plot or below rows take, in pixels.
pub(super) const BELOW: f64 = 46.0;
const GAP: f64 = 8.0;

/// A label and where it stands, as a share of the extent.
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) label: String,
}

/// Where a plot lies, in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plane {
    left: f64,
    width: f64,
    top: f64,
    height: f64,
}

impl Plane {
    /// As wide as the room leaves it beside the labels of these heights.
    pub(super) fn beside(heights: &[Tick], room: f64, top: f64, height: f64) -> Plane {
        let widths = heights.iter().map(|t| lettering::width(&t.label, SMALL));
        let left = widths.fold(0.0, f64::max) + GAP;
        Plane {
            left,
            // The last label below may stand half outside.
            width: room - left - 16.0,
            top,
            height,
        }
    }

    /// From the left, of a share of the extent.
    pub(super) fn across(&self, share: f64) -> f64 {
        self.left + self.width * share
    }

    /// From above, of a share of the extent.
    pub(super) fn down(&self, share: f64) -> f64 {
        self.top + self.height * (1.0 - share)
    }

    pub(super) fn point(&self, (across, up): (f64, f64)) -> String {
        format!("{:.1} {:.1}", self.across(across), self.down(up))
    }

    /// A path through places that are shares of the extents.
    pub(super) fn path(&self, places: impl Iterator<Item = (f64, f64)>) -> String {
        let corners: Vec<String> = places.map(|place| self.point(place)).collect();
        format!("M{}", corners.join("L"))
    }

    /// A line across at each height, with its label.
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

    /// The labels below, and beneath them what they are of.
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

/// A place in pixels as it is written.
pub(super) fn px(v: f64) -> String {
    format!("{v:.1}")
}
