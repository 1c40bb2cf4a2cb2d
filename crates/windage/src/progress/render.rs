//! The foot of a terminal while a run goes on: a pure function of how far it is.

use std::time::Duration;

use super::course::{Blocks, Course};
use super::estimates;
use crate::text_width::cut;

/// Width of the bar, in columns.
const BAR: usize = 30;
const NARROW_BAR: usize = 10;
/// Below this width of the terminal the bar is narrow.
const WIDE: usize = 70;

/// The lines at a time on the display's clock, none wider than `columns`.
pub(super) fn render(course: &Course, now: Duration, columns: usize) -> Vec<String> {
    let mut lines = vec![course.heading()];
    let left = course.left.map(|left| left.spoken(now));
    match (course.blocks, left) {
        (Some(blocks), Some(left)) => lines.push(format!("{}, {left}", bar(blocks, columns))),
        (Some(blocks), None) => lines.push(bar(blocks, columns)),
        (None, Some(left)) => lines.push(left),
        (None, None) => {}
    }
    if let Some(running) = &course.running {
        lines.extend(estimates::lines(running, columns));
    }
    lines.iter().map(|line| cut(line, columns)).collect()
}

fn bar(Blocks { done, of }: Blocks, columns: usize) -> String {
    let room = if columns < WIDE { NARROW_BAR } else { BAR };
    let (done, of) = (u64::from(done), u64::from(of.max(1)));
    let filled = usize::try_from(done * room as u64 / of).unwrap_or(room);
    let mut inside = "=".repeat(filled);
    if filled < room {
        inside.push('>');
    }
    format!("[{inside:room$}] {} %", done * 100 / of)
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
