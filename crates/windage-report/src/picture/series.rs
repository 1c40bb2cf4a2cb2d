//! How the arms of a plot of lines are told apart: by colour, shape and dashes.

use maud::{Markup, html};

use super::frame::KeyEntry;

/// So many colours and shapes there are; after them arms differ in their dashes.
const KINDS: usize = 6;

/// The colour's class.
pub(super) fn class(i: usize) -> String {
    format!("series{}", i % KINDS)
}

/// About the origin: disc, square, triangle, diamond, the triangle upside down, a cross.
pub(super) fn shape(i: usize) -> &'static str {
    match i % KINDS {
        0 => "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
        1 => "M-4-4h8v8h-8z",
        2 => "M0-5.5 5 4h-10z",
        3 => "M0-5.5 5.5 0 0 5.5-5.5 0z",
        4 => "M0 5.5 5-4h-10z",
        _ => "M-1.7-5.5h3.4v3.8h3.8v3.4h-3.8v3.8h-3.4v-3.8h-3.8v-3.4h3.8z",
    }
}

/// The dashes of its line; `None` for one that is drawn through.
pub(super) fn dashes(i: usize) -> Option<&'static str> {
    match i / KINDS % 4 {
        0 => None,
        1 => Some("5 3"),
        2 => Some("2 3"),
        _ => Some("7 2 2 2"),
    }
}

/// The arm in a key; its line is long enough for its dashes to be seen beside its shape.
pub(super) fn entry(i: usize, name: &str) -> KeyEntry {
    let mark: Markup = html! {
        g class=(class(i)) {
            line x1="-14" x2="14" y1="0" y2="0" stroke-width="2" stroke-dasharray=[dashes(i)] {}
            path d=(shape(i)) {}
        }
    };
    KeyEntry {
        mark,
        reach: 14.0,
        meaning: name.to_owned(),
    }
}
