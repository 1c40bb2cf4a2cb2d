//! Rows with a name, a plot and a figure.

use maud::{Markup, html};

use super::axis::{self, Axis};
use super::lettering;
use super::plane::{SMALL, px};

/// Font size of names and figures, in pixels.
pub(super) const TEXT: f64 = 13.0;
/// The least width with room for intervals beside estimates.
pub(super) const ROOMY: f64 = 600.0;
const GAP: f64 = 14.0;
/// The width of a step's label, in pixels.
const STEP: f64 = 84.0;

/// How the width is divided, in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns {
    room: f64,
    names: f64,
    plot: f64,
    width: f64,
}

impl Columns {
    /// Figures get what they need, names up to a third, the plot the rest.
    pub(super) fn fitting<'a>(
        room: f64,
        names: impl Iterator<Item = &'a str>,
        figures: impl Iterator<Item = &'a str>,
    ) -> Columns {
        let widest = |width: f64, text: &str| width.max(lettering::width(text, TEXT));
        let names = names.fold(0.0, widest).min(room / 3.0);
        let figures = figures.fold(0.0, widest);
        let plot = names + GAP;
        Columns {
            room,
            names,
            plot,
            width: room - plot - GAP - figures,
        }
    }

    /// How many steps have room for their labels.
    pub(super) fn steps(&self) -> f64 {
        (self.width / STEP).floor().clamp(2.0, axis::STEPS)
    }

    /// The x coordinate of a place on the axis.
    pub(super) fn across(&self, axis: &Axis, v: f64) -> f64 {
        self.plot + self.width * axis.place(v)
    }

    /// A row's name and figure, centred at this height; the full name is the tooltip.
    pub(super) fn told(&self, y: f64, name: &str, figure: &str, is_soft: bool) -> Markup {
        let figure_class = if is_soft { "soft" } else { "ink" };
        html! {
            g {
                title { (name) }
                text.ink font-size=(TEXT) x="0" y=(px(y + 4.5)) {
                    (lettering::name(name, TEXT, self.names))
                }
            }
            text class=(figure_class) font-size=(TEXT) x=(px(self.room)) y=(px(y + 4.5))
                text-anchor="end" { (figure) }
        }
    }

    /// The line of no difference.
    pub(super) fn zero(&self, axis: &Axis, height: f64) -> Markup {
        let zero = px(self.across(axis, 0.0));
        html! { line.zero x1=(zero) x2=(zero) y1="0" y2=(px(height)) {} }
    }

    /// Vertical grid lines with labels, and below them the meaning of the two sides.
    pub(super) fn ground(
        &self,
        axis: &Axis,
        height: f64,
        label: impl Fn(f64) -> String,
        [left, right]: [&str; 2],
    ) -> Markup {
        html! {
            @for tick in axis.ticks() {
                @let x = px(self.across(axis, tick));
                line.grid x1=(x) x2=(x) y1="0" y2=(px(height)) {}
                text.soft font-size=(SMALL) x=(x) y=(px(height + 17.0)) text-anchor="middle" { (label(tick)) }
            }
            text.soft font-size=(SMALL) x=(px(self.plot)) y=(px(height + 36.0)) { (left) }
            text.soft font-size=(SMALL) x=(px(self.plot + self.width)) y=(px(height + 36.0))
                text-anchor="end" { (right) }
        }
    }
}
