//! The positions of words in a picture.

use std::sync::Arc;

use resvg::tiny_skia::Rect;
use resvg::usvg::fontdb::{Database, Source};
use resvg::usvg::{self, Group, Options, Tree};

use super::every;

/// Every text with its bounding box.
fn placed(group: &Group, found: &mut Vec<(String, Rect)>) {
    for node in group.children() {
        match node {
            usvg::Node::Group(inner) => placed(inner, found),
            usvg::Node::Text(text) => {
                let words: Vec<&str> = text.chunks().iter().map(|chunk| chunk.text()).collect();
                found.push((words.concat(), text.abs_bounding_box()));
            }
            usvg::Node::Path(_) | usvg::Node::Image(_) => {}
        }
    }
}

pub(super) fn tree(drawn: &str) -> Tree {
    let mut fonts = Database::new();
    for face in [dejavu::sans::regular(), dejavu::sans::bold()] {
        fonts.load_font_source(Source::Binary(Arc::new(face)));
    }
    let options = Options {
        fontdb: Arc::new(fonts),
        ..Options::default()
    };
    Tree::from_str(drawn, &options).expect("an SVG")
}

/// The margin of pictures in pixels, minus the overhang of letters.
const MARGIN: f32 = 23.0;

/// Measured in one of the widest fonts, so that it holds in others too.
#[test]
fn words_are_neither_cut_off_nor_on_top_of_each_other() {
    for (name, drawn) in every() {
        let tree = tree(&drawn);
        let (width, height) = (tree.size().width(), tree.size().height());
        let mut words = Vec::new();
        placed(tree.root(), &mut words);
        for (i, (text, place)) in words.iter().enumerate() {
            // Axis labels may reach half into the margin; lines may not.
            let is_line = place.left() < MARGIN + 2.0;
            let end = if is_line { width - MARGIN } else { width };
            let is_inside = place.left() >= 0.0 && place.right() <= end;
            assert!(
                is_inside && place.bottom() <= height,
                "{name}: {text:?} is cut off: {place:?}"
            );
            for (other, at) in &words[..i] {
                // The space above and below letters may overlap.
                let apart_across = place.right() <= at.left() || at.right() <= place.left();
                let apart_down =
                    place.top() + 4.0 >= at.bottom() || at.top() + 4.0 >= place.bottom();
                assert!(
                    apart_across || apart_down,
                    "{name}: {text:?} lies on {other:?}"
                );
            }
        }
    }
}
