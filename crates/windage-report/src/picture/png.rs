//! Converts SVG to PNG, identically on every machine: the font is in the binary.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::{Database, Source};
use resvg::usvg::{Options, Tree};

use super::PictureError;

/// Pixels per unit of the picture, for dense displays.
const DENSITY: f32 = 2.0;
/// The most pixels; these take 512 MiB.
const MOST_PIXELS: u64 = 1 << 27;
const FAMILY: &str = "DejaVu Sans";

/// A picture as PNG, with two pixels per unit of width and height.
///
/// Text is in DejaVu Sans, whatever fonts the machine has; characters that it lacks are shown as
/// boxes.
///
/// # Errors
/// If the input is not SVG, or the picture has too many pixels.
pub fn png(svg: &str) -> Result<Vec<u8>, PictureError> {
    let tree = Tree::from_str(svg, &options()).map_err(|_| PictureError::NotSvg)?;
    let size = tree.size().to_int_size();
    let too_large = || PictureError::TooLarge {
        width: size.width(),
        height: size.height(),
    };
    let scaled = size.scale_by(DENSITY).ok_or_else(too_large)?;
    if u64::from(scaled.width()) * u64::from(scaled.height()) > MOST_PIXELS {
        return Err(too_large());
    }
    let mut pixels = Pixmap::new(scaled.width(), scaled.height()).ok_or_else(too_large)?;
    let scale = Transform::from_scale(DENSITY, DENSITY);
    resvg::render(&tree, scale, &mut pixels.as_mut());
    pixels.encode_png().map_err(|_| too_large())
}

fn options() -> Options<'static> {
    let mut fonts = Database::new();
    fonts.load_font_source(Source::Binary(Arc::new(dejavu::sans::regular())));
    fonts.set_sans_serif_family(FAMILY);
    Options {
        font_family: FAMILY.to_owned(),
        fontdb: Arc::new(fonts),
        ..Options::default()
    }
}
